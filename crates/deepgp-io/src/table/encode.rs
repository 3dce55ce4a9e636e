//! The second pass: records become rows of numbers, a chunk at a time.

use std::collections::{HashMap, HashSet};

use deepgp::Mat;
use serde::{Deserialize, Serialize};

use super::scan::{exposure, missing_advice, not_finite, value};
use super::tally::TOLD_EVERY;
use super::target::TargetCode;
use super::text::Texts;
use super::together::{Facts, first};
use super::writing::Writings;
use super::{
    Cell, Cycle, Kind, LevelMeans, Missing, Note, Place, Rows, Schema, Source, Targets, date, names, written_number,
};
use crate::error::{DATE, Error, Result};
use crate::words::bytes;

/// Some rows of a table, as numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Inputs, one row for each record that is kept.
    pub x: Mat,
    /// Targets, if they are read.
    pub y: Option<Mat>,
    /// The exposure of each row of `x`, where the model has a column of exposures.
    pub exposure: Option<Vec<f64>>,
    /// The position in the table, from 0, of the first record.
    pub first: u64,
    /// The position of each row of `x`.
    pub kept: Vec<u64>,
    /// How many records the chunk has, those included that are left out.
    pub read: u64,
    /// The columns that are carried along, as they are written: record after record, those included that are left out.
    pub carried: Vec<String>,
}

/// Turns the records of a table into numbers.
pub struct Encoder {
    source: Source,
    rows: Box<dyn Rows>,
    inputs: Vec<Input>,
    /// Position and name of each target.
    targets: Option<Vec<(usize, String)>>,
    /// Position and name of the column of exposures.
    exposure: Option<(usize, String)>,
    /// How targets become numbers.
    target_code: TargetCode,
    missing: Missing,
    /// Positions of columns that are handed on as they are written.
    carried: Vec<usize>,
    cells: Vec<Cell>,
    /// Records read so far.
    read: u64,
    dropped: u64,
    unused: Vec<String>,
}

/// An input column.
struct Input {
    /// Position in the table.
    at: usize,
    name: String,
    code: Code,
    /// Whether a further number says that the cell is missing.
    indicator: bool,
    seen: SeenCells,
}

/// What was seen of a table that is worth knowing.
#[derive(Serialize, Deserialize)]
struct SeenRows {
    /// Records read, and those of them that were left out.
    read: u64,
    dropped: u64,
    /// Of each input column.
    cells: Vec<SeenCells>,
    texts: Texts,
}

impl Facts for SeenRows {
    fn then(&mut self, next: Self) {
        self.read += next.read;
        self.dropped += next.dropped;
        self.cells.iter_mut().zip(next.cells).for_each(|(own, next)| own.then(next));
        self.texts.then(next.texts);
    }
}

/// What was seen of a column's cells that is worth knowing.
#[derive(Clone, Default, Serialize, Deserialize)]
struct SeenCells {
    /// Missing cells that the mean was put in place of.
    filled: u64,
    /// Missing cells of a category.
    absent: u64,
    /// Cells whose level is not known, and the first of them.
    unseen: u64,
    example: Option<(Place, String)>,
    /// Cells that are not what the column was at fitting, and the first of them.
    odd: u64,
    first_odd: Option<(Place, String)>,
}

/// How a cell becomes numbers.
enum Code {
    Number {
        fill: Option<f64>,
    },
    Date {
        fill: Option<f64>,
        cycles: Vec<Cycle>,
    },
    Boolean {
        fill: Option<f64>,
    },
    /// Each level's input, and how many there are.
    Category {
        levels: HashMap<String, usize>,
        width: usize,
    },
    /// Each level's position, and what it says about the targets, if that is known.
    ManyLevels {
        levels: HashMap<String, usize>,
        means: Option<LevelMeans>,
    },
}

