//! The rows of each minibatch: a function of the seed and of the epoch, which is a pass over all rows.
//!
//! An epoch of `N` rows has `B = ⌈N / batch_size⌉` minibatches; minibatch `b` takes rows `⌊b N / B⌋` to `⌊(b + 1) N / B⌋` of the epoch's
//! order, which is a random permutation.
//!
//! Where several processes hold the rows, all of them draw the same order of all rows, and each keeps its own: a minibatch is that of one
//! process, however rows are shared out, and each has about its share of it.

use std::ops::Range;

use crate::backend::agreement::Share;
use crate::random::noise::{Key, Purpose};
use crate::settings::TrainSettings;

/// The numbers of a process's rows in the order of one epoch.
#[derive(Debug, Default)]
pub(super) struct RowOrder {
    /// The row numbers, each once.
    order: Vec<u32>,
    /// The place in `order` where each minibatch begins, and where the last one ends.
    starts: Vec<usize>,
    /// The epoch whose order this is; `None` before the first one.
    epoch: Option<u64>,
}

/// How an epoch is cut into minibatches: their sizes differ by one at most, so that no small rest gets a large weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Minibatches {
    /// The number of rows of all processes, `N`.
    rows: u64,
    /// The number of minibatches in an epoch, `B`.
    pub count: u64,
}

impl Minibatches {
    /// The minibatches of an epoch of so many rows.
    pub fn new(rows: usize, settings: &TrainSettings) -> Self {
        Self { rows: rows as u64, count: settings.batches(rows) as u64 }
    }

    /// The range of minibatch `index`, from 0, in the order of an epoch over the rows of all processes.
    pub fn range(self, index: u64) -> Range<usize> {
        (index * self.rows / self.count) as usize..((index + 1) * self.rows / self.count) as usize
    }

    /// Shuffles `order`, that of the process with this share, for this epoch, unless it is that epoch's already. A single minibatch takes all
    /// rows in their own order.
    pub fn shuffle(self, order: &mut RowOrder, share: Share, epoch: u64, seed: u64) {
        if order.epoch == Some(epoch) {
            return;
        }
        if self.count > 1 {
            // Not both at once in memory.
            order.order = Vec::new();
            order.take(Key::new(seed, Purpose::Shuffle).permutation(self.rows as usize, epoch), self, share);
        } else if order.order.is_empty() {
            (order.order, order.starts) = ((0..share.rows as u32).collect(), vec![0, share.rows]);
        }
        order.epoch = Some(epoch);
    }
}

impl RowOrder {
    /// Takes an order of all rows, and keeps a process's own.
    fn take(&mut self, mut all: Vec<u32>, minibatches: Minibatches, share: Share) {
        let is_own = |row: &u32| share.range().contains(&(*row as usize));
        self.starts.clear();
        self.starts.push(0);
        for index in 0..minibatches.count {
            let own = all[minibatches.range(index)].iter().filter(|row| is_own(row)).count();
            self.starts.push(self.starts[index as usize] + own);
        }
        if share.rows < share.total {
            all.retain(is_own);
            all.iter_mut().for_each(|row| *row -= share.offset as u32);
            all.shrink_to_fit();
        }
        self.order = all;
    }

    /// The range of the process's rows of minibatch `index`.
    pub fn range(&self, index: u64) -> Range<usize> {
        self.starts[index as usize]..self.starts[index as usize + 1]
    }

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
            minibatches.shuffle(&mut order, Share { offset: 0, rows: 23, total: 23 }, epoch, 0);
            let mut rows = Vec::new();
            for index in 0..minibatches.count {
                let range = order.range(index);
                assert!((7..=8).contains(&range.len()) && range == minibatches.range(index));
                rows.extend_from_slice(order.rows(range));
            }
            seen.push(rows.clone());
            rows.sort_unstable();
            assert_eq!(rows, (0..23).collect::<Vec<_>>());
        }
        assert_ne!(seen[0], seen[1]);
    }

    #[test]
    fn shares_of_a_minibatch_are_its_rows_whoever_holds_them() {
        for batch_size in [10, 23] {
            let minibatches = Minibatches::new(23, &TrainSettings { batch_size, ..TrainSettings::default() });
            let batches = |shares: &[(usize, usize)]| -> Vec<Vec<u32>> {
                let mut all = vec![Vec::new(); minibatches.count as usize];
                for (offset, rows) in shares {
                    let (mut order, share) = (RowOrder::default(), Share { offset: *offset, rows: *rows, total: 23 });
                    minibatches.shuffle(&mut order, share, 1, 7);
                    for (index, to) in all.iter_mut().enumerate() {
                        let own = order.rows(order.range(index as u64));
                        to.extend(own.iter().map(|row| row + *offset as u32));
                    }
                }
                all.iter_mut().for_each(|own| own.sort_unstable());
                all
            };
            assert_eq!(batches(&[(0, 23)]), batches(&[(0, 5), (5, 17), (22, 1)]));
        }
    }
}
