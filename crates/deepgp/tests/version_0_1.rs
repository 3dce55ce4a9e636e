//! Proves that the library computes what version 0.1 computed, to the last bit: fits in every form and every way to train, and all
//! kinds of predictions of them.
//!
//! `version_0_1/*.txt` were recorded with version 0.1 (commit 68ab374); `version_0_1/fixture.rs` says how they are written. A version
//! that means to compute the same thing, however its code is arranged, must find the same numbers:
//!
//! - *Equal bits* on a machine that rounds like the one that recorded them. Matrix products use the widest vectors there are, and
//!   elementary functions are the C library's, so each file begins with a probe of both: if it comes out the same, so must
//!   everything else. The probe calls nothing of this library.
//! - *Agreement within a tolerance* on any other machine; see [`TOLERANCE`].
//!
//! Run with `--nocapture` to see which of the two was demanded. `DEEPGP_RECORD=1 cargo test -p deepgp --test version_0_1` writes the
//! files anew. That is right only with the code of version 0.1, to add a case or to move to another machine: what any later
//! code records, it will of course find again.

#[path = "version_0_1/api.rs"]
mod api;
mod common;
#[path = "version_0_1/fixture.rs"]
mod fixture;
#[path = "version_0_1/machine.rs"]
mod machine;
#[path = "version_0_1/products.rs"]
mod products;

use std::path::PathBuf;

use api::*;
use common::uniform;
use deepgp::build::{InducingPlan, LayerPlan};
use deepgp::kernel::{Combination, Kernel};
use deepgp::likelihood::Gaussian;
use deepgp::{
    ConstantColumns, CovarianceForm, Dataset, DeepGp, FitSettings, InducingSize, InducingStart, Jitter, KernelChoice,
    LikelihoodForm, Mat, MeanForm, ModelSettings, Precision, Schedule, TrainSettings, baseline, simulate,
};
use fixture::{Case, Demand};

/// How far a number may be off on another machine, in units of its quantity's largest, after the 5 to 20 steps of these fits.
///
/// Rounding differs by 1e-16, and a step of Adam divides by the size of its gradient: a derivative of nearly 0 that comes out as
/// `δ` moves its number by up to `3e6 · δ` times the learning rate, at each step. Hidden layers start with a covariance of 1e-5, whose
/// derivatives are as large as its inverse, so that `δ` is about 1e-11, and ten steps at a rate of 0.05 lead 1e-5 away. The worst that
/// was seen is 7e-5, with random last digits in all data; on a processor without AVX-512 it was 3e-9.
const TOLERANCE: f64 = 1e-3;
/// The same where rows are in single precision, which rounds by 6e-8, and the jitter of 1e-4 lets a variance magnify that ten thousand
/// times. The worst that was seen is 7e-4.
const TOLERANCE_MIXED: f64 = 1e-2;

const TIED: InducingSize = InducingSize::Tied(5);
const DECOUPLED: InducingSize = InducingSize::Decoupled { mean: Some(7), covariance: Some(5) };

/// A choice under the name that fixtures know it by.
type Named<T> = (&'static str, T);

const MEANS: [Named<MeanForm>; 4] = [
    ("whitened", MeanForm::Whitened),
    ("standard", MeanForm::Standard),
    ("dual", MeanForm::Dual),
    ("scaled-dual", MeanForm::ScaledDual),
];
const COVARIANCES: [Named<CovarianceForm>; 3] =
    [("standard", CovarianceForm::Standard), ("whitened", CovarianceForm::Whitened), ("dual", CovarianceForm::Dual)];
/// What version 0.1 did where no size was given.
const BY_ROWS: InducingSize = InducingSize::Decoupled { mean: None, covariance: None };
const SIZES: [Named<InducingSize>; 2] = [("tied", TIED), ("decoupled", DECOUPLED)];
const PRECISIONS: [Named<Precision>; 2] = [("f64", Precision::F64), ("mixed", Precision::Mixed)];
const SQUARED_EXPONENTIAL: Named<KernelChoice> = ("squared-exponential", KernelChoice::SquaredExponential);
const MATERN_12: Named<KernelChoice> = ("matern12", KernelChoice::Matern12);
const MATERN_32: Named<KernelChoice> = ("matern32", KernelChoice::Matern32);
const MATERN_52: Named<KernelChoice> = ("matern52", KernelChoice::Matern52);
const RATIONAL_QUADRATIC: Named<KernelChoice> = ("rational-quadratic", KernelChoice::RationalQuadratic);

/// The last digits of all targets: as they are, or off by what single precision can tell apart, to see how far that leads. Inputs stay as
/// they are, because the noise of a drawn observation is a function of their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Digits {
    Same,
    Nudged,
}

