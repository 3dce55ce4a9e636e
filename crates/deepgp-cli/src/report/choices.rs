//! The choices behind a model in words: which likelihood, objective and validation score it has, what they mean, and when one would choose
//! another.

use deepgp::likelihood::{LikelihoodDescription, Link};
use deepgp::{ObjectiveForm, TransformChoice};

use super::number::{fixed, significant};
use super::{Choices, Report};
use crate::model::units::Judge;
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
    let trained = (!history.step.is_empty()).then(|| objective(choices));
    let sites = choices.sites.map(sites);
    let kl = (!history.step.is_empty()).then_some(choices.kl_weight).flatten().map(kl_weight);
    let judged = (!history.validation.is_empty()).then(|| validation(choices.judge, report.counts.is_some()));
    // Classes and counts stay as they are, whatever was asked for.
    let are_numbers = report.classes.is_none() && report.counts.is_none();
    let transformed = if are_numbers { transforms(choices, &report.targets) } else { Vec::new() };
    let all = likelihood(choices, &report.targets)
        .into_iter()
        .chain(transformed)
        .chain(trained)
        .chain(sites)
        .chain(kl)
        .chain(judged);
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
             everywhere. Where they are larger in some places than in others, “heteroscedastic” lets the noise follow the \
             inputs; where a few rows are far off, “student-t” keeps them from widening all intervals."
                .to_owned(),
        ),
        LikelihoodDescription::Heteroscedastic { .. } => of(
            "heteroscedastic",
            "Gaussian noise that follows the inputs, for data that is noisier in some places than in others: a second \
             function says how noisy each row is, so that intervals are narrow where the data is clean and wide where it is \
             not. Where the figures of the noise are level, “gaussian” says the same with less."
                .to_owned(),
        ),
        LikelihoodDescription::StudentT { .. } => of(
            "student-t",
            format!(
                "Noise with long tails, for data with outliers: a few rows that are far off neither bend the function nor \
                 widen all intervals.{} The fewer, the longer the tails; from about 30 on they are those of “gaussian”, \
                 which is then the simpler choice. Where errors are large in some places rather than in some rows, \
                 “heteroscedastic” is the better one.",
                degrees(&choices.degrees, targets)
            ),
        ),
        LikelihoodDescription::Bernoulli { link } => of(
            match link {
                Link::Probit => "probit",
                Link::Logit => "logit",
            },
            "Two classes, each with a probability that follows the inputs. “probit” and “logit” differ little: the latter has longer \
             tails, so that a few wrong labels bend it less."
                .to_owned(),
        ),
        LikelihoodDescription::Softmax { classes } => of(
            "softmax",
            format!(
                "One of {classes} classes, each with a probability that follows the inputs, by a function of its own. Where classes \
                 have an order, “ordered” says the same with one."
            ),
        ),
        LikelihoodDescription::Ordered { classes } => of(
            "ordered",
            format!(
                "One of {classes} classes that have an order: a number that follows the inputs falls between cutpoints. Where the \
                 order means little, “softmax” gives each class a function of its own."
            ),
        ),
        LikelihoodDescription::Poisson => of(
            "poisson",
            "Counts of events whose rate follows the inputs: where the rate is known, the variance of a count is its mean. Where they \
             vary more than that, “negative-binomial” is the better choice."
                .to_owned(),
        ),
        LikelihoodDescription::NegativeBinomial => of(
            "negative-binomial",
            "Counts of events whose rate follows the inputs, and which vary more than at a known rate. Where they do not, “poisson” \
             says the same with less."
                .to_owned(),
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

/// The transforms of the targets in words; none if none was asked for.
fn transforms(choices: &Choices, targets: &[String]) -> Vec<InWords> {
    let found =
        if choices.transform_asked == TransformChoice::Auto { " It was found to suit, not asked for." } else { "" };
    let changed = targets.iter().zip(&choices.transforms).filter_map(|(target, &own)| {
        let text = transform(own)?;
        Some(InWords::new(&format!("Transform of {target}"), own.name(), format!("{text}{found}")))
    });
    let all: Vec<InWords> = changed.collect();
    match choices.transform_asked {
        TransformChoice::Auto if all.is_empty() && !choices.transforms.is_empty() => {
            let text = "Targets stay as they are: “auto” found no transform under which they are clearly easier to predict. \
                        Where a target must be positive, “log” keeps its predictions so.";
            vec![InWords::new("Transform of targets", TransformChoice::None.name(), text)]
        }
        TransformChoice::None
        | TransformChoice::Log
        | TransformChoice::Log1p
        | TransformChoice::YeoJohnson
        | TransformChoice::Quantile
        | TransformChoice::Auto => all,
    }
}

/// What a transform does, and when one would choose another; `None` for none.
fn transform(choice: TransformChoice) -> Option<&'static str> {
    match choice {
        TransformChoice::None | TransformChoice::Auto => None,
        TransformChoice::Log => Some(
            "The model learns the logarithm of the target, so that predictions are positive and errors are shares of the \
             target. Where errors are as large for small targets as for large ones, “none” is the better choice.",
        ),
        TransformChoice::Log1p => Some(
            "The model learns the logarithm of one more than the target, for counts and amounts that may be zero: large ones \
             have errors in proportion. Where errors are as large for small targets as for large ones, “none” is the better \
             choice.",
        ),
        TransformChoice::YeoJohnson => Some(
            "The model learns a power of the target, whose exponent makes it as nearly Gaussian as powers can: for skewed \
             targets of any sign. For a target that must be positive, “log” keeps its predictions so.",
        ),
        TransformChoice::Quantile => Some(
            "The model learns normal scores of the target: its ranks, spread as a Gaussian’s, so that several humps, bounds \
             and long tails do no harm. It costs a little accuracy where there are none, and “none” is then the better choice.",
        ),
    }
}

