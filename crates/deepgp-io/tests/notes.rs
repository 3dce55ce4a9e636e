//! Every note has its sentence, and comes back from a file as the fact that it is.

use deepgp::{Matrix, TransformChoice};
use deepgp_io::Baseline;
use deepgp_io::note::{ClassRows, LeftOut, NoTransform, Note, Number, ScoredRows, TrainingEvent};
use deepgp_io::table::{Cycle, Place};

/// One of each variant, with the sentence that people read.
fn all() -> Vec<(Note, &'static str)> {
    let column = || "n".to_string();
    let other = || ScoredRows::Table { name: "new.csv".into() };
    let mean = Number(-1.25);
    vec![
        (Note::NoHeader { columns: 3 }, "the table has no header, so its columns are called by position: `c1` to `c3`"),
        (
            Note::UnnamedColumn { position: 1, column: "c1".into(), may_number_rows: true },
            "column 1 has no name, so it is called `c1`; if it only numbers the rows, leave it out with --ignore c1",
        ),
        (
            Note::UnnamedColumn { position: 4, column: "c4".into(), may_number_rows: false },
            "column 4 has no name, so it is called `c4`",
        ),
        (
            Note::DataFrameIndex { column: column() },
            "`n` is the index of a data frame; if it only numbers the rows, leave it out with --ignore n",
        ),
        (
            Note::Dates { column: column(), mixed_zones: true, cycles: vec![Cycle::Year, Cycle::Week] },
            "column `n`: dates are a trend, in seconds since 1970, and season, weekday, each as a circle; times that do not say how far they are from UTC are taken for UTC",
        ),
        (
            Note::Dates { column: column(), mixed_zones: false, cycles: Vec::new() },
            "column `n`: dates are a trend, in seconds since 1970",
        ),
        (
            Note::ScoresNotSaved { reason: "cannot write m.deepgp: No space left on device".into() },
            "the model is saved, but its scores could not be written into it: cannot write m.deepgp: No space left on device",
        ),
        (
            Note::MoreUnnamedColumns { columns: vec!["c11".into(), "c12".into()] },
            "2 further columns have no name, and are called by position: `c11`, `c12`",
        ),
        (
            Note::RepeatedNames { columns: vec!["a.1".into(), "a.2".into()] },
            "several columns have one name: `a.1`, `a.2` are numbered, to tell them from the first of that name",
        ),
        (
            Note::NotUtf8 { line: 7 },
            "the text is not UTF-8 (line 7 is the first that is not), and was read as Windows-1252, or Latin-1",
        ),
        (
            Note::MarkersAreWords { column: column(), markers: vec!["none".into(), "?".into()] },
            "column `n`: \"none\", \"?\" are words like the others; if missing cells are meant, say so with --na 'none,?'",
        ),
        (
            Note::DecoratedNumbers { column: column(), example: "$1,200".into(), value: "1200".into() },
            "column `n`: \"$1,200\" is read as 1200, and so are others like it; if they are names, say so with --categorical n, or \
             of a target with --task classification",
        ),
        (
            Note::DatesWithYearLast {
                column: column(),
                example: "01/02/2024".into(),
                month_first: true,
                ambiguous: true,
            },
            "column `n`: dates such as \"01/02/2024\" are read with the month first, though both orders are possible: --dates \
             day-first says otherwise",
        ),
        (
            Note::DatesWithYearLast {
                column: column(),
                example: "31.12.2024".into(),
                month_first: false,
                ambiguous: false,
            },
            "column `n`: dates such as \"31.12.2024\" are read with the day first",
        ),
        (
            Note::ColumnLeftOut { column: column(), reason: LeftOut::CountsRows },
            "column `n` is left out: it counts the rows; --keep-column n takes it, --categorical n as categories",
        ),
        (
            Note::ColumnLeftOut { column: column(), reason: LeftOut::Identifies },
            "column `n` is left out: it has the name of an id, and another number in each row; --keep-column n takes it, \
             --categorical n as categories",
        ),
        (
            Note::ColumnLeftOut {
                column: column(),
                reason: LeftOut::TellsApart { values: 40, example: "5 kg".into() },
            },
            "column `n` is left out: its 40 different texts, such as \"5 kg\", tell rows apart and say little else; --keep-column n \
             takes it, --categorical n as categories",
        ),
        (
            Note::ColumnLeftOut { column: column(), reason: LeftOut::Empty },
            "column `n` is left out: there is nothing in it",
        ),
        (
            Note::LevelsAsMeans { column: column(), levels: 240 },
            "column `n` has 240 different texts: each becomes one number, the mean of the target over its rows in other folds, drawn \
             towards that of all rows where there are few (--categorical n makes an input of each)",
        ),
        (
            Note::OddCells { column: column(), cells: 2, example: "abc".into(), place: Place::Line(3) },
            "column `n`: 2 cells were not what the column was at fitting, the first \"abc\" in line 3, and were taken for missing",
        ),
        (
            Note::CategoriesWithDigits { column: column(), levels: 12, example: "5 kg".into() },
            "column `n` is taken for 12 categories without order, such as \"5 kg\"; if they are numbers, write them without \
             units and separators, and dates as YYYY-MM-DD; if not, --categorical n says so",
        ),
        (
            Note::ManyCategories { column: column(), levels: 200 },
            "column `n` becomes 200 inputs, one for each category: there is that much more to learn, so fitting takes longer \
             and needs more rows",
        ),
        (
            Note::LeadingZeros { column: column(), example: "007".into() },
            "column `n`: \"007\" and others like it are read as numbers, without their leading zeros; if they are codes, take \
             them as categories with --categorical n, or leave them out with --ignore n",
        ),
        (
            Note::NamedLikeId { column: column() },
            "column `n` is taken for numbers, though its name is that of an id: leave it out with --ignore n, or take it as \
             categories with --categorical n",
        ),
        (
            Note::GroupsKeptTogether { column: column(), groups: 9, rows: 70, missing: 2 },
            "rows of one `n` stay together wherever some are held out: 70 rows of 9 groups, of which 2 rows without one are one \
             each",
        ),
        (
            Note::SplitByTime { column: Some(column()), dates: vec!["n".into(), "m".into()], undated: 1 },
            "the last rows by `n` are held out for testing, and the last of the others say when to stop; the row without a \
             time is taken for an earlier one",
        ),
        (
            Note::SplitByTime { column: None, dates: vec!["n".into(), "m".into()], undated: 0 },
            "the last rows, in the order of the table, are held out for testing, and the last of the others say when to stop; \
             `n`, `m` have dates: name one to go by with --test last:SHARE:COLUMN",
        ),
        (
            Note::DatesInOrder { column: column() },
            "the table is in the order of `n`, and rows are held out at random from between the others: if the model is for times to \
             come, score it on the last rows with --test last:0.2",
        ),
        (
            Note::RepeatedIds { column: column(), values: 20, rows: 60 },
            "`n` has 20 values in 60 rows, and rows are held out at random: if the model is for others than these, keep the rows of \
             each together with --group n",
        ),
        (
            Note::TrainingRowsUnknown { reason: "gone".into() },
            "there are no baselines, and nobody could check whether the model was trained on these rows: gone",
        ),
        (Note::ZeroWeights { column: column(), rows: 2, of: 9 }, "2 of 9 rows were left out: their `n` is 0"),
        (
            Note::NoWeights { column: column() },
            "there is no column `n` to weigh rows by, so all count alike in the scores",
        ),
        (
            Note::RareClasses {
                target: column(),
                classes: [("a", 1), ("b", 4)].map(|(label, rows)| ClassRows { label: label.into(), rows }).into(),
            },
            "`n`: few rows are of \"a\" (1), \"b\" (4): little can be learnt about so rare a class",
        ),
        (
            Note::WholeNumbers { target: column(), values: 3, may_be_classes: true, may_be_counts: true },
            "`n` is taken for numbers, of which there are 3 different ones, all of them whole: if they are classes, say so with \
             --task classification, or if they count something, with --task counts; --task regression says that they are numbers",
        ),
        (
            Note::WholeNumbers { target: column(), values: 3, may_be_classes: true, may_be_counts: false },
            "`n` is taken for numbers, of which there are 3 different ones, all of them whole: if they are classes, say so with \
             --task classification; --task regression says that they are numbers",
        ),
        (
            Note::WholeNumbers { target: column(), values: 90, may_be_classes: false, may_be_counts: true },
            "`n` is taken for numbers, of which there are 90 different ones, all of them whole: if they count something, say so \
             with --task counts; --task regression says that they are numbers",
        ),
        (
            Note::TruthAsNumbers { target: column() },
            "`n`: true and false are taken for 1 and 0: they are classes where all cells are one of them, and there is no other \
             target",
        ),
        (
            Note::ConstantColumns { columns: vec!["a".into()] },
            "`a` is the same in every row and left out: nothing can be learnt from it (--constant keep takes it)",
        ),
        (
            Note::ConstantColumns { columns: vec!["a".into(), "b".into()] },
            "`a`, `b` are the same in every row and left out: nothing can be learnt from them (--constant keep takes them)",
        ),
        (
            Note::UnusedColumns { columns: vec!["a".into(), "b".into()], may_be_kept: false },
            "the table has columns that the model does not use: `a`, `b`",
        ),
        (
            Note::UnusedColumns { columns: vec!["a".into()], may_be_kept: true },
            "the table has columns that the model does not use: `a` (--keep COLUMN carries one along)",
        ),
        (Note::RowsLeftOut { rows: 1, of: 9 }, "1 of 9 rows was left out: it has missing cells"),
        (Note::RowsLeftOut { rows: 2, of: 9 }, "2 of 9 rows were left out: they have missing cells"),
        (Note::RowsNotPredicted { rows: 1, of: 9 }, "1 of 9 rows has no prediction: it has missing cells"),
        (Note::RowsNotPredicted { rows: 2, of: 9 }, "2 of 9 rows have no prediction: they have missing cells"),
        (Note::CellsFilledIn { cells: 1 }, "1 missing cell was filled in with the column's mean at fitting"),
        (Note::CellsFilledIn { cells: 2 }, "2 missing cells were filled in with the column's mean at fitting"),
        (Note::CategoriesMissing { cells: 1 }, "1 missing cell in columns of text counts as none of the known values"),
        (Note::CategoriesMissing { cells: 2 }, "2 missing cells in columns of text count as none of the known values"),
        (
            Note::CategoriesUnseen { column: column(), cells: 1, example: "pink".into(), place: Place::Row(7) },
            "column `n`: 1 cell has a value that was not there at fitting, the first \"pink\" in row 7; such a value counts as \
             none of the known ones, and the intervals of its rows are too narrow, as they do not include what is not known \
             about it",
        ),
        (
            Note::OfTable { table: "new.csv".into(), note: Box::new(Note::RowsLeftOut { rows: 2, of: 9 }) },
            "new.csv: 2 of 9 rows were left out: they have missing cells",
        ),
        (
            Note::ScoredOnTableOfFit { path: "data/arm.csv".into() },
            "data/arm.csv is the table of the fit: the model has seen its rows, so the scores flatter it",
        ),
        (
            Note::Copies { copies: 2, of: 4, rows: ScoredRows::Test },
            "2 of 4 test rows have a copy among the training rows: the scores flatter the model",
        ),
        (
            Note::Copies { copies: 2, of: 4, rows: other() },
            "2 of 4 rows of new.csv have a copy among the training rows: the scores flatter the model",
        ),
        (
            Note::IntervalsTooNarrow { target: "y".into(), level: 90, held: Number(0.494), rows: other() },
            "`y`: the 90 % intervals hold 49.4 % of the rows of new.csv: they are too narrow",
        ),
        (
            Note::IntervalsTooWide { target: "y".into(), level: 50, held: Number(0.98), rows: ScoredRows::Test },
            "`y`: the 50 % intervals hold 98.0 % of the test rows: they are too wide",
        ),
        (
            Note::BeatenBy {
                baseline: Baseline::LinearRegression,
                model: Number(f64::NAN),
                theirs: mean,
                rows: other(),
            },
            "on the rows of new.csv the model is beaten by linear regression: a log likelihood of NaN against -1.250",
        ),
        (
            Note::BeatenInLogLoss {
                baseline: Baseline::LogisticRegression { among: None },
                model: Number(0.5),
                theirs: Number(0.25),
                rows: other(),
            },
            "on the rows of new.csv the model is beaten by logistic regression: a log loss of 0.5000 against 0.2500",
        ),
        (
            Note::NoBetterThanShares { rows: 2, model: Number(0.5), shares: Number(0.25) },
            "on 2 validation rows the model is no better than the shares of the classes: a log loss of 0.5000 against 0.2500; if \
             there is something to learn, try a smaller --learning-rate or more --steps",
        ),
        (Note::NoScores { rows: ScoredRows::Test }, "on the test rows the model has no scores that are numbers"),
        (
            Note::ImplausibleNumbers { array: "layers.0.mean.free".into(), numbers: 2, example: Number(1e308) },
            "`layers.0.mean.free` has 2 numbers that no training leads to, such as 1.000e308: predictions may be no numbers; copy the \
             file again, or fit the model anew",
        ),
        (
            Note::StartedFrom { model: "old.deepgp".into(), steps: 1 },
            "training starts from old.deepgp, after its 1 step: columns, sizes and units are those of that model",
        ),
        (
            Note::FewerInducing { asked: 500, found: 60 },
            "500 inducing inputs were asked for, but the rows to train on have only 60 distinct inputs: there are 60",
        ),
        (
            Note::TransformChosen {
                target: "y".into(),
                transform: TransformChoice::YeoJohnson,
                gain: Number(0.5),
                error: Number(0.02),
            },
            "`y` is transformed by `yeo-johnson`: nearest neighbours then predict rows better than without, by 0.5000 in log \
             likelihood (standard error 0.02000)",
        ),
        (
            Note::NoTransformChosen { target: "y".into(), reason: NoTransform::NoneBetter },
            "`y` is not transformed: under no transform do nearest neighbours predict rows clearly better",
        ),
        (
            Note::NoTransformChosen { target: "y".into(), reason: NoTransform::FewValues { distinct: 11 } },
            "`y` is not transformed: its 11 distinct values are too few for densities to tell transforms apart",
        ),
        (
            Note::NoTransformChosen { target: "y".into(), reason: NoTransform::FewRows { rows: 60 } },
            "`y` is not transformed: 60 rows are too few to tell transforms apart",
        ),
        (
            Note::ScoredOnSample { rows: 1000, of: 40_000 },
            "to be done in time, the model was scored on 1000 of 40000 test rows, chosen at random; `deepgp report` scores it on \
             all of them",
        ),
        (
            Note::RepeatedValues { target: "y".into(), values: 11, most_common: Number(0.215) },
            "`y` takes 11 different values, and one of them in 21.5 % of the rows: where values repeat, a density can be as high as \
             one likes, so compare models by their CRPS and not by their log likelihood",
        ),
        (
            Note::SitesOnFewRows { rows: 614 },
            "learned sites overfit 614 rows: intervals come out too narrow on fewer than some 20000, so look at their coverage, or \
             leave `--objective` to `auto`",
        ),
        (
            Note::InducingCutShort { layer: 1 },
            "layer 1: the time was up while inducing inputs were chosen, and rows at random stand in for some of them; give it \
             more time, or fewer inducing inputs",
        ),
        (
            Note::NoBetterThanMean { rows: 40, model: Number(f64::NEG_INFINITY), mean },
            "on 40 validation rows the model is no better than the mean of the training rows: a log likelihood of -inf against \
             -1.250; if there is something to learn, try a smaller --learning-rate or more --steps",
        ),
        (
            Note::NoiseAboveSpread { target: "y".into(), noise: Number(2.0), spread: Number(1.5) },
            "`y`: the noise has a standard deviation of 2.000, and the target itself one of 1.500; if there is something to \
             learn, try a smaller --learning-rate or more --steps",
        ),
        (
            Note::ExplainsNothing { model: Number(-2.0), mean },
            "the model explains its own training rows no better than their mean does: an expected log likelihood of -2.000 \
             against -1.250; if there is something to learn, try a smaller --learning-rate or more --steps",
        ),
        (
            Note::Training {
                event: TrainingEvent::MoreJitter { layer: 1, matrix: Matrix::CovarianceGram },
                cause: "two coincide".into(),
            },
            "layer 1: K_bb (covariance inducing inputs) needed more jitter than asked for: two coincide",
        ),
        (
            Note::Training { event: TrainingEvent::StepRolledBack, cause: "no numbers".into() },
            "a step was rolled back: no numbers",
        ),
        (
            Note::Training { event: TrainingEvent::Stuck, cause: "no numbers".into() },
            "training could not go on; the model is the last good one: no numbers",
        ),
        (Note::Text("as it was".into()), "as it was"),
    ]
}

