//! The sentence of each [`Note`], in the words that the command line has for what to do about it.

use std::fmt;

use super::{LeftOut, NoTransform, Note, TrainingEvent};
use crate::table::{PLAIN, mostly_digits, names};
use crate::words::{count, percent};

/// What to do about a model that has learnt nothing.
const LEARN_MORE: &str = "if there is something to learn, try a smaller --learning-rate or more --steps";

/// The number of classes that a note lists.
const LISTED_CLASSES: usize = 10;

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CountsRows => f.write_str("it counts the rows"),
            Self::Identifies => f.write_str("it has the name of an id, and another number in each row"),
            Self::TellsApart { values, example } => {
                write!(f, "its {values} different texts, such as \"{example}\", tell rows apart and say little else")?;
                if mostly_digits(example) {
                    write!(f, " (if they are numbers or dates, {PLAIN})")?;
                }
                Ok(())
            }
            Self::Empty => f.write_str("there is nothing in it"),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader { columns } => {
                write!(f, "the table has no header, so its columns are called by position: `c1` to `c{columns}`")
            }
            Self::UnnamedColumn { position, column, may_number_rows } => {
                write!(f, "column {position} has no name, so it is called `{column}`")?;
                if *may_number_rows {
                    write!(f, "; if it only numbers the rows, leave it out with --ignore {column}")?;
                }
                Ok(())
            }
            Self::ScoresNotSaved { reason } => {
                write!(f, "the model is saved, but its scores could not be written into it: {reason}")
            }
            Self::MoreUnnamedColumns { columns } => {
                let noun = if columns.len() == 1 { "column has" } else { "columns have" };
                let listed = names::list(columns.iter());
                write!(f, "{} further {noun} no name, and are called by position: {listed}", columns.len())
            }
            Self::RepeatedNames { columns } => {
                let (are, them) = if columns.len() == 1 { ("is", "it") } else { ("are", "them") };
                let columns = names::list(columns.iter());
                write!(
                    f,
                    "several columns have one name: {columns} {are} numbered, to tell {them} from the first of that name"
                )
            }
            Self::NotUtf8 { line } => {
                write!(
                    f,
                    "the text is not UTF-8 (line {line} is the first that is not), and was read as Windows-1252, or Latin-1"
                )
            }
            Self::MarkersAreWords { column, markers } => {
                let listed: Vec<String> = markers.iter().map(|marker| format!("\"{marker}\"")).collect();
                let (are, word) = if markers.len() == 1 { ("is", "a word") } else { ("are", "words") };
                write!(
                    f,
                    "column `{column}`: {} {are} {word} like the others; if missing cells are meant, say so with --na '{}'",
                    listed.join(", "),
                    markers.join(",")
                )
            }
            Self::DecoratedNumbers { column, example, value } => write!(
                f,
                "column `{column}`: \"{example}\" is read as {value}, and so are others like it; if they are names, say so with \
                 --categorical {column}, or of a target with --task classification"
            ),
            Self::DatesWithYearLast { column, example, month_first, ambiguous } => {
                let (first, other) = if *month_first { ("month", "day-first") } else { ("day", "month-first") };
                write!(f, "column `{column}`: dates such as \"{example}\" are read with the {first} first")?;
                if *ambiguous {
                    write!(f, ", though both orders are possible: --dates {other} says otherwise")?;
                }
                Ok(())
            }
            Self::ColumnLeftOut { column, reason } => {
                write!(f, "column `{column}` is left out: {reason}")?;
                match reason {
                    LeftOut::CountsRows | LeftOut::Identifies | LeftOut::TellsApart { .. } => {
                        write!(f, "; --keep-column {column} takes it, --categorical {column} as categories")
                    }
                    LeftOut::Empty => Ok(()),
                }
            }
            Self::LevelsAsMeans { column, levels } => write!(
                f,
                "column `{column}` has {levels} different texts: each becomes one number, the mean of the target over its rows in other \
                 folds, drawn towards that of all rows where there are few (--categorical {column} makes an input of each)"
            ),
            Self::OddCells { column, cells, example, place } => {
                let (cells, were) =
                    if *cells == 1 { ("1 cell".into(), "was") } else { (format!("{cells} cells"), "were") };
                write!(
                    f,
                    "column `{column}`: {cells} {were} not what the column was at fitting, the first \"{example}\" in {place}, and {were} taken \
                     for missing"
                )
            }
            Self::DataFrameIndex { column } => write!(
                f,
                "`{column}` is the index of a data frame; if it only numbers the rows, leave it out with --ignore {column}"
            ),
            Self::Dates { column, mixed_zones, cycles } => {
                let zone = match mixed_zones {
                    true => "; times that do not say how far they are from UTC are taken for UTC",
                    false => "",
                };
                let made: Vec<&str> = cycles.iter().map(|cycle| cycle.name()).collect();
                match &made[..] {
                    [] => write!(f, "column `{column}`: dates are a trend, in seconds since 1970{zone}"),
                    made => write!(
                        f,
                        "column `{column}`: dates are a trend, in seconds since 1970, and {}, each as a circle{zone}",
                        made.join(", ")
                    ),
                }
            }
            Self::CategoriesWithDigits { column, levels, example } => write!(
                f,
                "column `{column}` is taken for {levels} categories without order, such as \"{example}\"; if they are \
                 numbers, {PLAIN}; if not, --categorical {column} says so"
            ),
            Self::ManyCategories { column, levels } => write!(
                f,
                "column `{column}` becomes {levels} inputs, one for each category: there is that much more to learn, so \
                 fitting takes longer and needs more rows"
            ),
            Self::LeadingZeros { column, example } => write!(
                f,
                "column `{column}`: \"{example}\" and others like it are read as numbers, without their leading zeros; if \
                 they are codes, take them as categories with --categorical {column}, or leave them out with --ignore {column}"
            ),
            Self::NamedLikeId { column } => write!(
                f,
                "column `{column}` is taken for numbers, though its name is that of an id: leave it out with --ignore \
                 {column}, or take it as categories with --categorical {column}"
            ),
            Self::RareClasses { target, classes } => {
                let listed = classes.iter().take(LISTED_CLASSES);
                let listed = listed.map(|class| format!("\"{}\" ({})", names::shorten(&class.label), class.rows));
                let more = classes.len().saturating_sub(LISTED_CLASSES);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                write!(
                    f,
                    "`{target}`: few rows are of {}{more}: little can be learnt about so rare a class",
                    listed.collect::<Vec<_>>().join(", ")
                )
            }
            Self::WholeNumbers { target, values, may_be_classes, may_be_counts } => {
                write!(
                    f,
                    "`{target}` is taken for numbers, of which there are {values} different ones, all of them whole: if they "
                )?;
                match (may_be_classes, may_be_counts) {
                    (true, true) => f.write_str("are classes, say so with --task classification, or if they count something, with --task counts")?,
                    (true, false) => f.write_str("are classes, say so with --task classification")?,
                    (false, _) => f.write_str("count something, say so with --task counts")?,
                }
                f.write_str("; --task regression says that they are numbers")
            }
            Self::TruthAsNumbers { target } => write!(
                f,
                "`{target}`: true and false are taken for 1 and 0: they are classes where all cells are one of them, and there is no \
                 other target"
            ),
            Self::GroupsKeptTogether { column, groups, rows, missing } => {
                let rows = count(*rows, "row");
                write!(
                    f,
                    "rows of one `{column}` stay together wherever some are held out: {rows} of {groups} groups"
                )?;
                match missing {
                    0 => Ok(()),
                    1 => f.write_str(", of which a row without one is one"),
                    _ => write!(f, ", of which {missing} rows without one are one each"),
                }
            }
            Self::SplitByTime { column, dates, undated } => {
                match column {
                    Some(column) => write!(f, "the last rows by `{column}`")?,
                    None => f.write_str("the last rows, in the order of the table,")?,
                }
                f.write_str(" are held out for testing, and the last of the others say when to stop")?;
                if column.is_none() && !dates.is_empty() {
                    let dates = names::list(dates.iter());
                    write!(f, "; {dates} have dates: name one to go by with --test last:SHARE:COLUMN")?;
                }
                match undated {
                    0 => Ok(()),
                    1 => f.write_str("; the row without a time is taken for an earlier one"),
                    _ => write!(f, "; {} without a time are taken for earlier ones", count(*undated, "row")),
                }
            }
            Self::DatesInOrder { column } => write!(
                f,
                "the table is in the order of `{column}`, and rows are held out at random from between the others: if the model is for \
                 times to come, score it on the last rows with --test last:0.2"
            ),
            Self::RepeatedIds { column, values, rows } => write!(
                f,
                "`{column}` has {values} values in {rows} rows, and rows are held out at random: if the model is for others than these, \
                 keep the rows of each together with --group {column}"
            ),
            Self::TrainingRowsUnknown { reason } => write!(
                f,
                "there are no baselines, and nobody could check whether the model was trained on these rows: {reason}"
            ),
            Self::ZeroWeights { column, rows, of } => {
                let were = if *rows == 1 { "was" } else { "were" };
                write!(f, "{rows} of {of} rows {were} left out: their `{column}` is 0")
            }
            Self::NoWeights { column } => {
                write!(f, "there is no column `{column}` to weigh rows by, so all count alike in the scores")
            }
            Self::ConstantColumns { columns } => {
                let (are, them) = if columns.len() == 1 { ("is", "it") } else { ("are", "them") };
                let columns = names::list(columns.iter());
                write!(
                    f,
                    "{columns} {are} the same in every row and left out: nothing can be learnt from {them} (--constant keep takes {them})"
                )
            }
            Self::UnusedColumns { columns, may_be_kept } => {
                let advice = if *may_be_kept { " (--keep COLUMN carries one along)" } else { "" };
                let columns = names::list(columns.iter());
                write!(f, "the table has columns that the model does not use: {columns}{advice}")
            }
            Self::RowsLeftOut { rows, of } => {
                let what = if *rows == 1 { "was left out: it has" } else { "were left out: they have" };
                write!(f, "{rows} of {of} rows {what} missing cells")
            }
            Self::RowsNotPredicted { rows, of } => {
                let what = if *rows == 1 { "has no prediction: it has" } else { "have no prediction: they have" };
                write!(f, "{rows} of {of} rows {what} missing cells")
            }
            Self::CellsFilledIn { cells } => {
                let were = if *cells == 1 { "cell was" } else { "cells were" };
                write!(f, "{cells} missing {were} filled in with the column's mean at fitting")
            }
            Self::CategoriesMissing { cells } => {
                let counted =
                    if *cells == 1 { "cell in columns of text counts" } else { "cells in columns of text count" };
                write!(f, "{cells} missing {counted} as none of the known values")
            }
            Self::CategoriesUnseen { column, cells, example, place } => {
                let have = if *cells == 1 { "cell has" } else { "cells have" };
                write!(
                    f,
                    "column `{column}`: {cells} {have} a value that was not there at fitting, the first \"{example}\" in \
                     {place}; such a value counts as none of the known ones, and the intervals of its rows are too narrow, \
                     as they do not include what is not known about it"
                )
            }
            Self::OfTable { table, note } => write!(f, "{table}: {note}"),
            Self::ScoredOnTableOfFit { path } => {
                write!(f, "{path} is the table of the fit: the model has seen its rows, so the scores flatter it")
            }
            Self::Copies { copies, of, rows } => {
                write!(f, "{copies} of {of} {rows} have a copy among the training rows: the scores flatter the model")
            }
            Self::ScoredOnSample { rows, of } => write!(
                f,
                "to be done in time, the model was scored on {rows} of {of} test rows, chosen at random; `deepgp report` scores \
                 it on all of them"
            ),
            Self::IntervalsTooNarrow { target, level, held, rows } => {
                let held = percent(held.0);
                write!(f, "`{target}`: the {level} % intervals hold {held} of the {rows}: they are too narrow")
            }
            Self::IntervalsTooWide { target, level, held, rows } => {
                let held = percent(held.0);
                write!(f, "`{target}`: the {level} % intervals hold {held} of the {rows}: they are too wide")
            }
            Self::BeatenBy { baseline, model, theirs, rows } => write!(
                f,
                "on the {rows} the model is beaten by {baseline}: a log likelihood of {model} against {theirs}"
            ),
            Self::BeatenInLogLoss { baseline, model, theirs, rows } => {
                write!(f, "on the {rows} the model is beaten by {baseline}: a log loss of {model} against {theirs}")
            }
            Self::NoScores { rows } => write!(f, "on the {rows} the model has no scores that are numbers"),
            Self::ImplausibleNumbers { array, numbers, example } => write!(
                f,
                "`{array}` has {} that no training leads to, such as {example}: predictions may be no numbers; copy the file again, or \
                 fit the model anew",
                count(*numbers, "number")
            ),
            Self::StartedFrom { model, steps } => write!(
                f,
                "training starts from {model}, after its {}: columns, sizes and units are those of that model",
                count(*steps as usize, "step")
            ),
            Self::FewerInducing { asked, found } => write!(
                f,
                "{asked} inducing inputs were asked for, but the rows to train on have only {found} distinct inputs: there are {found}"
            ),
            Self::NoBetterThanMean { rows, model, mean } => write!(
                f,
                "on {} the model is no better than the mean of the training rows: a log likelihood of {model} against \
                 {mean}; {LEARN_MORE}",
                count(*rows, "validation row")
            ),
            Self::NoBetterThanShares { rows, model, shares } => write!(
                f,
                "on {} the model is no better than the shares of the classes: a log loss of {model} against {shares}; \
                 {LEARN_MORE}",
                count(*rows, "validation row")
            ),
            Self::NoiseAboveSpread { target, noise, spread } => write!(
                f,
                "`{target}`: the noise has a standard deviation of {noise}, and the target itself one of {spread}; \
                 {LEARN_MORE}"
            ),
            Self::ExplainsNothing { model, mean } => write!(
                f,
                "the model explains its own training rows no better than their mean does: an expected log likelihood of \
                 {model} against {mean}; {LEARN_MORE}"
            ),
            Self::RepeatedValues { target, values, most_common } => write!(
                f,
                "`{target}` takes {values} different values, and one of them in {} of the rows: where values repeat, a density can \
                 be as high as one likes, so compare models by their CRPS and not by their log likelihood",
                percent(most_common.0)
            ),
            Self::ScoredOnRowsInMemory { rows, of } => {
                write!(
                    f,
                    "not all rows are in memory: the model is scored on {rows} of {of} test rows, chosen at random"
                )
            }
            Self::SitesOnFewRows { rows } => write!(
                f,
                "learned sites overfit {rows} rows: intervals come out too narrow on fewer than some 20000, so look at their \
                 coverage, or leave `--objective` to `auto`"
            ),
            Self::InducingCutShort { layer } => write!(
                f,
                "layer {layer}: the time was up while inducing inputs were chosen, and rows at random stand in for some of \
                 them; give it more time, or fewer inducing inputs"
            ),
            Self::TransformChosen { target, transform, gain, error } => write!(
                f,
                "`{target}` is transformed by `{}`: nearest neighbours then predict rows better than without, by {gain} in log \
                 likelihood (standard error {error})",
                transform.name()
            ),
            Self::NoTransformChosen { target, reason } => write!(f, "`{target}` is not transformed: {reason}"),
            Self::Trend { target, columns } => write!(
                f,
                "`{target}` follows {} along a line, which goes on after the last training row; --trend none leaves it to the model",
                columns.iter().map(|column| format!("`{column}`")).collect::<Vec<_>>().join(" and ")
            ),
            Self::Training { event, cause } => write!(f, "{event}: {cause}"),
            Self::Text(sentence) => f.write_str(sentence),
            Self::Unknown(fact) => write!(f, "a later version of deepgp noted {fact}"),
        }
    }
}

impl fmt::Display for NoTransform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoneBetter => f.write_str("under no transform do nearest neighbours predict rows clearly better"),
            Self::FewValues { distinct } => {
                write!(f, "its {distinct} distinct values are too few for densities to tell transforms apart")
            }
            Self::FewRows { rows } => write!(f, "{} are too few to tell transforms apart", count(*rows, "row")),
        }
    }
}

impl fmt::Display for TrainingEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MoreJitter { layer, matrix } => {
                write!(f, "layer {layer}: {matrix} needed more jitter than asked for")
            }
            Self::StepRolledBack => f.write_str("a step was rolled back"),
            Self::Stuck => f.write_str("training could not go on; the model is the last good one"),
        }
    }
}
