//! The device against the CPU. Without a GPU every test says that it was skipped.

mod densities;
mod discrete;
mod foreign;
mod gpu;

use std::ops::ControlFlow;
use std::sync::Arc;

use deepgp::backend::Backend;
use deepgp::kernel::{Combination, Kernel, Matern32, RationalQuadratic, SquaredExponential};
use deepgp::likelihood::{Gaussian, Likelihood};
use deepgp::noise::{Key, Purpose};
use deepgp::{
    Batch, CovarianceForm, Dataset, DeepGp, FitSettings, Inducing, InducingSize, Jitter, KernelChoice, Layer,
    LayerCovariance, LayerMean, Mat, MeanForm, MeanFunction, ModelSettings, Noise, Precision, PredictSettings,
    StepOutcome, TrainSettings, Trainer, Training, simulate,
};
use foreign::Foreign;

const MEANS: [MeanForm; 4] = [MeanForm::Whitened, MeanForm::Standard, MeanForm::Dual, MeanForm::ScaledDual];
const COVARIANCES: [CovarianceForm; 4] =
    [CovarianceForm::Standard, CovarianceForm::Whitened, CovarianceForm::Dual, CovarianceForm::Diagonal];
const SETS: [Sets; 3] = [Sets::Tied, Sets::Decoupled, Sets::Nested];

/// How the inducing inputs of mean and covariance stand to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sets {
    Tied,
    Decoupled,
    Nested,
}

/// The GPU, or `None` after saying that `test` is skipped.
fn gpu(test: &str) -> Option<Arc<dyn Backend>> {
    gpu::open(test).map(|cuda| Arc::new(cuda) as Arc<dyn Backend>)
}

fn uniform(rows: usize, cols: usize, seed: u64) -> Mat {
    let key = Key::new(seed, Purpose::Simulate);
    Mat::from_fn(rows, cols, |i, j| 2.0 * key.uniform([i as u32, j as u32, 9, 0]) - 1.0)
}

/// Lower-triangular blocks with diagonals near 0.6.
fn lower(outputs: usize, m: usize, seed: u64) -> Mat {
    let u = uniform(outputs * m, m, seed);
    Mat::from_fn(outputs * m, m, |i, j| match j.cmp(&(i % m)) {
        std::cmp::Ordering::Less => 0.2 * u[(i, j)],
        std::cmp::Ordering::Equal => 0.6 + 0.2 * u[(i, j)],
        std::cmp::Ordering::Greater => 0.0,
    })
}

/// What a layer is made of in these tests.
#[derive(Clone)]
struct Make {
    means: usize,
    covariances: usize,
    sets: Sets,
    forms: (MeanForm, CovarianceForm),
    kernel: fn(usize) -> Box<dyn Kernel>,
}

fn squared_exponential(d: usize) -> Box<dyn Kernel> {
    let lengthscales = uniform(1, d, 77).as_slice().iter().map(|u| (d as f64).sqrt() * (0.7 + 0.3 * u)).collect();
    Box::new(SquaredExponential::new(0.9, lengthscales))
}

impl Make {
    fn new(means: usize, covariances: usize) -> Self {
        let forms = (MeanForm::Whitened, CovarianceForm::Standard);
        Self { means, covariances, sets: Sets::Decoupled, forms, kernel: squared_exponential }
    }

    fn layer(&self, d: usize, p: usize, mean_function: MeanFunction, seed: u64) -> Layer {
        let m_b = self.covariances;
        let m_a = if self.sets == Sets::Tied { m_b } else { self.means };
        let inputs = uniform(m_a, d, seed + 1);
        let factor = match self.forms.1 {
            CovarianceForm::Dual | CovarianceForm::Standard | CovarianceForm::Whitened => lower(p, m_b, seed + 4),
            CovarianceForm::Diagonal => uniform(p, m_b, seed + 4).map(|u| 0.6 + 0.5 * u),
        };
        Layer {
            kernel: (self.kernel)(d),
            mean_function,
            inducing: match self.sets {
                Sets::Tied => Inducing::Tied(inputs),
                Sets::Decoupled => Inducing::Decoupled { mean: inputs, covariance: uniform(m_b, d, seed + 2) },
                Sets::Nested => Inducing::Nested { inputs, covariance: m_b },
            },
            mean: LayerMean { form: self.forms.0, free: uniform(m_a, p, seed + 3).map(|v| 0.3 * v) },
            covariance: LayerCovariance { form: self.forms.1, factor },
        }
    }

