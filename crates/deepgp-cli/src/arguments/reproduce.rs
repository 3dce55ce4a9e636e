//! The arguments of `deepgp reproduce`.

use std::path::PathBuf;

use clap::Args;

use super::value::choice::choice;
use super::value::duration::Seconds;
use super::value::limits::{self, within};
use crate::model::device::{DEVICES, Device};
use crate::reproduce::{CANDIDATES, Candidate, DATASETS, DENSITIES, Density, EXPERIMENTS, Experiment, MODELS, Model};
use crate::terminal::output::Voice;

/// The arguments of `deepgp reproduce`.
#[derive(Args, Debug)]
pub struct ReproduceArgs {
    /// The folder with kin8nm.csv.gz, protein.csv.gz, molecules.csv.gz (or .csv, .parquet); the target is the column `y`
    #[arg(long)]
    pub data: PathBuf,
    /// The folder for results, tables, figures and the page that shows them; runs that are there are not made again
    #[arg(long)]
    pub out: PathBuf,
    /// Which: the paper's tables 3 to 6 and figures; the forms of mean and covariance of its tables 1 and 2; where inducing inputs
    /// start and how they move; which settings should be the defaults; full against decoupled models where noise follows the inputs
    #[arg(long, value_delimiter = ',', default_value = "tables", value_parser = choice::<Experiment>(EXPERIMENTS))]
    pub experiments: Vec<Experiment>,
    /// Which data [default: the paper's three; kin8nm for forms; kin8nm and molecules for inducing; eleven for defaults]
    #[arg(long, value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(DATASETS))]
    pub dataset: Option<Vec<String>>,
    /// Layers before the last one [default: 0,1,2,3,4; 1,2 for forms; 1 for inducing; 2 for defaults]
    #[arg(long, value_delimiter = ',', value_parser = within(limits::HIDDEN_LAYERS))]
    pub hidden_layers: Option<Vec<usize>>,
    /// Which models in the tables and in continued: the paper's two, and decoupled ones with a whitened covariance, with nested sets, and
    /// with a diagonal covariance as well [default: full,decoupled; full,nested-diagonal for continued]
    #[arg(long, value_delimiter = ',', value_parser = choice::<Model>(MODELS))]
    pub models: Option<Vec<Model>>,
    /// Which densities in continued: one noise for all rows, by the ELBO; noise that follows the inputs, as `fit` has it [default: both]
    #[arg(long, value_delimiter = ',', value_parser = choice::<Density>(DENSITIES))]
    pub densities: Option<Vec<Density>>,
    /// Which settings to compare as defaults [default: all]
    #[arg(long, value_delimiter = ',', value_parser = choice::<Candidate>(CANDIDATES))]
    pub candidates: Option<Vec<Candidate>>,
    /// Random splits into 80 % training and 20 % test rows [default: 5; 1 for forms; 3 for inducing, defaults and continued]
    #[arg(long, value_parser = clap::value_parser!(u64).range(limits::SPLITS))]
    pub splits: Option<u64>,
    /// Passes over the training rows, in tables, forms and inducing
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..))]
    pub epochs: u64,
    /// Steps of each run of defaults and continued, at most [default: those of `fit`]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: Option<u64>,
    /// Also score the mean, linear regression and nearest neighbours on the same splits
    #[arg(long)]
    pub baselines: bool,
    /// Where to compute
    #[arg(long, default_value = "auto", value_parser = choice::<Device>(DEVICES))]
    pub device: Device,
    /// Threads to work with; 0 for all
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Runs to make at a time [default: 1 on the CPU; several on a GPU, which one run does not fill]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Stop after this time, e.g. 90s, 10m, 2h; the same command goes on with the runs that are not finished, each from its start
    #[arg(long)]
    pub time_limit: Option<Seconds>,
    /// To whom the command talks.
    #[command(flatten)]
    pub voice: Voice,
}

impl ReproduceArgs {
    /// The experiments to run, each once.
    pub fn experiments(&self) -> Vec<Experiment> {
        each_once(self.experiments.clone())
    }

    /// The models that an experiment compares, each once.
    pub fn models_of(&self, experiment: Experiment) -> Vec<Model> {
        each_once(self.models.clone().unwrap_or_else(|| experiment.models().to_vec()))
    }

    /// The densities that the models are compared with, each once.
    pub fn densities(&self) -> Vec<Density> {
        each_once(self.densities.clone().unwrap_or_else(|| Density::ALL.to_vec()))
    }

    /// The settings that are compared as defaults, each once.
    pub fn candidates(&self) -> Vec<Candidate> {
        each_once(self.candidates.clone().unwrap_or_else(|| Candidate::ALL.to_vec()))
    }

    /// The datasets of an experiment, each once.
    pub fn datasets_of(&self, experiment: Experiment) -> Vec<String> {
        let usual = || experiment.datasets().iter().map(|name| (*name).into()).collect();
        each_once(self.dataset.clone().unwrap_or_else(usual))
    }

    /// The numbers of hidden layers of an experiment's models, each once.
    pub fn depths_of(&self, experiment: Experiment) -> Vec<usize> {
        each_once(self.hidden_layers.clone().unwrap_or_else(|| experiment.depths().to_vec()))
    }

    /// The number of splits of an experiment's datasets.
    pub fn splits_of(&self, experiment: Experiment) -> u64 {
        self.splits.unwrap_or(experiment.splits())
    }
}

/// The values in their order, each the first time that it occurs.
fn each_once<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut kept = Vec::new();
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}
