//! Every setting and its default: of a model, of training, of both together in a fit, and of predictions.

mod density;
mod fit;
mod inducing_size;
mod kernel_choice;
mod model;
mod predict;
mod schedule;
mod train;
mod validation_score;

pub use density::{LikelihoodChoice, ObjectiveChoice};
pub use fit::FitSettings;
pub(crate) use inducing_size::ResolvedSize;
pub use inducing_size::{COVARIANCE_INDUCING, InducingSize, MEAN_INDUCING, inducing_for};
pub use kernel_choice::KernelChoice;
pub use model::ModelSettings;
pub use predict::{Draws, PredictSettings};
pub use schedule::Schedule;
pub use train::{SMALL_TABLE, TrainSettings, learning_rate_for};
pub use validation_score::ValidationScore;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::{CovarianceForm, MeanForm};
    use crate::likelihood::LikelihoodForm;

    #[test]
    fn the_defaults_are_those_of_the_design() {
        let (model, train) = (ModelSettings::default(), TrainSettings::default());
        assert_eq!((model.hidden_layers, model.width), (2, 10));
        assert_eq!(model.likelihood, LikelihoodForm::Heteroscedastic { noise: 0.5 });
        let sizes = [30, 300, 700, 1000, 1_000_000].map(inducing_for);
        assert_eq!(sizes, [(30, 30), (100, 100), (140, 100), (200, 100), (500, 200)]);
        assert_eq!((model.mean_form, model.covariance_form), (MeanForm::Whitened, CovarianceForm::Diagonal));
        assert_eq!(model.inducing, InducingSize::Nested { mean: None, covariance: None });
        assert_eq!((train.steps, train.batch_size, train.samples, train.learning_rate), (3000, 10_000, 1, None));
        let PredictSettings { samples, seed, threads, draws } = PredictSettings::default();
        assert_eq!((samples, seed, threads, draws), (32, 0, 0, Draws::Balanced));
    }
}
