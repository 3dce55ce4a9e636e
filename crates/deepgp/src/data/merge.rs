//! Merging equal rows of a dataset into one row of their total weight.
//!
//! `Σ_n weight_n E[log p(y_n | f_n)]` is the same for three equal rows and one of weight 3. Training is not: rows have noise of
//! their own, and may be held out each by itself. After [`Dataset::merged`] it is the same too, to the last bit.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::data::Dataset;
use crate::error::Result;
use crate::layer::compare_rows;

impl Dataset {
    /// The dataset with equal rows (inputs, targets, offsets, and groups or times) merged into one that has the sum of their weights; rows of
    /// weight 0 are left out.
    ///
    /// Rows then stand in an order that follows from their numbers alone. Where all rows differ and weigh 1 there is nothing to
    /// merge, and they stay where they are, without weights. Costs a sort.
    pub fn merged(self) -> Result<Self> {
        let weight = |i: u32| self.weights().map_or(1.0, |all| all[i as usize]);
        let compare = |i: u32, j: u32| {
            let (i, j) = (i as usize, j as usize);
            let by_offset = || self.offsets().map_or(Ordering::Equal, |all| compare_rows(&all[i..=i], &all[j..=j]));
            let by_target = || compare_rows(self.y().row(i), self.y().row(j));
            let by_split = || self.split_by().map_or(Ordering::Equal, |all| all.compare(i, j));
            compare_rows(self.x().row(i), self.x().row(j)).then_with(by_target).then_with(by_offset).then_with(by_split)
        };
        let mut order: Vec<u32> = (0..self.len() as u32).filter(|&i| weight(i) > 0.0).collect();
        // By weight at last, so that equal rows are added up in one order.
        order.par_sort_by(|&i, &j| compare(i, j).then(weight(i).total_cmp(&weight(j))));
        let (mut firsts, mut weights): (Vec<u32>, Vec<f64>) = (Vec::new(), Vec::new());
        for i in order {
            match (firsts.last(), weights.last_mut()) {
                (Some(&last), Some(total)) if compare(last, i) == Ordering::Equal => *total += weight(i),
                _ => {
                    firsts.push(i);
                    weights.push(weight(i));
                }
            }
        }
        if weights.iter().all(|w| *w == 1.0) {
            firsts.sort_unstable();
            let nothing_changes = firsts.len() == self.len() && self.weights().is_none();
            return if nothing_changes { Ok(self) } else { Ok(self.gather_unweighted(&firsts)) };
        }
        self.gather(&firsts)?.with_weights(weights)
    }
}

#[cfg(test)]
mod tests {
    use crate::data::Dataset;
    use crate::numeric::mat::Mat;
    use crate::testing::uniform;

    #[test]
    fn repeated_rows_are_weighted_rows_in_any_order() {
        let data = Dataset::new(uniform(5, 2, 1), uniform(5, 1, 2)).unwrap();
        let repeated = data.gather(&[3, 0, 3, 1, 4, 3, 1]).unwrap().merged().unwrap();
        let weighted = data.clone().with_weights(vec![1.0, 2.0, 0.0, 3.0, 1.0]).unwrap();
        assert_eq!(repeated, weighted.clone().merged().unwrap());
        assert_eq!(repeated, weighted.gather(&[4, 2, 0, 3, 1]).unwrap().merged().unwrap());
        assert_eq!(repeated.len(), 4);
        assert_eq!(repeated.weights().unwrap().iter().sum::<f64>(), 7.0);
    }

    #[test]
    fn where_there_is_nothing_to_merge_rows_stay_where_they_are() {
        let data = Dataset::new(uniform(5, 2, 1), uniform(5, 1, 2)).unwrap();
        assert_eq!(data, data.clone().merged().unwrap());
        assert_eq!(data, data.clone().with_weights(vec![1.0; 5]).unwrap().merged().unwrap());
        let fewer = data.clone().with_weights(vec![1.0, 0.0, 1.0, 1.0, 1.0]).unwrap().merged().unwrap();
        assert_eq!(fewer, data.gather(&[0, 2, 3, 4]).unwrap());
    }

    #[test]
    fn equal_inputs_with_other_targets_are_other_rows() {
        let data = Dataset::new(Mat::column(vec![1.0, 1.0, -0.0, 0.0]), Mat::column(vec![1.0, 2.0, 3.0, 3.0])).unwrap();
        let merged = data.merged().unwrap();
        assert_eq!((merged.len(), merged.weights().unwrap()), (3, &[2.0, 1.0, 1.0][..]));
    }
}