impl Encoder {
    pub(super) fn new(schema: &Schema, source: &Source, targets: Targets) -> Result<Self> {
        check_positions(schema, source, targets)?;
        let positions: HashMap<&String, usize> = source.names().iter().zip(0..).collect();
        let find = |name: &String, role| match positions.get(name) {
            Some(position) => Ok(*position),
            None => Err(names::unknown(source, name, role)),
        };
        let mut inputs = Vec::new();
        for column in &schema.inputs {
            let code = match &column.kind {
                Kind::Number { fill } => Code::Number { fill: *fill },
                Kind::Date { fill, cycles } => Code::Date { fill: *fill, cycles: cycles.clone() },
                Kind::Boolean { fill } => Code::Boolean { fill: *fill },
                Kind::Category { levels } => Code::Category { levels: positions_of(levels), width: levels.len() },
                Kind::ManyLevels { levels, means } => {
                    Code::ManyLevels { levels: positions_of(levels), means: means.clone() }
                }
            };
            let at = find(&column.name, "an input of the model")?;
            let (name, indicator) = (column.name.clone(), column.indicator);
            inputs.push(Input { at, name, code, indicator, seen: SeenCells::default() });
        }
        let read_targets = match targets {
            Targets::Unneeded => None,
            Targets::Needed => {
                let found = schema.targets.iter().map(|name| Ok((find(name, "a target of the model")?, name.clone())));
                Some(found.collect::<Result<Vec<_>>>()?)
            }
        };
        let place = |name: &String| find(name, "the exposure of the model").map(|at| (at, name.clone()));
        let exposure = schema.exposure.as_ref().map(place).transpose()?;
        let mut read = vec![false; source.names().len()];
        let others = read_targets.iter().flatten().chain(&exposure).map(|(at, _)| *at);
        for at in inputs.iter().map(|input| input.at).chain(others) {
            read[at] = true;
        }
        let columns = schema.inputs.iter().map(|column| &column.name);
        let aside = schema.row_columns.group.iter().chain(&schema.row_columns.weights);
        let used: HashSet<&String> = columns.chain(&schema.targets).chain(&schema.exposure).chain(aside).collect();
        Ok(Self {
            rows: source.rows_written(read, Writings::of(schema, source))?,
            inputs,
            targets: read_targets,
            exposure,
            target_code: TargetCode::of(&schema.target_kind),
            missing: schema.missing,
            carried: Vec::new(),
            cells: Vec::new(),
            read: 0,
            dropped: 0,
            unused: source.names().iter().filter(|name| !used.contains(name)).cloned().collect(),
            source: source.clone(),
        })
    }

    /// Also hands on these columns, whatever the model makes of them. Fails if one is not there.
    pub fn carrying(mut self, columns: &[String]) -> Result<Self> {
        let find = |name: &String| names::find(&self.source, name, "asked to be kept");
        self.carried = columns.iter().map(find).collect::<Result<_>>()?;
        self.unused.retain(|name| !columns.contains(name));
        Ok(self)
    }

    /// The next `rows` records, or as many as there are; `None` at the end. If all of them are left out, the chunk has no
    /// rows, and yet is not the last. Fails if the file changes while it is read.
    pub fn next_chunk(&mut self, rows: usize) -> Result<Option<Chunk>> {
        let chunk = self.read_chunk(rows, &mut |_| ())?;
        Ok((chunk.read > 0).then_some(chunk))
    }

    /// The next records, or as many as there are; `watch` sees how many have been read so far.
    fn read_chunk(&mut self, rows: usize, watch: &mut dyn FnMut(u64)) -> Result<Chunk> {
        let width = self.width();
        let outputs = self.targets.as_ref().map_or(0, Vec::len);
        let (mut x, mut y, mut kept, mut carried) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut exposures = Vec::new();
        let begin = self.read;
        let mut cells = std::mem::take(&mut self.cells);
        while self.read - begin < rows.max(1) as u64 {
            // What contradicts itself, or is at its end, may have changed meanwhile: that is then the reason.
            let Some(number) = self.rows.next(&mut cells).map_err(|error| self.reason(error))? else {
                self.source.check_unchanged()?;
                break;
            };
            if self.encode(self.source.place(number), &cells, &mut x, &mut y)? {
                self.check_numbers(x.len() as u64, width)?;
                kept.push(self.read);
                if let Some((at, name)) = &self.exposure {
                    exposures.extend(exposure(&self.source, name, self.source.place(number), &cells[*at])?);
                }
            } else {
                self.dropped += 1;
            }
            carried.extend(self.carried.iter().map(|at| self.rows.written(*at).into_owned()));
            self.read += 1;
            if self.read.is_multiple_of(TOLD_EVERY) {
                watch(self.read);
            }
        }
        self.cells = cells;
        let read = self.read - begin;
        let matrix = |columns, numbers| {
            Mat::from_vec(kept.len(), columns, numbers)
                .expect("a row that is kept adds as many numbers as there are columns")
        };
        let (x, y) = (matrix(width, x), self.targets.is_some().then(|| matrix(outputs, y)));
        let exposure = self.exposure.is_some().then_some(exposures);
        Ok(Chunk { x, y, exposure, first: begin, kept, read, carried })
    }

