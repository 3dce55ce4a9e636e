//! Objectives: what the samples of one row contribute to the number that training maximises. The open trait; one file for each.
//!
//! ```text
//! objective = Σ_n scale · weight_n · term(y_n, samples of row n) − κ Σ_l KL_l
//! ```
//!
//! The hidden layers hand an objective `S` Gaussians for every row, the last layer's moments at `S` samples ([`Samples`]); it says what
//! they are worth together, and how that changes with each of them. The KL and its weight `κ` are the same for every objective, and
//! belong to the layers. Everything is per row and in `f64`: it costs nothing beside the layers.
//!
//! To add one, write a file with a struct and [`Objective`] for it. If it is to be chosen in settings and stored in model files, it gets
//! a variant of [`ObjectiveForm`], and the compiler lists what is missing.

mod elbo;

pub use elbo::EvidenceLowerBound;

use crate::error::Result;
use crate::likelihood::{Latent, Likelihood};
use crate::model::DeepGp;

/// The choice of one of the library's objectives, which training maximises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ObjectiveForm {
    /// The evidence lower bound: the mean over samples of `E log p(y | f)`.
    #[default]
    Elbo,
}

impl ObjectiveForm {
    /// The objective that was chosen.
    pub fn objective(self) -> &'static dyn Objective {
        match self {
            Self::Elbo => &EvidenceLowerBound,
        }
    }
}

/// The last layer's Gaussian marginals at one row, one for each sample of the hidden layers.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    /// The means, `[S, P]`, sample by sample.
    pub mean: &'a [f64],
    /// The variances, `[S, P]`, sample by sample.
    pub variance: &'a [f64],
    /// The number of latent functions, `P`.
    pub width: usize,
}

impl<'a> Samples<'a> {
    /// The number of samples, `S`.
    #[allow(clippy::len_without_is_empty, reason = "a row has a sample")]
    pub fn len(self) -> usize {
        self.mean.len() / self.width
    }

    /// The marginals at sample `s`.
    pub fn at(self, s: usize) -> Latent<'a> {
        let own = s * self.width..(s + 1) * self.width;
        Latent { mean: &self.mean[own.clone()], variance: &self.variance[own] }
    }
}

/// The arguments of one row's term of the objective.
#[derive(Clone, Copy, Debug)]
pub struct RowTerm<'a> {
    /// The likelihood of observations given the latent functions.
    pub likelihood: &'a dyn Likelihood,
    /// The model's parameters that belong to no layer, in their order.
    pub shared: &'a [f64],
    /// The row's targets, one for each column of `y`.
    pub y: &'a [f64],
    /// The last layer's marginals at the row, one for each sample.
    pub f: Samples<'a>,
    /// The row's weight in the data; 1 where rows have none.
    pub weight: f64,
    /// The number of rows of the data that one row of the batch stands for.
    pub scale: f64,
}

/// The gradients that [`Objective::pullback`] adds to.
#[derive(Debug)]
pub struct RowBars<'a> {
    /// `∂/∂mean`, `[S, P]`.
    pub mean: &'a mut [f64],
    /// `∂/∂variance`, `[S, P]`.
    pub variance: &'a mut [f64],
    /// `∂/∂θ` in the likelihood's parameters.
    pub likelihood: &'a mut [f64],
    /// The gradient in the parameters that belong to no layer.
    pub shared: &'a mut [f64],
}

/// An objective: what the samples of a row contribute to the number that training maximises, and the gradient of that.
pub trait Objective: std::fmt::Debug + Send + Sync {
    /// The objective's name in reports and messages, e.g. `ELBO`.
    fn name(&self) -> &'static str;

    /// The library's name for this objective in settings and files; `None` for one that the library does not know.
    fn form(&self) -> Option<ObjectiveForm> {
        None
    }

    /// Fails if the objective cannot be computed with this model, e.g. because a parameter that it trains is not among those that belong
    /// to no layer.
    fn check(&self, _model: &DeepGp) -> Result<()> {
        Ok(())
    }

    /// Adds the row's term, times its weight and scale, to `sum`.
    fn add(&self, row: &RowTerm<'_>, sum: &mut f64);

    /// Adds the gradient of the row's term, times its weight and scale, to `bars`.
    fn pullback(&self, row: &RowTerm<'_>, bars: RowBars<'_>);
}
