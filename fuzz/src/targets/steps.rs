//! Training steps: of whatever small table and model, a step is finite or a clear error, and its gradient is the slope of its objective.

use std::ops::ControlFlow;

use deepgp::likelihood::{Heteroscedastic, LikelihoodDescription, Outcomes};
use deepgp::noise::{Key, Purpose};
use deepgp::{
    Batch, ConstantColumns, CovarianceForm, Dataset, DeepGp, FitSettings, InducingSize, KernelChoice, LikelihoodForm,
    Mat, MeanForm, Noise, ObjectiveForm, Precision, PredictSettings, Training, TransformChoice,
};

use super::choices::Choices;

const LIKELIHOODS: [LikelihoodForm; 9] = [
    LikelihoodForm::GAUSSIAN,
    LikelihoodForm::HETEROSCEDASTIC,
    LikelihoodForm::STUDENT_T,
    LikelihoodForm::PROBIT,
    LikelihoodForm::LOGIT,
    LikelihoodForm::SOFTMAX,
    LikelihoodForm::ORDERED,
    LikelihoodForm::Poisson,
    LikelihoodForm::NEGATIVE_BINOMIAL,
];
const OBJECTIVES: [Option<ObjectiveForm>; 5] = [
    None,
    Some(ObjectiveForm::Elbo),
    Some(ObjectiveForm::Tighter),
    Some(ObjectiveForm::PREDICTIVE),
    Some(ObjectiveForm::FAITHFUL),
];
const KERNELS: [KernelChoice; 5] = [
    KernelChoice::SquaredExponential,
    KernelChoice::Matern12,
    KernelChoice::Matern32,
    KernelChoice::Matern52,
    KernelChoice::RationalQuadratic,
];
const MEANS: [MeanForm; 4] = [MeanForm::Whitened, MeanForm::Standard, MeanForm::Dual, MeanForm::ScaledDual];
const COVARIANCES: [CovarianceForm; 4] =
    [CovarianceForm::Diagonal, CovarianceForm::Whitened, CovarianceForm::Standard, CovarianceForm::Dual];
const SIZES: [InducingSize; 3] = [InducingSize::Tied(4), InducingSize::decoupled(5, 3), InducingSize::nested(5, 3)];

/// A table, a model and three steps, as the bytes choose them.
pub fn step(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let (settings, spread) = (settings(&mut choices), choices.byte());
    let Some(data) = table(&mut choices, settings.model.likelihood) else { return };
    let Ok(training) = Training::new(&data, &settings) else { return };
    let objective = settings.train.objective.unwrap_or_else(|| ObjectiveForm::suiting(training.model().likelihood()));
    if objective.objective().check(training.model()).is_err() {
        assert!(training.run(|_, _| ControlFlow::Continue(())).is_err(), "an objective that does not suit is refused");
        return;
    }
    check_gradient(&spread_out(training.model(), spread), training.rows(), objective);
    let Ok(fit) = training.run(|_, _| ControlFlow::Continue(())) else { return };
    assert!(fit.state.now.raw.iter().all(|raw| raw.is_finite()), "the parameters are finite");
    let predicting = PredictSettings { samples: 2, threads: 0, ..PredictSettings::default() };
    let Ok(predictor) = fit.regressor.predictor(predicting) else { return };
    if let Ok(moments) = predictor.moments(data.x().view()) {
        for values in [&moments.f.mean, &moments.y.mean] {
            assert!(values.as_slice().iter().all(|value| value.is_finite()), "means are finite: {values:?}");
        }
        for values in [&moments.f.variance, &moments.y.variance, &moments.noise] {
            assert!(values.as_slice().iter().all(|value| *value >= 0.0), "variances are no less than 0: {values:?}");
        }
    }
}

fn settings(choices: &mut Choices<'_>) -> FitSettings {
    let mut settings = FitSettings {
        validation: None,
        constant_columns: choices.pick(&[ConstantColumns::Keep, ConstantColumns::Reject]),
        transform_target: TransformChoice::None,
        ..FitSettings::default()
    };
    let (model, train) = (&mut settings.model, &mut settings.train);
    model.hidden_layers = choices.below(3);
    model.width = 1 + choices.below(3);
    model.inducing = choices.pick(&SIZES);
    model.mean_form = choices.pick(&MEANS);
    model.covariance_form = choices.pick(&COVARIANCES);
    model.kernel = choices.pick(&KERNELS);
    model.likelihood = choices.pick(&LIKELIHOODS);
    model.precision = choices.pick(&[Precision::F64, Precision::F64, Precision::Mixed]);
    train.objective = choices.pick(&OBJECTIVES);
    (train.steps, train.samples, train.threads) = (3, 1 + choices.below(2), 0);
    train.batch_size = 1 + choices.below(8);
    settings
}

