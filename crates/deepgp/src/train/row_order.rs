//! Which rows make up which minibatch: a function of the seed and of the number of the pass.

use std::ops::Range;

use crate::random::noise::{Key, Purpose};
use crate::settings::TrainSettings;

/// The rows in the order of one pass.
#[derive(Debug, Default)]
pub(super) struct RowOrder {
    order: Vec<u32>,
    epoch: Option<u64>,
}

/// How a pass over so many rows is cut: into batches whose sizes differ by one at most, so that no small rest gets a large weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passes {
    rows: u64,
    /// Minibatches in a pass.
    pub batches: u64,
}

impl Passes {
    pub fn new(rows: usize, settings: &TrainSettings) -> Self {
        Self { rows: rows as u64, batches: rows.div_ceil(settings.batch_size.max(1)) as u64 }
    }

    /// The place of batch `used`, from 0, in the order of a pass.
    pub fn place(self, used: u64) -> Range<usize> {
        (used * self.rows / self.batches) as usize..((used + 1) * self.rows / self.batches) as usize
    }

    /// Shuffles for this pass, unless the order is that of it already. One batch takes all rows, in their own order.
    pub fn arrange(self, order: &mut RowOrder, epoch: u64, seed: u64) {
        if order.epoch != Some(epoch) {
            if self.batches > 1 {
                order.order = Key::new(seed, Purpose::Shuffle).permutation(self.rows as usize, epoch);
            } else if order.order.is_empty() {
                order.order = (0..self.rows as u32).collect();
            }
            order.epoch = Some(epoch);
        }
    }
}

impl RowOrder {
    /// The rows at a place.
    pub fn rows(&self, place: Range<usize>) -> &[u32] {
        &self.order[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_holds_every_row_once_in_batches_of_even_size() {
        let passes = Passes::new(23, &TrainSettings { batch_size: 10, ..TrainSettings::default() });
        let (mut order, mut seen) = (RowOrder::default(), Vec::new());
        for epoch in 0..2 {
            passes.arrange(&mut order, epoch, 0);
            let mut rows = Vec::new();
            for used in 0..passes.batches {
                let place = passes.place(used);
                assert!((7..=8).contains(&place.len()));
                rows.extend_from_slice(order.rows(place));
            }
            seen.push(rows.clone());
            rows.sort_unstable();
            assert_eq!(rows, (0..23).collect::<Vec<_>>());
        }
        assert_ne!(seen[0], seen[1]);
    }
}
