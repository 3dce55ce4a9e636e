//! What the device must know of a model: shapes, forms, and where each parameter stands in the flat vector.

use std::ops::Range;

use deepgp::likelihood::Likelihood;
use deepgp::{CovarianceForm, DeepGp, Floor, Inducing, Jitter, Layer, Mat, Matrix, MeanForm, MeanFunction};

use super::parameter_list::{ParameterList, joined, mismatch};
use crate::fault::{Fault, Outcome};
use crate::source::covariance::CovarianceText;
use crate::source::data_term::LikelihoodText;

/// A model without its numbers.
#[derive(Clone, Debug)]
pub struct Blueprint {
    pub layers: Vec<LayerBlueprint>,
    pub likelihood: LikelihoodBlueprint,
    /// Where the logits of learned sites' weights stand, if there are sites.
    pub logits: Option<Range<usize>>,
    /// How many parameters there are.
    pub parameters: usize,
    pub jitter: Jitter,
    pub floor: Floor,
}

/// A likelihood without its numbers.
#[derive(Clone, Debug)]
pub struct LikelihoodBlueprint {
    pub text: LikelihoodText,
    /// Latent functions that it reads: the outputs of the last layer.
    pub latents: usize,
    /// Columns of `y`.
    pub observed: usize,
    /// Where its parameters stand.
    pub parameters: Range<usize>,
}

/// A layer without its numbers. Columns of its kernel matrix belong to `Z_a`, then to `Z_b` where that is a set of its own.
#[derive(Clone, Debug)]
pub struct LayerBlueprint {
    /// `D`.
    pub width: usize,
    /// `P`.
    pub outputs: usize,
    /// `M_a`.
    pub means: usize,
    /// `M_b`.
    pub covariances: usize,
    /// The first column of `Z_b`: after `Z_a`, or the first of all where the sets are one.
    pub start: usize,
    pub mean_form: MeanForm,
    pub covariance_form: CovarianceForm,
    pub mean_function: MeanFunction,
    pub text: CovarianceText,
    /// The kernel matrices of inducing inputs: `K_aa` and `K_bb`, or one.
    pub grams: Grams<GramBlueprint>,
    /// Where the covariance function's parameters stand.
    pub theta: Range<usize>,
    /// Where inducing inputs stand: those of the mean, then those of the covariance, or the one set for both.
    pub inducing: Range<usize>,
    /// Where the mean's `free` stands.
    pub free: Range<usize>,
    /// Where the covariance's `factor` stands.
    pub factor: Range<usize>,
    /// Where the points of learned sites stand that take the place of noise of the layer's outputs, `[Q, P]`, if there are sites.
    pub points: Option<Range<usize>>,
}

/// A kernel matrix of inducing inputs.
#[derive(Clone, Copy, Debug)]
pub struct GramBlueprint {
    /// The first of its inducing inputs among all of the layer.
    pub first: usize,
    /// How many there are.
    pub order: usize,
    /// Whether a form asks for its Cholesky factor.
    pub factored: bool,
    pub matrix: Matrix,
}

/// Something for each kernel matrix of a layer's inducing inputs.
#[derive(Clone, Copy, Debug)]
pub enum Grams<G> {
    /// One for mean and covariance: `K_aa`, whose leading block is the covariance's `K_bb`; all of it in a tied layer.
    Shared(G),
    /// Each has its own.
    Decoupled { mean: G, covariance: G },
}

impl<G> Grams<G> {
    /// The mean's.
    pub fn mean(&self) -> &G {
        match self {
            Self::Shared(one) => one,
            Self::Decoupled { mean, .. } => mean,
        }
    }

    /// The covariance's, or the one of which its matrix is the leading block.
    pub fn covariance(&self) -> &G {
        match self {
            Self::Shared(one) => one,
            Self::Decoupled { covariance, .. } => covariance,
        }
    }

    /// Each once, the mean's first.
    pub fn iter(&self) -> impl Iterator<Item = &G> {
        let (first, second) = match self {
            Self::Shared(one) => (one, None),
            Self::Decoupled { mean, covariance } => (mean, Some(covariance)),
        };
        std::iter::once(first).chain(second)
    }

    /// Something else for each, the mean's first.
    pub fn map<H>(&self, mut make: impl FnMut(&G) -> H) -> Grams<H> {
        match self {
            Self::Shared(one) => Grams::Shared(make(one)),
            Self::Decoupled { mean, covariance } => {
                let mean = make(mean);
                Grams::Decoupled { mean, covariance: make(covariance) }
            }
        }
    }
}

impl LayerBlueprint {
    /// Columns of the kernel matrix between rows and inducing inputs.
    pub fn columns(&self) -> usize {
        self.means.max(self.start + self.covariances)
    }

