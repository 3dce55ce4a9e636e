//! Splits of one model and depth, or of one simpler model, taken together.

use super::Line;
use super::baselines::BaselineLine;
use super::paper::{Printed, printed};
use super::run::Model;

/// What all splits of a dataset, model and depth say together.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Which model.
    pub model: Model,
    /// How deep.
    pub hidden: usize,
    /// How many splits there are.
    pub splits: usize,
    /// Mean and deviation over splits of the test log likelihood.
    pub log_likelihood: (f64, f64),
    /// The same of the RMSE.
    pub rmse: (f64, f64),
    /// The median of the runs that shared the device with the fewest others.
    pub seconds: f64,
    /// How many runs those were, each one included.
    pub sharing: usize,
    /// What the paper prints.
    pub printed: Option<Printed>,
    /// Which of the three (likelihood, error, time) are the best among the models of its depth.
    pub best: [bool; 3],
}

/// Mean and standard deviation; that of one number is 0.
pub fn spread(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

/// The middle one, or the mean of the middle two.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { 0.5 * (values[half - 1] + values[half]) }
}

/// One for each model and depth of a dataset, shallow ones first.
pub fn summaries(lines: &[Line], dataset: &str) -> Vec<Summary> {
    let own: Vec<&Line> = lines.iter().filter(|line| line.dataset == dataset).collect();
    let mut kinds: Vec<(usize, Model)> = own.iter().map(|line| (line.hidden, line.model)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut all: Vec<Summary> = Vec::new();
    for (hidden, model) in kinds {
        let of: Vec<&&Line> = own.iter().filter(|line| (line.hidden, line.model) == (hidden, model)).collect();
        let sharing = of.iter().map(|line| line.origin.sharing).min().unwrap_or(1);
        let alone = of.iter().filter(|line| line.origin.sharing == sharing).map(|line| line.origin.seconds).collect();
        let each = |value: fn(&Line) -> f64| of.iter().map(|line| value(line)).collect::<Vec<f64>>();
        all.push(Summary {
            model,
            hidden,
            splits: of.len(),
            log_likelihood: spread(&each(|line| line.test_log_likelihood)),
            rmse: spread(&each(|line| line.test_rmse)),
            seconds: median(alone),
            sharing,
            printed: printed(dataset, model, hidden),
            best: [false; 3],
        });
    }
    let sizes = |s: &Summary| [-s.log_likelihood.0, s.rmse.0, s.seconds];
    for i in 0..all.len() {
        let others: Vec<[f64; 3]> = all.iter().filter(|s| s.hidden == all[i].hidden).map(sizes).collect();
        let own = sizes(&all[i]);
        all[i].best = [0, 1, 2].map(|k| others.len() > 1 && others.iter().all(|other| own[k] <= other[k]));
    }
    all
}

/// What all splits of a baseline say together.
#[derive(Clone, Debug)]
pub struct Simple<'a> {
    /// Which one.
    pub model: &'a str,
    /// How many splits there are.
    pub splits: usize,
    /// Mean and deviation over splits of the test log likelihood.
    pub log_likelihood: (f64, f64),
    /// The same of the RMSE.
    pub rmse: (f64, f64),
}

/// One for each baseline of a dataset.
pub fn simple<'a>(lines: &'a [BaselineLine], dataset: &str) -> Vec<Simple<'a>> {
    let own: Vec<&BaselineLine> = lines.iter().filter(|line| line.dataset == dataset).collect();
    let mut names: Vec<&str> = own.iter().map(|line| line.model.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let each = |name: &str, value: fn(&BaselineLine) -> f64| -> Vec<f64> {
        own.iter().filter(|line| line.model == name).map(|line| value(line)).collect()
    };
    let summary = |model| {
        let likelihoods = each(model, |line| line.test_log_likelihood);
        let (splits, log_likelihood) = (likelihoods.len(), spread(&likelihoods));
        Simple { model, splits, log_likelihood, rmse: spread(&each(model, |line| line.test_rmse)) }
    };
    names.into_iter().map(summary).collect()
}
