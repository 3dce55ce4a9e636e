//! A made-up but likely report, for the tests and for looking at.

mod discrete;

pub(super) use discrete::{counts, several_classes, two_classes};

use deepgp::likelihood::LikelihoodDescription;
use deepgp::{Importance, ObjectiveForm, Scaling, Score};

use super::{
    Along, Choices, ChosenRow, Dependence, History, ImportanceView, InducingView, Interval, LayerRelevance, NoiseView,
    Output, Report, RowDensity, ScoreRow, rows_with_interval,
};
use crate::model::units::Judge;

/// A source of seeded random numbers: a linear congruential generator is random enough for pictures.
struct Draws(u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// A normal number, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }
}

/// The distribution function of the standard normal, to about 1e-7 (Abramowitz and Stegun 26.2.17).
fn normal_cdf(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let poly = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let tail = poly.iter().fold(0.0, |sum, c| t * (sum + c)) * super::statistics::normal_density(z);
    if z > 0.0 { 1.0 - tail } else { tail }
}

/// Predictions of rows whose noise grows with the mean; `over` is the factor by which the model understates it.
fn output(name: &str, rows: usize, over: f64, draws: &mut Draws) -> Output {
    let mut output = Output {
        name: name.to_owned(),
        y: Vec::new(),
        mean: Vec::new(),
        intervals_95: Vec::new(),
        pit: Vec::new(),
        deviation: Vec::new(),
        noise: None,
        densities: Vec::new(),
    };
    for _ in 0..rows {
        let mean = 36.0 + 14.0 * draws.normal() + 5.0 * draws.uniform();
        let deviation = 1.6 + 5.0 / (1.0 + (-(mean - 45.0) / 8.0).exp());
        let z = over * draws.normal() * if draws.uniform() < 0.02 { 2.5 } else { 1.0 };
        output.y.push(mean + z * deviation);
        output.mean.push(mean);
        output.pit.push(normal_cdf(z));
        output.deviation.push(deviation);
    }
    let interval = |row: usize| {
        let (mean, reach) = (output.mean[row], 1.96 * output.deviation[row]);
        Interval { row, lower: mean - reach, upper: mean + reach }
    };
    output.intervals_95 = rows_with_interval(rows).into_iter().map(interval).collect();
    let reasons = [ChosenRow::Narrow, ChosenRow::Typical, ChosenRow::Wide, ChosenRow::LeastLikely];
    output.densities = reasons.iter().enumerate().map(|(row, &reason)| density(&output, row, reason)).collect();
    output
}

/// The Gaussian density of a row.
fn density(output: &Output, row: usize, reason: ChosenRow) -> RowDensity {
    let (y, mean, deviation) = (output.y[row], output.mean[row], output.deviation[row]);
    let point = |k: i32| (mean + f64::from(k) / 25.0 * deviation, f64::from(k) / 25.0);
    let curve = (-80..=80).map(point).map(|(y, z)| (y, super::statistics::normal_density(z) / deviation));
    RowDensity { reason, y, mean, curve: curve.collect() }
}

/// A noise that is most of a prediction's deviation, and grows along the first of four inputs.
fn noise(output: &Output, draws: &mut Draws) -> NoiseView {
    let along: Vec<f64> = output.mean.iter().map(|mean| 6.0 * mean + 30.0 * draws.normal()).collect();
    let mut other = |name: &str| (name.to_owned(), along.iter().map(|_| 90.0 * draws.uniform()).collect());
    NoiseView {
        mean: output.mean.clone(),
        error: output.y.iter().zip(&output.mean).map(|(y, mean)| y - mean).collect(),
        spread: output.deviation.clone(),
        deviation: output.deviation.iter().map(|deviation| 0.9 * deviation).collect(),
        inputs: vec![("cement".to_owned(), along.clone()), other("age"), other("water"), other("slag")],
    }
}

fn history(draws: &mut Draws) -> History {
    let mut history = History { kept_step: Some(8_500.0), model_noise: vec![2.11], ..History::default() };
    for step in (0..10_000).step_by(10).map(f64::from) {
        let kl = 420.0 * (1.0 - (-step / 1500.0).exp()) + 12.0;
        let data = -9_200.0 + 14_500.0 * (1.0 - (-step / 700.0).exp()) + step / 40.0 + 130.0 * draws.normal();
        history.step.push(step);
        history.seconds.push(step * 0.0083);
        history.kl.push(kl);
        history.data_term.push(data);
        history.objective.push(data - kl);
        history.noise.push(2.1 + 14.0 * (-step / 900.0).exp());
    }
    for step in (500..=10_000).step_by(500).map(f64::from) {
        let score = -2.74 - 0.9 * (-step / 1400.0).exp() - 1.2e-9 * (step - 8_000.0).powi(2) + 0.006 * draws.normal();
        history.validation.push((step, score));
    }
    history
}

