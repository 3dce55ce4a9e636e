//! Options of a fit, from the command line and from a configuration file, and what they mean to the library.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use deepgp::{
    ConstantColumns, CovarianceForm, FitSettings, InducingSize, KernelChoice, MeanForm, ModelSettings, Precision,
    Schedule, TrainSettings,
};
use deepgp_io::table::{Missing, Wanted};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Names of the ways to treat missing values.
pub const MISSING: &[&str] = &["reject", "drop", "mean"];
const MEAN_FORMS: &[&str] = &["whitened", "standard", "dual", "scaled-dual"];
const COVARIANCE_FORMS: &[&str] = &["whitened", "standard", "dual"];
const KERNELS: &[&str] = &["squared-exponential", "matern12", "matern32", "matern52", "rational-quadratic"];

/// The final factor of the cosine schedule.
const COSINE_LAST: f64 = 0.01;

/// Every option of a fit that a configuration file can hold too, under the same name.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FitOptions {
    /// The column to predict; give it again for several
    #[arg(long, value_name = "COLUMN")]
    pub target: Vec<String>,
    /// Leave a column out; may be given again
    #[arg(long, value_name = "COLUMN")]
    pub ignore: Vec<String>,
    /// Take a column of numbers as categories; may be given again
    #[arg(long, value_name = "COLUMN")]
    pub categorical: Vec<String>,
    /// What to do with missing values [default: reject]
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
    /// Inducing inputs of each layer's mean [default: 500, or as many as there are rows]
    #[arg(long, value_name = "M", help_heading = "Model")]
    pub mean_inducing: Option<usize>,
    /// Inducing inputs of each layer's covariance [default: 100, or as many as there are rows]
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
    #[arg(long, value_parser = ["constant", "cosine"], help_heading = "Training")]
    pub schedule: Option<String>,
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
    #[arg(long, value_parser = ["auto", "cpu", "cuda"], help_heading = "Training")]
    pub device: Option<String>,
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
        let config: Self =
            toml::from_str(&text).with_context(|| format!("{} is not a configuration", path.display()))?;
        Ok(self.over(config))
    }

    /// Written out, so that the compiler asks for every new option here.
    fn over(self, config: Self) -> Self {
        let either = |own: Vec<String>, other: Vec<String>| if own.is_empty() { other } else { own };
        // A kind of model, or a length of training, given here replaces the other kind in the file.
        let sizes = self.inducing.is_some() || self.mean_inducing.is_some() || self.covariance_inducing.is_some();
        let length = self.steps.is_some() || self.epochs.is_some();
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
            learning_rate: self.learning_rate.or(config.learning_rate),
            schedule: self.schedule.or(config.schedule),
            samples: self.samples.or(config.samples),
            seed: self.seed.or(config.seed),
            threads: self.threads.or(config.threads),
            precision: self.precision.or(config.precision),
            device: self.device.or(config.device),
            test: self.test.or(config.test),
            validation: self.validation.or(config.validation),
            patience: self.patience.or(config.patience),
            time_limit: self.time_limit.or(config.time_limit),
            checkpoint_every: self.checkpoint_every.or(config.checkpoint_every),
        }
    }

    /// What it wants of the table.
    pub fn wanted(&self) -> Result<Wanted> {
        if self.target.is_empty() {
            bail!(Usage("name the column to predict with --target COLUMN".into()));
        }
        Ok(Wanted {
            targets: self.target.clone(),
            ignore: self.ignore.clone(),
            categorical: self.categorical.clone(),
            missing: self.missing.unwrap_or(Missing::Reject),
        })
    }

    /// What it asks of the library, for so many training rows.
    pub fn settings(&self, rows: usize) -> Result<FitSettings> {
        match self.device.as_deref() {
            None | Some("auto" | "cpu") => {}
            Some(other) => {
                bail!("--device {other}: this deepgp computes on the CPU only; take --device cpu, or leave it out")
            }
        }
        for (name, fraction) in [("test", self.test), ("validation", self.validation)] {
            if let Some(fraction) = fraction
                && !(0.0..1.0).contains(&fraction)
            {
                bail!(Usage(format!("--{name} {fraction}: give a share of the rows, from 0 to below 1")));
            }
        }
        let model = ModelSettings::default();
        let seed = self.seed.unwrap_or(0);
        let train = TrainSettings::default();
        let batch_size = self.batch_size.unwrap_or(train.batch_size);
        let passes = |epochs: u64| epochs * rows.div_ceil(batch_size.max(1)) as u64;
        Ok(FitSettings {
            model: ModelSettings {
                hidden_layers: self.hidden_layers.unwrap_or(model.hidden_layers),
                width: self.width.unwrap_or(model.width),
                inducing: self.inducing_size(rows),
                mean_form: self.mean_form.unwrap_or(model.mean_form),
                covariance_form: self.covariance_form.unwrap_or(model.covariance_form),
                kernel: self.kernel.unwrap_or(model.kernel),
                precision: self.precision.unwrap_or(model.precision),
                seed,
                ..model
            },
            train: TrainSettings {
                steps: self.steps.or(self.epochs.map(passes)).unwrap_or(train.steps),
                batch_size,
                samples: self.samples.unwrap_or(train.samples),
                learning_rate: self.learning_rate.unwrap_or(train.learning_rate),
                schedule: match self.schedule.as_deref() {
                    Some("cosine") => Schedule::Cosine { last: COSINE_LAST },
                    _ => Schedule::Constant,
                },
                patience: self.patience.unwrap_or(train.patience),
                seed,
                threads: self.threads.unwrap_or(train.threads),
                ..train
            },
            validation: match self.validation {
                None => FitSettings::default().validation,
                Some(0.0) => None,
                Some(share) => Some(share),
            },
            // A column that varies in the table may well not in a part of it.
            constant_columns: ConstantColumns::Keep,
        })
    }

    fn inducing_size(&self, rows: usize) -> Option<InducingSize> {
        match (self.inducing, self.mean_inducing, self.covariance_inducing) {
            (Some(m), ..) => Some(InducingSize::Tied(m)),
            (None, None, None) => None,
            (None, mean, covariance) => Some(InducingSize::Decoupled {
                mean: mean.unwrap_or(deepgp::MEAN_INDUCING.min(rows)),
                covariance: covariance.unwrap_or(deepgp::COVARIANCE_INDUCING.min(rows)),
            }),
        }
    }
}

