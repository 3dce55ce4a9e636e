//! Launches of `data_term.cu`: the data term of an objective, for one likelihood.

use super::DataTerm;
use super::common::{Control, Step};
use crate::device::memory::Span;
use crate::launch::Grid;

crate::source::constants! {
    /// `2π`.
    TAU: f64 = std::f64::consts::TAU;
    /// The least noise variance that depends on the inputs, as in the library.
    NOISE_FLOOR: f64 = 1e-6;
    /// The largest noise variance that depends on the inputs, as in the library.
    NOISE_CEILING: f64 = 1e5;
    /// The largest half variance of such a noise's logarithm that counts, as in the library.
    MOST_DOUBT: f64 = 10.0;
    /// The least that a row counts for the mean in the faithful objective.
    FAITHFUL_LEAST: f64 = deepgp::objective::Faithful::LEAST;
}

/// Threads, and so rows, of a block of the data term.
pub const DATA_TERM_ROWS: usize = 128;

crate::launch::kernels! {
    DataTerm;

    /// Gradients at the last layer's moments, `[rows, latents]`, `samples` rows for each of the batch; and sums a block of the data term
    /// and of the gradient of the likelihood's `parameters`, `[blocks, 1 + parameters]`. Unless `logits` is [`Span::NONE`], samples have weights,
    /// and the gradients at their logarithms follow, `[blocks, 1 + parameters + samples]`. Only the predictive
    /// objective reads `power`, only the tighter bound `conditional`; others take [`Span::NONE`] for that and the gradient at it. Offsets, if there
    /// are any, are added to all latent functions of a row: likelihoods that take them have no other.
    "data_term" => DataTermSums<T> {
        mean: Span<T>, variance: Span<T>, conditional: Span<T>, y: Span<f64>, weights: Span<f64>, offsets: Span<f64>, ids: Span<u32>,
        theta: Span<f64>, logits: Span<f64>, rows: usize, samples: usize, latents: usize, observed: usize, parameters: usize, power: f64, steps: Span<Step>,
        control: Span<Control>, mean_bar: Span<T>, variance_bar: Span<T>,
        conditional_bar: Span<T>, partial: Span<f64>,
    }: |k| Grid::new((k.rows.div_ceil(DATA_TERM_ROWS), 1), DATA_TERM_ROWS);
}
