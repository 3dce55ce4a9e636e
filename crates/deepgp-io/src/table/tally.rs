//! What the first pass takes down of a table: enough to say what each column is, whatever the number of rows.

use serde::{Deserialize, Serialize};

use super::column::Seen;
use super::scan::{exposure, no_exposure, not_finite};
use super::target::SeenTarget;
use super::text::Texts;
use super::together::{Facts, first};
use super::writing::{SeenWriting, Writings};
use super::{Cell, Missing, Place, Source};
use crate::error::{Error, Result};
use crate::words::bytes;

/// The number of records after which whoever watches a pass over the table is told again.
pub(super) const TOLD_EVERY: u64 = 4096;

/// The most columns whose cells are told of as wrong.
pub(super) const MOST_PROBLEMS: usize = 100;

/// What is wanted of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Input,
    Category,
    Target,
    Exposure,
    Ignored,
}

impl Role {
    pub(super) fn is_input(self) -> bool {
        matches!(self, Self::Input | Self::Category)
    }
}

/// What the table holds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) columns: Vec<Seen>,
    /// What was seen of the columns that are targets.
    pub(super) targets: Vec<Option<SeenTarget>>,
    /// How each column's cells are written.
    pub(super) written: Vec<SeenWriting>,
    /// The first cell that is wrong of each column that has one, in the order of the table.
    pub(super) problems: Vec<BadCell>,
    /// What reading text found.
    pub(super) texts: Texts,
    /// Missing cells of each column, in all rows.
    pub(super) missing: Vec<u64>,
    pub(super) first_missing: Vec<Option<(u64, Place)>>,
    pub(super) rows: u64,
    pub(super) kept: u64,
    /// Bytes of different values that are kept of all columns.
    bytes_kept: u64,
}

/// A cell that its column must not have.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BadCell {
    column: usize,
    place: Place,
    /// What stands there.
    cell: String,
    wrong: Wrong,
}

/// What is wrong with a cell.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Wrong {
    Infinite,
    NoExposure,
}

impl BadCell {
    /// The cell as an error.
    pub(super) fn error(&self, source: &Source) -> Error {
        let (name, place, cell) = (&source.names()[self.column], self.place, &self.cell);
        match self.wrong {
            Wrong::Infinite => not_finite(source, name, place, cell),
            Wrong::NoExposure => no_exposure(source, name, place, cell),
        }
    }
}

impl Tally {
    /// Goes through the records of all processes. Fails if one cannot be read, or there are more different values than may be kept.
    pub(super) fn read(
        source: &Source,
        roles: &[Role],
        missing: Missing,
        writings: &Writings,
        watch: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let tally = source.together(Self::read_own(source, roles, missing, writings, watch))?;
        source.check_marks(&tally.texts)?;
        tally.check_values(source)?;
        watch(tally.rows);
        Ok(tally)
    }

    /// Goes through the records that this process reads.
    fn read_own(
        source: &Source,
        roles: &[Role],
        missing: Missing,
        writings: &Writings,
        watch: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let columns = roles.iter().map(|role| Seen::new(*role == Role::Category)).collect();
        let targets = roles.iter().map(|role| (*role == Role::Target).then(SeenTarget::default)).collect();
        let mut tally = Self {
            columns,
            targets,
            written: roles.iter().map(|_| SeenWriting::default()).collect(),
            problems: Vec::new(),
            texts: Texts::default(),
            missing: vec![0; roles.len()],
            first_missing: vec![None; roles.len()],
            rows: 0,
            kept: 0,
            bytes_kept: 0,
        };
        let used = roles.iter().map(|role| *role != Role::Ignored).collect();
        let (mut rows, mut cells) = (source.rows_using(used)?, Vec::new());
        while let Some(number) = rows.next(&mut cells)? {
            for ((seen, cell), role) in tally.written.iter_mut().zip(&cells).zip(roles) {
                if *role != Role::Ignored {
                    seen.add(cell, writings);
                }
            }
            writings.read(&mut cells);
            let kept = tally.add(source, roles, missing, &cells, source.place(number));
            // In other formats a number has no leading zeros.
            if kept && source.is_text() {
                let numbers = cells.iter().enumerate().filter(|(_, cell)| matches!(cell, Cell::Number(_)));
                numbers.for_each(|(column, _)| tally.columns[column].codes.add_written(&rows.written(column)));
            }
            tally.check_values(source)?;
            if tally.rows.is_multiple_of(TOLD_EVERY) {
                watch(tally.rows);
            }
        }
        tally.texts = rows.texts();
        Ok(tally)
    }

