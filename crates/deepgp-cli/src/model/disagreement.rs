//! Where two models differ: single rows, and ranges of a column.
//!
//! Rows are grouped by each column of the table: by level where it is a category, by quarters of the rows where it is a number or a date. A group's gain
//! is the mean over its rows of what one model's log density, or log probability, has more than the other's. Groups are ranked by their gains in
//! standard errors: so many are looked at that chance alone makes some stand out, so that how many there were is told beside them.

use deepgp::{Dataset, Paired};
use deepgp_io::ModelFile;
use deepgp_io::table::{InputColumn, Kind};
use serde_json::{Value, json};

use crate::terminal::date::date;
use crate::terminal::text::{number, table as aligned};

/// The fewest rows of a group.
const FEWEST_ROWS: usize = 10;
/// The number of groups that the rows are cut into by a number.
const QUARTERS: usize = 4;
/// The most groups, and the most single rows, that are told of.
const TOLD: usize = 6;

/// Rows with similar cells in one column.
#[derive(Clone, Debug)]
pub struct Group {
    /// The column.
    pub column: String,
    /// The cells: a level, or from where to where.
    pub cells: String,
    /// The number of rows.
    pub rows: usize,
    /// The mean gain of the second model over the first, as a difference from nothing.
    pub gain: Paired,
}

/// Where two models differ.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// The groups that differ most, out of all.
    pub groups: Vec<Group>,
    /// The number of groups that were looked at.
    pub looked_at: usize,
    /// The places of the rows that differ most, from 0, with the gain of the second model.
    pub rows: Vec<(u64, f64)>,
}

impl Disagreement {
    /// Where the gains of rows, which stand at these positions of their table, are largest; columns are those of the model that read them.
    pub fn new(file: &ModelFile, rows: &Dataset, positions: &[u64], gains: &[f64]) -> Self {
        let columns = file.schema.inputs.iter().zip(file.schema.inputs_of_columns());
        let mut groups: Vec<Group> = Vec::new();
        for (column, inputs) in columns {
            for (cells, members) in groups_by(column, rows, inputs.start) {
                let own: Vec<f64> = members.iter().map(|row| gains[*row]).collect();
                let weights = rows.weights().map(|all| members.iter().map(|row| all[*row]).collect::<Vec<f64>>());
                let gain = Paired::of_means(&vec![0.0; own.len()], &own, weights.as_deref());
                groups.push(Group { column: column.name.clone(), cells, rows: own.len(), gain });
            }
        }
        groups.retain(|group| group.gain.standardised().is_finite());
        let looked_at = groups.len();
        groups.sort_by(|a, b| b.gain.standardised().abs().total_cmp(&a.gain.standardised().abs()));
        groups.truncate(TOLD);
        groups.retain(|group| group.gain.difference != 0.0);
        let mut single: Vec<(u64, f64)> = positions.iter().copied().zip(gains.iter().copied()).collect();
        single.retain(|(_, gain)| *gain != 0.0 && !gain.is_nan());
        single.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        single.truncate(TOLD);
        Self { groups, looked_at, rows: single }
    }
}

/// The rows in groups of similar cells of a column, whose first input is `input`, each with what its cells are; groups of few rows are left out.
fn groups_by(column: &InputColumn, rows: &Dataset, input: usize) -> Vec<(String, Vec<usize>)> {
    let (x, count) = (rows.x(), rows.len());
    let with = |wanted: &dyn Fn(usize) -> bool| (0..count).filter(|row| wanted(*row)).collect::<Vec<usize>>();
    let all = match &column.kind {
        Kind::Category { levels } => {
            let of_level = |(at, level): (usize, &String)| (level.clone(), with(&|row| x[(row, input + at)] == 1.0));
            levels.iter().enumerate().map(of_level).collect()
        }
        Kind::Boolean { .. } => [("false", 0.0), ("true", 1.0)]
            .map(|(name, cell)| (name.into(), with(&|row| x[(row, input)] == cell)))
            .into(),
        Kind::Number { .. } => quarters(rows, input, number),
        Kind::Date { .. } => quarters(rows, input, |seconds| match seconds {
            0.0.. => date(seconds as u64).replace(" 00:00 UTC", ""),
            _ => number(seconds),
        }),
        // What a level says about the target is no cell of the table.
        Kind::ManyLevels { .. } => Vec::new(),
    };
    all.into_iter().filter(|(_, members): &(String, Vec<usize>)| members.len() >= FEWEST_ROWS).collect()
}

