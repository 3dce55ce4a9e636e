//! Options of a fit, from the command line and from a configuration file, and what they mean to the library.

use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use deepgp::{
    ConstantColumns, CovarianceForm, FitSettings, InducingSize, KernelChoice, MeanForm, ModelSettings, Precision,
    Schedule, TrainSettings, inducing_for,
};
use deepgp_io::table::{Missing, Source, Wanted};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::duration::{Every, Span};
use super::limits;
use super::usage::Usage;
use crate::model::device::{DEVICES, Device};

/// Names of the ways to treat missing values.
pub const MISSING: &[&str] = &["reject", "drop", "mean"];
const MEAN_FORMS: &[&str] = &["whitened", "standard", "dual", "scaled-dual"];
/// Names of the forms of the covariance.
pub const COVARIANCE_FORMS: &[&str] = &["whitened", "standard", "dual"];
const KERNELS: &[&str] = &["squared-exponential", "matern12", "matern32", "matern52", "rational-quadratic"];

/// The final factor of the cosine schedule.
const COSINE_LAST: f64 = 0.01;

/// Every option of a fit that a configuration file can hold too, under the same name.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FitOptions {
    /// The column to predict; several with commas, or give it again
    #[arg(long, value_name = "COLUMN")]
    #[serde(deserialize_with = "one_or_several")]
    pub target: Vec<String>,
    /// Leave a column out; several with commas, or give it again
    #[arg(long, value_name = "COLUMN")]
    #[serde(deserialize_with = "one_or_several")]
    pub ignore: Vec<String>,
    /// Take a column as categories, at most 1000, and half as many as there are rows; several with commas, or give it again
    #[arg(long, value_name = "COLUMN")]
    #[serde(deserialize_with = "one_or_several")]
    pub categorical: Vec<String>,
    /// What to do with missing values: refuse the table, leave out their rows, or put the mean of the table's column [default: reject]
    #[arg(long, value_parser = choice::<Missing>(MISSING))]
    pub missing: Option<Missing>,
    /// What to do with input columns that have one value only [default: reject]
    #[arg(long, value_parser = choice::<ConstantColumns>(&["reject", "keep"]))]
    pub constant: Option<ConstantColumns>,

    /// Layers before the last one [default: 2]
    #[arg(long, help_heading = "Model")]
    pub hidden_layers: Option<usize>,
    /// Outputs of each hidden layer [default: 10]
    #[arg(long, help_heading = "Model")]
    pub width: Option<usize>,
    /// Inducing inputs of each layer, for mean and covariance alike (the full model)
    #[arg(long, value_name = "M", conflicts_with_all = ["mean_inducing", "covariance_inducing"], help_heading = "Model")]
    pub inducing: Option<usize>,
    /// Inducing inputs of each layer's mean [default: one for 5 rows, at least 100 and at most 500]
    #[arg(long, value_name = "M", help_heading = "Model")]
    pub mean_inducing: Option<usize>,
    /// Inducing inputs of each layer's covariance [default: one for 8 rows, at least 60 and at most 100]
    #[arg(long, value_name = "M", help_heading = "Model")]
    pub covariance_inducing: Option<usize>,
    /// The variables of the mean [default: whitened]
    #[arg(long, value_parser = choice::<MeanForm>(MEAN_FORMS), help_heading = "Model")]
    pub mean_form: Option<MeanForm>,
    /// The variables of the covariance [default: whitened]
    #[arg(long, value_parser = choice::<CovarianceForm>(COVARIANCE_FORMS), help_heading = "Model")]
    pub covariance_form: Option<CovarianceForm>,
    /// The kernel of every layer [default: squared-exponential]
    #[arg(long, value_parser = choice::<KernelChoice>(KERNELS), help_heading = "Model")]
    pub kernel: Option<KernelChoice>,
    /// The noise variance to start with, as a share of the target's variance [default: 0.5]
    #[arg(long, help_heading = "Model")]
    pub noise: Option<f64>,

    /// Steps of the optimiser [default: 3000]
    #[arg(long, conflicts_with = "epochs", help_heading = "Training")]
    pub steps: Option<u64>,
    /// Passes over the data, in place of steps
    #[arg(long, help_heading = "Training")]
    pub epochs: Option<u64>,
    /// Rows in a minibatch [default: 10000]
    #[arg(long, help_heading = "Training")]
    pub batch_size: Option<usize>,
    /// Adam's learning rate [default: 0.01]
    #[arg(long, help_heading = "Training")]
    pub learning_rate: Option<f64>,
    /// How the learning rate changes: not at all, or down along half a cosine [default: constant]
    #[arg(long, value_parser = choice::<Rate>(&["constant", "cosine"]), help_heading = "Training")]
    pub schedule: Option<Rate>,
    /// Samples of the hidden layers for each row [default: 1]
    #[arg(long, help_heading = "Training")]
    pub samples: Option<usize>,
    /// Seeds everything that is drawn [default: 0]
    #[arg(long, help_heading = "Training")]
    pub seed: Option<u64>,
    /// Threads to work with; 0 for all. No result depends on it [default: 0]
    #[arg(long, help_heading = "Training")]
    pub threads: Option<usize>,
    /// Numbers of the work on rows: f64, or mixed, twice as fast and with more jitter [default: f64]
    #[arg(long, value_parser = choice::<Precision>(&["f64", "mixed"]), help_heading = "Training")]
    pub precision: Option<Precision>,
    /// Where to compute [default: auto]
    #[arg(long, value_parser = choice::<Device>(DEVICES), help_heading = "Training")]
    pub device: Option<Device>,
    /// The share of rows to keep away from training and score the model on at the end
    #[arg(long, value_name = "FRACTION", help_heading = "Training")]
    pub test: Option<f64>,
    /// The share of the other rows that decides when to stop; 0 for none [default: 0.1]
    #[arg(long, value_name = "FRACTION", help_heading = "Training")]
    pub validation: Option<f64>,
    /// Looks at the validation rows, one every 50 steps, without a better result before training stops [default: 10]
    #[arg(long, help_heading = "Training")]
    pub patience: Option<u32>,
    /// Stop after this time, e.g. 90s, 10m, 2h
    #[arg(long, help_heading = "Training")]
    pub time_limit: Option<Span>,
    /// Save the state every so often: a time (30s, 5m) or a number of steps [default: 60s]
    #[arg(long, help_heading = "Training")]
    pub checkpoint_every: Option<Every>,
}

