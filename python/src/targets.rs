//! What the targets of a fit are, numbers, classes or counts, and whether its likelihood is for such.

use deepgp::likelihood::Outcomes;
use deepgp::{LikelihoodChoice, LikelihoodForm};
use deepgp_io::table::TargetKind;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

/// The likelihoods of classes by their names, as the message of a wrong one lists them.
const OF_CLASSES: [LikelihoodChoice; 4] =
    [LikelihoodChoice::Probit, LikelihoodChoice::Logit, LikelihoodChoice::Softmax, LikelihoodChoice::Ordered];

/// What targets are under this likelihood; `labels` are those of all classes, and there are none for a regressor. Fails if the likelihood is
/// for something else.
pub fn kind(likelihood: LikelihoodForm, labels: Option<Vec<String>>) -> PyResult<TargetKind> {
    let name = json!(LikelihoodChoice::of(likelihood));
    let wrong = |what: String| Err(PyValueError::new_err(format!("`likelihood` is {name}, which is for {what}")));
    match (likelihood.start(1).outcomes(), labels) {
        (Outcomes::Real, None) => Ok(TargetKind::Numbers),
        (Outcomes::Counts, None) => Ok(TargetKind::Counts),
        (Outcomes::Classes(_), Some(labels))
            if labels.len() > 2 && matches!(likelihood, LikelihoodForm::Bernoulli { .. }) =>
        {
            wrong(format!("two classes, and there are {}: give \"softmax\" or \"ordered\"", labels.len()))
        }
        (Outcomes::Classes(_), Some(labels)) => Ok(TargetKind::Classes { labels }),
        (Outcomes::Classes(_), None) => wrong("classes: take a DeepGPClassifier".into()),
        (Outcomes::Real | Outcomes::Counts, Some(_)) => {
            let names = OF_CLASSES.map(|choice| json!(choice).to_string()).join(", ");
            wrong(format!("numbers and no classes: give \"auto\" or one of {names}, or take a DeepGPRegressor"))
        }
    }
}

/// The likelihood that knows how many classes there are: those of the training rows need not be all of them.
pub fn informed(likelihood: LikelihoodForm, kind: &TargetKind) -> LikelihoodForm {
    let classes = kind.labels().map(<[String]>::len);
    match likelihood {
        LikelihoodForm::Softmax { .. } => LikelihoodForm::Softmax { classes },
        LikelihoodForm::Ordered { .. } => LikelihoodForm::Ordered { classes },
        LikelihoodForm::Gaussian { .. }
        | LikelihoodForm::Heteroscedastic { .. }
        | LikelihoodForm::StudentT { .. }
        | LikelihoodForm::Bernoulli { .. }
        | LikelihoodForm::Poisson
        | LikelihoodForm::NegativeBinomial { .. } => likelihood,
    }
}
