//! Scores of cross-validation: gathered fold by fold, and shown with their means and deviations.

use deepgp_io::note::Number;
use deepgp_io::{FoldScore, FoldScores, FoldSubject, Metric, Subject};
use serde_json::{Map, Value, json};

use super::scores::Scores;
use crate::terminal::text::{count, number, percent, table as aligned};

/// One score of the model or a baseline: which, of what target, and its value.
type Value1 = (Metric, Option<String>, f64);

/// The scores of all folds without those of the one that was scored now; `None` before the first.
pub fn with_fold(before: Option<FoldScores>, folds: usize, scored: &Scores<'_>, targets: &[String]) -> FoldScores {
    let subjects = of_fold(scored, targets);
    let mut all = before.unwrap_or_else(|| FoldScores {
        folds,
        rows: Vec::new(),
        subjects: subjects
            .iter()
            .map(|(of, scores)| FoldSubject {
                of: *of,
                scores: scores
                    .iter()
                    .map(|(metric, target, _)| FoldScore { metric: *metric, target: target.clone(), each: Vec::new() })
                    .collect(),
            })
            .collect(),
    });
    all.rows.push(scored.data().len());
    for (own, (_, scores)) in all.subjects.iter_mut().zip(subjects) {
        for (own, (.., value)) in own.scores.iter_mut().zip(scores) {
            own.each.push(Number(value));
        }
    }
    all
}

/// The scores of the model and the baselines in a fold.
fn of_fold(scored: &Scores<'_>, targets: &[String]) -> Vec<(Subject, Vec<Value1>)> {
    let one = |metric, value| (metric, None, value);
    match scored {
        Scores::Numbers(own) => {
            let of = |score: &deepgp::Score| {
                let mut all = vec![one(Metric::LogLikelihood, score.log_likelihood)];
                for (p, target) in targets.iter().enumerate() {
                    let target = (targets.len() > 1).then(|| target.clone());
                    all.extend(
                        [
                            (Metric::Rmse, score.rmse[p]),
                            (Metric::Mae, score.mae[p]),
                            (Metric::Crps, score.crps[p]),
                            (Metric::Coverage50, score.coverage_50[p]),
                            (Metric::Coverage90, score.coverage_90[p]),
                            (Metric::Coverage95, score.coverage_95[p]),
                        ]
                        .map(|(metric, value)| (metric, target.clone(), value)),
                    );
                }
                all
            };
            // Not every fold needs calibration, and each subject has a score in all.
            let all = own.scores.iter().filter(|record| !matches!(record.of, Subject::Uncalibrated { .. }));
            all.map(|record| (record.of, of(&record.score))).collect()
        }
        Scores::Classes(own) => {
            let of = |score: &deepgp::ClassScore| {
                vec![
                    one(Metric::LogLoss, score.log_loss),
                    one(Metric::Accuracy, score.accuracy),
                    one(Metric::Brier, score.brier),
                    one(Metric::CalibrationError, score.calibration_error),
                    one(Metric::Auc, score.auc.unwrap_or(f64::NAN)),
                ]
            };
            own.scores.iter().map(|record| (record.of, of(&record.score))).collect()
        }
        Scores::Counts(own) => {
            let of = |score: &deepgp::CountScore| {
                vec![
                    one(Metric::LogScore, score.log_score),
                    one(Metric::Deviance, score.deviance),
                    one(Metric::Rmse, score.rmse),
                    one(Metric::Mae, score.mae),
                    one(Metric::Coverage50, score.coverage_50),
                    one(Metric::Coverage90, score.coverage_90),
                    one(Metric::Coverage95, score.coverage_95),
                ]
            };
            own.scores.iter().map(|record| (record.of, of(&record.score))).collect()
        }
    }
}

/// What the scores are of, for a heading: `5 folds`, or `2 of 5 folds`.
pub fn folds_in_words(scores: &FoldScores) -> String {
    let done = scores.rows.len();
    if done == scores.folds { count(done, "fold") } else { format!("{done} of {}", count(scores.folds, "fold")) }
}

/// The scores as a table for people: the model in each fold, its mean and standard deviation over folds, and the means of the baselines. A score
/// that no fold has, as the area under the curve of three classes, has no column.
pub fn table(scores: &FoldScores) -> String {
    let Some((model, baselines)) = scores.subjects.split_first() else { return String::new() };
    let shown: Vec<usize> =
        (0..model.scores.len()).filter(|at| model.scores[*at].each.iter().any(|own| !own.0.is_nan())).collect();
    let head = shown.iter().map(|at| {
        let FoldScore { metric, target, .. } = &model.scores[*at];
        target.as_ref().map_or(metric.name().into(), |target| format!("{target}: {}", metric.name()))
    });
    let cell = |score: &FoldScore, value: f64| match value {
        value if value.is_nan() => String::new(),
        value if score.metric.is_share() => percent(value),
        value => number(value),
    };
    let line = |label: String, subject: &FoldSubject, value: &dyn Fn(&FoldScore) -> f64| {
        let cells = shown.iter().map(|at| cell(&subject.scores[*at], value(&subject.scores[*at])));
        std::iter::once(label).chain(cells).collect::<Vec<String>>()
    };
    let mut rows = vec![std::iter::once(String::new()).chain(head).collect::<Vec<String>>()];
    for (fold, size) in scores.rows.iter().enumerate() {
        rows.push(line(format!("fold {} ({})", fold + 1, count(*size, "row")), model, &|own| own.each[fold].0));
    }
    rows.push(line(format!("{}, mean", model.of), model, &FoldScore::mean));
    rows.push(line("  standard deviation".into(), model, &FoldScore::deviation));
    rows.extend(baselines.iter().map(|own| line(format!("{}, mean", own.of), own, &FoldScore::mean)));
    aligned(&rows)
}

/// The scores for scripts: of the model as `model` and of the baselines as `baselines`, each score with its mean, its standard deviation and its
/// values in the folds.
pub fn json(scores: &FoldScores) -> Value {
    let of = |subject: &FoldSubject| {
        let mut all = Map::new();
        for score in &subject.scores {
            let own = json!({ "mean": score.mean(), "deviation": score.deviation(), "each": score.each });
            let name = json!(score.metric).as_str().unwrap_or_default().to_string();
            match &score.target {
                None => _ = all.insert(name, own),
                Some(target) => {
                    let targets = all.entry(name).or_insert_with(|| json!({}));
                    targets[target] = own;
                }
            }
        }
        Value::Object(all)
    };
    let (mut model, mut baselines) = (Value::Null, Map::new());
    for subject in &scores.subjects {
        match subject.of {
            Subject::Model { .. } => model = of(subject),
            Subject::Uncalibrated { .. } => {}
            Subject::Baseline(baseline) => _ = baselines.insert(baseline.name(), of(subject)),
        }
    }
    json!({ "folds": scores.folds, "rows": scores.rows, "model": model, "baselines": baselines })
}
