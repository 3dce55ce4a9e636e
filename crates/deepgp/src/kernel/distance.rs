//! Scaled squared distances `r²[n, m] = Σ_d ((x_nd − z_md) / ℓ_d)²` and their pullback, by products or by differences.
//!
//! *By products*: `r² = ‖x/ℓ‖² + ‖z/ℓ‖² − 2 (x/ℓ)·(z/ℓ)`, one matrix product of `2·N·M·D` flops. It cancels where points
//! nearly coincide, the more the farther they are from the origin, so the mean of `z` is made the origin first: fine for a
//! smooth function of `r²` in `f64`, and the fast way for many columns and for all pullbacks. *By differences*, a dimension at a
//! time: for the values of `K_ZZ`, where nearly equal points decide the condition, for blocks of rows in `f32` (products would be
//! off by 1e-4 where points are 40 lengthscales from the origin), both unless there are many columns, and for kernels with a kink
//! at `r = 0`. Up to about ten columns it is as fast as products are.
//!
//! With `W = ∂/∂r²`: `x̄_nd = 2/ℓ_d² Σ_m W_nm (x_nd − z_md)`, `z̄` the same with the other sign, summed over `n`, and
//! `ℓ̄_d = −2/ℓ_d³ Σ_nm W_nm (x_nd − z_md)²`. By products these are `W z`, `Wᵀ x` and the sums of `W` over rows and columns.

use super::{CrossBars, Scratch};
use crate::numeric::linalg::{Accumulate, dot, each_strip, product, shared_product, sum_lanes};
use crate::numeric::mat::{View, ViewMut};
use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;

/// Writes `r²`, `[N, M]`, by products; tiny negative values become 0. `finish` gets each row of it, while the row is in cache.
pub(super) fn by_products<T: Real>(
    x: View<'_, T>,
    z: View<'_, T>,
    lengthscales: &[f64],
    mut out: ViewMut<'_, T>,
    scratch: &mut Scratch<T>,
    finish: impl Fn(&mut [T]),
) {
    let (n, m, d) = (x.nrows(), z.nrows(), x.ncols());
    // Constants of each dimension, then the two factors; −2 x·z/ℓ² + ‖z/ℓ‖² is one product of [x, 1] with [−2 z/ℓ², ‖z/ℓ‖²].
    let mut constants = scratch.take(3 * d);
    let (precision, rest) = constants.split_at_mut(d);
    let (origin, centred) = rest.split_at_mut(d);
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
    vectorised(
        #[inline(always)]
        || {
            for (to, from) in right.chunks_exact_mut(d + 1).zip(z.as_slice().chunks_exact(d)) {
                let (to, norm) = to.split_at_mut(d);
                for i in 0..d {
                    centred[i] = from[i] - origin[i];
                    to[i] = -(precision[i] + precision[i]) * centred[i];
                }
                norm[0] = T::of(-0.5) * dot(to, centred);
            }
        },
    );
    let left_view = View::new(&left, n, d + 1).faer();
    let right_view = View::new(&right, m, d + 1).faer();
    product(out.reborrow().faer(), Accumulate::Replace, T::ONE, left_view, right_view.transpose());
    vectorised(
        #[inline(always)]
        || {
            for (row, from) in out.as_mut_slice().chunks_exact_mut(m).zip(left.chunks_exact(d + 1)) {
                let mut norm = T::ZERO;
                for i in 0..d {
                    norm += precision[i] * from[i] * from[i];
                }
                for v in row.iter_mut() {
                    *v = (*v + norm).at_least(T::ZERO);
                }
                finish(row);
            }
        },
    );
    scratch.give(left);
    scratch.give(right);
    scratch.give(constants);
}

/// Writes the mean of each column of `z`.
fn column_means<T: Real>(z: View<'_, T>, means: &mut [T]) {
    means.fill(T::ZERO);
    for row in z.as_slice().chunks_exact(z.ncols()) {
        for (to, &from) in means.iter_mut().zip(row) {
            *to += from;
        }
    }
    let each = T::of(1.0 / z.nrows() as f64);
    for v in means {
        *v *= each;
    }
}

