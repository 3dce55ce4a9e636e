//! [`DeepGp`]: layers and a likelihood, and the one list of their parameters.
//!
//! ```text
//! x → layer 0 → f → layer 1 → f → … → last layer → likelihood → y
//! ```

pub mod batch;
pub mod build;
mod explicit;
pub mod inducing;
pub mod memory;
pub mod params;
mod shared;
mod sites;
pub mod start;

pub use explicit::ExplicitModel;
pub use shared::{SharedParameter, SharedParameters};
pub use sites::Sites;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::backend::{Backend, Cpu};
use crate::error::{Error, Result};
use crate::layer::{Floor, Jitter, Layer};
use crate::likelihood::Likelihood;
use crate::model::params::{Constraint, Leaf, Parameter, Parameters, visit_under};

/// The precision of the work on rows. Everything of size `M × M`, the sum of partial sums and the optimiser are `f64` in
/// both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Precision {
    /// Rows in `f64`.
    #[default]
    F64,
    /// Rows in `f32`: about twice as fast, with more jitter.
    Mixed,
}

impl Precision {
    /// The jitter of a model that none was chosen for: `1e-6` in `f64`; in `mixed` `1e-4` of the kernel's variance, because with `1e-6`
    /// half of the variances of a layer with many close inducing inputs came out negative.
    pub fn default_jitter(self) -> Jitter {
        match self {
            Self::F64 => Jitter { absolute: 1e-6, relative: 0.0 },
            Self::Mixed => Jitter { absolute: 0.0, relative: 1e-4 },
        }
    }

    /// The least variance of a layer's output: `1e-10`, in `mixed` `1e-7` of the kernel's variance.
    pub fn floor(self) -> Floor {
        match self {
            Self::F64 => Floor { absolute: 1e-10, relative: 0.0 },
            Self::Mixed => Floor { absolute: 0.0, relative: 1e-7 },
        }
    }
}

/// A deep Gaussian process: layers and a likelihood, in the model's own units.
#[derive(Clone, Debug)]
pub struct DeepGp {
    /// The layers, first to last.
    layers: Vec<Layer>,
    /// The likelihood of observations given the last layer's functions.
    likelihood: Box<dyn Likelihood>,
    /// The names of the parameters that training leaves alone.
    frozen: BTreeSet<String>,
    /// The precision of the work on rows.
    precision: Precision,
    /// The jitter on kernel matrices of inducing inputs.
    jitter: Jitter,
    /// The parameters that belong to no layer.
    shared: SharedParameters,
    /// The learned sites that take the place of samples, if there are any.
    sites: Option<Sites>,
    /// The backend that computes the model.
    pub(crate) backend: Arc<dyn Backend>,
}

impl DeepGp {
    /// A model of these layers and this likelihood. Fails unless every width fits the next and inducing inputs are distinct.
    pub fn new(layers: Vec<Layer>, likelihood: Box<dyn Likelihood>) -> Result<Self> {
        if layers.is_empty() {
            let requirement = "at least 1";
            return Err(Error::Setting { name: "number of layers", value: "0".into(), requirement });
        }
        for (i, layer) in layers.iter().enumerate() {
            layer.check(i)?;
            let (expected, advice) = match layers.get(i + 1) {
                Some(next) => (next.input_width(), "a layer's output must be as wide as the next layer's input"),
                None => (likelihood.latent_width(), "the last layer must be as wide as the likelihood asks"),
            };
            let found = layer.output_width();
            if found != expected {
                return Err(Error::Width { layer: i, what: "the output", found, expected, advice });
            }
        }
        let precision = Precision::default();
        let jitter = precision.default_jitter();
        let (shared, backend) = (SharedParameters::default(), Cpu::shared());
        let frozen = BTreeSet::new();
        let mut model = Self { layers, likelihood, frozen, precision, jitter, shared, sites: None, backend };
        model.check_values()?;
        Ok(model)
    }

    /// The same model computed in another precision; a jitter that was not chosen becomes that precision's.
    pub fn with_precision(mut self, precision: Precision) -> Self {
        if self.jitter == self.precision.default_jitter() {
            self.jitter = precision.default_jitter();
        }
        self.precision = precision;
        self
    }

