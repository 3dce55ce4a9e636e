//! Pairs of runs that differ in their model alone: on the same split, and so on the same rows, differences show that means over splits hide.

use super::{ContinuedLine, Density};
use crate::reproduce::grid::Model;
use crate::reproduce::runs::test_scores::TestScores;

/// What two models are compared in: a dataset, a density and a depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting<'a> {
    /// The dataset's name.
    pub dataset: &'a str,
    /// The density of both models.
    pub density: Density,
    /// The number of hidden layers of both models.
    pub hidden: usize,
}

impl Setting<'_> {
    /// Whether a line is the result of a run in this setting.
    pub fn has(&self, line: &ContinuedLine) -> bool {
        (self.dataset, self.density, self.hidden) == (&line.dataset, line.density, line.hidden)
    }
}

/// The results of the full model and of another one on the same split.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    full: &'a ContinuedLine,
    other: &'a ContinuedLine,
}

impl Pair<'_> {
    /// The difference of a score, the other model's minus the full one's.
    pub fn difference(&self, score: fn(&TestScores) -> f64) -> f64 {
        score(&self.other.scores) - score(&self.full.scores)
    }

    /// The other model's time as a multiple of the full one's, of training or of a step; `None` if times of the two say nothing of the
    /// models.
    pub fn time_ratio(&self, time: fn(&ContinuedLine) -> f64) -> Option<f64> {
        self.full.provenance.is_timed_like(&self.other.provenance).then(|| time(self.other) / time(self.full))
    }
}

/// The pairs of the full model and another one in a setting: one for each split that both have.
pub fn pairs<'a>(lines: &'a [ContinuedLine], setting: Setting<'_>, model: Model) -> Vec<Pair<'a>> {
    let of = |model: Model| lines.iter().filter(move |line| line.model == model && setting.has(line));
    let partner = |other: &ContinuedLine| of(Model::Full).find(|full| full.split == other.split);
    of(model).filter_map(|other| Some(Pair { full: partner(other)?, other })).collect()
}

/// The models beside the full one that there are results of, in their order.
pub fn others(lines: &[ContinuedLine]) -> Vec<Model> {
    let mut all: Vec<Model> = lines.iter().map(|line| line.model).filter(|model| *model != Model::Full).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The numbers of hidden layers that a dataset has results of.
pub fn depths(lines: &[ContinuedLine], dataset: &str) -> Vec<usize> {
    let mut all: Vec<usize> = lines.iter().filter(|line| line.dataset == dataset).map(|line| line.hidden).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::continued::tests::line;

    #[test]
    fn runs_of_the_same_split_are_compared_and_times_where_they_can_be() {
        let (full, other) = (Model::Full, Model::NestedDiagonal);
        let one = Density::OneNoise;
        let mut lines = vec![
            line(full, one, 1, 0, 1.0),
            line(other, one, 1, 0, 1.25),
            line(full, one, 1, 1, 1.0),
            line(other, one, 1, 2, 9.0),
            line(full, Density::InputDependent, 1, 2, 1.0),
            line(full, one, 2, 2, 1.0),
        ];
        let setting = Setting { dataset: "kin8nm", density: one, hidden: 1 };
        let gains = |lines: &[ContinuedLine]| -> Vec<f64> {
            let own = pairs(lines, setting, other);
            own.iter().map(|pair| pair.difference(|scores| scores.test_log_likelihood)).collect()
        };
        assert_eq!(gains(&lines), [0.25]);
        let ratio = |lines: &[ContinuedLine]| pairs(lines, setting, other)[0].time_ratio(|line| line.step_seconds);
        assert_eq!(ratio(&lines), Some(0.5));
        lines[0].provenance.sharing = 5;
        assert_eq!(ratio(&lines), None);
        assert_eq!((others(&lines), depths(&lines, "kin8nm")), (vec![other], vec![1, 2]));
    }
}
