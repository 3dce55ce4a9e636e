//! Proves that bad input is an error that says what is wrong and what to do, never a panic.

mod common;

use std::ops::ControlFlow;

use common::*;
use deepgp::build::{InducingPlan, LayerPlan};
use deepgp::kernel::SquaredExponential;
use deepgp::likelihood::{Gaussian, LikelihoodForm};
use deepgp::{
    Batch, ConstantColumns, CovarianceForm, Dataset, DeepGp, FitSettings, Inducing, InducingSize, InducingStart,
    Jitter, KernelChoice, Layer, Mat, MeanForm, MeanFunction, ModelSettings, Noise, Precision, Regressor,
    TrainSettings, Trainer,
};

const FORMS: (MeanForm, CovarianceForm) = (MeanForm::Whitened, CovarianceForm::Standard);

fn message<T: std::fmt::Debug>(result: deepgp::Result<T>) -> String {
    result.unwrap_err().to_string()
}

fn contains(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

fn layer(d: usize, p: usize) -> Layer {
    random_layer((d, p), FORMS, false, MeanFunction::Zero, 1)
}

fn joined(layers: Vec<Layer>, outputs: usize) -> deepgp::Result<DeepGp> {
    DeepGp::new(layers, Box::new(Gaussian::new(0.1, outputs)))
}

#[test]
fn widths_that_do_not_fit() {
    contains(&message(joined(vec![], 1)), &["number of layers", "at least 1"]);
    contains(
        &message(joined(vec![layer(2, 3), layer(2, 1)], 1)),
        &["layer 0", "the output has width 3", "2 is needed"],
    );
    contains(&message(joined(vec![layer(2, 3)], 1)), &["width 3, but 1 is needed", "likelihood"]);
    let kernel = Box::new(SquaredExponential::new(1.0, vec![1.0; 5]));
    contains(&message(joined(vec![Layer { kernel, ..layer(2, 1) }], 1)), &["the kernel has width 5, but 2"]);
    let identity = Layer { mean_function: MeanFunction::Identity, ..layer(2, 1) };
    contains(&message(joined(vec![identity], 1)), &["the mean function has width 2, but 1"]);
    let mut wrong = layer(2, 1);
    wrong.mean.free = Mat::zeros(2, 1);
    contains(&message(joined(vec![wrong], 1)), &["the mean's `free`", "5 x 1 in layer 0", "found 2 x 1"]);
    let mut wrong = layer(2, 1);
    wrong.covariance.factor = Mat::identity(2);
    contains(&message(joined(vec![wrong], 1)), &["the covariance's `factor`", "3 x 3 in layer 0", "found 2 x 2"]);
}

#[test]
fn equal_inducing_inputs() {
    let mut z = uniform(4, 2, 1);
    let first = z.row(1).to_vec();
    z.row_mut(3).copy_from_slice(&first);
    let twice = Layer { inducing: Inducing::Tied(z), ..random_layer((2, 1), FORMS, true, MeanFunction::Zero, 1) };
    contains(
        &message(joined(vec![twice], 1)),
        &["layer 0: inducing inputs 1 and 3 of the one set are equal", "remove one"],
    );
}

#[test]
fn more_inducing_inputs_than_distinct_rows() {
    let x = Mat::from_fn(30, 2, |i, _| (i / 3) as f64);
    let settings = |inducing| ModelSettings { inducing, ..ModelSettings::plain() };
    // Sizes are the most there can be, and one that is not told follows the rows.
    let half = |mean, covariance| InducingSize::Decoupled { mean, covariance };
    let nested = |mean, covariance| InducingSize::Nested { mean, covariance };
    for (size, expected) in [
        (InducingSize::Tied(11), (10, 10)),
        (InducingSize::default(), (10, 10)),
        (half(Some(4), None), (4, 10)),
        (half(None, Some(3)), (10, 3)),
        (half(Some(500), Some(3)), (10, 3)),
        (nested(Some(4), None), (4, 4)),
        (nested(None, Some(3)), (10, 3)),
        (nested(Some(500), Some(300)), (10, 10)),
    ] {
        let capped = DeepGp::for_regression(x.view(), 1, &settings(size)).unwrap();
        for layer in capped.layers() {
            assert_eq!((layer.inducing.mean().nrows(), layer.inducing.covariance().nrows()), expected, "{size:?}");
        }
    }
    let none = DeepGp::for_regression(x.view(), 1, &settings(InducingSize::Tied(0)));
    contains(&message(none), &["`inducing inputs` is 0"]);
    let longer = DeepGp::for_regression(x.view(), 1, &settings(InducingSize::nested(3, 4)));
    contains(&message(longer), &["`inducing inputs of the covariance` is 4", "at most as many as the mean has"]);
}

#[test]
fn inputs_that_no_model_can_be_built_on() {
    let build = |x: Mat| DeepGp::for_regression(x.view(), 1, &ModelSettings::plain());
    let mut x = uniform(30, 2, 1);
    x[(3, 1)] = f64::NAN;
    contains(&message(build(x)), &["x: row 3, column 1 is NaN"]);
    contains(&message(build(Mat::zeros(5, 0))), &["`input columns` is 0"]);
    contains(&message(build(Mat::zeros(0, 2))), &["`inducing inputs` is 0"]);
    // 0 and −0 are one row, whatever their bits say.
    let signed = Mat::from_fn(8, 2, |i, j| if j == 0 { [0.0, -0.0][i % 2] } else { (i % 3) as f64 });
    assert_eq!(build(signed).unwrap().layers()[0].inducing.mean().nrows(), 3);
    let mut layers = vec![random_layer((2, 1), FORMS, true, MeanFunction::Zero, 1)];
    layers[0].inducing = Inducing::Tied(Mat::from_fn(4, 2, |i, _| if i == 2 { f64::NAN } else { i as f64 }));
    contains(&message(joined(layers, 1)), &["layers.0.inducing", "entry 4 cannot be NaN"]);
}

#[test]
fn settings_of_a_model_that_make_no_sense() {
    let x = uniform(20, 2, 1);
    let refused = |change: fn(&mut ModelSettings)| {
        let mut settings = ModelSettings::plain();
        change(&mut settings);
        message(DeepGp::for_regression(x.view(), 1, &settings))
    };
    contains(&refused(|s| s.width = 0), &["`width` is 0"]);
    contains(
        &refused(|s| s.likelihood = LikelihoodForm::Gaussian { noise: -0.1 }),
        &["`noise` is -0.1", "at least 1e-6"],
    );
    let short = |s: &mut ModelSettings| (s.precision, s.covariance_form) = (Precision::Mixed, CovarianceForm::Dual);
    contains(&refused(short), &["`precision` is mixed", "`f64` for a dual covariance"]);
    contains(&refused(|s| s.jitter = Some(Jitter { absolute: -1.0, relative: 0.0 })), &["`jitter`", "zero or more"]);
}

#[test]
fn parameters_by_name() {
    let mut model = joined(vec![layer(2, 1)], 1).unwrap();
    contains(&message(model.freeze("layers.3")), &["no parameter `layers.3`", "layers.0.kernel.lengthscales"]);
    contains(
        &message(model.set_parameter("noise", &[0.1])),
        &["no parameter `noise`", "did you mean `likelihood.noise`?"],
    );
    contains(&message(model.set_parameter("likelihood.noise", &[0.1, 0.2])), &["1 numbers for `likelihood.noise`"]);
    contains(&message(model.set_parameter("likelihood.noise", &[-1.0])), &["`likelihood.noise`: entry 0 cannot be -1"]);
    let factor = message(model.set_parameter("layers.0.covariance.factor", &[1.0; 9]));
    contains(&factor, &["entry 1 cannot be 1", "0 above the diagonal"]);
    let mut bad = layer(2, 1);
    bad.kernel = Box::new(SquaredExponential::new(1.0, vec![1.0, 0.0]));
    contains(&message(joined(vec![bad], 1)), &["layers.0.kernel.lengthscales", "entry 1 cannot be 0"]);
}

#[test]
fn batches_that_do_not_fit() {
    let model = random_model(1, FORMS, false, 1);
    let data = random_data(5, 1);
    let batch = Batch { num_data: 5, ..Batch::of(&data, &[0, 1]) };
    let noise = training_noise(1);
    contains(&message(model.objective(Batch { rows: &[], ..batch }, noise)), &["`batch rows` is 0"]);
    contains(&message(model.objective(Batch { rows: &[7], ..batch }, noise)), &["numbers below 5", "found 7"]);
    contains(&message(model.objective(Batch { samples: 0, ..batch }, noise)), &["`samples` is 0"]);
    let shared = Noise::Shared { key: deepgp::noise::Key::new(0, deepgp::noise::Purpose::Predict) };
    contains(&message(model.propagate(data.x().view(), shared, 0)), &["`samples` is 0"]);
    contains(&message(model.propagate(Mat::zeros(0, 2).view(), shared, 1)), &["`rows` is 0"]);
    contains(&message(model.propagate(data.x().view(), Noise::Given(&[]), 1)), &["[(5, 3)]", "found []"]);
    contains(&message(model.objective(batch, Noise::Given(&[]))), &["noise", "[(2, 3)]", "found []"]);
    let table = [Mat::zeros(4, 3)];
    contains(&message(model.propagate(data.x().view(), Noise::Table(&table), 3)), &["noise", "[(3, 3)]", "[(4, 3)]"]);
    let wide = Dataset::new(uniform(5, 3, 1), uniform(5, 1, 1)).unwrap();
    contains(
        &message(model.objective(Batch { data: &wide, ..batch }, noise)),
        &["inputs: expected 2 columns", "found 3"],
    );
    let outputs = Dataset::new(uniform(5, 2, 1), uniform(5, 2, 1)).unwrap();
    contains(&message(model.objective(Batch { data: &outputs, ..batch }, noise)), &["targets: expected 1 columns"]);
}

#[test]
fn numbers_that_leave_the_scale() {
    let mut model = random_model(0, FORMS, false, 1);
    let data = Dataset::new(uniform(3, 2, 1), uniform(3, 1, 1).map(|v: f64| 1e300 * v)).unwrap();
    let batch = Batch { num_data: 3, ..Batch::of(&data, &[0, 1, 2]) };
    contains(&message(model.objective(batch, Noise::Given(&[]))), &["not finite (the data term)", "scale of the data"]);
    let huge = vec![1e200; 5];
    model.set_parameter("layers.0.mean.free", &huge).unwrap();
    let data = random_data(3, 1);
    let result = model.objective(Batch { data: &data, ..batch }, Noise::Given(&[]));
    contains(&message(result), &["the KL of layer 0"]);
}

#[test]
fn kernel_matrices_beyond_rescue() {
    let mut model = random_model(0, FORMS, false, 1);
    let raw = vec![f64::NAN; model.raw().len()];
    model.set_raw(&raw);
    let data = random_data(3, 1);
    let batch = Batch { num_data: 3, ..Batch::of(&data, &[0]) };
    let text = message(model.objective(batch, Noise::Given(&[])));
    contains(&text, &["layer 0: K_aa (mean inducing inputs) is not positive definite", "not finite", "`dual` mean"]);
}

#[test]
fn a_dual_covariance_that_has_run_away() {
    let mut model = random_model(0, (MeanForm::Dual, CovarianceForm::Dual), false, 1);
    let mut factor = vec![0.0; 9];
    factor[0] = 1e200;
    model.set_parameter("layers.0.covariance.factor", &factor).unwrap();
    let data = random_data(3, 1);
    let batch = Batch { num_data: 3, ..Batch::of(&data, &[0]) };
    let text = message(model.objective(batch, Noise::Given(&[])));
    contains(&text, &["layer 0: I + L_B' K_bb L_B (dual covariance)", "lower the learning rate"]);
}

#[test]
fn data_that_cannot_be_fitted() {
    let go = |data: &Dataset, settings: &FitSettings| {
        Regressor::fit(data, settings, |_, _| ControlFlow::Continue(())).map(|_| ())
    };
    let defaults = FitSettings::plain();
    let one = Dataset::new(uniform(1, 2, 1), uniform(1, 1, 1)).unwrap();
    contains(&message(go(&one, &defaults)), &["holding rows out", "at least 3 rows", "there are 1", "`None`"]);
    let all = FitSettings { validation: None, ..FitSettings::plain() };
    contains(&message(go(&one, &all)), &["standardising needs at least 2 rows", "there are 1"]);
    let two = Dataset::new(uniform(2, 2, 1), uniform(2, 1, 1)).unwrap();
    contains(&message(go(&two, &defaults)), &["holding rows out"]);
    let flat = Dataset::new(uniform(9, 2, 1), Mat::from_fn(9, 1, |_, _| 3.0)).unwrap();
    contains(&message(go(&flat, &defaults)), &["y: column 0 has the value 3 in every row", "nothing to learn"]);
    let column =
        Dataset::new(Mat::from_fn(9, 2, |i, j| if j == 0 { 5.0 } else { i as f64 }), uniform(9, 1, 1)).unwrap();
    contains(&message(go(&column, &defaults)), &["x: column 0 has the value 5", "ConstantColumns::Keep"]);
    let quick = FitSettings {
        constant_columns: ConstantColumns::Keep,
        train: TrainSettings { steps: 2, ..TrainSettings::plain() },
        ..FitSettings::plain()
    };
    go(&column, &quick).unwrap();
    let mut crowd = quick.clone();
    crowd.train.threads = 100_000;
    contains(&message(go(&column, &crowd)), &["`threads` is 100000", "at most 1024"]);
    let bad = FitSettings { validation: Some(1.5), ..FitSettings::plain() };
    contains(&message(go(&column, &bad)), &["`validation` is 1.5"]);
}

#[test]
fn a_plan_can_give_inducing_inputs_and_other_kernels_by_layer() {
    let x = uniform(40, 2, 1);
    let plan = |width, d, inducing| LayerPlan {
        width,
        kernel: KernelChoice::Matern52.start(d),
        mean_form: MeanForm::Standard,
        covariance_form: CovarianceForm::Standard,
        inducing,
        mean_function: None,
    };
    let given = Inducing::Decoupled { mean: uniform(6, 2, 2), covariance: uniform(3, 2, 3) };
    let chosen = InducingPlan::Chosen { size: InducingSize::Tied(7), start: InducingStart::GreedyVariance };
    let build = |first: InducingPlan, kernel_width| {
        let plans = vec![plan(4, kernel_width, first), plan(1, 4, chosen.clone())];
        let jitter = Jitter { absolute: 1e-6, relative: 0.0 };
        DeepGp::build(x.view(), plans, Box::new(Gaussian::new(0.1, 1)), jitter, 0)
    };
    let model = build(InducingPlan::Given(given.clone()), 2).unwrap();
    assert_eq!(model.layers()[0].inducing, given);
    assert_eq!(model.layers()[1].inducing.mean().nrows(), 7);
    contains(&message(build(InducingPlan::Given(given), 3)), &["the kernel has width 3, but 2"]);
    contains(&message(build(chosen.clone(), 1)), &["the kernel has width 1, but 2"]);
    let wide = InducingPlan::Given(Inducing::Tied(uniform(6, 5, 2)));
    contains(&message(build(wide, 2)), &["the mean's set of inducing inputs has width 5, but 2"]);
    let empty = InducingPlan::Given(Inducing::Tied(Mat::zeros(0, 2)));
    contains(&message(build(empty, 2)), &["`inducing inputs` is 0"]);
    // Centres of k-means travel past a layer that was given its own, and grow with the width.
    let k_means = InducingPlan::Chosen { size: InducingSize::Tied(5), start: InducingStart::KMeans };
    let given = InducingPlan::Given(Inducing::Tied(uniform(6, 2, 2)));
    let plans = vec![plan(2, 2, k_means.clone()), plan(4, 2, given), plan(1, 4, k_means)];
    let jitter = Jitter { absolute: f64::NAN, relative: 0.0 };
    let likelihood = || Box::new(Gaussian::new(0.1, 1));
    contains(&message(DeepGp::build(x.view(), plans.clone(), likelihood(), jitter, 0)), &["`jitter`"]);
    let nothing = vec![plan(0, 2, chosen.clone())];
    let jitter = Jitter { absolute: 1e-6, relative: 0.0 };
    contains(&message(DeepGp::build(x.view(), nothing, likelihood(), jitter, 0)), &["`width` is 0"]);
    let nan = InducingPlan::Given(Inducing::Tied(Mat::from_fn(2, 2, |i, _| [1.0, f64::NAN][i])));
    contains(&message(build(nan, 2)), &["inducing inputs: row 1, column 0 is NaN"]);
    let three = DeepGp::build(x.view(), plans, Box::new(Gaussian::new(0.1, 1)), jitter, 0).unwrap();
    let (first, last) = (three.layers()[0].inducing.mean(), three.layers()[2].inducing.mean());
    assert_eq!((last.nrows(), last.ncols()), (5, 4));
    assert_eq!(&last.row(3)[..2], first.row(3));
    let data = Dataset::new(x.clone(), uniform(40, 1, 4)).unwrap();
    let settings = TrainSettings { steps: 3, ..TrainSettings::plain() };
    Trainer::new(model, &data, None, settings).unwrap().run(|_, _| ControlFlow::Continue(())).unwrap();
}