    /// Layers of these widths, the first the inputs', the last the outputs', under Gaussian noise.
    fn model(&self, widths: &[usize]) -> DeepGp {
        self.model_under(Box::new(Gaussian::new(0.3, widths[widths.len() - 1])), widths)
    }

    /// Layers of these widths, the first the inputs', the last as many as the likelihood has latent functions.
    fn model_under(&self, likelihood: Box<dyn Likelihood>, widths: &[usize]) -> DeepGp {
        let last = widths.len() - 2;
        let layers = (0..=last).map(|l| {
            let (d, p) = (widths[l], widths[l + 1]);
            let mean_function = match (l == last, p.cmp(&d)) {
                (true, _) => MeanFunction::Zero,
                (_, std::cmp::Ordering::Equal) => MeanFunction::Identity,
                (_, std::cmp::Ordering::Greater) => MeanFunction::ZeroPadding,
                _ => MeanFunction::principal_directions(uniform(3 * d, d, 7).view(), p).unwrap(),
            };
            self.layer(d, p, mean_function, 10 * l as u64)
        });
        let jitter = Jitter { absolute: 1e-4, relative: 0.0 };
        DeepGp::new(layers.collect(), likelihood).unwrap().with_jitter(jitter).unwrap()
    }
}

fn data(rows: usize, d: usize, outputs: usize) -> Dataset {
    Dataset::new(uniform(rows, d, 100), uniform(rows, outputs, 101)).unwrap()
}

/// The largest relative differences of the ELBO and of a gradient array, in norm, with its name.
fn differences(model: &DeepGp, gpu: &Arc<dyn Backend>, batch: Batch<'_>, noise: Noise<'_>) -> (f64, f64, String) {
    let (ours, gradient) = model.objective_gradient(batch, noise).unwrap();
    let there = model.clone().computed_on(Some(gpu.clone()));
    let (elbo, found) = there.objective_gradient(batch, noise).unwrap();
    let relative = |a: f64, b: f64| (a - b).abs() / b.abs().max(1e-3);
    let mut of_elbo = relative(elbo.data_term, ours.data_term);
    for (a, b) in elbo.kl.iter().zip(&ours.kl) {
        of_elbo = of_elbo.max(relative(*a, *b));
    }
    assert_eq!(elbo.clamped, ours.clamped);
    let (mut worst, mut name) = (0.0, String::new());
    for parameter in model.parameters() {
        let (a, b) = (&found[parameter.range.clone()], &gradient[parameter.range.clone()]);
        let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
        let off = norm(&mut a.iter().zip(b).map(|(x, y)| x - y)) / norm(&mut b.iter().copied()).max(1e-8);
        if off.is_nan() || off > worst {
            (worst, name) = (off, parameter.name);
        }
    }
    (of_elbo, worst, name)
}

fn agrees(what: &str, model: &DeepGp, gpu: &Arc<dyn Backend>, batch: Batch<'_>, noise: Noise<'_>) {
    let (elbo, gradient, name) = differences(model, gpu, batch, noise);
    println!("{what}: ELBO {elbo:.1e}, gradients {gradient:.1e} ({name})");
    assert!(elbo <= 1e-10 && gradient <= 1e-9, "{what}: ELBO {elbo:e}, gradient of {name} {gradient:e}");
}

fn whole(data: &Dataset, rows: &[u32], samples: usize) -> Batch<'static> {
    // Test data lives as long as the program.
    let (data, rows) = (Box::leak(Box::new(data.clone())), Box::leak(rows.to_vec().into_boxed_slice()));
    Batch { num_data: 3 * rows.len(), samples, kl_weight: 0.7, ..Batch::of(data, rows) }
}

const TRAIN: fn() -> Noise<'static> = || Noise::Rows { key: Key::new(3, Purpose::Train), step: 41 };

