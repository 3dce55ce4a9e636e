//! Weights that count copies: a row of weight 3 stands for three copies of it, and each copy may be held out of training by itself.
//!
//! Where rows take few values, [`Dataset::merged`] leaves a few rows of large weight. To hold out some of these as a whole would hide
//! another fraction of the data from training than was asked for, and all of one kind.

use crate::data::{Dataset, held_out};
use crate::error::Result;
use crate::random::noise::{Key, Purpose};

/// The largest sum of weights that counts copies exactly, 2⁵³.
const MOST_COPIES: f64 = 9_007_199_254_740_992.0;

/// A dataset whose rows stand for several copies each.
#[derive(Debug)]
pub(crate) struct Copies<'a> {
    /// The rows, each once.
    data: &'a Dataset,
    /// The number of copies that each row stands for.
    each: Vec<u64>,
    /// The weight of one copy.
    weight: u64,
}

impl<'a> Copies<'a> {
    /// The copies that rows stand for, if their weights are counts: multiples of a whole number, and not all of them 0 or that number.
    /// Other weights are factors and say nothing of copies.
    pub fn of(data: &'a Dataset) -> Option<Self> {
        let weights = data.weights()?;
        if weights.iter().any(|w| w.fract() != 0.0) || weights.iter().sum::<f64>() > MOST_COPIES {
            return None;
        }
        let weight = weights.iter().fold(0, |divisor, w| common_divisor(divisor, *w as u64));
        let each: Vec<u64> = weights.iter().map(|w| *w as u64 / weight).collect();
        each.iter().any(|copies| *copies > 1).then_some(Self { data, each, weight })
    }

    /// The number of copies of all rows together.
    pub fn len(&self) -> usize {
        self.each.iter().sum::<u64>() as usize
    }

    /// Splits at random into the rest and a `fraction` of the copies; in each part a row's weight counts its copies there.
    ///
    /// The copies are lined up, rows in random order, and those at even distances are held out: `w·fraction` of a row of weight `w`,
    /// rounded up or down. So the same copies are held out whether rows were repeated or counted. Both parts keep the row order.
    pub fn split(&self, fraction: f64, seed: u64) -> Result<(Dataset, Dataset)> {
        let all = self.len() as u128;
        let out = held_out(self.len(), fraction) as u128;
        let mut held = vec![0u64; self.each.len()];
        let mut passed = 0u128;
        for row in Key::new(seed, Purpose::Split).permutation(self.each.len(), 0) {
            let upto = |copies: u128| (copies * out + all / 2) / all;
            let next = passed + u128::from(self.each[row as usize]);
            held[row as usize] = (upto(next) - upto(passed)) as u64;
            passed = next;
        }
        let rest: Vec<u64> = self.each.iter().zip(&held).map(|(all, held)| all - held).collect();
        Ok((self.part(&rest)?, self.part(&held)?))
    }

    /// The dataset of so many copies of each row; rows without a copy are left out.
    fn part(&self, counts: &[u64]) -> Result<Dataset> {
        let rows: Vec<u32> = (0..counts.len() as u32).filter(|&row| counts[row as usize] > 0).collect();
        let weights = rows.iter().map(|&row| (counts[row as usize] * self.weight) as f64).collect();
        self.data.gather_unweighted(&rows).with_weights(weights)
    }
}

/// The greatest common divisor, by Euclid's algorithm; with 0 it is the other number.
fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::mat::Mat;

    fn counted(weights: &[f64]) -> Dataset {
        let column = || Mat::from_fn(weights.len(), 1, |i, _| i as f64);
        Dataset::new(column(), column()).unwrap().with_weights(weights.to_vec()).unwrap()
    }

    /// How many copies of each row are in the rest, and how many are held out.
    fn counts(rows: usize, split: &(Dataset, Dataset)) -> Vec<(u64, u64)> {
        let (rest, out) = split;
        let mut all = vec![(0, 0); rows];
        for (row, weight) in rest.x().as_slice().iter().zip(rest.weights().unwrap()) {
            all[*row as usize].0 += *weight as u64;
        }
        for (row, weight) in out.x().as_slice().iter().zip(out.weights().unwrap()) {
            all[*row as usize].1 += *weight as u64;
        }
        all
    }

    #[test]
    fn every_row_has_its_share_held_out_and_no_copy_is_lost() {
        let weights = [300.0, 1.0, 45.0, 0.0, 2.0, 7.0, 1.0, 644.0];
        let data = counted(&weights);
        let copies = Copies::of(&data).unwrap();
        assert_eq!(copies.len(), 1000);
        let mut splits = Vec::new();
        for seed in 0..20 {
            let found = counts(weights.len(), &copies.split(0.1, seed).unwrap());
            for (&(rest, out), weight) in found.iter().zip(weights) {
                assert_eq!((rest + out) as f64, weight);
                assert!((out as f64 - 0.1 * weight).abs() < 1.0, "{out} of {weight}");
            }
            assert_eq!(found.iter().map(|own| own.1).sum::<u64>(), 100);
            splits.push(found);
        }
        assert!(splits.iter().any(|found| *found != splits[0]));
        assert_eq!(splits[3], counts(weights.len(), &copies.split(0.1, 3).unwrap()));
    }

    #[test]
    fn weights_that_do_not_count_are_no_copies() {
        for weights in [[1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [2.0, 0.5, 1.0], [1e300, 2.0, 1.0], [6.0, 0.0, 6.0]] {
            assert!(Copies::of(&counted(&weights)).is_none(), "{weights:?}");
        }
    }

    #[test]
    fn copies_that_come_in_dozens_are_held_out_in_dozens() {
        let data = counted(&[1200.0, 240.0, 12.0]);
        let copies = Copies::of(&data).unwrap();
        assert_eq!(copies.len(), 121);
        let (rest, out) = copies.split(0.25, 1).unwrap();
        let all = |part: &Dataset| part.weights().unwrap().iter().sum::<f64>();
        assert_eq!((all(&rest), all(&out)), (91.0 * 12.0, 30.0 * 12.0));
    }

    #[test]
    fn counts_without_end_are_as_few_rows() {
        let data = counted(&[1e15, 3e15, 2.0]);
        let (rest, out) = Copies::of(&data).unwrap().split(0.25, 1).unwrap();
        assert!((rest.weights().unwrap()[0] - 0.75e15).abs() < 2.0);
        assert!((out.weights().unwrap()[1] - 0.75e15).abs() < 2.0 && out.len() <= 3);
    }
}