    /// How many numbers the inputs of a record become.
    fn width(&self) -> usize {
        self.inputs.iter().map(|input| input.code.width() + usize::from(input.indicator)).sum()
    }

    /// Fails if rows of this width have become more numbers than a file of this size may.
    fn check_numbers(&self, numbers: u64, width: usize) -> Result<()> {
        let Some((limits, file)) = self.source.limits() else { return Ok(()) };
        let limit = limits.numbers(file);
        if numbers <= limit {
            return Ok(());
        }
        let times = (limit / file.max(1) + 1).saturating_mul(10);
        Err(Error::ManyNumbers { path: self.source.path().into(), inputs: width, limit, file: bytes(file), times })
    }

    /// Why records cannot be read: because the file has changed, if it has.
    fn reason(&self, error: Error) -> Error {
        self.source.check_unchanged().err().unwrap_or(error)
    }

    /// Everything that is left, and what is worth knowing about it. Of a table that several processes read it is what this one reads, which may be
    /// nothing, and what is worth knowing about all.
    pub fn read_all(self) -> Result<(Chunk, Vec<Note>)> {
        self.read_all_watched(&mut |_| ())
    }

    /// [`Encoder::read_all`] for somebody who waits: `watch` sees how many records have been read, every so often.
    pub fn read_all_watched(mut self, watch: &mut dyn FnMut(u64)) -> Result<(Chunk, Vec<Note>)> {
        let chunk = self.read_chunk(usize::MAX, watch);
        let mut chunk = self.source.all_fine(chunk)?;
        let seen = self.source.together(Ok(self.seen()))?;
        if seen.read == 0 {
            return Err(Error::NoRows { path: self.source.path().into() });
        }
        let width = self.width();
        self.check_numbers((seen.read - seen.dropped) * width as u64, width)?;
        let before = self.source.before(chunk.read)?;
        chunk.first += before;
        chunk.kept.iter_mut().for_each(|position| *position += before);
        Ok((chunk, self.notes_on(&seen)))
    }

    /// What is worth knowing about what has been read so far: what opening the file found, columns that are not used, rows
    /// that were left out, cells that were filled in, levels that are not known.
    pub fn notes(&self) -> Vec<Note> {
        self.notes_on(&self.seen())
    }

    /// What was seen so far.
    fn seen(&self) -> SeenRows {
        let cells = self.inputs.iter().map(|input| input.seen.clone()).collect();
        SeenRows { read: self.read, dropped: self.dropped, cells, texts: self.rows.texts() }
    }

    /// What is worth knowing about it.
    fn notes_on(&self, seen: &SeenRows) -> Vec<Note> {
        let mut notes = self.source.notes().to_vec();
        notes.extend(seen.texts.notes());
        if !self.unused.is_empty() {
            // Who predicts may want them beside the predictions.
            notes.push(Note::UnusedColumns { columns: self.unused.clone(), may_be_kept: self.targets.is_none() });
        }
        if seen.dropped > 0 {
            let (rows, of) = (seen.dropped, seen.read);
            // Who predicts keeps their places.
            notes.push(match self.targets {
                None => Note::RowsNotPredicted { rows, of },
                Some(_) => Note::RowsLeftOut { rows, of },
            });
        }
        let filled: u64 = seen.cells.iter().map(|cells| cells.filled).sum();
        if filled > 0 {
            notes.push(Note::CellsFilledIn { cells: filled });
        }
        let absent: u64 = seen.cells.iter().map(|cells| cells.absent).sum();
        if absent > 0 {
            notes.push(Note::CategoriesMissing { cells: absent });
        }
        for (input, seen) in self.inputs.iter().zip(&seen.cells) {
            if let Some((place, example)) = &seen.first_odd {
                let (column, cells) = (input.name.clone(), seen.odd);
                notes.push(Note::OddCells { column, cells, example: example.clone(), place: *place });
            }
            if let Some((place, example)) = &seen.example {
                let (column, cells) = (input.name.clone(), seen.unseen);
                notes.push(Note::CategoriesUnseen { column, cells, example: example.clone(), place: *place });
            }
        }
        notes
    }

