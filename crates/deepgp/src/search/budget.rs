//! What a search may take: so many candidates, or so much time.

use std::time::Instant;

use super::halving::{BRACKET, HalvingPlan};

/// What a search may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchBudget {
    /// So many candidates in fits of so many steps: then nothing depends on the clock.
    Candidates {
        /// The number of candidates, candidate 0 included.
        candidates: usize,
        /// The steps of a whole fit.
        steps: u64,
    },
    /// As many as there is time for.
    Time(SearchTime),
}

/// The time of a search, with what is to come after it: a fit with the best settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchTime {
    /// The moment when it began.
    pub began: Instant,
    /// The moment when all is to be done, the fit after the search included.
    pub until: Instant,
    /// Seconds that are kept for what follows that fit.
    pub afterwards: f64,
    /// What follows it in steps of training: how many would take as long as its predictions.
    pub predictions: f64,
    /// The rows of a step of that fit, as a multiple of those of a step of a candidate.
    pub growth: f64,
    /// The steps of a whole fit, unless there is no time for so many.
    pub steps: u64,
}

/// The share of all the time that the fit after the search may take, by the pace of candidate 0; where it would take more, all fits have fewer steps.
/// Whole fits come first: the settings of `fit` over all steps are better than what is found by fits that are cut short.
const SHARE_OF_FIT: f64 = 0.9;
/// The share of all the time that the fit with a candidate's settings may take; one that would take more is no candidate.
const SHARE_OF_CANDIDATE: f64 = 0.6;
/// The factor on the time that a fit is expected to take: a machine may be busier later.
const MARGIN: f64 = 1.2;
/// The factor by which a candidate is expected to be slower than candidate 0.
const SLOWER: f64 = 1.3;
/// The gain by each further candidate that is trained at once.
const GAIN: f64 = 0.6;
/// The fewest candidates for which a bracket is opened.
const FEWEST: usize = 3;

impl SearchTime {
    /// Seconds from the beginning to the end.
    fn all(&self) -> f64 {
        (self.until - self.began).as_secs_f64()
    }

    /// Seconds that are left for the search now, if a step of the best candidate takes so many.
    pub(super) fn left(&self, pace: f64, steps: u64) -> f64 {
        let left = self.until.saturating_duration_since(Instant::now()).as_secs_f64();
        left - self.afterwards - MARGIN * self.predictions * pace - self.seconds_of_fit(pace, steps)
    }

    /// The seconds of the fit after the search.
    fn seconds_of_fit(&self, pace: f64, steps: u64) -> f64 {
        MARGIN * self.growth * pace * steps as f64
    }

    /// Whether there is no time for a fit at this pace.
    pub(super) fn is_too_slow(&self, pace: f64, steps: u64) -> bool {
        self.seconds_of_fit(pace, steps) > SHARE_OF_CANDIDATE * self.all()
    }

    /// The rungs of a search whose candidate 0 takes so many seconds for a step, on so many parts.
    pub(super) fn plan(&self, pace: f64, look_every: u64, crowd: Crowd) -> HalvingPlan {
        let most = SHARE_OF_FIT * self.all() / (MARGIN * self.growth * pace);
        let looks = ((most / look_every as f64) as u64).max(1);
        let steps = self.steps.min(looks * look_every);
        let with = |rungs: usize| HalvingPlan::new(steps, look_every, rungs);
        // Rather fewer rungs than hardly any candidates.
        let enough = |plan: &HalvingPlan| self.bracket(plan, pace, crowd, true, self.left(pace, steps)) > BRACKET / 2;
        let plan = [3, 2].map(with).into_iter().find(enough).unwrap_or_else(|| with(1));
        HalvingPlan { pace: Some(pace), ..plan }
    }

    /// The number of candidates of a bracket for which these seconds are enough, if there are enough for one.
    pub(super) fn bracket(&self, plan: &HalvingPlan, pace: f64, crowd: Crowd, first: bool, left: f64) -> usize {
        let at_once = 1.0 + GAIN * (crowd.jobs.max(1) - 1) as f64;
        let seconds = |n: usize| plan.cost(n, first) as f64 * pace * crowd.parts as f64 * SLOWER / at_once;
        (FEWEST..=BRACKET).rev().find(|n| seconds(*n) <= left).unwrap_or(0)
    }
}

/// How much is trained for each candidate, and how many candidates at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crowd {
    pub(super) parts: usize,
    pub(super) jobs: usize,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const ALONE: Crowd = Crowd { parts: 1, jobs: 1 };

    fn time(seconds: u64) -> SearchTime {
        let began = Instant::now();
        let until = began + Duration::from_secs(seconds);
        SearchTime { began, until, afterwards: 0.0, predictions: 0.0, growth: 1.0, steps: 3000 }
    }

    #[test]
    fn with_less_time_there_are_fewer_rungs_and_then_fewer_steps() {
        let plan = |seconds: u64| time(seconds).plan(0.01, 50, ALONE);
        assert_eq!(plan(600).rungs, [350, 1000, 3000]);
        assert_eq!(plan(100).rungs, [350, 1000]);
        assert_eq!(plan(100).steps, 3000);
        // What is left beside a whole fit is for one rung, or for nothing.
        assert_eq!((plan(60).rungs, plan(60).steps), (vec![350], 3000));
        assert_eq!((plan(41).rungs, plan(41).steps), (vec![350], 3000));
        assert_eq!(plan(20).steps, 1500);
        assert_eq!(plan(0).steps, 50);
    }

    #[test]
    fn a_bracket_is_as_large_as_there_is_time_for() {
        let (time, plan) = (time(600), HalvingPlan::new(3000, 50, 3));
        let size = |left: f64| time.bracket(&plan, 0.01, ALONE, false, left);
        assert_eq!([size(600.0), size(20.0)], [9, 0]);
        assert!((3..9).contains(&size(70.0)), "{}", size(70.0));
        assert!(time.bracket(&plan, 0.01, Crowd { jobs: 4, parts: 1 }, false, 60.0) > size(60.0));
        assert!(time.is_too_slow(0.2, 3000) && !time.is_too_slow(0.05, 3000));
        assert!((time.left(0.01, 3000) - 564.0).abs() < 1.0);
    }
}
