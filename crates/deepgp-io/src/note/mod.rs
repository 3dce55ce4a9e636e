//! What is worth knowing about a table, a fit or its scores, though nothing is wrong: facts, which model files keep as such.
//!
//! Decisions look at the variant of a [`Note`]. Its sentence is made where it is shown, by `Display` (in `sentence.rs`).

mod number;
mod sentence;

use std::fmt;

use deepgp::{DeepGp, FitSettings, InducingSize, Matrix, Standardiser, TransformChoice, TransformFinding};
use serde::{Deserialize, Serialize};

pub use number::Number;

use crate::model::Baseline;
use crate::table::{Cycle, Kind, Place, Schema};

/// Why an input column is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOut {
    /// It grows by one from row to row.
    CountsRows,
    /// It has the name of an identifier, and another number in each row.
    Identifies,
    /// It has almost as many different texts as there are rows.
    TellsApart {
        /// How many, at least.
        values: usize,
        /// One of them.
        example: String,
    },
    /// It has nothing in any row.
    Empty,
}

/// Something that is not wrong, but worth knowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// A text has no header, so its columns are known by their positions.
    NoHeader {
        /// How many columns there are.
        columns: usize,
    },
    /// A header has no name for one of its columns.
    UnnamedColumn {
        /// The column's position, from 1.
        position: usize,
        /// What it is called instead.
        column: String,
        /// Whether it stands where data frames write the numbers of their rows.
        may_number_rows: bool,
    },
    /// The model is there, but could not be written again with its scores.
    ScoresNotSaved {
        /// Why not.
        reason: String,
    },
    /// A header has no name for further columns, too many to tell of one by one.
    MoreUnnamedColumns {
        /// What they are called instead.
        columns: Vec<String>,
    },
    /// Columns had the names of others, and got numbers behind them.
    RepeatedNames {
        /// What they are called now.
        columns: Vec<String>,
    },
    /// A text is not UTF-8, and was read as Windows-1252.
    NotUtf8 {
        /// The first such line.
        line: u64,
    },
    /// Words that stand for missing cells elsewhere are words like the others of their column.
    MarkersAreWords {
        /// The column.
        column: String,
        /// Which words there are.
        markers: Vec<String>,
    },
    /// Numbers of a column have signs or marks, which were read over.
    DecoratedNumbers {
        /// The column.
        column: String,
        /// The first of them.
        example: String,
        /// The number that it is read as.
        value: String,
    },
    /// The dates of a column have their year behind day and month.
    DatesWithYearLast {
        /// The column.
        column: String,
        /// The first of them.
        example: String,
        /// Whether the month comes before the day.
        month_first: bool,
        /// Whether all dates could be read in the other order as well.
        ambiguous: bool,
    },
    /// An input column was left out.
    ColumnLeftOut {
        /// The column.
        column: String,
        /// Why.
        reason: LeftOut,
    },
    /// An input has so many categories that each becomes what it says about the targets.
    LevelsAsMeans {
        /// The column.
        column: String,
        /// How many different categories there are.
        levels: usize,
    },
    /// Cells of a table are not what their column was at fitting, and were taken for missing ones.
    OddCells {
        /// The column.
        column: String,
        /// How many.
        cells: u64,
        /// The first of them.
        example: String,
        /// Where that is.
        place: Place,
    },
    /// An input is the index of a data frame.
    DataFrameIndex {
        /// The column.
        column: String,
    },
    /// An input is made of dates, which become seconds.
    Dates {
        /// The column.
        column: String,
        /// Whether some times say how far they are from UTC and some do not.
        mixed_zones: bool,
        /// The cycles that became inputs beside the trend.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cycles: Vec<Cycle>,
    },
    /// An input is taken for categories, although most of them have digits.
    CategoriesWithDigits {
        /// The column.
        column: String,
        /// How many different categories there are.
        levels: usize,
        /// One that has digits.
        example: String,
    },
    /// An input was asked to be categories, and has very many.
    ManyCategories {
        /// The column.
        column: String,
        /// How many different categories there are.
        levels: usize,
    },
    /// An input of numbers has leading zeros, as codes have.
    LeadingZeros {
        /// The column.
        column: String,
        /// The first such number, as it is written.
        example: String,
    },
    /// An input of numbers has the name of an identifier.
    NamedLikeId {
        /// The column.
        column: String,
    },
    /// Classes of a target have very few rows.
    RareClasses {
        /// The target.
        target: String,
        /// The classes, each with its rows.
        classes: Vec<ClassRows>,
    },
    /// A target is taken for numbers, and all of them are whole.
    WholeNumbers {
        /// The target.
        target: String,
        /// How many different ones there are.
        values: usize,
        /// Whether they are so few that they may be classes.
        may_be_classes: bool,
        /// Whether they may count something.
        may_be_counts: bool,
    },
    /// A target of `true` and `false` is taken for numbers, as there are other targets or other numbers.
    TruthAsNumbers {
        /// The target.
        target: String,
    },
    /// Rows of one group stay together wherever some are held out.
    GroupsKeptTogether {
        /// The column of groups.
        column: String,
        /// How many groups there are.
        groups: usize,
        /// How many rows they have.
        rows: usize,
        /// How many rows are of no group, and so of one of their own.
        missing: u64,
    },
    /// The last rows are held out.
    SplitByTime {
        /// The column that says when a row was; the order of the table if there is none.
        column: Option<String>,
        /// Columns of dates that could have said so.
        dates: Vec<String>,
        /// How many rows do not say when they were.
        undated: usize,
    },
    /// Rows are held out at random from a table that is in the order of its dates.
    DatesInOrder {
        /// The column of dates.
        column: String,
    },
    /// Rows are held out at random from a table in which ids come again and again.
    RepeatedIds {
        /// The column of ids.
        column: String,
        /// How many different ones there are.
        values: usize,
        /// How many rows have one.
        rows: usize,
    },
    /// A model was scored without the rows that it was trained on.
    TrainingRowsUnknown {
        /// Why they are not known.
        reason: String,
    },
    /// Rows of weight 0 are left out.
    ZeroWeights {
        /// The column of weights.
        column: String,
        /// How many.
        rows: usize,
        /// Out of how many.
        of: usize,
    },
    /// A table to score a model on has no weights, though the table of the fit had.
    NoWeights {
        /// The column of weights.
        column: String,
    },
    /// Input columns are the same in every row, and are left out.
    ConstantColumns {
        /// Their names.
        columns: Vec<String>,
    },
    /// A table has columns that the model does not read.
    UnusedColumns {
        /// Their names.
        columns: Vec<String>,
        /// Whether they could be carried along beside predictions.
        may_be_kept: bool,
    },
    /// Rows were left out, because cells of theirs are missing.
    RowsLeftOut {
        /// How many.
        rows: u64,
        /// Out of how many.
        of: u64,
    },
    /// Rows have no prediction, because cells of theirs are missing.
    RowsNotPredicted {
        /// How many.
        rows: u64,
        /// Out of how many.
        of: u64,
    },
    /// Missing cells were filled in with the means of their columns.
    CellsFilledIn {
        /// How many.
        cells: u64,
    },
    /// Missing cells of categories count as none of the known ones.
    CategoriesMissing {
        /// How many.
        cells: u64,
    },
    /// Cells have a category that was not there at fitting.
    CategoriesUnseen {
        /// The column.
        column: String,
        /// How many.
        cells: u64,
        /// The first of them.
        example: String,
        /// Where that is.
        place: Place,
    },
    /// A note on one of several tables.
    OfTable {
        /// The table's file name.
        table: String,
        /// What is worth knowing about it.
        note: Box<Note>,
    },
    /// The rows that a model is scored on are those that it was fitted to.
    ScoredOnTableOfFit {
        /// Where the table is.
        path: String,
    },
    /// Many of the rows that a model is scored on have a copy among the rows that it was trained on.
    Copies {
        /// How many have a copy.
        copies: usize,
        /// Out of how many.
        of: usize,
        /// Which rows.
        rows: ScoredRows,
    },
    /// The model was scored on some of the test rows, because there was no time for more.
    ScoredOnSample {
        /// How many, at random.
        rows: usize,
        /// Out of how many.
        of: usize,
    },
    /// Central 90 % intervals hold far fewer rows than nine of ten.
    IntervalsTooNarrow {
        /// The target that they are of.
        target: String,
        /// The share of rows in percent that they should hold.
        level: u32,
        /// The share of rows that they hold.
        held: Number,
        /// Which rows.
        rows: ScoredRows,
    },
    /// Central 50 % intervals hold far more rows than half.
    IntervalsTooWide {
        /// The target that they are of.
        target: String,
        /// The share of rows in percent that they should hold.
        level: u32,
        /// The share of rows that they hold.
        held: Number,
        /// Which rows.
        rows: ScoredRows,
    },
    /// A simpler model has the better log likelihood.
    BeatenBy {
        /// The simpler model.
        baseline: Baseline,
        /// The log likelihood of the model.
        model: Number,
        /// The log likelihood of the simpler one.
        theirs: Number,
        /// On which rows.
        rows: ScoredRows,
    },
    /// A simpler model has the better log loss.
    BeatenInLogLoss {
        /// The simpler model.
        baseline: Baseline,
        /// The log loss of the model.
        model: Number,
        /// The log loss of the simpler one.
        theirs: Number,
        /// On which rows.
        rows: ScoredRows,
    },
    /// The scores of the model are not numbers.
    NoScores {
        /// On which rows.
        rows: ScoredRows,
    },
    /// On the validation rows the model is no better than the mean and the spread of the training rows.
    NoBetterThanMean {
        /// How many validation rows there are.
        rows: usize,
        /// The log likelihood of the model.
        model: Number,
        /// The log likelihood of the mean.
        mean: Number,
    },
    /// On the validation rows the model is no better than the shares of the classes.
    NoBetterThanShares {
        /// How many validation rows there are.
        rows: usize,
        /// The log loss of the model.
        model: Number,
        /// The log loss of the shares.
        shares: Number,
    },
    /// What the model takes for noise is more than the whole spread of the target.
    NoiseAboveSpread {
        /// The target.
        target: String,
        /// The standard deviation of the noise, in the target's units.
        noise: Number,
        /// The standard deviation of the target.
        spread: Number,
    },
    /// The model explains the rows that it was trained on no better than their mean does.
    ExplainsNothing {
        /// The expected log likelihood of the model.
        model: Number,
        /// The log likelihood of the mean.
        mean: Number,
    },
    /// An array of the model has numbers that no training leads to.
    ImplausibleNumbers {
        /// The name of the array.
        array: String,
        /// How many such numbers it has.
        numbers: usize,
        /// The first of them.
        example: Number,
    },
    /// Training started from the parameters of another model, in its units.
    StartedFrom {
        /// Where that model was.
        model: String,
        /// The steps that it had been trained for.
        steps: u64,
    },
    /// The model has fewer inducing inputs than were asked for: its inputs have no more distinct rows.
    FewerInducing {
        /// How many were asked for.
        asked: usize,
        /// How many there are.
        found: usize,
    },
    /// A target takes values again and again, where a density can be as high as one likes.
    RepeatedValues {
        /// The target.
        target: String,
        /// How many different values it takes.
        values: usize,
        /// The share of rows that have the most common one.
        most_common: Number,
    },
    /// Learned sites were trained on so few rows that they overfit.
    SitesOnFewRows {
        /// How many rows they were trained on.
        rows: usize,
    },
    /// The rows are on disk, and the model is scored on some of those for testing.
    ScoredOnRowsInMemory {
        /// How many, at random.
        rows: usize,
        /// Out of how many.
        of: usize,
    },
    /// The time was up while inducing inputs were chosen: from some layer on, some are rows at random.
    InducingCutShort {
        /// The first such layer, from 0.
        layer: usize,
    },
    /// The library chose a transform for a target.
    TransformChosen {
        /// The target.
        target: String,
        /// The transform.
        transform: TransformChoice,
        /// The mean log density that nearest neighbours gain by it.
        gain: Number,
        /// The standard error of the gain.
        error: Number,
    },
    /// The library left a target as it is.
    NoTransformChosen {
        /// The target.
        target: String,
        /// Why.
        reason: NoTransform,
    },
    /// A target follows dates along a line, which goes on after the last training row.
    Trend {
        /// The target.
        target: String,
        /// The columns of dates.
        columns: Vec<String>,
    },
    /// Something happened in training.
    Training {
        /// What.
        event: TrainingEvent,
        /// Why, the first time.
        cause: String,
    },
    /// A sentence, as files of version 0.1 keep all their notes.
    #[serde(untagged)]
    Text(String),
    /// A fact that this version does not know, as it stands in the file: a later version wrote it.
    #[serde(untagged)]
    Unknown(serde_json::Value),
}

