//! Errors: every way to fail that a user can cause, and what to do about it.

/// The result of a call of the library.
pub type Result<T> = std::result::Result<T, Error>;

/// An error that a user can cause. Each message says what is wrong, with the numbers, and what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// An array has the wrong shape.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// The array's name.
        what: &'static str,
        /// The shape that would fit.
        expected: String,
        /// The shape that was given.
        found: String,
    },

    /// A number in the data is NaN or infinite.
    #[error(
        "{what}: row {row}, column {column} is {value}; remove such rows or fill them in (rows and columns count from 0)"
    )]
    NotFinite {
        /// The array's name: `x`, `y`, `weights` or the like.
        what: &'static str,
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// The number itself.
        value: f64,
    },

    /// Rows that are kept elsewhere than in memory cannot be read.
    #[error(
        "rows that are not in memory cannot be read: {reason}; see to their disk, and go on from the last checkpoint"
    )]
    StoredRows {
        /// What went wrong.
        reason: String,
    },

    /// A number is so far from the training rows that it overflows in their units.
    #[error(
        "{what}: row {row}, column {column} is {value}, out of all proportion to the training rows, whose standard deviation there \
         is {scale:e}; remove such rows (rows and columns count from 0)"
    )]
    OutOfReach {
        /// The array's name, `x` or `y`.
        what: &'static str,
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// The number itself.
        value: f64,
        /// The standard deviation of the training rows in this column.
        scale: f64,
    },

    /// A row weight is negative, or all of them are zero.
    #[error("row weights must be zero or more and not all zero; row {row} has {value}")]
    Weight {
        /// The row, from 0.
        row: usize,
        /// The row's weight.
        value: f64,
    },

    /// A target is impossible under the likelihood.
    #[error(
        "the target of row {row} is {value}, but for the likelihood `{likelihood}` it must be {requirement} (rows count from 0)"
    )]
    Target {
        /// The row, from 0.
        row: usize,
        /// The row's target.
        value: f64,
        /// The likelihood's name.
        likelihood: String,
        /// What the target must be.
        requirement: &'static str,
    },

    /// Offsets were given to a likelihood that has no rate.
    #[error(
        "offsets are added to the logarithm of a rate, and the likelihood `{likelihood}` has none; leave them out, or take `poisson` or \
         `negative-binomial`"
    )]
    NoRate {
        /// The likelihood's name.
        likelihood: String,
    },

    /// Class probabilities were asked of a likelihood that has no classes.
    #[error(
        "the likelihood `{likelihood}` has no classes, and so no class probabilities; fit the model with one that has, e.g. `softmax`"
    )]
    NoClasses {
        /// The likelihood's name.
        likelihood: String,
    },

    /// Predictions of a likelihood that has no noise to widen were to be made wider.
    #[error(
        "the likelihood `{likelihood}` has no noise that can be widened, and so predictions no spread of their own; leave the spread neutral"
    )]
    NoSpread {
        /// The likelihood's name.
        likelihood: String,
    },

    /// Intervals were asked of a likelihood of classes.
    #[error("the likelihood `{likelihood}` is one of classes, which have no intervals; ask for their probabilities")]
    NoIntervals {
        /// The likelihood's name.
        likelihood: String,
    },

    /// A score of counts was asked of a likelihood that has none.
    #[error("the likelihood `{likelihood}` is not one of counts; fit the model with `poisson` or `negative-binomial`")]
    NoCounts {
        /// The likelihood's name.
        likelihood: String,
    },

    /// Targets lie outside of the domain of their transform.
    #[error(
        "y: column {column}: the transform `{transform}` needs targets above {above}, but {} (rows and columns count from 0); \
         {}",
        outside(*count, rows),
        other_transform(*above)
    )]
    TargetDomain {
        /// The transform's name.
        transform: &'static str,
        /// The target's column, from 0.
        column: usize,
        /// The value that targets must exceed.
        above: f64,
        /// The number of rows whose targets do not.
        count: usize,
        /// The first of these rows, from 0, with their targets.
        rows: Vec<(usize, f64)>,
    },

    /// A target has too few distinct values for normal scores.
    #[error(
        "y: column {column} has {distinct} distinct values, and the transform `quantile` needs at least {needed}: with fewer its \
         steps would be all that a model sees; transform by `yeo-johnson`, or not at all (columns count from 0)"
    )]
    FewTargetValues {
        /// The target's column, from 0.
        column: usize,
        /// The number of its distinct values.
        distinct: usize,
        /// The least number that it takes.
        needed: usize,
    },

    /// A column that should be standardised does not vary.
    #[error("{what}: column {column} has the value {value} in every row, so it cannot be standardised; {advice}")]
    ConstantColumn {
        /// The array's name, `x` or `y`.
        what: &'static str,
        /// The column, from 0.
        column: usize,
        /// The value in every row.
        value: f64,
        /// The advice on what to do.
        advice: &'static str,
    },

    /// A column's spread leaves the range of numbers when squared.
    #[error("{what}: column {column} has a standard deviation of {deviation:e}; bring it between 1e-150 and 1e150")]
    Spread {
        /// The array's name, `x` or `y`.
        what: &'static str,
        /// The column, from 0.
        column: usize,
        /// The column's standard deviation.
        deviation: f64,
    },

    /// There are too few groups of rows to hold some out.
    #[error("{what} needs at least {needed} groups, but there {} {groups}: give rows of more groups, or split without them", if *groups == 1 { "is" } else { "are" })]
    TooFewGroups {
        /// What needs them.
        what: &'static str,
        /// The least number of groups.
        needed: usize,
        /// The number of groups there are.
        groups: usize,
    },

    /// The last rows are to be held out, and no row is later than another.
    #[error("all rows have the same time, {time}, so none are the last: split by something else")]
    OneTime {
        /// The time of all rows.
        time: f64,
    },

    /// There are not enough rows for what was asked.
    #[error("{what} needs at least {needed} rows, but there are {rows}; {advice}")]
    TooFewRows {
        /// What was asked for.
        what: &'static str,
        /// The least number of rows that it takes.
        needed: usize,
        /// The number of rows that there are.
        rows: usize,
        /// The advice on what to do.
        advice: &'static str,
    },

    /// Two inducing inputs are equal.
    #[error(
        "layer {layer}: inducing inputs {first} and {second} of the {set} are equal, so their kernel matrix is singular; \
         remove one of them"
    )]
    DuplicateInducing {
        /// The layer, from 0.
        layer: usize,
        /// The set that they belong to: the mean's, the covariance's or the one for both.
        set: &'static str,
        /// The row of the first in its set.
        first: usize,
        /// The row of the second in its set.
        second: usize,
    },

    /// The widths of the layers do not fit together, or not the data.
    #[error("layer {layer}: {what} has width {found}, but {expected} is needed; {advice}")]
    Width {
        /// The layer, from 0.
        layer: usize,
        /// The part that has the wrong width.
        what: &'static str,
        /// The part's width.
        found: usize,
        /// The width that fits.
        expected: usize,
        /// The advice on what to do.
        advice: &'static str,
    },

    /// A setting has a value that makes no sense.
    #[error("`{name}` is {value}, but must be {requirement}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// The value that it has.
        value: String,
        /// What the value must be.
        requirement: &'static str,
    },

    /// No parameter has this name.
    #[error("there is no parameter `{name}`; {known}")]
    UnknownParameter {
        /// The name that was asked for.
        name: String,
        /// The names that there are, or the one that was likely meant.
        known: String,
    },

    /// A parameter cannot take this value.
    #[error("`{name}`: entry {index} cannot be {value:?} (constraint: {constraint})")]
    ParameterValue {
        /// The parameter's name.
        name: String,
        /// The entry of the array, from 0.
        index: usize,
        /// The value that was given.
        value: f64,
        /// What the value must be.
        constraint: String,
    },

    /// A kernel matrix could not be factored.
    #[error(
        "layer {layer}: {matrix} is not positive definite at pivot {pivot}, even with jitter {jitter:e}; {cause}: {}",
        matrix.advice()
    )]
    NotPositiveDefinite {
        /// The layer, from 0.
        layer: usize,
        /// The matrix that could not be factored.
        matrix: Matrix,
        /// The row at which elimination stopped.
        pivot: usize,
        /// The largest jitter tried.
        jitter: f64,
        /// The likely cause, as a phrase.
        cause: String,
    },

    /// The objective of training or its gradient is not finite.
    #[error(
        "the objective or its gradient is not finite ({what}); lower the learning rate or check the scale of the data"
    )]
    Diverged {
        /// The part of them that is not finite.
        what: String,
    },

    /// Something that is computed from the data or given with a model is not finite.
    #[error("{what}: not all numbers are finite; check the scale of the data and of what was given")]
    Overflow {
        /// What is not finite.
        what: String,
    },

    /// Training could not go on; the model holds the last good parameters.
    #[error(
        "training stopped at step {step}: {attempts} steps in a row were rolled back; the last one because {reason}. \
         The model holds the last good parameters"
    )]
    Stuck {
        /// The number of steps so far.
        step: u64,
        /// The number of steps in a row that were rolled back.
        attempts: u32,
        /// The reason of the last roll-back.
        reason: Box<Error>,
    },

    /// An accelerator cannot do what was asked, or failed.
    #[error("{device}: {what}")]
    Device {
        /// The accelerator's name.
        device: String,
        /// What happened, and what to do.
        what: String,
    },

    /// Another process of the group could not go on.
    #[error("process {process} of the group could not go on: its own message says why")]
    OtherProcess {
        /// The number of the first process that failed, from 0.
        process: usize,
    },

    /// Processes that train together hold different numbers.
    #[error("{what} of process {process} differ from those of process 0: {advice}")]
    Apart {
        /// What differs.
        what: &'static str,
        /// The number of the first process that differs, from 0.
        process: usize,
        /// What to do.
        advice: &'static str,
    },

    /// A saved state does not belong to this model, data or settings.
    #[error("this training state does not fit: {what} is {found} here but {expected} in the state")]
    ForeignState {
        /// What differs between the state and this run.
        what: &'static str,
        /// The value in the state.
        expected: String,
        /// The value in this run.
        found: String,
    },
}

