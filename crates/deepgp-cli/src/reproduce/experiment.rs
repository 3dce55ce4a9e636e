//! The five experiments, and what each is run on unless something else is asked for.

use serde::{Deserialize, Serialize};

use super::grid::Model;

/// One of the five experiments of `deepgp reproduce`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// The grid of models behind the paper's Tables 3 to 6 and Figures 1 and 2.
    Tables,
    /// Every form of the mean with every form of the covariance, of the paper's Tables 1 and 2.
    Forms,
    /// Ways to start the inducing inputs, each with inputs that training moves and with inputs that stay.
    Inducing,
    /// Settings that could be the defaults, on the paper's tables and eight more.
    Defaults,
    /// The full model against a decoupled one, with one noise and with noise that follows the inputs.
    Continued,
}

/// The names of [`Experiment`]'s variants on the command line.
pub const EXPERIMENTS: &[&str] = &["tables", "forms", "inducing", "defaults", "continued"];

impl Experiment {
    /// The datasets that the experiment is run on, unless others are asked for.
    pub fn datasets(self) -> &'static [&'static str] {
        match self {
            Self::Tables | Self::Continued => &["kin8nm", "protein", "molecules"],
            Self::Forms => &["kin8nm"],
            Self::Inducing => &["kin8nm", "molecules"],
            Self::Defaults => &[
                "kin8nm",
                "protein",
                "molecules",
                "airfoil",
                "bike",
                "concrete",
                "elevators",
                "energy",
                "parkinsons",
                "pol",
                "skillcraft",
            ],
        }
    }

    /// The numbers of hidden layers of its models, unless others are asked for.
    pub fn depths(self) -> &'static [usize] {
        match self {
            Self::Tables | Self::Continued => &[0, 1, 2, 3, 4],
            Self::Forms => &[1, 2],
            Self::Inducing => &[1],
            Self::Defaults => &[2],
        }
    }

    /// The number of random splits of each dataset, unless another is asked for.
    pub fn splits(self) -> u64 {
        match self {
            Self::Tables => 5,
            Self::Forms => 1,
            Self::Inducing | Self::Defaults | Self::Continued => 3,
        }
    }

    /// The models that it compares, unless others are asked for; none where it compares something else.
    pub fn models(self) -> &'static [Model] {
        match self {
            Self::Tables => &[Model::Full, Model::Decoupled],
            Self::Continued => &[Model::Full, Model::NestedDiagonal],
            Self::Forms | Self::Inducing | Self::Defaults => &[],
        }
    }
}