#[test]
fn every_form_tied_decoupled_and_nested_has_the_cpus_elbo_and_gradients() {
    let Some(gpu) = gpu("every form") else { return };
    let data = data(70, 3, 1);
    let rows: Vec<u32> = (0..70).rev().collect();
    for mean in MEANS {
        for covariance in COVARIANCES {
            for sets in SETS {
                let make = Make { sets, forms: (mean, covariance), ..Make::new(40, 24) };
                let model = make.model(&[3, 5, 4, 1]);
                agrees(&format!("{mean:?} {covariance:?} {sets:?}"), &model, &gpu, whole(&data, &rows, 1), TRAIN());
            }
        }
    }
}

#[test]
fn heads_of_every_length_and_sparse_inputs_do_too() {
    let Some(gpu) = gpu("nested sets") else { return };
    let rows: Vec<u32> = (0..90).collect();
    let bits = uniform(90, 200, 8).map(|u| f64::from(u8::from(u > 0.8)));
    let sparse = Dataset::new(bits, uniform(90, 2, 101)).unwrap();
    for covariance in COVARIANCES {
        for (means, covariances) in [(30, 30), (30, 29), (30, 1), (1, 1), (70, 33)] {
            let forms = (MeanForm::Whitened, covariance);
            let make = Make { sets: Sets::Nested, forms, ..Make::new(means, covariances) };
            for (data, widths) in [(&data(90, 4, 3), [4, 6, 3]), (&sparse, [200, 6, 2])] {
                let name = format!("{covariance:?} {covariances} of {means}, widths {widths:?}");
                agrees(&name, &make.model(&widths), &gpu, whole(data, &rows, 1), TRAIN());
            }
        }
    }
}

#[test]
fn every_kernel_and_nested_sums_and_products_do_too() {
    let Some(gpu) = gpu("every kernel") else { return };
    fn nested(d: usize) -> Box<dyn Kernel> {
        let scales = |by: f64| -> Vec<f64> { (0..d).map(|i| by * (1.0 + 0.1 * i as f64)).collect() };
        let product = Combination::product(vec![
            Box::new(Matern32::new(0.8, scales(1.5))),
            Box::new(RationalQuadratic::new(1.1, scales(0.9), 0.6)),
        ]);
        let parts: Vec<Box<dyn Kernel>> =
            vec![Box::new(SquaredExponential::new(0.4, scales(2.0))), Box::new(product.unwrap())];
        Box::new(Combination::sum(parts).unwrap())
    }
    fn one<const I: usize>(d: usize) -> Box<dyn Kernel> {
        let all = [
            KernelChoice::SquaredExponential,
            KernelChoice::Matern12,
            KernelChoice::Matern32,
            KernelChoice::Matern52,
            KernelChoice::RationalQuadratic,
        ];
        all[I].start(d)
    }
    let kernels: [fn(usize) -> Box<dyn Kernel>; 6] = [one::<0>, one::<1>, one::<2>, one::<3>, one::<4>, nested];
    for width in [3, 40] {
        let data = data(50, width, 1);
        let rows: Vec<u32> = (0..50).collect();
        for kernel in kernels {
            for (forms, sets) in [
                ((MeanForm::Whitened, CovarianceForm::Standard), Sets::Decoupled),
                ((MeanForm::Dual, CovarianceForm::Dual), Sets::Decoupled),
                ((MeanForm::Whitened, CovarianceForm::Diagonal), Sets::Nested),
            ] {
                let make = Make { kernel, forms, sets, ..Make::new(20, 13) };
                let model = make.model(&[width, 4, 1]);
                let name = format!("{} of {width} inputs, {forms:?} {sets:?}", kernel(1).name());
                agrees(&name, &model, &gpu, whole(&data, &rows, 1), TRAIN());
            }
        }
    }
}

