//! Where inducing inputs start: k-means, random rows, or greedily where the prior is least certain.
//!
//! All three give `M` distinct points; there must be as many distinct rows. Above [`SUBSAMPLE`] rows, k-means
//! and the greedy choice look at a random subset: their cost is `O(rows · M · D)` a round and `O(rows · M²)`.

use std::ops::ControlFlow;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::kernel::{Evaluate, Kernel, Scratch};
use crate::layer::compare_rows;
use crate::model::start::StartWatch;
use crate::numeric::linalg::{Accumulate, dot, product};
use crate::numeric::mat::{Mat, View, ViewMut};
use crate::numeric::simd::vectorised;
use crate::random::noise::Key;

/// The largest number of rows that k-means and the greedy choice look at.
pub const SUBSAMPLE: usize = 20_000;
/// The most rounds of Lloyd's algorithm.
const ROUNDS: usize = 20;
/// The number of rows that are assigned to centres at a time.
const CHUNK: usize = 1024;

/// The rule by which the starting points of inducing inputs are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum InducingStart {
    /// Centres of k-means, started by k-means++.
    KMeans,
    /// Rows of the data at random.
    RandomRows,
    /// Row after row where the prior variance, given those already chosen, is largest (Burt et al. 2020).
    GreedyVariance,
}

/// The distinct rows of a matrix, as indices into it.
#[derive(Debug)]
pub(crate) struct Distinct(Vec<u32>);

impl Distinct {
    /// The distinct rows of `x`: one index for each, in the order in which they first appear. Costs a sort.
    pub fn of(x: View<'_>) -> Self {
        let row = |i: u32| x.row(i as usize);
        // Each with its first number: of most pairs no more needs to be fetched.
        let mut keyed: Vec<(f64, u32)> =
            (0..x.nrows() as u32).map(|i| (row(i).first().map_or(0.0, |v| v + 0.0), i)).collect();
        keyed.par_sort_by(|(a, i), (b, j)| a.total_cmp(b).then_with(|| compare_rows(row(*i), row(*j))).then(i.cmp(j)));
        let mut order: Vec<u32> = keyed.into_iter().map(|(_, i)| i).collect();
        order.dedup_by(|later, first| row(*later) == row(*first));
        order.sort_unstable();
        Self(order)
    }

