//! The log of a search: all that has been decided and found out, in its order. Whoever has it can go on.

use super::candidate::Candidate;
use super::halving::HalvingPlan;
use super::metric::SearchMetric;

/// An entry of a search's log.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum SearchEntry {
    /// The rungs, which come first.
    Plan(HalvingPlan),
    /// A bracket was opened.
    Bracket(Bracket),
    /// A candidate was judged.
    Trial(Trial),
}

/// A bracket: candidates that begin on the lowest rung together.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bracket {
    /// The bracket's number, from 0.
    pub number: usize,
    /// The candidate around which the others were drawn.
    pub centre: usize,
    /// Its candidates.
    pub candidates: Vec<Candidate>,
}

/// What came of a candidate on a rung.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Trial {
    /// The candidate's number.
    pub candidate: usize,
    /// The rung, from 0.
    pub rung: usize,
    /// How it was judged.
    pub outcome: TrialOutcome,
    /// The steps that it took to get there from the rung below, in all parts together: fewer than the rung's where training ended by itself.
    pub steps: u64,
    /// The seconds of these steps.
    pub seconds: f64,
}

/// How a candidate was judged on a rung.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum TrialOutcome {
    /// It has a score.
    Scored {
        /// Its score: the mean over all parts.
        score: f64,
        /// The score on each part.
        each: Vec<f64>,
    },
    /// It could not be trained, or could not predict, for this reason.
    Failed {
        /// The error's message.
        reason: String,
    },
    /// There was no time for a whole fit with its settings.
    TooSlow {
        /// The seconds that a step took.
        pace: f64,
    },
}

impl Trial {
    /// The score, if there is one.
    pub fn score(&self) -> Option<f64> {
        match self.outcome {
            TrialOutcome::Scored { score, .. } => Some(score),
            TrialOutcome::Failed { .. } | TrialOutcome::TooSlow { .. } => None,
        }
    }
}

/// The log of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchLog {
    /// The metric of its scores.
    pub metric: SearchMetric,
    /// What has been decided and found out, in its order.
    entries: Vec<SearchEntry>,
}

impl SearchLog {
    /// The log of a search that is yet to begin.
    pub fn new(metric: SearchMetric) -> Self {
        Self { metric, entries: Vec::new() }
    }

    /// Adds an entry.
    pub fn add(&mut self, entry: SearchEntry) {
        self.entries.push(entry);
    }

    /// All entries.
    pub fn entries(&self) -> &[SearchEntry] {
        &self.entries
    }

    /// The rungs, once they are known.
    pub fn plan(&self) -> Option<&HalvingPlan> {
        self.entries.iter().find_map(|entry| if let SearchEntry::Plan(own) = entry { Some(own) } else { None })
    }

    /// The brackets that have been opened.
    pub fn brackets(&self) -> impl Iterator<Item = &Bracket> {
        self.entries.iter().filter_map(|entry| if let SearchEntry::Bracket(own) = entry { Some(own) } else { None })
    }

    /// All that came of candidates.
    pub fn trials(&self) -> impl Iterator<Item = &Trial> {
        self.entries.iter().filter_map(|entry| if let SearchEntry::Trial(own) = entry { Some(own) } else { None })
    }

    /// All candidates.
    pub fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.brackets().flat_map(|bracket| &bracket.candidates)
    }

    /// The candidate of this number.
    pub fn candidate(&self, number: usize) -> Option<&Candidate> {
        self.candidates().find(|own| own.number == number)
    }

    /// What came of a candidate on a rung.
    pub fn trial(&self, candidate: usize, rung: usize) -> Option<&Trial> {
        self.trials().find(|own| (own.candidate, own.rung) == (candidate, rung))
    }

    /// The score of a candidate on a rung as a loss, of which less is better.
    pub fn loss(&self, candidate: usize, rung: usize) -> Option<f64> {
        self.trial(candidate, rung)?.score().map(|score| self.metric.loss(score))
    }

    /// The highest rung on which a candidate has a score.
    pub fn height(&self, candidate: usize) -> Option<usize> {
        self.trials().filter(|own| own.candidate == candidate && own.score().is_some()).map(|own| own.rung).max()
    }

    /// The best candidate so far, and the rung on which it is that: the highest on which candidate 0 and another have been judged. If candidate 0 is not
    /// on any rung with another, it is the best by itself; without it, the best is that of the highest rung. `None` before anything has been judged.
    pub fn leader(&self) -> Option<(usize, usize)> {
        let on = |rung: usize| self.trials().filter(move |own| own.rung == rung && own.score().is_some());
        let best = |rung: usize| {
            let losses = on(rung).filter_map(|own| Some((own.candidate, self.loss(own.candidate, rung)?)));
            losses.min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0))).map(|(candidate, _)| (candidate, rung))
        };
        let highest = self.trials().map(|own| own.rung).max()?;
        let Some(of_first) = self.height(0) else { return (0..=highest).rev().find_map(best) };
        let shared = (0..=of_first).rev().find(|rung| on(*rung).count() > 1);
        shared.map_or(Some((0, of_first)), best)
    }

    /// The seconds of a candidate's step, on one part.
    pub fn pace(&self, candidate: usize) -> Option<f64> {
        let own = self.trials().filter(|own| own.candidate == candidate);
        let (seconds, steps) = own.fold((0.0, 0), |sum, own| (sum.0 + own.seconds, sum.1 + own.steps));
        (steps > 0).then(|| seconds / steps as f64)
    }

    /// The seconds of all that was trained.
    pub fn seconds(&self) -> f64 {
        self.trials().map(|own| own.seconds).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(scores: &[(usize, usize, f64)]) -> SearchLog {
        let mut log = SearchLog::new(SearchMetric::Crps);
        for &(candidate, rung, score) in scores {
            let outcome = TrialOutcome::Scored { score, each: vec![score] };
            log.add(SearchEntry::Trial(Trial { candidate, rung, outcome, steps: 10, seconds: 1.0 }));
        }
        log
    }

    #[test]
    fn the_best_is_that_of_the_highest_rung_shared_with_candidate_0() {
        assert_eq!(log(&[]).leader(), None);
        assert_eq!(log(&[(0, 0, 1.0)]).leader(), Some((0, 0)));
        assert_eq!(log(&[(0, 0, 1.0), (1, 0, 1.0), (2, 0, 2.0)]).leader(), Some((0, 0)), "of equal ones the first");
        let mut own = vec![(0, 0, 1.0), (1, 0, 0.5), (2, 0, 0.6)];
        own.push((1, 1, 0.4));
        assert_eq!(log(&own).leader(), Some((1, 0)), "candidate 0 has not been judged on rung 1");
        own.push((0, 1, 0.3));
        assert_eq!(log(&own).leader(), Some((0, 1)));
        own.push((0, 2, 0.2));
        assert_eq!(log(&own).leader(), Some((0, 1)), "nobody else has been judged on rung 2");
        assert_eq!(log(&[(3, 0, 1.0), (4, 1, 5.0)]).leader(), Some((4, 1)), "without candidate 0");
        assert_eq!((log(&own).pace(0), log(&own).height(1)), (Some(0.1), Some(1)));
    }

    #[test]
    fn more_is_better_where_a_metric_says_so() {
        let mut more = log(&[(0, 0, 1.0), (1, 0, 2.0)]);
        assert_eq!(more.leader(), Some((0, 0)));
        more.metric = SearchMetric::LogLikelihood;
        assert_eq!(more.leader(), Some((1, 0)));
    }
}
