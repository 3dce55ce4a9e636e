//! Some rows of a dataset, and what must hold of them before a model looks at them.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::DeepGp;
use crate::noise::Noise;

/// Some rows of a dataset, standing for `num_data` rows.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Where the rows are, in the model's units.
    pub data: &'a Dataset,
    /// Which rows.
    pub rows: &'a [u32],
    /// How many rows the batch stands for: the data term is scaled by `num_data / rows.len()`.
    pub num_data: usize,
    /// Samples of the hidden layers for each row.
    pub samples: usize,
    /// `κ`, the factor on the KL that is optimised; 1 for the ELBO itself.
    pub kl_weight: f64,
}

impl DeepGp {
    /// Fails unless the batch has rows, all of them exist, and there is noise for them.
    pub(crate) fn check_batch(&self, batch: Batch<'_>, noise: &Noise<'_>) -> Result<()> {
        for (name, value) in [("batch rows", batch.rows.len()), ("num_data", batch.num_data)] {
            if value == 0 {
                return Err(Error::Setting { name, value: "0".into(), requirement: "at least 1" });
            }
        }
        if let Some(row) = batch.rows.iter().find(|&&r| r as usize >= batch.data.len()) {
            return Err(Error::Shape {
                what: "batch rows",
                expected: format!("numbers below {}, the rows of the dataset", batch.data.len()),
                found: row.to_string(),
            });
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
        if let Noise::Given(given) = noise {
            let hidden = &self.layers()[..self.layers().len() - 1];
            let expected: Vec<_> = hidden.iter().map(|l| (rows * samples, l.output_width())).collect();
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

    /// Fails unless `data` has the model's widths and targets that its likelihood knows.
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
        self.likelihood().check(data.y().view())
    }
}
