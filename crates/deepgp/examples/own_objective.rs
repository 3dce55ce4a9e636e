//! An objective of one's own: between the evidence lower bound and the log density of rows. The book's chapter on extending the library
//! shows it.
//!
//! ```text
//! cargo run --release --example own_objective
//! ```

use std::ops::ControlFlow;
use std::sync::Arc;

use deepgp::likelihood::LatentBars;
use deepgp::objective::{Objective, ObjectiveForm, RowBars, RowTerm};
use deepgp::{FitSettings, InducingSize, Method, OptimiserForm, PredictSettings, Training, simulate};

// book: objective
/// A row's term is `log 1/S Σ_s exp E_s` with `E_s = E_{q(f | h_s)} log p(y | f)`: at least the bound's `1/S Σ_s E_s`, as the logarithm
/// is concave, and for one sample the same. Samples that explain a row well count for more of its gradient: `ω = softmax(E)`.
#[derive(Debug)]
struct BestSamples;

impl BestSamples {
    /// The term, and the weights `ω` of the samples.
    fn term(row: &RowTerm<'_>) -> (f64, Vec<f64>) {
        let each = (0..row.f.len()).map(|s| row.likelihood.expected_log_density(row.y, row.f.at(s)));
        let each: Vec<f64> = each.collect();
        let most = each.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = each.iter().map(|e| (e - most).exp()).sum();
        let weights = each.iter().map(|e| (e - most).exp() / total).collect();
        (most + (total / each.len() as f64).ln(), weights)
    }
}

impl Objective for BestSamples {
    fn name(&self) -> &'static str {
        "best samples"
    }

    fn add(&self, row: &RowTerm<'_>, sum: &mut f64) {
        *sum += row.scale * row.weight * Self::term(row).0;
    }

    fn pullback(&self, row: &RowTerm<'_>, bars: RowBars<'_>) {
        let width = row.f.width;
        let samples = bars.mean.chunks_exact_mut(width).zip(bars.variance.chunks_exact_mut(width));
        for ((s, weight), (mean, variance)) in Self::term(row).1.into_iter().enumerate().zip(samples) {
            let bars = LatentBars { mean, variance, theta: &mut *bars.likelihood };
            let weight = row.scale * row.weight * weight;
            row.likelihood.expected_log_density_pullback(row.y, row.f.at(s), weight, bars);
        }
    }
}
// book: end

fn main() -> deepgp::Result<()> {
    // book: fit
    let (train, test) = (simulate::step_curve(150, 1), simulate::step_curve(1000, 2));
    let mut settings = FitSettings::plain();
    settings.model.hidden_layers = 2;
    settings.model.width = 2;
    settings.model.inducing = InducingSize::nested(30, 20);
    settings.train.steps = 800;
    settings.train.samples = 3;
    let training = Training::new(&train, &settings)?;
    for objective in [ObjectiveForm::Elbo.objective(), Arc::new(BestSamples)] {
        let name = objective.name();
        let method = Method { objective, optimiser: OptimiserForm::Adam.optimiser() };
        let fit = training.run_by(method, |_, _| ControlFlow::Continue(()))?;
        let score = fit.regressor.predictor(PredictSettings::default())?.score(&test)?;
        println!("{name}: test log likelihood {:.2}", score.log_likelihood);
    }
    // book: end
    Ok(())
}
