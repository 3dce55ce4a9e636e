//! Kernels between sparse rows and inducing inputs, at a cost in proportion to the entries that are stored.
//!
//! A sparse row is `x = c + δ` ([`SparseRows`]): a background `c` that all rows share and deviations `δ`, most of them 0. With
//! `u = c − z` and a lengthscale for each dimension,
//!
//! ```text
//! r²[n, m] = Σ_d u_md²/ℓ_d²  +  Σ_d δ_nd · 2 u_md/ℓ_d²  +  Σ_d δ_nd²/ℓ_d²
//! ```
//!
//! What depends on `z` alone (`Σ_d u²/ℓ²`, `2u/ℓ²`) is computed once a step: the *plan*. The middle term is one sparse product. Backward,
//! with `W = ∂/∂r²`, all that is summed over rows is `δᵀ W` `[D, M]`, `Σ_n W_nm` `[M]` and `Σ_nm W_nm δ_nd²` `[D]`, from which
//!
//! ```text
//! z̄_md = −2/ℓ_d² (u_md Σ_n W_nm + (δᵀW)_dm)        ℓ̄_d = −2/ℓ_d³ Σ_nm W_nm (u_md + δ_nd)²
//! ```
//!
//! follow at the end of the step. `4 M` flops a stored entry, both ways together, where dense inputs take `4 M` an entry.

use rayon::prelude::*;

use super::Scratch;
use crate::data::compressed::{pack_by, packed_len};
use crate::data::sparse::SparseRows;
use crate::numeric::linalg::Accumulate;
use crate::numeric::mat::{View, ViewMut};
use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;

