//! The rows of each minibatch: a function of the seed and of the epoch, which is a pass over all rows.
//!
//! An epoch of `N` rows has `B = ⌈N / batch_size⌉` minibatches; minibatch `b` takes rows `⌊b N / B⌋` to `⌊(b + 1) N / B⌋` of the epoch's
//! order, which is a random permutation.

use std::ops::Range;

use crate::random::noise::{Key, Purpose};
use crate::settings::TrainSettings;

/// The row numbers in the order of one epoch.
#[derive(Debug, Default)]
pub(super) struct RowOrder {
    /// The row numbers, each once.
    order: Vec<u32>,
    /// The epoch whose order this is; `None` before the first one.
    epoch: Option<u64>,
}

/// How an epoch is cut into minibatches: their sizes differ by one at most, so that no small rest gets a large weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Minibatches {
    /// The number of rows, `N`.
    rows: u64,
    /// The number of minibatches in an epoch, `B`.
    pub count: u64,
}

impl Minibatches {
    /// The minibatches of an epoch of so many rows.
    pub fn new(rows: usize, settings: &TrainSettings) -> Self {
        Self { rows: rows as u64, count: settings.batches(rows) as u64 }
    }

    /// The range of minibatch `index`, from 0, in the order of an epoch.
    pub fn range(self, index: u64) -> Range<usize> {
        (index * self.rows / self.count) as usize..((index + 1) * self.rows / self.count) as usize
    }

    /// Shuffles `order` for this epoch, unless it is that epoch's already. A single minibatch takes all rows in their own order.
    pub fn shuffle(self, order: &mut RowOrder, epoch: u64, seed: u64) {
        if order.epoch != Some(epoch) {
            if self.count > 1 {
                order.order = Key::new(seed, Purpose::Shuffle).permutation(self.rows as usize, epoch);
            } else if order.order.is_empty() {
                order.order = (0..self.rows as u32).collect();
            }
            order.epoch = Some(epoch);
        }
    }
}

impl RowOrder {
    /// The rows of a minibatch, by its range.
    pub fn rows(&self, range: Range<usize>) -> &[u32] {
        &self.order[range]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_holds_every_row_once_in_batches_of_even_size() {
        let minibatches = Minibatches::new(23, &TrainSettings { batch_size: 10, ..TrainSettings::default() });
        let (mut order, mut seen) = (RowOrder::default(), Vec::new());
        for epoch in 0..2 {
            minibatches.shuffle(&mut order, epoch, 0);
            let mut rows = Vec::new();
            for index in 0..minibatches.count {
                let range = minibatches.range(index);
                assert!((7..=8).contains(&range.len()));
                rows.extend_from_slice(order.rows(range));
            }
            seen.push(rows.clone());
            rows.sort_unstable();
            assert_eq!(rows, (0..23).collect::<Vec<_>>());
        }
        assert_ne!(seen[0], seen[1]);
    }
}