#[test]
fn odd_sizes_do_too() {
    let Some(gpu) = gpu("odd sizes") else { return };
    for (rows, means, covariances, widths) in [
        (1, 1, 1, vec![1, 1]),
        (1, 3, 2, vec![2, 3, 1]),
        (17, 1, 1, vec![2, 2, 2]),
        (33, 65, 31, vec![3, 2, 1]),
        (129, 200, 100, vec![8, 10, 10, 1]),
        (50, 130, 129, vec![5, 3, 1]),
        (40, 12, 9, vec![2, 3, 1000]),
        (64, 20, 10, vec![520, 11, 2]),
        // The last matrix that is factored in shared memory, with the widest solve there, and the first that is not.
        (40, 512, 65, vec![9, 16, 17, 1]),
        (40, 513, 64, vec![9, 3, 1]),
    ] {
        let data = data(rows, widths[0], widths[widths.len() - 1]);
        let ids: Vec<u32> = (0..rows as u32).collect();
        for (sets, covariance) in [
            (Sets::Decoupled, CovarianceForm::Standard),
            (Sets::Tied, CovarianceForm::Standard),
            (Sets::Nested, CovarianceForm::Diagonal),
        ] {
            let forms = (MeanForm::Whitened, covariance);
            let model = Make { sets, forms, ..Make::new(means, covariances) }.model(&widths);
            let name = format!("{rows} rows, {means}/{covariances}, widths {widths:?}, {sets:?} {covariance:?}");
            agrees(&name, &model, &gpu, whole(&data, &ids, 1), TRAIN());
        }
    }
}

#[test]
fn samples_weights_given_noise_and_parts_of_the_data_do_too() {
    let Some(gpu) = gpu("samples and weights") else { return };
    let weights = uniform(60, 1, 5).map(|v| 1.0 + v).into_vec();
    let data = data(60, 2, 2).with_weights(weights).unwrap();
    let some: Vec<u32> = vec![5, 3, 59, 0, 17, 18, 44];
    let nested =
        Make { sets: Sets::Nested, forms: (MeanForm::Whitened, CovarianceForm::Diagonal), ..Make::new(20, 10) };
    for (make, name) in [(Make::new(20, 10), "decoupled"), (nested, "nested diagonal")] {
        let model = make.model(&[2, 3, 3, 2]);
        let agrees = |what: &str, model: &DeepGp, batch, noise| {
            agrees(&format!("{name}: {what}"), model, &gpu, batch, noise);
        };
        agrees("samples and weights", &model, whole(&data, &some, 4), TRAIN());
        let given: Vec<Mat> = (0..2).map(|l| uniform(21, 3, 40 + l)).collect();
        agrees("given noise", &model, whole(&data, &some, 3), Noise::Given(Box::leak(given.into_boxed_slice())));
        let one: Vec<Mat> = (0..2).map(|l| uniform(7, 3, 40 + l)).collect();
        agrees("given noise, one", &model, whole(&data, &some, 1), Noise::Given(Box::leak(one.into_boxed_slice())));
        let shared = Noise::Shared { key: Key::new(1, Purpose::Predict) };
        agrees("shared noise", &model, whole(&data, &some, 3), shared);
        let table: Vec<Mat> = (0..2).map(|l| uniform(3, 3, 50 + l)).collect();
        agrees("a table of noise", &model, whole(&data, &some, 3), Noise::Table(Box::leak(table.into_boxed_slice())));
        agrees("samples of a single layer", &make.model(&[2, 2]), whole(&data, &some, 4), TRAIN());
        let relative = model.with_jitter(Jitter { absolute: 1e-5, relative: 1e-3 }).unwrap();
        agrees("relative jitter", &relative, whole(&data, &some, 1), TRAIN());
    }
}

#[test]
fn the_papers_sizes_do_too() {
    let Some(gpu) = gpu("the paper's sizes") else { return };
    let data = simulate::eight_link_arm(2000, 1);
    let rows: Vec<u32> = (0..2000).collect();
    for (inducing, covariance_form) in [
        (InducingSize::Tied(200), CovarianceForm::Standard),
        (InducingSize::decoupled(500, 100), CovarianceForm::Standard),
        (InducingSize::nested(500, 100), CovarianceForm::Whitened),
        (InducingSize::nested(500, 300), CovarianceForm::Diagonal),
    ] {
        let settings = ModelSettings {
            hidden_layers: 4,
            inducing,
            covariance_form,
            jitter: Some(Jitter { absolute: 1e-4, relative: 0.0 }),
            ..ModelSettings::plain()
        };
        let mut model = DeepGp::for_regression(data.x().view(), 1, &settings).unwrap();
        // Shorter lengthscales keep the condition of the kernel matrices below 1e6.
        for parameter in model.parameters() {
            if parameter.name.ends_with("lengthscales") {
                let shorter: Vec<f64> = parameter.values.iter().map(|v| 0.4 * v).collect();
                model.set_parameter(&parameter.name, &shorter).unwrap();
            }
            if parameter.name.ends_with("mean.free") {
                let values = uniform(1, parameter.values.len(), 6).into_vec();
                model.set_parameter(&parameter.name, &values).unwrap();
            }
        }
        agrees(&format!("{inducing:?}"), &model, &gpu, whole(&data, &rows, 1), TRAIN());
    }
}

