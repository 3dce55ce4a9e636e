//! What the device must know of a model: shapes, forms, and where each parameter stands in the flat vector.

use deepgp::likelihood::LikelihoodDescription;
use deepgp::{CovarianceForm, DeepGp, Error, Floor, Inducing, Jitter, Layer, Matrix, MeanForm, MeanFunction};

use crate::fault::{Fault, Outcome};
use crate::kernels::covariance_text::CovarianceText;

/// A whole model.
#[derive(Clone, Debug)]
pub struct Blueprint {
    pub layers: Vec<LayerPlan>,
    /// Where the noise variances stand.
    pub noise: usize,
    /// How many outputs the last layer has.
    pub outputs: usize,
    /// How many parameters there are.
    pub parameters: usize,
    pub jitter: Jitter,
    pub floor: Floor,
}

/// One layer. Columns of its kernel matrix belong to `Z_a`, then to `Z_b`, or to the one tied set.
#[derive(Clone, Debug)]
pub struct LayerPlan {
    /// `D`.
    pub width: usize,
    /// `P`.
    pub outputs: usize,
    /// `M_a`.
    pub means: usize,
    /// `M_b`.
    pub covariances: usize,
    /// The first column of `Z_b`.
    pub start: usize,
    pub mean_form: MeanForm,
    pub covariance_form: CovarianceForm,
    pub mean_function: MeanFunction,
    pub text: CovarianceText,
    /// The kernel matrices of inducing inputs: `K_aa` and `K_bb`, or one.
    pub grams: Vec<GramPlan>,
    /// Where its parameters stand: the kernel's, inducing inputs, the mean's, the covariance's.
    pub theta: usize,
    pub inducing: usize,
    pub free: usize,
    pub factor: usize,
}

/// A kernel matrix of inducing inputs.
#[derive(Clone, Copy, Debug)]
pub struct GramPlan {
    pub first: usize,
    pub order: usize,
    /// Whether a form asks for its factor.
    pub factored: bool,
    pub matrix: Matrix,
}

impl LayerPlan {
    /// Columns of the kernel matrix.
    pub fn columns(&self) -> usize {
        self.start + self.covariances
    }

    /// Whether rows are projected by `R`.
    pub fn projects(&self) -> bool {
        self.covariance_form != CovarianceForm::Dual
    }

    /// Whether the mean function hands inputs on as they are, as far as there are outputs.
    pub fn hands_on(&self) -> bool {
        matches!(self.mean_function, MeanFunction::Identity | MeanFunction::ZeroPadding)
    }

    fn new(layer: &Layer, index: usize, theta: usize) -> Outcome<Self> {
        let Some(form) = layer.kernel.form() else {
            return Err(Fault::Device(format!(
                "layer {index} has the kernel `{}`, which was not written for this device; compute this model on the CPU",
                layer.kernel.name()
            )));
        };
        let (width, outputs) = (layer.input_width(), layer.output_width());
        let (means, covariances) = (layer.inducing.mean().nrows(), layer.inducing.covariance().nrows());
        let of_mean = matches!(layer.mean.form, MeanForm::Standard | MeanForm::Whitened);
        let of_covariance = layer.covariance.form != CovarianceForm::Dual;
        let (start, grams) = match layer.inducing {
            Inducing::Tied(_) => {
                let factored = of_mean || of_covariance;
                (0, vec![GramPlan { first: 0, order: means, factored, matrix: Matrix::TiedGram }])
            }
            Inducing::Decoupled { .. } => {
                let mean = GramPlan { first: 0, order: means, factored: of_mean, matrix: Matrix::MeanGram };
                let (order, factored) = (covariances, of_covariance);
                (means, vec![mean, GramPlan { first: means, order, factored, matrix: Matrix::CovarianceGram }])
            }
        };
        let text = CovarianceText::new(&form, width);
        let inducing = theta + text.parameters;
        let free = inducing + (start + covariances) * width;
        Ok(Self {
            width,
            outputs,
            means,
            covariances,
            start,
            mean_form: layer.mean.form,
            covariance_form: layer.covariance.form,
            mean_function: layer.mean_function.clone(),
            text,
            grams,
            theta,
            inducing,
            free,
            factor: free + means * outputs,
        })
    }
}

impl Blueprint {
    /// Fails if the device cannot compute the model.
    pub fn new(model: &DeepGp) -> Outcome<Self> {
        let likelihood = model.likelihood();
        let Some(LikelihoodDescription::Gaussian { .. }) = likelihood.description() else {
            return Err(Fault::Device(format!(
                "the likelihood `{}` was not written for this device; compute this model on the CPU",
                likelihood.name()
            )));
        };
        let (mut layers, mut at) = (Vec::new(), 0);
        for (index, layer) in model.layers().iter().enumerate() {
            let plan = LayerPlan::new(layer, index, at)?;
            at = plan.factor + plan.outputs * plan.covariances * plan.covariances;
            layers.push(plan);
        }
        let outputs = model.latent_width();
        let parameters = at + outputs;
        let listed = model.parameters().last().map_or(0, |p| p.range.end);
        if listed != parameters || i32::try_from(parameters).is_err() {
            let expected = format!("{parameters} parameters, fewer than 2^31");
            return Err(Error::Shape { what: "the model on the device", expected, found: listed.to_string() }.into());
        }
        let (jitter, floor) = (model.jitter(), model.precision().floor());
        Ok(Self { layers, noise: at, outputs, parameters, jitter, floor })
    }
}
