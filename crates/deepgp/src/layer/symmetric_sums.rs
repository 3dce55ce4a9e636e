//! The gradients of the explained shares, `Ḡ_p = Σ_n e_np a_n a_nᵀ` for all outputs, as a few large products at little more than half
//! the flops.
//!
//! Each `Ḡ_p` is symmetric, so its lower triangle will do; but a product for each output is too small to be fast. So some outputs
//! at a time, a *group*, are taken together, and the `M` indices are cut into *strips*. Of a group of `g` outputs, `e_p ∘ A` is
//! written out with its columns ordered by strips, then outputs, then indices within the strip: what belongs to indices from a
//! strip on, of all outputs, is then one run of columns to the very end. The sums are, for a strip from `c` of width `w`,
//!
//! ```text
//! [w, g·(M − c)] += A[:, c..c + w]ᵀ · (e_p ∘ A)[:, all outputs, c..]
//! ```
//!
//! which is `½ (1 + w/M)` of the flops of whole matrices. A group is as large as leaves `e_p ∘ A` of a block in cache.

use std::ops::Range;

use crate::numeric::linalg::{Accumulate, product};
use crate::numeric::mat::{Mat, ViewMut};
use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;

/// The width of a strip. Narrow wastes little above the diagonal, wide makes large products. A multiple of every vector length.
const WIDTH: usize = 32;
/// The most columns that `e_p ∘ A` of a group has, unless one output alone has more.
const GROUP_COLUMNS: usize = 500;

/// The layout of all outputs' sums `Ḡ_1 … Ḡ_P` in one array: group after group, and strip after strip within a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct SymmetricSums {
    /// The order `M` of each sum.
    pub order: usize,
    /// The number of outputs, `P`.
    pub outputs: usize,
}

/// A group of outputs, whose sums are taken together.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// The order `M` of each sum.
    order: usize,
    /// The first output of the group.
    first: usize,
    /// The number of outputs in the group.
    outputs: usize,
}

/// One strip of the `M` indices, within a group of outputs.
#[derive(Clone, Copy, Debug)]
struct Strip {
    /// The strip's first index.
    start: usize,
    /// The number of its indices.
    width: usize,
    /// The group of outputs.
    group: Group,
}

impl SymmetricSums {
    /// The outputs, cut into groups.
    fn groups(self) -> impl Iterator<Item = Group> {
        let Self { order, outputs } = self;
        let size = (GROUP_COLUMNS / order).max(1);
        (0..outputs).step_by(size).map(move |first| Group { order, first, outputs: size.min(outputs - first) })
    }

    /// The length of the array of all sums.
    pub fn len(self) -> usize {
        self.groups().map(Group::len).sum()
    }

    /// Adds `Σ_n weights_np a_n a_nᵀ` to `sums`, for `a` `[N, M]` and `weights` `[N, P]`; `scaled` is working memory.
    pub fn add<T: Real>(self, a: &Mat<T>, weights: &Mat<T>, scaled: &mut Mat<T>, mut sums: &mut [T]) {
        for group in self.groups() {
            group.scale(a, weights, scaled);
            for strip in group.strips() {
                let suffix = strip.suffix();
                let (own, after) = sums.split_at_mut(strip.width * suffix.len());
                let own = ViewMut::new(own, strip.width, suffix.len()).faer();
                let scaled = scaled.view().faer().subcols(suffix.start, suffix.len());
                let a = a.view().faer().subcols(strip.start, strip.width);
                product(own, Accumulate::Add, T::ONE, a.transpose(), scaled);
                sums = after;
            }
        }
    }

    /// Writes the whole symmetric `Ḡ_p` of one output, `[M, M]`.
    pub fn symmetric(self, sums: &[f64], output: usize, into: &mut Mat) {
        into.reshape_for_overwrite(self.order, self.order);
        let mut before = 0;
        for group in self.groups() {
            if (group.first..group.first + group.outputs).contains(&output) {
                return group.symmetric(&sums[before..], output - group.first, into);
            }
            before += group.len();
        }
    }
}

impl Group {
    /// The `M` indices, cut into strips.
    fn strips(self) -> impl Iterator<Item = Strip> {
        let width = move |start| WIDTH.min(self.order - start);
        (0..self.order).step_by(WIDTH).map(move |start| Strip { start, width: width(start), group: self })
    }

    /// The length of the group's part of the array.
    fn len(self) -> usize {
        self.strips().map(|strip| strip.width * strip.suffix().len()).sum()
    }

    /// Writes `weights_p ∘ A` for all outputs of the group, columns in the order of strips.
    fn scale<T: Real>(self, a: &Mat<T>, weights: &Mat<T>, scaled: &mut Mat<T>) {
        scaled.reshape_for_overwrite(a.nrows(), self.outputs * self.order);
        vectorised(
            #[inline(always)]
            || {
                for i in 0..a.nrows() {
                    let weights = &weights.row(i)[self.first..self.first + self.outputs];
                    for strip in self.strips() {
                        let a = &a.row(i)[strip.start..strip.start + strip.width];
                        let runs = scaled.row_mut(i)[strip.columns()].chunks_exact_mut(strip.width);
                        for (run, &weight) in runs.zip(weights) {
                            for (to, &a) in run.iter_mut().zip(a) {
                                *to = weight * a;
                            }
                        }
                    }
                }
            },
        );
    }

    /// Writes the whole symmetric sum of one output of the group, `[M, M]`; `sums` starts with the group's part.
    fn symmetric(self, sums: &[f64], output: usize, into: &mut Mat) {
        let mut before = 0;
        for strip in self.strips() {
            let long = strip.suffix().len();
            for j in 0..strip.width {
                let row = &sums[before + j * long..][..long];
                for other in self.strips().skip(strip.start / WIDTH) {
                    let at = other.columns().start - strip.suffix().start + output * other.width;
                    let run = &row[at..at + other.width];
                    into.row_mut(strip.start + j)[other.start..other.start + other.width].copy_from_slice(run);
                }
            }
            before += strip.width * long;
        }
        for i in 0..self.order {
            for j in 0..i {
                into[(i, j)] = into[(j, i)];
            }
        }
    }
}

impl Strip {
    /// The strip's columns of `e_p ∘ A`: a run of `width` for each output.
    fn columns(self) -> Range<usize> {
        let first = self.group.outputs * self.start;
        first..first + self.group.outputs * self.width
    }

    /// The strip's columns of `e_p ∘ A` and those of all strips after it.
    fn suffix(self) -> Range<usize> {
        self.columns().start..self.group.outputs * self.group.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::uniform;

    #[test]
    fn they_are_sums_of_weighted_outer_products() {
        for (order, outputs) in [(1, 1), (7, 80), (32, 2), (33, 17), (70, 9), (101, 6), (600, 2)] {
            let (a, weights) = (uniform(5, order, 1), uniform(5, outputs, 2));
            let all = SymmetricSums { order, outputs };
            let mut sums = vec![0.0; all.len()];
            for _ in 0..2 {
                all.add(&a, &weights, &mut Mat::default(), &mut sums);
            }
            for p in 0..outputs {
                let mut found = Mat::default();
                all.symmetric(&sums, p, &mut found);
                for i in 0..order {
                    for j in 0..order {
                        let plain: f64 = (0..5).map(|n| 2.0 * weights[(n, p)] * a[(n, i)] * a[(n, j)]).sum();
                        assert!((found[(i, j)] - plain).abs() < 1e-13, "{order} {outputs}: {p} ({i}, {j})");
                    }
                }
            }
        }
    }
}
