//! Proves that an optimiser can be added from outside the library: natural-gradient steps on a standard mean's variables, which need the
//! factors that a step has prepared. Its state is saved, resumed to the same bits, and not mistaken for another optimiser's.

mod common;

use std::ops::ControlFlow;

use common::*;
use deepgp::{
    CovarianceForm, DeepGp, MeanForm, MeanFunction, Method, ObjectiveForm, Optimiser, Snapshot, StepOutcome,
    TrainSettings, Trainer, Update,
};

/// Momentum, `v ← 0.9 v + g`, `raw ← raw + rate · v`. On `mean.free` of a standard mean it takes `L Lᵀ g` for `g`: the Fisher
/// information of `m` under its prior is `K⁻¹`, so that `K g` is the natural gradient, and `K` is in the factors of the step.
#[derive(Debug)]
struct NaturalMomentum;

impl Optimiser for NaturalMomentum {
    fn name(&self) -> &'static str {
        "natural-momentum"
    }

    fn slots(&self) -> &'static [&'static str] {
        &["velocity"]
    }

    fn ascend(&self, before: &Snapshot, update: &Update<'_>, after: &mut Snapshot) {
        after.optimiser.updates = before.optimiser.updates + 1;
        after.raw.copy_from_slice(&before.raw);
        for parameter in update.parameters {
            let range = parameter.range.clone();
            let mut gradient = update.gradient[range.clone()].to_vec();
            if parameter.name == "layers.0.mean.free" {
                // With R = L⁻¹: K g = R⁻¹ R⁻ᵀ g, two triangular solves a column.
                let inverse = update.factors.mean(0).expect("a standard mean factors its kernel matrix");
                let (m, p) = (parameter.shape[0], parameter.shape[1]);
                for column in 0..p {
                    let mut v: Vec<f64> = (0..m).map(|i| gradient[i * p + column]).collect();
                    for i in (0..m).rev() {
                        v[i] = (v[i] - (i + 1..m).map(|j| inverse[(j, i)] * v[j]).sum::<f64>()) / inverse[(i, i)];
                    }
                    for i in 0..m {
                        v[i] = (v[i] - (0..i).map(|j| inverse[(i, j)] * v[j]).sum::<f64>()) / inverse[(i, i)];
                    }
                    (0..m).for_each(|i| gradient[i * p + column] = v[i]);
                }
            }
            for (i, g) in range.zip(gradient) {
                let velocity = 0.9 * before.optimiser.slots[0][i] + g;
                after.optimiser.slots[0][i] = velocity;
                if !parameter.frozen {
                    after.raw[i] += update.rate * velocity;
                }
            }
        }
    }
}

fn model() -> DeepGp {
    let forms = (MeanForm::Standard, CovarianceForm::Whitened);
    let layer = random_layer((2, 1), forms, false, MeanFunction::Zero, 1);
    let mut model = DeepGp::new(vec![layer], deepgp::likelihood::LikelihoodForm::GAUSSIAN.start(1)).unwrap();
    for part in ["layers.0.kernel", "layers.0.mean_inducing", "layers.0.covariance_inducing", "likelihood"] {
        model.freeze(part).unwrap();
    }
    model
}

#[test]
fn natural_gradients_climb_and_a_saved_state_goes_on_to_the_same_bits() {
    let data = random_data(40, 3);
    let settings = TrainSettings { steps: 60, learning_rate: Some(0.002), ..TrainSettings::plain() };
    let method = Method { objective: ObjectiveForm::Elbo.objective(), optimiser: &NaturalMomentum };
    let mut values = Vec::new();
    let mut whole = Trainer::by(method.clone(), model(), &data, None, settings).unwrap();
    whole
        .run(|report, state| {
            let StepOutcome::Taken(evaluation) = &report.outcome else { panic!("{report:?}") };
            values.push(evaluation.total());
            assert_eq!((state.now.optimiser.slots.len(), state.now.optimiser.updates), (1, report.step));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(values[59] > values[0] + 5.0, "{values:?}");

    let mut part = Trainer::by(method.clone(), model(), &data, None, settings).unwrap();
    part.run(|report, _| if report.step == 25 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }).unwrap();
    let state = part.state().clone();
    let mut rest = Trainer::resume_by(method.clone(), model(), &data, None, settings, state.clone()).unwrap();
    rest.run(|_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!(rest.state(), whole.state());
    // Adam would make nothing of it.
    let foreign = Trainer::resume(model(), &data, None, settings, state).unwrap_err().to_string();
    assert!(foreign.contains("the optimiser is adam here but natural-momentum in the state"), "{foreign}");
}
