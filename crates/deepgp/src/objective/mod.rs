//! Objectives: what the samples of one row contribute to the number that training maximises. The open trait; one file for each.
//!
//! ```text
//! objective = Σ_n scale · weight_n · term(y_n, samples of row n) − κ Σ_l KL_l
//! ```
//!
//! The hidden layers hand an objective `S` Gaussians for every row, the last layer's moments at `S` samples or learned sites
//! ([`Samples`]); it says what they are worth together, and how that changes with each of them. The KL and its weight `κ` are the same for every objective, and
//! belong to the layers. Everything is per row and in `f64`: it costs nothing beside the layers.
//!
//! To add one, write a file with a struct and [`Objective`] for it. If it is to be chosen in settings and stored in model files, it gets
//! a variant of [`ObjectiveForm`], and the compiler lists what is missing.

mod elbo;
mod faithful;
mod predictive;
mod tighter;

pub use elbo::EvidenceLowerBound;
pub use faithful::Faithful;
pub use predictive::Predictive;
pub use tighter::TighterBound;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::likelihood::{Latent, Likelihood, Outcomes};
use crate::model::DeepGp;

/// The choice of one of the library's objectives, which training maximises.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ObjectiveForm {
    /// The evidence lower bound: the mean over samples of `E log p(y | f)`.
    #[default]
    Elbo,
    /// A tighter evidence lower bound, for Gaussian noise: [`TighterBound`].
    Tighter,
    /// The log density of rows, or a power of it: [`Predictive`].
    Predictive {
        /// The power `α`, above 0 and at most 1: near 0 it is the evidence lower bound, at 1 the log density of the rows.
        power: f64,
    },
    /// The predictive objective for all but the mean, which is fitted as if noise were constant for a while: [`Faithful`].
    Faithful {
        /// The power `α` of the predictive objective.
        power: f64,
        /// The share of training up to which the mean is fitted as if noise were constant.
        hold: f64,
        /// The share of training from which on the mean is fitted by the predictive objective as all else; in between it changes over.
        release: f64,
    },
}

impl ObjectiveForm {
    /// The log density of rows.
    pub const PREDICTIVE: Self = Self::Predictive { power: 1.0 };
    /// The faithful objective at its usual power and course.
    pub const FAITHFUL: Self =
        Self::Faithful { power: Faithful::POWER, hold: Faithful::HOLD, release: Faithful::RELEASE };

    /// The objective that suits a likelihood: the faithful one where the noise follows the inputs, the log density of rows for counts, else the
    /// evidence lower bound.
    pub fn suiting(likelihood: &dyn Likelihood) -> Self {
        match (likelihood.noise_level(), likelihood.outcomes()) {
            (Some(_), _) => Self::FAITHFUL,
            (None, Outcomes::Counts) => Self::PREDICTIVE,
            (None, Outcomes::Real | Outcomes::Classes(_)) => Self::Elbo,
        }
    }

    /// The objective that was chosen.
    pub fn objective(self) -> Arc<dyn Objective> {
        match self {
            Self::Elbo => Arc::new(EvidenceLowerBound),
            Self::Tighter => Arc::new(TighterBound),
            Self::Predictive { power } => Arc::new(Predictive { power }),
            Self::Faithful { power, hold, release } => Arc::new(Faithful { power, hold, release }),
        }
    }

    /// The power of an objective that has one.
    pub fn power(self) -> Option<f64> {
        match self {
            Self::Elbo | Self::Tighter => None,
            Self::Predictive { power } | Self::Faithful { power, .. } => Some(power),
        }
    }

    /// The faithfulness when this share of training is done: 0 for objectives that have none.
    pub fn faithfulness(self, progress: f64) -> f64 {
        match self {
            Self::Elbo | Self::Tighter | Self::Predictive { .. } => 0.0,
            Self::Faithful { power, hold, release } => Faithful { power, hold, release }.share(progress),
        }
    }

