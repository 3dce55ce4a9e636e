//! The settings of a fit, from data to a trained model.

use super::{ModelSettings, TrainSettings};
use crate::data::{ConstantColumns, TransformChoice, TrendChoice, held_out};

/// The settings of a fit, from data to a trained model.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FitSettings {
    /// The settings of the model.
    pub model: ModelSettings,
    /// The settings of the training run.
    pub train: TrainSettings,
    /// The fraction of the rows held out for early stopping; `None` to train on all rows for all steps.
    pub validation: Option<f64>,
    /// What to do with inputs that do not vary.
    pub constant_columns: ConstantColumns,
    /// The transform of the targets before they are standardised.
    #[cfg_attr(feature = "serde", serde(default))]
    pub transform_target: TransformChoice,
    /// Whether targets follow a line in some inputs before the model sees them.
    #[cfg_attr(feature = "serde", serde(default))]
    pub trend: TrendChoice,
    /// The inputs of that line, such as what is made of dates, the one that says when a row was first; without any there is none.
    #[cfg_attr(feature = "serde", serde(default))]
    pub trend_columns: Vec<usize>,
    /// Whether the rows held out for early stopping then say how sure predictions should be: by a [`Spread`](crate::Spread) of numbers, by a
    /// [`Sharpness`](crate::Sharpness) of classes.
    #[cfg_attr(feature = "serde", serde(default))]
    pub calibrate: bool,
}

impl Default for FitSettings {
    fn default() -> Self {
        Self {
            model: ModelSettings::default(),
            train: TrainSettings::default(),
            validation: Some(0.1),
            constant_columns: ConstantColumns::Reject,
            transform_target: TransformChoice::Auto,
            trend: TrendChoice::Auto,
            trend_columns: Vec::new(),
            calibrate: true,
        }
    }
}

impl FitSettings {
    /// Settings with one Gaussian noise and the evidence lower bound, at a constant learning rate, without a transform and without calibration: the paper's way,
    /// and version 0.1's.
    pub fn plain() -> Self {
        let (transform_target, calibrate) = (TransformChoice::None, false);
        let (model, train) = (ModelSettings::plain(), TrainSettings::plain());
        Self { model, train, transform_target, trend: TrendChoice::None, calibrate, ..Self::default() }
    }

    /// The number of rows, of so many, that are left to train on when those for early stopping are held out.
    pub fn training_rows(&self, rows: usize) -> usize {
        match self.validation {
            Some(fraction) if rows >= 2 => rows - held_out(rows, fraction),
            _ => rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_rows_are_those_that_a_split_leaves() {
        let settings = FitSettings::default();
        for rows in [3, 15, 25, 100] {
            let data = crate::data::simulate::step_curve(rows, 1);
            let (train, _) = data.split(settings.validation.unwrap(), 0).unwrap();
            assert_eq!(settings.training_rows(rows), train.len(), "{rows}");
        }
        assert_eq!(FitSettings { validation: None, ..settings }.training_rows(15), 15);
    }
}
