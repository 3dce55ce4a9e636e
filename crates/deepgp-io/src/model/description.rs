//! The model without its numbers: what a file says in words, so that the numbers can be put in their places.

use std::collections::BTreeMap;

use deepgp::kernel::KernelForm;
use deepgp::likelihood::LikelihoodDescription;
use deepgp::params::Constraint;
use deepgp::{
    CovarianceForm, DeepGp, Inducing, Jitter, Layer, LayerCovariance, LayerMean, Mat, MeanForm, MeanFunction,
    Precision, SharedParameter, SharedParameters, Sites,
};
use serde::{Deserialize, Serialize};

use super::ModelError;

/// Named arrays with their shapes.
pub(super) type Arrays = BTreeMap<String, Array>;

/// One array, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

impl Array {
    pub fn vector(values: &[f64]) -> Self {
        Self { shape: vec![values.len()], values: values.to_vec() }
    }

    pub fn matrix(m: &Mat) -> Self {
        Self { shape: vec![m.nrows(), m.ncols()], values: m.as_slice().to_vec() }
    }
}

/// Architecture and settings of a [`DeepGp`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ModelDescription {
    precision: Precision,
    jitter: Jitter,
    likelihood: LikelihoodDescription,
    layers: Vec<LayerDescription>,
    /// Names of the parameters that training leaves alone.
    frozen: Vec<String>,
    /// Parameters that belong to no layer; none in files of version 0.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shared: Vec<SharedDescription>,
    /// The number of learned sites; none in files of version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sites: Option<usize>,
}

/// The most parameters that belong to no layer.
const MOST_SHARED: usize = 100;

/// A parameter that belongs to no layer; its shape is that of its array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SharedDescription {
    name: String,
    constraint: SharedConstraint,
}

/// Which numbers such a parameter may hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SharedConstraint {
    Real,
    Positive { floor: f64 },
    LowerTriangular { order: usize },
}

impl From<Constraint> for SharedConstraint {
    fn from(constraint: Constraint) -> Self {
        match constraint {
            Constraint::Real => Self::Real,
            Constraint::Positive { floor } => Self::Positive { floor },
            Constraint::LowerTriangular { order } => Self::LowerTriangular { order },
        }
    }
}

