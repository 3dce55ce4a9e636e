//! The command line: the arguments of every command.
//!
//! Each struct is one command's. The doc comments of its fields are the texts of `--help`. What a fit's options mean to
//! the library is in [`fit_options`], how single values are read is in [`value`].

mod benchmark;
mod compare;
mod data;
mod demo;
mod explain;
mod export;
mod fit;
pub mod fit_options;
mod info;
pub mod paths;
mod predict;
mod report;
mod reproduce;
mod serve;
mod table_limits;
mod tune;
pub mod unknown_option;
pub mod usage;
pub mod value;

use clap::{Parser, Subcommand};

pub use benchmark::BenchmarkArgs;
pub use compare::CompareArgs;
pub use data::{DataCommand, FetchArgs, ListArgs};
pub use demo::DemoArgs;
pub use explain::ExplainArgs;
pub use export::ExportArgs;
pub use fit::{FitArgs, ResumeArgs};
pub use info::InfoArgs;
pub use predict::{EvaluateArgs, PredictArgs};
pub use report::ReportArgs;
pub use reproduce::ReproduceArgs;
pub use serve::ServeArgs;
pub use table_limits::TableLimitOptions;
#[cfg(test)]
pub use tune::METRICS;
pub use tune::TuneArgs;

/// Deep Gaussian processes: from a table to a calibrated model, predictions with honest uncertainty, and a report.
#[derive(Debug, Parser)]
#[command(name = "deepgp", version, max_term_width = 100)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands of `deepgp`, with their arguments.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train models on a simulated robot arm and compare them, in about a minute
    #[command(allow_negative_numbers = true, after_help = "Example:\n  deepgp demo --out demo")]
    Demo(DemoArgs),
    /// Fit a model to a table
    #[command(
        allow_negative_numbers = true,
        mut_args(fit_options::with_default),
        after_help = "Examples:\n  deepgp fit houses.csv --target price --test 0.2\n  \
        deepgp fit houses.parquet --target price --hidden-layers 1 --time-limit 10m --out price.deepgp"
    )]
    Fit(Box<FitArgs>),
    /// Search for better settings than those of fit, and fit a model with the best
    #[command(
        allow_negative_numbers = true,
        mut_args(fit_options::with_default),
        mut_arg("folds", tune::folds_that_judge),
        after_help = "Examples:\n  deepgp tune houses.csv --target price --test 0.2 --time-limit 10m\n  \
        deepgp tune houses.csv --target price --candidates 18 --steps 1000 --search kernel=matern32,matern52"
    )]
    Tune(Box<TuneArgs>),
    /// Go on with a fit that was interrupted
    #[command(allow_negative_numbers = true, after_help = "Example:\n  deepgp resume model.deepgp.checkpoint")]
    Resume(ResumeArgs),
    /// Predict the rows of a table
    #[command(
        after_help = "Example:\n  deepgp predict model.deepgp new.csv --keep id --interval 0.5,0.9 --out predictions.csv"
    )]
    Predict(PredictArgs),
    /// Answer requests for predictions over HTTP
    #[command(after_help = "Example:\n  deepgp serve model.deepgp --address 127.0.0.1:8080\n  \
        curl http://127.0.0.1:8080/predict -d '{\"rows\": [{\"area\": 74, \"town\": \"York\"}], \"interval\": 0.9}'")]
    Serve(ServeArgs),
    /// Write a model for programs without this one, as an ONNX graph
    #[command(after_help = "Example:\n  deepgp export model.deepgp --onnx model.onnx")]
    Export(ExportArgs),
    /// Score a model on the rows of a table whose targets are known
    #[command(allow_negative_numbers = true, after_help = "Example:\n  deepgp evaluate model.deepgp test.csv --json")]
    Evaluate(EvaluateArgs),
    /// Tell which of two models is better on the same rows, by how much, and where
    #[command(
        allow_negative_numbers = true,
        after_help = "Example:\n  deepgp compare shallow.deepgp deep.deepgp test.csv"
    )]
    Compare(CompareArgs),
    /// Tell how much each column of a table matters to a model's predictions
    #[command(allow_negative_numbers = true, after_help = "Example:\n  deepgp explain model.deepgp new.csv")]
    Explain(ExplainArgs),
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

impl Command {
    /// Whether the command prints a JSON object for scripts.
    pub fn is_for_scripts(&self) -> bool {
        match self {
            Self::Demo(args) => args.voice.json,
            Self::Fit(args) => args.voice.json,
            Self::Tune(args) => args.voice.json,
            Self::Resume(args) => args.voice.json,
            Self::Predict(args) => args.voice.json,
            Self::Serve(args) => args.voice.json,
            Self::Export(args) => args.voice.json,
            Self::Evaluate(args) => args.voice.json,
            Self::Compare(args) => args.voice.json,
            Self::Explain(args) => args.voice.json,
            Self::Info(args) => args.json,
            Self::Report(args) => args.voice.json,
            Self::Benchmark(args) => args.json,
            Self::Reproduce(args) => args.voice.json,
            Self::Data(DataCommand::Fetch(args)) => args.voice.json,
            Self::Data(DataCommand::List(args)) => args.json,
            Self::Completions { .. } => false,
        }
    }
}
