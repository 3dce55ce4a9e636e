//! Proves that the gradient of the whole ELBO in every parameter is its slope, by central differences: in every form and depth, with
//! several samples, outputs, weights and blocks; and so are the slopes of predictions in the inputs.

mod common;

use common::*;
use deepgp::kernel::{Combination, Matern32, RationalQuadratic};
use deepgp::likelihood::Gaussian;
use deepgp::{Batch, CovarianceForm, DeepGp, Jitter, Mat, MeanForm, MeanFunction, Precision};

/// A batch of 5 rows that stands for 8, so that the factor on the data term is tested too.
fn check_depth(hidden: usize) {
    let data = random_data(7, 50);
    for mean in MEAN_FORMS {
        for covariance in COVARIANCE_FORMS {
            for sets in SETS {
                let model = random_model(hidden, (mean, covariance), sets, 3);
                let batch = Batch { num_data: 8, ..Batch::of(&data, &[6, 0, 3, 2, 5]) };
                let what = format!("{mean:?}, {covariance:?}, {sets:?}, {hidden} hidden");
                assert_gradient(&what, &model, batch, training_noise(1), 2e-6);
            }
        }
    }
}

#[test]
fn every_form_without_hidden_layers() {
    check_depth(0);
}

#[test]
fn every_form_with_one_hidden_layer() {
    check_depth(1);
}

#[test]
fn every_form_with_two_hidden_layers() {
    check_depth(2);
}

#[test]
fn every_form_with_three_hidden_layers() {
    check_depth(3);
}

#[test]
fn several_samples_row_weights_and_a_lighter_kl() {
    let data = random_data(6, 60).with_weights(vec![1.0, 0.5, 2.0, 0.0, 1.5, 1.0]).unwrap();
    let rows = all_rows(&data);
    let model = random_model(2, (MeanForm::Whitened, CovarianceForm::Standard), false, 5);
    let batch = Batch { samples: 3, kl_weight: 0.4, ..full_batch(&data, &rows) };
    assert_gradient("3 samples", &model, batch, training_noise(2), 2e-6);
}

#[test]
fn several_outputs_mixed_layers_and_combined_kernels() {
    let data = deepgp::Dataset::new(uniform(6, 2, 1), uniform(6, 2, 2)).unwrap();
    let rows = all_rows(&data);
    let mut first =
        random_layer((2, 3), (MeanForm::Standard, CovarianceForm::Dual), false, MeanFunction::ZeroPadding, 1);
    first.kernel = Box::new(
        Combination::sum(vec![
            Box::new(Matern32::new(0.5, vec![0.8, 1.1])),
            Box::new(RationalQuadratic::new(0.7, vec![1.3, 0.9], 0.8)),
        ])
        .unwrap(),
    );
    let middle = random_layer((3, 3), (MeanForm::Dual, CovarianceForm::Whitened), true, MeanFunction::Identity, 2);
    let last = random_layer((3, 2), (MeanForm::Whitened, CovarianceForm::Standard), false, MeanFunction::Zero, 3);
    let model = DeepGp::new(vec![first, middle, last], Box::new(Gaussian { noise: vec![0.2, 0.5] })).unwrap();
    assert_gradient("mixed", &model, full_batch(&data, &rows), training_noise(3), 2e-6);
}

#[test]
fn a_jitter_relative_to_the_kernel_has_its_gradient() {
    let data = random_data(6, 70);
    let rows = all_rows(&data);
    let jitter = Jitter { absolute: 1e-3, relative: 0.05 };
    for covariance in COVARIANCE_FORMS {
        for sets in SETS {
            let model = random_model(1, (MeanForm::Whitened, covariance), sets, 8).with_jitter(jitter).unwrap();
            assert_gradient("relative jitter", &model, full_batch(&data, &rows), training_noise(4), 2e-6);
        }
    }
}

/// A batch of many blocks, so that sums over blocks and accumulators are tested; one direction in place of every entry.
#[test]
fn many_blocks_add_up() {
    let data = random_data(5000, 80);
    let rows = all_rows(&data);
    let batch = full_batch(&data, &rows);
    for (covariance, sets) in [(CovarianceForm::Standard, Sets::Decoupled), (CovarianceForm::Diagonal, Sets::Nested)] {
        many_blocks(&random_model(1, (MeanForm::Whitened, covariance), sets, 9), batch);
    }
}

fn many_blocks(model: &DeepGp, batch: Batch<'_>) {
    let (_, gradient) = model.objective_gradient(batch, training_noise(5)).unwrap();
    let direction = uniform(1, gradient.len(), 10);
    let moved = |by: f64| {
        let mut copy = model.clone();
        for p in model.parameters() {
            let values: Vec<f64> = p
                .values
                .iter()
                .zip(&direction.as_slice()[p.range.clone()])
                .enumerate()
                .map(|(i, (v, d))| if p.constraint.is_free(i) { v + by * d } else { *v })
                .collect();
            copy.set_parameter(&p.name, &values).unwrap();
        }
        copy.objective(batch, training_noise(5)).unwrap().total()
    };
    let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
    let found: f64 = gradient.iter().zip(direction.as_slice()).map(|(g, d)| g * d).sum();
    assert!((slope - found).abs() < 1e-5 * found.abs(), "{slope} {found}");
}

#[test]
fn predictions_have_their_slopes_in_the_inputs() {
    let forms = [(CovarianceForm::Whitened, Sets::Decoupled), (CovarianceForm::Diagonal, Sets::Nested)];
    let each = forms.into_iter().flat_map(|form| [(form, Precision::F64), (form, Precision::Mixed)]);
    for ((covariance, sets), precision) in each {
        let model = random_model(2, (MeanForm::Whitened, covariance), sets, 4).with_precision(precision);
        let predictor = model.predictor(deepgp::PredictSettings { samples: 7, ..Default::default() }).unwrap();
        let x = uniform(4, 2, 5);
        let slopes = predictor.input_gradient(x.view()).unwrap();
        // In `mixed` the differences themselves are rough.
        let (step, tolerance) = if precision == Precision::F64 { (1e-5, 1e-7) } else { (1e-2, 2e-3) };
        for i in 0..4 {
            for d in 0..2 {
                let at = |by: f64| {
                    let mut moved = x.clone();
                    moved[(i, d)] += by;
                    predictor.moments(moved.view()).unwrap().f
                };
                let (up, down) = (at(step), at(-step));
                let slope = |m: fn(&deepgp::Moments) -> &Mat| (m(&up)[(i, 0)] - m(&down)[(i, 0)]) / (2.0 * step);
                close("mean", slopes.mean[(i, d)], slope(|m| &m.mean), tolerance);
                close("variance", slopes.variance[(i, d)], slope(|m| &m.variance), tolerance);
            }
        }
    }
}