/// The rows in quarters by one input, equal ones together, each with its least and its largest value in words.
fn quarters(rows: &Dataset, input: usize, shown: impl Fn(f64) -> String) -> Vec<(String, Vec<usize>)> {
    let value = |row: usize| rows.x()[(row, input)];
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| value(*a).total_cmp(&value(*b)));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for alike in order.chunk_by(|a, b| value(*a) == value(*b)) {
        // A quarter is full when it has its share of the rows.
        let full = |own: &Vec<usize>| own.len() * QUARTERS >= rows.len();
        match groups.last_mut().filter(|own| !full(own)) {
            Some(own) => own.extend(alike),
            None => groups.push(alike.to_vec()),
        }
    }
    let named = |own: Vec<usize>| {
        let ends = own.first().zip(own.last()).map(|(first, last)| (shown(value(*first)), shown(value(*last))));
        let cells =
            ends.map_or(String::new(), |(low, high)| if low == high { low } else { format!("{low} to {high}") });
        (cells, own)
    };
    groups.into_iter().map(named).collect()
}

/// The groups and rows for people; nothing if the models differ nowhere.
pub fn in_words(own: &Disagreement) -> String {
    if own.rows.is_empty() {
        return "The models say the same of every row.\n".into();
    }
    let mut rows = vec![["where", "rows", "gain", "95 % interval"].map(String::from).to_vec()];
    rows.extend(own.groups.iter().map(|Group { column, cells, rows, gain }| {
        let interval = format!("{} to {}", number(gain.lower), number(gain.upper));
        vec![format!("{column}: {cells}"), rows.to_string(), number(gain.difference), interval]
    }));
    let groups = if own.groups.is_empty() {
        String::new()
    } else {
        format!("{}(of {} groups of rows: a few stand out by chance)\n", aligned(&rows), own.looked_at)
    };
    let single: Vec<String> = own.rows.iter().map(|(at, gain)| format!("{} ({})", at + 1, number(*gain))).collect();
    format!("{groups}single rows, counted from 1: {}\n", single.join(", "))
}

/// The groups and rows for scripts.
pub fn json(own: &Disagreement) -> Value {
    let group = |Group { column, cells, rows, gain }: &Group| {
        json!({
            "column": column, "cells": cells, "rows": rows,
            "gain": gain.difference, "error": gain.error, "lower": gain.lower, "upper": gain.upper,
        })
    };
    let single = |(at, gain): &(u64, f64)| json!({ "row": at + 1, "gain": gain });
    json!({
        "groups": own.groups.iter().map(group).collect::<Vec<Value>>(),
        "groups_looked_at": own.looked_at,
        "rows": own.rows.iter().map(single).collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::Mat;

    #[test]
    fn rows_are_grouped_by_levels_and_by_quarters_of_numbers() {
        let levels = ["north".to_string(), "south".to_string()].to_vec();
        // A category of two levels, of which the second has few rows, and a number that is often 0.
        let cell = |i: usize, d: usize| match d {
            0 => f64::from(u8::from(i >= 8)),
            1 => f64::from(u8::from(i < 8)),
            _ => i.saturating_sub(30) as f64,
        };
        let x = Mat::from_fn(60, 3, cell);
        let rows = Dataset::new(x, Mat::zeros(60, 1)).unwrap();
        let named = |column: &InputColumn, input: usize| -> Vec<(String, usize)> {
            groups_by(column, &rows, input).into_iter().map(|(cells, own)| (cells, own.len())).collect()
        };
        assert_eq!(named(&InputColumn::new("zone", Kind::Category { levels }), 0), [("north".to_string(), 52)]);
        let number = InputColumn::new("area", Kind::Number { fill: None });
        assert_eq!(
            named(&number, 2),
            [("0", 31), ("1.000 to 15.00", 15), ("16.00 to 29.00", 14)].map(|(cells, rows)| (cells.to_string(), rows))
        );
    }
}
