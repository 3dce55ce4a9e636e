//! Random numbers without state: a draw is a function of a key and a counter.
//!
//! Philox-4x32-10 (Salmon et al. 2011) turns a 64-bit key and a 128-bit counter into 128 random bits. The key is made
//! of the seed and the [`Purpose`]; in training the counter is (step, dataset row, sample, layer and output), so a draw
//! depends neither on threads nor on how rows are cut into blocks or dealt to machines. Prediction leaves the row out:
//! all rows share the same draws, so a prediction does not depend on the other rows, and sampled curves are smooth.
//!
//! Training needs a normal for each row, layer and output at each step, so [`Noise`] draws many at a time in vector
//! instructions: 4 ns a number with AVX-512, against 14 ns a pair at a time. The numbers are the same to the bit.

use crate::numeric::mat::Mat;
use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;
use crate::random::box_muller::normal_pair;

/// The purpose of random numbers. Each has a stream of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Samples of hidden layers in training.
    Train = 1,
    /// Samples of hidden layers in prediction.
    Predict = 2,
    /// The order of rows in an epoch.
    Shuffle = 3,
    /// The choice of rows that are held out.
    Split = 4,
    /// The choice of inducing inputs at the start.
    Inducing = 5,
    /// Draws of whole functions, over many rows at once.
    Joint = 6,
    /// Simulated data.
    Simulate = 7,
    /// Draws of observations.
    Observe = 8,
    /// The starting points of learned sites.
    Sites = 9,
    /// The order of rows that stand in for each other.
    Importance = 10,
    /// The candidates of a search for settings.
    Search = 11,
}

/// The key of a stream of random numbers: a seed for one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key([u32; 2]);

impl Key {
    /// The key of `seed` for one purpose.
    pub fn new(seed: u64, purpose: Purpose) -> Self {
        let z = mix(seed.wrapping_add((purpose as u64).wrapping_mul(GOLDEN_GAMMA)));
        Self([z as u32, (z >> 32) as u32])
    }

    /// The two words of the key, for a generator elsewhere.
    pub fn words(self) -> [u32; 2] {
        self.0
    }

    /// The 128 random bits of a counter: ten rounds of Philox.
    pub fn bits(self, counter: [u32; 4]) -> [u32; 4] {
        self.wide_bits(counter.map(u64::from)).map(|word| word as u32)
    }

    /// [`Key::bits`] in the lower halves of wider words, whatever is in the upper halves. A product of two words then
    /// stays where it is, in vectors too, which have no cheap way to narrow it.
    #[inline(always)]
    fn wide_bits(self, mut counter: [u64; 4]) -> [u64; 4] {
        let [mut k0, mut k1] = self.0;
        for _ in 0..10 {
            let a = (counter[0] & LOWER) * 0xD251_1F53;
            let b = (counter[2] & LOWER) * 0xCD9E_8D57;
            counter = [(b >> 32) ^ counter[1] ^ u64::from(k0), b, (a >> 32) ^ counter[3] ^ u64::from(k1), a];
            k0 = k0.wrapping_add(0x9E37_79B9);
            k1 = k1.wrapping_add(0xBB67_AE85);
        }
        counter
    }

    /// Two independent standard normals of a counter (Box and Muller), from two 53-bit uniforms.
    pub fn normals(self, counter: [u32; 4]) -> [f64; 2] {
        let mut out = [0.0; 2];
        vectorised(
            #[inline(always)]
            || out = self.normals_inlined(counter),
        );
        out
    }

    /// [`Key::normals`], compiled for the vectors of its caller, on which the result does not depend.
    #[inline(always)]
    fn normals_inlined(self, counter: [u32; 4]) -> [f64; 2] {
        let [a, b, c, d] = self.wide_bits(counter.map(u64::from));
        normal_pair(open_unit(a, b), open_unit(c, d))
    }

    /// A uniform number in (0, 1] of a counter; rounding makes it 1 once in 2⁵³ draws.
    pub fn uniform(self, counter: [u32; 4]) -> f64 {
        let [a, b, ..] = self.wide_bits(counter.map(u64::from));
        open_unit(a, b)
    }

