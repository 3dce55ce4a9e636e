//! The rows of a fit in a file beside its checkpoint: written in one pass over the table, split, and sampled for what needs rows in memory.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use deepgp::{Dataset, StoredRows};
use deepgp_io::table::{ConstantInputs, InputColumn, Schema, Source, Targets};
use deepgp_io::{Note, RowFile, RowFileWriter, disk, words};

use crate::arguments::paths;
use crate::model::rows::{self, PlacedRows};
use crate::terminal::output::{self, Voice};
use crate::terminal::stage::{Extent, Stage};

/// Rows that are written at once.
const ROWS_AT_ONCE: usize = 8192;
/// The most rows that are in memory for scores, baselines and the report, and the most numbers of them.
const MOST_SAMPLED: usize = 100_000;
const MOST_NUMBERS: usize = 8 << 20;
/// The fewest rows that are in memory, however wide they are.
const FEWEST_SAMPLED: usize = 2000;

/// The rows of a table in a file.
#[derive(Debug)]
pub struct RowsOnDisk {
    /// The columns, those left out that are the same in every row.
    pub schema: Schema,
    /// The rows.
    pub rows: StoredRows,
    /// What was found in the table.
    pub notes: Vec<Note>,
    /// A note on columns that are left out.
    pub constant: Option<Note>,
    /// Where each row stands in the table.
    positions: Positions,
}

/// Rows on disk that are split.
#[derive(Debug)]
pub struct SplitOnDisk {
    /// The rows to train on.
    pub train: StoredRows,
    /// The rows to train on, or some of them, in memory.
    pub train_sample: Dataset,
    /// The rows to test on, or some of them, in memory.
    pub test_sample: Option<PlacedRows>,
    /// The number of rows to test on.
    pub test_rows: usize,
}

/// The most rows of so many numbers that are in memory for scores, baselines and the report.
pub fn most_sampled(width: usize) -> usize {
    (MOST_NUMBERS / width).clamp(FEWEST_SAMPLED, MOST_SAMPLED)
}

impl SplitOnDisk {
    /// A note if the model is to be scored on some of the test rows.
    pub fn note(&self) -> Option<Note> {
        note_on_scores(self.test_sample.as_ref(), self.test_rows)
    }
}

/// A note if the model is to be scored on these test rows, and not on all of so many.
pub fn note_on_scores(sample: Option<&PlacedRows>, of: usize) -> Option<Note> {
    let rows = sample?.data.len();
    (rows < of).then_some(Note::ScoredOnRowsInMemory { rows, of })
}

impl RowsOnDisk {
    /// Writes the rows of a table of `records` records, if their number is known, to a file beside the checkpoint, after its size was told. Fails
    /// if the disk has no room for it.
    pub fn write(
        (schema, source): (Schema, &Source),
        records: Option<u64>,
        checkpoint: &Path,
        constant: ConstantInputs,
        voice: Voice,
    ) -> Result<Self> {
        let place = paths::beside(checkpoint, "rows");
        let inputs = schema.inputs.iter().map(InputColumn::width).sum();
        let (targets, offsets) = (schema.targets.len(), schema.exposure.is_some());
        if let Some(records) = records {
            let size = RowFileWriter::bytes(records, inputs, targets, offsets);
            check_room(&place, size)?;
            let size = words::bytes(size);
            output::say(voice, &format!("rows are kept on disk: {size} beside {} until the end", checkpoint.display()));
        }
        let failed = || format!("cannot keep rows on disk beside {}", checkpoint.display());
        let mut writer = RowFileWriter::create(&place, inputs, targets, offsets).with_context(failed)?;
        let mut stage = Stage::new(voice, "writing rows", records.map_or(Extent::UnknownRows, Extent::Rows));
        let mut encoder = schema.encoder(source, Targets::Needed)?;
        let (mut positions, mut read) = (Positions::default(), 0);
        while let Some(chunk) = encoder.next_chunk(ROWS_AT_ONCE)? {
            read += chunk.read;
            stage.show(read);
            if chunk.kept.is_empty() {
                continue;
            }
            let mut data = Dataset::new(chunk.x, chunk.y.context("the table has no targets")?)?;
            if let Some(exposure) = chunk.exposure {
                data = data.with_offsets(exposure.into_iter().map(f64::ln).collect())?;
            }
            positions.add(&chunk.kept);
            writer.add(&data).with_context(failed)?;
        }
        drop(stage);
        let (file, notes) = (writer.finish().with_context(failed)?, encoder.notes());
        Self::settle(schema, file, notes, positions, constant)
    }

    /// The rows without the columns that are the same in all of them, if these are to be left out.
    fn settle(
        schema: Schema,
        file: RowFile,
        notes: Vec<Note>,
        positions: Positions,
        constant: ConstantInputs,
    ) -> Result<Self> {
        let file = Arc::new(file);
        let rows = StoredRows::new(file.clone())?;
        if constant == ConstantInputs::Keep {
            return Ok(Self { schema, rows, notes, constant: None, positions });
        }
        let same = rows.constant_inputs()?;
        let first = rows.gather(&[0])?;
        drop(rows);
        let (schema, left_out, constant) =
            constant.settle_columns(schema, |input| same.contains(&input), first.x().row(0))?;
        let file = Arc::into_inner(file).context("nobody else reads the rows yet")?;
        let rows = StoredRows::new(Arc::new(file.without_inputs(&left_out)))?;
        Ok(Self { schema, rows, notes, constant, positions })
    }

