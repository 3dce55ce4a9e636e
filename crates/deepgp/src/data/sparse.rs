//! Sparse inputs: each column mostly repeats one value (fingerprint bits, one-hot categories), and only the other entries are stored.
//!
//! `x_nd = background_d + δ_nd`, and few `δ` are not zero. [`SparseInputs`] holds those of the whole dataset, row after row;
//! [`SparseRows`] those of a block of rows, by row and by column. Both orientations are a [`Compressed`] matrix, and
//! [`Compressed::times`] is the one product: `out[i, :] = Σ_k δ_ik dense[k, :]`, `2 · M` flops a stored entry, where the dense
//! product of `[N, D]` with `[D, M]` has `2 · N · D · M`. With it `x z` is `background z` (one row for the whole block) plus
//! `δ z`, and `xᵀ w` is `background` times the column sums of `w` plus `δᵀ w`.

use crate::data::compressed::Compressed;
use crate::numeric::mat::{Mat, View};
use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;

/// The fewest columns of sparse inputs: with fewer, a dense product costs too little for a sparse one to gain anything.
const FEWEST_COLUMNS: usize = 32;

/// The largest density of sparse inputs, the fraction of entries stored. There the product is two to three times faster than the dense
/// one (it does a flop in about twice the time, because it uses a number it has loaded only once), which leaves room for what else
/// differs.
const LARGEST_DENSITY: f64 = 0.2;

/// The number of rows that can rule a table out before all of it is read, which they do at twice [`LARGEST_DENSITY`]: the first rows of
/// a table need not be typical.
const HEAD_ROWS: usize = 1000;

/// A dataset's inputs `[N, D]` as a background and the entries that differ from it.
#[derive(Clone, Debug)]
pub(crate) struct SparseInputs {
    /// The most common value of each column, `[D]`.
    background: Vec<f64>,
    /// The entry at which each row starts: row `n` stores entries `starts[n]..starts[n + 1]`.
    starts: Vec<usize>,
    /// The column of each entry, ascending within a row.
    columns: Vec<u32>,
    /// The value of each entry, `x − background`.
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
        Self::store(head, &vote.candidates, 2.0 * LARGEST_DENSITY)?;
        vote.count(x.rows(head.nrows()..x.nrows()));
        Self::store(x, &vote.candidates, LARGEST_DENSITY)
    }

    /// The entries of `x` that differ from `background`, or none once they are more than a fraction `density` of all.
    fn store(x: View<'_>, background: &[f64], density: f64) -> Option<Self> {
        let most = (density * x.as_slice().len() as f64) as usize;
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

    /// The number of rows, `N`.
    #[cfg(test)]
    pub(crate) fn nrows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of columns, `D`.
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
    /// The candidate of each column.
    candidates: Vec<f64>,
    /// The votes of each candidate beyond those that others have cancelled.
    leads: Vec<i64>,
}

impl Vote {
    /// A vote before the first row.
    fn new(columns: usize) -> Self {
        Self { candidates: vec![0.0; columns], leads: vec![0; columns] }
    }

    /// Counts the rows of `x`: a row that agrees with the candidate adds to its lead, another takes from it, and at no lead becomes the
    /// candidate.
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

/// A block of sparse rows: `x = 1 backgroundᵀ + δ`, with few `δ` `[N, D]` that are not zero.
#[derive(Clone, Debug, Default)]
pub struct SparseRows<T> {
    /// The most common value of each column, `[D]`.
    background: Vec<T>,
    /// The deviations `δ`, `[N, D]`.
    rows: Compressed<T>,
    /// The deviations transposed, `δᵀ`, `[D, N]`.
    columns: Compressed<T>,
}

impl<T: Real> SparseRows<T> {
    /// Becomes the rows `ids` of `inputs`, in that order; memory is reused from block to block. Panics if one does not exist.
    /// Linear in the stored entries plus `D`.
    pub(crate) fn gather(&mut self, inputs: &SparseInputs, ids: &[u32]) {
        self.background.clear();
        self.background.extend(inputs.background.iter().map(|&v| T::of(v)));
        self.rows.clear(inputs.ncols());
        for &id in ids {
            let range = inputs.starts[id as usize]..inputs.starts[id as usize + 1];
            self.rows.push_row(&inputs.columns[range.clone()], &inputs.deltas[range]);
        }
        self.columns.transpose_of(&self.rows);
    }