    /// `0..n` in random order (Fisher and Yates); `stream` numbers the shuffles of one key.
    pub fn permutation(self, n: usize, stream: u64) -> Vec<u32> {
        let mut order: Vec<u32> = (0..n as u32).collect();
        let (low, high) = (stream as u32, (stream >> 32) as u32);
        for i in (1..n).rev() {
            let [a, b, ..] = self.bits([i as u32, low, high, 0]);
            // A 64-bit multiple of the range: its bias, i / 2⁶⁴, cannot be seen.
            let wide = u128::from(u64::from(a) << 32 | u64::from(b)) * (i as u128 + 1);
            order.swap(i, (wide >> 64) as usize);
        }
        order
    }
}

/// The lower half of a word.
const LOWER: u64 = 0xFFFF_FFFF;

/// The increment of SplitMix64: 2⁶⁴ divided by the golden ratio.
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of SplitMix64: a bijection in which every bit of the input stirs every bit of the output.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Two counter words that are a function of a row's numbers, wherever the row stands.
pub(crate) fn row_words(row: &[f64]) -> [u32; 2] {
    let z = row.iter().fold(0u64, |z, v| mix(z.wrapping_add((v + 0.0).to_bits()).wrapping_add(GOLDEN_GAMMA)));
    [z as u32, (z >> 32) as u32]
}

/// 53 of the 64 bits in the lower halves of two words, as a number in (0, 1]: never 0, so that its logarithm is finite.
#[inline(always)]
fn open_unit(high: u64, low: u64) -> f64 {
    let bits = (high << 32 | low & LOWER) >> 11;
    (bits as f64 + 0.5) * (1.0 / 9_007_199_254_740_992.0)
}

/// The numbers of some rows of a batch, by which their noise is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowNumbers<'a> {
    /// The rows' numbers in the dataset.
    pub ids: &'a [u32],
    /// The place of the first one in the batch.
    pub first: usize,
    /// The number to add to the rows' numbers where the dataset is part of a larger one.
    pub offset: u32,
}

/// The source of the standard normals `ε` of the hidden layers.
#[derive(Clone, Copy, Debug)]
pub enum Noise<'a> {
    /// Fresh draws for each (step, row, sample, layer, output): training.
    Rows {
        /// The key of the draws.
        key: Key,
        /// The optimiser's step; after 2³² of them the draws repeat.
        step: u32,
    },
    /// The same draws for every row, each independent of the others.
    Shared {
        /// The key of the draws.
        key: Key,
    },
    /// One `[rows · samples, width]` matrix for each hidden layer, sample by sample within a row; `rows` counts from
    /// the first row of the batch. For comparison with other programs.
    Given(&'a [Mat]),
    /// One `[samples, width]` matrix for each hidden layer, the same for every row: prediction ([`prediction_noise`](crate::DeepGp::prediction_noise)),
    /// and learned sites.
    Table(&'a [Mat]),
}

impl Noise<'_> {
    /// Writes the draws of hidden layer `layer` for some rows of a batch: `out` is `[rows · samples, width]`.
    ///
    /// The draws of a row depend on its number among all rows, wherever it is computed.
    pub(crate) fn fill<T: Real>(&self, layer: usize, rows: RowNumbers<'_>, samples: usize, out: &mut Mat<T>) {
        let RowNumbers { ids, first, offset } = rows;
        let width = out.ncols();
        match *self {
            Self::Given(given) => {
                let source = &given[layer].as_slice()[first * samples * width..];
                for (to, from) in out.as_mut_slice().iter_mut().zip(source) {
                    *to = T::of(*from);
                }
            }
            Self::Table(points) => {
                let own = points[layer].as_slice();
                for copy in out.as_mut_slice().chunks_exact_mut(own.len().max(1)) {
                    for (to, from) in copy.iter_mut().zip(own) {
                        *to = T::of(*from);
                    }
                }
            }
            Self::Rows { key, step } => {
                let counter = move |id: u32, s| [id.wrapping_add(offset), step, s, (layer as u32) << 16];
                let rows = ids.iter().flat_map(|&id| (0..samples as u32).map(move |s| counter(id, s)));
                fill_rows(key, rows, width, out.as_mut_slice());
            }
            Self::Shared { key } => {
                let (drawn, rest) = out.as_mut_slice().split_at_mut(samples * width);
                let rows = (0..samples as u32).map(|s| [0, 0, s, (layer as u32) << 16]);
                fill_rows(key, rows, width, drawn);
                for copy in rest.chunks_exact_mut(samples * width) {
                    copy.copy_from_slice(drawn);
                }
            }
        }
    }
}