/// The objective in words.
fn objective(choices: &Choices) -> InWords {
    let suits = if choices.objective_by_default { " It was not chosen, but is what suits the likelihood." } else { "" };
    let of = |which, text: String| InWords::new("Objective", which, text + suits);
    match choices.objective {
        ObjectiveForm::Elbo => of(
            "elbo",
            "Training raised the evidence lower bound: how well the function, with its doubt, explains the training rows, \
             less how far it had to move from what was assumed before. It is hard to overfit, and good for the mean. Where \
             the density of single rows matters more, “predictive” raises what test rows are scored by."
                .to_owned(),
        ),
        ObjectiveForm::Tighter => of(
            "tighter",
            "Training raised a bound between the evidence lower bound and the evidence, which one Gaussian noise allows: \
             variance that no inducing input can explain costs less. It is as hard to overfit as “elbo”. Where the density of \
             single rows matters more, “predictive” raises what test rows are scored by."
                .to_owned(),
        ),
        ObjectiveForm::Predictive { power } => of(
            "predictive",
            format!(
                "Training raised the {} of the training rows, which is what test rows are scored by: it fits the shape of \
                 predictions, not the mean alone.{} Small tables need validation rows to end it before it overfits, and \
                 “elbo” is safer there.{}",
                if has_noise(choices) { "log density" } else { "log probability" },
                between(power),
                if has_noise(choices) {
                    " Where the noise follows the inputs and a few hard rows spoil the mean, “faithful” mends that."
                } else {
                    ""
                },
            ),
        ),
        ObjectiveForm::Faithful { power, hold, release } => of(
            "faithful",
            format!(
                "Training raised the log density of the training rows, but fitted the mean as if the noise were the same \
                 everywhere{}: otherwise rows that the model calls noisy would hardly count for it.{} Where the density \
                 matters more than the error of the mean, “predictive” fits all by the density.",
                held(hold, release),
                between(power)
            ),
        ),
    }
}

/// Whether targets are numbers around which noise scatters, and not classes or counts.
fn has_noise(choices: &Choices) -> bool {
    choices.likelihood.is_none_or(|likelihood| match likelihood {
        LikelihoodDescription::Gaussian { .. }
        | LikelihoodDescription::Heteroscedastic { .. }
        | LikelihoodDescription::StudentT { .. } => true,
        LikelihoodDescription::Bernoulli { .. }
        | LikelihoodDescription::Softmax { .. }
        | LikelihoodDescription::Ordered { .. }
        | LikelihoodDescription::Poisson
        | LikelihoodDescription::NegativeBinomial => false,
    })
}

/// The sentence on a power below 1, with a space before it; empty for the log density itself.
fn between(power: f64) -> String {
    if power == 1.0 {
        return String::new();
    }
    format!(" With the power {} it lies between that and the evidence lower bound.", significant(power, 2))
}

/// How long the mean was fitted as if the noise were constant, in brackets; empty where that was to the end.
fn held(hold: f64, release: f64) -> String {
    if hold >= 1.0 {
        return String::new();
    }
    let [hold, release] = [hold, release].map(|share| fixed(100.0 * share, 0));
    format!(" (for the first {hold}\u{202f}% of the steps, then less and less up to {release}\u{202f}%)")
}

/// Learned sites in words.
fn sites(count: usize) -> InWords {
    let text = format!(
        "In place of random samples, {count} trained points with weights pass through the hidden layers: a prediction takes \
         {count} passes and no samples. That fits the densities of large tables best, and overfits small ones: for those samples \
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

/// The validation score in words; `counts` says whether targets are counts.
fn validation(judge: Judge, counts: bool) -> InWords {
    match judge {
        Judge::LogLoss => InWords::new(
            "Validation score",
            "log loss",
            "Rows held back from training chose the step that was kept, by the log loss of their classes, which is what test rows \
             are scored by: it punishes a probability of the true class the harder, the smaller it is.",
        ),
        Judge::LogDensity if counts => InWords::new(
            "Validation score",
            "log probability",
            "Rows held back from training chose the step that was kept, by the logarithm of the probability of their counts, which \
             is what the log score of test rows is. It rewards the whole shape of a prediction, tails included.",
        ),
        Judge::LogDensity => InWords::new(
            "Validation score",
            "log-density",
            "Rows held back from training chose the step that was kept, by the log density of their targets, which is what the \
             log likelihood of test rows is. It rewards the whole shape of a prediction, tails included. Where a target takes \
             some value many times it has no upper end, and “crps” is the better judge.",
        ),
        Judge::Crps => InWords::new(
            "Validation score",
            "crps",
            "Rows held back from training chose the step that was kept, by the continuous ranked probability score: the absolute \
             error of a whole distribution. It is steady, and sound for targets that take some value many times. Where tails \
             matter, “log-density” punishes surprises harder.",
        ),
    }
}
