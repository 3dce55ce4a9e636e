//! Device functions run on the host: CUDA text without clusters or matrix units is C++ but for a few words, so a C++ compiler makes a
//! program of it, in which every block has one thread. So formulas are compared with the library's where there is no GPU; where there is
//! no C++ compiler either, the tests say that they were skipped.

use std::fmt::Write as _;

use deepgp::KernelChoice;
use deepgp::ObjectiveForm;
use deepgp::kernel::{Evaluate, KernelForm, Scratch};
use deepgp::likelihood::{Gaussian, Latent, LatentBars, Likelihood};
use deepgp::{Mat, View};

use super::covariance::CovarianceText;
use super::data_term::LikelihoodText;
use super::host_program::{array, near, run_program, scattered};
use super::{Definition, Source};
use crate::kernels::DataTerm;

/// CUDA's words for C++, with one thread in each block: sums over a warp or a block are the thread's own number.
const CUDA_WORDS: &str = r#"
#include <cmath>
#include <cstddef>
#include <cstdio>
using std::isfinite;
#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
struct Place { unsigned x, y; };
static Place threadIdx, blockIdx, blockDim = {1, 1}, gridDim = {1, 1};
static void __syncthreads() {}
template <class T> static T __shfl_down_sync(unsigned, T, int) { return 0; }
static void print(const double *numbers, int n) { for (int i = 0; i < n; i++) printf(" %.17g", numbers[i]); }
"#;

/// What a program prints that is made of `text` and the statements `main`, or `None` after saying that `test` is skipped.
fn run(test: &str, text: &str, main: &str) -> Option<Vec<f64>> {
    run_program(test, &format!("{CUDA_WORDS}{text}"), main)
}

const SAMPLES: usize = 2;
const BATCH_ROWS: usize = 4;
/// Rows of the dataset in the batch, and how many of them count.
const IDS: [usize; BATCH_ROWS] = [3, 0, 4, 1];
const LIVE: usize = 3;
const SCALE: f64 = 2.5;

/// A batch as the data term sees it.
struct Case {
    latents: usize,
    observed: usize,
    mean: Vec<f64>,
    variance: Vec<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
    theta: Vec<f64>,
}

impl Case {
    fn new(latents: usize, observed: usize, parameters: usize) -> Self {
        let positive = |numbers: Vec<f64>| numbers.into_iter().map(|number: f64| 0.1 + number.abs()).collect();
        let numbers = BATCH_ROWS * SAMPLES * latents;
        Self {
            latents,
            observed,
            mean: scattered(numbers, 1),
            variance: positive(scattered(numbers, 2)),
            y: scattered(5 * observed, 3),
            weights: positive(scattered(5, 4)),
            theta: positive(scattered(parameters, 5)),
        }
    }

    /// What every sample of a batch's row weighs in the data term.
    fn share(&self, in_batch: usize) -> f64 {
        if in_batch < LIVE { SCALE * self.weights[IDS[in_batch]] } else { 0.0 }
    }

    fn y_of(&self, in_batch: usize) -> &[f64] {
        &self.y[IDS[in_batch] * self.observed..][..self.observed]
    }

    fn moments_of(&self, row: usize) -> Latent<'_> {
        let own = row * self.latents..(row + 1) * self.latents;
        Latent { mean: &self.mean[own.clone()], variance: &self.variance[own] }
    }

    /// The data term, then the gradients at theta, means and variances, as the kernel computes them.
    fn on_host(&self, test: &str, source: &Source<DataTerm>) -> Option<Vec<f64>> {
        let (rows, parameters) = (BATCH_ROWS * SAMPLES, self.theta.len());
        let mut main = String::new();
        // The batch is that of step 1, of two.
        let ids: Vec<f64> = [9; BATCH_ROWS].into_iter().chain(IDS).map(|id| id as f64).collect();
        let ids = array("unsigned", "ids", &ids).replace(".0", "");
        for text in [
            array("double", "mean", &self.mean),
            array("double", "variance", &self.variance),
            array("double", "y", &self.y),
            array("double", "weights", &self.weights),
            array("double", "theta", &self.theta),
            ids,
        ] {
            main.push_str(&text);
        }
        let _ = write!(
            main,
            "    static double mean_bar[{numbers}], variance_bar[{numbers}], partial[{rows}][1 + {parameters}], sums[1 + {parameters}];
    const Step steps[] = {{{{}}, {{0.1, 0.7, {SCALE:?}, 5, {LIVE}}}}};
    const Control control = {{1}};
    for (blockIdx.x = 0; blockIdx.x < {rows}; blockIdx.x++)
        data_term(mean, variance, y, weights, ids, theta, {rows}, {SAMPLES}, {latents}, {observed}, {parameters}, steps, &control,
                  mean_bar, variance_bar, partial[0]);
    for (int row = 0; row < {rows}; row++)
        for (int i = 0; i < 1 + {parameters}; i++) sums[i] += partial[row][i];
    print(sums, 1 + {parameters});
    print(mean_bar, {numbers});
    print(variance_bar, {numbers});
",
            numbers = rows * self.latents,
            latents = self.latents,
            observed = self.observed,
        );
        run(test, &source.text, &main)
    }
}

