//! Proves that small fits of whatever table end with finite numbers or with an error that says what to do: hundreds of seeded tables, each
//! with forms, a likelihood and an objective of its own.
//!
//! `DEEPGP_TABLES` asks for more tables than the usual number.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use deepgp::noise::{Key, Purpose};
use deepgp::{
    Batch, ConstantColumns, CovarianceForm, Dataset, Error, FitSettings, InducingSize, KernelChoice, LikelihoodForm,
    Mat, MeanForm, Noise, ObjectiveForm, Precision, PredictSettings, StepOutcome, Stop, Training, TransformChoice,
};

/// Tables that are tried.
const TABLES: u64 = 500;
/// Steps of each fit.
const STEPS: u64 = 6;

/// Rows that are predicted and scored: scores of some likelihoods are integrals.
const SCORED: usize = 6;
/// A learning rate that throws parameters about: what they then predict may leave the range of numbers.
const WILD: f64 = 20.0;

/// Numbers that belong to one table, drawn one after the other.
struct Draws {
    key: Key,
    count: u32,
}

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.count += 1;
        self.key.uniform([self.count, 0, 0, 0])
    }

    fn normal(&mut self) -> f64 {
        self.count += 1;
        self.key.normals([self.count, 1, 0, 0])[0]
    }

    fn below(&mut self, count: usize) -> usize {
        ((self.uniform() * count as f64) as usize).min(count - 1)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// What the numbers of a column are like.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    Normal,
    HeavyTailed,
    NearlyConstant,
    Constant,
    TwoValues,
    CopyOfFirst,
    NearlyFirst,
    Huge,
    Tiny,
    FarAway,
}

const COLUMNS: [Column; 10] = [
    Column::Normal,
    Column::HeavyTailed,
    Column::NearlyConstant,
    Column::Constant,
    Column::TwoValues,
    Column::CopyOfFirst,
    Column::NearlyFirst,
    Column::Huge,
    Column::Tiny,
    Column::FarAway,
];

impl Column {
    fn number(self, first: f64, draws: &mut Draws) -> f64 {
        let normal = draws.normal();
        match self {
            Self::Normal => normal,
            // Cauchy.
            Self::HeavyTailed => normal / draws.normal(),
            Self::NearlyConstant => 5.0 + 1e-9 * normal,
            Self::Constant => -3.0,
            Self::TwoValues => f64::from(normal > 0.5),
            Self::CopyOfFirst => first,
            Self::NearlyFirst => first + 1e-10 * normal,
            Self::Huge => 1e120 * normal,
            Self::Tiny => 1e-120 * normal,
            Self::FarAway => 1e9 + normal,
        }
    }
}

/// One to five rows in every fourth table, fewer rows than columns in some, repeated rows in every third.
fn table(draws: &mut Draws, likelihood: LikelihoodForm) -> Result<Dataset, Error> {
    let rows = if draws.below(4) == 0 { 1 + draws.below(5) } else { 6 + draws.below(40) };
    let columns = if draws.below(5) == 0 { rows + 1 + draws.below(4) } else { 1 + draws.below(4) };
    let kinds: Vec<Column> = (0..columns).map(|_| draws.pick(&COLUMNS)).collect();
    let mut x = Mat::zeros(rows, columns);
    let repeated = draws.below(3) == 0;
    for i in 0..rows {
        for j in 0..columns {
            x[(i, j)] = if repeated && i >= rows / 2 {
                x[(i - rows / 2, j)]
            } else {
                let first = x[(i, 0)];
                kinds[j].number(first, draws)
            };
        }
    }
    let targets = draws.pick(&[Column::Normal, Column::HeavyTailed, Column::TwoValues, Column::Huge, Column::FarAway]);
    let y = Mat::from_fn(rows, 1, |_, _| match likelihood {
        LikelihoodForm::Gaussian { .. } | LikelihoodForm::Heteroscedastic { .. } | LikelihoodForm::StudentT { .. } => {
            targets.number(0.0, draws)
        }
        LikelihoodForm::Bernoulli { .. } => f64::from(draws.normal() > 0.8),
        LikelihoodForm::Softmax { .. } | LikelihoodForm::Ordered { .. } => draws.below(4) as f64,
        LikelihoodForm::Poisson | LikelihoodForm::NegativeBinomial { .. } => draws.normal().exp().powi(3).floor(),
    });
    let data = Dataset::new(x, y)?;
    if draws.below(4) == 0 {
        let weights = (0..rows).map(|_| f64::from(draws.below(3) as u8)).collect();
        return data.with_weights(weights);
    }
    Ok(data)
}

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

