//! The arguments of every command. What those of a fit mean to the library is in [`fit_options`].

pub mod duration;
pub mod fit_options;
pub mod limits;
pub mod paths;
pub mod stdio_path;
pub mod usage;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use deepgp::{CovarianceForm, PredictSettings};
use deepgp_io::ModelFile;
use deepgp_io::table::{Missing, Schema};

use crate::data::{Mirror, RECIPES};
use crate::model::device::{DEVICES, Device};
use crate::reproduce::{DATASETS, EXPERIMENTS, Experiment, MODELS, Model};
use crate::terminal::output::Voice;
use duration::{Every, Span};
use fit_options::{COVARIANCE_FORMS, FitOptions, MISSING, choice};
use limits::within;

/// Deep Gaussian processes: from a table to a calibrated model, predictions with honest uncertainty, and a report.
#[derive(Debug, Parser)]
#[command(name = "deepgp", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train models on a simulated robot arm and compare them, in about a minute
    #[command(allow_negative_numbers = true, after_help = "Example:\n  deepgp demo --out demo")]
    Demo(DemoArgs),
    /// Fit a model to a table
    #[command(
        allow_negative_numbers = true,
        after_help = "Examples:\n  deepgp fit houses.csv --target price --test 0.2\n  \
        deepgp fit houses.parquet --target price --hidden-layers 1 --time-limit 10m --out price.deepgp"
    )]
    Fit(Box<FitArgs>),
    /// Go on with a fit that was interrupted
    #[command(allow_negative_numbers = true, after_help = "Example:\n  deepgp resume model.deepgp.checkpoint")]
    Resume(ResumeArgs),
    /// Predict the rows of a table
    #[command(
        after_help = "Example:\n  deepgp predict model.deepgp new.csv --keep id --quantiles 0.05,0.95 --out predictions.csv"
    )]
    Predict(PredictArgs),
    /// Score a model on the rows of a table whose targets are known
    #[command(allow_negative_numbers = true, after_help = "Example:\n  deepgp evaluate model.deepgp test.csv --json")]
    Evaluate(EvaluateArgs),
    /// Tell what is in a model file
    #[command(allow_negative_numbers = true, after_help = "Example:\n  deepgp info model.deepgp")]
    Info(InfoArgs),
    /// Write a report on a model, with pictures, as one web page
    #[command(
        allow_negative_numbers = true,
        after_help = "Example:\n  deepgp report model.deepgp test.csv --out report.html"
    )]
    Report(ReportArgs),
    /// Time training steps on synthetic data
    #[command(
        after_help = "Example:\n  deepgp benchmark --rows 10000 --columns 9 --hidden-layers 4 --precision mixed --json"
    )]
    Benchmark(BenchmarkArgs),
    /// Run the paper's experiments again, beside its numbers
    #[command(
        after_help = "Example:\n  deepgp reproduce --data data --out paper --dataset kin8nm --hidden-layers 0,1 --splits 2"
    )]
    Reproduce(ReproduceArgs),
    /// Fetch public tables, such as the paper's
    #[command(subcommand)]
    Data(DataCommand),
    /// Print completions for a shell
    #[command(
        allow_negative_numbers = true,
        after_help = "Example:\n  deepgp completions bash > ~/.local/share/bash-completion/completions/deepgp"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// The commands of `deepgp data`.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Download tables, check them, and write each as NAME.csv.gz, with the target last, in the column `y`
    #[command(
        after_help = "Example:\n  deepgp data fetch kin8nm protein --out data\n  deepgp fit data/kin8nm.csv.gz --target y --test 0.2"
    )]
    Fetch(FetchArgs),
    /// Tell what can be fetched, from where, and under what terms
    #[command(after_help = "Example:\n  deepgp data list")]
    List(ListArgs),
}

/// How to predict the rows of a table.
#[derive(Args, Clone, Copy, Debug)]
pub struct Sampling {
    /// Samples of the hidden layers behind each prediction
    #[arg(long, default_value_t = PredictSettings::default().samples, value_parser = within(limits::SAMPLES))]
    pub samples: usize,
    /// Seeds the samples
    #[arg(long, default_value_t = PredictSettings::default().seed)]
    pub seed: u64,
    /// Threads to work with; 0 for all
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Where to compute
    #[arg(long, default_value = "auto", value_parser = choice::<Device>(DEVICES))]
    pub device: Device,
    /// What to do with missing values [default: as in the fit]
    #[arg(long, value_parser = choice::<Missing>(MISSING))]
    pub missing: Option<Missing>,
}

