//! Likelihoods: how observations `y` arise from the last layer's `f`. The open trait; one file for each.
//!
//! The ELBO needs `E_{N(f; mean, variance)} log p(y | f)` for one row at a time, in closed form or by quadrature, and its
//! gradient; the predictive objective needs `log E p(y | f)^α` beside it ([`Tempered`]). Everything is per row and in `f64`: it costs nothing beside the layers. A weight on a row is a factor on
//! its expectation, and belongs to the caller.
//!
//! To add one, write a file with a struct and [`Likelihood`] for it; where there is no closed form, [`Pointwise`] asks for one function
//! and [`ByQuadrature`] does the rest. Two classes, classes in order and counts are [`LogConcave`]. If it is to be chosen in settings and stored in model files, it gets a variant of
//! [`LikelihoodForm`] and of [`LikelihoodDescription`], and the compiler lists what is missing.

mod bernoulli;
pub(crate) mod class_distribution;
mod clock;
mod conditional;
mod counts;
mod description;
mod form;
mod gaussian;
mod heteroscedastic;
mod lattice;
mod log_concave;
mod negative_binomial;
mod noise;
mod normal;
mod ordered;
mod outcomes;
mod pointwise;
mod poisson;
mod quadrature;
mod race;
mod softmax;
mod start;
mod student_t;
mod tempered;
mod tilted_bound;

pub use bernoulli::{Bernoulli, ClassCurve, Link};
pub use conditional::Support;
pub use description::LikelihoodDescription;
pub use form::LikelihoodForm;
pub use gaussian::Gaussian;
pub use heteroscedastic::Heteroscedastic;
pub use lattice::{Curve, Expectation, Jet};
pub use log_concave::{LogConcave, ObservedMoments};
pub use negative_binomial::{DispersedCurve, NegativeBinomial};
pub(crate) use noise::NOISE_FLOOR;
pub use normal::NormalPart;
pub use ordered::{Ordered, OrderedCurve};
pub use outcomes::Outcomes;
pub use pointwise::{ByQuadrature, Pointwise};
pub use poisson::{CountCurve, Poisson};
pub use quadrature::GaussHermite;
pub(crate) use quadrature::log_sum_exp;
pub use softmax::Softmax;
pub(crate) use start::class_shares;
pub use student_t::StudentT;
pub use tempered::Tempered;

use crate::data::Scaling;
use crate::error::Result;
use crate::model::params::Parameters;
use crate::numeric::mat::View;
use crate::random::noise::Key;

/// Independent Gaussian marginals `N(f; mean, variance)` of the latent functions at one row.
#[derive(Clone, Copy, Debug)]
pub struct Latent<'a> {
    /// The means, one for each latent function.
    pub mean: &'a [f64],
    /// The variances, one for each latent function.
    pub variance: &'a [f64],
}

/// The gradients that [`Likelihood::expected_log_density_pullback`] adds to.
#[derive(Debug)]
pub struct LatentBars<'a> {
    /// `∂/∂mean`, one for each latent function.
    pub mean: &'a mut [f64],
    /// `∂/∂variance`, one for each latent function.
    pub variance: &'a mut [f64],
    /// `∂/∂θ` in the likelihood's parameters, in the order of [`Parameters::visit`].
    pub theta: &'a mut [f64],
}

/// How targets are scaled before a likelihood sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetUnits {
    /// Targets are standardised to mean 0 and standard deviation 1.
    Standardised,
    /// Targets are not scaled: counts and classes are what they are.
    AsTheyAre,
}

/// What a likelihood has learnt, as a number with a name and in the user's units.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The quantity's name, e.g. `noise`: a standard deviation in the target's units.
    pub name: String,
    /// The target that it belongs to, from 0; `None` if it belongs to all of them.
    pub output: Option<usize>,
    /// The quantity's value, in the user's units.
    pub value: f64,
}

impl Quantity {
    /// The value of the quantity of this name for this target among `all`, if it is there.
    pub fn find(all: &[Self], name: &str, output: Option<usize>) -> Option<f64> {
        all.iter().find(|own| own.name == name && own.output == output).map(|own| own.value)
    }
}

/// A likelihood `p(y | f)` of one row, with trainable parameters.
pub trait Likelihood: Parameters + std::fmt::Debug + Send + Sync {
    /// The likelihood's name, e.g. `gaussian`.
    fn name(&self) -> String;

    /// A copy of the likelihood. (`Clone` itself cannot be called on a trait object.)
    fn clone_box(&self) -> Box<dyn Likelihood>;

    /// What a model file stores of the likelihood beside its parameters; `None` for a likelihood that the library does not know.
    fn description(&self) -> Option<LikelihoodDescription> {
        None
    }

    /// The values that an observation can take, and so what is asked of a prediction: by default any number.
    fn outcomes(&self) -> Outcomes {
        Outcomes::Real
    }

    /// How targets are scaled before the likelihood sees them.
    fn target_units(&self) -> TargetUnits {
        TargetUnits::Standardised
    }

    /// The units in which users see each latent function, as `f · scale + shift`: those of the targets where there is one latent function
    /// for each, and otherwise the model's own.
    fn latent_units(&self, targets: &Scaling) -> Scaling {
        if self.latent_width() == targets.scale.len() {
            targets.clone()
        } else {
            Scaling::identity(self.latent_width())
        }
    }