#[test]
fn the_gaussian_likelihood_is_the_librarys() {
    let case = Case::new(3, 3, 3);
    let gaussian = Gaussian { noise: case.theta.clone() };
    let source = LikelihoodText::new(gaussian.description().unwrap()).source::<f64>(ObjectiveForm::Elbo);
    let Some(found) = case.on_host("the Gaussian likelihood", &source) else { return };
    let rows = BATCH_ROWS * SAMPLES;
    let (mut total, mut theta) = (0.0, vec![0.0; 3]);
    let (mut mean, mut variance) = (vec![0.0; 3 * rows], vec![0.0; 3 * rows]);
    for row in 0..rows {
        let (y, f, weight) = (case.y_of(row / SAMPLES), case.moments_of(row), case.share(row / SAMPLES));
        let own = 3 * row..3 * row + 3;
        total += weight * gaussian.expected_log_density(y, f);
        let bars = LatentBars { mean: &mut mean[own.clone()], variance: &mut variance[own], theta: &mut theta };
        gaussian.expected_log_density_pullback(y, f, weight, bars);
    }
    near("the data term", &found[..1], &[total]);
    near("the noise's gradient", &found[1..4], &theta);
    near("the means' gradient", &found[4..4 + 3 * rows], &mean);
    near("the variances' gradient", &found[4 + 3 * rows..], &variance);
}

/// A likelihood whose terms read two latent functions, one column of `y` and two parameters, and an objective that looks at all samples
/// of a row: `log mean_s exp E log p(y | f_s)`. Nobody needs them; they show that the seam is not cut to Gaussian noise and the ELBO.
const OTHERS: &str = r"
struct Paired {
    static __device__ __forceinline__ double expected_log_density(const Term &at, double weight, TermBars &bars) {
        const double residual = at.y[0] - at.mean[0] * at.mean[1];
        bars.mean[0] = weight * at.theta[0] * residual * at.mean[1];
        bars.mean[1] = weight * at.theta[0] * residual * at.mean[0];
        bars.variance[0] = -weight;
        bars.variance[1] = -weight * at.theta[1];
        bars.theta[0] = -0.5 * weight * residual * residual;
        bars.theta[1] = -weight * at.variance[1];
        return -0.5 * at.theta[0] * residual * residual - at.variance[0] - at.theta[1] * at.variance[1];
    }
};
template <class Likelihood> struct LogMean {
    double weight, total;
    __device__ __forceinline__ LogMean(const Rows &rows, int row) {
        const int first = row / rows.samples * rows.samples;
        double sum = 0, own = 0;
        for (int s = 0; s < rows.samples; s++) {
            double value = 0;
            TermBars unused;
            for (int t = 0; t < rows.terms; t++)
                value += Likelihood::expected_log_density(rows.term(first + s, t), 0, unused);
            sum += exp(value);
            if (first + s == row) own = exp(value);
        }
        weight = rows.share(row) * rows.samples * own / sum;
        total = row == first ? rows.share(row) * rows.samples * log(sum / rows.samples) : 0;
    }
    __device__ __forceinline__ void add(const Term &term, TermBars &bars) {
        Likelihood::expected_log_density(term, weight, bars);
    }
};
using Objective = LogMean<Paired>;
";

/// The source with [`OTHERS`].
pub fn others<T: crate::device::real::Real>() -> Source<DataTerm> {
    let sizes = [Definition::new("LATENTS", 2), Definition::new("OBSERVED", 1), Definition::new("PARAMETERS", 2)];
    Source::data_term::<T>(&sizes, OTHERS)
}