#[test]
fn mixed_precision_is_near_the_cpus_double() {
    let Some(gpu) = gpu("mixed precision") else { return };
    let data = data(200, 3, 1);
    let rows: Vec<u32> = (0..200).collect();
    for (covariance, sets) in
        COVARIANCES.into_iter().flat_map(|form| [Sets::Decoupled, Sets::Nested].map(|s| (form, s)))
    {
        let forms = (MeanForm::Whitened, covariance);
        let model = Make { forms, sets, ..Make::new(40, 20) }.model(&[3, 4, 1]);
        nearly_agrees(&format!("{covariance:?} {sets:?}"), &model, &gpu, whole(&data, &rows, 1));
    }
}

/// Compares the device's mixed precision with the CPU's double.
fn nearly_agrees(what: &str, model: &DeepGp, gpu: &Arc<dyn Backend>, batch: Batch<'_>) {
    // The same jitter and floor on both sides, so that only the arithmetic differs.
    let mixed = model.clone().with_precision(Precision::Mixed).with_jitter(model.jitter()).unwrap();
    let (ours, gradient) = model.objective_gradient(batch, TRAIN()).unwrap();
    let (elbo, found) = mixed.computed_on(Some(gpu.clone())).objective_gradient(batch, TRAIN()).unwrap();
    let off = (elbo.total() / ours.total() - 1.0).abs();
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    let of_gradient = norm(&mut found.iter().zip(&gradient).map(|(a, b)| a - b)) / norm(&mut gradient.iter().copied());
    println!("{what}: ELBO {off:.1e}, gradient {of_gradient:.1e}");
    assert!(off < 1e-4 && of_gradient < 1e-3, "{what}: {off:e} {of_gradient:e}");
}

/// The two kinds of layers that training is tested with.
const KINDS: [(InducingSize, CovarianceForm); 2] = [
    (InducingSize::decoupled(30, 15), CovarianceForm::Whitened),
    (InducingSize::nested(30, 15), CovarianceForm::Diagonal),
];

fn small() -> (Dataset, FitSettings) {
    small_of(KINDS[0])
}

fn small_of((inducing, covariance_form): (InducingSize, CovarianceForm)) -> (Dataset, FitSettings) {
    let mut settings = FitSettings::plain();
    settings.model.hidden_layers = 1;
    settings.model.width = 3;
    settings.model.inducing = inducing;
    settings.model.covariance_form = covariance_form;
    settings.train.steps = 60;
    (simulate::eight_link_arm(400, 2), settings)
}