    /// The number of distinct rows.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// The `m` inducing inputs, `[m, D]`, at which a layer starts whose inputs are `x`; `m` is no more than there are distinct rows.
pub(crate) fn choose(
    start: InducingStart,
    x: View<'_>,
    distinct: &Distinct,
    m: usize,
    kernel: &dyn Kernel,
    key: Key,
    watch: &mut StartWatch<'_>,
) -> Result<Mat> {
    if m == 0 {
        return Err(Error::Setting { name: "inducing inputs", value: "0".into(), requirement: "at least 1" });
    }
    let centres = match start {
        InducingStart::RandomRows => Mat::zeros(0, x.ncols()),
        InducingStart::KMeans => k_means(&subsample(x, key), m, key, watch),
        InducingStart::GreedyVariance => greedy_variance(&subsample(x, key), m, kernel, watch),
    };
    Ok(complete(centres, x, distinct, m, key))
}

/// The `m_a` inducing inputs, `[m_a, D]`, whose first `m_b` are a good choice of `m_b` by themselves; `sizes` is `(m_a, m_b)`.
///
/// Random rows and the greedy choice are so in any case: each is a sequence. Of k-means the head is the `m_b` centres, and the rest
/// the `m_a` centres without those next to a centre of the head.
pub(crate) fn choose_nested(
    start: InducingStart,
    x: View<'_>,
    distinct: &Distinct,
    sizes: (usize, usize),
    kernel: &dyn Kernel,
    key: Key,
    watch: &mut StartWatch<'_>,
) -> Result<Mat> {
    let (m_a, m_b) = sizes;
    let all = choose(start, x, distinct, m_a, kernel, key, watch)?;
    match start {
        InducingStart::RandomRows | InducingStart::GreedyVariance => Ok(all),
        InducingStart::KMeans => {
            let head = choose(start, x, distinct, m_b, kernel, key, watch)?;
            let centres = head.stack(&without_nearest(&all, &head));
            Ok(complete(centres, x, distinct, m_a, key))
        }
    }
}

/// The rows of `all` without, for each row of `head` in turn, the nearest that is left.
fn without_nearest(all: &Mat, head: &Mat) -> Mat {
    let mut left: Vec<u32> = (0..all.nrows() as u32).collect();
    for i in 0..head.nrows() {
        let distance = |j: &u32| {
            let pairs = head.row(i).iter().zip(all.row(*j as usize));
            pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
        };
        if let Some((at, _)) = left.iter().map(distance).enumerate().min_by(|a, b| a.1.total_cmp(&b.1)) {
            left.remove(at);
        }
    }
    all.gather(&left)
}

/// All rows of `x`, or [`SUBSAMPLE`] of them at random if there are more.
fn subsample(x: View<'_>, key: Key) -> Mat {
    if x.nrows() <= SUBSAMPLE {
        return x.to_mat();
    }
    let order = key.permutation(x.nrows(), 1);
    let mut out = Mat::zeros(SUBSAMPLE, x.ncols());
    for (i, &from) in order[..SUBSAMPLE].iter().enumerate() {
        out.row_mut(i).copy_from_slice(x.row(from as usize));
    }
    out
}

/// The distinct rows of `centres`, filled up to `m` with random rows of `x` that are not among them.
fn complete(centres: Mat, x: View<'_>, distinct: &Distinct, m: usize, key: Key) -> Mat {
    let bits = |row: &[f64]| row.iter().map(|v| (v + 0.0).to_bits()).collect::<Vec<u64>>();
    let mut seen = std::collections::HashSet::new();
    let mut out = Vec::with_capacity(m * x.ncols());
    let candidates = key.permutation(distinct.len(), 2);
    let rows = (0..centres.nrows())
        .map(|i| centres.row(i))
        .chain(candidates.iter().map(|&i| x.row(distinct.0[i as usize] as usize)));
    for row in rows {
        if seen.len() == m {
            break;
        }
        if seen.insert(bits(row)) {
            out.extend_from_slice(row);
        }
    }
    Mat::from_vec(m, x.ncols(), out).expect("there are at least m distinct rows")
}

/// The centres of k-means, `[m, D]`, by Lloyd's algorithm from a k-means++ start: in turn, every row goes to its nearest centre,
/// `a_i = argmin_c ‖x_i − z_c‖²`, and every centre to the mean of its rows, `z_c = mean {x_i : a_i = c}`, until nothing changes. An empty
/// cluster moves to the row farthest from its centre. If `watch` breaks, the centres are those of the round before.
fn k_means(x: &Mat, m: usize, key: Key, watch: &mut StartWatch<'_>) -> Mat {
    let (n, d) = (x.nrows(), x.ncols());
    // The start costs about as much as a round.
    let mut tell = |rounds: f64| watch.tell(m, rounds / (1 + ROUNDS) as f64);
    let mut centres = k_means_plus_plus(x, m, key, &mut tell);
    let mut nearest: Vec<(u32, f64)> = vec![(u32::MAX, 0.0); n];
    for round in 1..=ROUNDS {
        if tell(round as f64).is_break() {
            break;
        }
        let changed = assign(x, &centres, &mut nearest);
        if changed == 0 {
            break;
        }
        let mut counts = vec![0u32; centres.nrows()];
        let mut sums: Mat = Mat::zeros(centres.nrows(), d);
        for (i, (centre, _)) in nearest.iter().enumerate() {
            counts[*centre as usize] += 1;
            for (to, from) in sums.row_mut(*centre as usize).iter_mut().zip(x.row(i)) {
                *to += from;
            }
        }
        for (c, &count) in counts.iter().enumerate() {
            if count > 0 {
                for (to, from) in centres.row_mut(c).iter_mut().zip(sums.row(c)) {
                    *to = from / f64::from(count);
                }
            } else {
                let farthest = (0..n).max_by(|&i, &j| nearest[i].1.total_cmp(&nearest[j].1)).unwrap_or(0);
                nearest[farthest].1 = 0.0;
                centres.row_mut(c).copy_from_slice(x.row(farthest));
            }
        }
    }
    centres
}

/// The starting centres of k-means, by k-means++ (Arthur and Vassilvitskii 2007): the first is a row drawn uniformly, each next one row
/// `i` with probability `D_i² / Σ_j D_j²`, where `D_i = min_c ‖x_i − z_c‖` is its distance from the nearest centre so far. There are
/// fewer than `m` if every row is a centre before, or if `tell`, which sees the share of them that is chosen, breaks. Costs `O(N · m · D)`.
fn k_means_plus_plus(x: &Mat, m: usize, key: Key, tell: &mut dyn FnMut(f64) -> ControlFlow<()>) -> Mat {
    let (n, d) = (x.nrows(), x.ncols());
    let mut chosen = vec![((key.uniform([0, 3, 0, 0]) * n as f64) as usize).min(n - 1)];
    let mut distance = vec![f64::INFINITY; n];
    while chosen.len() < m && tell(chosen.len() as f64 / m as f64).is_continue() {
        let newest = x.row(chosen[chosen.len() - 1]);
        distance.par_chunks_mut(CHUNK).zip(x.as_slice().par_chunks(CHUNK * d)).for_each(|(distance, rows)| {
            vectorised(
                #[inline(always)]
                || {
                    for (best, row) in distance.iter_mut().zip(rows.chunks_exact(d)) {
                        let mut squared = 0.0;
                        for (a, b) in row.iter().zip(newest) {
                            squared += (a - b) * (a - b);
                        }
                        *best = best.min(squared);
                    }
                },
            );
        });
        let total: f64 = distance.iter().sum();
        if total <= 0.0 {
            break;
        }
        let mut left = key.uniform([chosen.len() as u32, 3, 0, 0]) * total;
        let mut pick = None;
        for (i, v) in distance.iter().enumerate().filter(|(_, v)| **v > 0.0) {
            pick = Some(i);
            left -= v;
            if left <= 0.0 {
                break;
            }
        }
        chosen.push(pick.expect("some distance is positive"));
    }
    x.gather(&chosen.iter().map(|&i| i as u32).collect::<Vec<_>>())
}

/// Writes every row's nearest centre and its squared distance, by `‖x‖² + ‖z‖² − 2 x·z`; returns how many rows changed theirs.
fn assign(x: &Mat, centres: &Mat, nearest: &mut [(u32, f64)]) -> usize {
    let (d, m) = (x.ncols(), centres.nrows());
    let norms: Vec<f64> = (0..m).map(|c| dot(centres.row(c), centres.row(c))).collect();
    let chunks = nearest.par_chunks_mut(CHUNK).zip(x.as_slice().par_chunks(CHUNK * d));
    chunks
        .map(|(nearest, rows)| {
            let rows = View::new(rows, nearest.len(), d);
            let mut cross = Mat::zeros(nearest.len(), m);
            product(cross.view_mut().faer(), Accumulate::Replace, -2.0, rows.faer(), centres.view().faer().transpose());
            let mut changed = 0;
            for (i, nearest) in nearest.iter_mut().enumerate() {
                let (mut best, mut at) = (f64::INFINITY, 0);
                for (c, (cross, norm)) in cross.row(i).iter().zip(&norms).enumerate() {
                    if cross + norm < best {
                        (best, at) = (cross + norm, c as u32);
                    }
                }
                changed += usize::from(nearest.0 != at);
                *nearest = (at, (best + dot(rows.row(i), rows.row(i))).max(0.0));
            }
            changed
        })
        .sum()
}

/// The rows chosen greedily by prior variance: a partial pivoted Cholesky factorisation of `k(x, x)`. With `d_i` the prior variance at
/// row `i` given the rows chosen so far, at first `k(x_i, x_i)`, the next row and the update are
///
/// ```text
/// p = argmax_i d_i        c_i = (k(x_i, x_p) − Σ_j c_ij c_pj) / √d_p        d_i ← d_i − c_i²
/// ```
///
/// where `c_ij` are the `c_i` of the rounds before. There are fewer than `m` if no variance is left before, or `watch` breaks. Costs
/// `O(N · m²)`.
fn greedy_variance(x: &Mat, m: usize, kernel: &dyn Kernel, watch: &mut StartWatch<'_>) -> Mat {
    let n = x.nrows();
    let mut variance = vec![0.0; n];
    Evaluate::<f64>::diagonal(kernel, x.view(), &mut variance);
    let smallest = 1e-12 * variance.iter().copied().fold(0.0, f64::max);
    // Row i of `columns` holds c_1 … c_m at row i of x.
    let mut columns: Mat = Mat::zeros(n, m);
    let mut chosen: Vec<u32> = Vec::new();
    let mut cross = vec![0.0; n];
    let scratch = &mut Scratch::default();
    // A round costs in proportion to those before it.
    while chosen.len() < m && watch.tell(m, (chosen.len() as f64 / m as f64).powi(2)).is_continue() {
        let pivot = (0..n).max_by(|&i, &j| variance[i].total_cmp(&variance[j]).then(j.cmp(&i))).unwrap_or(0);
        if variance[pivot] <= smallest {
            break;
        }
        let step = chosen.len();
        chosen.push(pivot as u32);
        let point = View::new(x.row(pivot), 1, x.ncols());
        Evaluate::<f64>::cross(kernel, x.view(), point, ViewMut::new(&mut cross, n, 1), scratch);
        let (root, pivot_row) = (variance[pivot].sqrt(), columns.row(pivot)[..step].to_vec());
        let rows = columns.as_mut_slice().par_chunks_mut(m).zip(&mut variance).zip(&cross);
        rows.for_each(|((row, variance), cross): ((&mut [f64], &mut f64), &f64)| {
            let c = (cross - dot(&row[..step], &pivot_row)) / root;
            row[step] = c;
            *variance = (*variance - c * c).max(0.0);
        });
        variance[pivot] = 0.0;
    }
    x.gather(&chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::SquaredExponential;
    use crate::model::start::{StartProgress, unwatched};
    use crate::random::noise::Purpose;
    use crate::testing::uniform;

    const ALL: [InducingStart; 3] = [InducingStart::KMeans, InducingStart::RandomRows, InducingStart::GreedyVariance];

    fn chosen(start: InducingStart, x: &Mat, m: usize) -> Result<Mat> {
        let kernel = SquaredExponential::new(1.0, vec![1.0; x.ncols()]);
        let key = Key::new(5, Purpose::Inducing);
        choose(start, x.view(), &Distinct::of(x.view()), m, &kernel, key, &mut StartWatch::new(&mut unwatched))
    }

    #[test]
    fn who_watches_sees_the_work_grow_and_may_cut_it_short() {
        let x = uniform(400, 2, 6);
        let (kernel, key) = (SquaredExponential::new(1.0, vec![1.0; 2]), Key::new(5, Purpose::Inducing));
        for start in [InducingStart::KMeans, InducingStart::GreedyVariance] {
            let mut shares = Vec::new();
            let mut cut = |at: f64| {
                shares.clear();
                let mut see = |progress: StartProgress| {
                    assert_eq!((progress.layer, progress.inducing), (0, 20));
                    shares.push(progress.share);
                    if progress.share >= at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                let watch = &mut StartWatch::new(&mut see);
                let z = choose(start, x.view(), &Distinct::of(x.view()), 20, &kernel, key, watch).unwrap();
                assert_eq!(Distinct::of(z.view()).len(), 20);
                let rising = shares.windows(2).all(|pair| pair[0] < pair[1]);
                assert!(rising && shares[0] >= 0.0 && shares[shares.len() - 1] < 1.0, "{shares:?}");
                (z, shares.len())
            };
            let (whole, all) = cut(2.0);
            assert_eq!(whole, chosen(start, &x, 20).unwrap());
            // In the start of k-means, and in its rounds.
            for at in [0.0, 0.02, 0.2] {
                let (z, seen) = cut(at);
                assert!(z != whole && seen < all, "{start:?}, {at}");
            }
        }
    }

    #[test]
    fn all_ways_give_distinct_points_even_from_repeated_rows() {
        let x = Mat::from_fn(60, 2, |i, j| ((i / 3) * (j + 1) % 20) as f64);
        let distinct = Distinct::of(x.view()).len();
        assert_eq!(distinct, 20);
        for start in ALL {
            for m in [1, 7, distinct] {
                let z = chosen(start, &x, m).unwrap();
                assert_eq!((z.nrows(), Distinct::of(z.view()).len()), (m, m), "{start:?}");
            }
            assert!(chosen(start, &x, 0).is_err());
        }
    }

    #[test]
    fn k_means_finds_well_separated_clusters() {
        let jitter = uniform(90, 2, 1);
        let middle = [(0.0, 0.0), (50.0, 0.0), (0.0, 50.0)];
        let x = Mat::from_fn(90, 2, |i, j| if j == 0 { middle[i % 3].0 } else { middle[i % 3].1 } + jitter[(i, j)]);
        let z = chosen(InducingStart::KMeans, &x, 3).unwrap();
        for (a, b) in middle {
            assert!((0..3).any(|c| (z[(c, 0)] - a).abs() < 1.0 && (z[(c, 1)] - b).abs() < 1.0));
        }
    }

    #[test]
    fn greedy_variance_leaves_less_prior_variance_than_random_rows() {
        let x = uniform(200, 2, 3);
        let kernel = SquaredExponential::new(1.0, vec![1.0; 2]);
        // tr(K − K_xz K_zz⁻¹ K_zx) by dense algebra.
        let left = |z: &Mat| {
            let mut k_zz = Mat::zeros(z.nrows(), z.nrows());
            kernel.gram(z.view(), k_zz.view_mut(), &mut Scratch::default());
            for i in 0..z.nrows() {
                k_zz[(i, i)] += 1e-10;
            }
            let k = crate::kernel::tests::cross(&kernel, z, &x);
            let scratch = &mut Scratch::default();
            let inverse = crate::numeric::linalg::Cholesky::new(&k_zz, scratch).unwrap().into_inverse_lower(scratch);
            let a = crate::numeric::linalg::times(inverse.view().faer(), k.view().faer(), scratch);
            200.0 - a.as_slice().iter().map(|v| v * v).sum::<f64>()
        };
        let greedy = left(&chosen(InducingStart::GreedyVariance, &x, 12).unwrap());
        let random = left(&chosen(InducingStart::RandomRows, &x, 12).unwrap());
        assert!(greedy < 0.5 * random, "{greedy} {random}");
    }

    #[test]
    fn many_rows_are_subsampled_and_the_choice_repeats() {
        let x = uniform(SUBSAMPLE + 500, 1, 4);
        let z = chosen(InducingStart::KMeans, &x, 20).unwrap();
        assert_eq!(z, chosen(InducingStart::KMeans, &x, 20).unwrap());
    }
}
