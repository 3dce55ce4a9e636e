//! Rows that are kept elsewhere than in memory, such as in a file, and read when they are needed: [`RowStore`], which a program implements, and
//! [`StoredRows`], some of its rows.
//!
//! ```text
//! a row of a store    x_1 … x_D   y_1 … y_P   and its offset, where rows have one       in the user's units
//! ```

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use super::column_moments::RowBlocks;
use super::row_set::RowSet;
use super::split::{check_split, held_out, sample_in_memory};
use super::{Dataset, Stratify, TransformChoice, split_rows_by_class};
use crate::error::{Error, Result};
use crate::numeric::mat::{Mat, View};
use crate::random::noise::{Key, Purpose};

/// The number of rows that a pass reads at a time.
const PASS_ROWS: usize = 4096;

/// Rows that are kept somewhere, all of them finite numbers. Reading the same rows gives the same numbers, from any thread.
pub trait RowStore: Debug + Send + Sync {
    /// The number of rows, below 2³².
    fn rows(&self) -> usize;

    /// The number of inputs of a row, `D`.
    fn inputs(&self) -> usize;

    /// The number of targets of a row, `P`.
    fn targets(&self) -> usize;

    /// Whether each row has an offset too.
    fn has_offsets(&self) -> bool;

    /// Reads the rows with these numbers, which ascend, into `numbers`, one behind the other: inputs, targets, offset.
    fn read(&self, rows: &[u32], numbers: &mut [f64]) -> io::Result<()>;
}

/// Some rows of a store, in its order: all to fit to, say, or those to test on. They are known by their places, from 0.
///
/// An eighth of a byte is kept for each row of the store.
#[derive(Clone, Debug)]
pub struct StoredRows {
    /// Where the rows are.
    store: Arc<dyn RowStore>,
    /// Which of them.
    rows: Arc<RowSet>,
}

impl StoredRows {
    /// All rows of a store. Fails if it has none, or too many.
    pub fn new(store: Arc<dyn RowStore>) -> Result<Self> {
        let rows = store.rows();
        if rows == 0 {
            let advice = "the table is empty: check the file and any filter before it";
            return Err(Error::TooFewRows { what: "a dataset", needed: 1, rows, advice });
        }
        if u32::try_from(rows).is_err() {
            let expected = format!("at most {} rows", u32::MAX);
            return Err(Error::Shape { what: "dataset", expected, found: rows.to_string() });
        }
        Ok(Self { store, rows: Arc::new(RowSet::all(rows)) })
    }

    /// The number of rows.
    #[allow(clippy::len_without_is_empty, reason = "a split leaves some rows on both sides")]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The number of inputs, `D`.
    pub fn inputs(&self) -> usize {
        self.store.inputs()
    }

    /// The number of targets, `P`.
    pub fn targets(&self) -> usize {
        self.store.targets()
    }