impl Digits {
    fn of(self, data: Dataset) -> Dataset {
        match self {
            Self::Same => data,
            Self::Nudged => {
                let (y, by) = (data.y(), uniform(data.len(), data.y().ncols(), 101));
                let y =
                    Mat::from_fn(y.nrows(), y.ncols(), |i, p| y[(i, p)] * (1.0 + f64::from(f32::EPSILON) * by[(i, p)]));
                let other = Dataset::new(data.x().clone(), y).unwrap();
                match data.weights() {
                    None => other,
                    Some(weights) => other.with_weights(weights.to_vec()).unwrap(),
                }
            }
        }
    }

    /// A smooth function of two inputs, in units of its own.
    fn plane(self, rows: usize, seed: u64) -> Dataset {
        let (x, e) = (uniform(rows, 2, seed), uniform(rows, 1, seed + 50));
        let y = Mat::from_fn(rows, 1, |i, _| {
            20.0 + 3.0 * ((3.0 * x[(i, 0)]).sin() + x[(i, 1)] * x[(i, 0)] + 0.1 * e[(i, 0)])
        });
        self.of(Dataset::new(x, y).unwrap())
    }

    /// Two targets over the inputs of [`Digits::plane`].
    fn two_targets(self, rows: usize, seed: u64) -> Dataset {
        let (x, e) = (uniform(rows, 2, seed), uniform(rows, 2, seed + 50));
        let y = Mat::from_fn(rows, 2, |i, p| [x[(i, 0)].exp(), 100.0 * x[(i, 1)] * x[(i, 1)]][p] + 0.1 * e[(i, p)]);
        self.of(Dataset::new(x, y).unwrap())
    }

    /// Forty bits of which one in twelve is set, but for one dense column.
    fn fingerprints(self, rows: usize, seed: u64) -> Dataset {
        let u = uniform(rows, 40, seed);
        let x =
            Mat::from_fn(rows, 40, |i, j| if j == 7 { u[(i, j)] } else { f64::from(u8::from(u[(i, j)] > 5.0 / 6.0)) });
        let y = Mat::from_fn(rows, 1, |i, _| x.row(i).iter().sum::<f64>().sin() + x[(i, 7)]);
        self.of(Dataset::new(x, y).unwrap())
    }

    fn arm(self, rows: usize, seed: u64) -> Dataset {
        self.of(simulate::eight_link_arm(rows, seed))
    }

    fn curve(self, rows: usize, seed: u64) -> Dataset {
        self.of(simulate::step_curve(rows, seed))
    }
}

/// The defaults of version 0.1, but for sizes.
fn model(hidden_layers: usize, inducing: InducingSize) -> ModelSettings {
    let (mean_form, covariance_form) = (MeanForm::Whitened, CovarianceForm::Whitened);
    let (precision, likelihood) = (Precision::F64, LikelihoodForm::Gaussian { noise: 0.5 });
    let forms = ModelSettings { mean_form, covariance_form, precision, likelihood, ..ModelSettings::plain() };
    ModelSettings { hidden_layers, width: 2, inducing, ..forms }
}

fn steps(steps: u64) -> TrainSettings {
    let schedule = Schedule::Constant;
    TrainSettings { steps, learning_rate: Some(0.05), schedule, validate_every: 4, ..TrainSettings::plain() }
}

fn settings(model: ModelSettings, train: TrainSettings) -> FitSettings {
    FitSettings { model, train, validation: Some(0.2), ..FitSettings::plain() }
}

fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::F64 => TOLERANCE,
        Precision::Mixed => TOLERANCE_MIXED,
    }
}

/// A fit with all that is asked of it: how it went, its bound and gradient on `data`, its answers at `asked`.
fn whole(name: &str, tolerance: f64, trained: &Trained, data: &Dataset, asked: &Dataset) -> Case {
    let mut case = Case::new(name, tolerance);
    record_training(&mut case, trained);
    record_gradient(&mut case, &trained.regressor, data);
    record_predictions(&mut case, &trained.regressor, asked);
    case
}

/// The same, of which less is kept.
fn brief(name: &str, tolerance: f64, trained: &Trained, data: &Dataset, asked: &Dataset) -> Case {
    let mut case = Case::brief(name, tolerance);
    record_training(&mut case, trained);
    record_gradient(&mut case, &trained.regressor, data);
    record_predictions_together(&mut case, &trained.regressor, asked);
    case
}

