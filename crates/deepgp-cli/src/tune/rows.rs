//! The rows of a search: those for testing set aside, the others to train on and to judge by.

use std::path::Path;

use anyhow::{Result, bail};
use deepgp::Dataset;
use deepgp::search::{SearchPart, judging_rows};
use deepgp_io::table::{Schema, Source, random_split_notes};
use deepgp_io::{Note, SplitRule, TableRecord};

use crate::arguments::fit_options::FitOptions;
use crate::arguments::paths;
use crate::arguments::usage::Usage;
use crate::model::description::{columns_in_words, target_in_words};
use crate::model::row_facts;
use crate::model::rows::{self, LoadedRows, PlacedRows, SplitRows, stratify, weighted};
use crate::terminal::explain::impossible_in_table;
use crate::terminal::output::{self, Voice};
use crate::terminal::stage::{Extent, Stage};
use crate::terminal::text::count;

/// The rows of a search, and what is known of their table.
#[derive(Debug)]
pub struct SearchRows {
    /// The table.
    pub table: TableRecord,
    /// The columns, as the rows to train on after the search settle them.
    pub schema: Schema,
    /// All rows but the test rows: those that the best settings are fitted to.
    pub train: Dataset,
    /// The test rows.
    pub test: Option<PlacedRows>,
    /// Which rows are held out.
    pub split: SplitRule,
    /// What is worth knowing of the rows.
    pub notes: Vec<Note>,
    /// The parts on which candidates are trained and judged.
    pub parts: Vec<JudgedPart>,
}

impl SearchRows {
    /// The least number of rows that a part has for training.
    pub fn fewest_to_train_on(&self) -> usize {
        self.parts.iter().map(|part| part.rows.train.len()).min().unwrap_or(1)
    }
}

/// A part of the rows with what its training rows say of the columns.
#[derive(Debug)]
pub struct JudgedPart {
    /// The columns.
    pub schema: Schema,
    /// The rows to train on, and those that judge.
    pub rows: SearchPart,
    /// The test rows, by these columns.
    pub test: Option<Dataset>,
}

/// How rows are set aside.
#[derive(Clone, Copy, Debug)]
pub struct SetAside {
    /// The share of the rows that judges, unless there are folds.
    pub selection: f64,
    /// The number of folds, in each of which other rows judge.
    pub folds: Option<usize>,
}

/// Reads a table, and sets rows aside.
pub fn read(path: &Path, options: &FitOptions, aside: SetAside, voice: Voice) -> Result<SearchRows> {
    let source = Source::open_with(path, options.read_options())?;
    let mut all = 0;
    let mut stage = Stage::new(voice, "looking through the table", Extent::UnknownRows);
    let (schema, mut notes) = Schema::scan_watched(&source, &options.wanted(&source), &mut |rows| {
        all = rows;
        stage.show(rows);
    })?;
    drop(stage);
    options.settings_for(1, &schema.target_kind)?;
    let extent = if all > 0 { Extent::Rows(all) } else { Extent::UnknownRows };
    let loaded = rows::load(&schema, &source, Stage::new(voice, "reading", extent))?;
    let (split, by_time) = options.split_rule(&schema);
    let loaded = row_facts::of_fit(loaded, &schema, &source, &split)?;
    notes.extend(by_time.map(|note| note.with_undated(row_facts::undated(&loaded.data))));
    if split.is_random() {
        notes.extend(random_split_notes(&source, &schema)?);
    }
    let LoadedRows { data, notes: more, positions } = loaded;
    let (unsettled, data, constant) = options.constant().settle(schema, data)?;
    let rows = PlacedRows { data, positions };
    let possible = options.transform_target().check(rows.data.y().view());
    possible.map_err(|error| impossible_in_table(&unsettled, &rows.positions, error))?;
    let known = |note: &Note| notes.contains(note) || matches!(note, Note::UnusedColumns { .. });
    let more: Vec<Note> = more.into_iter().filter(|note| !known(note)).collect();
    notes.extend(more.into_iter().chain(constant));
    output::notes(voice, &notes);
    let seed = options.seed.unwrap_or(0);
    let parts = parts(&rows, &unsettled, options, aside)?;
    let SplitRows { schema, train, test } = rows::split(&rows, &unsettled, options.test_share(), seed)?;
    let told = format!("{}: {}; {}", path.display(), count(rows.data.len(), "row"), columns_in_words(&schema));
    output::say(voice, &told);
    if let Some(target) = target_in_words(&schema) {
        output::say(voice, &target);
    }
    output::say(voice, &in_words(&parts, test.as_ref()));
    let table =
        TableRecord { path: paths::absolute(path), sha256: source.sha256()?, rows: rows.data.len(), more: Vec::new() };
    Ok(SearchRows { table, schema, train, test, split, notes, parts })
}

/// The parts of all rows but the test rows. What levels of categories say about targets is learnt from the rows to train on alone.
fn parts(all: &PlacedRows, schema: &Schema, options: &FitOptions, aside: SetAside) -> Result<Vec<JudgedPart>> {
    let (seed, strata) = (options.seed.unwrap_or(0), stratify(&schema.target_kind));
    let (rest, test) = match options.test_share() {
        None => (all.clone(), None),
        Some(share) => {
            let (rest, test) = all.data.row_split(share, strata, seed)?;
            (all.gather(&rest)?, Some(all.gather(&test)?))
        }
    };
    let splits = match aside.folds {
        Some(folds) => rest.data.folds(folds, strata, seed)?,
        None if aside.selection > 0.0 && aside.selection < 1.0 => {
            // Another split than that of the test rows, and of the rows that decide when to stop.
            vec![rest.data.row_split(aside.selection, strata, seed.wrapping_add(1))?]
        }
        None => bail!(Usage(format!(
            "--selection {}: give a share of the rows above 0 and below 1, by which settings are judged",
            aside.selection
        ))),
    };
    let part = |(train, judge): &(Vec<u32>, Vec<u32>)| {
        // Behind the rows that judge, the test rows, so that all are by the same columns.
        let train = rest.data.gather(train)?;
        let judge = judging_rows(&rest.data.gather(judge)?, seed)?;
        let positions = vec![0; judge.len()];
        let judged = rows::settle(schema, train.clone(), Some(PlacedRows { data: judge, positions }), seed)?;
        let test = match &test {
            None => None,
            Some(test) => {
                let few = judging_rows(&test.data, seed)?;
                let positions = vec![0; few.len()];
                rows::settle(schema, train, Some(PlacedRows { data: few, positions }), seed)?.test
            }
        };
        let SplitRows { schema, train, test: judge } = judged;
        let Some(judge) = judge else { bail!("there are no rows to judge by") };
        let rows = SearchPart { train: weighted(&train, options.class_weights())?, judge: judge.data };
        Ok(JudgedPart { schema, rows, test: test.map(|rows| rows.data) })
    };
    splits.iter().map(part).collect()
}

/// How many rows there are for what.
fn in_words(parts: &[JudgedPart], test: Option<&PlacedRows>) -> String {
    let tested =
        test.map_or(String::new(), |rows| format!("; {} are not looked at before", count(rows.data.len(), "test row")));
    match parts {
        [one] => format!(
            "settings are tried on {} and judged by {}{tested}",
            count(one.rows.train.len(), "row"),
            count(one.rows.judge.len(), "other")
        ),
        folds => format!("settings are tried and judged in {}{tested}", count(folds.len(), "fold")),
    }
}
