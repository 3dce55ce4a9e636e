//! Objectives, likelihoods and learned sites on the device, against the CPU.

use std::ops::ControlFlow;

use deepgp::backend::Backend;
use deepgp::likelihood::{Gaussian, Heteroscedastic, Likelihood, LikelihoodForm, StudentT};
use deepgp::{
    Batch, CovarianceForm, Dataset, DeepGp, FitSettings, InducingSize, Mat, MeanForm, ObjectiveForm, PredictSettings,
    Sites, StepOutcome, TrainSettings, Trainer, Training, simulate,
};

use super::{Arc, Make, SETS, Sets, TRAIN, agrees, data, gpu, nearly_agrees, uniform, whole};

const OUTPUTS: usize = 2;

/// Every likelihood, each with outputs whose parameters differ.
fn likelihoods() -> [Box<dyn Likelihood>; 3] {
    let mut noise = Heteroscedastic::new(0.3, OUTPUTS);
    noise.noise[1] = 1.2;
    let mut tails = StudentT::new(0.3, 3.0, OUTPUTS);
    (tails.noise[1], tails.degrees[1]) = (0.8, 30.0);
    [Box::new(Gaussian { noise: vec![0.3, 1.2] }), Box::new(noise), Box::new(tails)]
}

/// Every likelihood with every objective that it can be trained by.
fn pairs() -> Vec<(Box<dyn Likelihood>, ObjectiveForm)> {
    let all = [ObjectiveForm::Elbo, ObjectiveForm::PREDICTIVE, ObjectiveForm::Predictive { power: 0.4 }];
    let pairs = likelihoods().into_iter().flat_map(|likelihood| all.map(|objective| (likelihood.clone(), objective)));
    let [gaussian, followed, _] = likelihoods();
    pairs
        .chain([
            (gaussian, ObjectiveForm::Tighter),
            (followed, ObjectiveForm::Faithful { power: 0.7, hold: 1.0, release: 1.0 }),
        ])
        .collect()
}

/// Layers of two hidden widths, the last as wide as the likelihood asks.
pub fn model(likelihood: &dyn Likelihood, covariance: CovarianceForm, sets: Sets) -> DeepGp {
    let make = Make { sets, forms: (MeanForm::Whitened, covariance), ..Make::new(20, 12) };
    make.model_under(likelihood.clone_box(), &[3, 5, 4, likelihood.latent_width()])
}

/// The model with four sites that do not weigh alike.
pub fn with_sites(model: DeepGp) -> DeepGp {
    let widths = model.layers()[..model.layers().len() - 1].iter().map(|layer| layer.output_width());
    let points = widths.enumerate().map(|(l, width)| uniform(4, width, 60 + l as u64).map(|u| 2.0 * u)).collect();
    model.with_sites(Some(Sites::new(points, vec![0.3, -0.4, 0.9, 0.0]).unwrap())).unwrap()
}

pub fn batch(data: &Dataset, rows: &[u32], samples: usize, objective: ObjectiveForm) -> Batch<'static> {
    // Test data lives as long as the program.
    Batch { objective: &**Box::leak(Box::new(objective.objective())), ..whole(data, rows, samples) }
}

#[test]
fn every_objective_of_every_likelihood_has_the_cpus_value_and_gradients() {
    let Some(gpu) = gpu("every objective") else { return };
    let weights = uniform(60, 1, 5).map(|v| 1.1 + v).into_vec();
    let data = data(60, 3, OUTPUTS).with_weights(weights).unwrap();
    let rows: Vec<u32> = (3..57).rev().collect();
    for (likelihood, objective) in pairs() {
        for covariance in [CovarianceForm::Diagonal, CovarianceForm::Whitened] {
            for sets in SETS {
                let model = model(&*likelihood, covariance, sets);
                let name = format!("{objective:?} {} {covariance:?} {sets:?}", likelihood.name());
                for samples in [1, 3] {
                    let batch = batch(&data, &rows, samples, objective);
                    agrees(&format!("{name}, {samples} samples"), &model, &gpu, batch, TRAIN());
                }
                let batch = batch(&data, &rows, 1, objective);
                agrees(&format!("{name}, sites"), &with_sites(model), &gpu, batch, TRAIN());
            }
        }
    }
}

#[test]
fn a_single_layer_and_the_standard_form_do_too() {
    let Some(gpu) = gpu("a single layer") else { return };
    let (data, rows): (Dataset, Vec<u32>) = (data(40, 3, OUTPUTS), (0..40).collect());
    for (likelihood, objective) in pairs() {
        for widths in [vec![3, likelihood.latent_width()], vec![3, 4, likelihood.latent_width()]] {
            let model = Make::new(20, 12).model_under(likelihood.clone_box(), &widths);
            let name = format!("{objective:?} {} widths {widths:?}", likelihood.name());
            agrees(&name, &model, &gpu, batch(&data, &rows, 2, objective), TRAIN());
        }
    }
}