    /// Puts a record behind `x` and `y`, or leaves it out and returns false.
    fn encode(&mut self, place: Place, cells: &[Cell], x: &mut Vec<f64>, y: &mut Vec<f64>) -> Result<bool> {
        let targets = self.targets.as_deref().unwrap_or_default();
        let used = targets.iter().chain(&self.exposure).map(|(at, name)| (*at, name, true));
        let used = used.chain(self.inputs.iter().map(|input| (input.at, &input.name, false)));
        for (_, name, is_target) in used.filter(|(at, ..)| cells[*at] == Cell::Missing) {
            match self.missing {
                Missing::Reject => return Err(missing(&self.source, name, place, missing_advice(is_target))),
                Missing::Drop => return Ok(false),
                Missing::Mean | Missing::Indicator if is_target => return Ok(false),
                Missing::Mean | Missing::Indicator => {}
            }
        }
        for (at, name) in targets {
            y.extend(self.target_code.encode(&self.source, name, place, &cells[*at])?);
        }
        for input in &mut self.inputs {
            let cell = &cells[input.at];
            match input.unfit(cell, place) {
                None => input.encode(&self.source, place, cell, x)?,
                Some(Unfit::Infinite) if self.missing == Missing::Reject => {
                    return Err(not_finite(&self.source, &input.name, place, &cell.label().unwrap_or_default()));
                }
                Some(Unfit::Is { not }) if self.missing == Missing::Reject => {
                    let advice = "it was at fitting: mend the cell";
                    return Err(value(
                        &self.source,
                        &input.name,
                        place,
                        &cell.label().unwrap_or_default(),
                        not,
                        advice,
                    ));
                }
                // One odd cell is a matter of its row, and not of the table.
                Some(_) if self.missing == Missing::Drop => return Ok(false),
                Some(_) => {
                    input.seen.odd += 1;
                    let shown = || (place, names::shorten(&cell.label().unwrap_or_default()));
                    input.seen.first_odd.get_or_insert_with(shown);
                    input.encode(&self.source, place, &Cell::Missing, x)?;
                }
            }
        }
        Ok(true)
    }
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").field("source", &self.source).field("read", &self.read).finish_non_exhaustive()
    }
}

/// Why a cell is not what its column was at fitting.
enum Unfit {
    /// It is infinite.
    Infinite,
    /// It is not this.
    Is { not: &'static str },
}

impl Input {
    /// What is wrong with the cell, if it is not what the column was at fitting.
    fn unfit(&self, cell: &Cell, place: Place) -> Option<Unfit> {
        let not = |what: &'static str| Some(Unfit::Is { not: what });
        match (&self.code, cell) {
            (_, Cell::Missing) => None,
            (_, Cell::Number(value)) if !value.is_finite() => Some(Unfit::Infinite),
            (Code::Number { .. }, Cell::Number(_) | Cell::Date(_) | Cell::Boolean(_)) => None,
            (Code::Number { .. }, Cell::Text(text)) if written_number::parse(text, false).is_some() => None,
            (Code::Number { .. }, Cell::Text(_)) => not("a number"),
            (Code::Date { .. }, Cell::Date(_)) => None,
            (Code::Date { .. }, Cell::Text(text)) if date::seconds(text).is_some() => None,
            // Where there is no type for dates they are seconds; a number in text is something else.
            (Code::Date { .. }, Cell::Number(_)) if place.is_row() => None,
            (Code::Date { .. }, Cell::Number(_) | Cell::Boolean(_) | Cell::Text(_)) => not(DATE),
            (Code::Boolean { .. }, Cell::Boolean(_)) => None,
            // Other formats write booleans as 0 and 1.
            (Code::Boolean { .. }, Cell::Number(value)) if *value == 0.0 || *value == 1.0 => None,
            (Code::Boolean { .. }, Cell::Number(_) | Cell::Date(_) | Cell::Text(_)) => not("true or false"),
            (Code::Category { .. } | Code::ManyLevels { .. }, _) => None,
        }
    }

