//! The rows of a fit, of which this process holds all, or its share.
//!
//! What is decided about all rows (which are held out, units and transforms of targets, where a likelihood starts) follows from few numbers of
//! each: targets, weight, offset, group or time. These every process has, in the *outline*, so that it decides as one process with all rows
//! would, to the same bit. Inputs, the bulk, stay where they are; only those of some rows are fetched, for all processes alike: to choose inducing
//! inputs and transforms, and those of the held-out rows that are looked at.
//!
//! Whoever has read unequal parts of a table deals the rows out anew ([`evenly`], [`SharedRows::evenly`]) before training.
//!
//! ```text
//! outline   [N, 1 + P]     each process      its only input is the row's number
//! own       [N_r, D + P]   process r         rows offset_r … offset_r + N_r
//! ```

use std::borrow::Cow;
use std::ops::Range;

use crate::backend::Communicator;
use crate::backend::agreement::Share;
use crate::data::{Dataset, SplitBy, Standardiser, sample, sample_in_memory};
use crate::error::{Error, Result};
use crate::model::inducing::SUBSAMPLE;
use crate::numeric::mat::Mat;
use crate::random::noise::{Key, Purpose};

/// The rows that are sent at once.
const SENT: usize = 8192;

/// The rows of a fit, as one process sees them. What it calls a *part* is a dataset of rows of [`SharedRows::outline`].
#[derive(Debug)]
pub struct SharedRows<'a> {
    /// The processes that hold the rows.
    processes: &'a dyn Communicator,
    /// The rows of this process.
    own: &'a Dataset,
    /// Their place among all rows.
    share: Share,
    /// All rows, but for their inputs, if there are other processes.
    outline: Option<Dataset>,
}

impl<'a> SharedRows<'a> {
    /// The rows of all processes, of which this one has `own`.
    pub fn new(processes: &'a dyn Communicator, own: &'a Dataset) -> Result<Self> {
        let share = processes.share(own.len())?;
        let outline = if processes.is_alone() { None } else { Some(outline(processes, own, share)?) };
        Ok(Self { processes, own, share, outline })
    }

    /// The processes that hold the rows.
    pub(super) fn processes(&self) -> &'a dyn Communicator {
        self.processes
    }

    /// The numbers of this process's rows among all.
    pub fn numbers(&self) -> Range<usize> {
        self.share.range()
    }

    /// The number of inputs.
    pub fn width(&self) -> usize {
        self.own.x().ncols()
    }

    /// The rows that this process holds.
    pub(super) fn held(&self) -> &'a Dataset {
        self.own
    }

    /// All rows; where there are several processes their inputs are their numbers.
    pub fn outline(&self) -> &Dataset {
        self.outline.as_ref().unwrap_or(self.own)
    }

    /// The rows of a part that this process holds. Fails if one of the processes has none.
    pub(super) fn own<'p>(&self, part: &'p Dataset) -> Result<Cow<'p, Dataset>> {
        if self.outline.is_none() {
            return Ok(Cow::Borrowed(part));
        }
        let (of_part, of_own) = self.find(part);
        let none = || Error::TooFewRows {
            what: "a process that trains with others",
            needed: 1,
            rows: 0,
            advice: "use fewer processes, or give more rows",
        };
        let own = if of_part.is_empty() { Err(none()) } else { part.gather(&of_part) };
        let own = own.and_then(|rows| rows.with_inputs(self.own.x().gather(&of_own)));
        self.processes.all_fine(own).map(Cow::Owned)
    }

    /// A part with its inputs, at every process: for few rows.
    pub fn fetch<'p>(&self, part: &'p Dataset) -> Result<Cow<'p, Dataset>> {
        if self.outline.is_none() {
            return Ok(Cow::Borrowed(part));
        }
        let mut x = Mat::zeros(part.len(), self.own.x().ncols());
        let (of_part, of_own) = self.find(part);
        for (to, from) in of_part.iter().zip(&of_own) {
            x.row_mut(*to as usize).copy_from_slice(self.own.x().row(*from as usize));
        }
        self.processes.sum(x.as_mut_slice())?;
        part.with_inputs(x).map(Cow::Owned)
    }

    /// This process's share of a part: as many rows for each process as can be, one behind the other. Rows that another process holds are sent.
    pub fn evenly(&self, part: &Dataset) -> Result<Dataset> {
        let share = even_share(part.len(), self.processes.rank(), self.processes.size())?;
        let (_, of_own) = self.find(part);
        let x = evenly(self.processes, self.own.x().gather(&of_own))?;
        part.gather(&share.collect::<Vec<_>>())?.with_inputs(x)
    }

    /// At most `most` of the rows of a part at random, with their inputs, at every process, and their places in the part, in ascending order: those of
    /// [`StoredRows::sampled`](crate::StoredRows::sampled).
    pub fn sampled(&self, part: &Dataset, most: usize) -> Result<(Vec<u32>, Dataset)> {
        let places = sample_in_memory(part.len(), most);
        let rows = self.fetch_rows(part, &places)?;
        Ok((places, rows))
    }

    /// Some rows of a part with their inputs, at every process.
    pub fn fetch_rows(&self, part: &Dataset, rows: &[u32]) -> Result<Dataset> {
        let some = part.gather(rows)?;
        Ok(self.fetch(&some)?.into_owned())
    }

    /// The standardised inputs that a model starts from: those of all rows to train on, `part`, of which this process has `rows`, or of
    /// [`SUBSAMPLE`] of them at random if there are more. However many processes hold the rows, they are the same.
    pub(super) fn start_inputs<'r>(
        &self,
        part: &Dataset,
        rows: &'r Dataset,
        units: &Standardiser,
        seed: u64,
    ) -> Result<Cow<'r, Mat>> {
        if self.outline.is_none() && part.len() <= SUBSAMPLE {
            return Ok(Cow::Borrowed(rows.x()));
        }
        let some = sample(part.len(), SUBSAMPLE, Key::new(seed, Purpose::Inducing), 0);
        if self.outline.is_none() {
            return Ok(Cow::Owned(rows.x().gather(&some)));
        }
        Ok(Cow::Owned(units.x.apply("x", self.fetch_rows(part, &some)?.x().view())?))
    }

    /// The rows of a part that this process holds: their numbers in the part, and among the process's own.
    fn find(&self, part: &Dataset) -> (Vec<u32>, Vec<u32>) {
        let own = self.share.range();
        let number = |i: usize| part.x()[(i, 0)] as usize;
        let held = (0..part.len()).filter(|&i| own.contains(&number(i)));
        held.map(|i| (i as u32, (number(i) - own.start) as u32)).unzip()
    }
}

