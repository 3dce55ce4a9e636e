//! Proves that kernels and likelihoods can be added from outside the library: a kernel with gradients of its own, a likelihood by
//! quadrature, one given by its log density alone, and one with more latent functions than targets. They train, predict, and pass the
//! gradient check, which is proved able to fail.

mod common;

use std::ops::ControlFlow;

use common::*;
use deepgp::kernel::{CrossBars, Evaluate, Kernel, Scratch};
use deepgp::likelihood::{ByQuadrature, Latent, LatentBars, Likelihood, Pointwise, Support};
use deepgp::noise::{Key, Purpose};
use deepgp::params::{Constraint, Leaf, Parameters};
use deepgp::{
    CovarianceForm, Dataset, DeepGp, Error, FitSettings, InducingSize, Mat, MeanForm, MeanFunction, PredictSettings,
    Real, Result, Scaling, TrainSettings, Trainer, Training, View, ViewMut,
};

/// `k(x, z) = variance · x·z + offset`: straight lines. `DEFECT` scales its slope in `z`; 1 is right.
#[derive(Clone, Debug)]
struct Linear<const DEFECT: i32> {
    width: usize,
    variance: f64,
    offset: f64,
}

impl<const DEFECT: i32> Parameters for Linear<DEFECT> {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        let constraint = Constraint::Positive { floor: 0.0 };
        for (name, value) in [("variance", &mut self.variance), ("offset", &mut self.offset)] {
            leaf(Leaf { name, constraint, shape: &[], values: std::slice::from_mut(value) });
        }
    }
}

impl<T: Real, const DEFECT: i32> Evaluate<T> for Linear<DEFECT> {
    fn cross(&self, x: View<'_, T>, z: View<'_, T>, mut k: ViewMut<'_, T>, _: &mut Scratch<T>) {
        for n in 0..x.nrows() {
            for (m, k) in k.row_mut(n).iter_mut().enumerate() {
                let dot: T = x.row(n).iter().zip(z.row(m)).map(|(&a, &b)| a * b).sum();
                *k = T::of(self.variance) * dot + T::of(self.offset);
            }
        }
    }

    fn cross_pullback(
        &self,
        x: View<'_, T>,
        z: View<'_, T>,
        k: View<'_, T>,
        k_bar: ViewMut<'_, T>,
        mut bars: CrossBars<'_, T>,
        _: &mut Scratch<T>,
    ) {
        for n in 0..x.nrows() {
            for m in 0..z.nrows() {
                let bar = k_bar.as_view()[(n, m)];
                bars.theta[0] += (bar * (k[(n, m)] - T::of(self.offset))).to_f64() / self.variance;
                bars.theta[1] += bar.to_f64();
                let weight = bar * T::of(self.variance);
                for d in 0..self.width {
                    if let Some(x_bar) = &mut bars.x {
                        x_bar.row_mut(n)[d] += weight * z[(m, d)];
                    }
                    bars.z.row_mut(m)[d] += T::of(f64::from(DEFECT)) * weight * x[(n, d)];
                }
            }
        }
    }

    fn diagonal(&self, x: View<'_, T>, out: &mut [T]) {
        for (n, out) in out.iter_mut().enumerate() {
            *out = T::of(self.variance) * x.row(n).iter().map(|&a| a * a).sum::<T>() + T::of(self.offset);
        }
    }

    fn diagonal_pullback(&self, x: View<'_, T>, bar: &[T], mut x_bar: Option<ViewMut<'_, T>>, theta: &mut [f64]) {
        for (n, &bar) in bar.iter().enumerate() {
            theta[0] += (bar * x.row(n).iter().map(|&a| a * a).sum::<T>()).to_f64();
            theta[1] += bar.to_f64();
            if let Some(x_bar) = &mut x_bar {
                for (to, &from) in x_bar.row_mut(n).iter_mut().zip(x.row(n)) {
                    *to += T::of(2.0 * self.variance) * bar * from;
                }
            }
        }
    }
}

impl<const DEFECT: i32> Kernel for Linear<DEFECT> {
    fn name(&self) -> String {
        "linear".into()
    }

    fn input_width(&self) -> usize {
        self.width
    }

