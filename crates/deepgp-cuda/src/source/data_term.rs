//! Objective and likelihood as CUDA text: which of `objectives.cu` and of the folder `likelihood` a model takes, the sizes of its terms, and
//! the rule of its quadrature.

use deepgp::ObjectiveForm;
use deepgp::likelihood::{GaussHermite, LikelihoodDescription, Link};

use super::{
    BERNOULLI, Definition, GAUSSIAN, HETEROSCEDASTIC, LOG_CONCAVE, NEGATIVE_BINOMIAL, ORDERED, POISSON, SOFTMAX,
    STUDENT_T, Source,
};
use crate::device::real::Real;
use crate::kernels::DataTerm;

/// An objective's name in `objectives.cu`.
fn objective_name(objective: ObjectiveForm) -> &'static str {
    match objective {
        ObjectiveForm::Elbo => "Elbo",
        ObjectiveForm::Tighter => "Tighter",
        ObjectiveForm::Predictive { .. } => "Predictive",
        ObjectiveForm::Faithful { .. } => "Faithful",
    }
}

/// The power that the kernel of the data term is given; objectives that have none do not read it.
pub fn power(objective: ObjectiveForm) -> f64 {
    objective.power().unwrap_or(1.0)
}

/// A likelihood as its program needs it. The log likelihood of a row is a sum of independent terms.
#[derive(Clone, Debug)]
pub struct LikelihoodText {
    /// Its name in its text.
    name: &'static str,
    /// Its text, in parts that follow one another.
    text: &'static [&'static str],
    /// Latent functions that a term reads.
    pub latents: usize,
    /// Columns of `y` that a term reads.
    pub observed: usize,
    /// The names of its parameters in the library, each with how many of it a term has; more than one only where there is one term.
    pub parameters: Vec<(&'static str, usize)>,
    /// Nodes of its quadrature, as many as in the library; `None` for a likelihood that has none.
    nodes: Option<usize>,
}

impl LikelihoodText {
    /// The text for one of the library's likelihoods.
    pub fn new(form: LikelihoodDescription) -> Self {
        let of = |name, text, latents, parameters: &[(&'static str, usize)], nodes| Self {
            name,
            text,
            latents,
            observed: 1,
            parameters: parameters.to_vec(),
            nodes,
        };
        let level = [("level", 1)];
        match form {
            LikelihoodDescription::Gaussian { .. } => of("Gaussian", &[GAUSSIAN], 1, &[("noise", 1)], None),
            LikelihoodDescription::Heteroscedastic { .. } => {
                of("Heteroscedastic", &[HETEROSCEDASTIC], 2, &[("noise", 1)], Some(9))
            }
            LikelihoodDescription::StudentT { .. } => {
                of("StudentT", &[STUDENT_T], 1, &[("noise", 1), ("degrees", 1)], Some(20))
            }
            LikelihoodDescription::Bernoulli { link: Link::Probit } => {
                of("Probit", &[LOG_CONCAVE, BERNOULLI], 1, &level, None)
            }
            LikelihoodDescription::Bernoulli { link: Link::Logit } => {
                of("Logit", &[LOG_CONCAVE, BERNOULLI], 1, &level, None)
            }
            LikelihoodDescription::Softmax { classes } => {
                of("Softmax", &[LOG_CONCAVE, BERNOULLI, SOFTMAX], classes, &[("levels", classes)], None)
            }
            LikelihoodDescription::Ordered { classes: 2 } => {
                of("Ordered", &[LOG_CONCAVE, ORDERED], 1, &[("first_cutpoint", 1)], None)
            }
            LikelihoodDescription::Ordered { classes } => {
                let parameters = [("first_cutpoint", 1), ("cutpoint_gaps", classes - 2)];
                of("Ordered", &[LOG_CONCAVE, ORDERED], 1, &parameters, None)
            }
            LikelihoodDescription::Poisson => of("Poisson", &[LOG_CONCAVE, POISSON], 1, &level, None),
            LikelihoodDescription::NegativeBinomial => {
                let parameters = [("level", 1), ("dispersion", 1)];
                of("NegativeBinomial", &[LOG_CONCAVE, NEGATIVE_BINOMIAL], 1, &parameters, None)
            }
        }
    }

    /// The whole text of the data term, for rows of type `T`.
    pub fn source<T: Real>(&self, objective: ObjectiveForm) -> Source<DataTerm> {
        let sizes = [
            Definition::new("LATENTS", self.latents),
            Definition::new("OBSERVED", self.observed),
            Definition::new("PARAMETERS", self.parameters.iter().map(|(_, each)| each).sum::<usize>()),
        ];
        let own = self.nodes.map(rule).unwrap_or_default() + &self.text.concat();
        let choice = format!("using Objective = {}<{}>;\n", objective_name(objective), self.name);
        Source::data_term::<T>(&sizes, &own, &choice)
    }
}

/// The Gauss–Hermite rule of so many nodes as CUDA text: the nodes, their weights, and the weights' logarithms.
fn rule(nodes: usize) -> String {
    let rule = GaussHermite::new(nodes);
    let array = |name: &str, of: fn((f64, f64)) -> f64| {
        let numbers: Vec<String> = rule.points().map(|point| format!("{:?}", of(point))).collect();
        format!("__constant__ double {name}[NODES] = {{{}}};\n", numbers.join(", "))
    };
    let arrays = [
        array("node", |(x, _)| x),
        array("node_weight", |(_, weight)| weight),
        array("node_log_weight", |(_, weight)| weight.ln()),
    ];
    format!("{}\n{}", Definition::new("NODES", nodes), arrays.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objective_and_likelihood_are_chosen_when_the_text_is_written() {
        let gaussian = LikelihoodText::new(LikelihoodDescription::Gaussian { outputs: 3 });
        let text = gaussian.source::<f32>(ObjectiveForm::Elbo).text;
        for line in ["#define LATENTS 1\n", "#define PARAMETERS 1\n", "using Objective = Elbo<Gaussian>;\n"] {
            assert!(text.contains(line), "`{line}` is missing");
        }
        let other = LikelihoodText::new(LikelihoodDescription::Gaussian { outputs: 1 });
        assert_eq!(text, other.source::<f32>(ObjectiveForm::Elbo).text, "one program serves all numbers of outputs");
        let tempered = |power| gaussian.source::<f32>(ObjectiveForm::Predictive { power }).text;
        assert_eq!(tempered(0.5), tempered(1.0), "one program serves all powers");
        assert!(tempered(1.0).contains("using Objective = Predictive<Gaussian>;\n"));
    }

    #[test]
    fn a_rule_is_written_with_all_its_digits() {
        let text = rule(3);
        assert!(text.starts_with("#define NODES 3\n__constant__ double node[NODES] = {-1.732050807568877"), "{text}");
        assert_eq!(text.lines().count(), 4);
    }
}