/// Wrong use of the command line, as against a failure: it has an exit code of its own.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// One of the library's enums by its name.
pub fn choice<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    names: &'static [&'static str],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(|name| serde_json::from_value::<T>(serde_json::Value::String(name)))
}

/// A length of time: `90`, `90s`, `1.5m`, `2h`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span(pub f64);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
            Some(number) if text.ends_with('m') => (number, 60.0),
            Some(number) if text.ends_with('h') => (number, 3600.0),
            Some(number) => (number, 1.0),
            None => (text, 1.0),
        };
        match number.trim().parse::<f64>() {
            Ok(number) if number > 0.0 && number.is_finite() => Ok(Self(number * unit)),
            _ => Err("give a time such as 90s, 10m or 2h".into()),
        }
    }
}

/// How often: after so many steps, or after so much time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Every {
    /// Steps.
    Steps(u64),
    /// Seconds.
    Seconds(f64),
}

impl Default for Every {
    fn default() -> Self {
        Self::Seconds(60.0)
    }
}

impl FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(steps) = text.parse::<u64>() {
            return if steps > 0 { Ok(Self::Steps(steps)) } else { Err("give at least 1 step".into()) };
        }
        let Span(seconds) = text.parse().map_err(|_| "give a number of steps, or a time such as 30s or 5m")?;
        Ok(Self::Seconds(seconds))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.0)
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => write!(f, "{steps}"),
            Self::Seconds(seconds) => write!(f, "{seconds}s"),
        }
    }
}

/// In files both are what they are on the command line, a text or a bare number.
macro_rules! as_text {
    ($($kind:ty),*) => {$(
        impl Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = match toml::Value::deserialize(deserializer)? {
                    toml::Value::String(text) => text,
                    other => other.to_string(),
                };
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
as_text!(Span, Every);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_steps_are_read() {
        assert_eq!("90".parse(), Ok(Span(90.0)));
        assert_eq!("1.5m".parse(), Ok(Span(90.0)));
        assert_eq!("2h".parse(), Ok(Span(7200.0)));
        assert!("0".parse::<Span>().is_err() && "-3s".parse::<Span>().is_err() && "soon".parse::<Span>().is_err());
        assert_eq!("200".parse(), Ok(Every::Steps(200)));
        assert_eq!("5m".parse(), Ok(Every::Seconds(300.0)));
        assert!("0".parse::<Every>().is_err() && "often".parse::<Every>().is_err());
    }

    #[test]
    fn the_command_line_comes_before_the_file() {
        let config: FitOptions = toml::from_str(
            "target = ['price']\nhidden-layers = 3\ninducing = 50\nepochs = 7\nmean-form = 'dual'\ntime-limit = '2m'\n\
             checkpoint-every = 20",
        )
        .unwrap();
        let own = FitOptions { steps: Some(9), mean_inducing: Some(80), width: Some(4), ..FitOptions::default() };
        let both = own.over(config);
        assert_eq!((both.steps, both.epochs, both.width, both.hidden_layers), (Some(9), None, Some(4), Some(3)));
        assert_eq!((both.inducing, both.mean_inducing), (None, Some(80)));
        assert_eq!((both.mean_form, both.time_limit), (Some(MeanForm::Dual), Some(Span(120.0))));
        assert_eq!((both.checkpoint_every, both.target), (Some(Every::Steps(20)), vec!["price".to_string()]));
        let unknown = toml::from_str::<FitOptions>("layers = 3").unwrap_err().to_string();
        assert!(unknown.contains("unknown field `layers`") && unknown.contains("hidden-layers"), "{unknown}");
    }

    #[test]
    fn epochs_are_passes_over_the_training_rows() {
        let options = FitOptions { epochs: Some(3), batch_size: Some(40), ..FitOptions::default() };
        assert_eq!(options.settings(100).unwrap().train.steps, 9);
        assert_eq!(FitOptions::default().settings(100).unwrap().train.steps, 3000);
    }
}