    /// The same model with another jitter on its kernel matrices.
    pub fn with_jitter(mut self, jitter: Jitter) -> Result<Self> {
        jitter.check()?;
        self.jitter = jitter;
        Ok(self)
    }

    /// The same model with parameters that belong to no layer and not to the likelihood, for objectives that have some.
    pub fn with_shared(mut self, shared: SharedParameters) -> Result<Self> {
        self.shared = shared;
        self.check_values()?;
        Ok(self)
    }

    /// The parameters that belong to no layer.
    pub fn shared(&self) -> &SharedParameters {
        &self.shared
    }

    /// The values of the parameters that belong to no layer, one array after the other.
    pub(crate) fn shared_values(&self) -> &[f64] {
        self.shared.values()
    }

    /// The layers, first to last.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The likelihood of observations given the last layer's functions.
    pub fn likelihood(&self) -> &dyn Likelihood {
        &*self.likelihood
    }

    /// The precision of the work on rows.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The jitter on the diagonal of kernel matrices.
    pub fn jitter(&self) -> Jitter {
        self.jitter
    }

    /// The width of the inputs, `D`.
    pub fn input_width(&self) -> usize {
        self.layers[0].input_width()
    }

    /// The width of the last layer, `P`: the number of latent functions.
    pub fn latent_width(&self) -> usize {
        self.likelihood.latent_width()
    }

    /// The number of Gaussians in the mixture at a row, for so many samples of the hidden layers: 1 where there is no hidden layer, and
    /// that of the sites where the model has some.
    pub fn mixture_size(&self, samples: usize) -> usize {
        mixture_size(self.layers.len(), self.samples(samples))
    }

    /// Every parameter, with a copy of its values, in the one order that all flat vectors follow.
    pub fn parameters(&self) -> Vec<Parameter> {
        let (mut list, mut at) = (Vec::new(), 0);
        self.clone().visit(&mut |leaf| {
            let range = at..at + leaf.values.len();
            at = range.end;
            list.push(Parameter {
                name: leaf.name.to_string(),
                constraint: leaf.constraint,
                shape: leaf.shape.to_vec(),
                range,
                values: leaf.values.to_vec(),
                frozen: self.frozen.contains(leaf.name),
            });
        });
        list
    }

    /// Sets one parameter by name. Fails if there is none, or if it cannot take these values.
    pub fn set_parameter(&mut self, name: &str, values: &[f64]) -> Result<()> {
        let mut done = None;
        self.visit(&mut |leaf| {
            if leaf.name == name {
                done = Some(check_leaf(&leaf, values).map(|()| leaf.values.copy_from_slice(values)));
            }
        });
        done.unwrap_or_else(|| Err(self.unknown(name)))
    }

    /// Freezes every parameter whose name is `name` or starts with `name.`, e.g. `likelihood.noise` or `layers.0.kernel`: training leaves
    /// it alone.
    pub fn freeze(&mut self, name: &str) -> Result<()> {
        let found = self.named(name)?;
        self.frozen.extend(found);
        Ok(())
    }

    /// Lets training move frozen parameters again: undoes [`DeepGp::freeze`].
    pub fn unfreeze(&mut self, name: &str) -> Result<()> {
        for found in self.named(name)? {
            self.frozen.remove(&found);
        }
        Ok(())
    }

    /// The names of the parameters that `name` stands for: itself, or all that start with `name.`.
    fn named(&self, name: &str) -> Result<Vec<String>> {
        let inside = |full: &str| full.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let found: Vec<String> = self.parameters().into_iter().map(|p| p.name).filter(|n| inside(n)).collect();
        if found.is_empty() { Err(self.unknown(name)) } else { Ok(found) }
    }

