//! Scores of a model and of simpler ones, each with what it is of.

use std::fmt;

use deepgp::Score;
use serde::{Deserialize, Serialize};

use super::format_1;

/// How good a model, or a simpler one beside it, was on rows that training never saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreRecord {
    /// What was scored.
    #[serde(alias = "name", deserialize_with = "format_1::subject")]
    pub of: Subject,
    /// Its score, in the targets' units.
    pub score: Score,
}

/// What a score is of: the model, or something that it has to beat. `Display` gives the name that people read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The model.
    Model {
        /// Whether it has hidden layers.
        deep: bool,
    },
    /// A simpler model beside it.
    Baseline(Baseline),
}

/// A simple model that every other has to beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    /// The mean and the spread of the nearest training rows.
    NearestNeighbours {
        /// How many rows are asked.
        count: usize,
    },
    /// A linear function of the inputs, with Gaussian noise.
    LinearRegression,
    /// The mean and the spread of all training rows.
    Mean,
}

impl Subject {
    /// Which simpler model it is, if it is one.
    pub fn baseline(self) -> Option<Baseline> {
        match self {
            Self::Model { .. } => None,
            Self::Baseline(baseline) => Some(baseline),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { deep: true } => f.write_str("deep GP"),
            Self::Model { deep: false } => f.write_str("sparse GP"),
            Self::Baseline(baseline) => baseline.fmt(f),
        }
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NearestNeighbours { count } => write!(f, "{count} nearest neighbours"),
            Self::LinearRegression => f.write_str("linear regression"),
            Self::Mean => f.write_str("the mean"),
        }
    }
}