/// What the predictions of a price depend on: a category of which there are many levels, and two numbers.
pub(super) fn explained() -> ImportanceView {
    let share = |share: f64| Importance { share, error: 0.05 * share };
    let curve = |lift: f64| (0..20).map(|k| lift + 3.0 * (f64::from(k) / 6.0).sin()).collect::<Vec<f64>>();
    let area = Dependence {
        column: "area".into(),
        along: Along::Numbers((0..20).map(|k| 20.0 + 7.0 * f64::from(k)).collect()),
        means: vec![("strength".into(), curve(5.0))],
        band: curve(5.0).iter().map(|own| (own - 1.0, own + 1.0)).collect(),
        curves: (0..8).map(|row| curve(f64::from(row))).collect(),
    };
    let zone = Dependence {
        column: "zone".into(),
        along: Along::Levels(["north", "south", "east and its suburbs"].map(String::from).into()),
        means: vec![("strength".into(), vec![5.0, 7.0, 4.0])],
        band: vec![(4.0, 6.0), (6.5, 7.5), (2.0, 6.0)],
        curves: vec![vec![5.5, 7.0, 4.5], vec![4.0, 6.0, 5.0]],
    };
    ImportanceView {
        target: "strength".into(),
        units: None,
        of_classes: false,
        rows: 900,
        columns: vec![("area".into(), share(0.6)), ("zone".into(), share(0.35)), ("age".into(), share(0.1))],
        dependence: vec![area, zone],
    }
}

fn relevance(draws: &mut Draws) -> Vec<LayerRelevance> {
    let names = [
        "cement",
        "age",
        "water",
        "blast furnace slag",
        "superplasticiser",
        "fly ash",
        "fine aggregate",
        "coarse aggregate",
    ];
    let first = names.iter().enumerate().map(|(i, name)| ((*name).to_owned(), 1.4 * (-0.42 * i as f64).exp()));
    let mut hidden = |from: usize, count: usize| -> Vec<_> {
        (1..=count).map(|d| (format!("layer {from}, output {d}"), 0.9 * draws.uniform().powi(2))).collect()
    };
    vec![
        LayerRelevance { layer: "layer 1 (input)".to_owned(), inputs: first.collect() },
        LayerRelevance { layer: "layer 2".to_owned(), inputs: hidden(1, 8) },
        LayerRelevance { layer: "layer 3 (output)".to_owned(), inputs: hidden(2, 30) },
    ]
}

fn inducing(draws: &mut Draws) -> Vec<InducingView> {
    let mut view = |layer: &str, bend: f64| {
        let mut cloud = |count: usize, wide: f64| -> Vec<(f64, f64)> {
            let mut point = || {
                let t = 1.4 * draws.normal();
                (t * wide, wide * (bend * t * t - bend + 0.45 * draws.normal()))
            };
            (0..count).map(|_| point()).collect()
        };
        let (data, mean_inducing, covariance_inducing) = (cloud(900, 1.0), cloud(90, 1.15), cloud(40, 1.05));
        InducingView {
            layer: layer.to_owned(),
            axes: ("first principal direction".to_owned(), "second principal direction".to_owned()),
            data,
            mean_inducing,
            covariance_inducing,
        }
    };
    vec![view("layer 1 (input)", 0.1), view("layer 2", 0.35), view("layer 3 (output)", -0.5)]
}

/// The scores of a model, alike on every target but for `rmse`, which has one for each.
fn row(name: &str, rmse: &[f64], log_likelihood: f64, coverage: f64, seconds: f64, of_model: bool) -> ScoreRow {
    let times = |factor: f64| rmse.iter().map(|rmse| factor * rmse).collect();
    let share = |less: f64| vec![coverage - less; rmse.len()];
    let original = Score {
        log_likelihood,
        rmse: times(1.0),
        mae: times(0.76),
        crps: times(0.54),
        coverage_50: share(0.44),
        coverage_90: share(0.045),
        coverage_95: share(0.0),
    };
    let units = Scaling { shift: vec![0.0; rmse.len()], scale: vec![16.2; rmse.len()] };
    let standardised = original.standardised(&units);
    ScoreRow { name: name.to_owned(), original, standardised, seconds: Some(seconds), of_model, is_baseline: !of_model }
}

