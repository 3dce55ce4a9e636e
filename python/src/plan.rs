//! From a configuration to a model at its starting point.

use deepgp::build::{InducingPlan, LayerPlan};
use deepgp::kernel::KernelForm;
use deepgp::likelihood::Gaussian;
use deepgp::{
    CovarianceForm, DeepGp, Inducing, InducingSize, InducingStart, Jitter, KernelChoice, Mat, MeanForm, MeanFunction,
    ModelSettings, Precision,
};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;

use crate::arrays;
use crate::errors;

/// A layer in words; what is not said has its default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerWords {
    width: usize,
    #[serde(default = "kernel")]
    kernel: KernelWords,
    #[serde(default = "mean_form")]
    mean_form: MeanForm,
    #[serde(default = "covariance_form")]
    covariance_form: CovarianceForm,
    /// How many inducing inputs to choose; nothing where they are given as arrays.
    size: Option<InducingSize>,
    /// The number of the first rows of a given set that are the covariance's; nothing where it has a set of its own.
    head: Option<usize>,
    #[serde(default = "inducing_start")]
    inducing_start: InducingStart,
    mean_function: Option<MeanFunctionWords>,
}

/// A kernel by its name alone, or a combination.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a kernel's name, or {\"sum\": [...]} or {\"product\": [...]} of kernels")]
enum KernelWords {
    Name(KernelChoice),
    Combination(Combination),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Combination {
    Sum(Vec<KernelWords>),
    Product(Vec<KernelWords>),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MeanFunctionWords {
    Zero,
    Identity,
    ZeroPadding,
}

/// The model in words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelWords {
    layers: Vec<LayerWords>,
    noise: f64,
    precision: Precision,
    jitter: Option<Jitter>,
    seed: u64,
}

fn kernel() -> KernelWords {
    KernelWords::Name(ModelSettings::default().kernel)
}

fn mean_form() -> MeanForm {
    ModelSettings::default().mean_form
}

fn covariance_form() -> CovarianceForm {
    ModelSettings::default().covariance_form
}

fn inducing_start() -> InducingStart {
    ModelSettings::default().inducing_start
}

impl KernelWords {
    fn form(&self) -> KernelForm {
        let all = |parts: &[Self]| parts.iter().map(Self::form).collect();
        match self {
            Self::Name(choice) => KernelForm::One(*choice),
            Self::Combination(Combination::Sum(parts)) => KernelForm::Sum(all(parts)),
            Self::Combination(Combination::Product(parts)) => KernelForm::Product(all(parts)),
        }
    }
}

/// The arrays of a layer: inducing inputs (tied, or the mean's and the covariance's) and the matrix of its mean function.
#[derive(FromPyObject)]
pub struct LayerArrays<'py>(Vec<PyReadonlyArray2<'py, f64>>, Option<PyReadonlyArray2<'py, f64>>);

/// Layers, and what they are built with.
pub struct Plan {
    layers: Vec<LayerPlan>,
    noise: f64,
    precision: Precision,
    jitter: Jitter,
    seed: u64,
    inputs: Mat,
}

impl Plan {
    /// From words, arrays, and inputs to choose inducing inputs from, which may be missing where all of them are given.
    pub fn new(text: &str, given: &[LayerArrays<'_>], x: Option<Mat>) -> PyResult<Self> {
        let wrong = |reason: String| PyValueError::new_err(format!("configuration: {reason}"));
        let words: ModelWords = serde_json::from_str(text).map_err(|e| wrong(in_words(&e)))?;
        let sets = given.iter().map(|LayerArrays(sets, _)| arrays::matrices(sets)).collect::<PyResult<Vec<_>>>()?;
        let inputs = match (x, sets.first().and_then(|own| own.first())) {
            (Some(x), _) => x,
            (None, Some(first)) => first.clone(),
            (None, None) => {
                return Err(wrong("give X, to choose the first layer's inducing inputs from, or give these".into()));
            }
        };
        let mut width = inputs.ncols();
        let mut layers = Vec::new();
        for ((words, LayerArrays(_, linear)), sets) in words.layers.iter().zip(given).zip(sets) {
            let inducing = match (words.size, words.head, &sets[..]) {
                (None, None, [tied]) => InducingPlan::Given(Inducing::Tied(tied.clone())),
                (None, Some(covariance), [inputs]) => {
                    InducingPlan::Given(Inducing::Nested { inputs: inputs.clone(), covariance })
                }
                (None, None, [mean, covariance]) => {
                    InducingPlan::Given(Inducing::Decoupled { mean: mean.clone(), covariance: covariance.clone() })
                }
                (size, _, _) => InducingPlan::Chosen { size: size.unwrap_or_default(), start: words.inducing_start },
            };
            let mean_function = match (linear, words.mean_function) {
                (Some(matrix), _) => Some(MeanFunction::Linear(arrays::matrix(matrix)?)),
                (None, Some(MeanFunctionWords::Zero)) => Some(MeanFunction::Zero),
                (None, Some(MeanFunctionWords::Identity)) => Some(MeanFunction::Identity),
                (None, Some(MeanFunctionWords::ZeroPadding)) => Some(MeanFunction::ZeroPadding),
                (None, None) => None,
            };
            layers.push(LayerPlan {
                width: words.width,
                kernel: words.kernel.form().start(width).map_err(errors::library)?,
                mean_form: words.mean_form,
                covariance_form: words.covariance_form,
                inducing,
                mean_function,
            });
            width = words.width;
        }
        let jitter = words.jitter.unwrap_or(words.precision.default_jitter());
        let ModelWords { noise, precision, seed, .. } = words;
        Ok(Self { layers, noise, precision, jitter, seed, inputs })
    }

    /// Builds it. Its last layer's width is the number of targets.
    pub fn build(self) -> deepgp::Result<DeepGp> {
        let outputs = self.layers.last().map_or(1, |last| last.width);
        let likelihood = Box::new(Gaussian::new(self.noise, outputs));
        let model = DeepGp::build(self.inputs.view(), self.layers, likelihood, self.jitter, self.seed)?;
        model.with_precision(self.precision).with_jitter(self.jitter)
    }
}

/// What is wrong, without the place in a text that nobody has seen.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_string()
}