const ELBO: Option<ObjectiveForm> = Some(ObjectiveForm::Elbo);
const TIGHTER: Option<ObjectiveForm> = Some(ObjectiveForm::Tighter);
const PREDICTIVE: Option<ObjectiveForm> = Some(ObjectiveForm::PREDICTIVE);
const FAITHFUL: Option<ObjectiveForm> = Some(ObjectiveForm::FAITHFUL);

fn settings(draws: &mut Draws) -> FitSettings {
    let mut settings = FitSettings::default();
    let (model, train) = (&mut settings.model, &mut settings.train);
    model.hidden_layers = draws.below(4);
    model.width = 1 + draws.below(4);
    model.inducing = draws.pick(&[InducingSize::Tied(8), InducingSize::decoupled(12, 6), InducingSize::nested(12, 6)]);
    model.mean_form = draws.pick(&[MeanForm::Whitened, MeanForm::Standard, MeanForm::Dual, MeanForm::ScaledDual]);
    model.covariance_form = draws.pick(&[
        CovarianceForm::Diagonal,
        CovarianceForm::Whitened,
        CovarianceForm::Standard,
        CovarianceForm::Dual,
    ]);
    model.kernel = draws.pick(&[
        KernelChoice::SquaredExponential,
        KernelChoice::Matern12,
        KernelChoice::Matern32,
        KernelChoice::Matern52,
        KernelChoice::RationalQuadratic,
    ]);
    model.likelihood = draws.pick(&LIKELIHOODS);
    model.precision = draws.pick(&[Precision::F64, Precision::F64, Precision::Mixed]);
    // One objective and one transform of each four are chosen whether or not they suit the likelihood.
    let any = draws.below(4) == 0;
    train.objective = draws.pick(match model.likelihood {
        LikelihoodForm::Heteroscedastic { .. } if !any => &[None, ELBO, PREDICTIVE, FAITHFUL],
        LikelihoodForm::Gaussian { .. } if !any => &[None, TIGHTER, PREDICTIVE, FAITHFUL],
        _ if !any => &[None, ELBO, PREDICTIVE, None],
        _ => &[ELBO, TIGHTER, PREDICTIVE, FAITHFUL],
    });
    // Learned sites in place of samples, where there are hidden layers.
    model.sites = (train.objective == PREDICTIVE && draws.below(2) == 0).then_some(3);
    (train.steps, train.threads, train.seed) = (STEPS, 1, 1);
    train.learning_rate = draws.pick(&[None, Some(0.1), Some(WILD)]);
    train.batch_size = draws.pick(&[3, 10_000]);
    train.samples = 1 + draws.below(2);
    (train.validate_every, train.validation_samples) = (3, 3);
    settings.validation = draws.pick(&[None, Some(0.2)]);
    settings.constant_columns = if draws.below(8) == 0 { ConstantColumns::Reject } else { ConstantColumns::Keep };
    settings.transform_target = draws.pick(match model.likelihood {
        LikelihoodForm::Gaussian { .. } | LikelihoodForm::Heteroscedastic { .. } | LikelihoodForm::StudentT { .. } => {
            &[TransformChoice::None, TransformChoice::Auto, TransformChoice::YeoJohnson]
        }
        _ if any => &[TransformChoice::None, TransformChoice::Quantile],
        _ => &[TransformChoice::None, TransformChoice::Auto],
    });
    settings
}

/// What became of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// All numbers are finite, and no step was rolled back.
    Fitted,
    /// The same, after steps that were rolled back, each with its report.
    RolledBack,
    /// No step could be taken any more, and the run says so.
    Stuck,
    /// An error that says what to do, before training.
    Refused,
    /// Parameters are finite, and after a wild learning rate predictions are not.
    OutOfRange,
}

