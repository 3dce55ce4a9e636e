//! What scoring will take: found out with a few rows before training, so that a time limit can leave room for it.

use std::time::Instant;

use anyhow::Result;
use deepgp::baseline::{self, ClassNeighbours, LogisticRegression, NearestNeighbours, PoissonRegression};
use deepgp::likelihood::Outcomes;
use deepgp::{Dataset, Regressor};

use super::device;
use super::score::{NEIGHBOURS, default_settings};

/// The number of rows that are tried before any time is taken: threads start, and a device is slow the first time.
const WARM_UP_ROWS: usize = 8;
/// The number of rows that are tried first.
const FIRST_ROWS: usize = 64;
/// The most rows that are tried.
const MOST_ROWS: usize = 4096;
/// The seconds that are long enough to tell what a row takes.
const LONG_ENOUGH: f64 = 0.1;
/// The most training rows that a regression learns from to find out how long all of them will take.
const TRIED_TRAINING_ROWS: usize = 2000;

/// The seconds that scoring takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoringCosts {
    /// Seconds before the first row: baselines learn.
    pub once: f64,
    /// Seconds for the model's prediction of a row.
    pub prediction: f64,
    /// Seconds for the baselines' predictions of a row.
    pub baselines: f64,
}

impl ScoringCosts {
    /// What scoring a model on `test` costs, beside baselines learnt from `train`, by the time that a few rows take now: what a row costs
    /// does not depend on what a model has learnt.
    pub fn measure(regressor: &Regressor, train: &Dataset, test: &Dataset, threads: usize) -> Result<Self> {
        let prediction = seconds_of_prediction(regressor, test, threads)?;
        let outcomes = regressor.model.likelihood().outcomes();
        let started = Instant::now();
        let since = || started.elapsed().as_secs_f64();
        let (once, baselines) = match outcomes {
            Outcomes::Real => {
                let neighbours = NearestNeighbours::new(train, NEIGHBOURS, threads)?;
                let once = since();
                let few = test.gather(&first(test, WARM_UP_ROWS))?;
                let linear = seconds_of_regression(train, usize::MAX, |rows| baseline::linear(rows, &few).map(|_| ()))?;
                // The model is scored once more, as it was before calibration.
                (once + linear, prediction + seconds_a_row(test, |rows| neighbours.assess(rows).map(|_| ()))?)
            }
            Outcomes::Classes(classes) => {
                let neighbours = ClassNeighbours::new(train, classes, NEIGHBOURS, threads)?;
                let once = since();
                let learn = |rows: &Dataset| LogisticRegression::new(rows, classes).map(|_| ());
                let logistic = seconds_of_regression(train, LogisticRegression::MOST_ROWS, learn)?;
                let near = |rows: &Dataset| neighbours.probabilities(rows.x().view()).map(|_| ());
                (once + logistic, seconds_a_row(test, near)?)
            }
            Outcomes::Counts => {
                let learn = |rows: &Dataset| PoissonRegression::new(rows).map(|_| ());
                (seconds_of_regression(train, PoissonRegression::MOST_ROWS, learn)?, 0.0)
            }
        };
        Ok(Self { once, prediction, baselines })
    }

    /// These costs, with predictions that take as long as they do now: the machine may be more or less busy than it was.
    pub fn as_of_now(self, regressor: &Regressor, test: &Dataset, threads: usize) -> Result<Self> {
        let prediction = seconds_of_prediction(regressor, test, threads)?;
        let busier = prediction / self.prediction.max(f64::MIN_POSITIVE);
        Ok(Self { once: busier * self.once, prediction, baselines: busier * self.baselines })
    }

    /// The seconds for scoring so many rows, and for predicting `more(rows)` again.
    pub fn seconds(&self, rows: usize, more: impl Fn(usize) -> usize) -> f64 {
        self.once + rows as f64 * (self.prediction + self.baselines) + more(rows) as f64 * self.prediction
    }

    /// The most rows, out of so many, that can be scored in these seconds, if `more(rows)` are predicted again.
    pub fn rows_within(&self, seconds: f64, of: usize, more: impl Fn(usize) -> usize) -> usize {
        let (mut enough, mut too_many) = (0, of + 1);
        while too_many - enough > 1 {
            let middle = enough + (too_many - enough) / 2;
            *(if self.seconds(middle, &more) <= seconds { &mut enough } else { &mut too_many }) = middle;
        }
        enough
    }
}

