//! Every way to fail, and what to do about it.

/// What the library returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Something a user can cause. Each message says what is wrong, with the numbers, and what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// An array has the wrong shape.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// Which array.
        what: &'static str,
        /// What would fit.
        expected: String,
        /// What was given.
        found: String,
    },

    /// A number in the data is NaN or infinite.
    #[error(
        "{what}: row {row}, column {column} is {value}; remove such rows or fill them in (rows and columns count from 0)"
    )]
    NotFinite {
        /// `x`, `y` or `weights`.
        what: &'static str,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The number.
        value: f64,
    },

    /// A number is so far from the training rows that it cannot be told in their units.
    #[error(
        "{what}: row {row}, column {column} is {value}, out of all proportion to the training rows, whose standard deviation there \
         is {scale:e}; remove such rows (rows and columns count from 0)"
    )]
    OutOfReach {
        /// `x` or `y`.
        what: &'static str,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The number.
        value: f64,
        /// The standard deviation of the training rows.
        scale: f64,
    },

    /// A row weight is negative, or all of them are zero.
    #[error("row weights must be zero or more and not all zero; row {row} has {value}")]
    Weight {
        /// Row, from 0.
        row: usize,
        /// The weight.
        value: f64,
    },

    /// A target that the likelihood does not know.
    #[error(
        "the target of row {row} is {value}, but for the likelihood `{likelihood}` it must be {requirement} (rows count from 0)"
    )]
    Target {
        /// Row, from 0.
        row: usize,
        /// The target.
        value: f64,
        /// The likelihood's name.
        likelihood: String,
        /// What it must be.
        requirement: &'static str,
    },

    /// A column that should be standardised does not vary.
    #[error("{what}: column {column} has the value {value} in every row, so it cannot be standardised; {advice}")]
    ConstantColumn {
        /// `x` or `y`.
        what: &'static str,
        /// Column, from 0.
        column: usize,
        /// Its one value.
        value: f64,
        /// What to do.
        advice: &'static str,
    },

    /// A column's spread leaves the range of numbers when squared.
    #[error("{what}: column {column} has a standard deviation of {deviation:e}; bring it between 1e-150 and 1e150")]
    Spread {
        /// `x` or `y`.
        what: &'static str,
        /// Column, from 0.
        column: usize,
        /// Its standard deviation.
        deviation: f64,
    },

    /// There are not enough rows for what was asked.
    #[error("{what} needs at least {needed} rows, but there are {rows}; {advice}")]
    TooFewRows {
        /// What was asked.
        what: &'static str,
        /// How many it takes.
        needed: usize,
        /// How many there are.
        rows: usize,
        /// What to do.
        advice: &'static str,
    },

    /// Two inducing inputs are equal.
    #[error(
        "layer {layer}: inducing inputs {first} and {second} of the {set} are equal, so their kernel matrix is singular; \
         remove one of them"
    )]
    DuplicateInducing {
        /// Layer, from 0.
        layer: usize,
        /// Whose set it is.
        set: &'static str,
        /// Row of the first.
        first: usize,
        /// Row of the second.
        second: usize,
    },

    /// The widths of the layers do not fit together, or not the data.
    #[error("layer {layer}: {what} has width {found}, but {expected} is needed; {advice}")]
    Width {
        /// Layer, from 0.
        layer: usize,
        /// What has the wrong width.
        what: &'static str,
        /// Its width.
        found: usize,
        /// The width that fits.
        expected: usize,
        /// What to do.
        advice: &'static str,
    },

    /// A setting has a value that makes no sense.
    #[error("`{name}` is {value}, but must be {requirement}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it must be.
        requirement: &'static str,
    },

    /// No parameter has this name.
    #[error("there is no parameter `{name}`; {known}")]
    UnknownParameter {
        /// The name that was asked for.
        name: String,
        /// Those there are, or the likely one.
        known: String,
    },

    /// A parameter cannot take this value.
    #[error("`{name}`: entry {index} cannot be {value:?} (constraint: {constraint})")]
    ParameterValue {
        /// The parameter.
        name: String,
        /// Which of its entries.
        index: usize,
        /// The value.
        value: f64,
        /// What it must keep to.
        constraint: String,
    },

    /// A kernel matrix could not be factored.
    #[error(
        "layer {layer}: {matrix} is not positive definite at pivot {pivot}, even with jitter {jitter:e}; {cause}: {}",
        matrix.advice()
    )]
    NotPositiveDefinite {
        /// Layer, from 0.
        layer: usize,
        /// Which matrix.
        matrix: Matrix,
        /// Where elimination stopped.
        pivot: usize,
        /// The largest jitter tried.
        jitter: f64,
        /// The likely cause.
        cause: String,
    },

    /// The objective of training or its gradient is not finite.
    #[error("the ELBO or its gradient is not finite ({what}); lower the learning rate or check the scale of the data")]
    Diverged {
        /// Where it was seen first.
        what: String,
    },

    /// Something that is computed from the data or given with a model is not finite.
    #[error("{what}: not all numbers are finite; check the scale of the data and of what was given")]
    Overflow {
        /// What it is.
        what: String,
    },

    /// Training could not go on; the model holds the last good parameters.
    #[error(
        "training stopped at step {step}: {attempts} steps in a row were rolled back; the last one because {reason}. \
         The model holds the last good parameters"
    )]
    Stuck {
        /// The step.
        step: u64,
        /// How many attempts failed.
        attempts: u32,
        /// Why the last one did.
        reason: Box<Error>,
    },

    /// An accelerator cannot do what was asked, or failed.
    #[error("{device}: {what}")]
    Device {
        /// Which one.
        device: String,
        /// What happened, and what to do.
        what: String,
    },

    /// A saved state does not belong to this model, data or settings.
    #[error("this training state does not fit: {what} is {found} here but {expected} in the state")]
    ForeignState {
        /// What differs.
        what: &'static str,
        /// The state's.
        expected: String,
        /// What is here.
        found: String,
    },
}

impl Error {
    /// Whether the error says that the model cannot be computed at its parameters, so that training can roll back to others.
    pub(crate) fn can_be_rolled_back(&self) -> bool {
        matches!(self, Self::Diverged { .. } | Self::NotPositiveDefinite { .. })
    }
}

/// Names the matrices that are factored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    /// `k(Z_a, Z_a)`, the mean's.
    MeanGram,
    /// `k(Z_b, Z_b)`, the covariance's.
    CovarianceGram,
    /// `k(Z, Z)` of a layer with one set for both.
    TiedGram,
    /// `I + L_Bᵀ K_bb L_B` of the dual covariance, for one output.
    DualPrecision,
    /// The covariance of a layer at many rows, for joint draws.
    Joint,
}

impl Matrix {
    /// What to do if it cannot be factored.
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
