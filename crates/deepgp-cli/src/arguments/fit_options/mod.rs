//! The options of a fit, from the command line and from a configuration file.
//!
//! What contradicts itself is refused in `check.rs`, what the rest means to the library is in `settings.rs`, and the defaults that
//! `--help` shows come from there, in `defaults.rs`.

mod check;
mod defaults;
#[cfg(test)]
mod hostile_text;
mod settings;
mod split;
mod task;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use deepgp::{
    CovarianceForm, KernelChoice, LikelihoodChoice, MeanForm, ObjectiveChoice, Precision, TransformChoice, TrendChoice,
    ValidationScore,
};
use deepgp_io::ClassWeights;
use deepgp_io::table::{ConstantInputs, DateOrder, Header, Missing, Task};
use serde::{Deserialize, Serialize};

use super::usage::Usage;
use super::value::choice::{
    CLASS_WEIGHTS, CONSTANT_INPUTS, COVARIANCE_FORMS, DATE_ORDERS, HEADERS, KERNELS, LIKELIHOODS, MEAN_FORMS, MISSING,
    OBJECTIVES, PRECISIONS, TASKS, TRANSFORMS, TRENDS, VALIDATION_SCORES, choice,
};
use super::value::duration::{CheckpointInterval, Seconds};
use super::value::limits::{self, within};
use super::value::share::share;
use super::value::stdio_path;
use super::value::test_rows::TestRows;
use crate::fit::rows_in::{PLACES, RowsIn};
use crate::model::device::{DEVICES, Device};

pub use defaults::with_default;

/// Where the model goes if nobody says so.
const OUT: &str = "model.deepgp";
/// Names of the schedules, [`RateSchedule`].
const SCHEDULES: &[&str] = &["constant", "cosine"];

