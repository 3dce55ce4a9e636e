//! The data term on the host: every objective with every likelihood beside the library's, and one of each that the library does not have.

use std::fmt::Write as _;

use deepgp::ObjectiveForm;
use deepgp::likelihood::{
    Bernoulli, Gaussian, Heteroscedastic, Latent, Likelihood, Link, NegativeBinomial, Ordered, Outcomes, Poisson,
    Softmax, StudentT,
};
use deepgp::objective::{RowBars, RowTerm, Samples};

use super::data_term::{LikelihoodText, power};
use super::host_program::{array, near, scattered};
use super::on_host::run;
use super::{Definition, Source};
use crate::kernels::DataTerm;

const BATCH_ROWS: usize = 4;
/// Rows of the dataset in the batch, and how many of them count.
const IDS: [usize; BATCH_ROWS] = [3, 0, 4, 1];
const LIVE: usize = 3;
const SCALE: f64 = 2.5;
/// How faithful the step is, where an objective asks.
const FAITHFULNESS: f64 = 0.4;

/// A batch as the data term sees it.
#[derive(Clone)]
struct Case {
    samples: usize,
    latents: usize,
    observed: usize,
    mean: Vec<f64>,
    variance: Vec<f64>,
    conditional: Vec<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
    /// The offset of each row of the dataset; none where there are none.
    offsets: Vec<f64>,
    theta: Vec<f64>,
    /// The logits of samples' weights; none where they weigh alike.
    logits: Vec<f64>,
}

impl Case {
    fn new(samples: usize, latents: usize, observed: usize, theta: Vec<f64>) -> Self {
        let positive = |numbers: Vec<f64>| numbers.into_iter().map(|number: f64| 0.1 + number.abs()).collect();
        let numbers = BATCH_ROWS * samples * latents;
        Self {
            samples,
            latents,
            observed,
            mean: scattered(numbers, 1),
            variance: positive(scattered(numbers, 2)),
            conditional: positive(scattered(BATCH_ROWS * samples, 6)),
            y: scattered(5 * observed, 3),
            weights: positive(scattered(5, 4)),
            offsets: Vec::new(),
            theta,
            logits: Vec::new(),
        }
    }

    /// The case for a likelihood, with its parameters.
    fn of(samples: usize, likelihood: &dyn Likelihood) -> Self {
        let mut theta = Vec::new();
        likelihood.clone_box().visit(&mut |leaf| theta.extend_from_slice(leaf.values));
        let mut case = Self::new(samples, likelihood.latent_width(), likelihood.observed_width(), theta);
        for (i, y) in case.y.iter_mut().enumerate() {
            *y = match likelihood.outcomes() {
                Outcomes::Real => *y,
                // The rows that count have different ones, the first and the last class among them.
                Outcomes::Classes(classes) => [0, 1, classes / 2, classes - 1, 1][i] as f64,
                Outcomes::Counts => [0.0, 3.0, 1.0, 400.0, 7.0][i],
            };
        }
        if likelihood.takes_offset(0) {
            case.offsets = scattered(5, 8);
        }
        case
    }

    /// The same with learned sites in place of samples.
    fn with_sites(self) -> Self {
        let logits = scattered(self.samples, 7).into_iter().map(|number| 700.0 + 2.0 * number).collect();
        Self { logits, ..self }
    }

    /// The weight of a row of the batch in the data term.
    fn whole(&self, in_batch: usize) -> f64 {
        if in_batch < LIVE { SCALE * self.weights[IDS[in_batch]] } else { 0.0 }
    }

    fn y_of(&self, in_batch: usize) -> &[f64] {
        &self.y[IDS[in_batch] * self.observed..][..self.observed]
    }

