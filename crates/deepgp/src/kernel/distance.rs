//! Scaled squared distances `r²[n, m] = Σ_d ((x_nd − z_md) / ℓ_d)²` and their pullback, in two ways.
//!
//! *By products*: `r² = ‖x/ℓ‖² + ‖z/ℓ‖² − 2 (x/ℓ)·(z/ℓ)`, one matrix product of `2·N·M·D` flops. It cancels where points
//! nearly coincide, the more the farther they are from the origin, so the mean of `z` is made the origin first: fine for a
//! smooth function of `r²`, and the fast way for blocks of rows. *Directly*, difference by difference: for `K_ZZ`, where nearly
//! equal points decide the condition, and for kernels with a kink at `r = 0`.
//!
//! With `W = ∂/∂r²`: `x̄_nd = 2/ℓ_d² Σ_m W_nm (x_nd − z_md)`, `z̄` the same with the other sign, summed over `n`, and
//! `ℓ̄_d = −2/ℓ_d³ Σ_nm W_nm (x_nd − z_md)²`.

use super::{CrossBars, Scratch};
use crate::linalg::{Into, product, sum_lanes};
use crate::mat::{View, ViewMut};
use crate::real::Real;
use crate::simd::vectorised;

/// `r²` by products; tiny negative values are cut off at 0.
pub(super) fn by_products<T: Real>(
    x: View<'_, T>,
    z: View<'_, T>,
    lengthscales: &[f64],
    mut r2: ViewMut<'_, T>,
    scratch: &mut Scratch<T>,
) {
    let (n, m, d) = (x.nrows(), z.nrows(), x.ncols());
    // Constants of each dimension, then the two factors; −2 x·z/ℓ² + ‖z/ℓ‖² is one product of [x, 1] with [−2 z/ℓ², ‖z/ℓ‖²].
    let mut constants = scratch.take(2 * d);
    let (precision, origin) = constants.split_at_mut(d);
    for (to, ell) in precision.iter_mut().zip(lengthscales) {
        *to = T::of(1.0 / (ell * ell));
    }
    column_means(z, origin);
    let mut left = scratch.take(n * (d + 1));
    for (to, from) in left.chunks_exact_mut(d + 1).zip(x.as_slice().chunks_exact(d)) {
        for i in 0..d {
            to[i] = from[i] - origin[i];
        }
        to[d] = T::ONE;
    }
    let mut right = scratch.take(m * (d + 1));
    for (to, from) in right.chunks_exact_mut(d + 1).zip(z.as_slice().chunks_exact(d)) {
        let mut norm = T::ZERO;
        for i in 0..d {
            let centred = from[i] - origin[i];
            to[i] = -(precision[i] + precision[i]) * centred;
            norm += precision[i] * centred * centred;
        }
        to[d] = norm;
    }
    let left_view = View::new(&left, n, d + 1).faer();
    let right_view = View::new(&right, m, d + 1).faer();
    product(r2.reborrow().faer(), Into::Replace, T::ONE, left_view, right_view.transpose());
    vectorised(
        #[inline(always)]
        || {
            for (row, from) in r2.as_mut_slice().chunks_exact_mut(m).zip(left.chunks_exact(d + 1)) {
                let mut norm = T::ZERO;
                for i in 0..d {
                    norm += precision[i] * from[i] * from[i];
                }
                for v in row {
                    *v = (*v + norm).at_least(T::ZERO);
                }
            }
        },
    );
    scratch.give(left);
    scratch.give(right);
    scratch.give(constants);
}

/// The mean of each column.
fn column_means<T: Real>(z: View<'_, T>, means: &mut [T]) {
    means.fill(T::ZERO);
    for row in z.as_slice().chunks_exact(z.ncols()) {
        for (to, &from) in means.iter_mut().zip(row) {
            *to += from;
        }
    }
    let share = T::of(1.0 / z.nrows() as f64);
    for v in means {
        *v *= share;
    }
}

