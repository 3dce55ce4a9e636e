//! The choices behind a model in words: which likelihood, objective and validation score it has, what they mean, and when one would choose
//! another.

use deepgp::likelihood::LikelihoodDescription;
use deepgp::{ObjectiveForm, ValidationScore};

use super::number::{percent, significant};
use super::{Choices, Report};
use crate::picture::escape;

/// A choice in words.
struct InWords {
    /// What was chosen of, and which: `Objective: elbo`.
    title: String,
    /// What it means, and when one would choose another.
    text: String,
}

impl InWords {
    fn new(of: &str, which: &str, text: impl Into<String>) -> Self {
        Self { title: format!("{of}: {which}"), text: text.into() }
    }
}

/// The choices as HTML; empty if nothing is known of them.
pub(super) fn choices(report: &Report) -> String {
    let Report { choices, history, .. } = report;
    let trained = (!history.step.is_empty()).then(|| objective(choices.objective));
    let sites = choices.sites.map(sites);
    let kl = (!history.step.is_empty()).then_some(choices.kl_weight).flatten().map(kl_weight);
    let judged = (!history.validation.is_empty()).then(|| validation(choices.validation_score));
    let all = likelihood(choices, &report.targets).into_iter().chain(trained).chain(sites).chain(kl).chain(judged);
    let entry = |own: InWords| format!("<dt>{}</dt><dd>{}</dd>\n", escape(&own.title), escape(&own.text));
    let entries: String = all.map(entry).collect();
    if entries.is_empty() { entries } else { format!("<dl class=\"choices\">\n{entries}</dl>\n") }
}

/// The likelihood in words; `None` if it is not one of the library's.
fn likelihood(choices: &Choices, targets: &[String]) -> Option<InWords> {
    let of = |which, text: String| InWords::new("Likelihood", which, text);
    Some(match choices.likelihood? {
        LikelihoodDescription::Gaussian { .. } => of(
            "gaussian",
            "Gaussian noise, as large in one row as in another: the plainest choice, and enough where errors are alike \
             everywhere. Where they are larger in some places than in others (a funnel among the residuals), \
             heteroscedastic lets the noise follow the inputs; where a few rows are far off, student-t does not let them \
             widen all intervals."
                .to_owned(),
        ),
        LikelihoodDescription::Heteroscedastic { .. } => of(
            "heteroscedastic",
            "Gaussian noise that follows the inputs: a second function says how noisy each row is, so that intervals are \
             narrow where the data is clean and wide where it is not. It is for data whose errors differ from place to \
             place; where the figures of the noise are level, gaussian says the same with less, and on very small tables \
             more safely."
                .to_owned(),
        ),
        LikelihoodDescription::StudentT { .. } => of(
            "student-t",
            format!(
                "Noise with long tails, Student's t: a few rows that are far off neither bend the function nor widen all \
                 intervals.{} The fewer, the longer the tails; from about 30 on they are those of gaussian, which is then \
                 the simpler choice. Where errors are large in some places rather than in some rows, choose \
                 heteroscedastic.",
                degrees(&choices.degrees, targets)
            ),
        ),
    })
}

/// The degrees of freedom that were learnt, as a sentence with a space before it; empty if there are none.
pub(super) fn degrees(degrees: &[f64], targets: &[String]) -> String {
    match degrees {
        [] => String::new(),
        [one] => format!(" It has {} degrees of freedom.", significant(*one, 3)),
        several => {
            let named = targets.iter().zip(several);
            let each = named.map(|(target, own)| format!("{} for {target}", significant(*own, 3)));
            format!(" Its degrees of freedom are {}.", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The objective in words.
fn objective(form: ObjectiveForm) -> InWords {
    let of = |which, text: String| InWords::new("Objective", which, text);
    match form {
        ObjectiveForm::Elbo => of(
            "elbo",
            "Training raised the evidence lower bound: how well the function, with its doubt, explains the training rows, \
             less the distance of what was learnt from what was assumed before. It is hard to overfit, and good for the \
             mean. Where the density of single rows matters more, predictive raises what test rows are scored by; with one \
             Gaussian noise, tighter is closer to the evidence at no cost."
                .to_owned(),
        ),
        ObjectiveForm::Tighter => of(
            "tighter",
            "Training raised a bound that lies between the evidence lower bound and the evidence: variance that no \
             inducing input can explain costs less. It is for one Gaussian noise; otherwise it is as elbo, and chosen for \
             the same reasons. Where the density of single rows matters more, predictive raises what test rows are scored \
             by."
            .to_owned(),
        ),
        ObjectiveForm::Predictive { power } => of(
            "predictive",
            format!(
                "Training raised the log density of the training rows, which is what test rows are scored by: it fits the \
                 shape of predictions, not the mean alone.{} It can overfit small tables, and needs validation rows to end \
                 it in time; elbo is the safer choice there. Where a few hard rows cost accuracy of the mean, choose \
                 faithful.",
                between(power)
            ),
        ),
        ObjectiveForm::Faithful { power, hold, last } => of(
            "faithful",
            format!(
                "Training raised the log density of the training rows, but fitted the mean as if the noise were the same \
                 everywhere{}: otherwise rows that are called noisy would hardly count for it, and the mean would pay for the \
                 variance.{} It is for noise that follows the inputs. Where the error of the mean matters less than the \
                 density, predictive leaves the mean to it.",
                held(hold, last),
                between(power)
            ),
        ),
    }
}

/// The sentence on a power below 1, with a space before it; empty for the log density itself.
fn between(power: f64) -> String {
    if power == 1.0 {
        return String::new();
    }
    format!(" With the power {} it lies between that and the evidence lower bound.", significant(power, 2))
}

/// How long the mean was fitted faithfully: nothing where that was always so.
fn held(hold: f64, last: f64) -> String {
    match hold >= 1.0 || last >= 1.0 {
        true => String::new(),
        false => format!(", for {} of the steps, and from there on less and less", percent(hold)),
    }
}

/// Learned sites in words.
fn sites(count: usize) -> InWords {
    let text = format!(
        "In place of random samples, {count} trained points with weights pass through the hidden layers: a prediction takes \
         {count} passes and no samples. That fits the densities of large tables best, and overfits small ones; there, samples \
         are the better choice."
    );
    InWords::new("Learned sites", &count.to_string(), text)
}

/// A weight of the KL in words.
fn kl_weight(weight: f64) -> InWords {
    let text = "The factor on the distance from what was assumed before: below 1 the data counts for more, which large tables \
                can bear, and small ones pay for with overfitting.";
    InWords::new("KL weight", &significant(weight, 2), text)
}

/// The validation score in words.
fn validation(score: ValidationScore) -> InWords {
    match score {
        ValidationScore::LogDensity => InWords::new(
            "Validation score",
            "log-density",
            "Rows held back from training judged each look at the model by the log density of their targets, which is what \
             the log likelihood of test rows is. It rewards the whole shape of a prediction, tails included. Where a target \
             takes some value many times it has no upper end, and crps is the better judge.",
        ),
        ValidationScore::Crps => InWords::new(
            "Validation score",
            "crps",
            "Rows held back from training judged each look at the model by the continuous ranked probability score: the \
             absolute error of a whole distribution, in the target's units. It is steady, and sound for targets that take \
             some value many times. Where tails matter, log-density punishes surprises harder.",
        ),
    }
}
