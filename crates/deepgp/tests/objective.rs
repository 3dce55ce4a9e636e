//! Proves that an objective can be added from outside the library, with a parameter of its own that belongs to no layer: it has its
//! gradient, trains, and its parameter is listed, saved and frozen like any other.

mod common;

use std::sync::Arc;

use common::*;
use deepgp::likelihood::LatentBars;
use deepgp::noise::{Key, Purpose};
use deepgp::objective::{Objective, ObjectiveForm, RowBars, RowTerm};
use deepgp::params::Constraint;
use deepgp::{
    Batch, CovarianceForm, DeepGp, Error, MeanForm, MeanFunction, Method, Noise, OptimiserForm, Result,
    SharedParameter, SharedParameters, TrainSettings, Trainer,
};

/// `Σ_s ω_s E_s − ½ θ²`, with weights `ω = softmax(θ s)` over the samples: a bound that may prefer late samples, if one likes.
#[derive(Debug)]
struct Tilted;

impl Tilted {
    fn weights(row: &RowTerm<'_>) -> Vec<f64> {
        let each: Vec<f64> = (0..row.f.len()).map(|s| (row.shared[0] * s as f64).exp()).collect();
        let total: f64 = each.iter().sum();
        each.iter().map(|w| w / total).collect()
    }

    fn expectations(row: &RowTerm<'_>) -> Vec<f64> {
        (0..row.f.len()).map(|s| row.likelihood.expected_log_density(row.y, row.f.at(s))).collect()
    }
}

impl Objective for Tilted {
    fn name(&self) -> &'static str {
        "tilted bound"
    }

    fn check(&self, model: &DeepGp) -> Result<()> {
        match model.shared().values() {
            [_] => Ok(()),
            other => Err(Error::Shape {
                what: "the tilted bound",
                expected: "one parameter that belongs to no layer".into(),
                found: other.len().to_string(),
            }),
        }
    }

    fn add(&self, row: &RowTerm<'_>, sum: &mut f64) {
        let mean: f64 = Self::weights(row).iter().zip(Self::expectations(row)).map(|(w, e)| w * e).sum();
        *sum += row.scale * row.weight * (mean - 0.5 * row.shared[0] * row.shared[0]);
    }

    fn pullback(&self, row: &RowTerm<'_>, bars: RowBars<'_>) {
        let (weights, values) = (Self::weights(row), Self::expectations(row));
        let (factor, width) = (row.scale * row.weight, row.f.width);
        let samples = bars.mean.chunks_exact_mut(width).zip(bars.variance.chunks_exact_mut(width));
        for (s, (mean, variance)) in samples.enumerate() {
            let bars = LatentBars { mean, variance, theta: &mut *bars.likelihood };
            row.likelihood.expected_log_density_pullback(row.y, row.f.at(s), factor * weights[s], bars);
        }
        let place: f64 = weights.iter().enumerate().map(|(s, w)| w * s as f64).sum();
        let slope: f64 = weights.iter().zip(values).enumerate().map(|(s, (w, e))| w * e * (s as f64 - place)).sum();
        bars.shared[0] += factor * (slope - row.shared[0]);
    }
}

fn model(tilt: f64) -> DeepGp {
    let forms = (MeanForm::Whitened, CovarianceForm::Whitened);
    let first = random_layer((2, 2), forms, false, MeanFunction::Identity, 1);
    let last = random_layer((2, 1), forms, true, MeanFunction::Zero, 2);
    let shared = SharedParameter { name: "tilt".into(), constraint: Constraint::Real, shape: vec![] };
    let model = DeepGp::new(vec![first, last], deepgp::likelihood::LikelihoodForm::GAUSSIAN.start(1)).unwrap();
    model.with_shared(SharedParameters::default().with(shared, &[tilt])).unwrap()
}

#[test]
fn its_gradient_reaches_every_parameter_its_own_too() {
    let data = random_data(12, 1);
    let rows = all_rows(&data);
    let batch = Batch { samples: 3, objective: &Tilted, ..full_batch(&data, &rows) };
    assert_gradient("tilted", &model(0.7), batch, training_noise(1), 5e-6);
    let value = model(0.7).objective(batch, training_noise(1)).unwrap();
    assert_eq!(value.objective, "tilted bound");
    let without = model(0.7).with_shared(SharedParameters::default()).unwrap();
    let message = without.objective(batch, training_noise(1)).unwrap_err().to_string();
    assert!(message.contains("one parameter that belongs to no layer"), "{message}");
}

#[test]
fn without_its_tilt_it_is_the_bound() {
    let data = random_data(12, 1);
    let rows = all_rows(&data);
    let bound = Batch { samples: 3, ..full_batch(&data, &rows) };
    let tilted = Batch { objective: &Tilted, ..bound };
    let (one, other) =
        (model(0.0).objective(bound, training_noise(1)), model(0.0).objective(tilted, training_noise(1)));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert!((one.total() - other.total()).abs() < 1e-9 * one.total().abs());
    assert_eq!((one.objective, one.kl), ("ELBO", other.kl));
}

#[test]
fn it_trains_and_its_parameter_moves_is_listed_and_can_be_frozen() {
    let data = random_data(30, 3);
    let settings = TrainSettings { steps: 40, samples: 3, ..TrainSettings::plain() };
    let method = || Method { objective: Arc::new(Tilted), optimiser: OptimiserForm::Adam.optimiser() };
    let train = |model: DeepGp| {
        let mut trainer = Trainer::by(method(), model, &data, None, settings).unwrap();
        trainer.run(|_, _| std::ops::ControlFlow::Continue(())).unwrap();
        trainer.finish()
    };
    let last = |model: &DeepGp| model.parameters().pop().unwrap();
    let moved = last(&train(model(0.7)));
    assert_eq!(moved.name, "shared.tilt");
    assert!(moved.values[0] < 0.7 && moved.values[0] > -0.7, "{:?}", moved.values);
    let mut frozen = model(0.7);
    frozen.freeze("shared").unwrap();
    assert_eq!(last(&train(frozen)).values, [0.7]);
}

#[test]
fn the_librarys_objectives_are_known_by_their_form() {
    let objective = ObjectiveForm::Elbo.objective();
    assert_eq!((objective.name(), objective.form()), ("ELBO", Some(ObjectiveForm::Elbo)));
    assert_eq!(Tilted.form(), None);
    let noise = Noise::Rows { key: Key::new(0, Purpose::Train), step: 0 };
    let data = random_data(5, 1);
    assert!(model(0.0).objective(full_batch(&data, &[0, 4]), noise).is_ok());
}
