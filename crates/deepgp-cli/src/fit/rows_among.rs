//! The rows of a fit of which each of several processes has read a share: dealt out evenly, split, and sampled for what one process does by itself.
//!
//! ```text
//! a share of the table → numbers → evenly dealt out → what all know of all rows → split → evenly dealt out again
//! ```

use std::sync::Arc;

use anyhow::{Context, Result};
use deepgp::backend::Communicator;
use deepgp::{Dataset, Mat, SharedRows, evenly};
use deepgp_io::table::{ConstantInputs, Schema, Source, Targets};
use deepgp_io::{ClassWeights, Note};

use super::rows_on_disk::most_sampled;
use crate::model::rows::{self, PlacedRows};
use crate::terminal::stage::Stage;

/// The rows of a table that several processes have read.
#[derive(Debug)]
pub struct RowsAmong {
    /// The columns, those left out that are the same in every row.
    pub schema: Schema,
    /// What was found in the table.
    pub notes: Vec<Note>,
    /// A note on columns that are left out.
    pub constant: Option<Note>,
    /// The position of each row of all processes in the table, from 0.
    pub positions: Vec<u64>,
    processes: Arc<dyn Communicator>,
    /// This process's rows, as many as those of the others.
    own: Dataset,
}

/// Rows of several processes that are split.
#[derive(Debug)]
pub struct SplitAmong {
    /// All rows to train on; their inputs are their numbers among the rows of all processes.
    pub train: Dataset,
    /// The rows to train on, or some of them.
    pub train_sample: Dataset,
    /// The rows to test on, or some of them.
    pub test_sample: Option<PlacedRows>,
    /// The number of rows to test on.
    pub test_rows: usize,
}

impl RowsAmong {
    /// Reads this process's share of a table, and deals the rows out evenly. All processes call this.
    pub fn read(
        (schema, source): (Schema, &Source),
        constant: ConstantInputs,
        processes: Arc<dyn Communicator>,
        mut stage: Stage,
    ) -> Result<Self> {
        let (chunk, notes) = schema.encoder(source, Targets::Needed)?.read_all_watched(&mut |rows| stage.show(rows))?;
        let (x, y) = (chunk.x, chunk.y.context("the table has no targets")?);
        // Side by side: inputs, targets, the position, and the exposure if there is one.
        let (inputs, targets) = (x.ncols(), y.ncols());
        let exposures = usize::from(chunk.exposure.is_some());
        let exposure = chunk.exposure.unwrap_or_default();
        let mut all = Vec::with_capacity(x.nrows() * (inputs + targets + 1 + exposures));
        for (i, position) in chunk.kept.iter().enumerate() {
            all.extend_from_slice(x.row(i));
            all.extend_from_slice(y.row(i));
            all.push(*position as f64);
            all.extend(exposure.get(i));
        }
        let all = Mat::from_vec(x.nrows(), inputs + targets + 1 + exposures, all).context("rows of as many numbers")?;
        drop((x, y));
        let dealt = evenly(&*processes, all)?;
        let columns = |from: usize, to: usize| Mat::from_fn(dealt.nrows(), to - from, |i, j| dealt[(i, from + j)]);
        let mut own = Dataset::new(columns(0, inputs), columns(inputs, inputs + targets))?;
        if exposures > 0 {
            let column = inputs + targets + 1;
            own = own.with_offsets((0..dealt.nrows()).map(|i| dealt[(i, column)].ln()).collect())?;
        }
        let positions = processes.gather(columns(inputs + targets, inputs + targets + 1).as_slice())?;
        let positions = positions.into_iter().map(|position| position as u64).collect();
        drop(dealt);
        let (schema, own, constant) = settle(schema, own, constant, &*processes)?;
        Ok(Self { schema, notes, constant, positions, processes, own })
    }

    /// The targets of all rows.
    pub fn targets(&self) -> Result<Mat> {
        Ok(self.shared()?.outline().y().clone())
    }

    /// Splits the rows as [`rows::split`] does those that one process has, and fetches some of both parts.
    pub fn split(&self, test: Option<f64>, seed: u64) -> Result<SplitAmong> {
        let shared = self.shared()?;
        let all = shared.outline();
        let (train, test) = match test {
            None => (all.clone(), None),
            Some(share) => {
                let (train, test) = all.row_split(share, rows::stratify(&self.schema.target_kind), seed)?;
                (all.gather(&train)?, Some((all.gather(&test)?, test)))
            }
        };
        let most = most_sampled(self.own.x().ncols() + self.own.y().ncols());
        let test_rows = test.as_ref().map_or(0, |(_, numbers)| numbers.len());
        let fetched = test.map(|(test, numbers)| {
            let (places, data) = shared.sampled(&test, most)?;
            let position = |place: &u32| self.positions[numbers[*place as usize] as usize];
            anyhow::Ok(PlacedRows { data, positions: places.iter().map(position).collect() })
        });
        let (test_sample, train_sample) = (fetched.transpose()?, shared.sampled(&train, most)?.1);
        Ok(SplitAmong { train, train_sample, test_sample, test_rows })
    }

    /// This process's share of the rows to train on, `train` of a split, with the weights of classes.
    pub fn share(&self, train: &Dataset, weights: ClassWeights) -> Result<Dataset> {
        Ok(self.shared()?.evenly(&rows::weighted(train, weights)?)?)
    }

    /// The rows of all processes.
    fn shared(&self) -> Result<SharedRows<'_>> {
        Ok(SharedRows::new(&*self.processes, &self.own)?)
    }

    /// The number of rows of all processes.
    pub fn len(&self) -> usize {
        self.positions.len()
    }
}

/// The rows without the columns that are the same in those of all processes, if these are to be left out.
fn settle(
    schema: Schema,
    own: Dataset,
    constant: ConstantInputs,
    processes: &dyn Communicator,
) -> Result<(Schema, Dataset, Option<Note>)> {
    let mut first = match processes.rank() {
        0 => own.x().row(0).to_vec(),
        _ => vec![0.0; own.x().ncols()],
    };
    processes.broadcast(&mut first)?;
    let differs = |feature: usize| (0..own.len()).any(|i| own.x()[(i, feature)] != first[feature]);
    let mut different: Vec<f64> = (0..first.len()).map(|feature| f64::from(u8::from(differs(feature)))).collect();
    processes.sum(&mut different)?;
    let (schema, left_out, note) = constant.settle_columns(schema, |feature| different[feature] == 0.0, &first)?;
    if left_out.is_empty() {
        return Ok((schema, own, note));
    }
    let left: Vec<usize> = (0..first.len()).filter(|feature| !left_out.contains(feature)).collect();
    let x = Mat::from_fn(own.len(), left.len(), |i, j| own.x()[(i, left[j])]);
    Ok((schema, own.with_inputs(x)?, note))
}
