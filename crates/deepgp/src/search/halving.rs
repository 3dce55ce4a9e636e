//! The rungs of successive halving, and who goes on from one to the next.

use crate::backend::BURST;

/// The part of a rung's candidates that goes on, and of a rung's steps that the rung below has: a third.
const PART: u64 = 3;
/// The most rungs.
const MOST_RUNGS: usize = 3;
/// The most candidates of a bracket: three of them reach the second rung, and one the third.
pub(super) const BRACKET: usize = 9;

/// The rungs of a search: numbers of steps after which candidates are judged.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HalvingPlan {
    /// The steps of a whole fit, over which the learning rate falls.
    pub steps: u64,
    /// The steps of each rung from the lowest, in ascending order; the last are those of a whole fit, unless there is no time for that.
    pub rungs: Vec<u64>,
    /// Seconds of a step of candidate 0 when the rungs were chosen by them.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub pace: Option<f64>,
}

impl HalvingPlan {
    /// Rungs at a ninth, a third and all of so many steps, rounded up to where validation rows are looked at, every so many steps; the highest are
    /// left out where there are to be fewer.
    pub fn new(steps: u64, look_every: u64, rungs: usize) -> Self {
        let rounded = |share: u64| {
            let exact = steps.div_ceil(share);
            let to = if exact >= look_every { look_every } else { BURST };
            (exact.div_ceil(to) * to).min(steps)
        };
        let mut all: Vec<u64> = (0..MOST_RUNGS as u32).rev().map(|below| rounded(PART.pow(below))).collect();
        all.dedup();
        all.truncate(rungs.max(1));
        Self { steps, rungs: all, pace: None }
    }

    /// The steps that a bracket of so many candidates takes on all rungs; the first bracket has one of them on every rung.
    pub(super) fn cost(&self, candidates: usize, first: bool) -> u64 {
        let (mut all, mut on, mut below) = (0, candidates, 0);
        for (rung, to) in self.rungs.iter().enumerate() {
            let kept = u64::from(first && rung > 0);
            all += (to - below) * (on as u64 + kept);
            (on, below) = (going_on(on), *to);
        }
        all
    }
}

/// The number of candidates, out of so many, that go on to the next rung.
fn going_on(candidates: usize) -> usize {
    (candidates / PART as usize).max(1)
}

/// The candidates that go on to the next rung, by their numbers: those with the least losses, of equal ones the first, and candidate 0 in any case. One
/// without a loss cannot go on.
pub(super) fn promoted(losses: &[(usize, Option<f64>)]) -> Vec<usize> {
    let mut judged: Vec<(usize, f64)> = losses.iter().filter_map(|(number, loss)| Some((*number, (*loss)?))).collect();
    let unchanged = judged.iter().any(|(number, _)| *number == 0);
    judged.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let mut best: Vec<usize> = judged.into_iter().take(going_on(losses.len())).map(|(number, _)| number).collect();
    if unchanged && !best.contains(&0) {
        best.push(0);
    }
    best.sort_unstable();
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs_are_where_validation_rows_are_looked_at() {
        assert_eq!(HalvingPlan::new(3000, 50, 3).rungs, [350, 1000, 3000]);
        assert_eq!(HalvingPlan::new(3000, 50, 2).rungs, [350, 1000]);
        assert_eq!(HalvingPlan::new(90, 50, 3).rungs, [10, 30, 90]);
        assert_eq!(HalvingPlan::new(7, 50, 3).rungs, [7]);
        assert_eq!(HalvingPlan::new(1000, 50, 3).rungs, [150, 350, 1000]);
    }

    #[test]
    fn a_bracket_costs_its_pieces() {
        let plan = HalvingPlan { steps: 900, rungs: vec![100, 300, 900], pace: None };
        assert_eq!(plan.cost(9, false), 900 + 3 * 200 + 600);
        assert_eq!(plan.cost(9, true), 900 + 4 * 200 + 2 * 600);
        assert_eq!(plan.cost(2, false), 200 + 200 + 600);
    }

    #[test]
    fn the_best_third_goes_on_and_candidate_0_always() {
        let of = |losses: &[f64]| promoted(&losses.iter().map(|own| Some(*own)).enumerate().collect::<Vec<_>>());
        assert_eq!(of(&[9.0, 1.0, 3.0, 2.0, 8.0, 7.0]), [0, 1, 3]);
        assert_eq!(of(&[1.0, 1.0, 1.0]), [0]);
        assert_eq!(promoted(&[(4, Some(2.0)), (5, Some(2.0)), (6, None)]), [4]);
        assert!(promoted(&[(0, None), (1, None)]).is_empty());
    }
}