/// Writes a row of normals, two for each counter; `counter[3]` counts the pairs.
pub(crate) fn fill_row<T: Real>(key: Key, mut counter: [u32; 4], row: &mut [T]) {
    for pair in row.chunks_mut(2) {
        let normals = key.normals(counter);
        for (to, from) in pair.iter_mut().zip(normals) {
            *to = T::of(from);
        }
        counter[3] += 1;
    }
}

/// Writes rows of normals, each `width` long and from a counter of its own: [`fill_row`] for many rows.
fn fill_rows<T: Real>(key: Key, counters: impl Iterator<Item = [u32; 4]>, width: usize, out: &mut [T]) {
    // `max`, because there are no chunks of 0 numbers; `out` is then empty.
    let mut rows = out.chunks_exact_mut(width.max(1)).zip(counters);
    let mut lanes = Lanes::default();
    vectorised(
        #[inline(always)]
        || {
            for (row, mut counter) in rows.by_ref() {
                for pair in row.chunks_mut(2) {
                    lanes.push(counter, pair);
                    counter[3] += 1;
                    if lanes.len == LANES {
                        lanes.draw(key);
                    }
                }
            }
            lanes.draw(key);
        },
    );
}

/// The most counters that are turned into normals side by side.
const LANES: usize = 64;

/// Counters and the places for their normals. Rows share them, so that narrow ones fill the vectors too.
struct Lanes<'a, T> {
    /// The four words of each counter.
    counters: [[u32; LANES]; 4],
    /// The place for each counter's normals, one or two numbers.
    places: [&'a mut [T]; LANES],
    /// The number of lanes in use.
    len: usize,
}

impl<T> Default for Lanes<'_, T> {
    fn default() -> Self {
        Self { counters: [[0; LANES]; 4], places: [(); LANES].map(|()| Default::default()), len: 0 }
    }
}

impl<'a, T: Real> Lanes<'a, T> {
    /// Adds a counter and the place for its normals.
    #[inline(always)]
    fn push(&mut self, counter: [u32; 4], place: &'a mut [T]) {
        for (words, word) in self.counters.iter_mut().zip(counter) {
            words[self.len] = word;
        }
        self.places[self.len] = place;
        self.len += 1;
    }

    /// Writes the normals of all lanes in use, one or two to a place, and empties them.
    #[inline(always)]
    fn draw(&mut self, key: Key) {
        let mut normals = [[T::ZERO; LANES]; 2];
        let [c0, c1, c2, c3] = &self.counters;
        // Whole vectors: the lanes beyond the last place draw for nobody. The words are taken one by one, because the
        // loop is not vectorised if `self.counters.map` takes them.
        for i in 0..self.len.next_multiple_of(8).min(LANES) {
            let [first, second] = key.normals_inlined([c0[i], c1[i], c2[i], c3[i]]);
            (normals[0][i], normals[1][i]) = (T::of(first), T::of(second));
        }
        for (i, place) in self.places[..self.len].iter_mut().enumerate() {
            for (to, from) in place.iter_mut().zip(&normals) {
                *to = from[i];
            }
        }
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(ids: &[u32]) -> RowNumbers<'_> {
        RowNumbers { ids, first: 0, offset: 0 }
    }