    fn moments_of(&self, row: usize) -> Latent<'_> {
        let own = row * self.latents..(row + 1) * self.latents;
        Latent { mean: &self.mean[own.clone()], variance: &self.variance[own] }
    }

    /// The data term, then the gradients at theta, the logarithms of samples' weights, means, variances and conditional
    /// variances, as the kernel computes them.
    fn on_host(&self, test: &str, source: &Source<DataTerm>, power: f64) -> Option<Vec<f64>> {
        let (rows, parameters) = (BATCH_ROWS * self.samples, self.theta.len());
        let length = 1 + parameters + self.logits.len();
        let or_null = |name, of: &[f64]| if of.is_empty() { "nullptr" } else { name };
        let (logits, offsets) = (or_null("logits", &self.logits), or_null("offsets", &self.offsets));
        let or_zero = |of: &[f64]| if of.is_empty() { vec![0.0] } else { of.to_vec() };
        let mut main = String::new();
        // The batch is that of step 1, of two.
        let ids: Vec<f64> = [9; BATCH_ROWS].into_iter().chain(IDS).map(|id| id as f64).collect();
        let ids = array("unsigned", "ids", &ids).replace(".0", "");
        for text in [
            array("double", "mean", &self.mean),
            array("double", "variance", &self.variance),
            array("double", "conditional", &self.conditional),
            array("double", "y", &self.y),
            array("double", "weights", &self.weights),
            array("double", "theta", &self.theta),
            array("double", "logits", &or_zero(&self.logits)),
            array("double", "offsets", &or_zero(&self.offsets)),
            ids,
        ] {
            main.push_str(&text);
        }
        let _ = write!(
            main,
            "    static double conditional_bar[{rows}], mean_bar[{numbers}], variance_bar[{numbers}], partial[{rows}][{length}], sums[{length}];
    const Step steps[] = {{{{}}, {{0.1, 0.7, {SCALE:?}, {FAITHFULNESS:?}, 5, {LIVE}}}}};
    const Control control = {{1}};
    for (blockIdx.x = 0; blockIdx.x < {rows}; blockIdx.x++)
        data_term(mean, variance, conditional, y, weights, {offsets}, ids, theta, {logits}, {rows}, {samples}, {latents}, {observed},
                  {parameters}, {power:?}, steps, &control, mean_bar, variance_bar, conditional_bar, partial[0]);
    for (int row = 0; row < {rows}; row++)
        for (int i = 0; i < {length}; i++) sums[i] += partial[row][i];
    print(sums, {length});
    print(mean_bar, {numbers});
    print(variance_bar, {numbers});
    print(conditional_bar, {rows});
",
            numbers = rows * self.latents,
            samples = self.samples,
            latents = self.latents,
            observed = self.observed,
        );
        run(test, &source.text, &main)
    }

    /// What [`Case::on_host`] is to find, from the library.
    fn by_the_library(&self, objective: ObjectiveForm, likelihood: &dyn Likelihood) -> Vec<f64> {
        let (objective, each) = (objective.objective(), self.samples * self.latents);
        let (mut total, mut theta) = (0.0, vec![0.0; self.theta.len()]);
        let whole = self.logits.iter().map(|own| (own - 700.0).exp()).sum::<f64>().ln() + 700.0;
        let log_weights: Vec<f64> = self.logits.iter().map(|own| own - whole).collect();
        let mut log_weights_bar = vec![0.0; log_weights.len()];
        let mut conditional_bar = vec![0.0; BATCH_ROWS * self.samples];
        let (mut mean_bar, mut variance_bar) = (vec![0.0; BATCH_ROWS * each], vec![0.0; BATCH_ROWS * each]);
        for i in 0..LIVE {
            let own = i * each..(i + 1) * each;
            let log_weights = Some(&log_weights[..]).filter(|own| !own.is_empty());
            let offset = self.offsets.get(IDS[i]).copied().unwrap_or(0.0);
            let mean: Vec<f64> = self.mean[own.clone()].iter().map(|mean| mean + offset).collect();
            let variance = &self.variance[own.clone()];
            let of_samples = i * self.samples..(i + 1) * self.samples;
            let conditional = &self.conditional[of_samples.clone()];
            let f = Samples { log_weights, conditional, ..Samples::alike(&mean, variance, self.latents) };
            let weight = self.weights[IDS[i]];
            let row = RowTerm { likelihood, shared: &[], y: self.y_of(i), f, weight, scale: SCALE, progress: 0.8 };
            objective.add(&row, &mut total);
            let bars = RowBars {
                mean: &mut mean_bar[own.clone()],
                variance: &mut variance_bar[own],
                conditional: &mut conditional_bar[of_samples],
                log_weights: &mut log_weights_bar,
                likelihood: &mut theta,
                shared: &mut [],
            };
            objective.pullback(&row, bars);
        }
        [vec![total], theta, log_weights_bar, mean_bar, variance_bar, conditional_bar].concat()
    }
}

