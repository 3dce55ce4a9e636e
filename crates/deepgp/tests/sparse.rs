//! Proves that sparse inputs are detected, and change nothing but the time: objective, gradient and training are those of dense rows,
//! which a kernel inside a sum of one takes.

mod common;

use common::{all_close, all_rows, close, full_batch, training_noise, uniform};
use deepgp::build::{InducingPlan, LayerPlan};
use deepgp::kernel::{Combination, Kernel, Matern32, Matern52, RationalQuadratic, SquaredExponential};
use deepgp::likelihood::Gaussian;
use deepgp::noise::{Key, Purpose};
use deepgp::{
    ConstantColumns, CovarianceForm, Dataset, DeepGp, InducingSize, InducingStart, Jitter, Mat, MeanForm, MeanFunction,
    Precision, Standardiser, TrainSettings, Trainer,
};

const COLUMNS: usize = 40;
const DECOUPLED: InducingSize = InducingSize::decoupled(11, 6);

/// Bits of which one in twelve is set, and one dense column, standardised.
fn fingerprints(rows: usize) -> Dataset {
    let key = Key::new(3, Purpose::Simulate);
    let x = Mat::from_fn(rows, COLUMNS, |i, j| {
        let u = key.uniform([i as u32, j as u32, 0, 0]);
        if j == 7 { u } else { f64::from(u8::from(u < 1.0 / 12.0)) }
    });
    let y = Mat::from_fn(rows, 1, |i, _| x.row(i).iter().sum::<f64>().sin() + x[(i, 7)]);
    let data = Dataset::new(x, y).unwrap();
    Standardiser::fit(&data, ConstantColumns::Keep).unwrap().apply(&data).unwrap()
}

/// One hidden layer, or none; its kernel as it is, or inside a sum, which does not take sparse rows.
fn model(data: &Dataset, first: Box<dyn Kernel>, hidden: Option<(usize, MeanFunction)>, size: InducingSize) -> DeepGp {
    let plan = |width, kernel, mean_function| LayerPlan {
        width,
        kernel,
        mean_form: MeanForm::Whitened,
        covariance_form: match size {
            InducingSize::Nested { .. } => CovarianceForm::Diagonal,
            InducingSize::Tied(_) | InducingSize::Decoupled { .. } => CovarianceForm::Standard,
        },
        inducing: InducingPlan::Chosen { size, start: InducingStart::RandomRows },
        mean_function,
    };
    let plans = match hidden {
        None => vec![plan(1, first, None)],
        Some((width, mean_function)) => {
            let second = Box::new(SquaredExponential::new(1.0, vec![2.0; width]));
            vec![plan(width, first, Some(mean_function)), plan(1, second, None)]
        }
    };
    let jitter = Jitter { absolute: 1e-6, relative: 0.0 };
    let mut model = DeepGp::build(data.x().view(), plans, Box::new(Gaussian::new(0.1, 1)), jitter, 5).unwrap();
    for parameter in model.parameters() {
        if parameter.name.ends_with("mean.free") {
            let values = uniform(parameter.values.len(), 1, 8);
            model.set_parameter(&parameter.name, values.as_slice()).unwrap();
        }
    }
    model
}

fn kernels() -> Vec<Box<dyn Kernel>> {
    let scales = || (0..COLUMNS).map(|i| 3.0 + 0.1 * i as f64).collect::<Vec<_>>();
    vec![
        Box::new(SquaredExponential::new(1.3, scales())),
        Box::new(Matern32::new(0.8, scales())),
        Box::new(Matern52::new(1.1, scales())),
        Box::new(RationalQuadratic::new(0.9, scales(), 0.7)),
    ]
}

fn dense(kernel: &dyn Kernel) -> Box<dyn Kernel> {
    Box::new(Combination::sum(vec![kernel.clone_box()]).unwrap())
}

#[test]
fn sparse_rows_give_the_elbo_and_the_gradient_of_dense_ones() {
    let data = fingerprints(300);
    let rows = all_rows(&data);
    let linear = MeanFunction::principal_directions(data.x().view(), 5).unwrap();
    for kernel in kernels() {
        for size in [InducingSize::Tied(9), DECOUPLED, InducingSize::nested(11, 6)] {
            let hidden = [
                None,
                Some((5, linear.clone())),
                Some((COLUMNS, MeanFunction::Identity)),
                Some((COLUMNS + 2, MeanFunction::ZeroPadding)),
            ];
            for hidden in hidden {
                for (precision, tolerance) in [(Precision::F64, 1e-10), (Precision::Mixed, 3e-3)] {
                    let what =
                        format!("{}, {size:?}, {:?}, {precision:?}", kernel.name(), hidden.as_ref().map(|h| h.0));
                    let evaluate = |kernel: Box<dyn Kernel>| {
                        let model = model(&data, kernel, hidden.clone(), size).with_precision(precision);
                        model.objective_gradient(full_batch(&data, &rows), training_noise(1)).unwrap()
                    };
                    let (a, b) = (evaluate(kernel.clone_box()), evaluate(dense(&*kernel)));
                    close(&what, a.0.total(), b.0.total(), 0.1 * tolerance);
                    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
                    let error = norm(&mut a.1.iter().zip(&b.1).map(|(a, b)| a - b));
                    let size = norm(&mut b.1.iter().copied());
                    assert!(error <= tolerance * size, "{what}: gradients differ by {error}, of {size}");
                }
            }
        }
    }
}

#[test]
fn training_on_sparse_rows_in_minibatches_follows_training_on_dense_ones() {
    let data = fingerprints(300);
    let train = |kernel: Box<dyn Kernel>| {
        let hidden = Some((5, MeanFunction::principal_directions(data.x().view(), 5).unwrap()));
        let settings = TrainSettings { batch_size: 70, steps: 12, ..TrainSettings::plain() };
        let mut trainer = Trainer::new(model(&data, kernel, hidden, DECOUPLED), &data, None, settings).unwrap();
        for _ in 0..12 {
            trainer.step().unwrap();
        }
        trainer.finish().raw()
    };
    let kernel = &kernels()[0];
    all_close("12 steps", &train(kernel.clone_box()), &train(dense(&**kernel)), 1e-8);
}
