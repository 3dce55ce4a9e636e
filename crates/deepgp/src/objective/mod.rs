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
//! To add one, write a file with a struct and [`Objective`] for it. If it is to be chosen in settings and kept in files, it gets a
//! variant of [`ObjectiveForm`], and the compiler lists what is missing.

mod elbo;

pub use elbo::EvidenceLowerBound;

use crate::likelihood::{Latent, Likelihood};

/// Which of the library's objectives training maximises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ObjectiveForm {
    /// The evidence lower bound: the mean over samples of `E log p(y | f)`.
    #[default]
    Elbo,
}

impl ObjectiveForm {
    /// The objective itself.
    pub fn objective(self) -> &'static dyn Objective {
        match self {
            Self::Elbo => &EvidenceLowerBound,
        }
    }
}

/// The last layer's marginals at one row, one for each sample of the hidden layers.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    /// Means, `[S, P]`, sample by sample.
    pub mean: &'a [f64],
    /// Variances, `[S, P]`.
    pub variance: &'a [f64],
    /// `P`, the number of latent functions.
    pub width: usize,
}

impl<'a> Samples<'a> {
    /// `S`.
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

/// One row's term of the objective.
#[derive(Clone, Copy, Debug)]
pub struct RowTerm<'a> {
    /// How observations arise from the latent functions.
    pub likelihood: &'a dyn Likelihood,
    /// The model's parameters that belong to no layer, in their order.
    pub shared: &'a [f64],
    /// The row's targets.
    pub y: &'a [f64],
    /// What the hidden layers hand on.
    pub f: Samples<'a>,
    /// The row's weight.
    pub weight: f64,
    /// How many rows of the data one row of the batch stands for.
    pub scale: f64,
}

/// What [`Objective::pullback`] adds gradients to.
#[derive(Debug)]
pub struct RowBars<'a> {
    /// `∂/∂mean`, `[S, P]`.
    pub mean: &'a mut [f64],
    /// `∂/∂variance`, `[S, P]`.
    pub variance: &'a mut [f64],
    /// `∂/∂θ` of the likelihood.
    pub likelihood: &'a mut [f64],
    /// `∂/∂` the parameters that belong to no layer.
    pub shared: &'a mut [f64],
}

/// What the samples of a row contribute, and its gradient.
pub trait Objective: std::fmt::Debug + Send + Sync {
    /// What it is called in reports and messages, e.g. `ELBO`.
    fn name(&self) -> &'static str;

    /// Which of the library's objectives it is; `None` for one that the library does not know.
    fn form(&self) -> Option<ObjectiveForm> {
        None
    }

    /// Adds the row's term, times its weight and scale, to `sum`.
    fn add(&self, row: &RowTerm<'_>, sum: &mut f64);

    /// Adds the gradient of what [`Objective::add`] adds.
    fn pullback(&self, row: &RowTerm<'_>, bars: RowBars<'_>);
}