/// The seconds for the model's prediction of a row, as scores need it.
fn seconds_of_prediction(regressor: &Regressor, test: &Dataset, threads: usize) -> Result<f64> {
    let predictor = regressor.predictor(default_settings(threads)).map_err(device::explain)?;
    let outcomes = regressor.model.likelihood().outcomes();
    seconds_a_row(test, |rows| match outcomes {
        Outcomes::Real => predictor.assess(rows).map(|_| ()),
        Outcomes::Classes(_) => predictor.class_probabilities(rows).map(|_| ()),
        Outcomes::Counts => predictor.assess_counts(rows).map(|_| ()),
    })
}

/// The numbers of the first rows, so many or all.
fn first(rows: &Dataset, count: usize) -> Vec<u32> {
    (0..rows.len().min(count) as u32).collect()
}

/// The seconds that `work` takes for a row, by ever more of them, until that takes long enough to tell.
pub fn seconds_a_row(all: &Dataset, work: impl Fn(&Dataset) -> deepgp::Result<()>) -> Result<f64> {
    work(&all.gather(&first(all, WARM_UP_ROWS))?)?;
    let mut count = FIRST_ROWS;
    loop {
        let rows = all.gather(&first(all, count))?;
        let started = Instant::now();
        work(&rows)?;
        let seconds = started.elapsed().as_secs_f64();
        if seconds >= LONG_ENOUGH || count >= MOST_ROWS.min(all.len()) {
            return Ok(seconds / rows.len() as f64);
        }
        count *= 4;
    }
}

/// The seconds that a regression takes to learn from `train`, or from `most` of its rows, by the time that it takes for a few of them: each
/// iteration goes through all rows, and there are about as many iterations.
fn seconds_of_regression(train: &Dataset, most: usize, learn: impl Fn(&Dataset) -> deepgp::Result<()>) -> Result<f64> {
    let every = train.len().div_ceil(TRIED_TRAINING_ROWS).max(1);
    let some = train.gather(&(0..train.len() as u32).step_by(every).collect::<Vec<_>>())?;
    let started = Instant::now();
    learn(&some)?;
    Ok(started.elapsed().as_secs_f64() * train.len().min(most) as f64 / some.len() as f64)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    fn table(rows: usize) -> Dataset {
        let column = || deepgp::Mat::from_fn(rows, 1, |i, _| i as f64);
        Dataset::new(column(), column()).unwrap()
    }

    #[test]
    fn as_many_rows_as_there_is_time_for() {
        let costs = ScoringCosts { once: 1.0, prediction: 0.5, baselines: 0.25 };
        assert_eq!(costs.seconds(4, |_| 0), 4.0);
        assert_eq!(costs.seconds(4, |rows| 2 * rows), 8.0);
        assert_eq!([0.0, 1.0, 4.0, 4.7, 1e9].map(|seconds| costs.rows_within(seconds, 100, |_| 0)), [0, 0, 4, 4, 100]);
        assert_eq!(costs.rows_within(8.0, 100, |rows| 2 * rows), 4);
    }

    #[test]
    fn a_row_is_timed_with_enough_rows() {
        let tried = Cell::new(0);
        let work = |each: u64| {
            let tried = &tried;
            move |rows: &Dataset| {
                tried.set(rows.len());
                sleep(Duration::from_micros(each * rows.len() as u64));
                Ok(())
            }
        };
        // However late a sleeper wakes up, it is not early.
        assert!(seconds_a_row(&table(9000), work(2000)).unwrap() >= 0.002);
        assert_eq!(tried.get(), FIRST_ROWS);
        seconds_a_row(&table(9000), work(0)).unwrap();
        assert_eq!(tried.get(), MOST_ROWS);
        seconds_a_row(&table(50), work(0)).unwrap();
        assert_eq!(tried.get(), 50);
    }

    #[test]
    fn a_regression_is_expected_to_take_as_long_as_its_share_of_rows() {
        let learnt_from = Cell::new(0);
        let learn = |rows: &Dataset| {
            learnt_from.set(rows.len());
            sleep(Duration::from_millis(20));
            Ok(())
        };
        let all = seconds_of_regression(&table(9000), 50_000, learn).unwrap();
        assert_eq!(learnt_from.get(), 1800);
        assert!(all >= 5.0 * 0.02, "{all}");
        assert!((0.02..0.5).contains(&seconds_of_regression(&table(50), 50_000, learn).unwrap()));
        assert_eq!(learnt_from.get(), 50);
    }
}
