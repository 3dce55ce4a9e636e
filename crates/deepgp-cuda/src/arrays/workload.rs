//! How much work a device is asked to do, and how much room that takes there.

use deepgp::ObjectiveForm;

use super::chunks::ROW_MULTIPLE;

/// What a caller asks of the device.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Rows of the largest batch.
    pub batch_rows: usize,
    /// Samples of the hidden layers for each row.
    pub samples: usize,
    /// Whether gradients are wanted.
    pub gradients: bool,
    /// The most steps that are given out at once.
    pub burst: usize,
    /// Rows of the dataset that stays on the device.
    pub data_rows: usize,
    /// Whether those rows have weights.
    pub weighted: bool,
    /// Whether those rows have offsets.
    pub offset: bool,
    /// Rows of the noise that is uploaded, which are taken over and over; 0 where it is drawn.
    pub given_rows: usize,
    /// Whether other processes have rows of the same batches.
    pub together: bool,
    /// What is maximised, where gradients are wanted.
    pub objective: ObjectiveForm,
}

/// How many rows of a minibatch a process has at most that holds `rows` of `total` rows, of which an epoch takes so many minibatches at random.
///
/// Their number is hypergeometric, with mean `μ = total / batches · rows / total`. More than eight standard deviations above that, and sixteen rows
/// where `μ` is small, is not to be expected in any number of steps (below 10⁻¹⁴ each).
pub fn most_rows(rows: usize, total: usize, batches: usize) -> usize {
    let batch = total.div_ceil(batches);
    if batches == 1 || rows == total {
        return batch.min(rows);
    }
    let (n, b) = (total as f64, batch as f64);
    let share = rows as f64 / n;
    let variance = b * share * (1.0 - share) * (n - b) / (n - 1.0);
    let most = b * share + 8.0 * variance.sqrt() + 16.0;
    (most as usize).min(batch).min(rows)
}

/// A [`Workload`] as it is laid out on one device for one model.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub work: Workload,
    /// Rows of a batch, filled up so that sums over them can be cut into equal chunks.
    pub rows: usize,
    /// Lanes, each with a workspace: the main one, then for each layer two, or with gradients four.
    pub lanes: usize,
    /// Whether a dense `Ḡ` is summed by a kernel of its own.
    pub symmetric: bool,
    /// Bytes of shared memory for matrices that are factored there; 0 where that cannot be done.
    pub resident: usize,
}

impl Extent {
    /// The extent for a model of so many layers, on a device that has the kernel for a dense `Ḡ` or has not, and so many bytes of shared
    /// memory to factor matrices in.
    pub fn new(work: Workload, layers: usize, has_symmetric_sums: bool, resident: usize) -> Self {
        Self {
            rows: work.batch_rows.next_multiple_of(ROW_MULTIPLE),
            lanes: 1 + layers * if work.gradients { 4 } else { 2 },
            symmetric: work.gradients && has_symmetric_sums,
            resident,
            work,
        }
    }

    /// Whether the objective reads the conditional variance of the last layer.
    pub fn conditional(&self) -> bool {
        self.work.gradients && self.work.objective.objective().wants_conditional()
    }

    /// Rows that layer `layer` sees.
    pub fn layer_rows(&self, layer: usize) -> usize {
        self.rows * self.layer_samples(layer)
    }

    /// Rows that layer `layer` sees for each row of the batch: samples are drawn after the first.
    pub fn layer_samples(&self, layer: usize) -> usize {
        if layer == 0 { 1 } else { self.work.samples }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_minibatch_fits_into_what_is_laid_out_for_it() {
        // One process, or one minibatch: what there is.
        assert_eq!((most_rows(1000, 1000, 1), most_rows(1000, 1000, 3), most_rows(300, 1000, 1)), (1000, 334, 300));
        // A hundred thousand rows in ten minibatches, of two processes: mean 5000, standard deviation 47.
        assert_eq!(most_rows(50_000, 100_000, 10), 5395);
        // No more than there are.
        assert_eq!((most_rows(3, 1000, 10), most_rows(900, 1000, 100)), (3, 10));
    }

    #[test]
    fn rows_are_filled_up_and_lanes_follow_the_layers() {
        let work = Workload {
            batch_rows: 70,
            samples: 3,
            gradients: true,
            burst: 1,
            data_rows: 70,
            weighted: false,
            offset: false,
            given_rows: 0,
            together: false,
            objective: deepgp::ObjectiveForm::default(),
        };
        let extent = Extent::new(work, 2, true, 0);
        assert_eq!((extent.rows, extent.lanes, extent.symmetric), (80, 9, true));
        assert_eq!((extent.layer_rows(0), extent.layer_rows(1)), (80, 240));
        let forward = Extent::new(Workload { gradients: false, ..work }, 2, true, 0);
        assert_eq!((forward.lanes, forward.symmetric), (5, false));
    }
}
