//! A kernel of one's own: Matérn 7/2, in a deep GP of two layers. The book's chapter on extending the library shows it.
//!
//! ```text
//! cargo run --release --example own_kernel
//! ```

use std::ops::ControlFlow;

use deepgp::build::{InducingPlan, LayerPlan};
use deepgp::kernel::{Profile, Stationary};
use deepgp::{
    ConstantColumns, CovarianceForm, DeepGp, FitSettings, InducingSize, InducingStart, LikelihoodForm, MeanForm,
    Precision, PredictSettings, Real, Regressor, Standardiser, Training, simulate,
};

// book: profile
/// The profile of Matérn 7/2, `g(r²) = (1 + s + 2/5 s² + 1/15 s³) exp(−s)` with `s = √7 r`.
#[derive(Clone, Copy, Debug)]
struct Matern72;

impl Profile for Matern72 {
    const NAME: &'static str = "matern-7/2";

    fn value<T: Real>(&self, r2: T) -> T {
        let s = (T::of(7.0) * r2).root();
        (T::ONE + s + T::of(2.0 / 5.0) * s * s + T::of(1.0 / 15.0) * s * s * s) * (-s).exp_decay()
    }

    /// `∂g/∂r² = −7/10 (1 + s + 1/3 s²) exp(−s)`.
    fn slope<T: Real>(&self, r2: T, _value: T) -> T {
        let s = (T::of(7.0) * r2).root();
        T::of(-7.0 / 10.0) * (T::ONE + s + T::of(1.0 / 3.0) * s * s) * (-s).exp_decay()
    }
}
// book: end

// book: slope
/// Asserts that the slope is what central differences say: a wrong one would train, but to something else.
fn check_slope() {
    for r2 in [0.01_f64, 0.3, 1.0, 4.0] {
        let differences = (Matern72.value(r2 + 1e-6) - Matern72.value(r2 - 1e-6)) / 2e-6;
        assert!((Matern72.slope(r2, Matern72.value(r2)) - differences).abs() < 1e-8);
    }
}
// book: end

fn main() -> deepgp::Result<()> {
    check_slope();
    // book: model
    let (train, test) = simulate::eight_link_arm(600, 1).split(0.2, 1)?;
    let standardiser = Standardiser::fit(&train, ConstantColumns::Reject)?;
    let x = standardiser.apply(&train)?.x().clone();
    let layer = |inputs: usize, outputs: usize| LayerPlan {
        width: outputs,
        kernel: Box::new(Stationary {
            variance: 1.0,
            lengthscales: vec![(inputs as f64).sqrt(); inputs],
            profile: Matern72,
        }),
        mean_form: MeanForm::Whitened,
        covariance_form: CovarianceForm::Diagonal,
        inducing: InducingPlan::Chosen { size: InducingSize::nested(60, 30), start: InducingStart::KMeans },
        mean_function: None,
    };
    let likelihood = LikelihoodForm::GAUSSIAN.start(1);
    let model =
        DeepGp::build(x.view(), vec![layer(8, 5), layer(5, 1)], likelihood, Precision::F64.default_jitter(), 0)?;

    let mut settings = FitSettings::plain();
    settings.train.steps = 400;
    let training = Training::of(Regressor::new(model, standardiser), &train, &settings)?;
    let fit = training.run(|_, _| ControlFlow::Continue(()))?;
    let score = fit.regressor.predictor(PredictSettings::default())?.score(&test)?;
    println!("test RMSE {:.3}, log likelihood {:.2}", score.rmse[0], score.log_likelihood);
    // book: end
    Ok(())
}