/// The pullback of [`by_products`]; adds `ℓ̄` to the front of `bars.theta`.
pub(super) fn by_products_pullback<T: Real>(
    x: View<'_, T>,
    z: View<'_, T>,
    lengthscales: &[f64],
    w: View<'_, T>,
    mut bars: CrossBars<'_, T>,
    scratch: &mut Scratch<T>,
) {
    let (n, m, d) = (x.nrows(), z.nrows(), x.ncols());
    let width = 2 * d + 1;
    let mut origin = scratch.take(d);
    column_means(z, &mut origin);
    // Wᵀ [x, x², 1]: for each z_m the sums over n of W x, W x² and W, x from the origin.
    let mut powers = scratch.take(n * width);
    for (to, from) in powers.chunks_exact_mut(width).zip(x.as_slice().chunks_exact(d)) {
        for i in 0..d {
            let centred = from[i] - origin[i];
            to[i] = centred;
            to[d + i] = centred * centred;
        }
        to[2 * d] = T::ONE;
    }
    let mut sums = scratch.take(m * width);
    product(
        ViewMut::new(&mut sums, m, width).faer(),
        Into::Replace,
        T::ONE,
        w.faer().transpose(),
        View::new(&powers, n, width).faer(),
    );
    for (j, sum) in sums.chunks_exact(width).enumerate() {
        let (z_row, z_bar) = (z.row(j), bars.z.row_mut(j));
        for i in 0..d {
            let ell = lengthscales[i];
            let (total, centred) = (sum[2 * d], z_row[i] - origin[i]);
            z_bar[i] += T::of(2.0 / (ell * ell)) * (centred * total - sum[i]);
            let square = sum[d + i] + centred * (centred * total - sum[i] - sum[i]);
            bars.theta[i] -= 2.0 / (ell * ell * ell) * square.to_f64();
        }
    }
    scratch.give(powers);
    scratch.give(sums);
    if let Some(x_bar) = &mut bars.x {
        // W [z, 1]: for each x_n the sums over m of W z and W.
        let mut right = scratch.take(m * (d + 1));
        for (to, from) in right.chunks_exact_mut(d + 1).zip(z.as_slice().chunks_exact(d)) {
            for i in 0..d {
                to[i] = from[i] - origin[i];
            }
            to[d] = T::ONE;
        }
        let mut sums = scratch.take(n * (d + 1));
        product(
            ViewMut::new(&mut sums, n, d + 1).faer(),
            Into::Replace,
            T::ONE,
            w.faer(),
            View::new(&right, m, d + 1).faer(),
        );
        for (j, sum) in sums.chunks_exact(d + 1).enumerate() {
            let (x_row, x_bar) = (x.row(j), x_bar.row_mut(j));
            for i in 0..d {
                let ell = lengthscales[i];
                x_bar[i] += T::of(2.0 / (ell * ell)) * ((x_row[i] - origin[i]) * sum[d] - sum[i]);
            }
        }
        scratch.give(right);
        scratch.give(sums);
    }
    scratch.give(origin);
}

/// `z` with one row for each dimension, so that loops over inducing inputs run along memory.
fn transposed<T: Real>(z: View<'_, T>, scratch: &mut Scratch<T>) -> Vec<T> {
    let (m, d) = (z.nrows(), z.ncols());
    let mut out = scratch.take(m * d);
    for (j, row) in z.as_slice().chunks_exact(d).enumerate() {
        for (i, &v) in row.iter().enumerate() {
            out[i * m + j] = v;
        }
    }
    out
}

/// `r²` by differences.
pub(super) fn by_differences<T: Real>(
    x: View<'_, T>,
    z: View<'_, T>,
    lengthscales: &[f64],
    mut r2: ViewMut<'_, T>,
    scratch: &mut Scratch<T>,
) {
    let m = z.nrows();
    let columns = transposed(z, scratch);
    vectorised(
        #[inline(always)]
        || {
            for i in 0..x.nrows() {
                let row = r2.row_mut(i);
                row.fill(T::ZERO);
                for ((&x_d, z_d), ell) in x.row(i).iter().zip(columns.chunks_exact(m)).zip(lengthscales) {
                    let inverse = T::of(1.0 / ell);
                    for (v, &z_md) in row.iter_mut().zip(z_d) {
                        let s = (x_d - z_md) * inverse;
                        *v += s * s;
                    }
                }
            }
        },
    );
    scratch.give(columns);
}

/// The pullback of [`by_differences`]; adds `ℓ̄` to the front of `bars.theta`.
pub(super) fn by_differences_pullback<T: Real>(
    x: View<'_, T>,
    z: View<'_, T>,
    lengthscales: &[f64],
    w: View<'_, T>,
    mut bars: CrossBars<'_, T>,
    scratch: &mut Scratch<T>,
) {
    const LANES: usize = 8;
    let (m, d) = (z.nrows(), x.ncols());
    let columns = transposed(z, scratch);
    let mut column_bars = scratch.take(m * d);
    column_bars.fill(T::ZERO);
    vectorised(
        #[inline(always)]
        || {
            for i in 0..x.nrows() {
                let w_row = w.row(i);
                for j in 0..d {
                    let x_d = x.row(i)[j];
                    let scale = T::of(2.0 / (lengthscales[j] * lengthscales[j]));
                    let (mut first, mut second) = ([T::ZERO; LANES], [T::ZERO; LANES]);
                    let z_d = columns[j * m..(j + 1) * m].chunks(LANES);
                    let z_bar_d = column_bars[j * m..(j + 1) * m].chunks_mut(LANES);
                    for ((z_d, z_bar_d), w_d) in z_d.zip(z_bar_d).zip(w_row.chunks(LANES)) {
                        for k in 0..z_d.len() {
                            let difference = x_d - z_d[k];
                            let weighted = w_d[k] * difference;
                            first[k] += weighted;
                            second[k] += weighted * difference;
                            z_bar_d[k] -= scale * weighted;
                        }
                    }
                    if let Some(x_bar) = &mut bars.x {
                        x_bar.row_mut(i)[j] += scale * sum_lanes(first);
                    }
                    bars.theta[j] -= 2.0 / lengthscales[j].powi(3) * sum_lanes(second).to_f64();
                }
            }
        },
    );
    for i in 0..m {
        for (j, z_bar) in bars.z.row_mut(i).iter_mut().enumerate() {
            *z_bar += column_bars[j * m + i];
        }
    }
    scratch.give(columns);
    scratch.give(column_bars);
}
