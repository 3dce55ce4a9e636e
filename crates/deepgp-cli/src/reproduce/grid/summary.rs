//! Means over the splits of one model and depth, or of one baseline.

use super::GridLine;
use super::baselines::BaselineLine;
use super::paper::{Printed, printed};
use super::run::Model;
use crate::reproduce::results::summary::{fairest_timing, median, spread};
use crate::reproduce::runs::provenance::TimingConditions;

/// The results of all splits of one dataset, model and depth.
#[derive(Clone, Debug)]
pub struct Summary<'a> {
    /// The model.
    pub model: Model,
    /// The number of layers before the last one.
    pub hidden: usize,
    /// The number of splits.
    pub splits: usize,
    /// Mean and standard deviation over splits of the test log likelihood.
    pub log_likelihood: (f64, f64),
    /// Mean and standard deviation over splits of the test RMSE.
    pub rmse: (f64, f64),
    /// Median seconds of training, over the runs that shared the device with the fewest others; where those had several
    /// devices, over those of the commonest one.
    pub seconds: f64,
    /// The number of runs that the seconds are a median of.
    pub timed: usize,
    /// The conditions under which those runs were timed.
    pub timing: TimingConditions<'a>,
    /// The paper's numbers, if it has any.
    pub printed: Option<Printed>,
    /// Whether log likelihood, RMSE and seconds are the best among the models of this depth; seconds, among those timed
    /// under the same conditions.
    pub best: [bool; 3],
}

/// A summary for each model and depth of a dataset, shallow ones first.
pub fn summaries<'a>(lines: &'a [GridLine], dataset: &str) -> Vec<Summary<'a>> {
    let own: Vec<&GridLine> = lines.iter().filter(|line| line.dataset == dataset).collect();
    let mut kinds: Vec<(usize, Model)> = own.iter().map(|line| (line.hidden, line.model)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut all: Vec<Summary> = Vec::new();
    for (hidden, model) in kinds {
        let of: Vec<&&GridLine> = own.iter().filter(|line| (line.hidden, line.model) == (hidden, model)).collect();
        let Some(timing) = fairest_timing(of.iter().map(|line| line.provenance.timing())) else { continue };
        let times = of.iter().filter(|line| line.provenance.timing() == timing).map(|line| line.provenance.seconds);
        let times: Vec<f64> = times.collect();
        let each = |value: fn(&GridLine) -> f64| of.iter().map(|line| value(line)).collect::<Vec<f64>>();
        all.push(Summary {
            model,
            hidden,
            splits: of.len(),
            log_likelihood: spread(&each(|line| line.test_log_likelihood)),
            rmse: spread(&each(|line| line.test_rmse)),
            timed: times.len(),
            seconds: median(times),
            timing,
            printed: printed(dataset, model, hidden),
            best: [false; 3],
        });
    }
    let sizes: [fn(&Summary<'_>) -> f64; 3] = [|s| -s.log_likelihood.0, |s| s.rmse.0, |s| s.seconds];
    for i in 0..all.len() {
        let own = &all[i];
        let rivals =
            |alike: bool| all.iter().filter(move |s| s.hidden == own.hidden && (!alike || s.timing == own.timing));
        let best = |size: fn(&Summary<'_>) -> f64, alike: bool| {
            rivals(alike).count() > 1 && rivals(alike).all(|other| size(own) <= size(other))
        };
        all[i].best = [best(sizes[0], false), best(sizes[1], false), best(sizes[2], true)];
    }
    all
}

/// The results of all splits of one dataset and baseline.
#[derive(Clone, Debug)]
pub struct BaselineSummary<'a> {
    /// The baseline's name.
    pub model: &'a str,
    /// The number of splits.
    pub splits: usize,
    /// Mean and standard deviation over splits of the test log likelihood.
    pub log_likelihood: (f64, f64),
    /// Mean and standard deviation over splits of the test RMSE.
    pub rmse: (f64, f64),
}

/// A summary for each baseline of a dataset.
pub fn baseline_summaries<'a>(lines: &'a [BaselineLine], dataset: &str) -> Vec<BaselineSummary<'a>> {
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
        BaselineSummary { model, splits, log_likelihood, rmse: spread(&each(model, |line| line.test_rmse)) }
    };
    names.into_iter().map(summary).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::grid::tests::line;
    use crate::reproduce::runs::provenance::Provenance;
    use crate::reproduce::runs::provenance::tests::provenance;

    fn timed(model: Model, split: u64, seconds: f64, sharing: usize, device: &str) -> GridLine {
        let provenance = Provenance { sharing, device: device.into(), ..provenance(seconds, 1) };
        GridLine { provenance, ..line(model, 1, split, 1.0) }
    }

    #[test]
    fn a_median_of_times_is_over_one_device_and_one_kind_of_sharing() {
        let lines = [
            timed(Model::Full, 0, 100.0, 1, "cpu"),
            timed(Model::Full, 1, 3.0, 1, "cuda"),
            timed(Model::Full, 2, 5.0, 1, "cuda"),
            timed(Model::Full, 3, 900.0, 4, "cuda"),
            timed(Model::Full, 4, 900.0, 4, "cuda"),
            timed(Model::Full, 5, 900.0, 4, "cuda"),
        ];
        let of = |lines: &[GridLine]| summaries(lines, "kin8nm").iter().map(|s| s.seconds).collect::<Vec<_>>();
        assert_eq!(of(&lines), [4.0]);
        assert_eq!(of(&lines[..2]), [100.0], "one of each: never the mean of both");
    }

    #[test]
    fn the_best_time_is_one_among_those_taken_alike() {
        let best = |lines: &[GridLine]| summaries(lines, "kin8nm").iter().map(|s| s.best[2]).collect::<Vec<_>>();
        let full = timed(Model::Full, 0, 10.0, 1, "cpu");
        assert_eq!(best(&[full.clone(), timed(Model::Decoupled, 0, 1.0, 1, "cuda")]), [false, false]);
        assert_eq!(best(&[full.clone(), timed(Model::Decoupled, 0, 1.0, 4, "cpu")]), [false, false]);
        let three =
            [full, timed(Model::Decoupled, 0, 1.0, 1, "cuda"), timed(Model::DecoupledWhitened, 0, 9.0, 1, "cpu")];
        assert_eq!(best(&three), [false, false, true]);
    }
}