    fn clone_box(&self) -> Box<dyn Kernel> {
        Box::new(self.clone())
    }
}

/// `y` counts events at rate `exp f`. The expectation is known (`y f − exp(f)` under a Gaussian), but it is computed here
/// by quadrature, as a likelihood without such luck would be.
#[derive(Clone, Debug)]
struct Poisson;

/// Eight-point Gauss–Hermite rule for `E[g(ε)]`, `ε ~ N(0, 1)`.
const NODES: [(f64, f64); 4] = [
    (0.539_079_811_351_375_1, 0.373_012_257_679_077_4),
    (1.636_519_042_435_107_8, 0.117_239_907_661_759),
    (2.802_485_861_287_541_7, 0.009_635_220_120_788_258),
    (4.144_547_186_125_894_5, 0.000_112_614_538_375_367_9),
];

fn expect(mean: f64, variance: f64, g: impl Fn(f64) -> f64) -> f64 {
    let deviation = variance.sqrt();
    NODES.iter().map(|(node, weight)| weight * (g(mean + deviation * node) + g(mean - deviation * node))).sum()
}

impl Parameters for Poisson {
    fn visit(&mut self, _: &mut dyn FnMut(Leaf<'_>)) {}
}

impl Likelihood for Poisson {
    fn name(&self) -> String {
        "poisson".into()
    }

    fn clone_box(&self) -> Box<dyn Likelihood> {
        Box::new(self.clone())
    }

    fn latent_width(&self) -> usize {
        1
    }

    fn observed_width(&self) -> usize {
        1
    }

    fn check(&self, y: View<'_>) -> Result<()> {
        match y.as_slice().iter().find(|v| **v < 0.0 || v.fract() != 0.0) {
            None => Ok(()),
            Some(v) => Err(Error::Setting { name: "a count", value: v.to_string(), requirement: "0, 1, 2, …" }),
        }
    }

    fn expected_log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        expect(f.mean[0], f.variance[0], |f| y[0] * f - f.exp()) - ln_factorial(y[0])
    }

    /// `∂E[g]/∂mean = E[g']` and `∂E[g]/∂variance = ½ E[g'']`.
    fn expected_log_density_pullback(&self, y: &[f64], f: Latent<'_>, weight: f64, bars: LatentBars<'_>) {
        let (mean, variance) = (f.mean[0], f.variance[0]);
        bars.mean[0] += weight * expect(mean, variance, |f| y[0] - f.exp());
        bars.variance[0] += weight * 0.5 * expect(mean, variance, |f| -f.exp());
    }

    fn observed_moments(&self, f: Latent<'_>, mean: &mut [f64], variance: &mut [f64]) {
        mean[0] = expect(f.mean[0], f.variance[0], f64::exp);
        let square = expect(f.mean[0], f.variance[0], |f| (2.0 * f).exp());
        variance[0] = mean[0] + square - mean[0] * mean[0];
    }

    fn log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        expect(f.mean[0], f.variance[0], |f| (y[0] * f - f.exp() - ln_factorial(y[0])).exp()).ln()
    }

    fn cumulative(&self, _: usize, at: f64, f: Latent<'_>) -> f64 {
        if at < 0.0 { 0.0 } else { (0..=at as u32).map(|y| self.log_density(&[f64::from(y)], f).exp()).sum() }
    }

    fn draw(&self, f: &[f64], key: Key, counter: [u32; 4], y: &mut [f64]) {
        let (mut left, rate) = (key.uniform(counter), f[0].exp());
        let mut probability = (-rate).exp();
        y[0] = 0.0;
        while left > probability && y[0] < 1e6 {
            left -= probability;
            y[0] += 1.0;
            probability *= rate / y[0];
        }
    }
}

fn ln_factorial(y: f64) -> f64 {
    (1..=y as u32).map(|k| f64::from(k).ln()).sum()
}

fn model_with<const DEFECT: i32>() -> DeepGp {
    let mut first = random_layer((2, 3), (MeanForm::Dual, CovarianceForm::Dual), false, MeanFunction::ZeroPadding, 1);
    first.kernel = Box::new(Linear::<DEFECT> { width: 2, variance: 0.8, offset: 0.3 });
    let last = random_layer((3, 1), (MeanForm::Whitened, CovarianceForm::Standard), true, MeanFunction::Zero, 2);
    DeepGp::new(vec![first, last], Box::new(Poisson)).unwrap()
}

