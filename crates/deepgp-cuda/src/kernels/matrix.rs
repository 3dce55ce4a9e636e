//! Launches of `matrix.cu`: work on matrices of inducing inputs, all in `double`.

use super::General;
use super::common::{BLOCK, Control, Step};
use crate::device::memory::Span;
use crate::launch::Grid;

crate::launch::kernels! {
    General;

    /// `to = from`, in the rows' precision.
    "narrow" => Narrow<T> { from: Span<f64>, to: Span<T>, n: usize }: |k| Grid::each(k.n);

    /// `*to = factor Σ a b`.
    "dot" => Dot { a: Span<f64>, b: Span<f64>, factor: f64, n: usize, to: Span<f64> }: |_k| Grid::new((1, 1), 1024);

    /// `y = x + factor kl_bar z + keep y`, where `kl_bar = −kl_weight`; `x` may be [`Span::NONE`].
    "add_kl" => AddKl {
        x: Span<f64>, z: Span<f64>, factor: f64, keep: f64, n: usize, steps: Span<Step>, control: Span<Control>, y: Span<f64>,
    }: |k| Grid::each(k.n);

    /// `to = diag(k) from`, both `[n, width]`.
    "scale_rows" => ScaleRows { k: Span<f64>, from: Span<f64>, n: usize, width: usize, to: Span<f64> }:
        |k| Grid::each(k.n * k.width);

    /// `k_bar_ii += Σ_p a_ip b_ip`, both `[n, width]`.
    "add_row_dots" => AddRowDots { a: Span<f64>, b: Span<f64>, n: usize, width: usize, k_bar: Span<f64> }:
        |k| Grid::each(k.n);

    /// `g_p = I + from_p` in the rows' precision, `count` numbers in matrices of order `n`.
    "complement" => Complement<T> { from: Span<f64>, n: usize, count: usize, g: Span<T> }: |k| Grid::each(k.count);

    /// `h_p += I`, `[outputs, n, n]`.
    "add_identity" => AddIdentity { h: Span<f64>, n: usize, outputs: usize }: |k| Grid::each(k.n * k.outputs);

    /// The KL of each output: `½ (|v_p|² − Σ_i log f_ii² − n + log_det)`; `log_det` may be [`Span::NONE`].
    "covariance_kl" => CovarianceKl { v: Span<f64>, f: Span<f64>, n: usize, log_det: Span<f64>, kl: Span<f64> }
        over { outputs: usize }: |k| Grid::new((k.outputs, 1), 512);

    /// The KL of each output in the dual form: `½ (log |H_p| − n + tr H_p⁻¹)`.
    "dual_kl" => DualKl { h_inverse: Span<f64>, n: usize, log_det: Span<f64>, kl: Span<f64> } over { outputs: usize }:
        |k| Grid::new((k.outputs, 1), 256);

    /// The gradient at free lower triangles, `count` numbers in matrices of order `n`: zeros above the diagonal, and on it
    /// `−kl_bar / f_ii` where `log |f fᵀ|` is in the KL.
    "finish_factor" => FinishFactor {
        f: Span<f64>, n: usize, count: usize, with_log: bool, steps: Span<Step>, control: Span<Control>, f_bar: Span<f64>,
    }: |k| Grid::each(k.count);

    /// Zeros above the diagonal of `m`, `[n, n]`.
    "clear_above" => ClearAbove { m: Span<f64>, n: usize }: |k| Grid::each(k.n * k.n);

    /// `psi`, `[n, n]`, is half of a symmetric matrix. Below its diagonal stands `−left rightᵀ`, `[n, width]` each, unless they are
    /// [`Span::NONE`]; in its leading block of order `m` also `inner`, `[m, m]`, unless that is, and `kl_bar outputs` on the diagonal.
    "mirror_half" => MirrorHalf {
        left: Span<f64>, right: Span<f64>, width: usize, inner: Span<f64>, m: usize, outputs: usize, n: usize, steps: Span<Step>,
        control: Span<Control>, psi: Span<f64>,
    }: |k| Grid::new((k.n.div_ceil(32), k.n.div_ceil(32)), BLOCK);

    /// `to = r from` for a lower triangle `r`, `[n, n]` times `[n, width]`, and `free_bar = to + kl_bar free`.
    "whiten" => Whiten {
        r: Span<f64>, from: Span<f64>, free: Span<f64>, n: usize, width: usize, steps: Span<Step>, control: Span<Control>,
        to: Span<f64>, free_bar: Span<f64>,
    }: |k| Grid::warps(k.n);

    /// `h_bar = ½ kl_bar (h_inverse − h_square)`.
    "dual_h_bar" => DualHBar {
        h_inverse: Span<f64>, h_square: Span<f64>, count: usize, steps: Span<Step>, control: Span<Control>, h_bar: Span<f64>,
    }: |k| Grid::each(k.count);

    /// `to (+)= Σ` over `chunks` of `n` numbers in the rows' precision, in order.
    "sum_chunks" => SumChunks<T> { from: Span<T>, chunks: usize, n: usize, add: bool, to: Span<f64> }: |k| Grid::each(k.n);

    /// The leading block of order `m` of `to`, whose rows are `stride` apart, `(+)= Σ` over `count` matrices, in order.
    "sum_squares" => SumSquares { from: Span<f64>, count: usize, m: usize, add: bool, to: Span<f64>, stride: usize }:
        |k| Grid::each(k.m * k.m);
}
