//! Launches of `covariance.cu`: kernel matrices and their pullbacks, for one covariance function and one input width.

use super::Covariance;
use super::common::{BLOCK, Control, WARP};
use crate::device::memory::Span;
use crate::launch::Grid;

crate::source::constants! {
    /// Rows of a kernel matrix that a block computes.
    TILE_ROWS: usize = 32;
    /// Columns of a kernel matrix that a block computes.
    TILE_COLUMNS: usize = 64;
    /// Threads of such a block: each has 4 × 2 numbers.
    TILE_THREADS: usize = 256;
    /// Input columns of which a block holds the differences at once. Of wider inputs, distances are taken by matrix products instead,
    /// unless the covariance function has a kink.
    COLUMNS_AT_ONCE: usize = 32;
    /// The exponent, `ln 1e-18`, below which an exponential counts as 0, as in the library.
    SMALLEST_EXPONENT: f64 = deepgp::SMALLEST_EXPONENT;
}

/// Blocks that work on an `[n, m]` kernel matrix, columns first.
fn tile_grid(n: usize, m: usize) -> (usize, usize) {
    (m.div_ceil(TILE_COLUMNS), n.div_ceil(TILE_ROWS))
}

/// How many blocks work on an `[n, m]` kernel matrix, and so how many partial sums they leave.
pub fn tiles(n: usize, m: usize) -> usize {
    let (x, y) = tile_grid(n, m);
    x * y
}

/// How many blocks pull the kernel matrix of `n` inducing inputs back, and so how many partial sums they leave; at once as [`GramSums`]
/// does, or as [`WeighGram`].
pub fn gram_blocks(n: usize, at_once: bool) -> usize {
    if at_once { n.div_ceil(BLOCK / WARP) } else { tiles(n, n) }
}

crate::launch::kernels! {
    Covariance;

    /// `[k(x, x), its derivatives in the leaves' variances]`.
    "prior" => Prior { theta: Span<f64>, out: Span<f64> }: |_k| Grid::new((1, 1), 1);

    /// For distances by products: `|x|²` over lengthscales, `[leaves, rows]`, and unless `scaled` is [`Span::NONE`] `−2 x / ℓ²`.
    "norms" => Norms<T> { x1: Span<T>, theta: Span<f64>, rows: usize, norm: Span<T>, scaled: Span<T> } over { leaves: usize }:
        |k| Grid::warps(k.rows * k.leaves);

    /// [`Norms`] in double.
    "wide_norms" => WideNorms { x1: Span<f64>, theta: Span<f64>, rows: usize, norm: Span<f64>, scaled: Span<f64> }
        over { leaves: usize }: |k| Grid::warps(k.rows * k.leaves);

    /// `k(x, z)`, `[rows, columns]`.
    "cross" => Cross<T> {
        x1: Span<T>, z1: Span<T>, theta: Span<f64>, products: Span<T>, x_norms: Span<T>, z_norms: Span<T>, rows: usize,
        columns: usize, k: Span<T>,
    }: |k| Grid::new(tile_grid(k.rows, k.columns), TILE_THREADS);

    /// Pulls `k_bar` back to `r²`: `w`, `[leaves, rows, columns]`, and partial sums a block for variances and shapes. Of `k_bar` the first
    /// `means` columns get `mean_bar weightsᵀ`, and `covariances` columns from `start` on also `kb_bar`.
    "weigh" => Weigh<T> {
        k: Span<T>, x1: Span<T>, z1: Span<T>, theta: Span<f64>, products: Span<T>, x_norms: Span<T>, z_norms: Span<T>,
        mean_bar: Span<T>, weights: Span<T>, outputs: usize, means: usize, kb_bar: Span<T>, start: usize,
        covariances: usize, rows: usize, columns: usize, w: Span<T>, partial: Span<f64>,
    }: |k| Grid::new(tile_grid(k.rows, k.columns), TILE_THREADS);

    /// `k(z, z)` with jitter on its diagonal, twice: `k` to keep, `l` to factor.
    "gram" => Gram {
        z1: Span<f64>, theta: Span<f64>, jitter: Span<f64>, products: Span<f64>, norms: Span<f64>, n: usize, k: Span<f64>,
        l: Span<f64>,
    }: |k| Grid::new(tile_grid(k.n, k.n), TILE_THREADS);

    /// The pullback of [`Gram`] to `r²`, as [`Weigh`].
    "weigh_gram" => WeighGram {
        k: Span<f64>, z1: Span<f64>, theta: Span<f64>, jitter: Span<f64>, k_bar: Span<f64>, n: usize, w: Span<f64>,
        partial: Span<f64>,
    }: |k| Grid::new(tile_grid(k.n, k.n), TILE_THREADS);

    /// What [`WeighGram`] and a product of its `w` with `[1 | z]` leave, `t = W [1 | z]`, `[n, D + 1]`, and its partial sums; only where
    /// [`CovarianceText::sums_at_once`](crate::source::covariance::CovarianceText::sums_at_once) says so.
    "gram_sums" => GramSums {
        k: Span<f64>, z1: Span<f64>, theta: Span<f64>, jitter: Span<f64>, k_bar: Span<f64>, n: usize, t: Span<f64>,
        partial: Span<f64>,
    }: |k| Grid::warps(k.n);

    /// `x_bar (+)= Σ_leaves 2 / ℓ² (x s_0 − s)` with `s = W [1 | z]`. `identity` adds `mean_bar` of output `d` to input `d`, where there is
    /// one.
    "input_gradient" => InputGradient<T> {
        x1: Span<T>, s: Span<T>, theta: Span<f64>, mean_bar: Span<T>, outputs: usize, identity: bool, add: bool, rows: usize,
        x_bar: Span<T>,
    } over { width: usize }: |k| Grid::each(k.rows * k.width);

    /// `z_bar` from `s = Wᵀ [1 | x]` of the rows and `t = W [1 | z]` of the kernel matrices; `t` counts twice. Says in `control` if it is not finite.
    "inducing_gradient" => InducingGradient {
        z: Span<f64>, s: Span<f64>, t: Span<f64>, theta: Span<f64>, columns: usize, control: Span<Control>, z_bar: Span<f64>,
    } over { width: usize }: |k| Grid::each(k.columns * k.width);

    /// The gradient at the covariance function's parameters: a block for each lengthscale, then one for each leaf's variance and shape.
    /// Says in `control` if it is not finite.
    "theta_gradient" => ThetaGradient {
        z: Span<f64>, s: Span<f64>, t: Span<f64>, squares: Span<f64>, chunks: usize, partial: Span<f64>, blocks: usize,
        diagonal_bar: Span<f64>, rows: usize, prior: Span<f64>, theta: Span<f64>, columns: usize, control: Span<Control>,
        theta_bar: Span<f64>,
    } over { leaves: usize, width: usize }: |k| Grid::new((k.leaves * (k.width + 1), 1), 1024);
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::Real;

    #[test]
    fn exponentials_vanish_where_the_librarys_do() {
        assert!(SMALLEST_EXPONENT.exp_decay() > 0.0 && SMALLEST_EXPONENT.next_down().exp_decay() == 0.0);
        let single = SMALLEST_EXPONENT as f32;
        assert!(single.exp_decay() > 0.0 && single.next_down().exp_decay() == 0.0);
    }
}
