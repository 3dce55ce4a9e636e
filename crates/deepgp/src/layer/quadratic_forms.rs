//! The quadratic forms `a_nᵀ G_p a_n` alone, for all outputs, at little more than half the flops of the products `A G_p`.
//!
//! Where no gradient is wanted, `A G_p` itself is not needed, and the symmetry of `G_p` can be used. The `M` indices are cut into
//! *strips*. With `H_p` the part of `G_p` on and below the diagonal blocks, doubled below them, for a strip from `c` of width `w`:
//!
//! ```text
//! U = A[:, c..] · H[c.., all outputs, c..c + w]       [B, P·w]
//! a_nᵀ G_p a_n += Σ_j A[n, c + j] U[n, (p, j)]
//! ```
//!
//! `M² P (1 + w/M)` flops a row, and one product a strip for all outputs.

use crate::numeric::linalg::{Accumulate, dot, product};
use crate::numeric::mat::{Mat, View};
use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;

/// The width of a strip. Narrow wastes little above the diagonal, wide makes large products and long sums. A multiple of every vector
/// length.
const WIDTH: usize = 32;

/// The matrices `G_p` of all outputs as their halves `H_p`, ready for quadratic forms.
#[derive(Clone, Debug)]
pub(super) struct QuadraticForms<T> {
    /// The order `M` of each `G_p`.
    order: usize,
    /// The number of outputs, `P`.
    outputs: usize,
    /// The `H_p` of all outputs, strip after strip: `[M − c, P·w]` for a strip from `c` of width `w`.
    halves: Vec<T>,
}

impl<T: Real> QuadraticForms<T> {
    /// The halves `H_p` of `G_1 … G_P`, which are side by side, `[M, P·M]`.
    pub fn new(explained: &Mat) -> Self {
        let (order, outputs) = (explained.nrows(), explained.ncols() / explained.nrows().max(1));
        let mut halves = Vec::new();
        for (start, width) in strips(order) {
            for i in start..order {
                let factor = if i < start + width { 1.0 } else { 2.0 };
                for p in 0..outputs {
                    let from = &explained.row(i)[p * order + start..][..width];
                    halves.extend(from.iter().map(|&g| T::of(factor * g)));
                }
            }
        }
        Self { order, outputs, halves }
    }

    /// Writes `a_nᵀ G_p a_n` for `a` `[B, M]` into `forms` `[B, P]`; `working` is memory.
    pub fn write(&self, a: &Mat<T>, working: &mut Mat<T>, forms: &mut Mat<T>) {
        forms.reshape_for_overwrite(a.nrows(), self.outputs);
        forms.fill(T::ZERO);
        let mut halves = &self.halves[..];
        for (start, width) in strips(self.order) {
            let rest = self.order - start;
            let (own, after) = halves.split_at(rest * self.outputs * width);
            halves = after;
            working.reshape_for_overwrite(a.nrows(), self.outputs * width);
            let own = View::new(own, rest, self.outputs * width).faer();
            let suffix = a.view().faer().subcols(start, rest);
            product(working.view_mut().faer(), Accumulate::Replace, T::ONE, suffix, own);
            vectorised(
                #[inline(always)]
                || {
                    for n in 0..a.nrows() {
                        let a = &a.row(n)[start..start + width];
                        for (form, u) in forms.row_mut(n).iter_mut().zip(working.row(n).chunks_exact(width)) {
                            *form += dot(a, u);
                        }
                    }
                },
            );
        }
    }
}

/// The start and width of each strip of `0..order`.
fn strips(order: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..order).step_by(WIDTH).map(move |start| (start, WIDTH.min(order - start)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{positive_definite, uniform};

    #[test]
    fn they_are_the_forms_of_the_symmetric_matrices() {
        for (order, outputs) in [(1, 1), (31, 3), (32, 2), (33, 5), (100, 4), (130, 1)] {
            let a = uniform(6, order, 1);
            let g: Vec<Mat> = (0..outputs).map(|p| positive_definite(order, 0.1, p as u64)).collect();
            let beside = Mat::from_fn(order, outputs * order, |i, j| g[j / order][(i, j % order)]);
            let mut forms = Mat::default();
            QuadraticForms::new(&beside).write(&a, &mut Mat::default(), &mut forms);
            for n in 0..6 {
                for p in 0..outputs {
                    let terms = (0..order * order).map(|k| (k / order, k % order));
                    let plain: f64 = terms.map(|(i, j)| a[(n, i)] * g[p][(i, j)] * a[(n, j)]).sum();
                    assert!((forms[(n, p)] - plain).abs() < 1e-10 * plain.abs(), "{order} {outputs}: ({n}, {p})");
                }
            }
        }
    }
}
