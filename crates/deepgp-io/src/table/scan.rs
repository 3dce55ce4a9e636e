//! The first pass: what each column is.
//!
//! What is counted comes from the rows that will be kept, so a level that only a dropped row has is no level.

use super::column::Verdict;
use super::tally::{MOST_PROBLEMS, Role, Tally};
use super::writing::{self, Writings};
use super::{Cell, InputColumn, Missing, Note, Place, Schema, Source, TargetKind, Task, Wanted, names};
use crate::error::{Error, Result};

/// How the name of a data frame's index begins in Parquet.
const DATA_FRAME_INDEX: &str = "__index_level_";

/// Reads the table, once, and again where columns turn out not to be written plainly.
pub(super) fn scan(source: &Source, wanted: &Wanted, watch: &mut dyn FnMut(u64)) -> Result<(Schema, Vec<Note>)> {
    let roles = roles(source, wanted)?;
    let mut writings = Writings::plain(source, wanted.na.as_deref());
    let mut tally = Tally::read(source, &roles, wanted.missing, &writings, watch)?;
    let mut notes = source.notes().to_vec();
    let named = |role: &Role| match role {
        Role::Category => true,
        Role::Target => wanted.task == Task::Classification,
        Role::Input | Role::Exposure | Role::Ignored => false,
    };
    let categories: Vec<bool> = roles.iter().map(named).collect();
    if let Some((found, told)) = writing::found(source, &tally.written, &categories, wanted.dates, &writings) {
        // Not both at once in memory.
        drop(tally);
        tally = Tally::read(source, &roles, wanted.missing, &found, watch)?;
        writings = found;
        notes.extend(told);
    }
    notes.extend(tally.texts.notes());
    let mut problems: Vec<Error> = tally.problems.iter().map(|bad| bad.error(source)).collect();
    problems.extend(tally.check_presence(source, &roles).err());
    let alone = roles.iter().filter(|role| role.is_input()).count() == 1;
    let mut settled = tally.inputs(source, &roles, wanted, &problems, alone);
    if settled.inputs.is_empty() && !alone {
        // What counts rows may be the time, where there is nothing else.
        settled = tally.inputs(source, &roles, wanted, &problems, true);
    }
    let Inputs { inputs, left_out, notes: mut found, problems: more } = settled;
    problems.extend(more);
    problems.extend(tally.check_missing(source, &roles, wanted.missing).err());
    let mut target_kind = TargetKind::Numbers;
    for (name, seen) in source.names().iter().zip(&tally.targets) {
        if let Some(seen) = seen.as_ref().filter(|seen| seen.is_there()) {
            match seen.kind(source, name, wanted.task, wanted.targets.len() == 1) {
                Ok((kind, note)) => {
                    target_kind = kind;
                    found.extend(note);
                }
                Err(problem) => problems.push(problem),
            }
        }
    }
    if inputs.is_empty() && problems.is_empty() {
        let columns = names::list(left_out.iter());
        problems.push(Error::AllLeftOut { path: source.path().into(), columns });
    }
    Error::together(source.path(), problems)?;
    let positions = source.is_unnamed().then_some(source.names().len());
    // What is left out need not be told of twice.
    notes.retain(
        |note| !matches!(note, Note::UnnamedColumn { column, may_number_rows: true, .. } if left_out.contains(column)),
    );
    for column in inputs.iter().filter(|column| column.name.starts_with(DATA_FRAME_INDEX)) {
        notes.push(Note::DataFrameIndex { column: column.name.clone() });
    }
    notes.extend(found);
    let (targets, exposure, missing) = (wanted.targets.clone(), wanted.exposure.clone(), wanted.missing);
    let row_columns = wanted.row_columns.clone();
    let (writing, na) = (writings.by_name(source), wanted.na.clone());
    let schema = Schema { inputs, targets, target_kind, exposure, row_columns, missing, writing, na, positions };
    Ok((schema, notes))
}