    /// One more record, unless it is left out: then false.
    fn add(&mut self, source: &Source, roles: &[Role], missing: Missing, cells: &[Cell], place: Place) -> bool {
        self.rows += 1;
        let mut keep = true;
        for (column, role) in roles.iter().enumerate() {
            if *role != Role::Ignored && cells[column] == Cell::Missing {
                self.missing[column] += 1;
                self.first_missing[column].get_or_insert((self.rows, place));
                keep &= match missing {
                    Missing::Reject => true,
                    Missing::Drop => false,
                    Missing::Mean | Missing::Indicator => !matches!(role, Role::Target | Role::Exposure),
                };
            }
        }
        if !keep {
            return false;
        }
        self.kept += 1;
        for (column, role) in roles.iter().enumerate() {
            let cell = &cells[column];
            let infinite = matches!(cell, Cell::Number(value) if !value.is_finite());
            match role {
                Role::Ignored => {}
                Role::Exposure => {
                    if exposure(source, &source.names()[column], place, cell).is_err() {
                        self.add_problem(column, place, cell, Wrong::NoExposure);
                    }
                }
                Role::Target | Role::Input | Role::Category if infinite => {
                    self.add_problem(column, place, cell, Wrong::Infinite);
                }
                Role::Target => self.targets[column].iter_mut().for_each(|seen| seen.add(place, cell)),
                Role::Input | Role::Category => {
                    let seen = &mut self.columns[column];
                    let before = seen.bytes_kept();
                    seen.add(place, cell);
                    self.bytes_kept += seen.bytes_kept() - before;
                }
            }
        }
        true
    }

    /// A cell that is wrong, unless its column has had one.
    fn add_problem(&mut self, column: usize, place: Place, cell: &Cell, wrong: Wrong) {
        let cell = cell.label().unwrap_or_default().into_owned();
        self.tell(BadCell { column, place, cell, wrong });
    }

    /// Takes down a cell that is wrong, unless its column has had one.
    fn tell(&mut self, bad: BadCell) {
        if self.problems.len() < MOST_PROBLEMS && !self.problems.iter().any(|other| other.column == bad.column) {
            self.problems.push(bad);
        }
    }

    /// Fails if the columns have more different values than may be kept of a file of so many bytes.
    fn check_values(&self, source: &Source) -> Result<()> {
        let Some((limits, file)) = source.limits() else { return Ok(()) };
        let most = limits.values(file);
        if self.bytes_kept <= most {
            return Ok(());
        }
        let times = (most / file.max(1) + 1).saturating_mul(10);
        Err(Error::ManyValues { path: source.path().into(), limit: bytes(most), file: bytes(file), times })
    }
}

impl Facts for Tally {
    fn then(&mut self, next: Self) {
        self.columns.iter_mut().zip(next.columns).for_each(|(own, next)| own.then(next));
        for (own, next) in self.targets.iter_mut().zip(next.targets) {
            own.iter_mut().zip(next).for_each(|(own, next)| own.then(next));
        }
        self.written.iter_mut().zip(next.written).for_each(|(own, next)| own.then(next));
        next.problems.into_iter().for_each(|bad| self.tell(bad));
        self.texts.then(next.texts);
        self.missing.iter_mut().zip(next.missing).for_each(|(own, next)| *own += next);
        for (own, next) in self.first_missing.iter_mut().zip(next.first_missing) {
            first(own, next.map(|(row, place)| (self.rows + row, place)));
        }
        self.rows += next.rows;
        self.kept += next.kept;
        self.bytes_kept = self.columns.iter().map(Seen::bytes_kept).sum();
    }
}