/// The options of a fit that a configuration file can hold too, under the same names.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FitOptions {
    /// Where the model goes
    #[arg(long, value_parser = stdio_path::file("a model"))]
    pub out: Option<PathBuf>,
    /// Where the state of the run is kept until it is done [default: <OUT>.checkpoint]
    #[arg(long, value_parser = stdio_path::file("a checkpoint"))]
    pub checkpoint: Option<PathBuf>,
    /// Also write a report as a web page
    #[arg(long, value_name = "FILE", value_parser = stdio_path::file("a report"))]
    pub report: Option<PathBuf>,
    /// The column to predict; several with commas, or give it again
    #[arg(long, value_name = "COLUMN")]
    #[serde(deserialize_with = "one_or_several")]
    pub target: Vec<String>,
    /// What to predict: numbers (regression), classes (classification), or how often something happens (counts). With auto, a target of
    /// texts or of true and false is one of classes, and numbers are numbers
    #[arg(long, value_parser = choice::<Task>(TASKS))]
    pub task: Option<Task>,
    /// For counts, the column that says how long, or how much, was watched in each row: twice as much has twice as many events
    #[arg(long, value_name = "COLUMN")]
    pub exposure: Option<String>,
    /// How classes weigh in training: by their rows, or all alike
    #[arg(long, value_parser = choice::<ClassWeights>(CLASS_WEIGHTS))]
    pub class_weights: Option<ClassWeights>,
    /// The column that says how much each row counts, 0 or more, in training and in scores; it is no input
    #[arg(long, value_name = "COLUMN")]
    pub weights: Option<String>,
    /// The column that says which rows belong together, such as those of one patient: they stay together in test, validation and
    /// folds; it is no input
    #[arg(long, value_name = "COLUMN")]
    pub group: Option<String>,
    /// Leave a column out; several with commas, or give it again
    #[arg(long, value_name = "COLUMN")]
    #[serde(deserialize_with = "one_or_several")]
    pub ignore: Vec<String>,
    /// Take a column as categories, though it holds numbers or tells rows apart; several with commas, or give it again
    #[arg(long, value_name = "COLUMN")]
    #[serde(deserialize_with = "one_or_several")]
    pub categorical: Vec<String>,
    /// Take a column as an input, though it counts rows or tells them apart; several with commas, or give it again
    #[arg(long, value_name = "COLUMN")]
    #[serde(deserialize_with = "one_or_several")]
    pub keep_column: Vec<String>,
    /// Texts that stand for missing values, with commas between them, in every column: in place of NA, N/A, null, none, ?, - and the like,
    /// which are words in columns of words. A number stands for itself however it is written (-999)
    #[arg(long, value_name = "TEXTS", value_delimiter = ',', allow_hyphen_values = true)]
    #[serde(deserialize_with = "one_or_several")]
    pub na: Vec<String>,
    /// The order of day and month in dates such as 01/02/2024; with auto, the one that fits all of a column
    #[arg(long, value_parser = choice::<DateOrder>(DATE_ORDERS))]
    pub dates: Option<DateOrder>,
    /// Whether the first line of a text names the columns; with none they are called c1, c2, …
    #[arg(long, value_parser = choice::<Header>(HEADERS))]
    pub header: Option<Header>,
    /// What to do with missing values: refuse the table, leave out their rows, put the mean of the table's column, or that and a further
    /// input that says so (indicator). With the last two, rows without a target are left out
    #[arg(long, value_parser = choice::<Missing>(MISSING))]
    pub missing: Option<Missing>,
    /// What to do with input columns that are the same in every row: leave them out, keep them, or refuse the table
    #[arg(long, value_parser = choice::<ConstantInputs>(CONSTANT_INPUTS))]
    pub constant: Option<ConstantInputs>,
    /// What targets are transformed by before the model sees them, and predictions back: a logarithm for positive ones, a power,
    /// normal scores, or what nearest neighbours predict best under (auto)
    #[arg(long, value_parser = choice::<TransformChoice>(TRANSFORMS))]
    pub transform_target: Option<TransformChoice>,
    /// Whether targets follow dates along a line, which goes on after the last training row: with auto, where the last rows are held out
    /// (--test last:0.2), if from several moments on a line in the dates predicts later training rows better than none
    #[arg(long, value_parser = choice::<TrendChoice>(TRENDS))]
    pub trend: Option<TrendChoice>,

    /// Layers before the last one
    #[arg(long, help_heading = "Model")]
    pub hidden_layers: Option<usize>,
    /// Outputs of each hidden layer
    #[arg(long, help_heading = "Model")]
    pub width: Option<usize>,
    /// Inducing inputs of each layer, for mean and covariance alike; with a whitened covariance, the full model
    #[arg(long, value_name = "M", conflicts_with_all = ["mean_inducing", "covariance_inducing"], help_heading = "Model")]
    pub inducing: Option<usize>,
    /// Inducing inputs of each layer's mean
    #[arg(long, value_name = "M", help_heading = "Model")]
    pub mean_inducing: Option<usize>,
    /// Inducing inputs of each layer's covariance
    #[arg(long, value_name = "M", help_heading = "Model")]
    pub covariance_inducing: Option<usize>,
    /// Whether the covariance's inducing inputs are the first of the mean's, or a set of their own (--nested=false)
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          conflicts_with = "inducing", help_heading = "Model")]
    pub nested: Option<bool>,
    /// The variables of the mean
    #[arg(long, value_parser = choice::<MeanForm>(MEAN_FORMS), help_heading = "Model")]
    pub mean_form: Option<MeanForm>,
    /// The variables of the covariance
    #[arg(long, value_parser = choice::<CovarianceForm>(COVARIANCE_FORMS), help_heading = "Model")]
    pub covariance_form: Option<CovarianceForm>,
    /// The kernel of every layer
    #[arg(long, value_parser = choice::<KernelChoice>(KERNELS), help_heading = "Model")]
    pub kernel: Option<KernelChoice>,
    /// How targets arise from the function: numbers with one noise, with one that follows the inputs, or with outliers; two classes
    /// (probit, logit), any number of them (softmax), classes with an order (ordered); counts (poisson), or such that vary more
    /// (negative-binomial). Where none is given, classes take probit or softmax, and counts negative-binomial
    #[arg(long, value_parser = choice::<LikelihoodChoice>(LIKELIHOODS), help_heading = "Model")]
    pub likelihood: Option<LikelihoodChoice>,
    /// The noise variance to start with, as a share of the target's variance
    #[arg(long, help_heading = "Model")]
    pub noise: Option<f64>,

    /// Steps of the optimiser
    #[arg(long, conflicts_with = "epochs", help_heading = "Training")]
    pub steps: Option<u64>,
    /// Passes over the data, in place of steps
    #[arg(long, help_heading = "Training")]
    pub epochs: Option<u64>,
    /// Rows in a minibatch
    #[arg(long, help_heading = "Training")]
    pub batch_size: Option<usize>,
    /// Adam's learning rate
    #[arg(long, help_heading = "Training")]
    pub learning_rate: Option<f64>,
    /// How the learning rate changes: not at all, or down along half a cosine
    #[arg(long, value_parser = choice::<RateSchedule>(SCHEDULES), help_heading = "Training")]
    pub schedule: Option<RateSchedule>,
    /// What training maximises: a bound on the evidence, a tighter one (for one Gaussian noise), the log density of the rows, that
    /// for all but the mean for a while (for noise that follows the inputs), or that with learned sites in place of samples; auto
    /// is faithful where noise follows the inputs, predictive for counts, else elbo
    #[arg(long, value_parser = choice::<ObjectiveChoice>(OBJECTIVES), help_heading = "Training")]
    pub objective: Option<ObjectiveChoice>,
    /// The power of the predictive objectives, above 0 and at most 1: near 0 they are the bound; 1 where none is given, and 0.75 if faithful
    #[arg(long, value_name = "ALPHA", help_heading = "Training")]
    pub power: Option<f64>,
    /// Learned sites, for --objective sites
    #[arg(long, help_heading = "Training")]
    pub sites: Option<usize>,
    /// The factor on the divergence from the prior
    #[arg(long, value_name = "FACTOR", help_heading = "Training")]
    pub kl_weight: Option<f64>,
    /// Samples of the hidden layers for each row
    #[arg(long, help_heading = "Training")]
    pub samples: Option<usize>,
    /// Seeds everything that is drawn
    #[arg(long, help_heading = "Training")]
    pub seed: Option<u64>,
    /// Threads to work with; 0 for all. No result depends on it
    #[arg(long, help_heading = "Training")]
    pub threads: Option<usize>,
    /// Numbers of the work on rows: f64, or mixed, twice as fast and with more jitter
    #[arg(long, value_parser = choice::<Precision>(PRECISIONS), help_heading = "Training")]
    pub precision: Option<Precision>,
    /// Where to compute
    #[arg(long, value_parser = choice::<Device>(DEVICES), help_heading = "Training")]
    pub device: Option<Device>,
    /// Where rows are kept: in memory, or in a file beside the checkpoint, which goes at the end and from which each step reads its rows;
    /// auto is memory if they fit there. The model is the same
    #[arg(long, value_parser = choice::<RowsIn>(PLACES), help_heading = "Training")]
    pub rows_in: Option<RowsIn>,
    /// The share of rows to keep away from training and score the model on at the end: at random (0.2), or the last ones (last:0.2), by
    /// the table's column of dates, or by its order if it has not exactly one, or by a column that is named (last:0.2:COLUMN). The rows
    /// for --validation are then the last of the others
    #[arg(long, value_name = "SHARE", help_heading = "Training")]
    pub test: Option<TestRows>,
    /// Cross-validate: fit a model to all folds but one, score it on that one, so many times; the model that is saved is then fitted to
    /// all rows
    #[arg(long, value_name = "K", conflicts_with = "test", help_heading = "Training")]
    pub folds: Option<usize>,
    /// The share of the other rows that decides when to stop; 0 or none for no rows
    #[arg(long, value_name = "FRACTION", value_parser = share, help_heading = "Training")]
    pub validation: Option<f64>,
    /// The score by which validation rows judge
    #[arg(long, value_parser = choice::<ValidationScore>(VALIDATION_SCORES), help_heading = "Training")]
    pub validation_score: Option<ValidationScore>,
    /// Whether validation rows then say how sure predictions should be: how wide distributions of numbers, how sharp probabilities of classes
    /// (--calibrate=false leaves them as the model has them)
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          help_heading = "Training")]
    pub calibrate: Option<bool>,
    /// Looks at the validation rows, one every 50 steps, without a better result before training stops
    #[arg(long, help_heading = "Training")]
    pub patience: Option<u32>,
    /// Be done after about this time, reading, scores and report included, e.g. 90s, 10m, 2h
    #[arg(long, help_heading = "Training")]
    pub time_limit: Option<Seconds>,
    /// Save the state every so often: a time (30s, 5m) or a number of steps
    #[arg(long, help_heading = "Training")]
    pub checkpoint_every: Option<CheckpointInterval>,

    /// The most columns that the table may have [default: 50000]
    #[arg(long, value_name = "N", value_parser = within(limits::TABLE_SIZE), help_heading = "Limits")]
    pub max_columns: Option<usize>,
    /// The most bytes of one cell of text [default: 1048576]
    #[arg(long, value_name = "BYTES", value_parser = within(limits::TABLE_SIZE), help_heading = "Limits")]
    pub max_cell: Option<usize>,
    /// How many times as large as its file a compressed table may be [default: 100; 16 MiB in all where the file is below 1 MiB]
    #[arg(long, value_name = "TIMES", value_parser = within(limits::TABLE_SIZE), help_heading = "Limits")]
    pub max_expansion: Option<usize>,
}

