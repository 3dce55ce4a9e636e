//! The three experiments, and what each is run on unless something else is asked for.

use serde::{Deserialize, Serialize};

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// The grid of Tables 3 to 6 and Figures 1 and 2.
    Tables,
    /// The forms of Tables 1 and 2.
    Forms,
    /// Where inducing inputs start, and whether they move.
    Inducing,
}

/// The names of [`Experiment`].
pub const EXPERIMENTS: &[&str] = &["tables", "forms", "inducing"];

impl Experiment {
    /// The datasets, unless others are asked for.
    pub fn datasets(self) -> &'static [&'static str] {
        match self {
            Self::Tables => &["kin8nm", "protein", "molecules"],
            Self::Forms => &["kin8nm"],
            Self::Inducing => &["kin8nm", "molecules"],
        }
    }

    /// The hidden layers, likewise.
    pub fn depths(self) -> &'static [usize] {
        match self {
            Self::Tables => &[0, 1, 2, 3, 4],
            Self::Forms => &[1, 2],
            Self::Inducing => &[1],
        }
    }

    /// The splits, likewise.
    pub fn splits(self) -> u64 {
        match self {
            Self::Tables => 5,
            Self::Forms => 1,
            Self::Inducing => 3,
        }
    }
}
