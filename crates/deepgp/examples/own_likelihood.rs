//! A likelihood of one's own: logistic noise, whose tails are heavier than a Gaussian's. The book's chapter on extending the library shows it.
//!
//! ```text
//! cargo run --release --example own_likelihood
//! ```

use std::ops::ControlFlow;

use deepgp::likelihood::{ByQuadrature, Likelihood, Pointwise};
use deepgp::noise::{Key, Purpose};
use deepgp::params::{Constraint, Leaf, Parameters};
use deepgp::{Dataset, FitSettings, InducingSize, LikelihoodForm, Mat, PredictSettings, Training};

// book: likelihood
/// `p(y | f) = exp(−z) / s (1 + exp(−z))²` with `z = (y − f) / s`; the scale `s` is trained.
#[derive(Clone, Debug)]
struct Logistic {
    scale: f64,
}

impl Parameters for Logistic {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        let (constraint, values) = (Constraint::Positive { floor: 1e-4 }, std::slice::from_mut(&mut self.scale));
        leaf(Leaf { name: "scale", constraint, shape: &[], values });
    }
}

impl Pointwise for Logistic {
    fn name(&self) -> String {
        "logistic".into()
    }

    /// `∂/∂f = tanh(z/2) / s` and `∂/∂s = (z tanh(z/2) − 1) / s`.
    fn log_density(&self, y: f64, f: f64, theta: &mut [f64]) -> (f64, f64) {
        let z = (y - f) / self.scale;
        let slope = (0.5 * z).tanh();
        theta[0] = (z * slope - 1.0) / self.scale;
        (-z.abs() - self.scale.ln() - 2.0 * (-z.abs()).exp().ln_1p(), slope / self.scale)
    }

    /// A formula spares an integral over `y`.
    fn moments(&self, f: f64) -> Option<(f64, f64)> {
        Some((f, (std::f64::consts::PI * self.scale).powi(2) / 3.0))
    }

    /// A formula spares an integral over `y`.
    fn cumulative(&self, y: f64, f: f64) -> Option<f64> {
        Some(1.0 / (1.0 + (-(y - f) / self.scale).exp()))
    }
}
// book: end

// book: rows
/// A sine in noise whose every twentieth row is far off.
fn rows(count: usize, seed: u64) -> deepgp::Result<Dataset> {
    let key = Key::new(seed, Purpose::Simulate);
    let x = Mat::from_fn(count, 1, |i, _| 6.0 * key.uniform([i as u32, 0, 0, 0]));
    let y = Mat::from_fn(count, 1, |i, _| {
        let noise = if i % 20 == 0 { 1.5 } else { 0.1 };
        x[(i, 0)].sin() + noise * key.normals([i as u32, 1, 0, 0])[0]
    });
    Dataset::new(x, y)
}
// book: end

fn main() -> deepgp::Result<()> {
    // book: fit
    let (train, test) = (rows(300, 1)?, rows(1000, 2)?);
    let mut settings = FitSettings::plain();
    settings.model.hidden_layers = 1;
    settings.model.width = 2;
    settings.model.inducing = InducingSize::nested(30, 20);
    settings.train.steps = 400;
    let logistic: Box<dyn Likelihood> = Box::new(ByQuadrature::new(Logistic { scale: 0.3 }));
    for likelihood in [LikelihoodForm::GAUSSIAN.start(1), logistic] {
        let name = likelihood.name();
        let training = Training::with_likelihood(&train, &settings, likelihood)?;
        let fit = training.run(|_, _| ControlFlow::Continue(()))?;
        let predictor = fit.regressor.predictor(PredictSettings { samples: 20, ..PredictSettings::default() })?;
        let densities = predictor.log_density(test.x().view(), test.y().view())?;
        println!("{name}: log likelihood {:.2}", densities.iter().sum::<f64>() / densities.len() as f64);
    }
    // book: end
    Ok(())
}
