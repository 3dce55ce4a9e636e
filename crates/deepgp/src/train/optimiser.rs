//! Optimisers: how raw parameters move uphill. The open trait; one file for each.
//!
//! An optimiser is a rule without memory. What it carries from step to step, a few vectors as long as the parameters and the count of
//! updates, is a value of its own, [`OptimiserState`]: trainers copy it, checkpoints store it under the optimiser's name, devices hold a
//! copy. An update goes from one [`Snapshot`] to another, so that the last one is there if the next has to be rolled back.
//!
//! To add one, write a file with a struct and [`Optimiser`] for it, and a variant of [`OptimiserForm`] if settings and files are to
//! know it. An update sees the factors of the kernel matrices that the step has prepared ([`Factors`]), which natural gradients need.

use super::adam::Adam;
use super::state::Snapshot;
use crate::layer::Prepared;
use crate::model::params::Parameter;
use crate::numeric::mat::Mat;

/// The choice of one of the library's optimisers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum OptimiserForm {
    /// Adam (Kingma and Ba 2015).
    #[default]
    Adam,
}

impl OptimiserForm {
    /// The optimiser that was chosen.
    pub fn optimiser(self) -> &'static dyn Optimiser {
        match self {
            Self::Adam => &Adam,
        }
    }
}

/// What an optimiser carries from update to update.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimiserState {
    /// The name of the optimiser whose state this is.
    pub name: String,
    /// The number of updates so far.
    pub updates: u64,
    /// The optimiser's vectors, each as long as the parameters, in the order of [`Optimiser::slots`].
    pub slots: Vec<Vec<f64>>,
}

impl OptimiserState {
    /// The state before the first update, for so many parameters: zeros.
    pub fn new(optimiser: &dyn Optimiser, parameters: usize) -> Self {
        Self { name: optimiser.name().into(), updates: 0, slots: vec![vec![0.0; parameters]; optimiser.slots().len()] }
    }
}

/// The arguments of one update.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    /// The objective's gradient in all parameter values.
    pub gradient: &'a [f64],
    /// The list of parameters: the range of each in flat vectors, its constraint, and whether it is frozen; values are not those of the
    /// step.
    pub parameters: &'a [Parameter],
    /// The factors of the kernel matrices that the step prepared.
    pub factors: Factors<'a>,
    /// The learning rate, schedule and roll-backs included.
    pub rate: f64,
}

/// The factors of the kernel matrices of a step, layer by layer.
#[derive(Clone, Copy, Debug)]
pub struct Factors<'a>(&'a [Prepared]);

impl<'a> Factors<'a> {
    /// The factors of these prepared layers.
    pub(crate) fn new(prepared: &'a [Prepared]) -> Self {
        Self(prepared)
    }

    /// No factors: for updates outside of a step.
    pub fn none() -> Self {
        Self(&[])
    }

    /// The inverse factor `L⁻¹` of a layer's `K_aa = L Lᵀ`, lower triangular; `None` where no form asked for it, or there is no such layer.
    pub fn mean(self, layer: usize) -> Option<&'a Mat> {
        self.0.get(layer)?.mean_factor()
    }

    /// The inverse factor `L⁻¹` of a layer's `K_bb = L Lᵀ`, lower triangular; `None` where no form asked for it, or there is no such layer.
    pub fn covariance(self, layer: usize) -> Option<&'a Mat> {
        self.0.get(layer)?.covariance_factor()
    }
}

/// An optimiser: a rule by which raw parameters move uphill.
pub trait Optimiser: std::fmt::Debug + Send + Sync {
    /// The optimiser's name in files and messages.
    fn name(&self) -> &'static str;

    /// The library's name for this optimiser in settings and files; `None` for one that the library does not know.
    fn form(&self) -> Option<OptimiserForm> {
        None
    }

    /// The names of the vectors in the optimiser's state.
    fn slots(&self) -> &'static [&'static str];

    /// One update uphill from `before`: writes all of `after`, whose vectors have the right lengths. Frozen parameters stay.
    fn ascend(&self, before: &Snapshot, update: &Update<'_>, after: &mut Snapshot);
}
