//! Building a model at its starting point, from inputs and a plan for each layer.
//!
//! Layer by layer, on the inputs pushed through the mean functions: inducing inputs are chosen there, the mean's `free` starts
//! at 0, and a hidden layer's covariance starts tiny, so that the model starts as its mean functions: `L_s = 1e-5 · L_b`
//! (`standard`), `1e-5 · I` (`whitened`), `s = 1e-5` (`diagonal`). The `dual` form shrinks the prior by a *large* `L_B`. The last layer starts at the prior,
//! but for functions that its likelihood wants narrower ([`Likelihood::start_scale`]).

use crate::data::check_finite;
use crate::error::{Error, Matrix, Result};
use crate::kernel::Kernel;
use crate::layer::{CovarianceForm, Gram, Inducing, Jitter, Layer, LayerCovariance, LayerMean, MeanForm, MeanFunction};
use crate::likelihood::Likelihood;
use crate::model::inducing::{Distinct, InducingStart, choose, choose_nested};
use crate::model::start::{StartWatch, unwatched};
use crate::model::{DeepGp, Precision, Sites};
use crate::numeric::mat::{Mat, View};
use crate::random::noise::{Key, Purpose};
use crate::settings::{InducingSize, ModelSettings, ResolvedSize};

/// The scale at which the covariance of a hidden layer starts, in units of the prior.
const HIDDEN_SCALE: f64 = 1e-5;
/// The largest factor of the identity in `L_B`, at which a hidden layer's `dual` covariance starts.
const HIDDEN_DUAL: f64 = 1e2;
/// The factor of the identity in `L_B`, at which the last layer's `dual` covariance starts: near the prior, but not at `L_B = 0`, where
/// its slope is 0.
const LAST_DUAL: f64 = 0.03;

/// Where a layer's inducing inputs come from.
#[derive(Clone, Debug)]
pub enum InducingPlan {
    /// Inducing inputs are chosen from the layer's inputs.
    Chosen {
        /// The number of inducing inputs of mean and covariance.
        size: InducingSize,
        /// The rule by which they are chosen.
        start: InducingStart,
    },
    /// Inducing inputs are given, in the model's units: where data is standardised, so are these.
    Given(Inducing),
}

/// The plan of one layer to build.
#[derive(Clone, Debug)]
pub struct LayerPlan {
    /// The number of outputs.
    pub width: usize,
    /// The kernel, at its starting parameters.
    pub kernel: Box<dyn Kernel>,
    /// The variables that the mean is trained in.
    pub mean_form: MeanForm,
    /// The variables that the covariance is trained in.
    pub covariance_form: CovarianceForm,
    /// The inducing inputs.
    pub inducing: InducingPlan,
    /// The mean function; `None` is zero in the last layer and, in a hidden one, identity, principal directions or
    /// zero-padding, as the widths ask.
    pub mean_function: Option<MeanFunction>,
}

impl DeepGp {
    /// A model of layers built on inputs `x` (in the model's units) as planned, first to last.
    pub fn build(
        x: View<'_>,
        plans: Vec<LayerPlan>,
        likelihood: Box<dyn Likelihood>,
        jitter: Jitter,
        seed: u64,
    ) -> Result<Self> {
        Self::build_watched(x, plans, likelihood, jitter, seed, &mut StartWatch::new(&mut unwatched))
    }

