//! A run of the paper's grid: which dataset, which model, how deep, which split.

use deepgp::{ConstantColumns, CovarianceForm, FitSettings, InducingSize, LikelihoodForm};
use serde::{Deserialize, Serialize};

/// The number of inducing inputs of the full model.
const FULL: usize = 200;
/// The numbers of inducing inputs of the decoupled models.
const DECOUPLED: InducingSize = InducingSize::decoupled(500, 100);
/// The same numbers, nested.
const NESTED: InducingSize = InducingSize::nested(500, 100);

/// The noise variance at the start, in units of the target's: the paper names none. `fit` starts higher, for the sake
/// of early stopping, which these runs do not have.
const NOISE: f64 = 0.05;

/// A model of the grid: the paper's two, and one beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// The full model: one set of 200 inducing inputs, whitened.
    Full,
    /// The paper's decoupled model: 500 inducing inputs for the mean (whitened), 100 for the covariance (standard).
    Decoupled,
    /// The decoupled model with a whitened covariance, which is safer to train.
    DecoupledWhitened,
    /// [`Model::DecoupledWhitened`] whose covariance's inducing inputs are the first of the mean's.
    Nested,
    /// [`Model::Nested`] with a diagonal covariance, the cheapest.
    NestedDiagonal,
}

impl Model {
    /// The model's name on the command line, in results and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Decoupled => "decoupled",
            Self::DecoupledWhitened => "decoupled-whitened",
            Self::Nested => "nested",
            Self::NestedDiagonal => "nested-diagonal",
        }
    }

    /// The model's form of the covariance.
    pub fn covariance_form(self) -> CovarianceForm {
        match self {
            Self::Decoupled => CovarianceForm::Standard,
            Self::Full | Self::DecoupledWhitened | Self::Nested => CovarianceForm::Whitened,
            Self::NestedDiagonal => CovarianceForm::Diagonal,
        }
    }

    /// The model's inducing inputs as the paper has them.
    fn inducing(self) -> InducingSize {
        match self {
            Self::Full => InducingSize::Tied(FULL),
            Self::Decoupled | Self::DecoupledWhitened => DECOUPLED,
            Self::Nested | Self::NestedDiagonal => NESTED,
        }
    }

    /// The model's inducing inputs as `deepgp fit` has them where no sizes are given: they follow the number of rows, but for the full
    /// model, which keeps the paper's.
    pub fn usual_inducing(self) -> InducingSize {
        match self {
            Self::Full => InducingSize::Tied(FULL),
            Self::Decoupled | Self::DecoupledWhitened => InducingSize::Decoupled { mean: None, covariance: None },
            Self::Nested | Self::NestedDiagonal => InducingSize::Nested { mean: None, covariance: None },
        }
    }
}

/// The names of [`Model`]'s variants on the command line.
pub const MODELS: &[&str] = &["full", "decoupled", "decoupled-whitened", "nested", "nested-diagonal"];

/// A run of the grid, told from the others by these four.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GridRun {
    /// The dataset's name, such as `kin8nm`.
    pub dataset: String,
    /// The number of layers before the last one.
    pub hidden: usize,
    /// The model to train.
    pub model: Model,
    /// The number of the split, from 0, which is the seed of everything too.
    pub split: u64,
}

impl GridRun {
    /// The paper's settings for a run on so many training rows.
    pub fn fit_settings(&self, epochs: u64, rows: usize, threads: usize) -> FitSettings {
        let mut settings = FitSettings {
            validation: None,
            // molecules has columns that do not vary.
            constant_columns: ConstantColumns::Keep,
            ..FitSettings::plain()
        };
        let (model, train) = (&mut settings.model, &mut settings.train);
        model.hidden_layers = self.hidden;
        model.likelihood = LikelihoodForm::Gaussian { noise: NOISE };
        model.seed = self.split;
        model.inducing = self.model.inducing();
        model.covariance_form = self.model.covariance_form();
        train.seed = self.split;
        train.steps = epochs * train.batches(rows) as u64;
        train.threads = threads;
        settings
    }
}

impl std::fmt::Display for GridRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { dataset, hidden, model, split } = self;
        write!(f, "{dataset}, {}, {hidden} hidden, split {split}", model.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_those_of_the_paper() {
        let run = GridRun { dataset: "protein".into(), hidden: 3, model: Model::Decoupled, split: 4 };
        let settings = run.fit_settings(5000, 36_584, 1);
        assert_eq!(settings.train.steps, 20_000);
        assert_eq!(
            (settings.train.batch_size, settings.train.learning_rate, settings.model.width),
            (10_000, Some(0.01), 10)
        );
        assert_eq!((settings.model.covariance_form, settings.model.hidden_layers), (CovarianceForm::Standard, 3));
        assert_eq!(settings.validation, None);
    }
}