impl FitOptions {
    /// These options, completed by those of a configuration file.
    pub fn over_config(self, path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(self) };
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        // A wrong line in a file is wrong use, as the flag of that name would be.
        let config: Self = toml::from_str(&text)
            .map_err(|error| Usage(format!("{} is not a configuration: {error}", path.display())))?;
        Ok(self.over(config))
    }

    /// Where the model goes.
    pub fn out(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| OUT.into())
    }

    /// These options, completed by those of `config`. Written out, so that the compiler asks for every new option here.
    fn over(self, config: Self) -> Self {
        let either = |own: Vec<String>, other: Vec<String>| if own.is_empty() { other } else { own };
        // A kind of model, or a length of training, given here replaces the other kind in the file.
        let decoupled = self.mean_inducing.is_some() || self.covariance_inducing.is_some() || self.nested.is_some();
        let sizes = self.inducing.is_some() || decoupled;
        let length = self.steps.is_some() || self.epochs.is_some();
        let test = self.test.is_some();
        // Who wants no validation here has no use for the file's patience.
        let config_patience = if self.validation == Some(0.0) { None } else { config.patience };
        Self {
            out: self.out.or(config.out),
            checkpoint: self.checkpoint.or(config.checkpoint),
            report: self.report.or(config.report),
            target: either(self.target, config.target),
            task: self.task.or(config.task),
            exposure: self.exposure.or(config.exposure),
            class_weights: self.class_weights.or(config.class_weights),
            weights: self.weights.or(config.weights),
            group: self.group.or(config.group),
            ignore: either(self.ignore, config.ignore),
            categorical: either(self.categorical, config.categorical),
            keep_column: either(self.keep_column, config.keep_column),
            na: either(self.na, config.na),
            dates: self.dates.or(config.dates),
            header: self.header.or(config.header),
            missing: self.missing.or(config.missing),
            constant: self.constant.or(config.constant),
            transform_target: self.transform_target.or(config.transform_target),
            trend: self.trend.or(config.trend),
            hidden_layers: self.hidden_layers.or(config.hidden_layers),
            width: self.width.or(config.width),
            inducing: if sizes { self.inducing } else { config.inducing },
            mean_inducing: if self.inducing.is_some() { None } else { self.mean_inducing.or(config.mean_inducing) },
            covariance_inducing: if self.inducing.is_some() {
                None
            } else {
                self.covariance_inducing.or(config.covariance_inducing)
            },
            nested: if self.inducing.is_some() { None } else { self.nested.or(config.nested) },
            mean_form: self.mean_form.or(config.mean_form),
            covariance_form: self.covariance_form.or(config.covariance_form),
            kernel: self.kernel.or(config.kernel),
            likelihood: self.likelihood.or(config.likelihood),
            objective: self.objective.or(config.objective),
            power: self.power.or(config.power),
            sites: self.sites.or(config.sites),
            kl_weight: self.kl_weight.or(config.kl_weight),
            validation_score: self.validation_score.or(config.validation_score),
            steps: if length { self.steps } else { config.steps },
            epochs: if length { self.epochs } else { config.epochs },
            batch_size: self.batch_size.or(config.batch_size),
            noise: self.noise.or(config.noise),
            learning_rate: self.learning_rate.or(config.learning_rate),
            schedule: self.schedule.or(config.schedule),
            samples: self.samples.or(config.samples),
            seed: self.seed.or(config.seed),
            threads: self.threads.or(config.threads),
            precision: self.precision.or(config.precision),
            device: self.device.or(config.device),
            rows_in: self.rows_in.or(config.rows_in),
            test: if self.folds.is_some() { self.test } else { self.test.or(config.test) },
            folds: if test { None } else { self.folds.or(config.folds) },
            validation: self.validation.or(config.validation),
            calibrate: self.calibrate.or(config.calibrate),
            patience: self.patience.or(config_patience),
            time_limit: self.time_limit.or(config.time_limit),
            checkpoint_every: self.checkpoint_every.or(config.checkpoint_every),
            max_columns: self.max_columns.or(config.max_columns),
            max_cell: self.max_cell.or(config.max_cell),
            max_expansion: self.max_expansion.or(config.max_expansion),
        }
    }
}