    /// The number of rows, `N`.
    pub fn nrows(&self) -> usize {
        self.rows.nrows()
    }

    /// The number of columns, `D`.
    pub fn ncols(&self) -> usize {
        self.background.len()
    }

    /// The most common value of each column, `[D]`.
    pub fn background(&self) -> &[T] {
        &self.background
    }

    /// The deviations from the background, `δ`, `[N, D]`.
    pub(crate) fn deltas(&self) -> &Compressed<T> {
        &self.rows
    }

    /// The deviations transposed, `δᵀ`, `[D, N]`.
    pub(crate) fn deltas_transposed(&self) -> &Compressed<T> {
        &self.columns
    }

    /// Writes the rows `x` as a dense matrix, `[N, D]`: stored entries are within rounding of the data, all others are the data.
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
    use crate::numeric::linalg::Accumulate;
    use crate::numeric::scratch::Scratch;
    use crate::random::noise::{Key, Purpose};
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
                for into in [Accumulate::Replace, Accumulate::Add] {
                    let expected = Mat::from_fn(sparse.nrows(), m, |i, j| {
                        let sum: f64 = (0..sparse.ncols()).map(|k| factor[(i, k)] * dense[(k, j)]).sum();
                        if into == Accumulate::Add { before[(i, j)] + sum } else { sum }
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
        block.deltas().times(Accumulate::Replace, dense.view(), all.view_mut(), &mut scratch);
        for j in [0, 40, 100] {
            let mut one = Mat::zeros(50, 1);
            let column = Mat::from_fn(60, 1, |k, _| dense[(k, j)]);
            block.deltas().times(Accumulate::Replace, column.view(), one.view_mut(), &mut scratch);
            assert!((0..50).all(|i| one[(i, 0)] == all[(i, j)]));
        }
    }

    #[test]
    fn a_second_gather_leaves_nothing_of_the_first() {
        let first = SparseInputs::detect(bits(100, 64, 0.2, 17).view()).unwrap();
        let second = SparseInputs::detect(bits(60, 48, 0.05, 18).view()).unwrap();
        let (mut reused, mut fresh) = (SparseRows::<f32>::default(), SparseRows::<f32>::default());
        reused.gather(&first, &(0..100).collect::<Vec<_>>());
        let memory = |block: &SparseRows<f32>| (block.rows.capacities().1, block.columns.capacities().0);
        let held = memory(&reused);
        for ids in [&[5, 59, 7][..], &[], &[2]] {
            reused.gather(&second, ids);
            fresh.gather(&second, ids);
            assert_eq!(format!("{reused:?}"), format!("{fresh:?}"));
            assert_eq!((reused.nrows(), reused.ncols(), memory(&reused)), (ids.len(), 48, held));
            let (dense, mut out) = (uniform(48, 5, 19).cast(), uniform(ids.len(), 5, 20).cast::<f32>());
            reused.deltas().times(Accumulate::Replace, dense.view(), out.view_mut(), &mut Scratch::default());
            let mut expected = Mat::zeros(ids.len(), 5);
            fresh.deltas().times(Accumulate::Replace, dense.view(), expected.view_mut(), &mut Scratch::default());
            assert_eq!(out, expected);
            let mut dense = uniform(80, 70, 21).cast();
            reused.to_dense(&mut dense);
            assert_eq!(dense, self::dense(&second, ids));
        }
    }
}
