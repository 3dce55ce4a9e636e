//! The predicted densities of a few rows.

use anyhow::Result;
use deepgp::{Mat, UserPredictor};

use super::outputs::{column, inputs_of};
use crate::model::score::Scored;
use crate::report::{ChosenRow, RowDensity};

/// The number of points of a density's curve.
pub(super) const POINTS: usize = 160;
/// The probability beyond either end of a curve, unless the true target lies there.
const BEYOND: f64 = 0.001;

/// The predicted densities of a few rows, of target `p`.
pub fn densities(scored: &Scored, predictor: &UserPredictor<'_>, p: usize) -> Result<Vec<RowDensity>> {
    let chosen = chosen(&column(&scored.model.deviation, p), &scored.model.log_density);
    let rows: Vec<usize> = chosen.iter().map(|(_, row)| *row).collect();
    let ends = predictor.quantiles(inputs_of(scored, &rows).view(), &[BEYOND, 1.0 - BEYOND])?;
    let each = chosen.iter().enumerate().map(|(i, &(reason, row))| {
        let y = scored.data.y()[(row, p)];
        let (low, high) = (ends[(i, 2 * p)].min(y), ends[(i, 2 * p + 1)].max(y));
        let room = 0.04 * (high - low);
        let curve = curve(scored, predictor, row, p, (low - room, high + room))?;
        Ok(RowDensity { reason, y, mean: scored.model.mean[(row, p)], curve })
    });
    each.collect()
}

/// The density of target `p` of a row between two ends: the growth of the distribution function from point to point. It is that of one
/// target where there are several, and misses no spike.
fn curve(
    scored: &Scored,
    predictor: &UserPredictor<'_>,
    row: usize,
    p: usize,
    (low, high): (f64, f64),
) -> Result<Vec<(f64, f64)>> {
    let step = (high - low) / POINTS as f64;
    let edge = |k: usize| low + step * k as f64;
    let x = inputs_of(scored, &[row; POINTS + 1]);
    let targets = scored.data.y();
    let y = Mat::from_fn(POINTS + 1, targets.ncols(), |k, own| if own == p { edge(k) } else { targets[(row, own)] });
    let below = column(&predictor.cumulative(x.view(), y.view())?, p);
    Ok(below.windows(2).enumerate().map(|(k, pair)| (edge(k) + 0.5 * step, (pair[1] - pair[0]) / step)).collect())
}

/// The rows to show out of all, with the reason for each: no row is shown twice.
fn chosen(deviation: &[f64], log_density: &[f64]) -> Vec<(ChosenRow, usize)> {
    let mut by_width: Vec<usize> = (0..deviation.len()).collect();
    by_width.sort_by(|&i, &j| deviation[i].total_cmp(&deviation[j]));
    let at = |share: f64| by_width.get((share * by_width.len().saturating_sub(1) as f64).round() as usize).copied();
    let least_likely = (0..log_density.len()).min_by(|&i, &j| log_density[i].total_cmp(&log_density[j]));
    let wanted = [
        (ChosenRow::LeastLikely, least_likely),
        (ChosenRow::Typical, at(0.5)),
        (ChosenRow::Narrow, at(0.1)),
        (ChosenRow::Wide, at(0.9)),
    ];
    let mut found: Vec<(ChosenRow, usize)> = Vec::new();
    for (reason, row) in wanted {
        found.extend(row.filter(|row| found.iter().all(|(_, other)| other != row)).map(|row| (reason, row)));
    }
    found.sort_by_key(|(reason, _)| *reason);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::{FitSettings, PredictSettings, Training, simulate};

    #[test]
    fn curves_are_the_density_and_hold_all_but_its_ends() {
        let data = simulate::step_curve(60, 1);
        let mut settings = FitSettings::default();
        (settings.model.hidden_layers, settings.model.width) = (1, 2);
        let training = Training::new(&data, &settings).unwrap();
        let settings = PredictSettings { samples: 10, ..PredictSettings::default() };
        let predictor = training.regressor().predictor(settings).unwrap();
        let scored = Scored { data: &data, model: predictor.assess(&data).unwrap(), scores: Vec::new() };
        let all = densities(&scored, &predictor, 0).unwrap();
        assert!(all.len() >= 3, "{}", all.len());
        for own in all {
            let row = (0..data.len()).find(|&i| data.y()[(i, 0)] == own.y).unwrap();
            let total: f64 = own.curve.iter().map(|point| point.1).sum::<f64>() * (own.curve[1].0 - own.curve[0].0);
            assert!((1.0 - 2.0 * BEYOND - 1e-9..1.0).contains(&total), "{total}");
            let y = Mat::column(own.curve.iter().map(|point| point.0).collect());
            let exact = predictor.log_density(inputs_of(&scored, &[row; POINTS]).view(), y.view()).unwrap();
            let peak = exact.iter().copied().fold(f64::NEG_INFINITY, f64::max).exp();
            for ((_, density), exact) in own.curve.iter().zip(exact) {
                assert!((density - exact.exp()).abs() < 1e-3 * peak, "{density} {}", exact.exp());
            }
        }
    }

    #[test]
    fn rows_are_chosen_by_their_width_and_by_their_density() {
        let deviation: Vec<f64> = (0..101).map(|i| f64::from(i * 37 % 101)).collect();
        let mut log_density = vec![-1.0; 101];
        log_density[7] = -9.0;
        let found = chosen(&deviation, &log_density);
        let reasons: Vec<ChosenRow> = found.iter().map(|(reason, _)| *reason).collect();
        assert_eq!(reasons, [ChosenRow::Narrow, ChosenRow::Typical, ChosenRow::Wide, ChosenRow::LeastLikely]);
        let widths: Vec<f64> = found.iter().map(|(_, row)| deviation[*row]).collect();
        assert_eq!(widths[..3], [10.0, 50.0, 90.0]);
        assert_eq!(found[3].1, 7);
    }

    #[test]
    fn a_row_is_chosen_once_and_none_where_there_is_none() {
        assert_eq!(chosen(&[1.0], &[0.0]), [(ChosenRow::LeastLikely, 0)]);
        assert_eq!(chosen(&[1.0, 2.0], &[0.0, -1.0]).len(), 2);
        assert!(chosen(&[], &[]).is_empty());
    }
}