/// One fit, and everything that is computed of it.
fn fit(data: &Dataset, settings: &FitSettings) -> Ending {
    let training = match Training::new(data, settings) {
        Ok(training) => training,
        Err(error) => return refused(&error),
    };
    let (mut rolled_back, mut taken) = (0, 0);
    let fit = training.run(|report, _| {
        match &report.outcome {
            StepOutcome::Taken(own) => {
                assert!(own.total().is_finite() && own.kl.iter().all(|kl| kl.is_finite()), "{own:?}");
                taken += 1;
            }
            StepOutcome::RolledBack(reason) => {
                assert!(reason.to_string().len() > 20, "{reason}");
                rolled_back += 1;
            }
        }
        ControlFlow::Continue(())
    });
    let fit = match fit {
        Ok(fit) => fit,
        Err(error) => return refused(&error),
    };
    assert_eq!(fit.state.rolled_back, rolled_back, "every step that is rolled back is reported");
    assert!(fit.stop != Stop::Steps || taken + rolled_back == STEPS, "{:?}: {taken} {rolled_back}", fit.stop);
    assert!(fit.state.now.raw.iter().all(|raw| raw.is_finite()), "parameters are finite");
    let predicting = PredictSettings { samples: 3, threads: 1, ..PredictSettings::default() };
    let some = data.gather(&(0..data.len().min(SCORED) as u32).collect::<Vec<u32>>()).unwrap();
    let predicted = fit.regressor.predictor(predicting).and_then(|predictor| {
        let rows = some.x().view();
        Ok((predictor.moments(rows)?, predictor.quantiles(rows, &[0.05, 0.5, 0.95])?, predictor.score(&some)?))
    });
    let (moments, quantiles, score) =
        predicted.unwrap_or_else(|error| panic!("no prediction at its own rows: {error}"));
    let all = [&moments.f.mean, &moments.y.mean, &moments.f.variance, &moments.y.variance, &moments.noise, &quantiles];
    let finite = all.iter().all(|values| values.as_slice().iter().all(|value| value.is_finite()));
    if settings.train.learning_rate == Some(WILD) && !(finite && score.log_likelihood.is_finite()) {
        return Ending::OutOfRange;
    }
    assert!(finite, "{all:?}");
    for values in [&moments.f.variance, &moments.y.variance, &moments.noise] {
        assert!(values.as_slice().iter().all(|value| *value >= 0.0), "{values:?}");
    }
    for i in 0..some.len() {
        assert!(quantiles[(i, 0)] <= quantiles[(i, 1)] && quantiles[(i, 1)] <= quantiles[(i, 2)], "row {i}");
    }
    assert!(score.log_likelihood.is_finite() && score.rmse[0] >= 0.0 && score.crps[0] >= 0.0, "{score:?}");
    match fit.stop {
        Stop::Stuck(_) => Ending::Stuck,
        Stop::Steps | Stop::Patience | Stop::Callback if rolled_back > 0 => Ending::RolledBack,
        Stop::Steps | Stop::Patience | Stop::Callback => Ending::Fitted,
    }
}

/// An error that names what is wrong, with advice.
fn refused(error: &Error) -> Ending {
    let told = error.to_string();
    assert!(told.len() > 30 && !told.contains("NaN"), "{told}");
    Ending::Refused
}

fn draws(seed: u64) -> Draws {
    Draws { key: Key::new(seed, Purpose::Simulate), count: 0 }
}

fn tables() -> u64 {
    std::env::var("DEEPGP_TABLES").map_or(TABLES, |text| text.parse().expect("a number of tables"))
}

/// What a fit was made of, by name: its forms, likelihood, objective and precision.
fn choices(settings: &FitSettings) -> [String; 7] {
    let (model, train) = (&settings.model, &settings.train);
    let objective = train.objective.map_or("suiting".into(), |objective| format!("{objective:?}"));
    let inducing = format!("{:?}", std::mem::discriminant(&model.inducing));
    [
        format!("{:?}", model.mean_form),
        format!("{:?} covariance", model.covariance_form),
        format!("{:?}", model.kernel),
        format!("{:?}", model.likelihood),
        if model.sites.is_some() { "sites".into() } else { objective },
        format!("{:?} precision", model.precision),
        inducing,
    ]
}

