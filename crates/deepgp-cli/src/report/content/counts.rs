//! What a model of counts said of the scored rows.

use anyhow::Result;
use deepgp::likelihood::Outcomes;
use deepgp::{Dataset, UserPredictor};
use deepgp_io::ModelFile;

use super::{ReportSources, row_numbers};
use crate::model::count_score::ScoredCounts;
use crate::model::device;
use crate::model::scores::Scores;
use crate::picture::sample;
use crate::report::{CountReport, CountRows, Frequency, HardCount};

/// The number of rows whose counts are tallied beside what is expected of them.
const TALLIED: usize = 2000;
/// The number of groups of counts that are aimed at, where there are more counts.
const GROUPS: f64 = 40.0;
/// The share of rows whose counts have groups of their own, where the others are far above.
const NEAR: f64 = 0.99;
/// The number of hardest rows that are shown.
const HARDEST: usize = 10;

/// The scores and predictions of a model of counts; `None` of another model. Without scored rows, the scores are those in the model file.
pub fn counts(file: &ModelFile, sources: &ReportSources<'_>) -> Result<Option<CountReport>> {
    match file.regressor.model.likelihood().outcomes() {
        Outcomes::Counts => {}
        Outcomes::Real | Outcomes::Classes(_) => return Ok(None),
    }
    Ok(Some(match sources.scored {
        Some(Scores::Counts(scored)) => {
            CountReport { scores: scored.scores.clone(), rows: Some(rows(file, scored, sources)?) }
        }
        Some(Scores::Numbers(_) | Scores::Classes(_)) | None => {
            CountReport { scores: file.record.count_scores.clone(), rows: None }
        }
    }))
}

/// What the model said of the scored rows.
fn rows(file: &ModelFile, scored: &ScoredCounts<'_>, sources: &ReportSources<'_>) -> Result<CountRows> {
    let predictor = file.regressor.predictor(sources.settings).map_err(device::explain)?;
    let all: Vec<u32> = (0..scored.data.len() as u32).collect();
    let some = scored.data.gather(&sample(&all, TALLIED))?;
    Ok(CountRows {
        y: scored.data.y().as_slice().to_vec(),
        model: scored.model.clone(),
        frequencies: frequencies(&some, &predictor)?,
        counted: some.len(),
        hardest: hardest(scored, &predictor, &row_numbers(sources, scored.data.len()))?,
    })
}

/// How often counts were observed in `rows`, and how often they are expected there.
fn frequencies(rows: &Dataset, predictor: &UserPredictor<'_>) -> Result<Vec<Frequency>> {
    let starts = starts(rows.y().as_slice());
    let before: Vec<f64> = starts.iter().skip(1).map(|start| start - 1.0).collect();
    let below = predictor.cumulative_counts(rows, &before)?;
    let group = |g: usize| {
        let (from, to) = (starts[g], before.get(g).copied());
        let inside = |y: &&f64| **y >= from && to.is_none_or(|to| **y <= to);
        let mass = |row: usize| {
            let up_to = if g < before.len() { below[(row, g)] } else { 1.0 };
            up_to - if g > 0 { below[(row, g - 1)] } else { 0.0 }
        };
        let masses = || (0..rows.len()).map(mass);
        Frequency {
            from,
            to,
            observed: rows.y().as_slice().iter().filter(inside).count() as f64,
            expected: masses().sum(),
            // Rows are independent, and each is in the group or not.
            deviation: masses().map(|p| p * (1.0 - p)).sum::<f64>().max(0.0).sqrt(),
        }
    };
    Ok((0..starts.len()).map(group).collect())
}

/// The least count of each group of counts, from 0 on: groups are equally wide, one count each where there are few, and the last one has all
/// that is left.
fn starts(y: &[f64]) -> Vec<f64> {
    let mut sorted = y.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.last().copied().unwrap_or(0.0);
    let near = sorted.get((NEAR * sorted.len() as f64) as usize).copied().unwrap_or(last);
    // A few counts far above all others would leave the others one group.
    let end = if last > 2.0 * near { near } else { last };
    let width = round_width((end + 1.0) / GROUPS);
    (0..=(end / width) as usize).map(|group| width * group as f64).collect()
}

