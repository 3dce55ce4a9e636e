//! Fits that have learnt nothing: how they are recognised where there are no test rows.

use deepgp::likelihood::Outcomes;
use deepgp::{ClassScore, CountScore, Dataset, PredictSettings, Result, Score, TrainSettings, Training, baseline};
use deepgp_io::{ModelFile, Note};

use crate::model::score::ENOUGH_ROWS;
use crate::model::units::{self, Judge};

/// Remarks on a model that came of this training: that it is no better than the mean and the spread of the targets, by
/// the validation rows, or by the training rows where there are no others.
pub fn remarks(file: &ModelFile, training: &Training) -> Result<Vec<Note>> {
    match training.held_out().filter(|_| !file.history.validation().is_empty()) {
        Some(held_out) => Ok(by_validation_rows(file, training, held_out)?.into_iter().collect()),
        None => by_training_rows(file, training),
    }
}

/// The mean log density of `rows`, in the targets' units, if each is predicted with the mean and the spread of the training rows, or with the
/// shares of their classes.
fn of_the_mean(training: &Training, rows: &Dataset) -> Result<f64> {
    let (train, y) = (training.rows(), rows.y().view());
    match training.model().likelihood().outcomes() {
        Outcomes::Real => {
            let score = Score::weighted(y, &baseline::mean(train, rows)?, rows.weights());
            Ok(score.log_likelihood - training.standardiser().log_volume_of(rows))
        }
        Outcomes::Classes(classes) => {
            let shares = baseline::shares(train, classes, rows.len())?;
            Ok(-ClassScore::new(y, &shares, rows.weights())?.log_loss)
        }
        Outcomes::Counts => Ok(CountScore::new(y, &baseline::mean_count(train, rows)?, rows.weights())?.log_score),
    }
}

/// The mean log density of `rows`, which are in the model's units, in the targets' units.
fn log_likelihood(file: &ModelFile, rows: &Dataset) -> Result<f64> {
    let TrainSettings { validation_samples: samples, seed, threads, .. } = file.record.settings.train;
    let predictor =
        file.regressor.model.predictor(PredictSettings { samples, seed, threads, ..PredictSettings::default() })?;
    let each = predictor.log_density(rows.x().view(), rows.y().view())?;
    Ok(each.iter().sum::<f64>() / each.len() as f64 - file.regressor.standardiser.log_volume_of(rows))
}

/// A remark if the model is no better on the validation rows than the mean of the training rows.
fn by_validation_rows(file: &ModelFile, training: &Training, held_out: &Dataset) -> Result<Option<Note>> {
    if held_out.len() < ENOUGH_ROWS {
        return Ok(None);
    }
    let mean = of_the_mean(training, held_out)?;
    let kept = || units::kept(file).map(|(_, score)| score);
    let model = match units::judge(file) {
        Judge::LogDensity => kept().unwrap_or(f64::NEG_INFINITY),
        Judge::LogLoss => kept().map_or(f64::NEG_INFINITY, |loss| -loss),
        Judge::Crps => log_likelihood(file, held_out)?,
    };
    let rows = held_out.len();
    let note = match training.model().likelihood().outcomes() {
        Outcomes::Classes(_) => Note::NoBetterThanShares { rows, model: (-model).into(), shares: (-mean).into() },
        Outcomes::Real | Outcomes::Counts => Note::NoBetterThanMean { rows, model: model.into(), mean: mean.into() },
    };
    Ok((model <= mean).then_some(note))
}

/// Remarks if the noise is larger than the target's own spread, or the training rows are explained no better than by
/// their mean.
fn by_training_rows(file: &ModelFile, training: &Training) -> Result<Vec<Note>> {
    let standardiser = &file.regressor.standardiser;
    let targets = units::noise_units(file).into_iter().zip(&standardiser.y.scale);
    let drowned = targets.zip(units::noise(file)).filter(|((_, own), noise)| *noise > **own || noise.is_nan());
    let mut all: Vec<Note> = drowned
        .map(|((target, own), noise)| Note::NoiseAboveSpread { target, noise: noise.into(), spread: (*own).into() })
        .collect();
    if matches!(training.model().likelihood().outcomes(), Outcomes::Classes(_)) {
        // The bound of a class is below what the model says of it.
        return Ok(all);
    }
    let mean = of_the_mean(training, training.rows())?;
    let data_term = file.history.points().last().map_or(f64::NAN, |point| point.data_term);
    let model = data_term / training.num_data() as f64 - standardiser.log_volume_of(training.rows());
    if all.is_empty() && (model <= mean || model.is_nan()) {
        all.push(Note::ExplainsNothing { model: model.into(), mean: mean.into() });
    }
    Ok(all)
}