    /// Whether the covariance's set is the head of the mean's, and not all of it.
    pub fn has_head(&self) -> bool {
        self.start == 0 && self.covariances < self.means
    }

    /// Whether rows are projected by `R = L⁻¹`, so that variances are quadratic forms in `A = k_b Rᵀ` and not in `k_b` itself.
    pub fn projects(&self) -> bool {
        self.covariance_form.needs_factor()
    }

    /// Whether the mean function hands inputs on as they are, as far as there are outputs.
    pub fn hands_on(&self) -> bool {
        match self.mean_function {
            MeanFunction::Identity | MeanFunction::ZeroPadding => true,
            MeanFunction::Zero | MeanFunction::Linear(_) => false,
        }
    }

    fn new(layer: &Layer, index: usize, points: Option<&Mat>, list: &mut ParameterList) -> Outcome<Self> {
        let Some(form) = layer.kernel.form() else {
            return Err(Fault::Device(format!(
                "layer {index} has the kernel `{}`, which was not written for this device; compute this model on the CPU",
                layer.kernel.name()
            )));
        };
        let (width, outputs) = (layer.input_width(), layer.output_width());
        let (means, covariances) = (layer.inducing.mean().nrows(), layer.inducing.covariance().nrows());
        let of_mean = layer.mean.form.needs_factor();
        let of_covariance = layer.covariance.form.needs_factor();
        let named = |name: &str| format!("layers.{index}.{name}");
        let (text, theta) = CovarianceText::new(&form, width, &named("kernel"), list)?;
        let mut one_set = |matrix: Matrix| -> Outcome<_> {
            let one = GramBlueprint { first: 0, order: means, factored: of_mean || of_covariance, matrix };
            Ok((0, list.take(&named("inducing"), means * width)?, Grams::Shared(one)))
        };
        let (start, inducing, grams) = match layer.inducing {
            Inducing::Tied(_) => one_set(Matrix::TiedGram)?,
            Inducing::Nested { .. } => one_set(Matrix::MeanGram)?,
            Inducing::Decoupled { .. } => {
                let sets = [
                    list.take(&named("mean_inducing"), means * width)?,
                    list.take(&named("covariance_inducing"), covariances * width)?,
                ];
                let mean = GramBlueprint { first: 0, order: means, factored: of_mean, matrix: Matrix::MeanGram };
                let (order, factored) = (covariances, of_covariance);
                let covariance = GramBlueprint { first: means, order, factored, matrix: Matrix::CovarianceGram };
                (means, joined(&sets)?, Grams::Decoupled { mean, covariance })
            }
        };
        let factor_numbers = match layer.covariance.form {
            CovarianceForm::Dual | CovarianceForm::Standard | CovarianceForm::Whitened => {
                outputs * covariances * covariances
            }
            CovarianceForm::Diagonal => outputs * covariances,
        };
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
            free: list.take(&named("mean.free"), means * outputs)?,
            factor: list.take(&named("covariance.factor"), factor_numbers)?,
            points: points.map(|own| list.take(&format!("sites.points.{index}"), own.nrows() * outputs)).transpose()?,
        })
    }
}

impl LikelihoodBlueprint {
    fn new(likelihood: &dyn Likelihood, list: &mut ParameterList) -> Outcome<Self> {
        let Some(text) = likelihood.description().map(LikelihoodText::new) else {
            return Err(Fault::Device(format!(
                "the likelihood `{}` was not written for this device; compute this model on the CPU (`--device cpu`)",
                likelihood.name()
            )));
        };
        let (latents, observed) = (likelihood.latent_width(), likelihood.observed_width());
        let terms = latents / text.latents;
        if (terms * text.latents, terms * text.observed) != (latents, observed) {
            let expected = format!("{} latent functions for every {} columns of y", text.latents, text.observed);
            return Err(mismatch(expected, format!("{latents} for {observed}")));
        }
        let own = text.parameters.iter().map(|(name, each)| list.take(&format!("likelihood.{name}"), each * terms));
        let parameters = match &own.collect::<Outcome<Vec<_>>>()?[..] {
            [] => list.numbers()..list.numbers(),
            ranges => joined(ranges)?,
        };
        Ok(Self { text, latents, observed, parameters })
    }
}

impl Blueprint {
    /// The number of learned sites, or 0.
    pub fn sites(&self) -> usize {
        self.logits.as_ref().map_or(0, Range::len)
    }

