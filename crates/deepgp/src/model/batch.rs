//! Batches: some rows of a dataset, and what must hold of them before a model evaluates them.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::DeepGp;
use crate::objective::{EvidenceLowerBound, Objective};
use crate::random::noise::Noise;

/// Some rows of a dataset, standing for `num_data` rows, and the objective that is computed of them.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The dataset that the rows belong to, in the model's units.
    pub data: &'a Dataset,
    /// The numbers of the rows in the dataset.
    pub rows: &'a [u32],
    /// The number of rows that the batch stands for: the data term is scaled by `num_data` over the rows of the batch.
    pub num_data: usize,
    /// The number of samples of the hidden layers for each row; a model with learned sites has as many as sites.
    pub samples: usize,
    /// The factor `κ` on the KL in the gradient; 1 for the bound itself.
    pub kl_weight: f64,
    /// The share of training that is done, from 0 to 1, for objectives that change along the way; 1 for what they end with.
    pub progress: f64,
    /// The objective: what the samples of a row contribute.
    pub objective: &'a dyn Objective,
    /// The whole batch, where several processes hold parts of it; `None` if the rows are all of it.
    pub shard: Option<Shard>,
    /// Where each of the rows is in `data`, if that is not where its number says: noise goes by numbers.
    pub places: Option<&'a [u32]>,
}

/// The place of one process's rows in a batch that several processes hold together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The number of the dataset's first row among the rows of all processes.
    pub offset: u32,
    /// The number of rows of the whole batch.
    pub batch_rows: usize,
}

impl<'a> Batch<'a> {
    /// The batch of these rows of a dataset, standing for all of it, for the evidence lower bound with one sample.
    pub fn of(data: &'a Dataset, rows: &'a [u32]) -> Self {
        Self {
            data,
            rows,
            num_data: data.len(),
            samples: 1,
            kl_weight: 1.0,
            progress: 1.0,
            objective: &EvidenceLowerBound,
            shard: None,
            places: None,
        }
    }

    /// The number of rows of the data that one row of the batch stands for, `num_data / batch`.
    pub fn scale(&self) -> f64 {
        self.num_data as f64 / self.shard.map_or(self.rows.len(), |shard| shard.batch_rows) as f64
    }

    /// Where the rows are in the dataset.
    pub(crate) fn places(&self) -> &'a [u32] {
        self.places.unwrap_or(self.rows)
    }

    /// The number to add to row numbers to count them among the rows of all processes.
    pub(crate) fn offset(&self) -> u32 {
        self.shard.map_or(0, |shard| shard.offset)
    }
}

impl DeepGp {
    /// Fails unless the batch has rows, all of them exist, and there is noise for them.
    pub(crate) fn check_batch(&self, batch: Batch<'_>, noise: &Noise<'_>) -> Result<()> {
        let batch_rows = batch.shard.map_or(batch.rows.len(), |shard| shard.batch_rows);
        if batch_rows < batch.rows.len() {
            return Err(Error::Shape {
                what: "the rows of a batch that several processes hold",
                expected: format!("at least {}, those of this process", batch.rows.len()),
                found: batch_rows.to_string(),
            });
        }
        for (name, value) in [("batch rows", batch_rows), ("num_data", batch.num_data)] {
            if value == 0 {
                return Err(Error::Setting { name, value: "0".into(), requirement: "at least 1" });
            }
        }
        if batch.places().len() != batch.rows.len() {
            let (expected, found) = (batch.rows.len().to_string(), batch.places().len().to_string());
            return Err(Error::Shape { what: "the places of batch rows", expected, found });
        }
        if let Some(row) = batch.places().iter().find(|&&r| r as usize >= batch.data.len()) {
            return Err(Error::Shape {
                what: "batch rows",
                expected: format!("numbers below {}, the rows of the dataset", batch.data.len()),
                found: row.to_string(),
            });
        }
        if batch.rows.is_empty() {
            // A process may hold none of a batch's rows, and still takes part in the sums.
            return Ok(());
        }
        self.check_noise(noise, batch.rows.len(), batch.samples)
    }

    /// Fails unless there is noise for so many rows and samples.
    pub(crate) fn check_noise(&self, noise: &Noise<'_>, rows: usize, samples: usize) -> Result<()> {
        for (name, value) in [("rows", rows), ("samples", samples)] {
            if value == 0 {
                return Err(Error::Setting { name, value: "0".into(), requirement: "at least 1" });
            }
        }
        let given = match noise {
            Noise::Given(given) => Some((given, rows * samples)),
            Noise::Table(table) => Some((table, samples)),
            Noise::Rows { .. } | Noise::Shared { .. } => None,
        };
        if let Some((given, each)) = given {
            let hidden = &self.layers()[..self.layers().len() - 1];
            let expected: Vec<_> = hidden.iter().map(|l| (each, l.output_width())).collect();
            let found: Vec<_> = given.iter().map(|m| (m.nrows(), m.ncols())).collect();
            if found != expected {
                return Err(Error::Shape {
                    what: "noise",
                    expected: format!("one matrix for each hidden layer, of shapes {expected:?}"),
                    found: format!("{found:?}"),
                });
            }
        }
        Ok(())
    }

    /// Fails unless `data` has the model's widths and targets that are possible under its likelihood.
    pub(crate) fn check_data(&self, data: &Dataset) -> Result<()> {
        let widths = [
            ("inputs", data.x().ncols(), self.input_width()),
            ("targets", data.y().ncols(), self.likelihood().observed_width()),
        ];
        for (what, found, expected) in widths {
            if found != expected {
                return Err(Error::Shape {
                    what,
                    expected: format!("{expected} columns, the model's width"),
                    found: found.to_string(),
                });
            }
        }
        if data.offsets().is_some() {
            self.check_offsets()?;
        }
        self.likelihood().check(data.y().view())
    }

    /// Fails unless the likelihood has a latent function that offsets are added to.
    pub(crate) fn check_offsets(&self) -> Result<()> {
        if (0..self.latent_width()).any(|latent| self.likelihood().takes_offset(latent)) {
            return Ok(());
        }
        Err(Error::NoRate { likelihood: self.likelihood().name() })
    }

    /// Adds a row's offset to the means of those latent functions that take it; `mean` is `[samples, P]`.
    pub(crate) fn add_offset(&self, offset: f64, mean: &mut [f64]) {
        let width = self.latent_width();
        for latent in (0..width).filter(|latent| self.likelihood().takes_offset(*latent)) {
            mean[latent..].iter_mut().step_by(width).for_each(|own| *own += offset);
        }
    }
}