    /// [`DeepGp::build`] for somebody who watches it.
    fn build_watched(
        x: View<'_>,
        plans: Vec<LayerPlan>,
        likelihood: Box<dyn Likelihood>,
        jitter: Jitter,
        seed: u64,
        watch: &mut StartWatch<'_>,
    ) -> Result<Self> {
        check_finite("x", x)?;
        jitter.check()?;
        let last = plans.len().saturating_sub(1);
        let mut inputs = x.to_mat();
        let mut distinct = Distinct::of(x);
        // What k-means chose last, pushed along as long as distances do not change.
        let mut centres: Option<(ResolvedSize, Inducing)> = None;
        let mut layers = Vec::new();
        for (index, plan) in plans.into_iter().enumerate() {
            check_widths(&plan, inputs.ncols(), index)?;
            let key = Key::new(seed ^ (index as u64).rotate_right(16), Purpose::Inducing);
            let inducing = match &plan.inducing {
                InducingPlan::Given(given) => given.clone(),
                InducingPlan::Chosen { size, start } => {
                    let size = size.resolve(distinct.len())?;
                    let again = centres.as_ref().filter(|(old, _)| *start == InducingStart::KMeans && *old == size);
                    let watch = watch.of_layer(index);
                    let (x, kernel) = (inputs.view(), &*plan.kernel);
                    let mut pick = |m| choose(*start, x, &distinct, m, kernel, key, watch);
                    let chosen = match (again, size) {
                        (Some((_, again)), _) => again.clone(),
                        (None, ResolvedSize::Tied(m)) => Inducing::Tied(pick(m)?),
                        (None, ResolvedSize::Decoupled { mean, covariance }) => {
                            Inducing::Decoupled { mean: pick(mean)?, covariance: pick(covariance)? }
                        }
                        (None, ResolvedSize::Nested { mean, covariance }) => {
                            let sizes = (mean, covariance);
                            let inputs = choose_nested(*start, x, &distinct, sizes, kernel, key, watch)?;
                            Inducing::Nested { inputs, covariance }
                        }
                    };
                    if *start == InducingStart::KMeans {
                        centres = Some((size, chosen.clone()));
                    }
                    chosen
                }
            };
            let mean_function = match plan.mean_function.clone() {
                Some(given) => given,
                None if index == last => MeanFunction::Zero,
                None => MeanFunction::between(inputs.view(), plan.width)?,
            };
            mean_function.check(index, inputs.ncols(), plan.width)?;
            let free = Mat::zeros(inducing.mean().nrows(), plan.width);
            let scales: Vec<f64> =
                (0..plan.width).map(|p| if index == last { likelihood.start_scale(p) } else { HIDDEN_SCALE }).collect();
            let factor = start_factor(&plan, &inducing, jitter, &scales, index)?;
            if index < last {
                inputs = mean_function.apply(inputs.view(), plan.width);
                if mean_function.keeps_distances() {
                    let push = |z: &Mat| mean_function.apply(z.view(), plan.width);
                    centres = centres.map(|(size, z)| (size, z.map(push)));
                } else {
                    centres = None;
                    distinct = Distinct::of(inputs.view());
                }
            }
            layers.push(Layer {
                kernel: plan.kernel,
                mean_function,
                inducing,
                mean: LayerMean { form: plan.mean_form, free },
                covariance: LayerCovariance { form: plan.covariance_form, factor },
            });
        }
        DeepGp::new(layers, likelihood)?.with_jitter(jitter)
    }

    /// A regression model for standardised inputs `x` and `outputs` standardised targets.
    pub fn for_regression(x: View<'_>, outputs: usize, settings: &ModelSettings) -> Result<Self> {
        if outputs == 0 {
            return Err(Error::Setting { name: "outputs", value: "0".into(), requirement: "at least 1" });
        }
        settings.likelihood.check()?;
        Self::with_likelihood(x, settings.likelihood.start(outputs), settings)
    }

    /// A model for inputs `x` in the model's units and this likelihood, whatever likelihood `settings` name. Its last layer is as wide as
    /// the likelihood has latent functions.
    pub fn with_likelihood(x: View<'_>, likelihood: Box<dyn Likelihood>, settings: &ModelSettings) -> Result<Self> {
        Self::with_likelihood_watched(x, likelihood, settings, &mut StartWatch::new(&mut unwatched))
    }