    /// Fails if the device cannot compute the model.
    pub fn new(model: &DeepGp) -> Outcome<Self> {
        let mut list = ParameterList::new(model);
        let parameters = list.numbers();
        let layer = |(index, layer): (usize, &Layer)| {
            let points = model.sites().and_then(|sites| sites.points().get(index));
            LayerBlueprint::new(layer, index, points, &mut list)
        };
        let layers = model.layers().iter().enumerate().map(layer).collect::<Outcome<Vec<_>>>()?;
        let likelihood = LikelihoodBlueprint::new(model.likelihood(), &mut list)?;
        let logits = model.sites().map(|sites| list.take("sites.logits", sites.count())).transpose()?;
        list.finish()?;
        if i32::try_from(parameters).is_err() {
            return Err(mismatch("fewer than 2^31 parameters".into(), parameters.to_string()));
        }
        let (jitter, floor) = (model.jitter(), model.precision().floor());
        Ok(Self { layers, likelihood, logits, parameters, jitter, floor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::likelihood::Gaussian;
    use deepgp::{InducingSize, LayerCovariance, LayerMean, ModelSettings};

    /// How a layer's inducing inputs of mean and covariance stand to each other.
    #[derive(Clone, Copy, Debug)]
    enum Sets {
        Tied,
        Decoupled,
        Nested,
    }

    /// A layer of 2 inputs, 3 outputs and 5 inducing inputs for the mean (4 if tied), 4 for the covariance.
    fn layer(mean: MeanForm, covariance: CovarianceForm, sets: Sets) -> Layer {
        let points = |n: usize| Mat::from_fn(n, 2, |i, j| (3 * i + j) as f64);
        let inducing = match sets {
            Sets::Tied => Inducing::Tied(points(4)),
            Sets::Decoupled => Inducing::Decoupled { mean: points(5), covariance: points(4) },
            Sets::Nested => Inducing::Nested { inputs: points(5), covariance: 4 },
        };
        let factor = match covariance {
            CovarianceForm::Dual | CovarianceForm::Standard | CovarianceForm::Whitened => {
                Mat::from_fn(12, 4, |i, j| f64::from(u8::from(i % 4 == j)))
            }
            CovarianceForm::Diagonal => Mat::from_fn(3, 4, |_, _| 0.5),
        };
        Layer {
            kernel: deepgp::KernelChoice::RationalQuadratic.start(2),
            mean_function: MeanFunction::Zero,
            mean: LayerMean { form: mean, free: Mat::zeros(inducing.mean().nrows(), 3) },
            inducing,
            covariance: LayerCovariance { form: covariance, factor },
        }
    }

    fn blueprint(mean: MeanForm, covariance: CovarianceForm, sets: Sets) -> (DeepGp, Blueprint) {
        let layers = vec![layer(mean, covariance, sets)];
        let model = DeepGp::new(layers, Box::new(Gaussian::new(0.1, 3))).unwrap();
        let blueprint = Blueprint::new(&model).unwrap();
        (model, blueprint)
    }

    #[test]
    fn every_parameter_stands_where_the_models_list_has_it() {
        for sets in [Sets::Tied, Sets::Decoupled, Sets::Nested] {
            for form in [CovarianceForm::Whitened, CovarianceForm::Diagonal] {
                let (model, blueprint) = blueprint(MeanForm::Dual, form, sets);
                let listed = |name: &str| model.parameters().into_iter().find(|own| own.name == name).unwrap().range;
                let own = &blueprint.layers[0];
                let inducing = match sets {
                    Sets::Tied | Sets::Nested => listed("layers.0.inducing"),
                    Sets::Decoupled => {
                        listed("layers.0.mean_inducing").start..listed("layers.0.covariance_inducing").end
                    }
                };
                assert_eq!(own.inducing, inducing);
                let theta = listed("layers.0.kernel.lengthscales").start..listed("layers.0.kernel.alpha").end;
                assert_eq!(own.theta, theta);
                assert_eq!(own.free, listed("layers.0.mean.free"));
                assert_eq!(own.factor, listed("layers.0.covariance.factor"));
                assert_eq!(blueprint.likelihood.parameters, listed("likelihood.noise"));
                assert_eq!((blueprint.likelihood.latents, blueprint.likelihood.observed), (3, 3));
                assert_eq!(blueprint.parameters, model.raw().len());
            }
        }
    }

    #[test]
    fn learned_sites_have_points_in_hidden_layers_and_one_set_of_logits() {
        let x = Mat::from_fn(60, 3, |i, j| ((7 * i + 3 * j) % 61) as f64);
        let inducing = InducingSize::nested(20, 10);
        let settings = ModelSettings { hidden_layers: 2, width: 4, inducing, ..ModelSettings::default() };
        let plain = DeepGp::for_regression(x.view(), 1, &settings).unwrap();
        let model = DeepGp::for_regression(x.view(), 1, &ModelSettings { sites: Some(5), ..settings }).unwrap();
        let listed = |name: &str| model.parameters().into_iter().find(|own| own.name == name).map(|own| own.range);
        let blueprint = Blueprint::new(&model).unwrap();
        let points: Vec<_> = blueprint.layers.iter().map(|layer| layer.points.clone()).collect();
        assert_eq!(points, [listed("sites.points.0"), listed("sites.points.1"), None]);
        assert!(points[1].as_ref().is_some_and(|own| own.len() == 5 * 4));
        assert_eq!((blueprint.logits.clone(), blueprint.sites()), (listed("sites.logits"), 5));
        assert_eq!(blueprint.logits.unwrap().end, blueprint.parameters);
        let blueprint = Blueprint::new(&plain).unwrap();
        assert!(blueprint.logits.is_none() && blueprint.layers.iter().all(|layer| layer.points.is_none()));
    }

    #[test]
    fn the_parameters_of_classes_and_counts_are_found() {
        use deepgp::likelihood::{LikelihoodForm, NegativeBinomial, Poisson};
        let x = Mat::from_fn(30, 2, |i, j| (i * (j + 2) % 31) as f64);
        let settings =
            |likelihood| ModelSettings { likelihood, inducing: InducingSize::Tied(9), ..ModelSettings::default() };
        let of_form = |form| DeepGp::for_regression(x.view(), 1, &settings(form)).unwrap();
        let of = |own: Box<dyn Likelihood>| {
            DeepGp::with_likelihood(x.view(), own, &settings(LikelihoodForm::GAUSSIAN)).unwrap()
        };
        let models = [
            of_form(LikelihoodForm::PROBIT),
            of_form(LikelihoodForm::SOFTMAX),
            of_form(LikelihoodForm::ORDERED),
            of(Box::new(Poisson::new(1.0))),
            of(Box::new(NegativeBinomial::new(1.0, 2.0))),
        ];
        for model in models {
            let blueprint = Blueprint::new(&model).unwrap();
            let listed = model.parameters().into_iter().filter(|own| own.name.starts_with("likelihood."));
            let numbers: usize = listed.map(|own| own.values.len()).sum();
            assert_eq!(blueprint.likelihood.parameters.len(), numbers, "{}", model.likelihood().name());
            assert_eq!(blueprint.likelihood.parameters.end, blueprint.parameters);
        }
    }

    #[test]
    fn a_nested_layer_has_the_columns_of_one_set_and_a_decoupled_one_those_of_two() {
        let shape = |sets| {
            let (_, blueprint) = blueprint(MeanForm::Whitened, CovarianceForm::Diagonal, sets);
            let own = &blueprint.layers[0];
            (own.start, own.columns(), own.has_head())
        };
        assert_eq!(shape(Sets::Tied), (0, 4, false));
        assert_eq!(shape(Sets::Decoupled), (5, 9, false));
        assert_eq!(shape(Sets::Nested), (0, 5, true));
    }

    #[test]
    fn a_kernel_matrix_is_factored_where_a_form_asks_for_it() {
        let factored = |mean, covariance, sets| -> Vec<bool> {
            blueprint(mean, covariance, sets).1.layers[0].grams.iter().map(|gram| gram.factored).collect()
        };
        assert_eq!(factored(MeanForm::Dual, CovarianceForm::Dual, Sets::Decoupled), [false, false]);
        assert_eq!(factored(MeanForm::Whitened, CovarianceForm::Dual, Sets::Decoupled), [true, false]);
        assert_eq!(factored(MeanForm::ScaledDual, CovarianceForm::Standard, Sets::Decoupled), [false, true]);
        assert_eq!(factored(MeanForm::Dual, CovarianceForm::Whitened, Sets::Tied), [true]);
        assert_eq!(factored(MeanForm::Dual, CovarianceForm::Dual, Sets::Tied), [false]);
        assert_eq!(factored(MeanForm::Dual, CovarianceForm::Diagonal, Sets::Nested), [true]);
        assert_eq!(factored(MeanForm::ScaledDual, CovarianceForm::Dual, Sets::Nested), [false]);
    }

    #[test]
    fn layers_are_numbered_in_the_list_too() {
        let x = Mat::from_fn(60, 3, |i, j| ((7 * i + 3 * j) % 61) as f64);
        let inducing = InducingSize::decoupled(20, 10);
        let settings = ModelSettings { hidden_layers: 2, width: 4, inducing, ..ModelSettings::default() };
        let model = DeepGp::for_regression(x.view(), 2, &settings).unwrap();
        let blueprint = Blueprint::new(&model).unwrap();
        let mut at = 0;
        for own in &blueprint.layers {
            for range in [&own.theta, &own.inducing, &own.free, &own.factor] {
                assert_eq!(range.start, at);
                at = range.end;
            }
        }
        assert_eq!(blueprint.likelihood.parameters, at..at + 2);
    }
}
