//! Launches of `optimiser.cu`: whether a step is good, its record, and Adam.

use deepgp::Adam;
use deepgp::params::Constraint;

use super::General;
use super::common::{Control, Step};
use crate::device::memory::Span;
use crate::launch::Grid;
use crate::source::Definition;

/// Adam's constants and the lowest raw number, as the library has them.
pub fn definitions() -> Vec<Definition> {
    // No raw number of a positive parameter falls below this.
    vec![
        Definition::new("BETA_1", Adam::BETA_1),
        Definition::new("BETA_2", Adam::BETA_2),
        Definition::new("EPSILON", Adam::EPSILON),
        Definition::new("LOWEST_RAW", Constraint::LOWEST_RAW),
    ]
}

crate::launch::kernels! {
    General;

    /// Says in `control` whether some gradient is not finite.
    "check_finite" => CheckFinite { gradient: Span<f64>, n: usize, control: Span<Control> }: |k| Grid::each(k.n);

    /// Adds up what a step's rows and factors say, writes it into its record, `[data term, clamped, good, infos, KLs]`, and says whether it
    /// may update as far as that is concerned. The gradient of the likelihood's `parameters` goes to `theta_bar`, that at the logits of
    /// learned sites' weights to `logits_bar`. Unless it is [`Span::NONE`], `all_clamped` is the number of clamped variances of all processes.
    "decide" => Decide {
        partial: Span<f64>, blocks: usize, parameters: usize, logits: Span<f64>, sites: usize, kl: Span<f64>, kls: usize,
        infos: Span<i32>, factors: usize, length: usize, all_clamped: Span<f64>, control: Span<Control>, records: Span<f64>,
        theta_bar: Span<f64>, logits_bar: Span<f64>,
    }: |_k| Grid::new((1, 1), 256);

    /// Adam, uphill, on `n` raw numbers, and their values, if the step is good; what was before is kept. Completes the step's record, and goes
    /// on to the next step.
    "ascend" => Ascend {
        raw: Span<f64>, first: Span<f64>, second: Span<f64>, values: Span<f64>, before: Span<f64>, gradient: Span<f64>,
        floors: Span<f64>, frozen: Span<u8>, n: usize, steps: Span<Step>, control: Span<Control>, records: Span<f64>,
        length: usize,
    }: |k| Grid::each(k.n);

    /// Values of all raw numbers that can move.
    "constrain" => Constrain { raw: Span<f64>, floors: Span<f64>, frozen: Span<u8>, n: usize, values: Span<f64> }:
        |k| Grid::each(k.n);
}
