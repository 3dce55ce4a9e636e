//! Rows of a table as a dataset: loaded, checked, split into training and test rows.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use deepgp::{Dataset, Mat, Stratify};
use deepgp_io::note::ScoredRows;
use deepgp_io::table::{Header, ReadOptions, Schema, Settled, Source, TableLimits, TargetKind, Targets};
use deepgp_io::{ClassWeights, ModelFile, Note, Provenance, TableRecord};

use super::row_facts;
use crate::arguments::paths;
use crate::processes::Processes;
use crate::terminal::explain::impossible_in_model;
use crate::terminal::output::Voice;
use crate::terminal::stage::{Extent, Stage};

/// The rows of a table with their targets.
#[derive(Clone, Debug)]
pub struct LoadedRows {
    /// The rows, those left out that have missing cells.
    pub data: Dataset,
    /// What a person should know about them.
    pub notes: Vec<Note>,
    /// The position of each row in the table, from 0.
    pub positions: Vec<u64>,
}

/// Rows to score a model on, and where they stand in their table.
#[derive(Clone, Debug)]
pub struct PlacedRows {
    /// The rows.
    pub data: Dataset,
    /// The position of each row in the table, from 0.
    pub positions: Vec<u64>,
}

impl PlacedRows {
    /// The rows with these numbers, in this order.
    pub fn gather(&self, rows: &[u32]) -> Result<Self> {
        let positions = rows.iter().map(|row| self.positions[*row as usize]).collect();
        Ok(Self { data: self.data.gather(rows)?, positions })
    }
}

impl From<LoadedRows> for PlacedRows {
    fn from(LoadedRows { data, positions, .. }: LoadedRows) -> Self {
        Self { data, positions }
    }
}

/// Loads all rows with their targets; `stage` shows how far it is.
pub fn load(schema: &Schema, source: &Source, mut stage: Stage) -> Result<LoadedRows> {
    let (chunk, notes) = schema.encoder(source, Targets::Needed)?.read_all_watched(&mut |rows| stage.show(rows))?;
    let y = chunk.y.context("the table has no targets")?;
    let mut data = Dataset::new(chunk.x, y)?;
    if let Some(exposure) = chunk.exposure {
        data = data.with_offsets(exposure.into_iter().map(f64::ln).collect())?;
    }
    Ok(LoadedRows { data, notes, positions: chunk.kept })
}

/// Loads the inputs of all rows, whether or not they have targets; `stage` shows how far it is.
pub fn inputs(schema: &Schema, source: &Source, mut stage: Stage) -> Result<(Mat, Vec<Note>)> {
    let (chunk, notes) = schema.encoder(source, Targets::Unneeded)?.read_all_watched(&mut |rows| stage.show(rows))?;
    Ok((chunk.x, notes))
}

/// The display of a pass over a table whose length is not known.
pub fn reading(voice: Voice) -> Stage {
    Stage::new(voice, "reading", Extent::UnknownRows)
}

/// Loads the rows that a model was fitted to, to be split as they were then, from where its table was or from `elsewhere`; fails if that is
/// another table.
pub fn of_fit(file: &ModelFile, elsewhere: &[PathBuf], limits: TableLimits, voice: Voice) -> Result<PlacedRows> {
    of_table_of_fit(file, &table_of_fit(file, elsewhere, limits, &Processes::alone())?, voice)
}

/// The files of a table that a model was fitted to.
pub fn files_of(table: &TableRecord) -> Vec<PathBuf> {
    [&table.path].into_iter().chain(&table.more).map(PathBuf::from).collect()
}

/// The table that a model was fitted to, where it was or, if that is named, `elsewhere`; fails if that is another one. Several processes read a share each.
pub fn table_of_fit(
    file: &ModelFile,
    elsewhere: &[PathBuf],
    limits: TableLimits,
    processes: &Processes,
) -> Result<Source> {
    let table = match &file.record.data {
        Provenance::Table(table) => table,
        Provenance::Arrays { .. } => bail!("the model was fitted to arrays in Python, which no file keeps"),
        Provenance::Unfitted => bail!("the model was built, and not fitted to a table"),
    };
    let paths = if elsewhere.is_empty() { files_of(table) } else { elsewhere.to_vec() };
    let TableRecord { sha256, .. } = table;
    // Its columns had names if the model knows them by names.
    let header = if file.schema.positions.is_some() { Header::None } else { Header::First };
    let options = ReadOptions { header, limits };
    let source = Source::open_among(&paths, options, processes.communicator()).context("the table of the fit")?;
    let found = source.sha256()?;
    if found != *sha256 {
        let short = |hash: &str| hash.chars().take(12).collect::<String>();
        bail!(
            "{} is not the table of the fit, or has changed since (SHA-256 {}… then, {}… now)",
            source.path().display(),
            short(sha256),
            short(&found)
        );
    }
    Ok(source)
}

