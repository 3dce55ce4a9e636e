//! Scores of a model of classes, beside those of baselines.

use anyhow::Result;
use deepgp::baseline::{self, ClassNeighbours, LogisticRegression};
use deepgp::{ClassScore, Dataset, Mat, PredictSettings};
use deepgp_io::note::ScoredRows;
use deepgp_io::{Baseline, ModelFile, Note, ScoreRecord, Subject};
use serde_json::{Value, json};

use super::score::{NEIGHBOUR_ROWS, NEIGHBOURS, by_model, in_parts, of_model, sample};
use crate::terminal::output::Voice;
use crate::terminal::stage::{Extent, Stage};
use crate::terminal::text::{number, percent, table as aligned};
use crate::terminal::waiting::Waiting;

/// The number of classes up to which the terminal shows who is taken for whom.
const SHOWN_CLASSES: usize = 12;
/// The number of characters of a label that the terminal shows.
const SHOWN_LABEL: usize = 16;

/// A model's class probabilities on rows with known classes, with its score and the baselines'.
#[derive(Clone, Debug)]
pub struct ScoredClasses<'a> {
    /// The rows with known classes.
    pub data: &'a Dataset,
    /// The model's probability of each class at each row, `[N, C]`.
    pub probabilities: Mat,
    /// The model's score first, then the baselines'.
    pub scores: Vec<ScoreRecord<ClassScore>>,
}

impl<'a> ScoredClasses<'a> {
    /// Scores a model of so many classes and the baselines on `test`; the baselines learn from `train`, and are left out without it. `None`
    /// if somebody interrupted it.
    pub fn new(
        file: &ModelFile,
        classes: usize,
        train: Option<&Dataset>,
        test: &'a Dataset,
        settings: PredictSettings,
        voice: Voice,
    ) -> Result<Option<Self>> {
        let Some(parts) = by_model(&file.regressor, test, settings, voice, |own, rows| own.class_probabilities(rows))?
        else {
            return Ok(None);
        };
        let score = |p: &Mat| ClassScore::new(test.y().view(), p, test.weights());
        let probabilities = stacked(&parts);
        let mut scores = vec![of_model(file, score(&probabilities)?)];
        let Some(train) = train else { return Ok(Some(Self { data: test, probabilities, scores })) };
        let neighbours = ClassNeighbours::new(train, classes, NEIGHBOURS, settings.threads)?;
        let stage = Stage::new(voice, "scoring nearest neighbours", Extent::Rows(test.len() as u64));
        let Some(near) = in_parts(test, NEIGHBOUR_ROWS, stage, |rows| neighbours.probabilities(rows.x().view()))?
        else {
            return Ok(None);
        };
        let _shown = Waiting::new(voice, "scoring logistic regression");
        let logistic = LogisticRegression::new(train, classes)?;
        let among = sample(neighbours.learnt_from());
        for (own, p) in [
            (Baseline::NearestNeighbours { count: NEIGHBOURS, among }, stacked(&near)),
            (
                Baseline::LogisticRegression { among: sample(logistic.learnt_from()) },
                logistic.probabilities(test.x().view())?,
            ),
            (Baseline::ClassShares, baseline::shares(train, classes, test.len())?),
        ] {
            scores.push(ScoreRecord { of: Subject::Baseline(own), score: score(&p)? });
        }
        Ok(Some(Self { data: test, probabilities, scores }))
    }

    /// The scores as a model file keeps them: who is taken for whom, and how reliable probabilities are, of the model alone.
    pub fn records(&self) -> Vec<ScoreRecord<ClassScore>> {
        let kept = |own: &ScoreRecord<ClassScore>| {
            let mut kept = own.clone();
            if own.of.baseline().is_some() {
                kept.score.confusion.clear();
                kept.score.reliability.clear();
            }
            kept
        };
        self.scores.iter().map(kept).collect()
    }
}

/// The rows of all matrices, one after the other.
fn stacked(parts: &[Mat]) -> Mat {
    let columns = parts.first().map_or(0, Mat::ncols);
    let all: Vec<f64> = parts.iter().flat_map(Mat::as_slice).copied().collect();
    Mat::from_vec(all.len() / columns.max(1), columns, all).expect("parts have as many columns")
}

/// A remark if a baseline has the better log loss on `rows`.
pub fn remarks(scores: &[ScoreRecord<ClassScore>], rows: &ScoredRows) -> Vec<Note> {
    let simpler = scores.iter().filter_map(|record| Some((record.of.baseline()?, record.score.log_loss)));
    let best = simpler.min_by(|a, b| a.1.total_cmp(&b.1));
    let model = scores.iter().find(|record| record.of.is_model()).map(|record| record.score.log_loss);
    match (model, best) {
        (Some(model), Some((baseline, theirs))) if theirs < model || model.is_nan() => {
            vec![Note::BeatenInLogLoss { baseline, model: model.into(), theirs: theirs.into(), rows: rows.clone() }]
        }
        _ => Vec::new(),
    }
}