    /// The likelihood's parameters in the user's units, where targets have the units `targets`.
    fn summary(&self, _targets: &Scaling) -> Vec<Quantity> {
        Vec::new()
    }

    /// The number of latent functions that the likelihood reads: the width of the last layer.
    fn latent_width(&self) -> usize;

    /// The latent function around which output `output` scatters; `None` if there is none. By default that of the same number, where there
    /// are as many as outputs.
    fn location(&self, output: usize) -> Option<usize> {
        (self.latent_width() == self.observed_width()).then_some(output)
    }

    /// Whether the noise differs from row to row, so that a prediction of it says something of its own: by default where it has a level.
    fn noise_follows_inputs(&self) -> bool {
        self.noise_level().is_some()
    }

    /// The number of columns of `y`.
    fn observed_width(&self) -> usize;

    /// The scale at which a latent function of the last layer starts to vary around its mean, in units of the prior.
    fn start_scale(&self, _latent: usize) -> f64 {
        1.0
    }

    /// Whether a latent function is the logarithm of a rate, so that a row's offset, the logarithm of its exposure, is added to it.
    fn takes_offset(&self, _latent: usize) -> bool {
        false
    }

    /// Fails if some `y` is impossible, e.g. a negative count.
    fn check(&self, y: View<'_>) -> Result<()>;

    /// The expected log density `E_{N(f; mean, variance)} log p(y | f)` of one row.
    fn expected_log_density(&self, y: &[f64], f: Latent<'_>) -> f64;

    /// Adds `weight` times the gradient of [`Likelihood::expected_log_density`] to `bars`.
    fn expected_log_density_pullback(&self, y: &[f64], f: Latent<'_>, weight: f64, bars: LatentBars<'_>);

    /// Adds `weight` times the gradient of [`Likelihood::expected_log_density`] to `bars`, and returns its value: both at once, for
    /// likelihoods that save work so.
    fn expected_log_density_with_pullback(&self, y: &[f64], f: Latent<'_>, weight: f64, bars: LatentBars<'_>) -> f64 {
        self.expected_log_density_pullback(y, f, weight, bars);
        self.expected_log_density(y, f)
    }

    /// Writes mean and variance of each output of `y`, for `f ~ N(mean, variance)`.
    fn observed_moments(&self, f: Latent<'_>, mean: &mut [f64], variance: &mut [f64]);

    /// The log density `log ∫ p(y | f) N(f; mean, variance) df` of a row, jointly over the columns of `y`.
    fn log_density(&self, y: &[f64], f: Latent<'_>) -> f64;

    /// The distribution function `P(y_output ≤ at)` of one output, for `f ~ N(mean, variance)`.
    fn cumulative(&self, output: usize, at: f64, f: Latent<'_>) -> f64;

    /// [`Likelihood::cumulative`] of one output, for whoever asks for thousands of its values: a likelihood whose distribution function is dear
    /// prepares it once.
    fn cumulative_curve(&self, output: usize) -> Box<dyn Fn(f64, Latent<'_>) -> f64 + '_> {
        Box::new(move |at, f| self.cumulative(output, at, f))
    }

    /// Writes the probability of each class, for `f ~ N(mean, variance)`, and says that it did; by default there are none.
    fn class_probabilities(&self, _f: Latent<'_>, _probabilities: &mut [f64]) -> bool {
        false
    }

    /// Hands one output of `y`, for `f ~ N(mean, variance)`, to `each` as a mixture of Gaussians whose weights sum to 1, and says that it
    /// did. Quantiles and the CRPS are then by formula; where `y` is no such mixture, nothing is handed on and they are by integration.
    fn normals(&self, _output: usize, _f: Latent<'_>, _each: &mut dyn FnMut(NormalPart)) -> bool {
        false
    }

    /// Writes the variance of each output of `y` that knowing `f` would leave, `E Var[y | f]`, for `f ~ N(mean, variance)`. The default
    /// takes `f` to be at its mean.
    fn noise_variance(&self, f: Latent<'_>, variance: &mut [f64]) {
        let (known, mut mean) = (vec![0.0; f.variance.len()], vec![0.0; variance.len()]);
        self.observed_moments(Latent { mean: f.mean, variance: &known }, &mut mean, variance);
    }

    /// The noise variance of each output where the likelihood is `y = f + noise` with Gaussian noise that is the same for every row.
    fn gaussian_noise(&self) -> Option<&[f64]> {
        None
    }

    /// The level of each output's noise where that follows the inputs, its noise variance if it did not: the first of the likelihood's
    /// parameters, one for each output. `None` where there is no such level.
    fn noise_level(&self) -> Option<&[f64]> {
        None
    }

    /// The likelihood whose noise is so many times as wide, by a factor for each output; `None` if it has no such noise, or its outputs do not
    /// scatter around a latent function each, with that function's mean for their own.
    fn widened(&self, _factors: &[f64]) -> Option<Box<dyn Likelihood>> {
        None
    }

    /// The likelihood as what the predictive objective asks of it; `None` if it has no more than the expected log density.
    fn tempered(&self) -> Option<&dyn Tempered> {
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
