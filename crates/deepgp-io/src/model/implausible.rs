//! Numbers of a model file that no training leads to: finite, and yet so large or so small that what is computed with them overflows.

use std::ops::RangeInclusive;

use deepgp::params::Constraint;
use deepgp::{MeanFunction, Scaling};

use super::ModelFile;

/// The largest plausible number in the model's units, in which data have a spread of about 1; a positive one is plausible down to its inverse.
const LARGEST: f64 = 1e30;
/// The largest plausible unit of the data, the largest that a fit takes; the smallest is its inverse.
const LARGEST_UNIT: f64 = 1e150;

/// An array of a model file with numbers that no training leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct ImplausibleNumbers {
    /// The name of the array.
    pub array: String,
    /// How many of its numbers are implausible.
    pub count: usize,
    /// The first of them.
    pub value: f64,
}

/// An array of a model file, and the magnitudes that its numbers plausibly have.
struct Expected {
    array: String,
    values: Vec<f64>,
    magnitudes: RangeInclusive<f64>,
}

impl ModelFile {
    /// The arrays that hold numbers which no training leads to, in the order of the file's parameters; none in a sound file.
    pub fn implausible_numbers(&self) -> Vec<ImplausibleNumbers> {
        let odd = |Expected { array, values, magnitudes }: Expected| {
            let mut odd = values.into_iter().filter(|value| !magnitudes.contains(&value.abs()));
            let value = odd.next()?;
            Some(ImplausibleNumbers { array, count: 1 + odd.count(), value })
        };
        self.arrays_to_compute_with().into_iter().filter_map(odd).collect()
    }

    /// The number of the largest magnitude among the model's parameters, after the name of its array.
    pub fn largest_parameter(&self) -> Option<(String, f64)> {
        let all = self.regressor.model.parameters();
        let each = all.into_iter().flat_map(|own| own.values.into_iter().map(move |value| (own.name.clone(), value)));
        each.max_by(|one, other| one.1.abs().total_cmp(&other.1.abs()))
    }

    /// Everything that predictions are computed with.
    fn arrays_to_compute_with(&self) -> Vec<Expected> {
        let model = &self.regressor.model;
        let mut all: Vec<Expected> = model
            .parameters()
            .into_iter()
            .map(|own| {
                let least = match own.constraint {
                    Constraint::Positive { .. } => LARGEST.recip(),
                    Constraint::Real | Constraint::LowerTriangular { .. } => 0.0,
                };
                Expected { array: own.name, values: own.values, magnitudes: least..=LARGEST }
            })
            .collect();
        for (i, layer) in model.layers().iter().enumerate() {
            match &layer.mean_function {
                MeanFunction::Linear(w) => all.push(Expected {
                    array: format!("layers.{i}.mean_function"),
                    values: w.as_slice().to_vec(),
                    magnitudes: 0.0..=LARGEST,
                }),
                MeanFunction::Zero | MeanFunction::Identity | MeanFunction::ZeroPadding => {}
            }
        }
        let units = &self.regressor.standardiser;
        for (name, Scaling { shift, scale }) in [("x", &units.x), ("y", &units.y)] {
            for (part, values, least) in [("shift", shift, 0.0), ("scale", scale, LARGEST_UNIT.recip())] {
                let (array, values) = (format!("standardiser.{name}.{part}"), values.clone());
                all.push(Expected { array, values, magnitudes: least..=LARGEST_UNIT });
            }
        }
        all
    }
}