/// The objective of [`OTHERS`], from the formula.
fn log_mean(case: &Case) -> f64 {
    let value = |row: usize| -> f64 {
        let (y, f) = (case.y_of(row / SAMPLES), case.moments_of(row));
        let term = |t: usize| {
            // Parameters stand one kind after the other, each for both terms.
            let (precision, slope) = (case.theta[t], case.theta[2 + t]);
            let residual = y[t] - f.mean[2 * t] * f.mean[2 * t + 1];
            -0.5 * precision * residual * residual - f.variance[2 * t] - slope * f.variance[2 * t + 1]
        };
        term(0) + term(1)
    };
    (0..BATCH_ROWS)
        .map(|i| {
            let mean = (0..SAMPLES).map(|s| value(i * SAMPLES + s).exp()).sum::<f64>() / SAMPLES as f64;
            case.share(i) * SAMPLES as f64 * mean.ln()
        })
        .sum()
}

#[test]
fn another_likelihood_and_objective_fit_the_seam() {
    let mut case = Case::new(4, 2, 4);
    let Some(found) = case.on_host("another likelihood", &others::<f64>()) else { return };
    near("the data term", &found[..1], &[log_mean(&case)]);
    let mut at = 1;
    let parts: [fn(&mut Case) -> &mut Vec<f64>; 3] =
        [|case| &mut case.theta, |case| &mut case.mean, |case| &mut case.variance];
    for part in parts {
        for i in 0..part(&mut case).len() {
            let mut moved = |by: f64| {
                part(&mut case)[i] += by;
                let value = log_mean(&case);
                part(&mut case)[i] -= by;
                value
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((found[at] - slope).abs() < 1e-8, "number {at}: {} and {slope}", found[at]);
            at += 1;
        }
    }
    assert_eq!(at, found.len());
}

#[test]
fn stationary_kernels_are_the_librarys_and_their_slopes_are_slopes() {
    let choices = [
        KernelChoice::SquaredExponential,
        KernelChoice::Matern12,
        KernelChoice::Matern32,
        KernelChoice::Matern52,
        KernelChoice::RationalQuadratic,
    ];
    // All at once, as the leaves of a sum.
    let form = KernelForm::Sum(choices.map(KernelForm::One).to_vec());
    let source = CovarianceText::alone(&form, 1).source::<f64>();
    let squares = [0.01, 0.3, 1.0, 4.0, 30.0, 90.0, 8000.0];
    let mut main = array("double", "squares", &squares);
    let _ = write!(
        main,
        "    const double shape = 1, h = 1e-6;
    for (int leaf = 0; leaf < LEAVES; leaf++)
        for (int i = 0; i < {}; i++) {{
            const double r2 = squares[i], g = profile<double>(leaf, r2, shape);
            const double up = profile<double>(leaf, r2 * (1 + h), shape), down = profile<double>(leaf, r2 * (1 - h), shape);
            const double more = profile<double>(leaf, r2, shape + h), less = profile<double>(leaf, r2, shape - h);
            const double out[] = {{g, slope<double>(leaf, r2, g, shape), (up - down) / (2 * h * r2),
                                  shape_slope<double>(leaf, r2, g, shape), (more - less) / (2 * h)}};
            print(out, 5);
        }}
",
        squares.len()
    );
    // Only the functions that were written out, not the kernels, which work together in blocks.
    let functions = source.text.split("// Kernel matrices and their pullbacks").next().unwrap();
    let Some(found) = run("stationary kernels", functions, &main) else { return };
    let mut found = found.chunks_exact(5);
    for choice in choices {
        let kernel = choice.start(1);
        let (variance, lengthscale) = {
            let mut parameters = std::collections::HashMap::new();
            kernel.clone_box().visit(&mut |leaf| _ = parameters.insert(leaf.name.to_string(), leaf.values[0]));
            assert!(parameters.get("alpha").is_none_or(|alpha| *alpha == 1.0), "the shape above is the starting one");
            (parameters["variance"], parameters["lengthscales"])
        };
        for r2 in squares {
            let x = Mat::from_vec(1, 1, vec![lengthscale * r2.sqrt()]).unwrap();
            let (z, mut k) = (Mat::zeros(1, 1), Mat::zeros(1, 1));
            let (x, z): (View<'_>, View<'_>) = (x.view(), z.view());
            Evaluate::<f64>::cross(&*kernel, x, z, k.view_mut(), &mut Scratch::default());
            let own = found.next().unwrap();
            let expected = k[(0, 0)] / variance;
            assert!((own[0] - expected).abs() <= 1e-13 * expected, "{choice:?} at {r2}: {} and {expected}", own[0]);
            for pair in own[1..].chunks_exact(2) {
                assert!((pair[0] - pair[1]).abs() <= 1e-7 * pair[0].abs().max(1e-3), "{choice:?} at {r2}: {pair:?}");
            }
        }
    }
}