/// A class and the number of its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassRows {
    /// The label of the class.
    pub label: String,
    /// How many rows are of this class.
    pub rows: u64,
}

/// Why a target is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoTransform {
    /// No transform is clearly better than none.
    NoneBetter,
    /// The target has few distinct values.
    FewValues {
        /// How many.
        distinct: usize,
    },
    /// There are few rows.
    FewRows {
        /// How many.
        rows: usize,
    },
}

impl Note {
    /// The note with the number of rows that do not say when they were, if it is one on a split by time.
    pub fn with_undated(self, rows: usize) -> Self {
        match self {
            Self::SplitByTime { column, dates, .. } => Self::SplitByTime { column, dates, undated: rows },
            other => other,
        }
    }

    /// Whether it tells of one training run or of its scores: a further run of the same model on the same rows has its own.
    pub fn is_of_run(&self) -> bool {
        matches!(
            self,
            Self::Training { .. }
                | Self::InducingCutShort { .. }
                | Self::ScoredOnSample { .. }
                | Self::NoBetterThanMean { .. }
                | Self::NoBetterThanShares { .. }
                | Self::NoiseAboveSpread { .. }
                | Self::ExplainsNothing { .. }
        )
    }

    /// What is worth knowing if a model has fewer inducing inputs than `settings` ask for, because its first layer has no more distinct inputs.
    pub fn fewer_inducing(settings: &FitSettings, model: &DeepGp) -> Option<Self> {
        let inducing = &model.layers()[0].inducing;
        let (mean, covariance) = match settings.model.inducing {
            InducingSize::Tied(m) => (Some(m), Some(m)),
            InducingSize::Decoupled { mean, covariance } | InducingSize::Nested { mean, covariance } => {
                (mean, covariance)
            }
        };
        let short = [(mean, inducing.mean().nrows()), (covariance, inducing.covariance().nrows())].into_iter();
        let asked = short.filter_map(|(asked, found)| asked.filter(|asked| *asked > found).map(|asked| (asked, found)));
        asked.max().map(|(asked, found)| Self::FewerInducing { asked, found })
    }