impl Error {
    /// Whether the error says that the model cannot be computed at its parameters, so that training can roll back to others.
    pub fn can_be_rolled_back(&self) -> bool {
        matches!(self, Self::Diverged { .. } | Self::NotPositiveDefinite { .. })
    }
}

/// The rows outside of a transform's domain in words, the first few with their targets: `2 rows have others: row 3 has 0, row 8 has -1`.
fn outside(count: usize, rows: &[(usize, f64)]) -> String {
    let named: Vec<String> = rows.iter().map(|(row, value)| format!("row {row} has {value}")).collect();
    let more = if count > rows.len() { ", …" } else { "" };
    let have = if count == 1 { "1 row has another".into() } else { format!("{count} rows have others") };
    format!("{have}: {}{more}", named.join(", "))
}

/// What to do about targets that do not exceed the end of a transform's domain.
fn other_transform(above: f64) -> &'static str {
    if above < 0.0 {
        "remove such rows, or transform by `yeo-johnson`, which takes any"
    } else {
        "remove such rows, or transform by `log1p`, which needs targets above -1, or `yeo-johnson`, which takes any"
    }
}

/// The matrices that are factored, for errors and reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    /// The kernel matrix of the mean's inducing inputs, `K_aa = k(Z_a, Z_a)`.
    MeanGram,
    /// The kernel matrix of the covariance's inducing inputs, `K_bb = k(Z_b, Z_b)`.
    CovarianceGram,
    /// The kernel matrix `k(Z, Z)` of a layer with one set for both.
    TiedGram,
    /// The matrix `I + L_Bᵀ K_bb L_B` of the dual covariance, for one output.
    DualPrecision,
    /// The covariance of a layer at many rows, for joint draws.
    Joint,
}

impl Matrix {
    /// What to do if the matrix cannot be factored.
    fn advice(self) -> &'static str {
        match self {
            Self::MeanGram => {
                "use fewer inducing inputs, raise `jitter`, or take the `dual` mean, which factors no kernel matrix"
            }
            Self::CovarianceGram => {
                "use fewer inducing inputs, raise `jitter`, or take the `dual` covariance, which factors no kernel matrix"
            }
            Self::TiedGram => "use fewer inducing inputs or raise `jitter`",
            Self::DualPrecision => "lower the learning rate",
            Self::Joint => "ask for fewer rows, or for rows farther apart",
        }
    }
}

impl std::fmt::Display for Matrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::MeanGram => "K_aa (mean inducing inputs)",
            Self::CovarianceGram => "K_bb (covariance inducing inputs)",
            Self::TiedGram => "K_ZZ (inducing inputs)",
            Self::DualPrecision => "I + L_B' K_bb L_B (dual covariance)",
            Self::Joint => "the joint covariance of the rows",
        })
    }
}