impl Sampling {
    /// What it asks of the library.
    pub fn settings(self) -> PredictSettings {
        PredictSettings { samples: self.samples, seed: self.seed, threads: self.threads }
    }

    /// The columns that a model reads, with missing values treated as was asked for here.
    pub fn schema(self, file: &ModelFile) -> Schema {
        Schema { missing: self.missing.unwrap_or(file.schema.missing), ..file.schema.clone() }
    }
}

/// `deepgp demo`.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// The folder for report, models and table
    #[arg(long, default_value = "deepgp-demo")]
    pub out: PathBuf,
    /// Threads to work with; 0 for all
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// How to talk.
    #[command(flatten)]
    pub voice: Voice,
}

/// `deepgp fit`.
#[derive(Args, Debug)]
pub struct FitArgs {
    /// CSV or TSV (also gzipped), Parquet, NPY or NPZ
    #[arg(value_parser = stdio_path::table())]
    pub table: PathBuf,
    /// Where the model goes
    #[arg(long, default_value = "model.deepgp", value_parser = stdio_path::file("a model"))]
    pub out: PathBuf,
    /// Where the state of the run is kept until it is done [default: <OUT>.checkpoint]
    #[arg(long, value_parser = stdio_path::file("a checkpoint"))]
    pub checkpoint: Option<PathBuf>,
    /// Also write a report as a web page
    #[arg(long, value_name = "FILE", value_parser = stdio_path::file("a report"))]
    pub report: Option<PathBuf>,
    /// Read options from a TOML file; a flag given here replaces the file's value, a list as a whole
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Start over although there is a checkpoint of an unfinished fit
    #[arg(long)]
    pub overwrite: bool,
    /// Everything that a configuration file can hold too.
    #[command(flatten)]
    pub options: FitOptions,
    /// How to talk.
    #[command(flatten)]
    pub voice: Voice,
}

/// `deepgp resume`.
#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// What the interrupted fit left
    pub checkpoint: PathBuf,
    /// The table, if it is no longer where it was
    #[arg(long, value_parser = stdio_path::table())]
    pub table: Option<PathBuf>,
    /// Where the model goes [default: where the fit would have put it]
    #[arg(long, value_parser = stdio_path::file("a model"))]
    pub out: Option<PathBuf>,
    /// Steps in all, those already made included [default: as in the fit]
    #[arg(long)]
    pub steps: Option<u64>,
    /// Stop after this time, e.g. 90s, 10m, 2h
    #[arg(long)]
    pub time_limit: Option<Span>,
    /// Save the state every so often: a time (30s, 5m) or a number of steps
    #[arg(long)]
    pub checkpoint_every: Option<Every>,
    /// Threads to work with; 0 for all
    #[arg(long)]
    pub threads: Option<usize>,
    /// Where to compute [default: as in the fit]; on another device than before, last digits differ
    #[arg(long, value_parser = choice::<Device>(DEVICES))]
    pub device: Option<Device>,
    /// Also write a report as a web page
    #[arg(long, value_name = "FILE", value_parser = stdio_path::file("a report"))]
    pub report: Option<PathBuf>,
    /// How to talk.
    #[command(flatten)]
    pub voice: Voice,
}

/// `deepgp predict`.
#[derive(Args, Debug)]
pub struct PredictArgs {
    /// A file that `deepgp fit` wrote
    pub model: PathBuf,
    /// The rows to predict; it may be larger than memory
    #[arg(value_parser = stdio_path::table())]
    pub table: PathBuf,
    /// Where predictions go, as CSV, or with tabs as .tsv; `-` is standard output [default: standard output]
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Write a column of the table, such as an id, beside the predictions; several with commas, or give it again
    #[arg(long, value_name = "COLUMN")]
    pub keep: Vec<String>,
    /// Quantiles to add, between 0 and 1
    #[arg(long, value_delimiter = ',', value_name = "LEVELS")]
    pub quantiles: Vec<f64>,
    /// Draws of the target to add, as columns. Each is right for a row by itself; for sums or differences of rows add --joint
    #[arg(long, default_value_t = 0, value_parser = within(limits::DRAWS))]
    pub draws: usize,
    /// Draw all rows together, each column from one function; up to 2000 rows
    #[arg(long)]
    pub joint: bool,
    /// How to predict.
    #[command(flatten)]
    pub sampling: Sampling,
    /// How to talk.
    #[command(flatten)]
    pub voice: Voice,
}