impl FitOptions {
    /// These options, and where there are none those of a configuration file.
    pub fn over_config(self, path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(self) };
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        // A wrong line in a file is wrong use, as the flag of that name would be.
        let config: Self = toml::from_str(&text)
            .map_err(|error| Usage(format!("{} is not a configuration: {error}", path.display())))?;
        Ok(self.over(config))
    }

    /// Written out, so that the compiler asks for every new option here.
    fn over(self, config: Self) -> Self {
        let either = |own: Vec<String>, other: Vec<String>| if own.is_empty() { other } else { own };
        // A kind of model, or a length of training, given here replaces the other kind in the file.
        let sizes = self.inducing.is_some() || self.mean_inducing.is_some() || self.covariance_inducing.is_some();
        let length = self.steps.is_some() || self.epochs.is_some();
        // Who wants no validation here has no use for the file's patience.
        let config_patience = if self.validation == Some(0.0) { None } else { config.patience };
        Self {
            target: either(self.target, config.target),
            ignore: either(self.ignore, config.ignore),
            categorical: either(self.categorical, config.categorical),
            missing: self.missing.or(config.missing),
            constant: self.constant.or(config.constant),
            hidden_layers: self.hidden_layers.or(config.hidden_layers),
            width: self.width.or(config.width),
            inducing: if sizes { self.inducing } else { config.inducing },
            mean_inducing: if self.inducing.is_some() { None } else { self.mean_inducing.or(config.mean_inducing) },
            covariance_inducing: if self.inducing.is_some() {
                None
            } else {
                self.covariance_inducing.or(config.covariance_inducing)
            },
            mean_form: self.mean_form.or(config.mean_form),
            covariance_form: self.covariance_form.or(config.covariance_form),
            kernel: self.kernel.or(config.kernel),
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
            test: self.test.or(config.test),
            validation: self.validation.or(config.validation),
            patience: self.patience.or(config_patience),
            time_limit: self.time_limit.or(config.time_limit),
            checkpoint_every: self.checkpoint_every.or(config.checkpoint_every),
        }
    }

    /// Fails if the options contradict each other, or make no sense whatever the table.
    pub fn check(&self) -> Result<()> {
        let wrong = |text: String| Err(Usage(text).into());
        if self.target.is_empty() {
            return wrong("name the column to predict with --target COLUMN".into());
        }
        if self.inducing.is_some() && (self.mean_inducing.is_some() || self.covariance_inducing.is_some()) {
            return wrong(
                "--inducing is for mean and covariance alike: leave out --mean-inducing and --covariance-inducing"
                    .into(),
            );
        }
        if self.steps.is_some() && self.epochs.is_some() {
            return wrong("give either --steps or --epochs".into());
        }
        for (name, fraction) in [("test", self.test), ("validation", self.validation)] {
            if let Some(fraction) = fraction
                && !(0.0..1.0).contains(&fraction)
            {
                return wrong(format!("--{name} {fraction}: give a share of the rows, from 0 to below 1"));
            }
        }
        if let (Some(patience), Some(0.0)) = (self.patience, self.validation) {
            return wrong(format!(
                "--patience {patience} is for validation rows, of which --validation 0 leaves none: leave out one of the two"
            ));
        }
        for (name, size, sizes) in [
            ("hidden-layers", self.hidden_layers, limits::HIDDEN_LAYERS),
            ("width", self.width, limits::WIDTH),
            ("inducing", self.inducing, limits::INDUCING),
            ("mean-inducing", self.mean_inducing, limits::INDUCING),
            ("covariance-inducing", self.covariance_inducing, limits::INDUCING),
            ("samples", self.samples, limits::SAMPLES),
        ] {
            if let Some(size) = size
                && let Err(advice) = limits::allowed(size, &sizes)
            {
                return wrong(format!("--{name} {size}: {advice}"));
            }
        }
        if let Some(noise) = self.noise.filter(|noise| !(1e-6..=1.0).contains(noise)) {
            return wrong(format!("--noise {noise}: give a share of the target's variance, from 1e-6 to 1"));
        }
        for (name, count) in [("steps", self.steps), ("epochs", self.epochs)] {
            if count == Some(0) {
                return wrong(format!("--{name} 0: give at least 1"));
            }
        }
        Ok(self.settings(1).train.check()?)
    }

    /// What it wants of the table.
    pub fn wanted(&self, table: &Source) -> Wanted {
        Wanted {
            targets: table.named(&self.target),
            ignore: table.named(&self.ignore),
            categorical: table.named(&self.categorical),
            missing: self.missing.unwrap_or(Missing::Reject),
        }
    }

    /// What it asks of the library, for so many rows, those for early stopping included.
    pub fn settings(&self, rows: usize) -> FitSettings {
        let validation = match self.validation {
            None => FitSettings::default().validation,
            Some(0.0) => None,
            share => share,
        };
        let rows = FitSettings { validation, ..FitSettings::default() }.training_rows(rows);
        let model = ModelSettings::default();
        let seed = self.seed.unwrap_or(0);
        let train = TrainSettings::default();
        let batch_size = self.batch_size.unwrap_or(train.batch_size);
        let passes = |epochs: u64| epochs.saturating_mul(rows.div_ceil(batch_size.max(1)) as u64);
        FitSettings {
            model: ModelSettings {
                hidden_layers: self.hidden_layers.unwrap_or(model.hidden_layers),
                width: self.width.unwrap_or(model.width),
                inducing: self.inducing_size(rows),
                mean_form: self.mean_form.unwrap_or(model.mean_form),
                covariance_form: self.covariance_form.unwrap_or(model.covariance_form),
                kernel: self.kernel.unwrap_or(model.kernel),
                noise: self.noise.unwrap_or(model.noise),
                precision: self.precision.unwrap_or(model.precision),
                seed,
                ..model
            },
            train: TrainSettings {
                steps: self.steps.or(self.epochs.map(passes)).unwrap_or(train.steps),
                batch_size,
                samples: self.samples.unwrap_or(train.samples),
                learning_rate: self.learning_rate.unwrap_or(train.learning_rate),
                schedule: match self.schedule {
                    Some(Rate::Cosine) => Schedule::Cosine { last: COSINE_LAST },
                    None | Some(Rate::Constant) => Schedule::Constant,
                },
                patience: self.patience.unwrap_or(train.patience),
                seed,
                threads: self.threads.unwrap_or(train.threads),
                ..train
            },
            validation,
            // A column that varies in the table may well not in a part of it.
            constant_columns: ConstantColumns::Keep,
        }
    }

    fn inducing_size(&self, rows: usize) -> Option<InducingSize> {
        let (usual_mean, usual_covariance) = inducing_for(rows);
        match (self.inducing, self.mean_inducing, self.covariance_inducing) {
            (Some(m), ..) => Some(InducingSize::Tied(m)),
            (None, None, None) => None,
            (None, mean, covariance) => Some(InducingSize::Decoupled {
                mean: mean.unwrap_or(usual_mean),
                covariance: covariance.unwrap_or(usual_covariance),
            }),
        }
    }
}

