//! `P` symmetric `[M, M]` matrices as *strips*, so that the lower triangles of all of them are a few large products.
//!
//! A strip is [`WIDTH`] consecutive indices (the last one may be narrower). `G_1 … G_P` side by side have `P·M` columns; in strip
//! order these run over strips, then outputs, then the indices within the strip. What belongs to indices from a strip on, of
//! all outputs, is then one run of columns to the very end, and the sums `Ḡ_p = Aᵀ diag(e_p) A` are, for a strip from `c` of
//! width `w`,
//!
//! ```text
//! [w, P·(M − c)] += A[:, c..c + w]ᵀ · (e_p ∘ A)[:, all outputs, c..]
//! ```
//!
//! at `1 + w/M` halves of the flops of whole matrices. A product for each output would do with half, but runs at two thirds
//! of the speed: it is too small.

use std::ops::Range;

use crate::linalg::{Into, product};
use crate::mat::{Mat, ViewMut};
use crate::real::Real;

/// Narrow wastes little above the diagonal, wide makes large products. A multiple of every vector length.
pub(super) const WIDTH: usize = 32;

/// The strips of `outputs` matrices of order `order`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strips {
    pub order: usize,
    pub outputs: usize,
}

/// One strip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strip {
    /// Its first index.
    pub start: usize,
    pub width: usize,
    strips: Strips,
}

impl Strips {
    pub fn iter(self) -> impl Iterator<Item = Strip> {
        let width = move |start| WIDTH.min(self.order - start);
        (0..self.order).step_by(WIDTH).map(move |start| Strip { start, width: width(start), strips: self })
    }

    /// How many numbers [`Strip::sums`] are in all.
    pub fn len(self) -> usize {
        self.iter().map(|strip| strip.width * strip.suffix().len()).sum()
    }

    /// A row in strip order: the runs of full strips, one for each output, strip after strip; then those of the last strip if
    /// it is narrower.
    #[inline(always)]
    pub fn runs<T>(self, row: &[T]) -> (&[[T; WIDTH]], &[T]) {
        let (full, rest) = row.split_at(self.outputs * (self.order / WIDTH) * WIDTH);
        (full.as_chunks().0, rest)
    }

    /// [`Strips::runs`], mutably.
    #[inline(always)]
    pub fn runs_mut<T>(self, row: &mut [T]) -> (&mut [[T; WIDTH]], &mut [T]) {
        let (full, rest) = row.split_at_mut(self.outputs * (self.order / WIDTH) * WIDTH);
        (full.as_chunks_mut().0, rest)
    }

    /// Matrices side by side, `[M, P·M]`, with their columns in strip order.
    pub fn arrange<T: Real>(self, natural: &Mat, into: &mut Mat<T>) {
        into.reshape_for_overwrite(self.order, self.outputs * self.order);
        for i in 0..self.order {
            let (from, to) = (natural.row(i), into.row_mut(i));
            for strip in self.iter() {
                for (p, run) in to[strip.columns()].chunks_exact_mut(strip.width).enumerate() {
                    let first = p * self.order + strip.start;
                    for (to, from) in run.iter_mut().zip(&from[first..first + strip.width]) {
                        *to = T::of(*from);
                    }
                }
            }
        }
    }

    /// One of the matrices that [`Strips::arrange`] took.
    pub fn matrix<T: Real>(self, arranged: &Mat<T>, output: usize) -> Mat<T> {
        let mut out = Mat::zeros(self.order, self.order);
        for i in 0..self.order {
            for strip in self.iter() {
                let run = &arranged.row(i)[strip.columns()][output * strip.width..][..strip.width];
                out.row_mut(i)[strip.start..strip.start + strip.width].copy_from_slice(run);
            }
        }
        out
    }

    /// Adds `A[:, c..c + w]ᵀ scaled[:, c..]` of each strip to `sums`; `scaled` is `e_p ∘ A` for all outputs, in strip order.
    pub fn add_products<T: Real>(self, a: &Mat<T>, scaled: &Mat<T>, mut sums: &mut [T]) {
        for strip in self.iter() {
            let suffix = strip.suffix();
            let (own, after) = sums.split_at_mut(strip.width * suffix.len());
            let own = ViewMut::new(own, strip.width, suffix.len()).faer();
            let scaled = scaled.view().faer().subcols(suffix.start, suffix.len());
            let a = a.view().faer().subcols(strip.start, strip.width);
            product(own, Into::Add, T::ONE, a.transpose(), scaled);
            sums = after;
        }
    }

    /// The whole symmetric `Ḡ_p` from the sums of all strips.
    pub fn symmetric(self, sums: &[f64], output: usize, into: &mut Mat) {
        let m = self.order;
        into.reshape_for_overwrite(m, m);
        let mut before = 0;
        for strip in self.iter() {
            let long = strip.suffix().len();
            for j in 0..strip.width {
                let row = &sums[before + j * long..][..long];
                for other in self.iter().skip(strip.start / WIDTH) {
                    let at = other.columns().start - strip.suffix().start + output * other.width;
                    let run = &row[at..at + other.width];
                    into.row_mut(strip.start + j)[other.start..other.start + other.width].copy_from_slice(run);
                }
            }
            before += strip.width * long;
        }
        for i in 0..m {
            for j in 0..i {
                into[(i, j)] = into[(j, i)];
            }
        }
    }
}

impl Strip {
    /// Its columns in strip order: a run of `width` for each output.
    pub fn columns(self) -> Range<usize> {
        let first = self.strips.outputs * self.start;
        first..first + self.strips.outputs * self.width
    }

    /// Its columns and those of all strips after it.
    pub fn suffix(self) -> Range<usize> {
        self.columns().start..self.strips.outputs * self.strips.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::uniform;

    #[test]
    fn matrices_come_back_from_strip_order() {
        for (order, outputs) in [(1, 1), (32, 2), (33, 3), (70, 2)] {
            let strips = Strips { order, outputs };
            let natural = uniform(order, outputs * order, 1);
            let mut arranged = Mat::<f64>::default();
            strips.arrange(&natural, &mut arranged);
            for p in 0..outputs {
                let matrix = strips.matrix(&arranged, p);
                for i in 0..order {
                    assert_eq!(matrix.row(i), &natural.row(i)[p * order..(p + 1) * order]);
                }
            }
        }
    }

    #[test]
    fn sums_of_strips_make_symmetric_matrices() {
        for (order, outputs) in [(1, 1), (32, 2), (33, 3), (70, 2)] {
            let strips = Strips { order, outputs };
            let entry = |p: usize, i: usize, j: usize| (p * 10_000 + i.max(j) * 100 + i.min(j)) as f64;
            let mut sums = Vec::new();
            for strip in strips.iter() {
                for j in 0..strip.width {
                    for other in strips.iter().filter(|other| other.start >= strip.start) {
                        for p in 0..outputs {
                            sums.extend((0..other.width).map(|i| entry(p, other.start + i, strip.start + j)));
                        }
                    }
                }
            }
            assert_eq!(sums.len(), strips.len());
            for p in 0..outputs {
                let mut whole = Mat::default();
                strips.symmetric(&sums, p, &mut whole);
                assert_eq!(whole, Mat::from_fn(order, order, |i, j| entry(p, i, j)));
            }
        }
    }
}