    /// Fails if the choice makes no sense.
    pub fn check(self) -> Result<()> {
        match self {
            Self::Predictive { power } | Self::Faithful { power, .. } if !(power > 0.0 && power <= 1.0) => {
                let requirement = "above 0 and at most 1";
                Err(Error::Setting { name: "objective: power", value: format!("{power:?}"), requirement })
            }
            Self::Faithful { hold, release, .. } if !(0.0 <= hold && hold <= release && release <= 1.0) => {
                let requirement = "two shares of training from 0 to 1, the first at most the second";
                let value = format!("hold {hold:?}, release {release:?}");
                Err(Error::Setting { name: "objective", value, requirement })
            }
            Self::Elbo | Self::Tighter | Self::Predictive { .. } | Self::Faithful { .. } => Ok(()),
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
    /// The logarithms of the samples' weights, which sum to 1; `None` where all weigh alike.
    pub log_weights: Option<&'a [f64]>,
    /// The part `k(x, x) − k_b K_bb⁻¹ k_bᵀ` of the variances at each sample that inducing inputs leave whatever is known of them: empty
    /// unless the objective asks for it ([`Objective::wants_conditional`]).
    pub conditional: &'a [f64],
}

impl<'a> Samples<'a> {
    /// The marginals at samples that weigh alike.
    pub fn alike(mean: &'a [f64], variance: &'a [f64], width: usize) -> Self {
        Self { mean, variance, width, log_weights: None, conditional: &[] }
    }

    /// The weight of sample `s`.
    pub fn weight(self, s: usize) -> f64 {
        self.log_weights.map_or(1.0 / self.len() as f64, |all| all[s].exp())
    }

    /// The logarithm of the weight of sample `s`.
    pub fn log_weight(self, s: usize) -> f64 {
        self.log_weights.map_or(-(self.len() as f64).ln(), |all| all[s])
    }

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
    /// The share of training that is done, from 0 to 1.
    pub progress: f64,
}

/// The gradients that [`Objective::pullback`] adds to.
#[derive(Debug)]
pub struct RowBars<'a> {
    /// `∂/∂mean`, `[S, P]`.
    pub mean: &'a mut [f64],
    /// `∂/∂variance`, `[S, P]`.
    pub variance: &'a mut [f64],
    /// The gradient at the conditional variance of each sample; empty unless the objective asks for that.
    pub conditional: &'a mut [f64],
    /// The gradient at the logarithm of each sample's weight; empty where all weigh alike.
    pub log_weights: &'a mut [f64],
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

    /// Whether the objective reads the conditional variance of the last layer, [`Samples::conditional`].
    fn wants_conditional(&self) -> bool {
        false
    }

    /// Adds the row's term, times its weight and scale, to `sum`.
    fn add(&self, row: &RowTerm<'_>, sum: &mut f64);

    /// Adds the gradient of the row's term, times its weight and scale, to `bars`.
    fn pullback(&self, row: &RowTerm<'_>, bars: RowBars<'_>);

    /// Adds the row's term to `sum` and its gradient to `bars`: both at once, for objectives that save work so.
    fn add_with_pullback(&self, row: &RowTerm<'_>, sum: &mut f64, bars: RowBars<'_>) {
        self.add(row, sum);
        self.pullback(row, bars);
    }
}

/// Helpers that the objectives' tests share: a row of three samples, and central differences.
#[cfg(test)]
mod testing {
    use super::{Objective, RowBars, RowTerm, Samples};
    use crate::likelihood::Likelihood;
    use crate::model::params;
    use crate::numeric::mat::Mat;
    use crate::testing::assert_slope;

    pub const Y: [f64; 2] = [0.3, -1.2];
    pub const MEAN: [f64; 6] = [0.1, 0.4, -0.3, 0.9, 0.0, -1.0];
    pub const VARIANCE: [f64; 6] = [0.2, 0.7, 0.3, 0.1, 0.5, 0.4];

    /// The row of these samples, three times in the data.
    pub fn row<'a>(likelihood: &'a dyn Likelihood, f: Samples<'a>) -> RowTerm<'a> {
        RowTerm {
            likelihood,
            shared: &[],
            y: &Y[..likelihood.observed_width()],
            f,
            weight: 2.0,
            scale: 1.5,
            progress: 0.8,
        }
    }

    /// Asserts that an objective's pullback is the slope of its value in everything that it reads.
    pub fn assert_row_pullback(objective: &dyn Objective, likelihood: &dyn Likelihood, f: Samples<'_>) {
        let value = |likelihood: &dyn Likelihood, f: Samples<'_>| {
            let mut sum = 0.0;
            objective.add(&row(likelihood, f), &mut sum);
            sum
        };
        let (mut mean, mut variance, mut theta) = ([0.0; 6], [0.0; 6], Vec::new());
        let mut values = Vec::new();
        likelihood.clone_box().visit(&mut |leaf| values.extend_from_slice(leaf.values));
        theta.resize(params::count(&mut *likelihood.clone_box()), 0.0);
        let mut conditional = vec![0.0; f.conditional.len()];
        let mut log_weights = vec![0.0; f.log_weights.map_or(0, <[f64]>::len)];
        let bars = RowBars {
            mean: &mut mean,
            variance: &mut variance,
            conditional: &mut conditional,
            log_weights: &mut log_weights,
            likelihood: &mut theta,
            shared: &mut [],
        };
        objective.pullback(&row(likelihood, f), bars);
        let column = |v: &[f64]| Mat::column(v.to_vec());
        assert_slope("mean", &column(f.mean), &column(&mean), 1e-8, |m| {
            value(likelihood, Samples { mean: m.as_slice(), ..f })
        });
        assert_slope("variance", &column(f.variance), &column(&variance), 1e-8, |v| {
            value(likelihood, Samples { variance: v.as_slice(), ..f })
        });
        assert_slope("conditional", &column(f.conditional), &column(&conditional), 1e-8, |c| {
            value(likelihood, Samples { conditional: c.as_slice(), ..f })
        });
        if let Some(all) = f.log_weights {
            assert_slope("weights", &column(all), &column(&log_weights), 1e-8, |w| {
                value(likelihood, Samples { log_weights: Some(w.as_slice()), ..f })
            });
        }
        assert_slope("parameters", &column(&values), &column(&theta), 1e-6, |t| {
            let (mut own, mut at) = (likelihood.clone_box(), 0);
            own.visit(&mut |leaf| {
                leaf.values.copy_from_slice(&t.as_slice()[at..at + leaf.values.len()]);
                at += leaf.values.len();
            });
            value(&*own, f)
        });
    }
}
