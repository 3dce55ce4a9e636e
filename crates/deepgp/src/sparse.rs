//! Inputs that mostly repeat one value a column (fingerprint bits, one-hot categories), kept as their exceptions.
//!
//! `x_nd = background_d + δ_nd`, and few `δ` are not zero. [`SparseInputs`] holds those of the whole dataset, row after row;
//! [`SparseRows`] those of a block of rows, by row and by column. Both orientations are a [`Compressed`] matrix, and
//! [`Compressed::times`] is the one product: `out[i, :] = Σ_k δ_ik dense[k, :]`, `2 · M` flops a stored entry, where the dense
//! product of `[N, D]` with `[D, M]` has `2 · N · D · M`. With it `x z` is `background z` (one row for the whole block) plus
//! `δ z`, and `xᵀ w` is `background` times the column sums of `w` plus `δᵀ w`.

use std::ops::Range;

use rayon::prelude::*;

use crate::linalg::Into;
use crate::mat::{Mat, View, ViewMut};
use crate::real::Real;
use crate::scratch::Scratch;
use crate::simd::vectorised;

/// Below this many columns a dense product has too little to lose.
const FEWEST_COLUMNS: usize = 32;

/// The largest share of entries stored. There the product is two to three times faster than the dense one (it does a flop in
/// about twice the time, because it uses a number it has loaded only once), which leaves room for what else differs.
const LARGEST_SHARE: f64 = 0.2;

/// Rows that can rule a table out before all of it is read, which they do at twice [`LARGEST_SHARE`]: the first rows of a
/// table need not be typical.
const HEAD_ROWS: usize = 1000;

/// How much of a row [`Compressed::times`] sums at once: four vectors of the widest kind. The second-level cache sets the
/// speed, so wider gains nothing.
const SLICE_BYTES: usize = 256;

/// What memory moves in.
const LINE_BYTES: usize = 64;

/// A dataset's inputs `[N, D]` as a background and the entries that differ from it.
#[derive(Clone, Debug)]
pub(crate) struct SparseInputs {
    /// `[D]`.
    background: Vec<f64>,
    /// Row `n` stores entries `starts[n]..starts[n + 1]`.
    starts: Vec<usize>,
    /// Ascending within a row.
    columns: Vec<u32>,
    /// `x − background`.
    deltas: Vec<f64>,
}

impl SparseInputs {
    /// The sparse form of `x`, or none where it would not pay. Dense data is refused after [`HEAD_ROWS`] rows; anything else
    /// takes two passes, one for the background and one for the entries.
    pub(crate) fn detect(x: View<'_>) -> Option<Self> {
        if x.nrows() == 0 || x.ncols() < FEWEST_COLUMNS {
            return None;
        }
        let head = x.rows(0..x.nrows().min(HEAD_ROWS));
        let mut vote = Vote::new(x.ncols());
        vote.count(head);
        Self::store(head, &vote.candidates, 2.0 * LARGEST_SHARE)?;
        vote.count(x.rows(head.nrows()..x.nrows()));
        Self::store(x, &vote.candidates, LARGEST_SHARE)
    }

    /// The entries of `x` that differ from `background`, or none once they are more than a `share` of all.
    fn store(x: View<'_>, background: &[f64], share: f64) -> Option<Self> {
        let most = (share * x.as_slice().len() as f64) as usize;
        let (mut starts, mut columns, mut deltas) = (vec![0], Vec::new(), Vec::new());
        for row in x.as_slice().chunks_exact(x.ncols()) {
            for (d, (&value, &common)) in row.iter().zip(background).enumerate() {
                if value != common {
                    columns.push(d as u32);
                    deltas.push(value - common);
                }
            }
            if columns.len() > most {
                return None;
            }
            starts.push(columns.len());
        }
        Some(Self { background: background.to_vec(), starts, columns, deltas })
    }

    /// `N`.
    #[cfg(test)]
    pub(crate) fn nrows(&self) -> usize {
        self.starts.len() - 1
    }

    /// `D`.
    pub(crate) fn ncols(&self) -> usize {
        self.background.len()
    }

    /// Number of stored entries.
    #[cfg(test)]
    pub(crate) fn stored(&self) -> usize {
        self.columns.len()
    }

    /// The most common value of each column.
    pub(crate) fn background(&self) -> &[f64] {
        &self.background
    }
}

