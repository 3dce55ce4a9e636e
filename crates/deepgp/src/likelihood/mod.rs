//! Likelihoods: how observations `y` arise from the last layer's `f`. The open trait; one file for each.
//!
//! The ELBO needs `E_{N(f; mean, variance)} log p(y | f)` for one row at a time, in closed form or by quadrature, and its
//! gradient. Everything is per row and in `f64`: it costs nothing beside the layers. A weight on a row is a factor on
//! its expectation, and belongs to the caller.
//!
//! To add one, write a file with a struct and [`Likelihood`] for it; where there is no closed form, [`Pointwise`] asks for one function
//! and [`ByQuadrature`] does the rest. If it is to be chosen in settings and kept in files, it gets a variant of [`LikelihoodForm`] and
//! of [`LikelihoodDescription`], and the compiler lists what is missing.

mod conditional;
mod form;
mod gaussian;
mod pointwise;
mod quadrature;

pub use conditional::Support;
pub use form::{LikelihoodDescription, LikelihoodForm};
pub use gaussian::Gaussian;
pub(crate) use gaussian::NOISE_FLOOR;
pub use pointwise::{ByQuadrature, Pointwise};
pub use quadrature::GaussHermite;

use crate::data::Scaling;
use crate::error::Result;
use crate::model::params::Parameters;
use crate::numeric::mat::View;
use crate::random::noise::Key;

/// Independent Gaussian marginals of the latent functions at one row.
#[derive(Clone, Copy, Debug)]
pub struct Latent<'a> {
    /// Means, one for each latent function.
    pub mean: &'a [f64],
    /// Variances.
    pub variance: &'a [f64],
}

/// What [`Likelihood::expected_log_density_pullback`] adds gradients to.
#[derive(Debug)]
pub struct LatentBars<'a> {
    /// `∂/∂mean`.
    pub mean: &'a mut [f64],
    /// `∂/∂variance`.
    pub variance: &'a mut [f64],
    /// `∂/∂θ` in the order of [`Parameters::visit`].
    pub theta: &'a mut [f64],
}

/// How targets are scaled before a likelihood sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetUnits {
    /// To mean 0 and deviation 1.
    Standardised,
    /// Not at all: counts and classes are what they are.
    AsTheyAre,
}

/// A number of a likelihood in words and units that a user knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// What it is, e.g. `noise`: a standard deviation in the target's units.
    pub name: String,
    /// The target that it belongs to, from 0; `None` if it belongs to all of them.
    pub output: Option<usize>,
    /// The number.
    pub value: f64,
}

impl Quantity {
    /// The value of this name for this target among `all`, if it is there.
    pub fn find(all: &[Self], name: &str, output: Option<usize>) -> Option<f64> {
        all.iter().find(|own| own.name == name && own.output == output).map(|own| own.value)
    }
}

/// `p(y | f)` of one row, with trainable parameters.
pub trait Likelihood: Parameters + std::fmt::Debug + Send + Sync {
    /// What it is, in a word.
    fn name(&self) -> String;

    /// A copy.
    fn clone_box(&self) -> Box<dyn Likelihood>;

    /// What a file keeps of it beside its parameters; `None` for a likelihood that the library does not know.
    fn description(&self) -> Option<LikelihoodDescription> {
        None
    }

    /// How targets are scaled before it sees them.
    fn target_units(&self) -> TargetUnits {
        TargetUnits::Standardised
    }

    /// In which units each latent function is told to users, who see `f · scale + shift`: those of the targets where there is one latent
    /// function for each, and otherwise its own.
    fn latent_units(&self, targets: &Scaling) -> Scaling {
        if self.latent_width() == targets.scale.len() {
            targets.clone()
        } else {
            Scaling::identity(self.latent_width())
        }
    }

    /// What its parameters mean to a user, whose targets have these units.
    fn summary(&self, _targets: &Scaling) -> Vec<Quantity> {
        Vec::new()
    }

    /// How many latent functions it reads: the width of the last layer.
    fn latent_width(&self) -> usize;

    /// How many columns `y` has.
    fn observed_width(&self) -> usize;

    /// Fails if some `y` is impossible, e.g. a negative count.
    fn check(&self, y: View<'_>) -> Result<()>;

    /// `E_{N(f; mean, variance)} log p(y | f)`.
    fn expected_log_density(&self, y: &[f64], f: Latent<'_>) -> f64;

    /// Adds `weight` times the gradient of [`Likelihood::expected_log_density`].
    fn expected_log_density_pullback(&self, y: &[f64], f: Latent<'_>, weight: f64, bars: LatentBars<'_>);

    /// Mean and variance of `y`.
    fn observed_moments(&self, f: Latent<'_>, mean: &mut [f64], variance: &mut [f64]);

    /// `log ∫ p(y | f) N(f; mean, variance) df`, jointly over the columns of `y`.
    fn log_density(&self, y: &[f64], f: Latent<'_>) -> f64;

    /// `P(y_output ≤ at)`.
    fn cumulative(&self, output: usize, at: f64, f: Latent<'_>) -> f64;

    /// Mean and variance of one output of `y`, where it is Gaussian. Scores are then exact and fast; others are integrated.
    fn normal(&self, _output: usize, _f: Latent<'_>) -> Option<(f64, f64)> {
        None
    }

    /// Draws `y` given `f`. The counter's last word is free for the likelihood to count in.
    fn draw(&self, f: &[f64], key: Key, counter: [u32; 4], y: &mut [f64]);
}

impl Clone for Box<dyn Likelihood> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}