/// The gradient at `r²`, `W = ∂/∂r²`, and its sums along both axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights<'a, T> {
    /// `W` itself, `[N, M]`.
    pub w: View<'a, T>,
    /// `Σ_m W_nm`.
    pub row_sums: &'a [T],
    /// `Σ_n W_nm`.
    pub column_sums: &'a [T],
}

/// The pullback of [`by_products`]; adds `ℓ̄` to the front of `bars.theta`.
pub(super) fn by_products_pullback<T: Real>(
    x: View<'_, T>,
    z: View<'_, T>,
    lengthscales: &[f64],
    weights: Weights<'_, T>,
    mut bars: CrossBars<'_, T>,
    scratch: &mut Scratch<T>,
) {
    let Weights { w, row_sums, column_sums } = weights;
    let (n, m, d) = (x.nrows(), z.nrows(), x.ncols());
    let mut origin = scratch.take(d);
    column_means(z, &mut origin);
    let (x_centred, z_centred) = (centred(x, &origin, scratch), centred(z, &origin, scratch));
    let (x_view, z_view) = (View::new(&x_centred, n, d), View::new(&z_centred, m, d));

    // Σ_nm W (x − z)² = Σ_n x² Σ_m W + Σ_m z² Σ_n W − 2 Σ_m z (Wᵀ x), a dimension at a time.
    // As [D, M], because long rows make fast products; then one row for each z.
    let mut x_w = scratch.take(d * m);
    product(ViewMut::new(&mut x_w, d, m).faer(), Accumulate::Replace, T::ONE, x_view.faer().transpose(), w.faer());
    let w_x = transposed(View::new(&x_w, d, m), scratch);
    scratch.give(x_w);
    let mut w_z = scratch.take(if bars.x.is_some() { n * d } else { 0 });
    if bars.x.is_some() {
        product(ViewMut::new(&mut w_z, n, d).faer(), Accumulate::Replace, T::ONE, w.faer(), z_view.faer());
    }
    let mut constants = scratch.take(2 * d);
    let (precision, squares) = constants.split_at_mut(d);
    for (to, ell) in precision.iter_mut().zip(lengthscales) {
        *to = T::of(2.0 / (ell * ell));
    }
    squares.fill(T::ZERO);
    vectorised(
        #[inline(always)]
        || {
            for (x, &sum) in x_centred.chunks_exact(d).zip(row_sums) {
                for i in 0..d {
                    squares[i] += sum * x[i] * x[i];
                }
            }
            let rows = z_centred.chunks_exact(d).zip(w_x.chunks_exact(d)).zip(column_sums);
            for (((z, pulled), &sum), z_bar) in rows.zip(bars.z.as_mut_slice().chunks_exact_mut(d)) {
                for i in 0..d {
                    z_bar[i] += precision[i] * (z[i] * sum - pulled[i]);
                    squares[i] += z[i] * (z[i] * sum - pulled[i] - pulled[i]);
                }
            }
            if let Some(x_bar) = &mut bars.x {
                let rows = x_centred.chunks_exact(d).zip(w_z.chunks_exact(d)).zip(row_sums);
                for (((x, pulled), &sum), x_bar) in rows.zip(x_bar.as_mut_slice().chunks_exact_mut(d)) {
                    for i in 0..d {
                        x_bar[i] += precision[i] * (x[i] * sum - pulled[i]);
                    }
                }
            }
        },
    );
    for i in 0..d {
        bars.theta[i] -= 2.0 / lengthscales[i].powi(3) * squares[i].to_f64();
    }
    for buffer in [origin, x_centred, z_centred, w_x, w_z, constants] {
        scratch.give(buffer);
    }
}