#[test]
fn in_mixed_precision_they_are_near_the_cpus_double() {
    let Some(gpu) = gpu("every objective in mixed precision") else { return };
    let (data, rows): (Dataset, Vec<u32>) = (data(200, 3, OUTPUTS), (0..200).collect());
    for (likelihood, objective) in pairs() {
        for covariance in [CovarianceForm::Diagonal, CovarianceForm::Whitened] {
            let model = model(&*likelihood, covariance, Sets::Nested);
            let name = format!("{objective:?} {} {covariance:?}", likelihood.name());
            nearly_agrees(&name, &model, &gpu, batch(&data, &rows, 1, objective));
            nearly_agrees(&format!("{name}, sites"), &with_sites(model), &gpu, batch(&data, &rows, 1, objective));
        }
    }
}

/// A few rows, and settings of a small model of this likelihood, with sites or without.
fn small(likelihood: LikelihoodForm, objective: ObjectiveForm, sites: Option<usize>) -> (Dataset, FitSettings) {
    let mut settings = FitSettings::plain();
    settings.model.hidden_layers = 2;
    settings.model.width = 3;
    settings.model.inducing = InducingSize::nested(30, 15);
    (settings.model.likelihood, settings.model.sites) = (likelihood, sites);
    (settings.train.steps, settings.train.objective) = (40, Some(objective));
    (simulate::eight_link_arm(400, 2), settings)
}

const KINDS: [(LikelihoodForm, ObjectiveForm, Option<usize>); 4] = [
    (LikelihoodForm::Heteroscedastic { noise: 0.5 }, ObjectiveForm::PREDICTIVE, None),
    (LikelihoodForm::Heteroscedastic { noise: 0.5 }, ObjectiveForm::PREDICTIVE, Some(4)),
    (LikelihoodForm::StudentT { noise: 0.5, degrees: 5.0 }, ObjectiveForm::Elbo, Some(3)),
    (LikelihoodForm::Gaussian { noise: 0.5 }, ObjectiveForm::Tighter, None),
];

#[test]
fn training_goes_the_cpus_way_and_twice_to_the_same_bits() {
    let Some(gpu) = gpu("training with sites") else { return };
    for (likelihood, objective, sites) in KINDS {
        let (data, settings) = small(likelihood, objective, sites);
        let settings_of = TrainSettings { batch_size: 150, samples: 2, ..settings.train };
        let train = |backend: Option<Arc<dyn Backend>>| {
            let model = DeepGp::for_regression(data.x().view(), 1, &settings.model).unwrap();
            let mut trainer = Trainer::new(model.computed_on(backend), &data, None, settings_of).unwrap();
            let mut values = Vec::new();
            trainer
                .run(|report, _| {
                    if let StepOutcome::Taken(found) = &report.outcome {
                        values.push(found.total());
                    }
                    ControlFlow::Continue(())
                })
                .unwrap();
            (values, trainer.state().now.raw.clone())
        };
        let ((ours, raw), (theirs, found)) = (train(None), train(Some(gpu.clone())));
        assert_eq!((ours.len(), theirs.len()), (40, 40));
        for (step, (a, b)) in ours.iter().zip(&theirs).enumerate() {
            assert!((a - b).abs() < 1e-5 * a.abs(), "step {step}: {a} and {b}");
        }
        let far = raw.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("{likelihood:?} {objective:?} {sites:?}: parameters differ by {far:.1e}");
        assert!(far < 1e-3, "{far}");
        assert_eq!(train(Some(gpu.clone())), (theirs, found), "a second run has other bits");
    }
}

#[test]
fn sites_predict_as_the_cpu_does_with_their_parameters() {
    let Some(gpu) = gpu("predicting with sites") else { return };
    for (likelihood, objective, sites) in KINDS {
        let (data, settings) = small(likelihood, objective, sites);
        let mut training = Training::new(&data, &settings).unwrap();
        *training.model_mut() = training.model().clone().computed_on(Some(gpu.clone()));
        let there = training.run(|_, _| ControlFlow::Continue(())).unwrap().regressor;
        let mut here = there.clone();
        here.model = here.model.computed_on(None);
        let predict = PredictSettings { samples: 10, ..PredictSettings::default() };
        let (x, near) = (data.x().view(), |a: &Mat, b: &Mat| {
            for (a, b) in a.as_slice().iter().zip(b.as_slice()) {
                assert!((a - b).abs() < 1e-7 * b.abs().max(1e-3), "{likelihood:?} {sites:?}: {a} {b}");
            }
        });
        let (a, b) = (there.predictor(predict).unwrap(), here.predictor(predict).unwrap());
        let (p, q) = (a.moments(x).unwrap(), b.moments(x).unwrap());
        near(&p.y.mean, &q.y.mean);
        near(&p.y.variance, &q.y.variance);
        near(&p.f.variance, &q.f.variance);
        // A row's bits do not depend on the others.
        let one = a.moments(x.rows(7..8)).unwrap();
        assert_eq!(one.y.mean[(0, 0)], p.y.mean[(7, 0)]);
    }
}