/// Every likelihood, each with two outputs whose parameters differ.
fn likelihoods() -> [Box<dyn Likelihood>; 3] {
    let mut noise = Heteroscedastic::new(0.3, 2);
    noise.noise[1] = 1.2;
    let mut tails = StudentT::new(0.3, 2.4, 2);
    (tails.noise[1], tails.degrees[1]) = (0.8, 30.0);
    [Box::new(Gaussian { noise: vec![0.3, 1.2] }), Box::new(noise), Box::new(tails)]
}

/// Every likelihood of classes and counts.
fn discrete() -> Vec<Box<dyn Likelihood>> {
    vec![
        Box::new(Bernoulli { link: Link::Probit, level: 0.3 }),
        Box::new(Bernoulli { link: Link::Logit, level: -0.4 }),
        Box::new(Softmax { levels: vec![0.2, -0.3] }),
        Box::new(Softmax { levels: vec![0.2, -0.3, 0.0, 1.1] }),
        Box::new(Ordered { first: 0.2, gaps: vec![] }),
        Box::new(Ordered { first: -0.7, gaps: vec![0.6, 1.1] }),
        Box::new(Poisson { level: 0.7 }),
        Box::new(NegativeBinomial { level: 0.7, dispersion: 2.3 }),
        Box::new(NegativeBinomial { level: 0.7, dispersion: 60.0 }),
    ]
}

const OBJECTIVES: [ObjectiveForm; 3] =
    [ObjectiveForm::Elbo, ObjectiveForm::PREDICTIVE, ObjectiveForm::Predictive { power: 0.3 }];

/// Compares a case with the library.
fn agrees(case: &Case, objective: ObjectiveForm, likelihood: &dyn Likelihood) {
    let samples = if case.logits.is_empty() { "samples" } else { "sites" };
    let name = format!("{objective:?} of {} with {} {samples}", likelihood.name(), case.samples);
    let source = LikelihoodText::new(likelihood.description().unwrap()).source::<f64>(objective);
    // The name is that of a folder too.
    let test = name.replace(|c: char| !c.is_alphanumeric(), "-");
    let Some(found) = case.on_host(&test, &source, power(objective)) else { return };
    near(&name, &found, &case.by_the_library(objective, likelihood));
}

#[test]
fn every_objective_of_every_likelihood_is_the_librarys() {
    for likelihood in likelihoods() {
        for objective in OBJECTIVES {
            for samples in [1, 3] {
                agrees(&Case::of(samples, &*likelihood), objective, &*likelihood);
            }
            agrees(&Case::of(4, &*likelihood).with_sites(), objective, &*likelihood);
        }
    }
    let followed = &likelihoods()[1];
    for case in [Case::of(1, &**followed), Case::of(3, &**followed), Case::of(4, &**followed).with_sites()] {
        agrees(&case, ObjectiveForm::Faithful { power: 0.3, hold: 0.5, release: 1.0 }, &**followed);
    }
}

#[test]
fn every_objective_of_classes_and_counts_is_the_librarys() {
    for likelihood in discrete() {
        for objective in OBJECTIVES {
            agrees(&Case::of(1, &*likelihood), objective, &*likelihood);
            agrees(&Case::of(3, &*likelihood).with_sites(), objective, &*likelihood);
        }
        // Variances from none to far more than a prior has, and means far out.
        let mut case = Case::of(1, &*likelihood);
        for i in 0..case.mean.len() {
            case.mean[i] *= [1.0, 30.0, 5.0][i % 3];
            case.variance[i] = [0.0, 3.0, 1e-3, 40.0][i % 4];
        }
        for objective in OBJECTIVES {
            agrees(&case, objective, &*likelihood);
        }
    }
}

