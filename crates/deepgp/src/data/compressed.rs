//! Compressed sparse rows: a matrix by its entries that are not zero, and its product with a dense one,
//! `out[i, :] = Σ_k self[i, k] dense[k, :]`.
//!
//! `2 · M` flops a stored entry, for a dense `[K, M]`. A number that is loaded is used only once, so the product runs at the speed of the
//! second-level cache, about half of that of a dense product, flop for flop. The dense factor is laid out for it by [`pack`].

use std::ops::Range;

use rayon::prelude::*;

use crate::numeric::linalg::Accumulate;
use crate::numeric::mat::{View, ViewMut};
use crate::numeric::real::Real;
use crate::numeric::scratch::Scratch;
use crate::numeric::simd::vectorised;

/// The bytes of a row that [`Compressed::times`] sums at once: four vectors of the widest kind. The second-level cache sets the
/// speed, so wider gains nothing.
const SLICE_BYTES: usize = 256;

/// The bytes of a cache line.
const LINE_BYTES: usize = 64;

/// A matrix stored as the entries of each row that are not zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compressed<T> {
    /// The entry at which each row starts: row `i` stores entries `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
    /// The column of each entry, ascending within a row.
    columns: Vec<u32>,
    /// The value of each entry.
    values: Vec<T>,
    /// The number of columns.
    cols: usize,
}

impl<T: Real> Compressed<T> {
    /// Becomes a matrix of no rows and `cols` columns, whose memory is reused.
    pub(crate) fn clear(&mut self, cols: usize) {
        self.starts.clear();
        self.starts.push(0);
        self.columns.clear();
        self.values.clear();
        self.cols = cols;
    }

    /// Adds a row: its columns, ascending, and their values.
    pub(crate) fn push_row(&mut self, columns: &[u32], values: &[f64]) {
        self.columns.extend_from_slice(columns);
        self.values.extend(values.iter().map(|&v| T::of(v)));
        self.starts.push(self.columns.len());
    }

    /// Becomes the transpose of `other`, by counting sort: rows are passed in order, so each column's rows are ascending.
    pub(crate) fn transpose_of(&mut self, other: &Self) {
        let rows = other.cols;
        self.cols = other.nrows();
        // Shifted by one: while entries are placed, `starts[d + 1]` is where the next one of row `d` goes, and ends as the
        // start of row `d + 1`.
        self.starts.clear();
        self.starts.resize(rows + 2, 0);
        for &d in &other.columns {
            self.starts[d as usize + 2] += 1;
        }
        for d in 2..rows + 2 {
            self.starts[d] += self.starts[d - 1];
        }
        self.columns.resize(other.stored(), 0);
        self.values.resize(other.stored(), T::ZERO);
        for i in 0..other.nrows() {
            let (columns, values) = other.row(i);
            for (&d, &value) in columns.iter().zip(values) {
                let place = &mut self.starts[d as usize + 1];
                self.columns[*place] = i as u32;
                self.values[*place] = value;
                *place += 1;
            }
        }
        self.starts.pop();
    }

    /// The numbers of starts and of values that fit without new memory.
    #[cfg(test)]
    pub(crate) fn capacities(&self) -> (usize, usize) {
        (self.starts.capacity(), self.values.capacity())
    }

    /// Number of rows.
    pub(crate) fn nrows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Number of columns.
    pub(crate) fn ncols(&self) -> usize {
        self.cols
    }

    /// Number of stored entries.
    pub(crate) fn stored(&self) -> usize {
        self.columns.len()
    }

