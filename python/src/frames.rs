//! Frames of Python's as tables: columns of texts, dates, truth values and missing cells become numbers as they do on the command line.

use std::sync::Arc;

use deepgp::Mat;
use deepgp_io::note::LeftOut;
use deepgp_io::table::{Cell, ColumnCells, Kind, Missing, Schema, Source, TargetKind, Targets, Task, Wanted};
use deepgp_io::{Error, ModelFile, Note, Result};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::{background, errors};

/// What messages call a frame.
const NAME: &str = "X";

/// The columns of a frame, by their names.
#[pyclass(frozen, module = "deepgp._core")]
pub struct Table {
    columns: Columns,
    /// Columns that are categories whatever their cells look like.
    categorical: Vec<String>,
    /// Columns that are inputs even if they only tell rows apart.
    keep: Vec<String>,
}

type Columns = Vec<(String, Arc<ColumnCells>)>;

/// A column as Python gives it: its name, whether its numbers are dates in seconds since 1970, and its cells.
#[derive(FromPyObject)]
struct GivenColumn<'py>(String, bool, GivenCells<'py>);

#[derive(FromPyObject)]
enum GivenCells<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Cells(Vec<Option<GivenCell>>),
}

#[derive(FromPyObject)]
enum GivenCell {
    Boolean(bool),
    Number(f64),
    Text(String),
}

impl GivenColumn<'_> {
    fn column(self) -> (String, Arc<ColumnCells>) {
        let Self(name, dates, cells) = self;
        let cells = match cells {
            GivenCells::Numbers(values) => {
                let values = values.as_array().iter().copied().collect();
                if dates { ColumnCells::Dates(values) } else { ColumnCells::Numbers(values) }
            }
            GivenCells::Cells(cells) => ColumnCells::Cells(cells.into_iter().map(cell).collect()),
        };
        (name, Arc::new(cells))
    }
}

/// A cell as a file would have it: blanks around a text are none of it, and a text without letters is nothing.
fn cell(given: Option<GivenCell>) -> Cell {
    match given {
        None => Cell::Missing,
        Some(GivenCell::Boolean(value)) => Cell::Boolean(value),
        Some(GivenCell::Number(value)) if value.is_nan() => Cell::Missing,
        Some(GivenCell::Number(value)) => Cell::Number(value),
        Some(GivenCell::Text(text)) => match text.trim() {
            "" => Cell::Missing,
            trimmed => Cell::Text(trimmed.into()),
        },
    }
}

#[pymethods]
impl Table {
    #[new]
    fn new(columns: Vec<GivenColumn<'_>>, categorical: Vec<String>, keep: Vec<String>) -> Self {
        Self { columns: columns.into_iter().map(GivenColumn::column).collect(), categorical, keep }
    }
}

/// What the first look at a table has found: inputs as numbers, and what they mean. Levels of categories with very many are still positions.
pub struct Scanned {
    pub x: Mat,
    pub schema: Schema,
    pub notes: Vec<Note>,
}

/// The targets of a fit: their names, what they are, and their numbers.
pub struct TableTargets {
    pub names: Vec<String>,
    pub kind: TargetKind,
    pub y: Mat,
}

impl Table {
    /// The same columns for another thread, which share their cells with these.
    pub fn share(&self) -> Self {
        Self { columns: self.columns.clone(), categorical: self.categorical.clone(), keep: self.keep.clone() }
    }

    /// Decides what each column is, as the command does where no option says otherwise, and encodes all rows.
    pub fn scan(&self, targets: TableTargets) -> Result<Scanned> {
        let TableTargets { names, kind, y } = targets;
        let mut columns = self.columns.clone();
        let inputs = columns.len();
        for (p, name) in names.into_iter().enumerate() {
            let values = (0..y.nrows()).map(|i| y[(i, p)]).collect();
            columns.push((name, Arc::new(ColumnCells::Numbers(values))));
        }
        let source = Source::of_columns(NAME, columns)?;
        let wanted = Wanted {
            // A target that has the name of an input has got a number behind it.
            targets: source.names()[inputs..].to_vec(),
            categorical: self.categorical.clone(),
            keep: self.keep.clone(),
            missing: Missing::Indicator,
            // Targets are numbers already, and what these mean is known.
            task: Task::Regression,
            ..Wanted::default()
        };
        let (mut schema, mut notes) = Schema::scan(&source, &wanted)?;
        let (chunk, more) = schema.encoder(&source, Targets::Needed)?.read_all()?;
        // Columns that are not used are those of which a note says that they are left out.
        let known = |note: &Note| notes.contains(note) || matches!(note, Note::UnusedColumns { .. });
        let more: Vec<Note> = more.into_iter().filter(|note| !known(note)).collect();
        notes.extend(more);
        schema.target_kind = kind;
        Ok(Scanned { x: chunk.x, schema, notes })
    }