/// Every mean with every covariance, tied and decoupled, under 0, 1 and 2 hidden layers.
fn forms(digits: Digits) -> Vec<Case> {
    let (data, asked) = (digits.plane(40, 1), digits.plane(3, 2));
    let mut cases = Vec::new();
    for (mean, mean_form) in MEANS {
        for (covariance, covariance_form) in COVARIANCES {
            for (size, inducing) in SIZES {
                for hidden in 0..=2 {
                    let model = ModelSettings { mean_form, covariance_form, ..model(hidden, inducing) };
                    let name = format!("{mean} mean, {covariance} covariance, {size}, {hidden} hidden");
                    let trained = fit(&data, &settings(model, steps(8)));
                    cases.push(brief(&name, TOLERANCE, &trained, &data, &asked));
                }
            }
        }
    }
    cases
}

/// Every kernel, by itself and combined, in both precisions.
fn kernels(digits: Digits) -> Vec<Case> {
    let (data, asked) = (digits.plane(40, 1), digits.plane(3, 2));
    let mut cases = Vec::new();
    for (digits, precision) in PRECISIONS {
        for (kernel, choice) in [SQUARED_EXPONENTIAL, MATERN_12, MATERN_32, MATERN_52, RATIONAL_QUADRATIC] {
            let model = ModelSettings { kernel: choice, precision, ..model(1, DECOUPLED) };
            let trained = fit(&data, &settings(model, steps(8)));
            let name = format!("{kernel}, {digits}");
            cases.push(brief(&name, tolerance(precision), &trained, &data, &asked));
        }
        let own = standardised(&data);
        for (name, kernel) in [("sum", sum as fn() -> Box<dyn Kernel>), ("product", product)] {
            let plan = |width| LayerPlan {
                width,
                kernel: kernel(),
                mean_form: MeanForm::Whitened,
                covariance_form: CovarianceForm::Standard,
                inducing: InducingPlan::Chosen { size: DECOUPLED, start: InducingStart::KMeans },
                mean_function: None,
            };
            let (likelihood, jitter) = (Box::new(Gaussian::new(0.2, 1)), Jitter { absolute: 1e-6, relative: 1e-5 });
            let model = DeepGp::build(own.x().view(), vec![plan(2), plan(1)], likelihood, jitter, 3).unwrap();
            let trained = train(model.with_precision(precision), &own, None, steps(8));
            let name = format!("{name}, {digits}");
            cases.push(brief(&name, tolerance(precision), &trained, &own, &asked));
        }
    }
    cases
}

fn sum() -> Box<dyn Kernel> {
    let parts = [KernelChoice::SquaredExponential, KernelChoice::Matern32].map(|k| k.start(2));
    Box::new(Combination::sum(parts.to_vec()).unwrap())
}

/// A product with a sum in it.
fn product() -> Box<dyn Kernel> {
    let parts = vec![sum(), KernelChoice::RationalQuadratic.start(2), KernelChoice::Matern52.start(2)];
    Box::new(Combination::product(parts).unwrap())
}

/// Rows in single precision, in all forms that can be.
fn mixed(digits: Digits) -> Vec<Case> {
    let (data, asked) = (digits.plane(40, 1), digits.plane(3, 2));
    let mut cases = Vec::new();
    for (mean, mean_form) in MEANS {
        for (covariance, covariance_form) in &COVARIANCES[..2] {
            for (inducing, hidden) in [(TIED, 1), (DECOUPLED, 0), (DECOUPLED, 2)] {
                let (covariance_form, precision) = (*covariance_form, Precision::Mixed);
                let model = ModelSettings { mean_form, covariance_form, precision, ..model(hidden, inducing) };
                let name = format!("{mean} mean, {covariance} covariance, {hidden} hidden");
                let trained = fit(&data, &settings(model, steps(8)));
                cases.push(brief(&name, TOLERANCE_MIXED, &trained, &data, &asked));
            }
        }
    }
    cases
}