#[test]
fn the_tighter_bound_of_gaussian_noise_is_the_librarys() {
    let likelihood = &likelihoods()[0];
    for case in [Case::of(1, &**likelihood), Case::of(3, &**likelihood), Case::of(4, &**likelihood).with_sites()] {
        agrees(&case, ObjectiveForm::Tighter, &**likelihood);
        let values =
            [ObjectiveForm::Tighter, ObjectiveForm::Elbo].map(|own| case.by_the_library(own, &**likelihood)[0]);
        assert!(values[0] > values[1], "{values:?}");
    }
}

#[test]
fn a_noise_that_depends_on_the_inputs_has_the_librarys_bounds() {
    let likelihood = &likelihoods()[1];
    let mut case = Case::of(2, &**likelihood);
    let plain = case.by_the_library(ObjectiveForm::Elbo, &**likelihood);
    for (i, mean) in case.mean.iter_mut().enumerate().filter(|(i, _)| i % 2 == 1) {
        // Logarithms far below and far above the bounds, and between them; some are hardly known at all.
        *mean = [-20.0, 0.5, 15.0, -13.0][i / 2 % 4];
        case.variance[i] = [0.4, 30.0, 2.0, 0.0][i / 2 % 4];
    }
    // A noise at its floor that would fall further: the target is met.
    (case.mean[0], case.variance[0]) = (case.y_of(0)[0], 1e-8);
    for objective in OBJECTIVES {
        agrees(&case, objective, &**likelihood);
    }
    assert_ne!(plain, case.by_the_library(ObjectiveForm::Elbo, &**likelihood));
}

/// A likelihood whose terms read two latent functions, one column of `y` and two parameters, and an objective that looks at all samples
/// of a row and at what inducing inputs leave: `log mean_s exp E log p(y | f_s) + Σ_s d_s`. Nobody needs them; they show that the seam is not cut to Gaussian noise and the ELBO.
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
    double weight, total, conditional;
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
        weight = rows.whole(row) * own / sum;
        total = row == first ? rows.whole(row) * log(sum / rows.samples) : 0;
        conditional = rows.whole(row);
        total += conditional * rows.conditional[row];
    }
    __device__ __forceinline__ void add(const Term &term, TermBars &bars) {
        Likelihood::expected_log_density(term, weight, bars);
    }
    __device__ __forceinline__ double log_weight_bar() const { return weight; }
    __device__ __forceinline__ double conditional_bar() const { return conditional; }
};
using Objective = LogMean<Paired>;
";

/// The source with [`OTHERS`].
pub fn others<T: crate::device::real::Real>() -> Source<DataTerm> {
    let sizes = [Definition::new("LATENTS", 2), Definition::new("OBSERVED", 1), Definition::new("PARAMETERS", 2)];
    Source::data_term::<T>(&sizes, "", OTHERS)
}

/// The objective of [`OTHERS`], from the formula.
fn log_mean(case: &Case) -> f64 {
    let value = |row: usize| -> f64 {
        let (y, f) = (case.y_of(row / case.samples), case.moments_of(row));
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
            let mean = (0..case.samples).map(|s| value(i * case.samples + s).exp()).sum::<f64>() / case.samples as f64;
            let conditional: f64 = case.conditional[i * case.samples..(i + 1) * case.samples].iter().sum();
            case.whole(i) * (mean.ln() + conditional)
        })
        .sum()
}

#[test]
fn another_likelihood_and_objective_fit_the_seam() {
    let mut case = Case::new(2, 4, 2, vec![0.4, 0.9, 0.2, 0.7]);
    let Some(found) = case.on_host("another likelihood", &others::<f64>(), 1.0) else { return };
    near("the data term", &found[..1], &[log_mean(&case)]);
    let mut at = 1;
    let parts: [fn(&mut Case) -> &mut Vec<f64>; 4] =
        [|case| &mut case.theta, |case| &mut case.mean, |case| &mut case.variance, |case| &mut case.conditional];
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
