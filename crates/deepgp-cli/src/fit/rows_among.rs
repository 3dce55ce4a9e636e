//! The rows of a fit of which each of several processes has read a share: dealt out evenly, split, and sampled for what one process does by itself.
//!
//! ```text
//! a share of the table → numbers → evenly dealt out → what all know of all rows → split → evenly dealt out again
//! ```

use std::sync::Arc;

use anyhow::{Context, Result};
use deepgp::backend::Communicator;
use deepgp::{Dataset, Mat, SharedRows, SplitBy, evenly};
use deepgp_io::table::{Chunk, ConstantInputs, RowFacts, Schema, Source, Targets};
use deepgp_io::{ClassWeights, Note, SplitRule};

use super::levels_among::{self, Parts};
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

/// Rows to train on.
#[derive(Debug)]
pub struct TrainAmong {
    /// All of them; their inputs are their numbers among the rows of all processes.
    pub rows: Dataset,
    /// This process's rows, if what levels say took the place of these.
    settled: Option<Dataset>,
}

/// Rows of several processes that are split.
#[derive(Debug)]
pub struct SplitAmong {
    /// The columns; what levels of categories say about targets is known from the training rows.
    pub schema: Schema,
    /// All rows to train on.
    pub train: TrainAmong,
    /// The rows to train on, or some of them.
    pub train_sample: Dataset,
    /// The rows to test on, or some of them.
    pub test_sample: Option<PlacedRows>,
    /// The number of rows to test on.
    pub test_rows: usize,
}

impl RowsAmong {
    /// Reads this process's share of a table, with what columns say about rows that is no input, and deals the rows out evenly. All processes call this.
    pub fn read(
        (schema, source): (Schema, &Source),
        split: &SplitRule,
        constant: ConstantInputs,
        processes: Arc<dyn Communicator>,
        mut stage: Stage,
    ) -> Result<Self> {
        let (chunk, mut notes) =
            schema.encoder(source, Targets::Needed)?.read_all_watched(&mut |rows| stage.show(rows))?;
        let (first, kept, columns) = (chunk.first, &chunk.kept, &schema.row_columns);
        let facts = RowFacts::read(source, &schema, columns, split.time_column(), first, kept)?;
        let all = SideBySide::new(chunk, &facts, split)?;
        let mut counts = [all.left_out as f64, (all.left_out + all.rows.nrows()) as f64];
        processes.sum(&mut counts)?;
        let [left_out, of] = counts.map(|rows| rows as usize);
        if let (Some(column), true) = (&schema.row_columns.weights, left_out > 0) {
            notes.push(Note::ZeroWeights { column: column.clone(), rows: left_out, of });
        }
        notes.extend(facts.notes);
        let (own, positions) = all.dealt_out(&*processes, split)?;
        let positions = processes.gather(&positions)?.into_iter().map(|position| position as u64).collect();
        let (schema, own, constant) = settle(schema, own, constant, &*processes)?;
        Ok(Self { schema, notes, constant, positions, processes, own })
    }

    /// All rows; their inputs are their numbers.
    pub fn outline(&self) -> Result<Dataset> {
        Ok(self.shared()?.outline().clone())
    }

    /// Splits the rows as [`rows::split`] does those that one process has, and fetches some of both parts.
    pub fn split(&self, test: Option<f64>, seed: u64) -> Result<SplitAmong> {
        let all = self.outline()?;
        let (train, test) = match test {
            None => ((0..all.len() as u32).collect(), None),
            Some(share) => {
                let (train, test) = all.row_split(share, rows::stratify(&self.schema.target_kind), seed)?;
                (train, Some(test))
            }
        };
        let parts = Parts { train: &train, others: test.as_deref() };
        let own = (&self.own, self.shared()?.numbers().start);
        let (schema, settled) = levels_among::settle(&self.schema, &*self.processes, &all, own, parts, seed)?;
        let shared = SharedRows::new(&*self.processes, settled.as_ref().unwrap_or(&self.own))?;
        let most = most_sampled(shared.width() + all.y().ncols());
        let test_rows = test.as_ref().map_or(0, Vec::len);
        let fetched = test.map(|numbers| {
            let (places, data) = shared.sampled(&all.gather(&numbers)?, most)?;
            let position = |place: &u32| self.positions[numbers[*place as usize] as usize];
            anyhow::Ok(PlacedRows { data, positions: places.iter().map(position).collect() })
        });
        let test_sample = fetched.transpose()?;
        let train = all.gather(&train)?;
        let train_sample = shared.sampled(&train, most)?.1;
        Ok(SplitAmong { schema, train: TrainAmong { rows: train, settled }, train_sample, test_sample, test_rows })
    }