/// Loads the rows of the table that a model was fitted to.
pub fn of_table_of_fit(file: &ModelFile, source: &Source, voice: Voice) -> Result<PlacedRows> {
    let schema = file.schema.unsettled();
    let loaded = load(&schema, source, reading(voice))?;
    Ok(row_facts::of_fit(loaded, &schema, source, &file.record.split)?.into())
}

/// Loads rows to score a model on, with notes that name their table: on what was found in it, and on whether training
/// has seen its rows, which are `train`, if they are known.
pub fn to_score(
    file: &ModelFile,
    schema: &Schema,
    (path, options): (&Path, ReadOptions),
    train: Option<&Dataset>,
    voice: Voice,
) -> Result<(PlacedRows, Vec<Note>)> {
    let source = Source::open_with(path, options)?;
    let loaded = load(schema, &source, reading(voice))?;
    let LoadedRows { data, notes, positions } = row_facts::to_score(loaded, schema, &source)?;
    let possible = file.regressor.standardiser.check_targets(data.y().view());
    possible.map_err(|error| impossible_in_model(schema, &positions, error))?;
    let name = paths::file_name(path);
    let of_table = |note| Note::OfTable { table: name.clone(), note: Box::new(note) };
    let mut notes: Vec<Note> = notes.into_iter().map(of_table).collect();
    let sha256 = source.sha256()?;
    if file.record.data.table().is_some_and(|table| table.sha256 == sha256) {
        notes.push(Note::ScoredOnTableOfFit { path: path.display().to_string() });
    } else if let Some(train) = train {
        notes.extend(copies_note(train, &data, ScoredRows::Table { name }));
    }
    Ok((PlacedRows { data, positions }, notes))
}

/// The share of test rows with a copy among the training rows from which on there is a note.
const MANY_COPIES: f64 = 0.1;

/// A note if many of the rows `test`, which are those of `rows`, have a copy among the rows `train`.
pub fn copies_note(train: &Dataset, test: &Dataset, rows: ScoredRows) -> Option<Note> {
    let (copies, of) = (copies(train, test), test.len());
    (copies as f64 >= MANY_COPIES * of as f64 && copies > 0).then_some(Note::Copies { copies, of, rows })
}

/// The number of rows of `test` that are, inputs and targets alike, rows of `train` too.
fn copies(train: &Dataset, test: &Dataset) -> usize {
    let bits = |data: &Dataset, i: usize| -> Vec<u64> {
        data.x().row(i).iter().chain(data.y().row(i)).map(|v| v.to_bits()).collect()
    };
    let wanted: HashSet<Vec<u64>> = (0..test.len()).map(|i| bits(test, i)).collect();
    let found: HashSet<Vec<u64>> =
        (0..train.len()).map(|i| bits(train, i)).filter(|row| wanted.contains(row)).collect();
    (0..test.len()).filter(|&i| found.contains(&bits(test, i))).count()
}

/// Rows to train on, and rows to test on.
#[derive(Clone, Debug)]
pub struct SplitRows {
    /// The columns; what levels of categories say about targets is known from the training rows.
    pub schema: Schema,
    /// Rows to train on.
    pub train: Dataset,
    /// Rows that are held out.
    pub test: Option<PlacedRows>,
}

/// Splits rows into training and test rows, as the data say: at random, by groups, or the last ones. Every class gives its share where that can
/// be. The same share and seed give the same rows. `schema` is that of the rows, before any split.
pub fn split(rows: &PlacedRows, schema: &Schema, test: Option<f64>, seed: u64) -> Result<SplitRows> {
    let Some(share) = test else { return settle(schema, rows.data.clone(), None, seed) };
    let (train, test) = rows.data.row_split(share, stratify(&schema.target_kind), seed)?;
    settle(schema, rows.data.gather(&train)?, Some(rows.gather(&test)?), seed)
}

/// Rows that are split, with what the training rows say of the levels of categories.
pub fn settle(schema: &Schema, train: Dataset, test: Option<PlacedRows>, seed: u64) -> Result<SplitRows> {
    let (others, positions) = test.map(|rows| (rows.data, rows.positions)).unzip();
    let Settled { schema, train, others } = schema.settle(train, others, seed)?;
    let test = others.zip(positions).map(|(data, positions)| PlacedRows { data, positions });
    Ok(SplitRows { schema, train, test })
}

/// The same for the rows that a model was fitted to.
pub fn split_of_fit(file: &ModelFile, rows: &PlacedRows) -> Result<SplitRows> {
    split(rows, &file.schema.unsettled(), file.record.test, file.record.settings.train.seed)
}

/// What every part of a split should have its share of.
pub fn stratify(kind: &TargetKind) -> Stratify {
    match kind {
        TargetKind::Classes { .. } => Stratify::Classes,
        TargetKind::Numbers | TargetKind::Counts => Stratify::Rows,
    }
}

