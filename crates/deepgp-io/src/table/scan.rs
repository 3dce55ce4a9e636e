//! The first pass: what each column is.
//!
//! What is counted comes from the rows that will be kept, so a level that only a dropped row has is no level.

use super::column::Seen;
use super::target::SeenTarget;
use super::{Cell, InputColumn, Missing, Note, Place, Schema, Source, TargetKind, Wanted, names};
use crate::error::{Error, Result};

/// How the name of a data frame's index begins in Parquet.
const DATA_FRAME_INDEX: &str = "__index_level_";

/// The number of records after which whoever watches a pass over the table is told again.
pub(super) const TOLD_EVERY: u64 = 4096;

/// What is wanted of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Input,
    Category,
    Target,
    Exposure,
    Ignored,
}

/// Reads the table once.
pub(super) fn scan(source: &Source, wanted: &Wanted, watch: &mut dyn FnMut(u64)) -> Result<(Schema, Vec<Note>)> {
    let roles = roles(source, wanted)?;
    let tally = Tally::read(source, &roles, wanted.missing, watch)?;
    tally.check_presence(source, &roles)?;
    let (mut inputs, mut found) = (Vec::new(), Vec::new());
    let alone = roles.iter().filter(|role| matches!(role, Role::Input | Role::Category)).count() == 1;
    for ((name, role), seen) in source.names().iter().zip(&roles).zip(&tally.columns) {
        if matches!(role, Role::Input | Role::Category) {
            let kind = seen.kind(source, name, tally.kept)?;
            found.extend(seen.note(name, &kind));
            // An index is told of by its name, or by having none.
            if !name.starts_with(DATA_FRAME_INDEX) && !is_unnamed_index(source, name) {
                found.extend(seen.codes.note(name, &kind, alone));
            }
            let indicator = wanted.missing == Missing::Indicator && seen.wants_indicator(&kind);
            inputs.push(InputColumn { name: name.clone(), kind, indicator });
        }
    }
    tally.check_missing(source, &roles, wanted.missing)?;
    let mut target_kind = TargetKind::Numbers;
    for (name, seen) in source.names().iter().zip(&tally.targets) {
        if let Some(seen) = seen {
            let note;
            (target_kind, note) = seen.kind(source, name, wanted.task, wanted.targets.len() == 1)?;
            found.extend(note);
        }
    }
    let positions = source.is_unnamed().then_some(source.names().len());
    let mut notes = source.notes().to_vec();
    for column in inputs.iter().filter(|column| column.name.starts_with(DATA_FRAME_INDEX)) {
        notes.push(Note::DataFrameIndex { column: column.name.clone() });
    }
    notes.extend(found);
    let (targets, exposure, missing) = (wanted.targets.clone(), wanted.exposure.clone(), wanted.missing);
    let schema = Schema { inputs, targets, target_kind, exposure, missing, positions };
    Ok((schema, notes))
}

/// Whether opening the file has told that this column may be the index of a data frame, which has no name in text.
fn is_unnamed_index(source: &Source, name: &str) -> bool {
    let told =
        |note: &Note| matches!(note, Note::UnnamedColumn { column, may_number_rows: true, .. } if column == name);
    source.notes().iter().any(told)
}

/// What is wanted of each column. Fails if a name is unknown or asked for twice, or nothing is left.
fn roles(source: &Source, wanted: &Wanted) -> Result<Vec<Role>> {
    let (path, known) = (source.path(), source.names());
    let exposure: Vec<String> = wanted.exposure.iter().cloned().collect();
    let asked = [
        (&wanted.targets, Role::Target, "asked to be a target"),
        (&exposure, Role::Exposure, "asked to be the exposure"),
        (&wanted.ignore, Role::Ignored, "asked to be ignored"),
        (&wanted.categorical, Role::Category, "asked to be a category"),
    ];
    let mut roles = vec![(Role::Input, "an input"); known.len()];
    for (columns, role, words) in asked {
        for name in columns {
            let (before, first) = std::mem::replace(&mut roles[names::find(source, name, words)?], (role, words));
            // Naming a column twice for the same is harmless, but a target would be there twice.
            if before != Role::Input && (before != role || role == Role::Target) {
                let second = if before == role { "asked to be one again" } else { words };
                return Err(Error::Roles { path: path.into(), name: name.clone(), first, second });
            }
        }
    }
    if wanted.targets.is_empty() {
        return Err(Error::NoTargets { path: path.into(), known: names::list(known.iter()) });
    }
    if !roles.iter().any(|(role, _)| matches!(role, Role::Input | Role::Category)) {
        return Err(Error::NoInputs { path: path.into(), columns: known.len() });
    }
    Ok(roles.into_iter().map(|(role, _)| role).collect())
}

/// What the table holds.
struct Tally {
    columns: Vec<Seen>,
    /// What was seen of the columns that are targets.
    targets: Vec<Option<SeenTarget>>,
    /// Missing cells of each column, in all rows.
    missing: Vec<u64>,
    first_missing: Option<(Place, usize)>,
    rows: u64,
    kept: u64,
}