/// Writes `r²` between the rows of `z` themselves, by products: the lower triangle with its diagonal; what is above it is unspecified.
/// `finish` gets each row up to the diagonal. On all threads.
pub(super) fn lower_by_products(
    z: View<'_>,
    lengthscales: &[f64],
    r2: ViewMut<'_>,
    scratch: &mut Scratch<f64>,
    finish: impl Fn(&mut [f64]) + Sync,
) {
    let (m, d) = (z.nrows(), z.ncols());
    let mut scaled = scratch.take(m * d);
    let mut norms = scratch.take(m + d);
    let (norms_of, origin) = norms.split_at_mut(m);
    column_means(z, origin);
    for ((to, from), norm) in scaled.chunks_exact_mut(d).zip(z.as_slice().chunks_exact(d)).zip(norms_of.iter_mut()) {
        for i in 0..d {
            to[i] = (from[i] - origin[i]) / lengthscales[i];
        }
        *norm = dot(to, to);
    }
    let (view, norms_of) = (View::new(&scaled, m, d).faer(), &*norms_of);
    each_strip(r2, |start, mut rows| {
        let end = start + rows.nrows();
        let own = rows.reborrow().faer().subcols_mut(0, end);
        product(own, Accumulate::Replace, -2.0, view.subrows(start, end - start), view.subrows(0, end).transpose());
        for i in start..end {
            let row = &mut rows.row_mut(i - start)[..=i];
            for (v, norm) in row.iter_mut().zip(norms_of) {
                *v = (*v + norm + norms_of[i]).at_least(0.0);
            }
            row[i] = 0.0;
            finish(row);
        }
    });
    scratch.give(scaled);
    scratch.give(norms);
}

/// The pullback of `r²` between the rows of `z` themselves, by products, for a symmetric `W`. Both sides of `(z_n − z_m)²` bring the
/// same, so `z̄_nd = 4/ℓ_d² (z_nd Σ_m W_nm − (W z)_nd)` and `ℓ̄_d = −4/ℓ_d³ Σ_n z_nd (z_nd Σ_m W_nm − (W z)_nd)`. On all threads.
pub(super) fn symmetric_pullback(
    z: View<'_>,
    lengthscales: &[f64],
    w: View<'_>,
    row_sums: &[f64],
    mut z_bar: ViewMut<'_>,
    theta_bar: &mut [f64],
    scratch: &mut Scratch<f64>,
) {
    let (m, d) = (z.nrows(), z.ncols());
    let mut constants = scratch.take(3 * d);
    let (origin, rest) = constants.split_at_mut(d);
    let (precision, squares) = rest.split_at_mut(d);
    column_means(z, origin);
    for (to, ell) in precision.iter_mut().zip(lengthscales) {
        *to = 4.0 / (ell * ell);
    }
    squares.fill(0.0);
    let centred = centred(z, origin, scratch);
    let mut pulled = scratch.take(m * d);
    shared_product(ViewMut::new(&mut pulled, m, d), w.faer(), View::new(&centred, m, d).faer());
    let rows = centred.chunks_exact(d).zip(pulled.chunks_exact(d)).zip(row_sums);
    for (((z, pulled), sum), z_bar) in rows.zip(z_bar.as_mut_slice().chunks_exact_mut(d)) {
        for i in 0..d {
            let difference = z[i] * sum - pulled[i];
            z_bar[i] += precision[i] * difference;
            squares[i] += z[i] * difference;
        }
    }
    for i in 0..d {
        theta_bar[i] -= 4.0 / lengthscales[i].powi(3) * squares[i];
    }
    for buffer in [constants, centred, pulled] {
        scratch.give(buffer);
    }
}

/// The rows of `x` less `origin`.
fn centred<T: Real>(x: View<'_, T>, origin: &[T], scratch: &mut Scratch<T>) -> Vec<T> {
    let mut out = scratch.take(x.as_slice().len());
    for (to, from) in out.chunks_exact_mut(origin.len()).zip(x.as_slice().chunks_exact(origin.len())) {
        for i in 0..origin.len() {
            to[i] = from[i] - origin[i];
        }
    }
    out
}

/// The transpose of `z`, one row for each dimension, so that loops over inducing inputs run along memory.
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