    /// The columns stored in row `i`, ascending, and their values.
    #[inline(always)]
    pub(crate) fn row(&self, i: usize) -> (&[u32], &[T]) {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Writes the product `out[i, :] = Σ_k self[i, k] dense[k, :]`, or adds it, for `dense` `[K, M]` and `out` `[rows, M]`.
    ///
    /// Each entry of `out` is summed by itself over ascending `k`, so it does not depend on `M` or on the other rows.
    pub(crate) fn times(
        &self,
        accumulate: Accumulate,
        dense: View<'_, T>,
        out: ViewMut<'_, T>,
        scratch: &mut Scratch<T>,
    ) {
        let mut packed = scratch.take(packed_len::<T>(dense.nrows(), dense.ncols()));
        pack(dense, &mut packed);
        self.times_packed(accumulate, &packed, out);
        scratch.give(packed);
    }

    /// [`Compressed::times`] for a dense factor that [`pack`] has laid out.
    pub(crate) fn times_packed(&self, accumulate: Accumulate, packed: &[T], mut out: ViewMut<'_, T>) {
        let (k, m) = (self.ncols(), out.ncols());
        assert_eq!(packed.len(), packed_len::<T>(k, m), "a dense factor as tall as the sparse one is wide");
        assert_eq!(out.nrows(), self.nrows(), "the shape of the product");
        let packed = &packed[aligned(packed)..];
        vectorised(
            #[inline(always)]
            || {
                for slice in slices::<T>(m) {
                    let dense = &packed[slice.start * k..];
                    match slice.len() {
                        0..=8 => self.times_slice::<8>(accumulate, dense, slice, &mut out),
                        9..=16 => self.times_slice::<16>(accumulate, dense, slice, &mut out),
                        17..=24 => self.times_slice::<24>(accumulate, dense, slice, &mut out),
                        25..=32 => self.times_slice::<32>(accumulate, dense, slice, &mut out),
                        33..=48 => self.times_slice::<48>(accumulate, dense, slice, &mut out),
                        _ => self.times_slice::<64>(accumulate, dense, slice, &mut out),
                    }
                }
            },
        );
    }

    /// [`Compressed::times_packed`] for a `slice` of at most `W` columns.
    #[inline(always)]
    fn times_slice<const W: usize>(
        &self,
        accumulate: Accumulate,
        dense: &[T],
        slice: Range<usize>,
        out: &mut ViewMut<'_, T>,
    ) {
        let (dense, _) = dense.as_chunks::<W>();
        for i in 0..self.nrows() {
            let to = &mut out.row_mut(i)[slice.clone()];
            // The same twice, because a copy of known length is a few instructions and any other one a call.
            if let Some(to) = to.as_mut_array::<W>() {
                let before = if accumulate == Accumulate::Add { *to } else { [T::ZERO; W] };
                *to = weighted_sum(before, self.row(i), dense);
            } else {
                let mut before = [T::ZERO; W];
                if accumulate == Accumulate::Add {
                    before[..to.len()].copy_from_slice(to);
                }
                to.copy_from_slice(&weighted_sum(before, self.row(i), dense)[..to.len()]);
            }
        }
    }
}

/// The columns `0..m`, [`SLICE_BYTES`] at a time.
fn slices<T>(m: usize) -> impl Iterator<Item = Range<usize>> {
    let widest = SLICE_BYTES / size_of::<T>();
    (0..m).step_by(widest).map(move |from| from..m.min(from + widest))
}

/// The width in which a slice of `len` columns is laid out: one of those that the product is compiled for.
fn padded(len: usize) -> usize {
    [8, 16, 24, 32, 48].into_iter().find(|&width| len <= width).unwrap_or(64)
}

/// The length of the buffer that [`pack`] needs for a `[k, m]` matrix.
pub(crate) fn packed_len<T>(k: usize, m: usize) -> usize {
    slices::<T>(m).map(|slice| k * padded(slice.len())).sum::<usize>() + LINE_BYTES / size_of::<T>()
}

/// The place in a buffer at which its first whole cache line starts: a vector that straddles two of them takes two loads.
fn aligned<T>(buffer: &[T]) -> usize {
    buffer.as_ptr().align_offset(LINE_BYTES).min(LINE_BYTES / size_of::<T>())
}

/// Lays `dense` out for [`Compressed::times_packed`], in a buffer of [`packed_len`] numbers that must not move until then: slice
/// after slice of its columns, [`SLICE_BYTES`] wide, each row by row. The sums of one row then stay in registers, and a slice stays in
/// cache while every row of the sparse factor passes over it. In place, rows would be cut across cache lines, and would share few
/// cache sets where `M` is a power of two: up to twice as slow.
pub(crate) fn pack<T: Real>(dense: View<'_, T>, packed: &mut [T]) {
    let (k, m) = (dense.nrows(), dense.ncols());
    let start = aligned(packed);
    let packed = &mut packed[start..];
    for slice in slices::<T>(m) {
        let own = packed[slice.start * k..].chunks_exact_mut(padded(slice.len()));
        for (to, from) in own.zip(dense.as_slice().chunks_exact(m)) {
            to[..slice.len()].copy_from_slice(&from[slice.clone()]);
            to[slice.len()..].fill(T::ZERO);
        }
    }
}

/// Lays out, like [`pack`], a matrix that is computed by parts: `fill(rows, columns, width, to)` writes some of its entries, each row
/// `width` apart. On all threads.
pub(crate) fn pack_by<T: Real>(
    k: usize,
    m: usize,
    packed: &mut [T],
    fill: impl Fn(Range<usize>, Range<usize>, usize, &mut [T]) + Sync,
) {
    /// The number of rows filled at once, few enough to stay in cache where the source is read across.
    const ROWS: usize = 32;
    let (start, len) = (aligned(packed), packed_len::<T>(k, m) - LINE_BYTES / size_of::<T>());
    let widest = SLICE_BYTES / size_of::<T>();
    packed[start..start + len].par_chunks_mut(k * widest).enumerate().for_each(|(slice, own)| {
        let columns = slice * widest..m.min((slice + 1) * widest);
        let width = padded(columns.len());
        for (tile, to) in own.chunks_mut(ROWS * width).enumerate() {
            fill(tile * ROWS..k.min((tile + 1) * ROWS), columns.clone(), width, to);
        }
    });
}

/// The weighted sum of rows, `sums + Σ_k value_k dense[k]`. The sums are the function's own: borrowed from outside, the compiler keeps
/// them in memory or takes them one number at a time, which is four times slower.
#[inline(always)]
fn weighted_sum<T: Real, const W: usize>(
    mut sums: [T; W],
    (columns, values): (&[u32], &[T]),
    dense: &[[T; W]],
) -> [T; W] {
    for (&k, &value) in columns.iter().zip(values) {
        let from = &dense[k as usize];
        for j in 0..W {
            sums[j] += value * from[j];
        }
    }
    sums
}
