//! Classes and counts on the device, against the CPU.

use std::ops::ControlFlow;

use deepgp::likelihood::{
    Bernoulli, Likelihood, LikelihoodForm, Link, NegativeBinomial, Ordered, Outcomes, Poisson, Softmax,
};
use deepgp::{
    CovarianceForm, Dataset, FitSettings, InducingSize, Mat, ObjectiveForm, PredictSettings, Rows, Training, simulate,
};

use super::densities::{batch, model, with_sites};
use super::{Sets, TRAIN, agrees, gpu, nearly_agrees, uniform};

const OBJECTIVES: [ObjectiveForm; 3] =
    [ObjectiveForm::Elbo, ObjectiveForm::PREDICTIVE, ObjectiveForm::Predictive { power: 0.4 }];

/// Every likelihood of classes and counts.
fn likelihoods() -> [Box<dyn Likelihood>; 7] {
    [
        Box::new(Bernoulli { link: Link::Probit, level: 0.3 }),
        Box::new(Bernoulli { link: Link::Logit, level: -0.4 }),
        Box::new(Softmax { levels: vec![0.2, -0.3] }),
        Box::new(Softmax { levels: vec![0.2, -0.3, 0.0, 1.1] }),
        Box::new(Ordered { first: -0.7, gaps: vec![0.6, 1.1] }),
        Box::new(Poisson { level: 0.7 }),
        Box::new(NegativeBinomial { level: 0.7, dispersion: 2.3 }),
    ]
}

/// The rows with targets that the likelihood has, and offsets where it takes them.
fn data_for(likelihood: &dyn Likelihood, x: Mat) -> Dataset {
    let rows = x.nrows();
    let target = |i: usize| match likelihood.outcomes() {
        Outcomes::Real => unreachable!("all of these have classes or counts"),
        Outcomes::Classes(classes) => (i * 7 % 5 % classes) as f64,
        Outcomes::Counts => [0.0, 3.0, 1.0, 40.0, 7.0, 0.0][i % 6],
    };
    let data = Dataset::new(x, Mat::from_fn(rows, 1, |i, _| target(i))).unwrap();
    if likelihood.takes_offset(0) { data.with_offsets(uniform(rows, 1, 8).into_vec()).unwrap() } else { data }
}

#[test]
fn every_objective_of_classes_and_counts_has_the_cpus_value_and_gradients() {
    let Some(gpu) = gpu("classes and counts") else { return };
    let rows: Vec<u32> = (3..57).rev().collect();
    for likelihood in likelihoods() {
        let weights = uniform(60, 1, 5).map(|v| 1.1 + v).into_vec();
        let data = data_for(&*likelihood, uniform(60, 3, 100)).with_weights(weights).unwrap();
        for objective in OBJECTIVES {
            for covariance in [CovarianceForm::Diagonal, CovarianceForm::Whitened] {
                let model = model(&*likelihood, covariance, Sets::Nested);
                let name = format!("{objective:?} {} {covariance:?}", likelihood.name());
                agrees(&format!("{name}, samples"), &model, &gpu, batch(&data, &rows, 3, objective), TRAIN());
                let with_sites = with_sites(model);
                agrees(&format!("{name}, sites"), &with_sites, &gpu, batch(&data, &rows, 1, objective), TRAIN());
            }
        }
    }
}

#[test]
fn in_mixed_precision_classes_and_counts_are_near_the_cpus_double() {
    let Some(gpu) = gpu("classes and counts in mixed precision") else { return };
    let rows: Vec<u32> = (0..200).collect();
    for likelihood in likelihoods() {
        let data = data_for(&*likelihood, uniform(200, 3, 100));
        for objective in OBJECTIVES {
            let model = model(&*likelihood, CovarianceForm::Diagonal, Sets::Nested);
            let name = format!("{objective:?} {}", likelihood.name());
            nearly_agrees(&name, &model, &gpu, batch(&data, &rows, 1, objective));
        }
    }
}

#[test]
fn trained_there_they_predict_as_the_cpu_does_with_their_parameters() {
    let Some(gpu) = gpu("predicting classes and counts") else { return };
    let forms = [
        (LikelihoodForm::PROBIT, 2.0, false),
        (LikelihoodForm::SOFTMAX, 4.0, false),
        (LikelihoodForm::Poisson, 9.0, true),
        (LikelihoodForm::NEGATIVE_BINOMIAL, 9.0, true),
    ];
    for (form, levels, counts) in forms {
        let arm = simulate::eight_link_arm(400, 2);
        let y = arm.y().map(|v: f64| ((0.5 + 0.4 * v.tanh()) * levels).floor());
        let mut data = Dataset::new(arm.x().clone(), y).unwrap();
        if counts {
            data = data.with_offsets(uniform(400, 1, 9).into_vec()).unwrap();
        }
        let mut settings = FitSettings::default();
        settings.model.likelihood = form;
        (settings.model.hidden_layers, settings.model.width) = (1, 3);
        settings.model.inducing = InducingSize::nested(30, 15);
        settings.train.steps = 40;
        let mut training = Training::new(&data, &settings).unwrap();
        *training.model_mut() = training.model().clone().computed_on(Some(gpu.clone()));
        let there = training.run(|_, _| ControlFlow::Continue(())).unwrap().regressor;
        let mut here = there.clone();
        here.model = here.model.computed_on(None);
        let predict = PredictSettings { samples: 10, ..PredictSettings::default() };
        let rows = Rows { x: data.x().view(), offsets: data.offsets() };
        let (a, b) = (there.predictor(predict).unwrap(), here.predictor(predict).unwrap());
        let (p, q) = match counts {
            true => (a.moments(rows).unwrap().y.mean, b.moments(rows).unwrap().y.mean),
            false => (a.class_probabilities(rows).unwrap(), b.class_probabilities(rows).unwrap()),
        };
        for (a, b) in p.as_slice().iter().zip(q.as_slice()) {
            assert!((a - b).abs() < 1e-7 * b.abs().max(1e-3), "{form:?}: {a} {b}");
        }
    }
}
