//! Optimisers: how raw parameters move uphill. The open trait; one file for each.
//!
//! An optimiser is a rule without memory. What it remembers from step to step, a few vectors as long as the parameters and the count of
//! updates, is a value of its own, [`OptimiserState`]: trainers copy it, files keep it under the optimiser's name, devices take it on
//! board. An update goes from one [`Snapshot`] to another, so that the last one is at hand if the next turns out to be no good.
//!
//! To add one, write a file with a struct and [`Optimiser`] for it, and a variant of [`OptimiserForm`] if settings and files are to
//! know it. An update sees the factors of the kernel matrices that the step has prepared ([`Factors`]), which natural gradients need.

use super::adam::Adam;
use super::state::Snapshot;
use crate::layer::Prepared;
use crate::model::params::Parameter;
use crate::numeric::mat::Mat;

/// Which of the library's optimisers moves the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum OptimiserForm {
    /// Adam (Kingma and Ba 2015).
    #[default]
    Adam,
}

impl OptimiserForm {
    /// The optimiser itself.
    pub fn optimiser(self) -> &'static dyn Optimiser {
        match self {
            Self::Adam => &Adam,
        }
    }
}

/// What an optimiser remembers.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimiserState {
    /// Updates so far.
    pub updates: u64,
    /// Its vectors, each as long as the parameters, in the order of [`Optimiser::slots`].
    pub slots: Vec<Vec<f64>>,
}

impl OptimiserState {
    /// Nothing remembered yet, for `parameters` numbers.
    pub fn new(optimiser: &dyn Optimiser, parameters: usize) -> Self {
        Self { updates: 0, slots: vec![vec![0.0; parameters]; optimiser.slots().len()] }
    }
}

/// One update.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    /// The objective's gradient in all parameter values.
    pub gradient: &'a [f64],
    /// Where each parameter stands, its constraint, and whether it is frozen; values are not those of the step.
    pub parameters: &'a [Parameter],
    /// What the step prepared.
    pub factors: Factors<'a>,
    /// The learning rate, everything included.
    pub rate: f64,
}

/// Factors of the kernel matrices of a step, a layer at a time.
#[derive(Clone, Copy, Debug)]
pub struct Factors<'a>(&'a [Prepared]);

impl<'a> Factors<'a> {
    pub(crate) fn new(prepared: &'a [Prepared]) -> Self {
        Self(prepared)
    }

    /// No factors: for updates outside of a step.
    pub fn none() -> Self {
        Self(&[])
    }

    /// `L⁻¹`, lower triangular, with `L Lᵀ = K_aa` of a layer; `None` where no form asked for it, or there is no such layer.
    pub fn mean(self, layer: usize) -> Option<&'a Mat> {
        self.0.get(layer)?.mean_factor()
    }

    /// `L⁻¹`, lower triangular, with `L Lᵀ = K_bb` of a layer; `None` where no form asked for it, or there is no such layer.
    pub fn covariance(self, layer: usize) -> Option<&'a Mat> {
        self.0.get(layer)?.covariance_factor()
    }
}

/// A rule by which parameters move.
pub trait Optimiser: std::fmt::Debug + Send + Sync {
    /// Its name in files and messages.
    fn name(&self) -> &'static str;

    /// Which of the library's optimisers it is; `None` for one that the library does not know.
    fn form(&self) -> Option<OptimiserForm> {
        None
    }

    /// The names of the vectors that it remembers.
    fn slots(&self) -> &'static [&'static str];

    /// One step uphill from `before`: writes all of `after`, whose vectors have the right lengths. Frozen parameters stay.
    fn ascend(&self, before: &Snapshot, update: &Update<'_>, after: &mut Snapshot);
}