    /// The rows as numbers for a model that is there, and what is odd about them. Fails where a row cannot be one of the model's.
    pub fn encode(&self, schema: &Schema) -> Result<(Mat, Vec<Note>)> {
        let source = Source::of_columns(NAME, self.columns.clone())?;
        // Exposures come as an array of their own; a row cannot be left out of the answers.
        let schema = Schema { exposure: None, missing: filled(schema.missing), ..schema.clone() };
        let (chunk, notes) = schema.encoder(&source, Targets::Unneeded)?.read_all()?;
        Ok((chunk.x, notes))
    }
}

/// How missing cells are taken where no row can be left out: those of a model that leaves such rows out are refused.
fn filled(missing: Missing) -> Missing {
    match missing {
        Missing::Drop => Missing::Reject,
        Missing::Reject | Missing::Mean | Missing::Indicator => missing,
    }
}

/// [`Table::encode`] without the interpreter.
pub fn encode(py: Python<'_>, table: &Table, schema: &Schema) -> PyResult<(Mat, Vec<Note>)> {
    let (table, schema) = (table.share(), schema.clone());
    background::run(py, move |_| table.encode(&schema))?.map_err(errors::table)
}

/// Whether a model takes frames of more than plain numbers: one of a table, whose columns have names.
pub fn is_of_table(file: &ModelFile) -> bool {
    let Schema { inputs, missing, positions, .. } = &file.schema;
    let plain = |kind: &Kind| match kind {
        Kind::Number { .. } => true,
        Kind::Date { .. } | Kind::Boolean { .. } | Kind::Category { .. } | Kind::ManyLevels { .. } => false,
    };
    let numbers = inputs.iter().all(|column| plain(&column.kind) && !column.indicator);
    positions.is_none() && (!numbers || *missing != Missing::Reject)
}

/// What somebody who has just fitted a model should be warned of: that it is of less than was given or asked for.
pub fn warnings_of_fit(notes: &[Note]) -> Vec<String> {
    let is_less = |note: &&Note| {
        matches!(note, Note::ColumnLeftOut { .. } | Note::ConstantColumns { .. } | Note::FewerInducing { .. })
    };
    notes.iter().filter(is_less).map(in_words).collect()
}

/// What somebody who asks about a frame should be warned of: cells that are not like those of the fit.
pub fn warnings_of_rows(notes: &[Note]) -> Vec<String> {
    let odd = |note: &&Note| matches!(note, Note::CategoriesUnseen { .. } | Note::OddCells { .. });
    notes.iter().filter(odd).map(in_words).collect()
}

/// A note in Python's words, where the command's name an option that is none here.
pub fn in_words(note: &Note) -> String {
    match note {
        Note::ColumnLeftOut { column, reason: LeftOut::Empty } => {
            format!("column `{column}` is left out: {}", LeftOut::Empty)
        }
        Note::ColumnLeftOut { column, reason } => {
            format!("column `{column}` is left out: {reason}; keep_columns=[\"{column}\"] takes it")
        }
        Note::ConstantColumns { columns } => {
            let (are, them) = if columns.len() == 1 { ("is", "it") } else { ("are", "them") };
            let columns = columns.iter().map(|column| format!("`{column}`")).collect::<Vec<_>>().join(", ");
            format!("{columns} {are} the same in every row and left out: nothing can be learnt from {them}")
        }
        other => other.to_string(),
    }
}

/// What is wrong with a frame in Python's words, where the command's name an option that is none here.
pub fn error_in_words(error: &Error) -> String {
    const CATEGORY: &str = "mend it, or make the column a category with .astype(\"category\")";
    match error {
        Error::Several { errors, .. } => {
            let lines: Vec<String> = errors.iter().map(|error| format!("\n  - {}", error_in_words(error))).collect();
            format!("{NAME}: {} problems:{}", errors.len(), lines.concat())
        }
        Error::Mixed { place, column, value, numbers, cells, .. } => format!(
            "{NAME}, {place}, column `{column}`: \"{value}\" is not a number, but {numbers} of the column's {cells} cells \
             are; {CATEGORY}"
        ),
        Error::MixedDates { place, column, value, dates, cells, .. } => format!(
            "{NAME}, {place}, column `{column}`: \"{value}\" is not a date, but {dates} of the column's {cells} cells are; \
             {CATEGORY}"
        ),
        Error::Missing { place, column, others, .. } => format!(
            "{NAME}, {place}, column `{column}`: the cell is missing{others}, and the model does not know what to put in its \
             place: leave such rows out"
        ),
        Error::ConstantInputs { cells, all: false, .. } => format!(
            "input columns are the same in every row ({cells}), so nothing can be learnt from them: leave them out, or give \
             constant_columns=\"keep\""
        ),
        other => other.to_string(),
    }
}
