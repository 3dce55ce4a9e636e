//! Settings of the library from a fit's options.

use deepgp::{
    ConstantColumns, FitSettings, InducingSize, LikelihoodChoice, LikelihoodForm, ModelSettings, ObjectiveChoice,
    Schedule, Sites, TrainSettings, TransformChoice,
};
use deepgp_io::table::{ConstantInputs, Header, Missing, ReadOptions, RowColumns, Source, Wanted};

use super::{FitOptions, RateSchedule};
use crate::arguments::TableLimitOptions;

impl FitOptions {
    /// How missing values are treated.
    pub fn missing(&self) -> Missing {
        self.missing.unwrap_or(Missing::Indicator)
    }

    /// What is done with input columns that have one value in the whole table.
    pub fn constant(&self) -> ConstantInputs {
        self.constant.unwrap_or_default()
    }

    /// How targets are transformed.
    pub fn transform_target(&self) -> TransformChoice {
        self.transform_target.unwrap_or(FitSettings::default().transform_target)
    }

    /// Whether the first line of a text names the columns.
    pub fn header(&self) -> Header {
        self.header.unwrap_or_default()
    }

    /// How the table is read.
    pub fn read_options(&self) -> ReadOptions {
        let Self { max_columns, max_cell, max_expansion, .. } = *self;
        let limits = TableLimitOptions { max_columns, max_cell, max_expansion };
        ReadOptions { header: self.header(), limits: limits.limits() }
    }

    /// What the fit wants of the table: targets, columns that are no inputs, categorical ones, missing values.
    pub fn wanted(&self, table: &Source) -> Wanted {
        Wanted {
            targets: table.named(&self.target),
            ignore: table.named(&self.ignore),
            categorical: table.named(&self.categorical),
            keep: table.named(&self.keep_column),
            na: (!self.na.is_empty()).then(|| self.na.clone()),
            dates: self.dates.unwrap_or_default(),
            missing: self.missing(),
            task: self.task(),
            exposure: self.exposure.clone(),
            row_columns: RowColumns { group: self.group.clone(), weights: self.weights.clone() },
        }
    }

    /// The settings of the fit for so many rows, those for early stopping included.
    pub fn settings(&self, rows: usize) -> FitSettings {
        let validation = match self.validation {
            None => FitSettings::default().validation,
            Some(0.0) => None,
            share => share,
        };
        let rows = FitSettings { validation, ..FitSettings::default() }.training_rows(rows);
        let model = ModelSettings::default();
        let seed = self.seed.unwrap_or(0);
        let train = TrainSettings::default();
        let batch_size = self.batch_size.unwrap_or(train.batch_size);
        let passes = |epochs: u64| epochs.saturating_mul(TrainSettings { batch_size, ..train }.batches(rows) as u64);
        FitSettings {
            model: ModelSettings {
                hidden_layers: self.hidden_layers.unwrap_or(model.hidden_layers),
                width: self.width.unwrap_or(model.width),
                inducing: self.inducing_size(),
                mean_form: self.mean_form.unwrap_or(model.mean_form),
                covariance_form: self.covariance_form.unwrap_or(model.covariance_form),
                kernel: self.kernel.unwrap_or(model.kernel),
                likelihood: self.likelihood(),
                sites: match self.objective() {
                    ObjectiveChoice::Sites => Some(self.sites.or(model.sites).unwrap_or(Sites::USUAL)),
                    ObjectiveChoice::Auto
                    | ObjectiveChoice::Elbo
                    | ObjectiveChoice::Tighter
                    | ObjectiveChoice::Predictive
                    | ObjectiveChoice::Faithful => None,
                },
                precision: self.precision.unwrap_or(model.precision),
                seed,
                ..model
            },
            train: TrainSettings {
                steps: self.steps.or(self.epochs.map(passes)).unwrap_or(train.steps),
                batch_size,
                samples: self.samples.unwrap_or(train.samples),
                learning_rate: self.learning_rate.or(train.learning_rate),
                schedule: match self.schedule {
                    None => train.schedule,
                    Some(RateSchedule::Cosine) => Schedule::COSINE,
                    Some(RateSchedule::Constant) => Schedule::Constant,
                },
                objective: self.objective().form(self.power),
                kl_weight: self.kl_weight.unwrap_or(train.kl_weight),
                validation_score: self.validation_score.unwrap_or(train.validation_score),
                patience: self.patience.unwrap_or(train.patience),
                seed,
                threads: self.threads.unwrap_or(train.threads),
                ..train
            },
            validation,
            // A column that varies in the table may well not in a part of it.
            constant_columns: ConstantColumns::Keep,
            transform_target: self.transform_target(),
            trend: self.trend.unwrap_or(FitSettings::default().trend),
            trend_columns: Vec::new(),
            calibrate: self.calibrate.unwrap_or(FitSettings::default().calibrate),
        }
    }

    /// How observations arise, and where that starts.
    fn likelihood(&self) -> LikelihoodForm {
        let chosen = self.likelihood.map_or_else(LikelihoodForm::default, LikelihoodChoice::form);
        self.noise.and_then(|noise| chosen.with_noise(noise)).unwrap_or(chosen)
    }

    /// What training maximises.
    pub(super) fn objective(&self) -> ObjectiveChoice {
        let (usual, sites) = (TrainSettings::default().objective, ModelSettings::default().sites);
        self.objective.unwrap_or(ObjectiveChoice::of(usual, sites))
    }

    /// The numbers of inducing inputs; those that were not given are left to the library.
    fn inducing_size(&self) -> InducingSize {
        let (mean, covariance) = (self.mean_inducing, self.covariance_inducing);
        match self.inducing {
            Some(m) => InducingSize::Tied(m),
            None if self.nested() => InducingSize::Nested { mean, covariance },
            None => InducingSize::Decoupled { mean, covariance },
        }
    }

    /// Whether the covariance's inducing inputs are the head of the mean's.
    pub(super) fn nested(&self) -> bool {
        self.nested.unwrap_or(matches!(InducingSize::default(), InducingSize::Nested { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_are_passes_over_the_training_rows() {
        let options = FitOptions { epochs: Some(3), batch_size: Some(40), ..FitOptions::default() };
        let options = FitOptions { validation: Some(0.0), ..options };
        assert_eq!(options.settings(100).train.steps, 9);
        assert_eq!(FitOptions::default().settings(100).train.steps, 3000);
        let endless = FitOptions { epochs: Some(u64::MAX), batch_size: Some(7), ..FitOptions::default() };
        assert_eq!(endless.settings(100).train.steps, u64::MAX);
    }
}