/// A kernel's values and gradients for sparse rows, in one precision. What it needs of `z` is computed once for all rows, and what it
/// sums over rows is turned into gradients once, at the end.
pub trait EvaluateSparse<T: Real> {
    /// Writes to `plan` what all rows need of the inducing inputs `z` `[M, D]`, given the rows' background `[D]`.
    fn plan(&self, background: &[f64], z: View<'_, T>, plan: &mut Vec<T>);

    /// Writes the kernel matrix `k[n, m] = k(x_n, z_m)`, `[N, M]`.
    fn cross(&self, x: &SparseRows<T>, plan: &[T], k: ViewMut<'_, T>, scratch: &mut Scratch<T>);

    /// Adds to `sums` what [`EvaluateSparse::finish`] needs for the gradients of `Σ k_bar ∘ k` in `z` and the lengthscales, and
    /// to `theta` the gradients of all other parameters. `k_bar` may be overwritten.
    #[allow(clippy::too_many_arguments, reason = "those of `cross`, their gradients, and memory")]
    fn cross_pullback(
        &self,
        x: &SparseRows<T>,
        plan: &[T],
        k: View<'_, T>,
        k_bar: ViewMut<'_, T>,
        sums: &mut [T],
        theta: &mut [f64],
        scratch: &mut Scratch<T>,
    );

    /// Writes the prior variances `out[n] = k(x_n, x_n)`.
    fn diagonal(&self, x: &SparseRows<T>, out: &mut [T]);

    /// Adds the gradients of `Σ diagonal_bar ∘ diagonal` in the parameters to `theta`.
    fn diagonal_pullback(&self, x: &SparseRows<T>, diagonal_bar: &[T], theta: &mut [f64]);

    /// The length of `sums` in [`EvaluateSparse::cross_pullback`] for `m` inducing inputs.
    fn sums_len(&self, m: usize) -> usize;

    /// Adds the gradients in `z` and `θ` to `z_bar` and `theta`, from the sums over all rows.
    fn finish(&self, background: &[f64], z: View<'_>, sums: &[f64], z_bar: ViewMut<'_>, theta: &mut [f64]);
}

/// Writes the plan of scaled squared distances: `Σ_d u²/ℓ²` `[M]`, `1/ℓ²` `[D]`, and `2u/ℓ²` `[D, M]`, laid out for the sparse product.
/// On all threads.
pub(super) fn plan<T: Real>(background: &[f64], z: View<'_, T>, lengthscales: &[f64], plan: &mut Vec<T>) {
    let (m, d) = (z.nrows(), z.ncols());
    plan.resize(m + d + packed_len::<T>(d, m), T::ZERO);
    let (norms, rest) = plan.split_at_mut(m);
    let (precisions, packed) = rest.split_at_mut(d);
    for (to, ell) in precisions.iter_mut().zip(lengthscales) {
        *to = T::of(1.0 / (ell * ell));
    }
    let precisions = &*precisions;
    norms.par_iter_mut().enumerate().with_min_len(TILE).for_each(|(j, norm)| {
        let parts = z.row(j).iter().zip(background).zip(precisions);
        *norm = parts.map(|((z, background), &precision)| precision * square(T::of(background - z.to_f64()))).sum();
    });
    pack_by(d, m, packed, |rows, columns, width, to| {
        for (j, z) in columns.map(|column| z.row(column)).enumerate() {
            for (i, row) in rows.clone().zip(to.chunks_exact_mut(width)) {
                row[j] = (precisions[i] + precisions[i]) * T::of(background[i] - z[i].to_f64());
            }
        }
    });
}

/// `v²`, without naming `v` twice.
fn square<T: Real>(v: T) -> T {
    v * v
}

/// The number of inducing inputs, or of dimensions, that are worked on at once.
const TILE: usize = 32;

/// Writes `r²`, `[N, M]`, with negative values from rounding as 0; `finish` gets each row of it while it is in cache.
pub(super) fn distances<T: Real>(x: &SparseRows<T>, plan: &[T], mut r2: ViewMut<'_, T>, finish: impl Fn(&mut [T])) {
    let (m, d) = (r2.ncols(), x.ncols());
    let (norms, rest) = plan.split_at(m);
    let (precisions, rest) = rest.split_at(d);
    x.deltas().times_packed(Accumulate::Replace, &rest[..packed_len::<T>(d, m)], r2.reborrow());
    vectorised(
        #[inline(always)]
        || {
            for i in 0..x.nrows() {
                let (columns, deltas) = x.deltas().row(i);
                let squares = columns.iter().zip(deltas).map(|(&j, &delta)| precisions[j as usize] * delta * delta);
                let own: T = squares.sum();
                let row = r2.row_mut(i);
                for (v, &norm) in row.iter_mut().zip(norms) {
                    *v = (*v + norm + own).at_least(T::ZERO);
                }
                finish(row);
            }
        },
    );
}

/// The length of the sums of [`pullback`].
pub(super) fn sums_len(m: usize, d: usize) -> usize {
    d * m + m + d
}

/// Adds `δᵀ W` `[D, M]`, the column sums of `W` `[M]` and `Σ_nm W_nm δ_nd²` `[D]` to `sums`.
pub(super) fn pullback<T: Real>(
    x: &SparseRows<T>,
    w: View<'_, T>,
    (row_sums, column_sums): (&[T], &[T]),
    sums: &mut [T],
    scratch: &mut Scratch<T>,
) {
    let (m, d) = (w.ncols(), x.ncols());
    let (products, rest) = sums.split_at_mut(d * m);
    let (columns, squares) = rest.split_at_mut(m);
    x.deltas_transposed().times(Accumulate::Add, w, ViewMut::new(products, d, m), scratch);
    for (to, &from) in columns.iter_mut().zip(column_sums) {
        *to += from;
    }
    for i in 0..x.nrows() {
        let (own, deltas) = x.deltas().row(i);
        for (&j, &delta) in own.iter().zip(deltas) {
            squares[j as usize] += row_sums[i] * delta * delta;
        }
    }
}

/// Adds `z̄` to `z_bar` and `ℓ̄` to the front of `theta`, from the sums of [`pullback`] over all rows.
pub(super) fn finish(
    background: &[f64],
    z: View<'_>,
    lengthscales: &[f64],
    sums: &[f64],
    mut z_bar: ViewMut<'_>,
    theta: &mut [f64],
) {
    let (m, d) = (z.nrows(), z.ncols());
    let (products, rest) = sums.split_at(d * m);
    let (columns, squares) = rest.split_at(m);
    for i in 0..d {
        theta[i] -= 2.0 / lengthscales[i].powi(3) * squares[i];
    }
    for first in (0..d).step_by(TILE) {
        let len = TILE.min(d - first);
        let (mut weighted, mut precision) = ([0.0; TILE], [0.0; TILE]);
        for i in 0..len {
            precision[i] = 2.0 / lengthscales[first + i].powi(2);
        }
        for j in 0..m {
            let (z, z_bar) = (&z.row(j)[first..first + len], &mut z_bar.row_mut(j)[first..first + len]);
            for i in 0..len {
                let (u, product) = (background[first + i] - z[i], products[(first + i) * m + j]);
                z_bar[i] -= precision[i] * (u * columns[j] + product);
                weighted[i] += u * (u * columns[j] + 2.0 * product);
            }
        }
        for i in 0..len {
            theta[first + i] -= 2.0 / lengthscales[first + i].powi(3) * weighted[i];
        }
    }
}