/// Up to eight rows of up to three inputs; `None` if they are none that a table could have.
fn table(choices: &mut Choices<'_>, likelihood: LikelihoodForm) -> Option<Dataset> {
    let (rows, columns) = (1 + choices.below(8), 1 + choices.below(3));
    let mut x = Mat::zeros(rows, columns);
    let mut y = Mat::zeros(rows, 1);
    for i in 0..rows {
        for j in 0..columns {
            x[(i, j)] = choices.number();
        }
        let target = choices.number();
        y[(i, 0)] = match likelihood {
            LikelihoodForm::Gaussian { .. }
            | LikelihoodForm::Heteroscedastic { .. }
            | LikelihoodForm::StudentT { .. } => target,
            LikelihoodForm::Bernoulli { .. } => f64::from(target > 0.0),
            LikelihoodForm::Softmax { .. } | LikelihoodForm::Ordered { .. } => target.abs().floor() % 4.0,
            LikelihoodForm::Poisson | LikelihoodForm::NegativeBinomial { .. } => target.abs().floor(),
        };
    }
    Dataset::new(x, y).ok()
}

/// The model at parameters where nothing vanishes.
fn spread_out(model: &DeepGp, seed: u8) -> DeepGp {
    let key = Key::new(u64::from(seed), Purpose::Simulate);
    let mut raw = model.raw();
    for (i, value) in raw.iter_mut().enumerate() {
        *value += 0.4 * (key.uniform([i as u32, 0, 0, 0]) - 0.5);
    }
    let mut model = model.clone();
    model.set_raw(&raw);
    model
}

/// Whether noise that follows the inputs would go beyond a bound in some row: its gradient leads back inside, on purpose, and the objective is flat.
fn has_noise_at_a_bound(model: &DeepGp, data: &Dataset, noise: Noise<'_>, samples: usize) -> bool {
    let likelihood = model.likelihood();
    let (Some(LikelihoodDescription::Heteroscedastic { .. }), Some(level)) =
        (likelihood.description(), likelihood.noise_level())
    else {
        return false;
    };
    let Ok(latents) = model.propagate(data.x().view(), noise, samples) else { return true };
    let (least, most) = Heteroscedastic::NOISE_BOUNDS;
    let inside = |wanted: f64| wanted > least.ln() + 0.1 && wanted < most.ln() - 0.1;
    let row_inside =
        |row: usize| level.iter().enumerate().all(|(p, own)| inside(own.ln() + latents.mean[(row, 2 * p + 1)]));
    !(0..latents.mean.nrows()).all(row_inside)
}

/// Along one direction in all parameters, differences that agree with each other agree with the gradient.
fn check_gradient(model: &DeepGp, data: &Dataset, objective: ObjectiveForm) {
    // Differences in `mixed` are rough, and the faithful objective's mean follows another slope on purpose.
    if model.precision() == Precision::Mixed || matches!(objective, ObjectiveForm::Faithful { .. }) {
        return;
    }
    let rows: Vec<u32> = (0..data.len() as u32).collect();
    let objective = objective.objective();
    let batch = Batch { objective: &*objective, ..Batch::of(data, &rows) };
    let noise = Noise::Rows { key: Key::new(0, Purpose::Train), step: 0 };
    let Ok((value, gradient)) = model.objective_gradient(batch, noise) else { return };
    assert!(value.total().is_finite() && gradient.iter().all(|slope| slope.is_finite()), "a step is finite");
    // A variance at its floor has no slope, and jitter that escalates has a step.
    if value.clamped > 0 || !value.jitter.is_empty() || has_noise_at_a_bound(model, data, noise, batch.samples) {
        return;
    }
    let key = Key::new(1, Purpose::Simulate);
    let direction: Vec<f64> = (0..gradient.len()).map(|i| key.uniform([i as u32, 0, 0, 0]) - 0.5).collect();
    let at = |by: f64| {
        let mut moved = model.clone();
        for parameter in model.parameters() {
            let along = &direction[parameter.range.clone()];
            let entries = parameter.values.iter().zip(along).enumerate();
            let values: Vec<f64> =
                entries
                    .map(|(i, (value, along))| {
                        if parameter.constraint.is_free(i) { value + by * along * value.abs().max(0.1) } else { *value }
                    })
                    .collect();
            moved.set_parameter(&parameter.name, &values).ok()?;
        }
        moved
            .objective(batch, noise)
            .ok()
            .filter(|own| own.clamped == 0 && own.jitter.is_empty())
            .map(|own| own.total())
    };
    let slope = |by: f64| Some((at(by)? - at(-by)?) / (2.0 * by));
    let step = 1e-5;
    let (Some(coarse), Some(fine)) = (slope(2.0 * step), slope(step)) else { return };
    // The terms of a count's log density are near y ln y, and cancel.
    let term = match model.likelihood().outcomes() {
        Outcomes::Counts => data.y().as_slice().iter().map(|y| y * y.ln_1p()).fold(0.0, f64::max),
        Outcomes::Real | Outcomes::Classes(_) => 0.0,
    };
    let (mut found, mut scale) = (0.0, 1e-3 * value.total().abs());
    for parameter in model.parameters() {
        for (i, value) in parameter.values.iter().enumerate().filter(|(i, _)| parameter.constraint.is_free(*i)) {
            let at = parameter.range.start + i;
            let share = gradient[at] * direction[at] * value.abs().max(0.1);
            (found, scale) = (found + share, scale + share.abs());
        }
    }
    let doubt = 10.0 * (coarse - fine).abs() + 1e-3 * scale + 4.0 * f64::EPSILON * term / step;
    assert!(
        (fine - found).abs() <= doubt,
        "a gradient of {found}, but a slope of {fine} ({coarse}): {:?}",
        model.likelihood()
    );
}