    /// The numbers of these rows in the store, in ascending order.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.rows.rows_from(0)
    }

    /// The numbers of a row in the store.
    fn width(&self) -> usize {
        self.inputs() + self.targets() + usize::from(self.store.has_offsets())
    }

    /// The rows at these places, in that order, in memory. Fails if one does not exist, or cannot be read.
    pub fn gather(&self, places: &[u32]) -> Result<Dataset> {
        if let Some(place) = places.iter().find(|place| **place as usize >= self.len()) {
            let expected = format!("all below {}", self.len());
            return Err(Error::Shape { what: "row numbers", expected, found: place.to_string() });
        }
        let mut order: Vec<(u32, usize)> =
            places.iter().enumerate().map(|(at, place)| (self.rows.row(*place as usize), at)).collect();
        order.sort_unstable();
        let ascending: Vec<u32> = order.iter().map(|(row, _)| *row).collect();
        let mut numbers = vec![0.0; places.len() * self.width()];
        self.read(&ascending, &mut numbers)?;
        let (inputs, targets) = (self.inputs(), self.targets());
        let (mut x, mut y) = (Mat::zeros(places.len(), inputs), Mat::zeros(places.len(), targets));
        let mut offsets = self.store.has_offsets().then(|| vec![0.0; places.len()]);
        for (row, (_, at)) in numbers.chunks_exact(self.width()).zip(&order) {
            x.row_mut(*at).copy_from_slice(&row[..inputs]);
            y.row_mut(*at).copy_from_slice(&row[inputs..inputs + targets]);
            offsets.iter_mut().for_each(|all| all[*at] = row[inputs + targets]);
        }
        let data = Dataset::new(x, y)?;
        Ok(match offsets {
            None => data,
            Some(offsets) => data.with_offsets(offsets)?,
        }
        .kept_dense())
    }

    /// At most `most` of the rows at random, the same each time, with their places in ascending order.
    pub fn sampled(&self, most: usize) -> Result<(Vec<u32>, Dataset)> {
        let places = sample_in_memory(self.len(), most);
        let rows = self.gather(&places)?;
        Ok((places, rows))
    }

    /// Splits into the rest and a `fraction` of the rows, those that [`Dataset::split`] and [`Dataset::split_by_class`] hold out of the same rows in
    /// memory.
    pub fn split(&self, fraction: f64, stratify: Stratify, seed: u64) -> Result<(Self, Self)> {
        check_split(self.len(), fraction)?;
        let (rest, out) = match stratify {
            Stratify::Rows => {
                let mut out = Key::new(seed, Purpose::Split).permutation(self.len(), 0);
                out.truncate(held_out(self.len(), fraction));
                self.rows.split(out)
            }
            Stratify::Classes => {
                let classes = self.targets_alone()?.classes()?;
                self.rows.split(split_rows_by_class(&classes, fraction, seed)?.1)
            }
        };
        let part = |rows: RowSet| Self { store: self.store.clone(), rows: Arc::new(rows) };
        Ok((part(rest), part(out)))
    }

    /// Targets and offsets of all rows in memory, without inputs.
    pub(crate) fn targets_alone(&self) -> Result<Dataset> {
        let (inputs, targets) = (self.inputs(), self.targets());
        let mut y = Vec::with_capacity(self.len() * targets);
        let mut offsets = self.store.has_offsets().then(|| Vec::with_capacity(self.len()));
        self.each(&mut |_, rows| {
            for row in rows.as_slice().chunks_exact(rows.ncols()) {
                y.extend_from_slice(&row[inputs..inputs + targets]);
                offsets.iter_mut().for_each(|all| all.push(row[inputs + targets]));
            }
        })?;
        Ok(Dataset::without_inputs(Mat::from_vec(self.len(), targets, y)?, offsets))
    }

    /// The smallest value of each target.
    pub(crate) fn smallest_targets(&self) -> Result<Vec<f64>> {
        let mut all = vec![f64::INFINITY; self.targets()];
        self.each_target(&mut |y| all.iter_mut().zip(y).for_each(|(least, v)| *least = least.min(*v)))?;
        Ok(all)
    }

    /// Fails if targets are outside of the domain of a transform, and names the rows by their places.
    pub fn check_targets(&self, choice: TransformChoice) -> Result<()> {
        if choice.contains(f64::NEG_INFINITY) {
            return Ok(());
        }
        match self.smallest_targets()?.iter().all(|least| choice.contains(*least)) {
            true => Ok(()),
            false => choice.check(self.targets_alone()?.y().view()),
        }
    }

    /// Calls `visit` with the targets of each row, in order.
    fn each_target(&self, visit: &mut dyn FnMut(&[f64])) -> Result<()> {
        let targets = self.inputs()..self.inputs() + self.targets();
        self.each(&mut |_, rows| {
            rows.as_slice().chunks_exact(rows.ncols()).for_each(|row| visit(&row[targets.clone()]))
        })
    }

    /// The inputs that are the same in every row, in their order; none where there is one row alone.
    pub fn constant_inputs(&self) -> Result<Vec<usize>> {
        if self.len() < 2 {
            return Ok(Vec::new());
        }
        let (mut first, mut same) = (None, vec![true; self.inputs()]);
        self.each(&mut |_, rows| {
            let first: &Vec<f64> = first.get_or_insert_with(|| rows.row(0).to_vec());
            for i in 0..rows.nrows() {
                same.iter_mut().zip(rows.row(i)).zip(first).for_each(|((same, v), first)| *same &= v == first);
            }
        })?;
        Ok((0..self.inputs()).filter(|column| same[*column]).collect())
    }

    /// Reads rows of the store.
    fn read(&self, rows: &[u32], numbers: &mut [f64]) -> Result<()> {
        self.store.read(rows, numbers).map_err(|cause| Error::StoredRows { reason: cause.to_string() })
    }
}

/// A block has all numbers of its rows: inputs, targets, offset.
impl RowBlocks for StoredRows {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn ncols(&self) -> usize {
        self.width()
    }

    fn weights(&self) -> Option<&[f64]> {
        None
    }

    fn each(&self, visit: &mut dyn FnMut(usize, View<'_>)) -> Result<()> {
        let (mut numbers, mut rows, mut first) = (Vec::new(), Vec::new(), 0);
        let mut left = self.rows.rows_from(0);
        loop {
            rows.clear();
            rows.extend(left.by_ref().take(PASS_ROWS));
            if rows.is_empty() {
                return Ok(());
            }
            numbers.resize(rows.len() * self.width(), 0.0);
            self.read(&rows, &mut numbers)?;
            visit(first, View::new(&numbers, rows.len(), self.width()));
            first += rows.len();
        }
    }
}