    /// The error that no parameter has this name, with those that were likely meant.
    fn unknown(&self, name: &str) -> Error {
        let names: Vec<String> = self.parameters().into_iter().map(|p| p.name).collect();
        let near: Vec<&String> = names.iter().filter(|n| n.ends_with(&format!(".{name}"))).collect();
        let known = match near.as_slice() {
            [] => format!("the model has {}", names.join(", ")),
            [one] => format!("did you mean `{one}`?"),
            several => format!("did you mean one of {several:?}?"),
        };
        Error::UnknownParameter { name: name.to_string(), known }
    }

    /// All parameters as raw numbers, the unconstrained ones that the optimiser moves.
    pub fn raw(&self) -> Vec<f64> {
        let mut raw = Vec::new();
        self.clone().visit(&mut |leaf| raw.extend(leaf.values.iter().map(|v| leaf.constraint.raw(*v))));
        raw
    }

    /// Sets all parameters from raw numbers; a value that has its raw number already keeps its last digit, and what is above the diagonal
    /// of a triangle stays 0. Panics if their count is not the model's.
    pub fn set_raw(&mut self, raw: &[f64]) {
        let mut at = 0;
        let mut set = |leaf: Leaf<'_>| {
            let raw = &raw[at..at + leaf.values.len()];
            match leaf.constraint {
                Constraint::Positive { .. } => {
                    for (value, raw) in leaf.values.iter_mut().zip(raw) {
                        if leaf.constraint.raw(*value) != *raw {
                            *value = leaf.constraint.value(*raw);
                        }
                    }
                }
                // What is above a diagonal stays 0.
                Constraint::LowerTriangular { order } => {
                    for (r, (row, raw)) in leaf.values.chunks_exact_mut(order).zip(raw.chunks_exact(order)).enumerate()
                    {
                        row[..=r % order].copy_from_slice(&raw[..=r % order]);
                    }
                }
                Constraint::Real => leaf.values.copy_from_slice(raw),
            }
            at += leaf.values.len();
        };
        // Part by part, because the parts' own names need not be put together: this is called at every step.
        for layer in &mut self.layers {
            layer.visit(&mut set);
        }
        self.likelihood.visit(&mut set);
        self.shared.visit(&mut set);
        if let Some(sites) = &mut self.sites {
            sites.visit(&mut set);
        }
        assert_eq!(at, raw.len(), "as many raw numbers as the model has parameters");
    }

    /// Fails if some parameter has a value that it cannot take.
    fn check_values(&mut self) -> Result<()> {
        let mut result = Ok(());
        self.visit(&mut |leaf| {
            if result.is_ok() {
                result = check_leaf(&leaf, leaf.values);
            }
        });
        result
    }
}

/// The number of samples that reach the last of so many layers from a row.
pub(crate) fn mixture_size(layers: usize, samples: usize) -> usize {
    if layers == 1 { 1 } else { samples }
}

/// Fails unless a parameter can take these values.
fn check_leaf(leaf: &Leaf<'_>, values: &[f64]) -> Result<()> {
    if values.len() != leaf.values.len() {
        return Err(Error::Shape {
            what: "parameter values",
            expected: format!("{} numbers for `{}`", leaf.values.len(), leaf.name),
            found: values.len().to_string(),
        });
    }
    match (0..values.len()).find(|&i| !leaf.constraint.admits(i, values[i])) {
        None => Ok(()),
        Some(index) => Err(Error::ParameterValue {
            name: leaf.name.to_string(),
            index,
            value: values[index],
            constraint: match leaf.constraint {
                Constraint::Real => "finite".into(),
                Constraint::Positive { floor } => format!("positive, and at least {floor:e}"),
                Constraint::LowerTriangular { .. } => "finite, and 0 above the diagonal".into(),
            },
        }),
    }
}

/// The parameters in their order: each layer's under `layers.i`, the likelihood's, then those that belong to no layer, under `shared`, and
/// those of learned sites, under `sites`.
impl Parameters for DeepGp {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        for (i, layer) in self.layers.iter_mut().enumerate() {
            visit_under(&format!("layers.{i}"), layer, leaf);
        }
        visit_under("likelihood", &mut *self.likelihood, leaf);
        visit_under("shared", &mut self.shared, leaf);
        if let Some(sites) = &mut self.sites {
            visit_under("sites", sites, leaf);
        }
    }
}