/// Inputs that mostly repeat one value, for kernels that make use of it and one that does not.
fn sparse(digits: Digits) -> Vec<Case> {
    let (data, asked) = (digits.fingerprints(60, 1), digits.fingerprints(3, 2));
    let mut cases = Vec::new();
    for (digits, precision) in PRECISIONS {
        for ((kernel, choice), hidden_layers, width) in [
            (SQUARED_EXPONENTIAL, 0, 1),
            (SQUARED_EXPONENTIAL, 1, 3),
            (SQUARED_EXPONENTIAL, 1, 40),
            (MATERN_12, 1, 3),
            (MATERN_32, 1, 3),
            (MATERN_52, 1, 42),
            (RATIONAL_QUADRATIC, 1, 3),
        ] {
            let inducing = if width == 40 { TIED } else { DECOUPLED };
            let model = ModelSettings { kernel: choice, width, precision, ..model(hidden_layers, inducing) };
            let train = TrainSettings { batch_size: 20, ..steps(7) };
            let settings = FitSettings { constant_columns: ConstantColumns::Keep, ..settings(model, train) };
            let name = format!("{kernel}, {hidden_layers} hidden of {width}, {digits}");
            let trained = fit(&data, &settings);
            cases.push(brief(&name, tolerance(precision), &trained, &data, &asked));
        }
    }
    cases
}

/// Every way to train: what a setting, a weight, an interruption or a frozen parameter does to a run.
fn training(digits: Digits) -> Vec<Case> {
    let (data, asked) = (digits.plane(40, 1), digits.plane(3, 2));
    let usual = settings(model(1, DECOUPLED), steps(9));
    let with = |train: TrainSettings| FitSettings { train, ..usual.clone() };
    let mut cases = Vec::new();
    let mut add = |name: &str, trained: &Trained| cases.push(whole(name, TOLERANCE, trained, &data, &asked));

    add("two samples", &fit(&data, &with(TrainSettings { samples: 2, ..usual.train })));
    add("minibatches", &fit(&data, &with(TrainSettings { batch_size: 10, ..usual.train })));
    add("KL warm-up", &fit(&data, &with(TrainSettings { kl_warm_up: 6, ..usual.train })));
    let schedule = Schedule::Cosine { last: 0.1 };
    add("cosine schedule", &fit(&data, &with(TrainSettings { schedule, ..usual.train })));
    let schedule = Schedule::Step { every: 3, factor: 0.5 };
    add("step schedule", &fit(&data, &with(TrainSettings { schedule, ..usual.train })));
    add("other seeds", &{
        let mut settings = with(TrainSettings { seed: 8, ..usual.train });
        settings.model.seed = 9;
        fit(&data, &settings)
    });
    add("no rows held out", &fit(&data, &FitSettings { validation: None, ..usual.clone() }));
    for (name, inducing_start) in
        [("random rows", InducingStart::RandomRows), ("greedy variance", InducingStart::GreedyVariance)]
    {
        let model = ModelSettings { inducing_start, ..usual.model.clone() };
        add(name, &fit(&data, &FitSettings { model, ..usual.clone() }));
    }
    let model_of = |model: ModelSettings| FitSettings { model, ..usual.clone() };
    add(
        "sizes by the number of rows",
        &fit(&data, &model_of(ModelSettings { inducing: BY_ROWS, ..usual.model.clone() })),
    );
    let jitter = Some(Jitter { absolute: 1e-5, relative: 1e-4 });
    add("jitter", &fit(&data, &model_of(ModelSettings { jitter, ..usual.model.clone() })));
    add("little noise", &fit(&data, &model_of(with_noise(usual.model.clone(), 0.01))));
    add(
        "frozen parameters",
        &fit_changed(&data, &usual, |model| {
            model.set_parameter("likelihood.noise", &[0.05]).unwrap();
            model.freeze("likelihood.noise").unwrap();
            model.freeze("layers.0.kernel").unwrap();
        }),
    );

    // A rate this large overshoots, so the held-out rows soon see nothing better.
    let hasty = TrainSettings { steps: 60, learning_rate: Some(0.4), validate_every: 2, patience: 3, ..usual.train };
    add("early stopping", &fit(&data, &with(hasty)));
    let busy = TrainSettings {
        steps: 20,
        samples: 2,
        batch_size: 10,
        kl_warm_up: 15,
        schedule: Schedule::Cosine { last: 0.1 },
        validate_every: 3,
        ..usual.train
    };
    let (uninterrupted, interrupted) = (fit(&data, &with(busy)), fit_interrupted(&data, &with(busy), 7));
    assert_eq!(interrupted.state, uninterrupted.state);
    assert_eq!(interrupted.raw(), uninterrupted.raw());
    add("interrupted and resumed", &interrupted);
    add("trained further", &fit_further(fit(&data, &usual), &data, &usual));
    let own = standardised(&data);
    let start = DeepGp::for_regression(own.x().view(), 1, &usual.model).unwrap();
    add("without units", &train(start.clone(), &own, None, usual.train));
    let (rest, held_out) = own.split(0.25, 4).unwrap();
    add("without units, rows held out", &train(start.clone(), &rest, Some(&held_out), usual.train));
    add("a step that fails", &train_after_failure(start, &own, usual.train));
    cases
}

