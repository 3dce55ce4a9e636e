//! Scores of a model and of simpler ones, each with what it is of.

use std::fmt;

use deepgp::Score;
use serde::{Deserialize, Serialize};

use super::format_1;

/// How good a model, or a simpler one beside it, was on rows that training never saw. The score is that of numbers, of classes
/// ([`ClassScore`](deepgp::ClassScore)) or of counts ([`CountScore`](deepgp::CountScore)).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreRecord<S = Score> {
    /// What was scored.
    #[serde(alias = "name", deserialize_with = "format_1::subject")]
    pub of: Subject,
    /// Its score, in the targets' units.
    pub score: S,
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
    /// The model without what held-out rows have made of its distributions' width.
    Uncalibrated {
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
        /// The sample of the training rows that they are searched for in; none if it is all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        among: Option<RowSample>,
    },
    /// A linear function of the inputs, with Gaussian noise.
    LinearRegression,
    /// The mean and the spread of all training rows.
    Mean,
    /// The share of each class among the training rows.
    ClassShares,
    /// Multinomial logistic regression.
    LogisticRegression {
        /// The sample of the training rows that it was learnt from; none if it is all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        among: Option<RowSample>,
    },
    /// The mean of the training rows' counts, with their spread.
    MeanCount,
    /// Counts at a rate whose logarithm is linear in the inputs.
    PoissonRegression {
        /// The sample of the training rows that it was learnt from; none if it is all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        among: Option<RowSample>,
    },
}

/// A sample of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowSample {
    /// How many rows it has.
    pub rows: usize,
    /// Out of how many.
    pub of: usize,
}

impl Baseline {
    /// The name without what was left out for want of time, by which programs tell baselines apart: `10 nearest neighbours`.
    pub fn name(self) -> String {
        match self {
            Self::NearestNeighbours { count, .. } => format!("{count} nearest neighbours"),
            Self::LinearRegression => "linear regression".into(),
            Self::Mean => "the mean".into(),
            Self::ClassShares => "class shares".into(),
            Self::LogisticRegression { .. } => "logistic regression".into(),
            Self::MeanCount => "the mean count".into(),
            Self::PoissonRegression { .. } => "Poisson regression".into(),
        }
    }

    /// The sample of the training rows that it was learnt from, if it is not all of them.
    pub fn sample(self) -> Option<RowSample> {
        match self {
            Self::NearestNeighbours { among, .. }
            | Self::LogisticRegression { among }
            | Self::PoissonRegression { among } => among,
            Self::LinearRegression | Self::Mean | Self::ClassShares | Self::MeanCount => None,
        }
    }
}

impl Subject {
    /// Whether it is the model, as it predicts.
    pub fn is_model(self) -> bool {
        match self {
            Self::Model { .. } => true,
            Self::Uncalibrated { .. } | Self::Baseline(_) => false,
        }
    }

    /// Which simpler model it is, if it is one.
    pub fn baseline(self) -> Option<Baseline> {
        match self {
            Self::Model { .. } | Self::Uncalibrated { .. } => None,
            Self::Baseline(baseline) => Some(baseline),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { deep: true } => f.write_str("deep GP"),
            Self::Model { deep: false } => f.write_str("sparse GP"),
            Self::Uncalibrated { deep } => write!(f, "{}, uncalibrated", Self::Model { deep: *deep }),
            Self::Baseline(baseline) => baseline.fmt(f),
        }
    }
}

/// With its sample, if it has one: `10 nearest neighbours (20000 of 160000 training rows)`.
impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())?;
        match self.sample() {
            Some(RowSample { rows, of }) => write!(f, " ({rows} of {of} training rows)"),
            None => Ok(()),
        }
    }
}
