//! The rows of a fit: read into memory or to disk, and split.

use std::path::Path;

use anyhow::{Result, bail};
use deepgp::{Dataset, StoredRows};
use deepgp_io::table::{ConstantInputs, Schema, Source};
use deepgp_io::{ClassWeights, ModelFile, Note, SplitRule};

use super::initial_model::InitialModel;
use super::rows_among::{RowsAmong, SplitAmong, TrainAmong};
use super::rows_in::{Demands, RowsIn};
use super::rows_on_disk::{RowsOnDisk, note_on_scores};
use crate::arguments::fit_options::FitOptions;
use crate::model::device::Device;
use crate::model::row_facts;
use crate::model::rows::{self, LoadedRows, PlacedRows, SplitRows};
use crate::processes::Processes;
use crate::terminal::explain::impossible_in_table;
use crate::terminal::output::Voice;
use crate::terminal::stage::{Extent, Stage};

/// How the rows of a fit are read.
#[derive(Clone, Copy, Debug)]
pub struct ReadPlan<'a> {
    /// The options of the fit.
    pub options: &'a FitOptions,
    /// The model that it starts from, if there is one.
    pub initial: Option<&'a InitialModel>,
    /// Which rows are held out.
    pub split: &'a SplitRule,
    /// The number of records in the table; 0 if nobody has counted them.
    pub records: u64,
    /// Where to compute.
    pub device: Device,
    /// To whom the command talks.
    pub voice: Voice,
}

/// Rows that were read.
#[derive(Debug)]
pub struct Read {
    /// The columns, those left out that are the same in every row.
    pub schema: Schema,
    /// The rows.
    pub rows: FitRows,
    /// What reading found.
    pub notes: Vec<Note>,
    /// A note on columns that are left out.
    pub constant: Option<Note>,
    /// The number of rows that do not say when they were.
    pub undated: usize,
}

/// The rows of a fit, those to test on included.
#[derive(Debug)]
pub enum FitRows {
    /// All of them in memory.
    InMemory(PlacedRows),
    /// All of them on disk.
    OnDisk(RowsOnDisk),
    /// This process's share of them in memory, and the others' in theirs.
    Among(Box<RowsAmong>),
}

/// The rows of a fit, split.
#[derive(Debug)]
pub struct SplitFit {
    /// The columns; what levels of categories say about targets is known from the training rows.
    pub schema: Schema,
    /// The rows to train on; a sample of them if they are on disk, or among several processes.
    pub train: Dataset,
    /// The rows to test on, or a sample of them.
    pub held_out: Option<PlacedRows>,
    /// The number of rows to test on.
    pub held_out_rows: usize,
    /// All rows to train on, if they are on disk.
    pub stored: Option<StoredRows>,
    /// All rows to train on, if they are among several processes.
    pub among: Option<TrainAmong>,
    /// What a person should know of it.
    pub note: Option<Note>,
}

impl ReadPlan<'_> {
    /// Reads all rows of a table.
    pub fn read(&self, schema: Schema, source: &Source, checkpoint: &Path, processes: &Processes) -> Result<Read> {
        let &Self { options, initial, split, records, device, .. } = self;
        let demands = Demands {
            schema: &schema,
            split,
            class_weights: options.class_weights(),
            folds: options.folds.is_some(),
            init: initial.is_some(),
            device,
        };
        let settings = options.settings_for(records.max(1) as usize, &schema.target_kind)?;
        if options.rows_in.unwrap_or_default().is_disk(&demands, records, &settings, processes)? {
            self.write_to_disk(schema, source, checkpoint)
        } else if processes.are_several() {
            self.read_share(schema, source, processes)
        } else {
            self.read_all(schema, source)
        }
    }

    /// Reads this process's share of the rows into memory.
    fn read_share(&self, schema: Schema, source: &Source, processes: &Processes) -> Result<Read> {
        let (among, constant) = (processes.communicator(), self.options.constant());
        let mut rows = RowsAmong::read((schema, source), self.split, constant, among, self.stage())?;
        let all = rows.outline()?;
        self.initial.map_or(Ok(()), |model| model.check(&rows.notes, all.y().view(), &rows.positions))?;
        let possible = self.options.transform_target().check(all.y().view());
        possible.map_err(|error| impossible_in_table(&rows.schema, &rows.positions, error))?;
        let (notes, constant) = (std::mem::take(&mut rows.notes), rows.constant.take());
        let undated = row_facts::undated(&all);
        Ok(Read { schema: rows.schema.clone(), rows: FitRows::Among(rows.into()), notes, constant, undated })
    }

    /// Shows how far reading is.
    fn stage(&self) -> Stage {
        let extent = if self.records > 0 { Extent::Rows(self.records) } else { Extent::UnknownRows };
        Stage::new(self.voice, "reading", extent)
    }

    /// Reads all rows into memory.
    fn read_all(&self, schema: Schema, source: &Source) -> Result<Read> {
        let loaded = rows::load(&schema, source, self.stage())?;
        let check = |model: &InitialModel| model.check(&loaded.notes, loaded.data.y().view(), &loaded.positions);
        self.initial.map_or(Ok(()), check)?;
        let loaded = row_facts::of_fit(loaded, &schema, source, self.split)?;
        let undated = row_facts::undated(&loaded.data);
        let LoadedRows { data, notes, positions } = loaded;
        let (schema, data, constant) = self.options.constant().settle(schema, data)?;
        let rows = PlacedRows { data, positions };
        // Of the whole table, so that a message names its rows, those for testing included.
        let possible = self.options.transform_target().check(rows.data.y().view());
        possible.map_err(|error| impossible_in_table(&schema, &rows.positions, error))?;
        Ok(Read { schema, rows: FitRows::InMemory(rows), notes, constant, undated })
    }

    /// Reads all rows to a file beside the checkpoint.
    fn write_to_disk(&self, schema: Schema, source: &Source, checkpoint: &Path) -> Result<Read> {
        let (records, constant) = ((self.records > 0).then_some(self.records), self.options.constant());
        let mut rows = RowsOnDisk::write((schema, source), records, checkpoint, constant, self.voice)?;
        let possible = rows.rows.check_targets(self.options.transform_target());
        possible.map_err(|error| impossible_in_table(&rows.schema, &rows.all_positions(), error))?;
        let (notes, constant) = (std::mem::take(&mut rows.notes), rows.constant.take());
        Ok(Read { schema: rows.schema.clone(), rows: FitRows::OnDisk(rows), notes, constant, undated: 0 })
    }
}