/// A report with every section, on one target.
pub(super) fn report() -> Report {
    let mut draws = Draws(7);
    let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Report {
        title: "strength · concrete.csv".to_owned(),
        summary:
            "A deep Gaussian process with 2 hidden layers of 8, decoupled with 90 inducing inputs for the mean and \
                  40 for the covariance, trained on 6552 rows of 8 inputs."
                .to_owned(),
        created: "2026-11-15 09:30".to_owned(),
        version: "deepgp 0.1.0".to_owned(),
        targets: vec!["strength".to_owned()],
        scores: vec![
            row("deep GP", &[4.31], -2.71, 0.943, 83.4, true),
            row("sparse GP (one layer)", &[4.92], -2.93, 0.951, 41.0, false),
            row("linear regression", &[10.4], -3.76, 0.948, 0.012, false),
            row("training mean", &[16.4], -4.22, 0.955, 0.0004, false),
        ],
        classes: None,
        counts: None,
        scored_on: Some("1638 test rows that training never saw".to_owned()),
        choices: Choices { likelihood: Some(LikelihoodDescription::Gaussian { outputs: 1 }), ..Choices::default() },
        outputs: vec![output("strength", 1638, 1.02, &mut draws)],
        history: history(&mut draws),
        importance: vec![explained()],
        relevance: relevance(&mut draws),
        inducing: inducing(&mut draws),
        settings: vec![
            setting("hidden layers", "2 of width 8"),
            setting("kernel", "squared exponential, one lengthscale an input"),
            setting("mean form, covariance form", "whitened, whitened"),
            setting("inducing inputs", "90 (mean), 40 (covariance)"),
            setting("optimiser", "Adam, step 0.01, 10 000 steps of 1024 rows"),
            setting("seed", "0"),
            setting("training rows, validation rows, test rows", "5897, 655, 1638"),
        ],
        notes: vec![
            "Column “batch id” was left out: it has a single value.".to_owned(),
            "Layer 2 needed a jitter of 1e-5 in 3 of 10 000 steps.".to_owned(),
        ],
    }
}

/// A report with every section, on three targets.
pub(super) fn report_on_three() -> Report {
    let mut report = report();
    let mut draws = Draws(11);
    let names = ["strength", "slump", "flow"];
    report.outputs =
        names.iter().zip([1.0, 1.35, 0.7]).map(|(name, over)| output(name, 600, over, &mut draws)).collect();
    report.targets = names.map(str::to_owned).to_vec();
    report.scores = vec![
        row("deep GP", &[4.3, 5.1, 9.9], -8.1, 0.94, 83.0, true),
        row("linear regression", &[10.4, 4.9, 12.0], -9.3, 0.95, 0.012, false),
    ];
    report.history.model_noise = vec![2.11, 3.22, 4.33];
    report
}

/// A report on a model whose noise follows the inputs, trained by the faithful objective and judged by CRPS.
pub(super) fn heteroscedastic() -> Report {
    let (mut report, mut draws) = (report(), Draws(13));
    report.choices = Choices {
        likelihood: Some(LikelihoodDescription::Heteroscedastic { outputs: 1 }),
        objective: ObjectiveForm::Faithful { power: 1.0, hold: 0.5, release: 1.0 },
        judge: Judge::Crps,
        ..Choices::default()
    };
    report.history.validation.iter_mut().for_each(|(_, score)| *score = -*score);
    report.outputs[0].noise = Some(noise(&report.outputs[0], &mut draws));
    report
}

/// A report on a model with Student's t.
pub(super) fn student_t() -> Report {
    let mut report = report();
    report.choices.likelihood = Some(LikelihoodDescription::StudentT { outputs: 1 });
    report.choices.degrees = vec![4.0];
    report
}

/// A report without any data.
pub(super) fn empty() -> Report {
    Report {
        title: String::new(),
        summary: String::new(),
        created: String::new(),
        version: String::new(),
        targets: Vec::new(),
        scores: Vec::new(),
        classes: None,
        counts: None,
        scored_on: None,
        choices: Choices::default(),
        outputs: Vec::new(),
        history: History::default(),
        importance: Vec::new(),
        relevance: Vec::new(),
        inducing: Vec::new(),
        settings: Vec::new(),
        notes: Vec::new(),
    }
}