/// Data of other shapes: weights, targets, widths, many rows.
fn data(digits: Digits) -> Vec<Case> {
    let mut cases = Vec::new();
    let usual = settings(model(1, DECOUPLED), steps(9));
    let mut add = |name: &str, settings: &FitSettings, data: &Dataset, asked: &Dataset| {
        cases.push(whole(name, TOLERANCE, &fit(data, settings), data, asked));
    };

    let (plane, asked) = (digits.plane(40, 1), digits.plane(3, 2));
    let weighted = |weight: fn(usize) -> f64| plane.clone().with_weights((0..40).map(weight).collect()).unwrap();
    add("weights that are factors", &usual, &weighted(|i| 0.25 + 0.1 * (i % 7) as f64), &asked);
    add("weights that are counts", &usual, &weighted(|i| (i % 4) as f64), &asked);
    for hidden in 0..=2 {
        let settings = settings(model(hidden, DECOUPLED), steps(9));
        let name = format!("two targets, {hidden} hidden");
        add(&name, &settings, &digits.two_targets(40, 1), &digits.two_targets(3, 2));
    }
    // Narrower than the input, as wide, and wider: principal directions, identity, padding.
    for width in [3, 8, 10] {
        let settings = settings(ModelSettings { width, ..model(1, TIED) }, steps(6));
        add(&format!("arm, hidden layer of {width}"), &settings, &digits.arm(50, 1), &digits.arm(2, 2));
    }
    // More blocks of rows than there are partial sums, when all rows are taken at once.
    let settings = settings(model(2, TIED), TrainSettings { batch_size: 400, samples: 2, ..steps(5) });
    add("many rows, two samples", &settings, &digits.plane(1200, 1), &digits.plane(90, 2));
    add("a curve", &usual, &digits.curve(40, 1), &digits.curve(3, 2));

    let mut simulated = Case::new("simulated", TOLERANCE);
    for (name, data) in [
        ("arm", digits.arm(30, 3)),
        ("step_curve", digits.curve(30, 3)),
        ("uneven_curve", digits.of(simulate::uneven_curve(30, 3))),
    ] {
        simulated.numbers(&format!("{name}.x"), data.x().as_slice());
        simulated.numbers(&format!("{name}.y"), data.y().as_slice());
    }
    cases.push(simulated);
    let mut simple = Case::new("baselines", TOLERANCE);
    let (train, test) = (digits.two_targets(40, 1), digits.two_targets(10, 2));
    for (name, assessment) in [
        ("mean", baseline::mean(&train, &test).unwrap()),
        ("linear", baseline::linear(&train, &test).unwrap()),
        ("nearest_neighbours", baseline::nearest_neighbours(&train, &test, 5, 0).unwrap()),
    ] {
        let parts = [&assessment.mean, &assessment.deviation, &assessment.pit, &assessment.crps];
        simple.numbers(name, &parts.map(|m| m.as_slice()).concat());
        simple.numbers(&format!("{name}.log_density"), &assessment.log_density);
    }
    cases.push(simple);
    cases
}

/// A file of fixtures and what it is held against.
type Group = (&'static str, fn(Digits) -> Vec<Case>);

const GROUPS: [Group; 6] = [
    ("forms", forms),
    ("kernels", kernels),
    ("mixed", mixed),
    ("sparse", sparse),
    ("training", training),
    ("data", data),
];

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/version_0_1").join(name).with_extension("txt")
}

fn check(name: &str) {
    let (_, cases) = GROUPS.into_iter().find(|group| group.0 == name).unwrap();
    let mut machine = Case::brief("machine", 0.0);
    for (name, values) in machine::machine().into_iter().chain(products::products()) {
        machine.numbers(name, &values);
    }
    fixture::check(&path(name), machine, &cases(Digits::Same));
}

macro_rules! groups {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*
    };
}

mod as_in_version_0_1 {
    use super::check;

    groups!(forms kernels mixed sparse training data);
}

#[test]
fn other_last_digits_stay_within_the_tolerance() {
    if fixture::recording() {
        return;
    }
    for (name, cases) in GROUPS {
        fixture::hold(&path(name), &cases(Digits::Nudged), Demand::Tolerance);
    }
}