impl Tally {
    fn read(source: &Source, roles: &[Role], missing: Missing, watch: &mut dyn FnMut(u64)) -> Result<Self> {
        let columns = roles.iter().map(|role| Seen::new(*role == Role::Category)).collect();
        let targets = roles.iter().map(|role| (*role == Role::Target).then(SeenTarget::default)).collect();
        let mut tally = Self { columns, targets, missing: vec![0; roles.len()], first_missing: None, rows: 0, kept: 0 };
        let used = roles.iter().map(|role| *role != Role::Ignored).collect();
        let (mut rows, mut cells) = (source.rows_using(used)?, Vec::new());
        while let Some(number) = rows.next(&mut cells)? {
            let kept = tally.add(source, roles, missing, &cells, source.place(number))?;
            // In other formats a number has no leading zeros.
            if kept && source.is_text() {
                let numbers = cells.iter().enumerate().filter(|(_, cell)| matches!(cell, Cell::Number(_)));
                numbers.for_each(|(column, _)| tally.columns[column].codes.add_written(&rows.written(column)));
            }
            if tally.rows.is_multiple_of(TOLD_EVERY) {
                watch(tally.rows);
            }
        }
        watch(tally.rows);
        Ok(tally)
    }

    /// One more record, unless it is left out: then false.
    fn add(&mut self, source: &Source, roles: &[Role], missing: Missing, cells: &[Cell], place: Place) -> Result<bool> {
        self.rows += 1;
        let mut keep = true;
        for (column, role) in roles.iter().enumerate() {
            if *role != Role::Ignored && cells[column] == Cell::Missing {
                self.missing[column] += 1;
                self.first_missing.get_or_insert((place, column));
                keep &= match missing {
                    Missing::Reject => true,
                    Missing::Drop => false,
                    Missing::Mean | Missing::Indicator => !matches!(role, Role::Target | Role::Exposure),
                };
            }
        }
        if !keep {
            return Ok(false);
        }
        self.kept += 1;
        for (column, role) in roles.iter().enumerate() {
            let name = &source.names()[column];
            match role {
                Role::Ignored => {}
                Role::Target => {
                    if let Some(seen) = &mut self.targets[column] {
                        seen.add(source, name, place, &cells[column])?;
                    }
                }
                Role::Exposure => _ = exposure(source, name, place, &cells[column])?,
                Role::Input | Role::Category => self.columns[column].add(source, name, place, &cells[column])?,
            }
        }
        Ok(true)
    }

    /// Fails if there are no rows, or a column is all missing.
    fn check_presence(&self, source: &Source, roles: &[Role]) -> Result<()> {
        if self.rows == 0 {
            return Err(Error::NoRows { path: source.path().into() });
        }
        if let Some(column) = self.missing.iter().position(|missing| *missing == self.rows) {
            let name = source.names()[column].clone();
            let advice = match roles[column] {
                Role::Target => "name another target".into(),
                Role::Exposure => "name another --exposure".into(),
                _ => format!("leave it out with --ignore {name}"),
            };
            return Err(Error::AllMissing { path: source.path().into(), column: name, rows: self.rows, advice });
        }
        if self.kept == 0 {
            return Err(Error::NothingKept { path: source.path().into(), rows: self.rows });
        }
        Ok(())
    }

    /// Fails if cells are missing that must not be.
    fn check_missing(&self, source: &Source, roles: &[Role], missing: Missing) -> Result<()> {
        let (Missing::Reject, Some((place, column))) = (missing, self.first_missing) else { return Ok(()) };
        let others = match self.missing.iter().sum::<u64>() - 1 {
            0 => ", the only one in the table".into(),
            others => format!(", and {others} more in the table"),
        };
        let advice = missing_advice(matches!(roles[column], Role::Target | Role::Exposure));
        let (path, column) = (source.path().into(), source.names()[column].clone());
        Err(Error::Missing { path, place, column, others, advice })
    }
}

/// What to do about a missing cell, which may be of a column that cannot be filled in.
pub(super) fn missing_advice(must_be_there: bool) -> &'static str {
    if must_be_there {
        "targets and exposures cannot be filled in: leave such rows out with --missing drop"
    } else {
        "leave such rows out with --missing drop, or fill them in with --missing mean"
    }
}

/// An exposure, which must be a number above 0; `None` if it is missing.
pub(super) fn exposure(source: &Source, name: &str, place: Place, cell: &Cell) -> Result<Option<f64>> {
    match cell {
        Cell::Missing => Ok(None),
        Cell::Number(value) if *value > 0.0 && value.is_finite() => Ok(Some(*value)),
        Cell::Number(_) | Cell::Boolean(_) | Cell::Date(_) | Cell::Text(_) => {
            let advice = "an exposure is how long, or how much, was watched for events: mend the cell";
            Err(value(source, name, place, cell, "a number above 0", advice))
        }
    }
}

/// The cell is infinite.
pub(super) fn not_finite(source: &Source, name: &str, place: Place, cell: &Cell) -> Error {
    value(source, name, place, cell, "finite", "mend it, or leave the cell empty")
}

/// The cell is not what it should be.
pub(super) fn value(
    source: &Source,
    name: &str,
    place: Place,
    cell: &Cell,
    expected: &'static str,
    advice: &'static str,
) -> Error {
    let value = names::shorten(&cell.label().unwrap_or_default());
    Error::Value { path: source.path().into(), place, column: name.into(), value, expected, advice }
}