    /// Splits the rows as [`rows::split`] does those in memory, and takes some of both parts into memory.
    pub fn split(&self, test: Option<f64>, seed: u64) -> Result<SplitOnDisk> {
        let stratify = rows::stratify(&self.schema.target_kind);
        let (train, test) = match test {
            None => (self.rows.clone(), None),
            Some(share) => {
                let (train, test) = self.rows.split(share, stratify, seed)?;
                (train, Some(test))
            }
        };
        let most = most_sampled(self.rows.inputs() + self.rows.targets());
        let test_sample = test.as_ref().map(|rows| {
            let (places, data) = rows.sampled(most)?;
            anyhow::Ok(PlacedRows { data, positions: self.positions.of(rows, &places) })
        });
        let test_sample = test_sample.transpose()?;
        let train_sample = train.sampled(most)?.1;
        Ok(SplitOnDisk { train, train_sample, test_sample, test_rows: test.map_or(0, |rows| rows.len()) })
    }

    /// The position in the table of each row, all of them in memory.
    pub fn all_positions(&self) -> Vec<u64> {
        self.rows.numbers().map(|row| self.positions.at(row)).collect()
    }
}

/// Fails if the disk of a file has no room for so many bytes.
fn check_room(place: &Path, size: u64) -> Result<()> {
    let folder = match place.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let advice = "make room, or name another disk with --checkpoint";
    Ok(disk::check("a file of the rows, which do not fit in memory,", size, folder, advice)?)
}

/// Where rows stand in their table, from which some may have been left out.
#[derive(Clone, Debug, Default)]
struct Positions {
    /// The number of rows.
    rows: u32,
    /// The first row after each gap, and the number of records that were left out before it.
    gaps: Vec<(u32, u64)>,
}

impl Positions {
    /// Adds rows that stand at these positions.
    fn add(&mut self, positions: &[u64]) {
        for position in positions {
            let left_out = position - u64::from(self.rows);
            if self.gaps.last().map_or(0, |(_, before)| *before) != left_out {
                self.gaps.push((self.rows, left_out));
            }
            self.rows += 1;
        }
    }

    /// The position of a row.
    fn at(&self, row: u32) -> u64 {
        let gap = self.gaps.partition_point(|(first, _)| *first <= row);
        u64::from(row) + gap.checked_sub(1).map_or(0, |gap| self.gaps[gap].1)
    }

    /// The positions of the rows at some places, which ascend, of a part.
    fn of(&self, part: &StoredRows, places: &[u32]) -> Vec<u64> {
        let mut wanted = places.iter().copied().peekable();
        let numbers = (0..).zip(part.numbers()).filter(|(place, _)| wanted.next_if_eq(place).is_some());
        numbers.map(|(_, row)| self.at(row)).collect()
    }
}

#[cfg(test)]
mod tests {
    use deepgp_io::table::{ColumnCells, Kind};

    use super::*;

    #[test]
    fn of_very_many_rows_some_are_in_memory_and_a_note_says_so() {
        let rows = MOST_SAMPLED + 5000;
        let numbers = |by: f64| Arc::new(ColumnCells::Numbers((0..rows).map(|i| by * i as f64).collect()));
        let source = Source::of_columns("X", vec![("x".into(), numbers(1.0)), ("y".into(), numbers(2.0))]).unwrap();
        let inputs = vec![InputColumn::new("x", Kind::Number { fill: None })];
        let schema = Schema { inputs, targets: vec!["y".into()], ..Schema::default() };
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = folder.path().join("c");
        let disk =
            RowsOnDisk::write((schema, &source), Some(rows as u64), &checkpoint, ConstantInputs::Drop, Voice::SILENT);
        let disk = disk.unwrap();
        let parts = disk.split(Some(0.97), 1).unwrap();
        assert_eq!((parts.train.len(), parts.train_sample.len(), parts.test_rows), (3150, 3150, rows - 3150));
        assert_eq!(parts.note(), Some(Note::ScoredOnRowsInMemory { rows: MOST_SAMPLED, of: rows - 3150 }));
        let test = parts.test_sample.unwrap();
        assert!(test.positions.is_sorted() && test.positions.len() == MOST_SAMPLED);
        assert!(test.positions.iter().enumerate().all(|(i, at)| test.data.x()[(i, 0)] == *at as f64));
        assert_eq!(disk.split(None, 1).unwrap().note(), None);
    }

    #[test]
    fn rows_know_where_they_stood_in_their_table() {
        let kept: Vec<u64> = (0..1000).filter(|at| *at > 2 && at % 7 != 3 && !(500..700).contains(at)).collect();
        let mut positions = Positions::default();
        kept.chunks(13).for_each(|chunk| positions.add(chunk));
        assert!(kept.iter().enumerate().all(|(row, at)| positions.at(row as u32) == *at));
        let mut whole = Positions::default();
        whole.add(&(0..50).collect::<Vec<_>>());
        assert!(whole.gaps.is_empty() && whole.at(49) == 49);
    }
}