#[test]
fn every_table_ends_with_finite_numbers_or_an_error_that_says_why() {
    let (mut endings, mut fitted) = (Vec::new(), BTreeMap::<String, u64>::new());
    for seed in 0..tables() {
        let mut draws = draws(seed);
        let settings = settings(&mut draws);
        let Ok(data) = table(&mut draws, settings.model.likelihood) else {
            endings.push(Ending::Refused);
            continue;
        };
        let ended = std::panic::catch_unwind(|| fit(&data, &settings));
        match ended {
            Ok(ending) => {
                endings.push(ending);
                let own = if ending == Ending::Refused { [const { String::new() }; 7] } else { choices(&settings) };
                own.into_iter().for_each(|choice| *fitted.entry(choice).or_default() += 1);
            }
            Err(panic) => {
                eprintln!("table {seed}: {} x {}, {settings:?}", data.len(), data.x().ncols());
                std::panic::resume_unwind(panic);
            }
        }
    }
    let count = |wanted: Ending| endings.iter().filter(|ending| **ending == wanted).count();
    let all = [Ending::Fitted, Ending::RolledBack, Ending::Stuck, Ending::Refused, Ending::OutOfRange];
    println!("{:?}", all.map(|ending| (ending, count(ending))));
    assert!(count(Ending::Fitted) > endings.len() / 3, "most tables are fitted");
    fitted.remove("");
    println!("{fitted:?}");
    // Four forms of the mean and of the covariance, five kernels, all likelihoods, four objectives, what suits, sites, two precisions,
    // three kinds of inducing inputs: each of them several times.
    assert_eq!(fitted.len(), 4 + 4 + 5 + LIKELIHOODS.len() + 6 + 2 + 3, "{:?}", fitted.keys());
    assert!(fitted.values().all(|count| *count >= tables() / 100), "{fitted:?}");
}

/// The objective and the predicted means of a model in one precision, with the jitter of the rougher one.
fn in_precision(training: &Training, precision: Precision) -> Result<(f64, f64, Mat, Mat), Error> {
    let mut model = training.model().clone();
    let key = Key::new(5, Purpose::Simulate);
    let raw: Vec<f64> = model.raw();
    model.set_raw(
        &raw.iter().enumerate().map(|(i, raw)| raw + 0.3 * key.uniform([i as u32, 0, 0, 0])).collect::<Vec<_>>(),
    );
    let model = model.with_precision(precision).with_jitter(Precision::Mixed.default_jitter())?;
    let rows: Vec<u32> = (0..training.rows().len() as u32).collect();
    let noise = Noise::Rows { key: Key::new(1, Purpose::Train), step: 0 };
    let found = model.objective(Batch::of(training.rows(), &rows), noise)?;
    let size = found.data_term.abs() + found.kl.iter().map(|kl| kl.abs()).sum::<f64>();
    let predictor = model.predictor(PredictSettings { samples: 3, threads: 1, ..PredictSettings::default() })?;
    let prediction = predictor.moments(training.rows().x().view())?;
    Ok((found.total(), size, prediction.y.mean, prediction.y.variance))
}

/// Rounding to 24 bits, relative to the terms of the objective, and relative to the standard deviation of a prediction.
const ROUGH: (f64, f64) = (1e-3, 1e-2);

#[test]
fn mixed_precision_agrees_with_f64() {
    let (mut compared, mut worst) = (0, (0f64, 0f64));
    for seed in 0..tables() / 2 {
        let mut draws = draws(seed);
        let settings = FitSettings { validation: None, ..settings(&mut draws) };
        let Ok(data) = table(&mut draws, settings.model.likelihood) else { continue };
        let Ok(training) = Training::new(&data, &settings) else { continue };
        let (Ok(exact), Ok(rough)) =
            (in_precision(&training, Precision::F64), in_precision(&training, Precision::Mixed))
        else {
            continue;
        };
        let off = (exact.0 - rough.0).abs() / (1.0 + exact.1);
        let means = exact.2.as_slice().iter().zip(rough.2.as_slice()).zip(exact.3.as_slice());
        let off_mean = means.map(|((a, b), variance)| (a - b).abs() / variance.sqrt().max(1e-3)).fold(0.0, f64::max);
        worst = (worst.0.max(off), worst.1.max(off_mean));
        compared += 1;
        assert!(
            off < ROUGH.0 && off_mean < ROUGH.1,
            "table {seed}: {off:e} {off_mean:e}: {exact:?} {rough:?} {settings:?}"
        );
    }
    println!(
        "{compared} models: objectives within {:e} of their terms, means within {:e} standard deviations",
        worst.0, worst.1
    );
    assert!(compared as u64 > tables() / 4, "{compared}");
}