/// `deepgp evaluate`.
#[derive(Args, Debug)]
pub struct EvaluateArgs {
    /// A file that `deepgp fit` wrote
    pub model: PathBuf,
    /// Rows with known targets
    #[arg(value_parser = stdio_path::table())]
    pub table: PathBuf,
    /// How to predict.
    #[command(flatten)]
    pub sampling: Sampling,
    /// How to talk.
    #[command(flatten)]
    pub voice: Voice,
}

/// `deepgp info`.
#[derive(Args, Debug)]
pub struct InfoArgs {
    /// A file that `deepgp fit` wrote
    pub model: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `deepgp report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A file that `deepgp fit` wrote
    pub model: PathBuf,
    /// Rows with known targets to score it on [default: the fit's own test rows, if the table is still there]
    #[arg(value_parser = stdio_path::table())]
    pub table: Option<PathBuf>,
    /// Where the page goes
    #[arg(long, default_value = "report.html", value_parser = stdio_path::file("a report"))]
    pub out: PathBuf,
    /// Also save the pictures in this folder
    #[arg(long, value_name = "FOLDER")]
    pub pictures: Option<PathBuf>,
    /// As what
    #[arg(long, value_delimiter = ',', default_value = "svg,png", requires = "pictures", value_parser = ["svg", "png"])]
    pub formats: Vec<String>,
    /// How to predict.
    #[command(flatten)]
    pub sampling: Sampling,
    /// How to talk.
    #[command(flatten)]
    pub voice: Voice,
}

/// `deepgp benchmark`.
#[derive(Args, Debug)]
pub struct BenchmarkArgs {
    /// Rows of the data
    #[arg(long, default_value_t = 6554, value_parser = within(limits::ROWS))]
    pub rows: usize,
    /// Columns of the inputs; from 100 on they are bits, one in eleven set
    #[arg(long, default_value_t = 8, value_parser = within(limits::COLUMNS))]
    pub columns: usize,
    /// Rows in a minibatch
    #[arg(long, default_value_t = 10_000)]
    pub batch_size: usize,
    /// Layers before the last one
    #[arg(long, default_value_t = 1, value_parser = within(limits::HIDDEN_LAYERS))]
    pub hidden_layers: usize,
    /// Outputs of each hidden layer
    #[arg(long, default_value_t = 10, value_parser = within(limits::WIDTH))]
    pub width: usize,
    /// Inducing inputs of each layer, for mean and covariance alike (the full model)
    #[arg(long, value_name = "M", conflicts_with_all = ["mean_inducing", "covariance_inducing"],
          value_parser = within(limits::INDUCING))]
    pub inducing: Option<usize>,
    /// Inducing inputs of each layer's mean
    #[arg(long, value_name = "M", default_value_t = deepgp::MEAN_INDUCING, value_parser = within(limits::INDUCING))]
    pub mean_inducing: usize,
    /// Inducing inputs of each layer's covariance
    #[arg(long, value_name = "M", default_value_t = deepgp::COVARIANCE_INDUCING, value_parser = within(limits::INDUCING))]
    pub covariance_inducing: usize,
    /// Variables of the covariance
    #[arg(long, default_value = "whitened", value_parser = choice::<CovarianceForm>(COVARIANCE_FORMS))]
    pub covariance_form: CovarianceForm,
    /// Numbers of the work on rows
    #[arg(long, default_value = "f64", value_parser = choice::<deepgp::Precision>(&["f64", "mixed"]))]
    pub precision: deepgp::Precision,
    /// Threads to work with; 0 for all
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Where to compute
    #[arg(long, default_value = "cpu", value_parser = choice::<Device>(DEVICES))]
    pub device: Device,
    /// Models to train side by side, each from a thread of its own
    #[arg(long, conflicts_with = "predict", default_value_t = 1, value_parser = within(limits::REPLICAS))]
    pub replicas: usize,
    /// Steps to time
    #[arg(long, default_value_t = 20, value_parser = within(limits::TIMED_STEPS))]
    pub steps: usize,
    /// Also time the prediction of so many rows, with 100 samples each
    #[arg(long, value_name = "ROWS", default_value_t = 0, value_parser = within(limits::PREDICTED_ROWS))]
    pub predict: usize,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `deepgp reproduce`.
#[derive(Args, Debug)]
pub struct ReproduceArgs {
    /// The folder with kin8nm.csv.gz, protein.csv.gz, molecules.csv.gz (or .csv, .parquet); the target is the column `y`
    #[arg(long)]
    pub data: PathBuf,
    /// The folder for results, tables, figures and the page that shows them; runs that are there are not made again
    #[arg(long)]
    pub out: PathBuf,
    /// Which: the paper's tables 3 to 6 and figures; the forms of mean and covariance of its tables 1 and 2; where inducing inputs
    /// start and how they move
    #[arg(long, value_delimiter = ',', default_value = "tables", value_parser = choice::<Experiment>(EXPERIMENTS))]
    pub experiments: Vec<Experiment>,
    /// Which data [default: the paper's three; kin8nm for forms; kin8nm and molecules for inducing]
    #[arg(long, value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(DATASETS))]
    pub dataset: Option<Vec<String>>,
    /// Layers before the last one [default: 0,1,2,3,4; 1,2 for forms; 1 for inducing]
    #[arg(long, value_delimiter = ',', value_parser = within(limits::HIDDEN_LAYERS))]
    pub hidden_layers: Option<Vec<usize>>,
    /// Which models in the tables: the paper's two, and the decoupled one with a whitened covariance
    #[arg(long, value_delimiter = ',', default_value = "full,decoupled", value_parser = choice::<Model>(MODELS))]
    pub models: Vec<Model>,
    /// Random splits into 80 % training and 20 % test rows [default: 5; 1 for forms; 3 for inducing]
    #[arg(long, value_parser = clap::value_parser!(u64).range(limits::SPLITS))]
    pub splits: Option<u64>,
    /// Passes over the training rows
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..))]
    pub epochs: u64,
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
    pub time_limit: Option<Span>,
    /// How to talk.
    #[command(flatten)]
    pub voice: Voice,
}

impl ReproduceArgs {
    /// What to run, each once.
    pub fn experiments(&self) -> Vec<Experiment> {
        each_once(self.experiments.clone())
    }

    /// The models of the tables.
    pub fn models(&self) -> Vec<Model> {
        each_once(self.models.clone())
    }

    /// The datasets of an experiment.
    pub fn datasets_of(&self, experiment: Experiment) -> Vec<String> {
        let usual = || experiment.datasets().iter().map(|name| (*name).into()).collect();
        each_once(self.dataset.clone().unwrap_or_else(usual))
    }

    /// The hidden layers of its models.
    pub fn depths_of(&self, experiment: Experiment) -> Vec<usize> {
        each_once(self.hidden_layers.clone().unwrap_or_else(|| experiment.depths().to_vec()))
    }

    /// How many splits.
    pub fn splits_of(&self, experiment: Experiment) -> u64 {
        self.splits.unwrap_or(experiment.splits())
    }
}

/// The same values in the same order, without those that were there before.
fn each_once<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut kept = Vec::new();
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

/// `deepgp data fetch`.
#[derive(Args, Debug)]
pub struct FetchArgs {
    /// Which tables
    #[arg(required = true, value_name = "NAME",
          value_parser = clap::builder::PossibleValuesParser::new(RECIPES.iter().map(|recipe| recipe.name)))]
    pub names: Vec<String>,
    /// The folder for them; a table that is there is not downloaded again
    #[arg(long, default_value = "data")]
    pub out: PathBuf,
    /// Download again what is there, and replace it
    #[arg(long)]
    pub force: bool,
    /// A mirror, or a folder, that has the sources' files under their own names; what comes from it is checked just the same
    #[arg(long, value_name = "URL|FOLDER")]
    pub from: Option<Mirror>,
    /// Give up on an address when nothing has come for this time, e.g. 10s, 2m
    #[arg(long, default_value = "30s")]
    pub timeout: Span,
    /// How to talk.
    #[command(flatten)]
    pub voice: Voice,
}

/// `deepgp data list`.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}