impl FitRows {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::InMemory(rows) => rows.data.len(),
            Self::OnDisk(rows) => rows.rows.len(),
            Self::Among(rows) => rows.len(),
        }
    }

    /// Whether they are on disk.
    pub fn are_on_disk(&self) -> bool {
        matches!(self, Self::OnDisk(_))
    }

    /// The rows, if they are in memory.
    pub fn in_memory(&self) -> Result<&PlacedRows> {
        match self {
            Self::InMemory(rows) => Ok(rows),
            Self::OnDisk(_) | Self::Among(_) => bail!("rows are elsewhere that were to be in memory"),
        }
    }

    /// The rows to train on, and those to test on; `schema` is that before any split.
    pub fn split(&self, schema: &Schema, test: Option<f64>, seed: u64) -> Result<SplitFit> {
        match self {
            Self::InMemory(rows) => {
                let SplitRows { schema, train, test: held_out } = rows::split(rows, schema, test, seed)?;
                let held_out_rows = held_out.as_ref().map_or(0, |rows| rows.data.len());
                Ok(SplitFit { schema, train, held_out, held_out_rows, stored: None, among: None, note: None })
            }
            Self::OnDisk(rows) => {
                let parts = rows.split(test, seed)?;
                Ok(SplitFit {
                    schema: schema.clone(),
                    note: parts.note(),
                    train: parts.train_sample,
                    held_out: parts.test_sample,
                    held_out_rows: parts.test_rows,
                    stored: Some(parts.train),
                    among: None,
                })
            }
            Self::Among(rows) => {
                let SplitAmong { schema, train, train_sample, test_sample, test_rows } = rows.split(test, seed)?;
                Ok(SplitFit {
                    schema,
                    note: note_on_scores(test_sample.as_ref(), test_rows),
                    train: train_sample,
                    held_out: test_sample,
                    held_out_rows: test_rows,
                    stored: None,
                    among: Some(train),
                })
            }
        }
    }

    /// This process's share of the rows to train on, with the weights of classes; a sample of them if they are on disk.
    pub fn share(&self, split: &SplitFit, weights: ClassWeights) -> Result<Dataset> {
        match (self, &split.among) {
            (Self::Among(rows), Some(train)) => rows.share(train, weights),
            _ => rows::weighted(&split.train, weights),
        }
    }
}

/// The rows of the table that a model was fitted to, those on disk in a file beside the checkpoint.
pub fn of_fit(
    file: &ModelFile,
    (source, device): (&Source, Device),
    rows_in: RowsIn,
    checkpoint: &Path,
    processes: &Processes,
    voice: Voice,
) -> Result<FitRows> {
    let (schema, record) = (file.schema.unsettled(), &file.record);
    let demands = Demands {
        schema: &schema,
        split: &record.split,
        class_weights: record.class_weights,
        folds: false,
        init: false,
        device,
    };
    let count = record.data.rows() as u64;
    if rows_in.is_disk(&demands, count, &record.settings, processes)? {
        let of_table = (schema, source);
        RowsOnDisk::write(of_table, Some(count), checkpoint, ConstantInputs::Keep, voice).map(FitRows::OnDisk)
    } else if processes.are_several() {
        let stage = Stage::new(voice, "reading", Extent::Rows(count));
        let of_table = (schema, source);
        RowsAmong::read(of_table, &record.split, ConstantInputs::Keep, processes.communicator(), stage)
            .map(|rows| FitRows::Among(rows.into()))
    } else {
        rows::of_table_of_fit(file, source, voice).map(FitRows::InMemory)
    }
}