impl From<SharedConstraint> for Constraint {
    fn from(constraint: SharedConstraint) -> Self {
        match constraint {
            SharedConstraint::Real => Self::Real,
            SharedConstraint::Positive { floor } => Self::Positive { floor },
            SharedConstraint::LowerTriangular { order } => Self::LowerTriangular { order },
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct LayerDescription {
    kernel: KernelForm,
    mean_function: MeanFunctionKind,
    inducing: InducingKind,
    mean_form: MeanForm,
    covariance_form: CovarianceForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MeanFunctionKind {
    Zero,
    Identity,
    ZeroPadding,
    Linear,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum InducingKind {
    Tied,
    Decoupled,
    Nested {
        /// The length of the head that serves the covariance, `M_b`.
        covariance: usize,
    },
}

impl ModelDescription {
    /// Describes `model`, and adds its numbers to `arrays`.
    pub fn of(model: &DeepGp, arrays: &mut Arrays) -> Result<Self, ModelError> {
        let mut layers = Vec::new();
        for (i, layer) in model.layers().iter().enumerate() {
            let unknown = || ModelError::Unknown { what: format!("the kernel `{}` of layer {i}", layer.kernel.name()) };
            let mean_function = match &layer.mean_function {
                MeanFunction::Zero => MeanFunctionKind::Zero,
                MeanFunction::Identity => MeanFunctionKind::Identity,
                MeanFunction::ZeroPadding => MeanFunctionKind::ZeroPadding,
                MeanFunction::Linear(w) => {
                    arrays.insert(format!("layers.{i}.mean_function"), Array::matrix(w));
                    MeanFunctionKind::Linear
                }
            };
            layers.push(LayerDescription {
                kernel: layer.kernel.form().ok_or_else(unknown)?,
                mean_function,
                inducing: match layer.inducing {
                    Inducing::Tied(_) => InducingKind::Tied,
                    Inducing::Decoupled { .. } => InducingKind::Decoupled,
                    Inducing::Nested { covariance, .. } => InducingKind::Nested { covariance },
                },
                mean_form: layer.mean.form,
                covariance_form: layer.covariance.form,
            });
        }
        let unknown = || ModelError::Unknown { what: format!("the likelihood `{}`", model.likelihood().name()) };
        let likelihood = model.likelihood().description().ok_or_else(unknown)?;
        let mut frozen = Vec::new();
        for parameter in model.parameters() {
            if parameter.frozen {
                frozen.push(parameter.name.clone());
            }
            arrays.insert(parameter.name, Array { shape: parameter.shape, values: parameter.values });
        }
        let shared = model.shared().list().iter();
        let shared = shared.map(|own| SharedDescription { name: own.name.clone(), constraint: own.constraint.into() });
        let (precision, jitter) = (model.precision(), model.jitter());
        let sites = model.sites().map(Sites::count);
        Ok(Self { precision, jitter, likelihood, layers, frozen, shared: shared.collect(), sites })
    }

    /// The model again. The error says what does not fit.
    pub fn build(&self, arrays: &Arrays) -> Result<DeepGp, String> {
        let layers: Vec<Layer> =
            self.layers.iter().enumerate().map(|(i, layer)| layer.build(i, arrays)).collect::<Result<_, _>>()?;
        // Before anything is made of a size that a file only claims.
        let Some(last) = layers.last() else { return Err("it has no layers".into()) };
        let (reads, has) = (self.likelihood.latent_width(), last.output_width());
        if reads != has {
            return Err(format!("its likelihood reads {reads} functions, but its last layer has {has}"));
        }
        let model = DeepGp::new(layers, self.likelihood.build()).map_err(|e| e.to_string())?;
        let model = model.with_shared(self.build_shared(arrays)?).map_err(|e| e.to_string())?;
        let sites = self.build_sites(arrays)?;
        let mut model = model.with_sites(sites).map_err(|e| e.to_string())?;
        for parameter in model.parameters() {
            let array = find(arrays, &parameter.name)?;
            if array.shape != parameter.shape {
                let (name, found, expected) = (&parameter.name, &array.shape, &parameter.shape);
                return Err(format!("the array `{name}` has the shape {found:?}, not {expected:?}"));
            }
            model.set_parameter(&parameter.name, &array.values).map_err(|e| e.to_string())?;
        }
        for name in &self.frozen {
            model.freeze(name).map_err(|e| e.to_string())?;
        }
        model.with_precision(self.precision).with_jitter(self.jitter).map_err(|e| e.to_string())
    }
}

impl ModelDescription {
    /// The learned sites, if the file says that there are some.
    fn build_sites(&self, arrays: &Arrays) -> Result<Option<Sites>, String> {
        let Some(count) = self.sites else { return Ok(None) };
        let hidden = self.layers.len().saturating_sub(1);
        let points: Vec<Mat> =
            (0..hidden).map(|l| matrix(arrays, &format!("sites.points.{l}"))).collect::<Result<_, _>>()?;
        let logits = vector(arrays, "sites.logits")?;
        if logits.len() != count {
            return Err(format!("it has {} weights for {count} sites", logits.len()));
        }
        Sites::new(points, logits).map(Some).map_err(|e| e.to_string())
    }

    fn build_shared(&self, arrays: &Arrays) -> Result<SharedParameters, String> {
        let mut all = SharedParameters::default();
        if self.shared.len() > MOST_SHARED {
            return Err(format!("it has more than {MOST_SHARED} parameters that belong to no layer"));
        }
        for (i, SharedDescription { name, constraint }) in self.shared.iter().enumerate() {
            if self.shared[..i].iter().any(|before| before.name == *name) {
                return Err(format!("the parameter `shared.{name}` is described twice"));
            }
            let Array { shape, values } = find(arrays, &format!("shared.{name}"))?;
            let constraint = Constraint::from(*constraint);
            if let Constraint::LowerTriangular { order: 0 } = constraint {
                return Err(format!("the parameter `{name}` has triangles without rows"));
            }
            all = all.with(SharedParameter { name: name.clone(), constraint, shape: shape.clone() }, values);
        }
        Ok(all)
    }
}

impl LayerDescription {
    fn build(&self, i: usize, arrays: &Arrays) -> Result<Layer, String> {
        let named = |name: &str| matrix(arrays, &format!("layers.{i}.{name}"));
        let inducing = match self.inducing {
            InducingKind::Tied => Inducing::Tied(named("inducing")?),
            InducingKind::Decoupled => {
                Inducing::Decoupled { mean: named("mean_inducing")?, covariance: named("covariance_inducing")? }
            }
            InducingKind::Nested { covariance } => {
                let inputs = named("inducing")?;
                if covariance > inputs.nrows() {
                    return Err(format!("layer {i} has a head of {covariance} in {} inducing inputs", inputs.nrows()));
                }
                Inducing::Nested { inputs, covariance }
            }
        };
        if [inducing.mean().view(), inducing.covariance()].iter().any(|z| z.nrows() == 0 || z.ncols() == 0) {
            return Err(format!("layer {i} has no inducing inputs"));
        }
        let mean_function = match self.mean_function {
            MeanFunctionKind::Zero => MeanFunction::Zero,
            MeanFunctionKind::Identity => MeanFunction::Identity,
            MeanFunctionKind::ZeroPadding => MeanFunction::ZeroPadding,
            MeanFunctionKind::Linear => MeanFunction::Linear(named("mean_function")?),
        };
        Ok(Layer {
            kernel: self.kernel.start(inducing.mean().ncols()).map_err(|e| e.to_string())?,
            mean_function,
            mean: LayerMean { form: self.mean_form, free: named("mean.free")? },
            covariance: LayerCovariance { form: self.covariance_form, factor: named("covariance.factor")? },
            inducing,
        })
    }
}

pub(super) fn find<'a>(arrays: &'a Arrays, name: &str) -> Result<&'a Array, String> {
    arrays.get(name).ok_or_else(|| format!("the array `{name}` is missing"))
}

/// An array's numbers, whatever its shape.
pub(super) fn vector(arrays: &Arrays, name: &str) -> Result<Vec<f64>, String> {
    Ok(find(arrays, name)?.values.clone())
}

/// An array as a matrix; of three axes, the first two are one below the other.
fn matrix(arrays: &Arrays, name: &str) -> Result<Mat, String> {
    let Array { shape, values } = find(arrays, name)?;
    let (rows, columns) = match shape[..] {
        [rows, columns] => (rows, columns),
        [blocks, rows, columns] => (blocks.saturating_mul(rows), columns),
        _ => return Err(format!("the array `{name}` has {} axes", shape.len())),
    };
    Mat::from_vec(rows, columns, values.clone()).map_err(|e| e.to_string())
}