/// The smallest of 1, 2, 5, 10, 20, 50, … that is no less than `least`.
fn round_width(least: f64) -> f64 {
    let mut power = 1.0;
    loop {
        for digit in [1.0, 2.0, 5.0] {
            if digit * power >= least {
                return digit * power;
            }
        }
        power *= 10.0;
    }
}

/// The rows whose counts have the lowest probability, from the lowest on.
fn hardest(scored: &ScoredCounts<'_>, predictor: &UserPredictor<'_>, numbers: &[u64]) -> Result<Vec<HardCount>> {
    let log_mass = &scored.model.log_mass;
    let mut order: Vec<u32> = (0..log_mass.len() as u32).collect();
    order.sort_by(|&i, &j| log_mass[i as usize].total_cmp(&log_mass[j as usize]));
    order.truncate(HARDEST);
    let ends = predictor.quantiles(&scored.data.gather(&order)?, &[0.025, 0.975])?;
    let each = order.iter().enumerate().map(|(i, &row)| {
        let row = row as usize;
        HardCount {
            number: numbers[row],
            y: scored.data.y()[(row, 0)],
            mean: scored.model.mean[row],
            interval: (ends[(i, 0)], ends[(i, 1)]),
            probability: log_mass[row].exp(),
        }
    });
    Ok(each.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::likelihood::LikelihoodForm;
    use deepgp::{FitSettings, Mat, PredictSettings, Training};

    #[test]
    fn groups_of_counts_are_few_and_of_round_width() {
        assert_eq!(starts(&[0.0, 3.0, 1.0]), [0.0, 1.0, 2.0, 3.0]);
        let wide = starts(&(0..978).map(f64::from).collect::<Vec<_>>());
        assert_eq!((wide.len(), wide[1], wide[19]), (20, 50.0, 950.0));
        // One count far above the others has no groups of its own up to there.
        let mut far: Vec<f64> = (0..300).map(|i| f64::from(i % 7)).collect();
        far.push(1e6);
        assert_eq!(starts(&far), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!((starts(&[]), round_width(24.4), round_width(0.1)), (vec![0.0], 50.0, 1.0));
    }

    #[test]
    fn frequencies_hold_every_row_once_and_follow_from_the_probabilities_of_counts() {
        let data = Dataset::new(Mat::from_fn(60, 1, |i, _| i as f64), Mat::from_fn(60, 1, |i, _| (i % 5) as f64));
        let data = data.unwrap().with_offsets((0..60).map(|i| 0.01 * f64::from(i)).collect()).unwrap();
        let mut settings = FitSettings::default();
        settings.model.likelihood = LikelihoodForm::Poisson;
        (settings.model.hidden_layers, settings.model.width) = (1, 1);
        let training = Training::new(&data, &settings).unwrap();
        let settings = PredictSettings { samples: 5, ..PredictSettings::default() };
        let predictor = training.regressor().predictor(settings).unwrap();
        let found = frequencies(&data, &predictor).unwrap();
        assert_eq!(found.iter().map(|own| own.observed).collect::<Vec<_>>(), [12.0; 5]);
        assert!((found.iter().map(|own| own.expected).sum::<f64>() - 60.0).abs() < 1e-9);
        assert_eq!((found[4].from, found[4].to), (4.0, None));
        // The probability of 3 at each row, as the density has it.
        let three = Mat::column(vec![3.0; 60]);
        let p: Vec<f64> = predictor.log_density(&data, three.view()).unwrap().into_iter().map(f64::exp).collect();
        assert!((found[3].expected - p.iter().sum::<f64>()).abs() < 1e-6, "{} {}", found[3].expected, p.len());
        let deviation = p.iter().map(|p| p * (1.0 - p)).sum::<f64>().sqrt();
        assert!((found[3].deviation - deviation).abs() < 1e-6);
        // The least likely rows come first, with the probability that they are ordered by.
        let scored = ScoredCounts { data: &data, model: predictor.assess_counts(&data).unwrap(), scores: Vec::new() };
        let numbers: Vec<u64> = (0..60).map(|row| row + 1).collect();
        let hard = hardest(&scored, &predictor, &numbers).unwrap();
        let least = scored.model.log_mass.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!((hard.len(), hard[0].probability), (HARDEST, least.exp()));
        assert_eq!(hard[0].y, data.y()[(hard[0].number as usize - 1, 0)]);
        assert!(hard.is_sorted_by(|a, b| a.probability <= b.probability) && hard[0].interval.0 <= hard[0].interval.1);
    }
}