    /// This process's share of the rows to train on of a split, with the weights of classes.
    pub fn share(&self, train: &TrainAmong, weights: ClassWeights) -> Result<Dataset> {
        let shared = SharedRows::new(&*self.processes, train.settled.as_ref().unwrap_or(&self.own))?;
        Ok(shared.evenly(&rows::weighted(&train.rows, weights)?)?)
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

/// Rows as they are dealt out, `[N, D + P + 1 + …]`: inputs, targets, the position, and then offset, weight, and what rows are split by, if there are.
struct SideBySide {
    rows: Mat,
    inputs: usize,
    targets: usize,
    /// Whether there are offsets, weights, and something that rows are split by.
    has: [bool; 3],
    /// The rows of weight 0, which are not there.
    left_out: usize,
}

impl SideBySide {
    /// The rows of a chunk with what columns say about them.
    fn new(chunk: Chunk, facts: &RowFacts, split: &SplitRule) -> Result<Self> {
        let (x, y) = (chunk.x, chunk.y.context("the table has no targets")?);
        let place = |i: usize| chunk.kept[i] as f64;
        let split_by: Option<Vec<f64>> = match (split, &facts.groups, &facts.times) {
            (SplitRule::Random, None, _) => None,
            (SplitRule::Random, Some(groups), _) => Some(groups.iter().map(|group| f64::from(*group)).collect()),
            (SplitRule::Last { .. }, _, Some(times)) => Some(times.clone()),
            (SplitRule::Last { .. }, _, None) => Some((0..chunk.kept.len()).map(place).collect()),
        };
        let offsets: Option<Vec<f64>> = chunk.exposure.map(|all| all.into_iter().map(f64::ln).collect());
        let further = [offsets.as_ref(), facts.weights.as_ref(), split_by.as_ref()];
        let width = x.ncols() + y.ncols() + 1 + further.iter().flatten().count();
        let counts = |i: &usize| facts.weights.as_ref().is_none_or(|weights| weights[*i] > 0.0);
        let mut numbers = Vec::with_capacity(x.nrows() * width);
        for i in (0..x.nrows()).filter(counts) {
            numbers.extend_from_slice(x.row(i));
            numbers.extend_from_slice(y.row(i));
            numbers.push(place(i));
            numbers.extend(further.iter().flatten().map(|column| column[i]));
        }
        let rows = Mat::from_vec(numbers.len() / width, width, numbers).context("rows of one width")?;
        let (has, left_out) = (further.map(|column| column.is_some()), x.nrows() - rows.nrows());
        Ok(Self { rows, inputs: x.ncols(), targets: y.ncols(), has, left_out })
    }

    /// As many of the rows of all processes as any has, and their positions in the table.
    fn dealt_out(self, processes: &dyn Communicator, split: &SplitRule) -> Result<(Dataset, Vec<f64>)> {
        let Self { inputs, targets, has: [offsets, weights, split_by], .. } = self;
        let dealt = evenly(processes, self.rows)?;
        let columns = |from: usize, to: usize| Mat::from_fn(dealt.nrows(), to - from, |i, j| dealt[(i, from + j)]);
        let mut rows = Dataset::new(columns(0, inputs), columns(inputs, inputs + targets))?;
        let mut at = inputs + targets;
        let mut next = || {
            at += 1;
            (0..dealt.nrows()).map(|i| dealt[(i, at - 1)]).collect::<Vec<f64>>()
        };
        let positions = next();
        if offsets {
            rows = rows.with_offsets(next())?;
        }
        if weights {
            rows = rows.with_weights(next())?;
        }
        if split_by {
            rows = rows.with_split_by(match split {
                SplitRule::Random => SplitBy::Groups(next().into_iter().map(|group| group as u32).collect()),
                SplitRule::Last { .. } => SplitBy::Times(next()),
            })?;
        }
        Ok((rows, positions))
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
