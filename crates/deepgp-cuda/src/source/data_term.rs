//! Objective and likelihood as CUDA text: which of `objectives.cu` and `likelihoods.cu` a model takes, and the sizes of its terms.

use deepgp::ObjectiveForm;
use deepgp::likelihood::LikelihoodDescription;

use super::{Definition, Source};
use crate::device::real::Real;
use crate::kernels::DataTerm;

/// An objective's name in `objectives.cu`.
fn objective_name(objective: ObjectiveForm) -> &'static str {
    match objective {
        ObjectiveForm::Elbo => "Elbo",
        ObjectiveForm::Tighter => "Tighter",
        ObjectiveForm::Predictive { .. } => "Predictive",
    }
}

/// A likelihood as its program needs it. The log likelihood of a row is a sum of independent terms.
#[derive(Clone, Copy, Debug)]
pub struct LikelihoodText {
    /// Its name in `likelihoods.cu`.
    name: &'static str,
    /// Latent functions that a term reads.
    pub latents: usize,
    /// Columns of `y` that a term reads.
    pub observed: usize,
    /// The names of its parameters in the library; a term has one of each.
    pub parameters: &'static [&'static str],
}

impl LikelihoodText {
    /// The text for one of the library's likelihoods.
    pub fn new(form: LikelihoodDescription) -> Self {
        match form {
            LikelihoodDescription::Gaussian { .. } => {
                Self { name: "Gaussian", latents: 1, observed: 1, parameters: &["noise"] }
            }
            LikelihoodDescription::Heteroscedastic { .. } => {
                Self { name: "Heteroscedastic", latents: 2, observed: 1, parameters: &["noise"] }
            }
            LikelihoodDescription::StudentT { .. } => {
                Self { name: "StudentT", latents: 1, observed: 1, parameters: &["noise", "degrees"] }
            }
        }
    }

    /// The whole text of the data term, for rows of type `T`.
    pub fn source<T: Real>(&self, objective: ObjectiveForm) -> Source<DataTerm> {
        let sizes = [
            Definition::new("LATENTS", self.latents),
            Definition::new("OBSERVED", self.observed),
            Definition::new("PARAMETERS", self.parameters.len()),
        ];
        Source::data_term::<T>(&sizes, &format!("using Objective = {}<{}>;\n", objective_name(objective), self.name))
    }
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
    }
}