/// Boyer and Moore's majority vote, a column at a time: a value held by more than half the rows ends as the candidate, in one
/// pass and whatever the order. Where there is no such value the candidate is some value of the column.
#[derive(Debug)]
struct Vote {
    candidates: Vec<f64>,
    leads: Vec<i64>,
}

impl Vote {
    fn new(columns: usize) -> Self {
        Self { candidates: vec![0.0; columns], leads: vec![0; columns] }
    }

    fn count(&mut self, x: View<'_>) {
        vectorised(
            #[inline(always)]
            || {
                for row in x.as_slice().chunks_exact(x.ncols()) {
                    for ((&value, candidate), lead) in row.iter().zip(&mut self.candidates).zip(&mut self.leads) {
                        *candidate = if *lead == 0 { value } else { *candidate };
                        // At no lead the value just became the candidate; NaN equals nothing and must not go below 0.
                        let agrees = value == *candidate || *lead == 0;
                        *lead += if agrees { 1 } else { -1 };
                    }
                }
            },
        );
    }
}

/// A matrix stored as the entries of each row that are not zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compressed<T> {
    /// Row `i` stores entries `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
    /// Ascending within a row.
    columns: Vec<u32>,
    values: Vec<T>,
    cols: usize,
}

impl<T: Real> Compressed<T> {
    /// Becomes the transpose of `other`, by counting sort: rows are passed in order, so each column's rows are ascending.
    fn transpose_of(&mut self, other: &Self) {
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

    /// `out[i, :] = Σ_k self[i, k] dense[k, :]`, or `+=`, for `dense` `[K, M]` and `out` `[rows, M]`.
    ///
    /// Each entry of `out` is summed by itself over ascending `k`, so it does not depend on `M` or on the other rows.
    pub(crate) fn times(&self, into: Into, dense: View<'_, T>, out: ViewMut<'_, T>, scratch: &mut Scratch<T>) {
        let mut packed = scratch.take(packed_len::<T>(dense.nrows(), dense.ncols()));
        pack(dense, &mut packed);
        self.times_packed(into, &packed, out);
        scratch.give(packed);
    }

    /// [`Compressed::times`] for a dense factor that [`pack`] has laid out.
    pub(crate) fn times_packed(&self, into: Into, packed: &[T], mut out: ViewMut<'_, T>) {
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
                        0..=8 => self.times_slice::<8>(into, dense, slice, &mut out),
                        9..=16 => self.times_slice::<16>(into, dense, slice, &mut out),
                        17..=24 => self.times_slice::<24>(into, dense, slice, &mut out),
                        25..=32 => self.times_slice::<32>(into, dense, slice, &mut out),
                        33..=48 => self.times_slice::<48>(into, dense, slice, &mut out),
                        _ => self.times_slice::<64>(into, dense, slice, &mut out),
                    }
                }
            },
        );
    }

    /// [`Compressed::times_packed`] for a `slice` of at most `W` columns.
    #[inline(always)]
    fn times_slice<const W: usize>(&self, into: Into, dense: &[T], slice: Range<usize>, out: &mut ViewMut<'_, T>) {
        let (dense, _) = dense.as_chunks::<W>();
        for i in 0..self.nrows() {
            let to = &mut out.row_mut(i)[slice.clone()];
            // The same twice, because a copy of known length is a few instructions and any other one a call.
            if let Some(to) = to.as_mut_array::<W>() {
                let before = if into == Into::Add { *to } else { [T::ZERO; W] };
                *to = weighted_sum(before, self.row(i), dense);
            } else {
                let mut before = [T::ZERO; W];
                if into == Into::Add {
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

/// How wide a slice of `len` columns is laid out: one of the widths that the product is compiled for.
fn padded(len: usize) -> usize {
    [8, 16, 24, 32, 48].into_iter().find(|&width| len <= width).unwrap_or(64)
}

/// How many numbers [`pack`] takes for a `[k, m]` matrix.
pub(crate) fn packed_len<T>(k: usize, m: usize) -> usize {
    slices::<T>(m).map(|slice| k * padded(slice.len())).sum::<usize>() + LINE_BYTES / size_of::<T>()
}

/// Where in a buffer the first cache line starts: a vector that straddles two of them takes two loads.
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

/// [`pack`] for a matrix that is never seen whole: `fill(rows, columns, width, to)` writes some of its entries, each row `width` apart.
/// On all threads.
pub(crate) fn pack_by<T: Real>(
    k: usize,
    m: usize,
    packed: &mut [T],
    fill: impl Fn(Range<usize>, Range<usize>, usize, &mut [T]) + Sync,
) {
    /// Rows filled at once, few enough to stay in cache where the source is read across.
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

/// `sums + Σ_k value_k dense[k]`. The sums are the function's own: borrowed from outside, the compiler keeps them in memory
/// or takes them one number at a time, which is four times slower.
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

/// Some rows of a sparse table: `x = 1 backgroundᵀ + δ`, with few `δ` `[N, D]` that are not zero.
#[derive(Clone, Debug, Default)]
pub struct SparseRows<T> {
    background: Vec<T>,
    rows: Compressed<T>,
    columns: Compressed<T>,
}

impl<T: Real> SparseRows<T> {
    /// Becomes the rows `ids` of `inputs`, in that order; memory is kept from block to block. Panics if one does not exist.
    /// Linear in the stored entries plus `D`.
    pub(crate) fn gather(&mut self, inputs: &SparseInputs, ids: &[u32]) {
        self.background.clear();
        self.background.extend(inputs.background.iter().map(|&v| T::of(v)));
        let rows = &mut self.rows;
        rows.starts.clear();
        rows.columns.clear();
        rows.values.clear();
        rows.cols = inputs.ncols();
        rows.starts.push(0);
        for &id in ids {
            let range = inputs.starts[id as usize]..inputs.starts[id as usize + 1];
            rows.columns.extend_from_slice(&inputs.columns[range.clone()]);
            rows.values.extend(inputs.deltas[range].iter().map(|&v| T::of(v)));
            rows.starts.push(rows.columns.len());
        }
        self.columns.transpose_of(&self.rows);
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.rows.nrows()
    }

    /// `D`.
    pub fn ncols(&self) -> usize {
        self.background.len()
    }

    /// `[D]`.
    pub fn background(&self) -> &[T] {
        &self.background
    }

    /// `δ`, `[N, D]`.
    pub(crate) fn deltas(&self) -> &Compressed<T> {
        &self.rows
    }

    /// `δᵀ`, `[D, N]`.
    pub(crate) fn deltas_transposed(&self) -> &Compressed<T> {
        &self.columns
    }

    /// `x` itself, `[N, D]`: stored entries are within rounding of the data, all others are the data.
    pub fn to_dense(&self, out: &mut Mat<T>) {
        out.reshape_for_overwrite(self.nrows(), self.ncols());
        for i in 0..self.nrows() {
            let to = out.row_mut(i);
            to.copy_from_slice(&self.background);
            let (columns, values) = self.rows.row(i);
            for (&d, &delta) in columns.iter().zip(values) {
                to[d as usize] += delta;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Key, Purpose};
    use crate::testing::uniform;

    /// A number in (0, 1) for every cell of a table.
    fn chance(seed: u64) -> impl Fn(usize, usize) -> f64 {
        let key = Key::new(seed, Purpose::Simulate);
        move |i, j| key.uniform([i as u32, j as u32, 0, 0])
    }

    /// Bits that are one with probability `share`, shifted and scaled a column at a time as standardising does.
    fn bits(rows: usize, cols: usize, share: f64, seed: u64) -> Mat {
        let chance = chance(seed);
        Mat::from_fn(rows, cols, |i, j| {
            let bit = f64::from(u8::from(chance(i, j) < share));
            (bit - 0.1 - 0.01 * j as f64) / (0.3 + 0.02 * j as f64)
        })
    }

    /// What is stored, put back together.
    fn dense<T: Real>(inputs: &SparseInputs, ids: &[u32]) -> Mat<T> {
        let (mut block, mut out) = (SparseRows::default(), Mat::zeros(0, 0));
        block.gather(inputs, ids);
        block.to_dense(&mut out);
        out
    }

    fn assert_near(found: &Mat, expected: &Mat, tolerance: f64) {
        assert_eq!((found.nrows(), found.ncols()), (expected.nrows(), expected.ncols()));
        for (at, (a, b)) in found.as_slice().iter().zip(expected.as_slice()).enumerate() {
            assert!((a - b).abs() <= tolerance, "entry {at}: {a}, expected {b}");
        }
    }

    #[test]
    fn sparse_bits_are_found_and_every_entry_comes_back() {
        let x = bits(1500, 40, 0.1, 1);
        let inputs = SparseInputs::detect(x.view()).unwrap();
        assert_eq!((inputs.nrows(), inputs.ncols()), (1500, 40));
        let different = |i: usize| (0..40).filter(|&d| x[(i, d)] != inputs.background()[d]).count();
        assert_eq!(inputs.stored(), (0..1500).map(different).sum::<usize>());
        assert!(inputs.stored() < 1500 * 40 / 8);
        let ids: Vec<u32> = (0..1500).collect();
        assert_near(&dense(&inputs, &ids), &x, 1e-15);
        assert_near(&dense::<f32>(&inputs, &ids).cast(), &x, 1e-6);
    }

    #[test]
    fn mostly_ones_are_as_sparse_as_mostly_zeros() {
        let inputs = SparseInputs::detect(bits(300, 40, 0.9, 2).view()).unwrap();
        assert!(inputs.stored() < 300 * 40 / 8);
        assert!((inputs.background()[0] - 0.9 / 0.3).abs() < 1e-15);
    }

    #[test]
    fn one_hot_categories_may_stand_beside_a_dense_column() {
        let number = uniform(200, 1, 3);
        let x = Mat::from_fn(200, 50, |i, j| match j {
            0 => number[(i, 0)],
            _ => f64::from(u8::from(j == 1 + 7 * i % 49)),
        });
        let inputs = SparseInputs::detect(x.view()).unwrap();
        // The dense column has its candidate once, each row one category.
        assert_eq!(inputs.stored(), 199 + 200);
        assert_near(&dense(&inputs, &[3, 199, 0]), &x.gather(&[3, 199, 0]), 1e-15);
    }

    #[test]
    fn a_table_that_does_not_pay_is_refused() {
        assert!(SparseInputs::detect(uniform(2000, 40, 4).view()).is_none(), "dense numbers");
        assert!(SparseInputs::detect(bits(2000, 40, 0.3, 5).view()).is_none(), "too many bits, known at the end");
        assert!(SparseInputs::detect(bits(300, 31, 0.01, 6).view()).is_none(), "too few columns");
        assert!(SparseInputs::detect(Mat::zeros(0, 40).view()).is_none(), "no rows");
        let late = uniform(4000, 40, 7);
        let late = Mat::from_fn(4000, 40, |i, j| if i < 1000 { 0.0 } else { late[(i, j)] });
        assert!(SparseInputs::detect(late.view()).is_none(), "dense after the head");
    }

    #[test]
    fn first_rows_that_are_not_typical_do_not_decide() {
        let (odd, usual) = (bits(1000, 32, 0.35, 8), bits(9000, 32, 0.05, 9));
        let x = odd.stack(&usual);
        let inputs = SparseInputs::detect(x.view()).unwrap();
        let ids = [0, 999, 1000, 9999];
        assert_near(&dense(&inputs, &ids), &x.gather(&ids), 1e-14);
    }

    #[test]
    fn constant_columns_and_single_rows_store_nothing() {
        let constant = Mat::from_fn(10, 32, |_, j| j as f64);
        let inputs = SparseInputs::detect(constant.view()).unwrap();
        assert_eq!(inputs.stored(), 0);
        assert_eq!(dense::<f64>(&inputs, &[4, 9]), constant.gather(&[4, 9]));
        let row = uniform(1, 32, 10);
        let inputs = SparseInputs::detect(row.view()).unwrap();
        assert_eq!((inputs.stored(), inputs.background()), (0, row.as_slice()));
        // Two rows that differ everywhere have no common value: half the entries would be stored.
        assert!(SparseInputs::detect(uniform(2, 32, 11).view()).is_none());
    }

    #[test]
    fn the_vote_survives_numbers_that_equal_nothing() {
        let mut x = Mat::from_fn(9, 32, |_, _| 2.0);
        x[(0, 5)] = f64::NAN;
        let inputs = SparseInputs::detect(x.view()).unwrap();
        assert_eq!((inputs.stored(), inputs.background()[5]), (1, 2.0));
    }

    #[test]
    fn the_transpose_has_each_columns_rows_in_order() {
        let inputs = SparseInputs::detect(bits(100, 40, 0.15, 12).view()).unwrap();
        let ids: Vec<u32> = (0..70).map(|i| (37 * i) % 100).collect();
        let mut block = SparseRows::<f64>::default();
        block.gather(&inputs, &ids);
        let (deltas, transposed) = (block.deltas(), block.deltas_transposed());
        assert_eq!((transposed.nrows(), transposed.ncols()), (40, 70));
        assert_eq!(transposed.stored(), deltas.stored());
        for d in 0..40 {
            let (rows, values) = transposed.row(d);
            assert!(rows.is_sorted_by(|a, b| a < b));
            for (&i, value) in rows.iter().zip(values) {
                let (columns, deltas) = deltas.row(i as usize);
                assert_eq!(deltas[columns.binary_search(&(d as u32)).unwrap()], *value);
            }
        }
    }

    /// Both orientations against the dense product of `x − background`.
    fn check_products<T: Real>(tolerance: f64) {
        let x = bits(90, 60, 0.12, 13);
        let inputs = SparseInputs::detect(x.view()).unwrap();
        let ids: Vec<u32> = (0..53).map(|i| (i * 29 + 4) % 90).collect();
        let mut block = SparseRows::<T>::default();
        block.gather(&inputs, &ids);
        let deltas = x.gather(&ids);
        let deltas = Mat::from_fn(53, 60, |i, d| deltas[(i, d)] - inputs.background()[d]);
        let mut scratch = Scratch::default();
        for m in [1, 7, 32, 33, 100, 600] {
            for (sparse, factor) in [(block.deltas(), &deltas), (block.deltas_transposed(), &deltas.transposed())] {
                let dense = uniform(sparse.ncols(), m, m as u64);
                let before = uniform(sparse.nrows(), m, 14);
                for into in [Into::Replace, Into::Add] {
                    let expected = Mat::from_fn(sparse.nrows(), m, |i, j| {
                        let sum: f64 = (0..sparse.ncols()).map(|k| factor[(i, k)] * dense[(k, j)]).sum();
                        if into == Into::Add { before[(i, j)] + sum } else { sum }
                    });
                    let mut found = before.cast::<T>();
                    sparse.times(into, dense.cast::<T>().view(), found.view_mut(), &mut scratch);
                    assert_near(&found.cast(), &expected, tolerance);
                }
            }
        }
    }

    #[test]
    fn products_agree_with_dense_ones_in_both_orientations_and_precisions() {
        check_products::<f64>(1e-13);
        check_products::<f32>(5e-5);
    }

    #[test]
    fn a_column_of_the_product_does_not_depend_on_its_neighbours() {
        let inputs = SparseInputs::detect(bits(50, 60, 0.15, 15).view()).unwrap();
        let ids: Vec<u32> = (0..50).collect();
        let mut block = SparseRows::<f64>::default();
        block.gather(&inputs, &ids);
        let (dense, mut scratch) = (uniform(60, 101, 16), Scratch::default());
        let mut all = Mat::zeros(50, 101);
        block.deltas().times(Into::Replace, dense.view(), all.view_mut(), &mut scratch);
        for j in [0, 40, 100] {
            let mut one = Mat::zeros(50, 1);
            let column = Mat::from_fn(60, 1, |k, _| dense[(k, j)]);
            block.deltas().times(Into::Replace, column.view(), one.view_mut(), &mut scratch);
            assert!((0..50).all(|i| one[(i, 0)] == all[(i, j)]));
        }
    }

    #[test]
    fn a_second_gather_leaves_nothing_of_the_first() {
        let first = SparseInputs::detect(bits(100, 64, 0.2, 17).view()).unwrap();
        let second = SparseInputs::detect(bits(60, 48, 0.05, 18).view()).unwrap();
        let (mut reused, mut fresh) = (SparseRows::<f32>::default(), SparseRows::<f32>::default());
        reused.gather(&first, &(0..100).collect::<Vec<_>>());
        let memory = |block: &SparseRows<f32>| (block.rows.values.capacity(), block.columns.starts.capacity());
        let held = memory(&reused);
        for ids in [&[5, 59, 7][..], &[], &[2]] {
            reused.gather(&second, ids);
            fresh.gather(&second, ids);
            assert_eq!(format!("{reused:?}"), format!("{fresh:?}"));
            assert_eq!((reused.nrows(), reused.ncols(), memory(&reused)), (ids.len(), 48, held));
            let (dense, mut out) = (uniform(48, 5, 19).cast(), uniform(ids.len(), 5, 20).cast::<f32>());
            reused.deltas().times(Into::Replace, dense.view(), out.view_mut(), &mut Scratch::default());
            let mut expected = Mat::zeros(ids.len(), 5);
            fresh.deltas().times(Into::Replace, dense.view(), expected.view_mut(), &mut Scratch::default());
            assert_eq!(out, expected);
            let mut dense = uniform(80, 70, 21).cast();
            reused.to_dense(&mut dense);
            assert_eq!(dense, self::dense(&second, ids));
        }
    }
}