    #[test]
    fn philox_gives_the_published_numbers() {
        // Known answers of the Random123 distribution for philox4x32-10.
        assert_eq!(Key([0, 0]).bits([0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(Key([u32::MAX; 2]).bits([u32::MAX; 4]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            Key([0xa409_3822, 0x299f_31d0]).bits([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn normals_have_the_moments_of_normals() {
        let key = Key::new(7, Purpose::Train);
        let n = 100_000;
        let draws: Vec<f64> = (0..n / 2).flat_map(|i| key.normals([i as u32, 0, 0, 0])).collect();
        let moment = |p: i32| draws.iter().map(|z| z.powi(p)).sum::<f64>() / f64::from(n);
        for (p, expected, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            let standard_error = (variance / f64::from(n)).sqrt();
            assert!((moment(p) - expected).abs() < 4.0 * standard_error, "moment {p}: {}", moment(p));
        }
    }

    #[test]
    fn normals_are_those_of_box_and_muller_with_and_without_vectors() {
        let key = Key::new(7, Purpose::Train);
        for i in 0..100_000 {
            let counter = [i, 5, 1, i % 7];
            let [a, b, c, d] = key.bits(counter).map(u64::from);
            let (u, v) = (open_unit(a, b), open_unit(c, d));
            let found = key.normals(counter);
            assert_eq!(found, normal_pair(u, v), "at {counter:?}");
            let radius = (-2.0 * u.ln()).sqrt();
            let (sin, cos) = (std::f64::consts::TAU * v).sin_cos();
            for (found, expected) in found.into_iter().zip([radius * cos, radius * sin]) {
                assert!((found - expected).abs() <= 1e-15 * radius, "at {counter:?}: {found} and {expected}");
            }
        }
    }

    #[test]
    fn many_rows_have_the_bits_of_single_rows() {
        fn check<T: Real>(key: Key, rows: usize, width: usize) {
            let (step, samples, ids) = (5, 2, (0..rows as u32).map(|i| 7 * i).collect::<Vec<_>>());
            let mut all = Mat::<T>::zeros(rows * samples, width);
            Noise::Rows { key, step }.fill(3, numbers(&ids), samples, &mut all);
            for (i, found) in all.as_slice().chunks_exact(width).enumerate() {
                let mut row = vec![T::ZERO; width];
                fill_row(key, [ids[i / samples], step, (i % samples) as u32, 3 << 16], &mut row);
                assert_eq!(found, row, "row {i} of {rows}, width {width}");
            }
        }
        for rows in [1, 2, 31, 32, 33, 100] {
            for width in [1, 2, 5, 10, 127, 128, 129] {
                check::<f64>(Key::new(3, Purpose::Train), rows, width);
                check::<f32>(Key::new(3, Purpose::Train), rows, width);
            }
        }
    }

    #[test]
    fn a_permutation_holds_each_row_once_and_streams_differ() {
        let key = Key::new(1, Purpose::Shuffle);
        let (first, second) = (key.permutation(100, 0), key.permutation(100, 1));
        assert_ne!(first, second);
        let mut sorted = first;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn purposes_and_seeds_have_streams_of_their_own() {
        let first = |seed, purpose| Key::new(seed, purpose).bits([0; 4]);
        assert_ne!(first(0, Purpose::Train), first(0, Purpose::Predict));
        assert_ne!(first(0, Purpose::Train), first(1, Purpose::Train));
    }

    #[test]
    fn rows_get_their_own_draws_wherever_they_stand() {
        let noise = Noise::Rows { key: Key::new(3, Purpose::Train), step: 5 };
        let (mut all, mut one) = (Mat::<f64>::zeros(6, 3), Mat::<f64>::zeros(2, 3));
        noise.fill(1, numbers(&[10, 11, 12]), 2, &mut all);
        noise.fill(1, numbers(&[12]), 2, &mut one);
        assert_eq!(&all.as_slice()[12..], one.as_slice());
        let shared = Noise::Shared { key: Key::new(3, Purpose::Predict) };
        shared.fill(0, numbers(&[0, 1, 2]), 2, &mut all);
        assert_eq!(all.row(0), all.row(4));
        assert_ne!(all.row(0), all.row(1));
    }
}
