//! Rows with what columns say about them that is no input: how much they count, and what they are split by.

use anyhow::Result;
use deepgp::{Dataset, SplitBy};
use deepgp_io::table::{RowColumns, RowFacts, Schema, Source};
use deepgp_io::{Note, SplitRule};

use super::rows::LoadedRows;

/// The rows of a fit with their weights, and with what they are split by: groups, or times if the last ones are held out. Rows of weight 0 are
/// left out, with a note.
pub fn of_fit(loaded: LoadedRows, schema: &Schema, source: &Source, split: &SplitRule) -> Result<LoadedRows> {
    let facts = RowFacts::read(source, schema, &schema.row_columns, split.time_column(), 0, &loaded.positions)?;
    let RowFacts { groups, weights, times, notes } = facts;
    let mut rows = weighted(loaded, schema, weights)?;
    rows.loaded.notes.extend(notes);
    let split_by = match (split, groups) {
        (SplitRule::Random, None) => None,
        (SplitRule::Random, Some(groups)) => Some(SplitBy::Groups(rows.gather(&groups))),
        (SplitRule::Last { .. }, _) => Some(SplitBy::Times(match times {
            Some(times) => rows.gather(&times),
            None => rows.loaded.positions.iter().map(|position| *position as f64).collect(),
        })),
    };
    if let Some(split_by) = split_by {
        rows.loaded.data = rows.loaded.data.with_split_by(split_by)?;
    }
    Ok(rows.loaded)
}

/// The rows to score a model on with their weights, if they have the column; a note says if they have not.
pub fn to_score(mut loaded: LoadedRows, schema: &Schema, source: &Source) -> Result<LoadedRows> {
    let Some(column) = &schema.row_columns.weights else { return Ok(loaded) };
    if !source.names().contains(column) {
        loaded.notes.push(Note::NoWeights { column: column.clone() });
        return Ok(loaded);
    }
    let weights = RowColumns { weights: Some(column.clone()), group: None };
    let facts = RowFacts::read(source, schema, &weights, None, 0, &loaded.positions)?;
    Ok(weighted(loaded, schema, facts.weights)?.loaded)
}

/// The number of rows that do not say when they were.
pub fn undated(rows: &Dataset) -> usize {
    match rows.split_by() {
        Some(SplitBy::Times(times)) => times.iter().filter(|time| **time == f64::NEG_INFINITY).count(),
        Some(SplitBy::Groups(_)) | None => 0,
    }
}

/// Rows that count, and which they were among all.
struct Counting {
    loaded: LoadedRows,
    kept: Option<Vec<u32>>,
}

impl Counting {
    /// What these rows have of something that all have.
    fn gather<T: Copy>(&self, all: &[T]) -> Vec<T> {
        match &self.kept {
            None => all.to_vec(),
            Some(kept) => kept.iter().map(|row| all[*row as usize]).collect(),
        }
    }
}

/// The rows with their weights, those of weight 0 left out.
fn weighted(mut loaded: LoadedRows, schema: &Schema, weights: Option<Vec<f64>>) -> Result<Counting> {
    let Some(weights) = weights else { return Ok(Counting { loaded, kept: None }) };
    let of = weights.len();
    let kept: Vec<u32> = (0..of as u32).filter(|row| weights[*row as usize] > 0.0).collect();
    loaded.data = loaded.data.with_weights(weights)?;
    if kept.len() == of {
        return Ok(Counting { loaded, kept: None });
    }
    loaded.data = loaded.data.gather(&kept)?;
    loaded.positions = kept.iter().map(|row| loaded.positions[*row as usize]).collect();
    let column = schema.row_columns.weights.clone().unwrap_or_default();
    loaded.notes.push(Note::ZeroWeights { column, rows: of - kept.len(), of });
    Ok(Counting { loaded, kept: Some(kept) })
}