/// The rows as they are trained on: with their own weights `w`, and those of classes, if these are to weigh alike. With `W` for the sum of the
/// weights, and `W_c` for that of class `c`, a row of this class then weighs `w W / (C W_c)`: the sum stays, and all classes have as much of it.
pub fn weighted(train: &Dataset, weights: ClassWeights) -> Result<Dataset> {
    if weights == ClassWeights::None {
        return Ok(train.clone());
    }
    let own = |row: usize| train.weights().map_or(1.0, |all| all[row]);
    let mut of_class: BTreeMap<u64, f64> = BTreeMap::new();
    for (row, class) in train.y().as_slice().iter().enumerate() {
        *of_class.entry(class.to_bits()).or_default() += own(row);
    }
    let (all, classes) = (of_class.values().sum::<f64>(), of_class.len() as f64);
    let weight = |(row, class): (usize, &f64)| own(row) * (all / (classes * of_class[&class.to_bits()]));
    Ok(train.clone().with_weights(train.y().as_slice().iter().enumerate().map(weight).collect())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_io::table::{InputColumn, Kind};

    #[test]
    fn balanced_classes_weigh_alike_and_their_split_keeps_shares() {
        let y = |i: usize| if i.is_multiple_of(10) { 2.0 } else { (i % 2) as f64 };
        let data = Dataset::new(Mat::from_fn(100, 1, |i, _| i as f64), Mat::from_fn(100, 1, |i, _| y(i))).unwrap();
        assert_eq!(weighted(&data, ClassWeights::None).unwrap(), data);
        let balanced = weighted(&data, ClassWeights::Balanced).unwrap();
        let of = |class: f64| -> f64 {
            let own = balanced.y().as_slice().iter().zip(balanced.weights().unwrap());
            own.filter(|(y, _)| **y == class).map(|(_, weight)| weight).sum()
        };
        for class in [0.0, 1.0, 2.0] {
            assert!((of(class) - 100.0 / 3.0).abs() < 1e-9, "{class}: {}", of(class));
        }
        // Beside weights of their own, classes weigh alike in their sum.
        let heavy = data.clone().with_weights((0..100).map(|i| f64::from(1 + i % 7)).collect()).unwrap();
        let both = weighted(&heavy, ClassWeights::Balanced).unwrap();
        let sum = |class: f64| -> f64 {
            let own = both.y().as_slice().iter().zip(both.weights().unwrap());
            own.filter(|(y, _)| **y == class).map(|(_, weight)| weight).sum()
        };
        assert!((sum(0.0) - sum(2.0)).abs() < 1e-9 && (sum(1.0) - sum(2.0)).abs() < 1e-9);
        let ratio = |row: usize| both.weights().unwrap()[row] / heavy.weights().unwrap()[row];
        assert!((ratio(1) - ratio(3)).abs() < 1e-12, "rows of one class keep their proportions");
        let kind = TargetKind::Classes { labels: ["a", "b", "c"].map(String::from).into() };
        let positions: Vec<u64> = (0..100).map(|row| 3 * row).collect();
        let rows = PlacedRows { data: data.clone(), positions };
        let of_kind = |target_kind: TargetKind| Schema {
            inputs: vec![InputColumn::new("x", Kind::Number { fill: None })],
            targets: vec!["y".into()],
            target_kind,
            ..Schema::default()
        };
        let test = split(&rows, &of_kind(kind), Some(0.2), 3).unwrap().test.unwrap();
        let count = |class: f64| test.data.y().as_slice().iter().filter(|y| **y == class).count();
        assert_eq!([0.0, 1.0, 2.0].map(count), [8, 10, 2]);
        assert_eq!(test.data, data.split_by_class(0.2, 3).unwrap().1);
        let numbers = split(&rows, &of_kind(TargetKind::Numbers), Some(0.2), 3).unwrap();
        assert_eq!(numbers.train, data.split(0.2, 3).unwrap().0);
        // Rows of the test know where they came from.
        assert_eq!(test.positions.len(), 20);
        assert!((0..20).all(|i| 3.0 * test.data.x()[(i, 0)] == test.positions[i] as f64));
    }

    #[test]
    fn a_row_with_the_same_inputs_and_target_is_a_copy() {
        let data = |rows: &[[f64; 2]]| {
            let column = |c: usize| Mat::column(rows.iter().map(|row| row[c]).collect());
            Dataset::new(column(0), column(1)).unwrap()
        };
        let train = data(&[[1.0, 5.0], [2.0, 6.0], [3.0, 7.0], [3.0, 7.0]]);
        let test = data(&[[3.0, 7.0], [2.0, 6.5], [3.0, 7.0], [9.0, 9.0]]);
        assert_eq!(copies(&train, &test), 2);
        let told = copies_note(&train, &test, ScoredRows::Test).unwrap();
        assert_eq!(told, Note::Copies { copies: 2, of: 4, rows: ScoredRows::Test });
        assert!(told.to_string().starts_with("2 of 4 test rows have a copy"), "{told}");
        assert_eq!(copies_note(&train, &data(&[[1.0, 6.0]]), ScoredRows::Test), None);
    }
}