/// The columns that are inputs, and those that could have been.
#[derive(Default)]
struct Inputs {
    inputs: Vec<InputColumn>,
    left_out: Vec<String>,
    notes: Vec<Note>,
    problems: Vec<Error>,
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
    let one = |name: &Option<String>| name.iter().cloned().collect::<Vec<String>>();
    let (exposure, group, weights) =
        (one(&wanted.exposure), one(&wanted.row_columns.group), one(&wanted.row_columns.weights));
    let asked = [
        (&wanted.targets, Role::Target, "asked to be a target"),
        (&exposure, Role::Exposure, "asked to be the exposure"),
        // They are read where rows are split and weighed.
        (&group, Role::Ignored, "asked to be the group"),
        (&weights, Role::Ignored, "asked to be the weights"),
        (&wanted.ignore, Role::Ignored, "asked to be ignored"),
        (&wanted.categorical, Role::Category, "asked to be a category"),
    ];
    let mut roles = vec![(Role::Input, "an input"); known.len()];
    let mut problems = Vec::new();
    for (columns, role, words) in asked {
        for name in columns {
            let at = match names::find(source, name, words) {
                Ok(at) => at,
                Err(problem) => {
                    problems.push(problem);
                    continue;
                }
            };
            let (before, first) = std::mem::replace(&mut roles[at], (role, words));
            // Naming a column twice for the same is harmless, but a target would be there twice.
            if before != Role::Input && (before != role || role == Role::Target) {
                let second = if before == role { "asked to be one again" } else { words };
                problems.push(Error::Roles { path: path.into(), name: name.clone(), first, second });
            }
        }
    }
    problems
        .extend(wanted.keep.iter().filter_map(|name| names::find(source, name, "asked to be kept as an input").err()));
    Error::together(source.path(), problems)?;
    if wanted.targets.is_empty() {
        return Err(Error::NoTargets { path: path.into(), known: names::list(known.iter()) });
    }
    if !roles.iter().any(|(role, _)| matches!(role, Role::Input | Role::Category)) {
        return Err(Error::NoInputs { path: path.into(), columns: known.len() });
    }
    Ok(roles.into_iter().map(|(role, _)| role).collect())
}

impl Tally {
    /// The inputs, of columns that have no `problems` already; `alone` if there is but one.
    fn inputs(&self, source: &Source, roles: &[Role], wanted: &Wanted, problems: &[Error], alone: bool) -> Inputs {
        let mut all = Inputs::default();
        for ((name, role), seen) in source.names().iter().zip(roles).zip(&self.columns) {
            if !role.is_input() || problems.iter().any(|problem| problem.column() == Some(name)) {
                continue;
            }
            match seen.verdict(source, name, wanted.keep.contains(name), alone) {
                Ok(Verdict::Input(kind)) => {
                    all.notes.extend(seen.note(name, &kind));
                    // An index is told of by its name, or by having none.
                    if !name.starts_with(DATA_FRAME_INDEX) && !is_unnamed_index(source, name) {
                        all.notes.extend(seen.codes.note(name, &kind, alone));
                    }
                    let indicator = wanted.missing == Missing::Indicator && seen.wants_indicator(&kind);
                    all.inputs.push(InputColumn { name: name.clone(), kind, indicator });
                }
                Ok(Verdict::LeftOut(reason)) => {
                    all.notes.push(Note::ColumnLeftOut { column: name.clone(), reason });
                    all.left_out.push(name.clone());
                }
                Err(problem) if all.problems.len() < MOST_PROBLEMS => all.problems.push(problem),
                Err(_) => {}
            }
        }
        all
    }

    /// Fails if there are no rows, or a column that must be there is all missing.
    fn check_presence(&self, source: &Source, roles: &[Role]) -> Result<()> {
        if self.rows == 0 {
            return Err(Error::NoRows { path: source.path().into() });
        }
        let empty = |column: &usize| self.missing[*column] == self.rows;
        let needed = |column: &usize| matches!(roles[*column], Role::Target | Role::Exposure);
        if let Some(column) = (0..roles.len()).find(|column| empty(column) && needed(column)) {
            let name = source.names()[column].clone();
            let advice = match roles[column] {
                Role::Exposure => "name another --exposure".into(),
                _ => "name another target".into(),
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
        // Columns with nothing in them are left out.
        let counted = |column: &usize| self.missing[*column] < self.rows;
        let first = (0..roles.len()).filter(counted).filter_map(|column| Some((self.first_missing[column]?, column)));
        let (Missing::Reject, Some(((_, place), column))) = (missing, first.min_by_key(|((row, _), _)| *row)) else {
            return Ok(());
        };
        let others = match (0..roles.len()).filter(counted).map(|column| self.missing[column]).sum::<u64>() - 1 {
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
            Err(no_exposure(source, name, place, &cell.label().unwrap_or_default()))
        }
    }
}

/// The cell is no exposure.
pub(super) fn no_exposure(source: &Source, name: &str, place: Place, cell: &str) -> Error {
    let advice = "an exposure is how long, or how much, was watched for events: mend the cell";
    value(source, name, place, cell, "a number above 0", advice)
}

/// The cell is infinite.
pub(super) fn not_finite(source: &Source, name: &str, place: Place, cell: &str) -> Error {
    value(source, name, place, cell, "finite", "mend it, or leave the cell empty")
}

/// The cell, in which this stands, is not what it should be.
pub(super) fn value(
    source: &Source,
    name: &str,
    place: Place,
    cell: &str,
    expected: &'static str,
    advice: &'static str,
) -> Error {
    let value = names::shorten(cell);
    Error::Value { path: source.path().into(), place, column: name.into(), value, expected, advice }
}