    /// What is worth knowing of the trend in these units: a note for each target that has one.
    pub fn of_trend(schema: &Schema, units: &Standardiser) -> Vec<Self> {
        let Some(trend) = &units.trend else { return Vec::new() };
        let dates = schema.inputs.iter().filter(|column| matches!(column.kind, Kind::Date { .. }));
        let columns: Vec<String> = dates.map(|column| column.name.clone()).collect();
        let bent = schema.targets.iter().zip(&trend.slopes).filter(|(_, slopes)| slopes.iter().any(|own| *own != 0.0));
        bent.map(|(target, _)| Self::Trend { target: target.clone(), columns: columns.clone() }).collect()
    }

    /// What the library found out about the transform of a target.
    pub fn of_transform(target: &str, found: &TransformFinding) -> Self {
        let target = target.to_string();
        match *found {
            TransformFinding::Better { transform, gain, error } => {
                Self::TransformChosen { target, transform, gain: gain.into(), error: error.into() }
            }
            TransformFinding::NoneBetter => Self::NoTransformChosen { target, reason: NoTransform::NoneBetter },
            TransformFinding::FewValues { distinct } => {
                Self::NoTransformChosen { target, reason: NoTransform::FewValues { distinct } }
            }
            TransformFinding::FewRows { rows } => {
                Self::NoTransformChosen { target, reason: NoTransform::FewRows { rows } }
            }
        }
    }
}

/// What may happen at a step of training, and is noted once for a whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainingEvent {
    /// A kernel matrix needed more jitter than was asked for.
    MoreJitter {
        /// The layer, from 0.
        layer: usize,
        /// Which of its matrices.
        #[serde(with = "StoredMatrix")]
        matrix: Matrix,
    },
    /// A step was undone, because it led to no numbers.
    StepRolledBack,
    /// No step could be made any more.
    Stuck,
}

/// The names that a file has for [`Matrix`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "Matrix", rename_all = "kebab-case")]
enum StoredMatrix {
    MeanGram,
    CovarianceGram,
    TiedGram,
    DualPrecision,
    Joint,
}

/// The rows that scores are of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoredRows {
    /// Those of the table of the fit that were held out for testing.
    Test,
    /// Those of another table.
    Table {
        /// Its file name.
        name: String,
    },
}

/// Without an article: `test rows`, `rows of new.csv`.
impl fmt::Display for ScoredRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Test => f.write_str("test rows"),
            Self::Table { name } => write!(f, "rows of {name}"),
        }
    }
}