/// A table of scores, a line for each model, and one of who is taken for whom, unless there are many classes.
pub fn table(scores: &[ScoreRecord<ClassScore>], labels: &[String]) -> String {
    let confusion = confusion_cells(scores, labels).map_or(String::new(), |cells| format!("\n{}", aligned(&cells)));
    aligned(&cells(scores)) + &confusion
}

/// The cells of the table of scores: a heading, and a row for each model.
pub fn cells(scores: &[ScoreRecord<ClassScore>]) -> Vec<Vec<String>> {
    let with_auc = scores.iter().any(|record| record.score.auc.is_some());
    let mut head = ["", "log loss", "accuracy", "Brier", "calibration error"].map(String::from).to_vec();
    head.extend(with_auc.then(|| "AUC".to_string()));
    let mut rows = vec![head];
    for ScoreRecord { of, score } in scores {
        let mut row = vec![of.to_string(), number(score.log_loss), percent(score.accuracy), number(score.brier)];
        row.push(number(score.calibration_error));
        row.extend(with_auc.then(|| score.auc.map_or(String::new(), number)));
        rows.push(row);
    }
    rows
}

/// The cells of the table of who is taken for whom by the model: a heading, and a row for each class, with a column for each class that the
/// model says. `None` if there are many classes.
pub fn confusion_cells(scores: &[ScoreRecord<ClassScore>], labels: &[String]) -> Option<Vec<Vec<String>>> {
    let confusion = &scores.iter().find(|record| record.of.is_model())?.score.confusion;
    if confusion.len() > SHOWN_CLASSES || confusion.len() != labels.len() {
        return None;
    }
    let short = |label: &String| match label.char_indices().nth(SHOWN_LABEL) {
        Some((at, _)) => format!("{}…", label[..at].trim_end()),
        None => label.clone(),
    };
    let mut rows =
        vec![[vec!["true class (down), said (across)".to_string()], labels.iter().map(short).collect()].concat()];
    for (label, own) in labels.iter().zip(confusion) {
        rows.push([vec![short(label)], own.iter().map(|rows| rows.to_string()).collect()].concat());
    }
    Some(rows)
}

/// A score on so many rows for scripts; who is taken for whom where it is known.
pub fn json(score: &ClassScore, rows: usize, labels: &[String]) -> Value {
    let mut out = json!({
        "rows": rows,
        "accuracy": score.accuracy,
        "log_loss": score.log_loss,
        "brier": score.brier,
        "calibration_error": score.calibration_error,
        "auc": score.auc,
    });
    if let (Value::Object(out), false) = (&mut out, score.confusion.is_empty()) {
        out.insert("confusion".into(), json!({ "labels": labels, "true_by_predicted": score.confusion }));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(of: Subject, p: &[f64], y: &[f64]) -> ScoreRecord<ClassScore> {
        let p = Mat::from_fn(p.len(), 2, |i, c| if c == 1 { p[i] } else { 1.0 - p[i] });
        ScoreRecord { of, score: ClassScore::new(Mat::column(y.to_vec()).view(), &p, None).unwrap() }
    }

    #[test]
    fn a_better_baseline_is_told_of_and_confusion_is_shown() {
        let y = [0.0, 1.0, 1.0, 0.0];
        let model = record(Subject::Model { deep: true }, &[0.4, 0.6, 0.4, 0.3], &y);
        let logistic = Subject::Baseline(Baseline::LogisticRegression { among: None });
        let better = record(logistic, &[0.1, 0.9, 0.9, 0.1], &y);
        let scores = [model.clone(), better];
        let told = remarks(&scores, &ScoredRows::Test)[0].to_string();
        assert!(
            told.starts_with(
                "on the test rows the model is beaten by logistic regression: a log loss of 0.5737 against 0.1054"
            ),
            "{told}"
        );
        assert!(remarks(&[scores[1].clone(), record(logistic, &[0.4; 4], &y)], &ScoredRows::Test).is_empty());
        let labels = ["no".to_string(), "yes, and with a very long name".to_string()];
        let shown = table(&scores, &labels);
        assert!(shown.contains("deep GP") && shown.contains("75.0 %") && shown.contains("AUC"), "{shown}");
        assert!(shown.contains("yes, and with a…") && shown.contains("true class (down)"), "{shown}");
        let value = json(&model.score, 4, &labels);
        assert_eq!(value["confusion"]["true_by_predicted"], json!([[2.0, 0.0], [1.0, 1.0]]));
        // A file keeps no confusion of baselines.
        let data = Dataset::new(Mat::zeros(4, 1), Mat::column(y.to_vec())).unwrap();
        let kept = ScoredClasses { data: &data, probabilities: Mat::zeros(4, 2), scores: scores.to_vec() }.records();
        assert_eq!((kept[0].score.confusion.len(), kept[1].score.confusion.len()), (2, 0));
    }
}