/// In a file one column may stand without brackets.
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

/// How the learning rate changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rate {
    /// Not at all.
    Constant,
    /// Down along half a cosine.
    Cosine,
}

/// One of the library's enums by its name.
pub fn choice<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    names: &'static [&'static str],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(|name| serde_json::from_value::<T>(serde_json::Value::String(name)))
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
        assert_eq!((both.mean_form, both.time_limit), (Some(MeanForm::Dual), Some(Span(120.0))));
        assert_eq!((both.checkpoint_every, both.target), (Some(Every::Steps(20)), vec!["price".to_string()]));
        // A list is replaced, not joined.
        let ignoring = |name: &str| FitOptions { ignore: vec![name.into()], ..FitOptions::default() };
        assert_eq!(ignoring("price").over(ignoring("id")).ignore, ["price"]);
        let patient = || FitOptions { patience: Some(3), ..FitOptions::default() };
        let hasty = FitOptions { validation: Some(0.0), ..FitOptions::default() };
        assert_eq!((hasty.over(patient()).patience, FitOptions::default().over(patient()).patience), (None, Some(3)));
        let unknown = toml::from_str::<FitOptions>("layers = 3").unwrap_err().to_string();
        assert!(unknown.contains("unknown field `layers`") && unknown.contains("hidden-layers"), "{unknown}");
    }

    #[test]
    fn epochs_are_passes_over_the_training_rows() {
        let options = FitOptions { epochs: Some(3), batch_size: Some(40), ..FitOptions::default() };
        let options = FitOptions { validation: Some(0.0), ..options };
        assert_eq!(options.settings(100).train.steps, 9);
        assert_eq!(FitOptions::default().settings(100).train.steps, 3000);
        let endless = FitOptions { epochs: Some(u64::MAX), batch_size: Some(7), ..FitOptions::default() };
        assert_eq!(endless.settings(100).train.steps, u64::MAX);
    }

    #[test]
    fn what_contradicts_itself_is_wrong_use() {
        let target = || FitOptions { target: vec!["y".into()], ..FitOptions::default() };
        target().check().unwrap();
        let wrong = |options: FitOptions| {
            let error = crate::arguments::usage::in_words_of_flags(options.check().unwrap_err());
            assert!(error.is::<Usage>(), "{error}");
            error.to_string()
        };
        assert!(wrong(FitOptions::default()).contains("--target"));
        assert!(wrong(FitOptions { inducing: Some(5), mean_inducing: Some(5), ..target() }).contains("alike"));
        assert!(wrong(FitOptions { steps: Some(5), epochs: Some(5), ..target() }).contains("--epochs"));
        assert!(wrong(FitOptions { test: Some(1.5), ..target() }).contains("--test 1.5"));
        assert!(wrong(FitOptions { validation: Some(-0.1), ..target() }).contains("--validation"));
        assert!(wrong(FitOptions { covariance_inducing: Some(0), ..target() }).contains("at least 1"));
        assert_eq!(wrong(FitOptions { samples: Some(0), ..target() }), "--samples 0: give at least 1");
        let hasty = FitOptions { patience: Some(3), validation: Some(0.0), ..target() };
        assert!(wrong(hasty).contains("leave out one of the two"));
        let deep: FitOptions = toml::from_str("target = 'y'\nhidden-layers = 1001").unwrap();
        assert_eq!(wrong(deep), "--hidden-layers 1001: give at most 1000");
        assert!(wrong(FitOptions { learning_rate: Some(-1.0), ..target() }).contains("--learning-rate -1"));
        assert!(wrong(FitOptions { noise: Some(0.0), ..target() }).contains("--noise 0"));
        assert!(wrong(FitOptions { batch_size: Some(0), ..target() }).contains("--batch-size 0: give at least 1"));
        let cosin = toml::from_str::<FitOptions>("schedule = 'cosin'").unwrap_err().to_string();
        assert!(cosin.contains("cosin") && cosin.contains("constant"), "{cosin}");
    }
}