#[test]
fn training_goes_the_cpus_way() {
    let Some(gpu) = gpu("training") else { return };
    let (data, settings) = small();
    let train = |kind, settings: TrainSettings, accelerator: Option<Arc<dyn Backend>>| {
        let model = DeepGp::for_regression(data.x().view(), 1, &small_of(kind).1.model).unwrap();
        let mut trainer = Trainer::new(model.computed_on(accelerator), &data, None, settings).unwrap();
        let mut elbos = Vec::new();
        trainer
            .run(|report, _| {
                if let StepOutcome::Taken(elbo) = &report.outcome {
                    elbos.push((report.step, elbo.total(), report.learning_rate));
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        (elbos, trainer.state().now.raw.clone())
    };
    let batches = [(1000, 1, 0), (150, 2, 20)];
    for (kind, (batch_size, samples, kl_warm_up)) in KINDS.into_iter().flat_map(|kind| batches.map(|own| (kind, own))) {
        let settings = TrainSettings { batch_size, samples, kl_warm_up, ..settings.train };
        let ((ours, raw), (theirs, found)) = (train(kind, settings, None), train(kind, settings, Some(gpu.clone())));
        assert_eq!(ours.len(), theirs.len());
        for (a, b) in ours.iter().zip(&theirs) {
            assert_eq!((a.0, a.2), (b.0, b.2));
            assert!((a.1 - b.1).abs() < 1e-5 * a.1.abs(), "step {}: {} and {}", a.0, a.1, b.1);
        }
        let far = raw.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("{kind:?}, batch {batch_size}: parameters differ by {far:.1e} after {} steps", ours.len());
        assert!(far < 1e-3, "{far}");
        assert_eq!(train(kind, settings, Some(gpu.clone())), (theirs, found), "a second run has other bits");
    }
}

#[test]
fn a_run_that_goes_on_has_the_bits_of_one_that_never_stopped() {
    let Some(gpu) = gpu("resuming") else { return };
    let (data, settings) = small_of(KINDS[1]);
    let settings = TrainSettings { batch_size: 150, ..settings.train };
    let model = DeepGp::for_regression(data.x().view(), 1, &small_of(KINDS[1]).1.model).unwrap().computed_on(Some(gpu));
    let go = |_: &_, _: &_| ControlFlow::Continue(());
    let mut whole = Trainer::new(model.clone(), &data, None, settings).unwrap();
    whole.run(go).unwrap();
    let mut part = Trainer::new(model.clone(), &data, None, settings).unwrap();
    let stop_at = |report: &deepgp::StepReport, _: &_| {
        if report.step >= 27 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    part.run(stop_at).unwrap();
    let state = part.state().clone();
    assert!((27..60).contains(&state.step), "{}", state.step);
    let mut rest = Trainer::resume(model, &data, None, settings, state).unwrap();
    rest.run(go).unwrap();
    assert_eq!(rest.state(), whole.state());
}

#[test]
fn a_fit_with_validation_predicts_as_the_cpu_does_with_its_parameters() {
    let Some(gpu) = gpu("fit and predict") else { return };
    for kind in KINDS {
        let (data, mut settings) = small_of(kind);
        settings.train.steps = 200;
        let mut training = Training::new(&data, &settings).unwrap();
        *training.model_mut() = training.model().clone().computed_on(Some(gpu.clone()));
        let fit = training.run(|_, _| ControlFlow::Continue(())).unwrap();
        assert!(fit.state.best.is_some());
        let there = fit.regressor;
        let mut here = there.clone();
        here.model = here.model.computed_on(None);
        let predict = PredictSettings { samples: 37, ..PredictSettings::default() };
        let x = data.x().view();
        let (a, b) = (there.predictor(predict).unwrap(), here.predictor(predict).unwrap());
        let (p, q) = (a.moments(x).unwrap(), b.moments(x).unwrap());
        for (p, q) in [(&p.y.mean, &q.y.mean), (&p.f.variance, &q.f.variance), (&p.y.variance, &q.y.variance)] {
            for (a, b) in p.as_slice().iter().zip(q.as_slice()) {
                assert!((a - b).abs() < 1e-7 * b.abs().max(1e-3), "{a} {b}");
            }
        }
        let (p, q) = (a.quantiles(x, &[0.1, 0.9]).unwrap(), b.quantiles(x, &[0.1, 0.9]).unwrap());
        assert!(p.as_slice().iter().zip(q.as_slice()).all(|(a, b)| (a - b).abs() < 1e-6));
        // A row's bits do not depend on the others.
        let (one, all) = (a.moments(x.rows(7..8)).unwrap(), a.moments(x).unwrap());
        assert_eq!(one.y.mean[(0, 0)], all.y.mean[(7, 0)]);
        assert!(a.score(&data).unwrap().rmse[0] < 0.9 * data.y().as_slice().iter().map(|v| v * v).sum::<f64>().sqrt());
    }
}

#[test]
fn a_singular_kernel_matrix_gets_the_jitter_that_the_cpu_would_give_it() {
    let Some(gpu) = gpu("jitter") else { return };
    let data = data(30, 1, 1);
    let rows: Vec<u32> = (0..30).collect();
    for (sets, name) in [(Sets::Decoupled, "layers.0.mean_inducing"), (Sets::Nested, "layers.0.inducing")] {
        let mut model = Make { sets, ..Make::new(12, 6) }.model(&[1, 1]);
        let close: Vec<f64> = (0..12).map(|i| 1e-9 * f64::from(i)).collect();
        model.set_parameter(name, &close).unwrap();
        let model = model.with_jitter(Jitter { absolute: 0.0, relative: 0.0 }).unwrap();
        let (ours, _) = model.objective_gradient(whole(&data, &rows, 1), TRAIN()).unwrap();
        let there = model.computed_on(Some(gpu.clone()));
        let (elbo, _) = there.objective_gradient(whole(&data, &rows, 1), TRAIN()).unwrap();
        println!("{:?}\n{:?}", ours.jitter, elbo.jitter);
        assert!(!ours.jitter.is_empty() && !elbo.jitter.is_empty() && elbo.total().is_finite());
        assert_eq!(ours.jitter[0].matrix, elbo.jitter[0].matrix);
    }
}

#[test]
fn a_step_that_cannot_be_made_is_rolled_back() {
    let Some(gpu) = gpu("rolling back") else { return };
    let (data, settings) = small();
    // A rate that throws everything away.
    let settings = TrainSettings { learning_rate: Some(1e200), steps: 30, ..settings.train };
    let model = DeepGp::for_regression(data.x().view(), 1, &small().1.model).unwrap().computed_on(Some(gpu));
    let mut trainer = Trainer::new(model, &data, None, settings).unwrap();
    let mut rolled_back = 0;
    let stop = trainer.run(|report, _| {
        rolled_back += usize::from(matches!(report.outcome, StepOutcome::RolledBack(_)));
        ControlFlow::Continue(())
    });
    println!("{stop:?} after {rolled_back} steps were rolled back");
    assert!(rolled_back > 0 && stop.is_ok());
    assert!(trainer.finish().raw().iter().all(|v| v.is_finite()));
}

#[test]
fn frozen_parameters_stay() {
    let Some(gpu) = gpu("frozen parameters") else { return };
    let (data, settings) = small();
    let mut model = DeepGp::for_regression(data.x().view(), 1, &settings.model).unwrap();
    model.freeze("likelihood.noise").unwrap();
    model.freeze("layers.0.kernel").unwrap();
    let before = model.parameters();
    let mut trainer = Trainer::new(model.computed_on(Some(gpu)), &data, None, settings.train).unwrap();
    trainer.run(|_, _| ControlFlow::Continue(())).unwrap();
    for (a, b) in before.iter().zip(trainer.finish().parameters()) {
        assert_eq!(a.frozen, a.values == b.values, "{}", a.name);
    }
}

#[test]
fn a_kernel_of_the_users_own_and_too_large_a_batch_are_clear_errors() {
    let Some(gpu) = gpu("errors") else { return };
    let data = data(20, 2, 1);
    let foreign: fn(usize) -> Box<dyn Kernel> = |d| Box::new(Foreign(SquaredExponential::new(1.0, vec![1.0; d])));
    let model = Make { kernel: foreign, ..Make::new(5, 4) }.model(&[2, 1]).computed_on(Some(gpu.clone()));
    let rows: Vec<u32> = (0..20).collect();
    let message = model.objective(whole(&data, &rows, 1), TRAIN()).unwrap_err().to_string();
    assert!(message.contains("layer 0 has the kernel `foreign`") && message.contains("on the CPU"), "{message}");
    let wide = Make::new(50, 300).model(&[2, 1000]).computed_on(Some(gpu));
    let many = Dataset::new(uniform(200_000, 2, 1), Mat::zeros(200_000, 1000)).unwrap();
    let message = wide.objective(whole(&many, &(0..200_000).collect::<Vec<_>>(), 1), TRAIN()).unwrap_err().to_string();
    println!("{message}");
    assert!(message.contains("out of memory") && message.contains("rows at once would fit"), "{message}");
}