    /// Puts the numbers of a cell that fits behind `x`.
    fn encode(&mut self, source: &Source, place: Place, cell: &Cell, x: &mut Vec<f64>) -> Result<()> {
        let number = match cell {
            Cell::Missing => None,
            Cell::Number(value) | Cell::Date(value) => Some(*value),
            Cell::Boolean(value) => Some(f64::from(u8::from(*value))),
            Cell::Text(text) => match &self.code {
                Code::Date { .. } => date::seconds(text),
                Code::Number { .. } => written_number::parse(text, false).map(|number| number.value),
                Code::Boolean { .. } | Code::Category { .. } | Code::ManyLevels { .. } => None,
            },
        };
        match &self.code {
            Code::Number { fill } | Code::Boolean { fill } | Code::Date { fill, .. } => {
                self.seen.filled += u64::from(number.is_none());
                let advice = "the model has no mean to fill it in with: leave such rows out with --missing drop";
                let filled = || fill.ok_or_else(|| missing(source, &self.name, place, advice));
                x.push(number.map_or_else(filled, Ok)?);
            }
            Code::Category { levels, width } => {
                let begin = x.len();
                x.resize(begin + width, 0.0);
                if let Some(level) = self.seen.level(levels, cell, place) {
                    x[begin + level] = 1.0;
                }
            }
            Code::ManyLevels { levels, means } => {
                let level = self.seen.level(levels, cell, place).unwrap_or(levels.len());
                match means {
                    None => x.push(level as f64),
                    Some(means) => x.extend_from_slice(means.of(level)),
                }
            }
        }
        if let Code::Date { cycles, .. } = &self.code {
            // A date that is not known is nowhere in a cycle.
            x.extend(cycles.iter().flat_map(|cycle| number.map_or([0.0; 2], |seconds| cycle.circle(seconds))));
        }
        if self.indicator {
            x.push(f64::from(u8::from(*cell == Cell::Missing)));
        }
        Ok(())
    }
}

impl SeenCells {
    /// The cells that come next.
    fn then(&mut self, next: Self) {
        self.filled += next.filled;
        self.absent += next.absent;
        self.unseen += next.unseen;
        first(&mut self.example, next.example);
        self.odd += next.odd;
        first(&mut self.first_odd, next.first_odd);
    }

    /// The position of a cell's level, if it is a known one.
    fn level(&mut self, levels: &HashMap<String, usize>, cell: &Cell, place: Place) -> Option<usize> {
        self.absent += u64::from(*cell == Cell::Missing);
        let label = cell.label()?;
        let level = levels.get(&*label).copied();
        if level.is_none() {
            self.unseen += 1;
            self.example.get_or_insert_with(|| (place, names::shorten(&label)));
        }
        level
    }
}

/// The position of each level.
fn positions_of(levels: &[String]) -> HashMap<String, usize> {
    levels.iter().cloned().zip(0..).collect()
}

impl Code {
    fn width(&self) -> usize {
        match self {
            Self::Number { .. } | Self::Boolean { .. } => 1,
            Self::Date { cycles, .. } => 1 + 2 * cycles.len(),
            Self::Category { width, .. } => *width,
            Self::ManyLevels { means, .. } => means.as_ref().map_or(1, LevelMeans::width),
        }
    }
}

fn missing(source: &Source, name: &str, place: Place, advice: &'static str) -> Error {
    Error::Missing { path: source.path().into(), place, column: name.into(), others: String::new(), advice }
}

/// Columns without names are known by position, so there must be as many as at fitting; where targets are not needed and
/// come last, they may be left away.
fn check_positions(schema: &Schema, source: &Source, targets: Targets) -> Result<()> {
    let (Some(expected), true) = (schema.positions, source.is_unnamed()) else { return Ok(()) };
    let found = source.names().len();
    let inputs = expected.saturating_sub(schema.targets.len());
    let position = |name: &String| name.strip_prefix('c').and_then(|digits| digits.parse::<usize>().ok());
    let targets_last = schema.targets.iter().all(|name| position(name).is_some_and(|position| position > inputs));
    let may_lack_targets = targets == Targets::Unneeded && targets_last;
    if found == expected || (may_lack_targets && found == inputs) {
        return Ok(());
    }
    let without_targets = if may_lack_targets { format!(" (or {inputs}, without targets)") } else { String::new() };
    Err(Error::Positions { path: source.path().into(), expected, without_targets, found })
}