/// The numbers of the rows that process `rank` of `size` has if `rows` are dealt out, one behind the other, as many to each as can be. Fails if
/// there are fewer rows than processes.
fn even_share(rows: usize, rank: usize, size: usize) -> Result<Range<u32>> {
    let upto = |rank: usize| (rank as u128 * rows as u128 / size as u128) as u32;
    if rows < size {
        let (what, advice) = ("several processes", "use fewer processes, or give more rows");
        return Err(Error::TooFewRows { what, needed: size, rows, advice });
    }
    Ok(upto(rank)..upto(rank + 1))
}

/// The rows of all processes, of which this one has `own`, dealt out anew: as many to each as can be, one behind the other, as they were. Those that change
/// hands are sent to all, 8192 at once; where processes have nearly as many each, these are few.
pub fn evenly(processes: &dyn Communicator, own: Mat) -> Result<Mat> {
    let (rank, size, columns) = (processes.rank(), processes.size(), own.ncols());
    let counts = processes.gather(&[own.nrows() as f64])?;
    let first = |rank: usize| counts[..rank].iter().sum::<f64>() as usize;
    let rows = first(size);
    let held = |rank: usize| first(rank)..first(rank + 1);
    let due = |rank: usize| even_share(rows, rank, size).map(|due| due.start as usize..due.end as usize);
    let (mine, here) = (due(rank)?, held(rank));
    let mut dealt = Mat::zeros(mine.len(), columns);
    for row in mine.start.max(here.start)..mine.end.min(here.end) {
        dealt.row_mut(row - mine.start).copy_from_slice(own.row(row - here.start));
    }
    let mut moved = Vec::new();
    for from in 0..size {
        let (held, stays) = (held(from), due(from)?);
        moved.extend(held.filter(|row| !stays.contains(row)));
    }
    for some in moved.chunks(SENT) {
        let mut sent = Mat::zeros(some.len(), columns);
        for (at, row) in some.iter().enumerate().filter(|(_, row)| here.contains(row)) {
            sent.row_mut(at).copy_from_slice(own.row(row - here.start));
        }
        processes.sum(sent.as_mut_slice())?;
        for (at, row) in some.iter().enumerate().filter(|(_, row)| mine.contains(row)) {
            dealt.row_mut(row - mine.start).copy_from_slice(sent.row(at));
        }
    }
    Ok(dealt)
}

/// What every process knows of the rows of all. Fails unless all have the same columns.
fn outline(processes: &dyn Communicator, own: &Dataset, share: Share) -> Result<Dataset> {
    let by = match own.split_by() {
        None => 0.0,
        Some(SplitBy::Groups(_)) => 1.0,
        Some(SplitBy::Times(_)) => 2.0,
    };
    let flag = |there: bool| f64::from(u8::from(there));
    let columns = [own.x().ncols() as f64, own.y().ncols() as f64, flag(own.weights().is_some())];
    let columns = [&columns[..], &[flag(own.offsets().is_some()), by]].concat();
    let advice =
        "give all processes rows of the same table, with as many inputs and targets, and weights for all or none";
    processes.check_same("the columns", &columns, advice)?;
    let numbers = Mat::from_fn(share.total, 1, |i, _| i as f64);
    let y = Mat::from_vec(share.total, own.y().ncols(), processes.gather(own.y().as_slice())?);
    let mut all = Dataset::new(numbers, y.expect("all processes have as many targets"))?;
    if let Some(weights) = own.weights() {
        all = all.with_weights(processes.gather(weights)?)?;
    }
    if let Some(offsets) = own.offsets() {
        all = all.with_offsets(processes.gather(offsets)?)?;
    }
    match own.split_by() {
        None => Ok(all),
        Some(SplitBy::Groups(groups)) => {
            let groups: Vec<f64> = groups.iter().map(|group| f64::from(*group)).collect();
            let groups = processes.gather(&groups)?.into_iter().map(|group| group as u32).collect();
            all.with_split_by(SplitBy::Groups(groups))
        }
        Some(SplitBy::Times(times)) => all.with_split_by(SplitBy::Times(processes.gather(times)?)),
    }
}