/// Rows of `x` that are worked on together, so that they share what is loaded of `z`.
const ROWS: usize = 4;
/// The inducing inputs whose distances to these rows stay in registers while the loop runs over dimensions.
const LANES: usize = 16;

/// Writes `r²`, `[N, M]`, by differences. `finish` gets each row of it, while the row is in cache.
pub(super) fn by_differences<T: Real>(
    x: View<'_, T>,
    z: View<'_, T>,
    lengthscales: &[f64],
    mut r2: ViewMut<'_, T>,
    scratch: &mut Scratch<T>,
    finish: impl Fn(&mut [T]),
) {
    let (m, d) = (z.nrows(), z.ncols());
    let mut inverse = scratch.take(d);
    for (inverse, ell) in inverse.iter_mut().zip(lengthscales) {
        *inverse = T::of(1.0 / ell);
    }
    let (points, columns) = (packed::<T, ROWS>(x, &inverse, scratch), packed::<T, LANES>(z, &inverse, scratch));
    vectorised(
        #[inline(always)]
        || {
            for (rows, points) in r2.as_mut_slice().chunks_mut(ROWS * m).zip(points.chunks_exact(ROWS * d)) {
                squared_differences(points.as_chunks().0, &columns, rows, m);
                rows.chunks_exact_mut(m).for_each(&finish);
            }
        },
    );
    for buffer in [inverse, columns, points] {
        scratch.give(buffer);
    }
}

/// The coordinates of `x` in lengthscales, `L` points side by side: `[⌈N / L⌉, D, L]`, zeros where there are no more points.
fn packed<T: Real, const L: usize>(x: View<'_, T>, inverse: &[T], scratch: &mut Scratch<T>) -> Vec<T> {
    let (n, d) = (x.nrows(), x.ncols());
    let mut out = scratch.take(n.next_multiple_of(L) * d);
    for (group, rows) in out.chunks_exact_mut(L * d).zip(x.as_slice().chunks(L * d)) {
        if rows.len() < L * d {
            group.fill(T::ZERO);
        }
        for (j, row) in rows.chunks_exact(d).enumerate() {
            for i in 0..d {
                group[i * L + j] = row[i] * inverse[i];
            }
        }
    }
    out
}

/// Writes `r²` of a few points, `[D, ROWS]`, to all inducing inputs, `[⌈M / LANES⌉, D, LANES]`; there may be fewer rows of `r²`.
#[inline(always)]
fn squared_differences<T: Real>(points: &[[T; ROWS]], columns: &[T], r2: &mut [T], m: usize) {
    for (group, z) in columns.chunks_exact(points.len() * LANES).enumerate() {
        let mut sums = [[T::ZERO; LANES]; ROWS];
        for (x, z) in points.iter().zip(z.as_chunks::<LANES>().0) {
            for k in 0..ROWS {
                for j in 0..LANES {
                    let difference = x[k] - z[j];
                    sums[k][j] = difference.times_plus(difference, sums[k][j]);
                }
            }
        }
        // Sums that are lent out, as a copy of some of them would, do not stay in registers.
        for (row, sums) in r2.chunks_exact_mut(m).zip(sums) {
            let to = &mut row[group * LANES..];
            match to.first_chunk_mut() {
                Some(to) => *to = sums,
                None => to.iter_mut().zip(sums).for_each(|(to, sum)| *to = sum),
            }
        }
    }
}

/// Writes `r²` between the rows of `z` themselves, by differences: the lower triangle with its diagonal; what is above it is unspecified.
pub(super) fn lower_by_differences(z: View<'_>, lengthscales: &[f64], mut r2: ViewMut<'_>, scratch: &mut Scratch<f64>) {
    let m = z.nrows();
    let columns = transposed(z, scratch);
    vectorised(
        #[inline(always)]
        || {
            for i in 0..m {
                let row = &mut r2.row_mut(i)[..=i];
                row.fill(0.0);
                for ((&x_d, z_d), ell) in z.row(i).iter().zip(columns.chunks_exact(m)).zip(lengthscales) {
                    let inverse = 1.0 / ell;
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