#[test]
fn every_note_has_its_sentence() {
    for (note, sentence) in all() {
        assert_eq!(note.to_string(), sentence);
    }
}

#[test]
fn every_note_comes_back_from_json() {
    for (note, _) in all() {
        let text = serde_json::to_string(&note).unwrap();
        assert_eq!(serde_json::from_str::<Note>(&text).unwrap(), note, "{text}");
    }
    // A name without its facts is a sentence, too: nothing is made up.
    assert_eq!(serde_json::from_str::<Note>("\"no-header\"").unwrap(), Note::Text("no-header".into()));
    assert!(serde_json::from_str::<Note>("[1]").is_ok_and(|note| matches!(note, Note::Unknown(_))));
}

#[test]
fn facts_are_stored_under_their_names() {
    let note = Note::RowsLeftOut { rows: 2, of: 9 };
    assert_eq!(serde_json::to_string(&note).unwrap(), r#"{"rows-left-out":{"rows":2,"of":9}}"#);
}

#[test]
fn a_note_of_a_later_version_is_kept_and_shown_as_it_stands() {
    let text = r#"{"moon-phase":{"full":true}}"#;
    let note: Note = serde_json::from_str(text).unwrap();
    assert_eq!(note.to_string(), format!("a later version of deepgp noted {text}"));
    assert_eq!(serde_json::to_string(&note).unwrap(), text);
}
