//! Notes: what a person should know of a model.

use deepgp::{FitSettings, View};
use deepgp_io::{ImplausibleNumbers, ModelFile, Note};

use super::scores;

/// All notes on a model: on its fit, on its test scores, and on what looks wrong with its numbers.
pub fn all(file: &ModelFile) -> Vec<Note> {
    let notes = &file.record.notes;
    let remarks = scores::remarks_of_fit(file).into_iter().filter(|remark| !notes.contains(remark));
    let odd = file.implausible_numbers().into_iter().map(|ImplausibleNumbers { array, count, value }| {
        Note::ImplausibleNumbers { array, numbers: count, example: value.into() }
    });
    notes.iter().cloned().chain(remarks).chain(odd).collect()
}

/// The number of rows below which learned sites overfit.
const ROWS_FOR_SITES: usize = 20_000;

/// A note if learned sites are trained on few rows.
pub fn sites_note(settings: &FitSettings, rows: usize) -> Option<Note> {
    (settings.model.sites.is_some() && rows < ROWS_FOR_SITES).then_some(Note::SitesOnFewRows { rows })
}

/// The share of rows that one value of a target must have for it to be told.
const COMMON: f64 = 0.02;
/// The number of rows to each different value of a target from which on it is told.
const ROWS_EACH: usize = 50;

/// Notes on targets that take values again and again.
pub fn repeated_values(targets: &[String], y: View<'_>) -> Vec<Note> {
    let mut all = Vec::new();
    for (column, target) in targets.iter().enumerate() {
        let mut sorted: Vec<f64> = (0..y.nrows()).map(|row| y[(row, column)]).collect();
        sorted.sort_by(f64::total_cmp);
        let runs: Vec<usize> = sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).collect();
        let share = runs.iter().copied().max().unwrap_or(0) as f64 / y.nrows().max(1) as f64;
        // A few rows repeat by chance.
        if y.nrows() >= 2 * ROWS_EACH && (share >= COMMON || runs.len() * ROWS_EACH <= y.nrows()) {
            all.push(Note::RepeatedValues { target: target.clone(), values: runs.len(), most_common: share.into() });
        }
    }
    all
}

/// Notes as scripts and pages show them: in sentences.
pub fn sentences(notes: &[Note]) -> Vec<String> {
    notes.iter().map(Note::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::Mat;

    #[test]
    fn sites_on_few_rows_are_told() {
        let mut settings = FitSettings::default();
        assert_eq!(sites_note(&settings, 100), None);
        settings.model.sites = Some(8);
        assert_eq!(sites_note(&settings, 19_999), Some(Note::SitesOnFewRows { rows: 19_999 }));
        assert_eq!(sites_note(&settings, 20_000), None);
    }

    #[test]
    fn values_that_repeat_are_told_and_others_not() {
        let y = Mat::from_fn(1000, 3, |i, j| match j {
            0 => (i % 11) as f64,
            1 => i as f64,
            // Zeros among numbers.
            _ => {
                if i % 40 == 0 {
                    0.0
                } else {
                    i as f64
                }
            }
        });
        let names = ["few", "many", "zeros"].map(String::from);
        let told = repeated_values(&names, y.view());
        let of = |target: &str, values, share: f64| Note::RepeatedValues {
            target: target.into(),
            values,
            most_common: share.into(),
        };
        assert_eq!(told, [of("few", 11, 0.091), of("zeros", 976, 0.025)]);
        assert!(repeated_values(&names[..1], y.view().rows(0..50)).is_empty());
    }
}
