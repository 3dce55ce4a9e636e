//! Made-up reports on classes and counts.

use deepgp::likelihood::{LikelihoodDescription, Link};
use deepgp::{ClassScore, CountAssessment, CountScore, Mat, TransformChoice};
use deepgp_io::{Baseline, ScoreRecord, Subject};

use super::{Draws, report};
use crate::model::units::Judge;
use crate::report::{Choices, ClassReport, ClassRows, CountReport, CountRows, Frequency, HardCount, Report};

/// A report whose scores and predictions are those of classes: of rows whose true classes follow the probabilities.
fn of_classes(labels: &[&str], likelihood: LikelihoodDescription, sharpness: f64) -> Report {
    let (mut report, mut draws, rows) = (report(), Draws(17), 800);
    let mut probabilities = Mat::from_fn(rows, labels.len(), |_, _| (sharpness * draws.normal()).exp());
    let mut truth = Vec::new();
    for row in 0..rows {
        let own = probabilities.row_mut(row);
        let total: f64 = own.iter().sum();
        own.iter_mut().for_each(|p| *p /= total);
        let mut left = draws.uniform();
        let drawn = own.iter().position(|p| {
            left -= p;
            left < 0.0
        });
        truth.push(drawn.unwrap_or(labels.len() - 1));
    }
    let y = Mat::column(truth.iter().map(|class| *class as f64).collect());
    let score = |p: &Mat| ClassScore::new(y.view(), p, None).expect("a class for each row");
    let record = |of: Subject, p: &Mat| ScoreRecord { of, score: score(p) };
    let shares = Mat::from_fn(rows, labels.len(), |_, _| 1.0 / labels.len() as f64);
    let scores = vec![
        record(Subject::Model { deep: true }, &probabilities),
        record(Subject::Baseline(Baseline::ClassShares), &shares),
    ];
    let numbers = (1..=rows as u64).map(|row| 3 * row).collect();
    report.classes = Some(ClassReport {
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        scores,
        rows: Some(ClassRows { truth, probabilities, numbers }),
    });
    report.choices = Choices {
        likelihood: Some(likelihood),
        judge: Judge::LogLoss,
        // As every fit without a choice has it.
        transform_asked: TransformChoice::Auto,
        transforms: vec![TransformChoice::None],
        ..Choices::default()
    };
    report.history.validation.iter_mut().for_each(|(_, score)| *score *= -0.1);
    without_numbers(report)
}

/// The report without what only numbers have.
fn without_numbers(mut report: Report) -> Report {
    report.scores.clear();
    report.outputs.clear();
    report.history.noise.clear();
    report.history.model_noise.clear();
    report
}

/// A report with every section, on two classes.
pub(in crate::report) fn two_classes() -> Report {
    of_classes(&["benign", "malignant"], LikelihoodDescription::Bernoulli { link: Link::Probit }, 2.0)
}

/// A report with every section, on ten classes.
pub(in crate::report) fn several_classes() -> Report {
    let labels = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "nine"];
    of_classes(&labels, LikelihoodDescription::Softmax { classes: labels.len() }, 4.0)
}

/// A report with every section, on counts.
pub(in crate::report) fn counts() -> Report {
    let (mut report, mut draws) = (report(), Draws(19));
    let mut model = CountAssessment { mean: vec![], below: vec![], up_to: vec![], log_mass: vec![], zero: vec![] };
    let (mut y, mut frequencies) = (Vec::new(), Vec::new());
    for from in 0..12 {
        let to = (from < 11).then_some(f64::from(from));
        let (observed, expected) = (0.0, 0.0);
        frequencies.push(Frequency { from: f64::from(from), to, observed, expected, deviation: 0.0 });
    }
    for _ in 0..900 {
        let rate = (0.8 * draws.normal()).exp();
        let (mut mass, mut below, mut count, left) = ((-rate).exp(), 0.0, 0, draws.uniform());
        let (mut own_mass, mut masses) = (mass, Vec::new());
        for k in 0..200 {
            masses.push(mass);
            if below + mass < left {
                below += mass;
                count = k + 1;
            } else if count == k {
                own_mass = mass;
            }
            mass *= rate / f64::from(k + 1);
        }
        for (group, own) in frequencies.iter_mut().enumerate() {
            let p: f64 = if group < 11 { masses[group] } else { masses[11..].iter().sum() };
            own.expected += p;
            own.deviation += p * (1.0 - p);
            own.observed += f64::from(u8::from(usize::min(count as usize, 11) == group));
        }
        y.push(f64::from(count));
        model.mean.push(rate);
        model.below.push(below);
        model.up_to.push((below + own_mass).min(1.0));
        model.log_mass.push(own_mass.ln());
        model.zero.push((-rate).exp());
    }
    frequencies.iter_mut().for_each(|own| own.deviation = own.deviation.sqrt());
    let hard = |row: u64| HardCount { number: 7 * row, y: 9.0, mean: 1.5, interval: (0.0, 4.0), probability: 1.2e-5 };
    let targets = Mat::column(y.clone());
    let score = CountScore::new(targets.view(), &model, None).expect("a count for each row");
    let scores = vec![ScoreRecord { of: Subject::Model { deep: true }, score }];
    let rows = CountRows { y, model, frequencies, counted: 900, hardest: (1..=10).map(hard).collect() };
    report.counts = Some(CountReport { scores, rows: Some(rows) });
    report.choices = Choices { likelihood: Some(LikelihoodDescription::NegativeBinomial), ..Choices::default() };
    without_numbers(report)
}
