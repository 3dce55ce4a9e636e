//! Parameters that belong to no layer: what an objective trains beside layers and likelihood.
//!
//! They stand at the end of the model's list, under `shared.`, so that the optimiser, files and gradient tests meet them like any
//! other. An objective sees their numbers, one after the other, and adds to their gradient.

use super::params::{Constraint, Leaf, Parameters};

/// The description of a named array of parameters that belong to no layer.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedParameter {
    /// The array's name; in the model's list it stands under `shared.`.
    pub name: String,
    /// The numbers that it may hold.
    pub constraint: Constraint,
    /// The array's shape, row-major; empty for a single number.
    pub shape: Vec<usize>,
}

/// All of a model's parameters that belong to no layer. Most models have none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedParameters {
    /// The arrays, without their values.
    list: Vec<SharedParameter>,
    /// The values of all arrays, one after the other.
    values: Vec<f64>,
}

impl SharedParameters {
    /// These parameters and one more array. Panics if there are not as many numbers as its shape has places.
    pub fn with(mut self, parameter: SharedParameter, values: &[f64]) -> Self {
        assert_eq!(parameter.shape.iter().product::<usize>(), values.len(), "as many numbers as the shape has places");
        self.list.push(parameter);
        self.values.extend_from_slice(values);
        self
    }

    /// The descriptions of the arrays, in their order.
    pub fn list(&self) -> &[SharedParameter] {
        &self.list
    }

    /// The values of all arrays, one after the other.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

impl Parameters for SharedParameters {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        let mut rest = &mut self.values[..];
        for SharedParameter { name, constraint, shape } in &self.list {
            let (own, after) = rest.split_at_mut(shape.iter().product());
            leaf(Leaf { name, constraint: *constraint, shape, values: own });
            rest = after;
        }
    }
}