    /// [`DeepGp::with_likelihood`] for somebody who watches it.
    pub(crate) fn with_likelihood_watched(
        x: View<'_>,
        likelihood: Box<dyn Likelihood>,
        settings: &ModelSettings,
        watch: &mut StartWatch<'_>,
    ) -> Result<Self> {
        if settings.width == 0 {
            return Err(Error::Setting { name: "width", value: "0".into(), requirement: "at least 1" });
        }
        match (settings.precision, settings.covariance_form) {
            (Precision::Mixed, CovarianceForm::Dual) => {
                // At the starting point of 100 inducing inputs, rounding is a thousand times the variance.
                let requirement = "`f64` for a dual covariance, for which single precision has too few digits";
                return Err(Error::Setting { name: "precision", value: "mixed".into(), requirement });
            }
            (Precision::F64, _)
            | (_, CovarianceForm::Standard | CovarianceForm::Whitened | CovarianceForm::Diagonal) => {}
        }
        let plans = (0..=settings.hidden_layers).map(|i| LayerPlan {
            width: if i == settings.hidden_layers { likelihood.latent_width() } else { settings.width },
            kernel: settings.kernel.start(if i == 0 { x.ncols() } else { settings.width }),
            mean_form: settings.mean_form,
            covariance_form: settings.covariance_form,
            inducing: InducingPlan::Chosen { size: settings.inducing, start: settings.inducing_start },
            mean_function: None,
        });
        let jitter = settings.jitter.unwrap_or(settings.precision.default_jitter());
        let model = Self::build_watched(x, plans.collect(), likelihood, jitter, settings.seed, watch)?;
        // Without a hidden layer there is nothing to sample.
        let sites = match settings.sites {
            Some(count) if settings.hidden_layers > 0 => {
                Some(Sites::draw(count, &vec![settings.width; settings.hidden_layers], settings.seed)?)
            }
            Some(_) | None => None,
        };
        model.with_sites(sites)?.with_precision(settings.precision).with_jitter(jitter)
    }
}

/// Fails unless kernel and given inducing inputs have the width of the layer's input.
fn check_widths(plan: &LayerPlan, expected: usize, layer: usize) -> Result<()> {
    let mut widths = vec![("the kernel", plan.kernel.input_width())];
    if let InducingPlan::Given(given) = &plan.inducing {
        check_finite("inducing inputs", given.mean().view())?;
        check_finite("inducing inputs", given.covariance())?;
        if given.mean().nrows() == 0 || given.covariance().nrows() == 0 {
            return Err(Error::Setting { name: "inducing inputs", value: "0".into(), requirement: "at least 1" });
        }
        widths.push(("the mean's set of inducing inputs", given.mean().ncols()));
        widths.push(("the covariance's set of inducing inputs", given.covariance().ncols()));
    }
    for (name, value) in [("input columns", expected), ("width", plan.width)] {
        if value == 0 {
            return Err(Error::Setting { name, value: "0".into(), requirement: "at least 1" });
        }
    }
    for (what, found) in widths {
        if found != expected {
            let advice = "give the layer a kernel and inducing inputs over its own inputs";
            return Err(Error::Width { layer, what, found, expected, advice });
        }
    }
    Ok(())
}

/// The covariance's factor at the start, `[P · M_b, M_b]`, or `[P, M_b]` where it is diagonal; `scales` has a number for each output, in
/// units of the prior.
fn start_factor(plan: &LayerPlan, inducing: &Inducing, jitter: Jitter, scales: &[f64], layer: usize) -> Result<Mat> {
    let z = inducing.covariance();
    let m = z.nrows();
    let prior = match plan.covariance_form {
        CovarianceForm::Diagonal => Mat::from_fn(1, m, |_, _| 1.0),
        CovarianceForm::Whitened | CovarianceForm::Dual => Mat::identity(m),
        CovarianceForm::Standard => Gram::lower(&*plan.kernel, z, jitter, (layer, Matrix::CovarianceGram))?,
    };
    let factor_of = |scale: &f64| match plan.covariance_form {
        CovarianceForm::Standard | CovarianceForm::Whitened | CovarianceForm::Diagonal => *scale,
        // The larger `L_B`, the smaller what is left of the prior.
        CovarianceForm::Dual if *scale == 1.0 => LAST_DUAL,
        CovarianceForm::Dual => (1.0 / scale).min(HIDDEN_DUAL),
    };
    let mut each = scales.iter().map(factor_of).map(|factor| prior.map(|v: f64| factor * v));
    let first = each.next().unwrap_or_default();
    Ok(each.fold(first, |stack, own| stack.stack(&own)))
}
