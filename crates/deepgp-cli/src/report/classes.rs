//! What a report shows of a model of classes.

use deepgp::{ClassScore, Mat};
use deepgp_io::ScoreRecord;

/// A model of classes: its labels and scores, and what it said of the scored rows.
#[derive(Debug, Clone)]
pub struct ClassReport {
    /// The labels of the classes, in the order of their numbers.
    pub labels: Vec<String>,
    /// The scores of the model first, then those of baselines; empty if nothing was scored.
    pub scores: Vec<ScoreRecord<ClassScore>>,
    /// The predictions on the scored rows, if they are there.
    pub rows: Option<ClassRows>,
}

/// Class probabilities beside true classes, row by row.
#[derive(Debug, Clone)]
pub struct ClassRows {
    /// The number of each row's class.
    pub truth: Vec<usize>,
    /// The probability of each class at each row, `[N, C]`.
    pub probabilities: Mat,
    /// The number of each row in its table, from 1.
    pub numbers: Vec<u64>,
}

impl ClassReport {
    /// The score of the model, if it was scored.
    pub(super) fn of_model(&self) -> Option<&ClassScore> {
        self.scores.iter().find(|record| record.of.is_model()).map(|record| &record.score)
    }

    /// The label of a class.
    pub(super) fn label(&self, class: usize) -> &str {
        self.labels.get(class).map_or("", String::as_str)
    }
}

impl ClassRows {
    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.truth.len()
    }

    /// The most probable class of a row; the lowest one of several.
    pub(super) fn said(&self, row: usize) -> usize {
        let p = self.probabilities.row(row);
        (1..p.len()).fold(0, |best, class| if p[class] > p[best] { class } else { best })
    }

    /// The probability of the most probable class of a row.
    pub(super) fn confidence(&self, row: usize) -> f64 {
        self.probabilities[(row, self.said(row))]
    }

    /// The probability that a row's true class was given.
    pub(super) fn of_truth(&self, row: usize) -> f64 {
        self.probabilities[(row, self.truth[row])]
    }

    /// Whether the most probable class of a row is the true one.
    pub(super) fn is_right(&self, row: usize) -> bool {
        self.said(row) == self.truth[row]
    }
}