/// Deserialises names of columns: in brackets, or one without.
fn one_or_several<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a column's name, or several in brackets")]
    enum Names {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Names::deserialize(deserializer)? {
        Names::One(name) => vec![name],
        Names::Several(names) => names,
    })
}

/// A schedule of the learning rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateSchedule {
    /// The learning rate does not change.
    Constant,
    /// The learning rate falls along half a cosine.
    Cosine,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_comes_before_the_file() {
        let config: FitOptions = toml::from_str(
            "target = 'price'\nhidden-layers = 3\ninducing = 50\nepochs = 7\nmean-form = 'dual'\ntime-limit = '2m'\n\
             checkpoint-every = 20",
        )
        .unwrap();
        let own = FitOptions { steps: Some(9), mean_inducing: Some(80), width: Some(4), ..FitOptions::default() };
        let both = own.over(config);
        assert_eq!((both.steps, both.epochs, both.width, both.hidden_layers), (Some(9), None, Some(4), Some(3)));
        assert_eq!((both.inducing, both.mean_inducing), (None, Some(80)));
        assert_eq!((both.mean_form, both.time_limit), (Some(MeanForm::Dual), Some(Seconds(120.0))));
        assert_eq!(
            (both.checkpoint_every, both.target),
            (Some(CheckpointInterval::Steps(20)), vec!["price".to_string()])
        );
        // A list is replaced, not joined.
        let ignoring = |name: &str| FitOptions { ignore: vec![name.into()], ..FitOptions::default() };
        assert_eq!(ignoring("price").over(ignoring("id")).ignore, ["price"]);
        let patient = || FitOptions { patience: Some(3), ..FitOptions::default() };
        let hasty = FitOptions { validation: Some(0.0), ..FitOptions::default() };
        assert_eq!((hasty.over(patient()).patience, FitOptions::default().over(patient()).patience), (None, Some(3)));
        // Places of files too.
        let places: FitOptions = toml::from_str("out = 'a.deepgp'\nreport = 'a.html'\ncheckpoint = 'a.state'").unwrap();
        let own = FitOptions { out: Some("b.deepgp".into()), ..FitOptions::default() }.over(places);
        assert_eq!(
            (own.out(), own.report, own.checkpoint),
            ("b.deepgp".into(), Some("a.html".into()), Some("a.state".into()))
        );
        assert_eq!(FitOptions::default().out(), Path::new("model.deepgp"));
        let unknown = toml::from_str::<FitOptions>("layers = 3").unwrap_err().to_string();
        assert!(unknown.contains("unknown field `layers`") && unknown.contains("hidden-layers"), "{unknown}");
    }
}