fn counts() -> deepgp::Dataset {
    let key = Key::new(3, Purpose::Simulate);
    let x = uniform(40, 2, 4);
    let y = deepgp::Mat::from_fn(40, 1, |i, _| {
        let mut y = [0.0];
        Poisson.draw(&[1.0 + 2.0 * x[(i, 0)]], key, [i as u32, 0, 0, 0], &mut y);
        y[0]
    });
    deepgp::Dataset::new(x, y).unwrap()
}

#[test]
fn a_kernel_and_a_quadrature_likelihood_of_ones_own_have_gradients() {
    let data = counts();
    let rows = all_rows(&data);
    assert_gradient("own", &model_with::<1>(), full_batch(&data, &rows), training_noise(1), 5e-6);
}

/// The check that all gradients stand on must be able to fail, and to say where.
#[test]
#[should_panic(expected = "layers.0.mean_inducing[0] has gradient")]
fn a_kernel_with_a_wrong_slope_is_found_out() {
    let data = counts();
    let rows = all_rows(&data);
    assert_gradient("defect", &model_with::<2>(), full_batch(&data, &rows), training_noise(1), 5e-6);
}

#[test]
fn they_train_and_predict() {
    let data = counts();
    let settings = TrainSettings { steps: 150, ..TrainSettings::plain() };
    let mut trainer = Trainer::new(model_with::<1>(), &data, None, settings).unwrap();
    let mut elbos = Vec::new();
    trainer
        .run(|report, _| {
            if let deepgp::StepOutcome::Taken(elbo) = &report.outcome {
                elbos.push(elbo.total());
            }
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    let average = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    assert!(average(&elbos[140..]) > average(&elbos[..10]) + 10.0, "{elbos:?}");
    let model = trainer.finish();
    let predictor = model.predictor(PredictSettings::default()).unwrap();
    let ends = deepgp::Mat::from_vec(2, 2, vec![-0.8, 0.0, 0.8, 0.0]).unwrap();
    let mean = predictor.moments(ends.view()).unwrap().y.mean;
    assert!(mean[(1, 0)] > 3.0 * mean[(0, 0)], "{mean:?}");
    let median = predictor.quantiles(ends.view(), &[0.5]).unwrap();
    assert!(median[(1, 0)] > median[(0, 0)]);
    // A count jumps; its quantiles lie on the far side of the jump.
    let levels = [0.05, 0.3, 0.5, 0.8, 0.99];
    let counts = predictor.quantiles(ends.view(), &levels).unwrap();
    assert!(counts.as_slice().iter().all(|q| *q >= q.round() && q - q.round() < 1e-9 && *q >= 0.0), "{counts:?}");
    let impossible = deepgp::Mat::column(vec![1.5, 1.0]);
    assert!(predictor.log_density(ends.view(), impossible.view()).is_err());
}

/// The same likelihood of counts, given by its log density and its slope alone.
#[derive(Clone, Debug)]
struct PoissonInOneFunction;

impl Parameters for PoissonInOneFunction {
    fn visit(&mut self, _: &mut dyn FnMut(Leaf<'_>)) {}
}

impl Pointwise for PoissonInOneFunction {
    fn name(&self) -> String {
        "poisson".into()
    }

    fn log_density(&self, y: f64, f: f64, _: &mut [f64]) -> (f64, f64) {
        (y * f - f.exp() - ln_factorial(y), y - f.exp())
    }

    fn support(&self) -> Support {
        Support::Counts
    }
}

#[test]
fn one_function_is_enough_for_a_likelihood_from_training_to_draws() {
    let data = counts();
    let rows = all_rows(&data);
    let model = with_likelihood(&model_with::<1>(), Box::new(ByQuadrature::new(PoissonInOneFunction)));
    assert_gradient("one function", &model, full_batch(&data, &rows), training_noise(1), 5e-6);
    let by_hand = model_with::<1>().objective(full_batch(&data, &rows), training_noise(1)).unwrap();
    let by_rule = model.objective(full_batch(&data, &rows), training_noise(1)).unwrap();
    close("objective", by_rule.total(), by_hand.total(), 1e-4 * by_hand.total().abs());

    // In the user's units: a count is what it is, and the rate's logarithm has units of its own.
    let mut settings = FitSettings { validation: None, ..FitSettings::plain() };
    settings.model.hidden_layers = 1;
    settings.model.width = 2;
    settings.model.inducing = InducingSize::decoupled(8, 5);
    settings.train.steps = 200;
    let likelihood = Box::new(ByQuadrature::new(PoissonInOneFunction));
    let training = Training::with_likelihood(&data, &settings, likelihood.clone()).unwrap();
    assert_eq!(training.rows().y(), data.y());
    let fit = training.run(|_, _| ControlFlow::Continue(())).unwrap();
    let predictor = fit.regressor.predictor(PredictSettings { samples: 5, ..Default::default() }).unwrap();
    let ends = Mat::from_vec(2, 2, vec![-0.8, 0.0, 0.8, 0.0]).unwrap();
    let prediction = predictor.moments(ends.view()).unwrap();
    assert!(prediction.y.mean[(1, 0)] > 3.0 * prediction.y.mean[(0, 0)], "{prediction:?}");
    assert!((prediction.f.mean[(1, 0)].exp() / prediction.y.mean[(1, 0)] - 1.0).abs() < 0.3, "{prediction:?}");
    let quantiles = predictor.quantiles(ends.view(), &[0.1, 0.5, 0.9]).unwrap();
    assert!(quantiles.as_slice().iter().all(|q| *q >= 0.0 && q - q.round() < 1e-9), "{quantiles:?}");
    let draws = predictor.draws_of_y(ends.view(), 20).unwrap();
    assert!(draws.iter().all(|draw| draw.as_slice().iter().all(|y| Support::Counts.holds(*y))));
    let odd = Mat::from_fn(40, 1, |i, _| data.y()[(i, 0)] + if i == 7 { 0.5 } else { 0.0 });
    let odd = Dataset::new(data.x().clone(), odd).unwrap();
    let held_out = FitSettings { validation: Some(0.3), ..settings };
    let message = Training::with_likelihood(&odd, &held_out, likelihood).unwrap_err().to_string();
    // The row is the user's, not one of those that are left when some are held out.
    assert!(message.contains("row 7") && message.contains("`poisson`") && message.contains("0, 1, 2"), "{message}");
}

/// `y ~ N(f, exp g)`: two latent functions for one target. With `p = exp(−m_g + ½ v_g)` and `r = (y − m_f)² + v_f` the expectation is
/// `−½ ln 2π − ½ m_g − ½ p r`.
#[derive(Clone, Debug)]
struct NoiseThatFollows;

impl Parameters for NoiseThatFollows {
    fn visit(&mut self, _: &mut dyn FnMut(Leaf<'_>)) {}
}

impl NoiseThatFollows {
    fn parts(y: &[f64], f: Latent<'_>) -> (f64, f64) {
        ((0.5 * f.variance[1] - f.mean[1]).exp(), (y[0] - f.mean[0]).powi(2) + f.variance[0])
    }

    fn variance(f: Latent<'_>) -> f64 {
        f.variance[0] + (f.mean[1] + 0.5 * f.variance[1]).exp()
    }
}

impl Likelihood for NoiseThatFollows {
    fn name(&self) -> String {
        "noise that follows".into()
    }

    fn clone_box(&self) -> Box<dyn Likelihood> {
        Box::new(self.clone())
    }

    fn latent_width(&self) -> usize {
        2
    }

    fn observed_width(&self) -> usize {
        1
    }

    /// Users see `f` in the target's units, and `g` as the log variance in those.
    fn latent_units(&self, targets: &Scaling) -> Scaling {
        Scaling { shift: vec![targets.shift[0], 2.0 * targets.scale[0].ln()], scale: vec![targets.scale[0], 1.0] }
    }

    fn check(&self, _: View<'_>) -> Result<()> {
        Ok(())
    }

    fn expected_log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        let (p, r) = Self::parts(y, f);
        -0.5 * std::f64::consts::TAU.ln() - 0.5 * f.mean[1] - 0.5 * p * r
    }

    fn expected_log_density_pullback(&self, y: &[f64], f: Latent<'_>, weight: f64, bars: LatentBars<'_>) {
        let (p, r) = Self::parts(y, f);
        bars.mean[0] += weight * p * (y[0] - f.mean[0]);
        bars.variance[0] -= weight * 0.5 * p;
        bars.mean[1] += weight * 0.5 * (p * r - 1.0);
        bars.variance[1] -= weight * 0.25 * p * r;
    }

    fn observed_moments(&self, f: Latent<'_>, mean: &mut [f64], variance: &mut [f64]) {
        (mean[0], variance[0]) = (f.mean[0], Self::variance(f));
    }

    fn log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        let variance = Self::variance(f);
        -0.5 * ((std::f64::consts::TAU * variance).ln() + (y[0] - f.mean[0]).powi(2) / variance)
    }

    fn cumulative(&self, _: usize, at: f64, f: Latent<'_>) -> f64 {
        // A logistic in the Gaussian's place will do here.
        1.0 / (1.0 + (-1.702 * (at - f.mean[0]) / Self::variance(f).sqrt()).exp())
    }

    fn draw(&self, f: &[f64], key: Key, counter: [u32; 4], y: &mut [f64]) {
        y[0] = f[0] + (0.5 * f[1]).exp() * key.normals(counter)[0];
    }
}

#[test]
fn a_likelihood_may_have_more_latent_functions_than_targets() {
    // Noise of 0.05 on the left and of 1 on the right, in units of a thousand.
    let key = Key::new(5, Purpose::Simulate);
    let x = Mat::from_fn(300, 1, |i, _| i as f64 / 150.0 - 1.0);
    let y = Mat::from_fn(300, 1, |i, _| {
        let noise = if i < 150 { 0.05 } else { 1.0 };
        1000.0 * (3.0 + x[(i, 0)] + noise * key.normals([i as u32, 0, 0, 0])[0])
    });
    let data = Dataset::new(x, y).unwrap();
    let mut settings = FitSettings { validation: None, ..FitSettings::plain() };
    settings.model.hidden_layers = 1;
    settings.model.width = 1;
    settings.model.inducing = InducingSize::decoupled(15, 10);
    settings.train.steps = 600;
    let training = Training::with_likelihood(&data, &settings, Box::new(NoiseThatFollows)).unwrap();
    assert_eq!(training.model().layers()[1].output_width(), 2);
    let fit = training.run(|_, _| ControlFlow::Continue(())).unwrap();
    let rows = all_rows(training.rows());
    let batch = full_batch(training.rows(), &rows[..20]);
    assert_gradient("two latents", &fit.regressor.model, batch, training_noise(1), 5e-5);
    let predictor = fit.regressor.predictor(PredictSettings::default()).unwrap();
    let ends = Mat::column(vec![-0.7, 0.7]);
    let prediction = predictor.moments(ends.view()).unwrap();
    let deviation = prediction.y.deviation();
    assert!(deviation[(0, 0)] < 200.0 && deviation[(1, 0)] > 600.0, "{deviation:?}");
    // f in the target's units, g as a log variance in them.
    assert!((prediction.f.mean[(0, 0)] / 2300.0 - 1.0).abs() < 0.05, "{prediction:?}");
    assert!((prediction.f.mean[(1, 1)] - 2.0 * 1000f64.ln()).abs() < 0.5, "{prediction:?}");
    assert_eq!((prediction.f.mean.ncols(), prediction.y.mean.ncols()), (2, 1));
    assert_eq!(predictor.draws_of_f(ends.view(), 3).unwrap()[0].ncols(), 2);
    assert_eq!(predictor.joint_draws(ends.view(), 3).unwrap().y[0].ncols(), 1);
    assert_eq!(predictor.input_gradient(ends.view()).unwrap().mean.ncols(), 2);
    let score = predictor.score(&data).unwrap();
    assert!(score.coverage_90[0] > 0.8 && score.log_likelihood > -8.0, "{score:?}");
}
