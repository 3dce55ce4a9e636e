//! Two models on the same rows: by how much each score differs, and how sure that is.

use std::collections::HashMap;

use anyhow::{Result, bail};
use deepgp::likelihood::Outcomes;
use deepgp::{Assessment, Dataset, Mat, Paired, PredictSettings};
use deepgp_io::ModelFile;
use serde_json::{Map, Value, json};

use super::labels;
use super::rows::PlacedRows;
use super::score::by_model;
use crate::terminal::output::Voice;
use crate::terminal::text::{number, percent, table as aligned};

/// The least probability that the log loss takes a class to have, as scores have it.
const LEAST_PROBABILITY: f64 = 1e-15;

/// What a difference is one of, for scripts and for people, and which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The mean log density of numbers.
    LogLikelihood,
    /// The mean logarithm of the probability of counts.
    LogScore,
    /// The mean of `−ln p` of the rows' classes.
    LogLoss,
    /// The mean continuous ranked probability score of numbers.
    Crps,
    /// The root mean squared error of the mean.
    Rmse,
    /// The share of rows whose class is the most probable one.
    Accuracy,
}

impl Measure {
    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::LogLikelihood => "log likelihood",
            Self::LogScore => "log score",
            Self::LogLoss => "log loss",
            Self::Crps => "CRPS",
            Self::Rmse => "RMSE",
            Self::Accuracy => "accuracy",
        }
    }

    /// The key for scripts, that of scores.
    fn key(self) -> &'static str {
        match self {
            Self::LogLikelihood => "log_likelihood",
            Self::LogScore => "log_score",
            Self::LogLoss => "log_loss",
            Self::Crps => "crps",
            Self::Rmse => "rmse",
            Self::Accuracy => "accuracy",
        }
    }

    /// Whether more is better.
    fn higher_is_better(self) -> bool {
        match self {
            Self::LogLikelihood | Self::LogScore | Self::Accuracy => true,
            Self::LogLoss | Self::Crps | Self::Rmse => false,
        }
    }
}

/// The difference of two models in one measure.
#[derive(Clone, Debug)]
pub struct Difference {
    /// What it is one of.
    pub measure: Measure,
    /// The target, where there are several and the measure is of one of them.
    pub target: Option<String>,
    /// The two scores, and what lies between them.
    pub paired: Paired,
}

/// Two models on the same rows.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The differences of their scores, the one that looks at whole distributions first.
    pub differences: Vec<Difference>,
    /// The gain of each row: what its target is worth to the second model, as a log density or log probability, less what it is to the first.
    pub gains: Vec<f64>,
}

/// What one model makes of each row.
enum RowScores {
    Numbers(Assessment),
    Classes { log_loss: Vec<f64>, hit: Vec<f64> },
    Counts { log_mass: Vec<f64>, squares: Vec<f64> },
}

/// Fails unless both models predict the same targets, of the same kind.
pub fn check_targets(first: &ModelFile, second: &ModelFile) -> Result<()> {
    let names = |file: &ModelFile| file.schema.targets.join(", ");
    if first.schema.targets != second.schema.targets {
        bail!(
            "the first model predicts `{}` and the second `{}`: only models of the same target can be compared",
            names(first),
            names(second)
        );
    }
    let kind = |file: &ModelFile| match file.regressor.model.likelihood().outcomes() {
        Outcomes::Real => "numbers".to_string(),
        Outcomes::Classes(_) => format!("classes ({})", labels::of(file).join(", ")),
        Outcomes::Counts => "counts".to_string(),
    };
    if kind(first) != kind(second) {
        bail!(
            "the first model takes `{}` as {}, the second as {}: their scores are not of one kind, so that none is better",
            names(first),
            kind(first),
            kind(second)
        );
    }
    Ok(())
}

/// The rows that both models can be scored on, each as its model reads them, in the order of the first. Fails if there are fewer than two, or the
/// models read different targets in one of them.
pub fn common_rows(first: &PlacedRows, second: &PlacedRows, targets: &[String]) -> Result<[PlacedRows; 2]> {
    let places: HashMap<u64, u32> = second.positions.iter().copied().zip(0..).collect();
    let shared = first.positions.iter().zip(0..).filter_map(|(at, row)| Some((row, *places.get(at)?)));
    let (own, other): (Vec<u32>, Vec<u32>) = shared.unzip();
    if own.len() < 2 {
        bail!(
            "the models have {} in common to be compared on: name a table with known targets that both can read",
            crate::terminal::text::count(own.len(), "row")
        );
    }
    let both = [first.gather(&own)?, second.gather(&other)?];
    let (y, others) = (both[0].data.y(), both[1].data.y());
    for (i, place) in both[0].positions.iter().enumerate() {
        let odd = y.row(i).iter().zip(others.row(i)).position(|(own, other)| own != other);
        if let Some(p) = odd {
            bail!(
                "row {} (counted from 1, without a header) has a `{}` of {} to the first model and of {} to the second: they \
                 read it in different units, so that their scores cannot be compared",
                place + 1,
                targets.get(p).map_or("target", String::as_str),
                y[(i, p)],
                others[(i, p)]
            );
        }
    }
    Ok(both)
}

impl Comparison {
    /// Compares two models of the same targets on the same rows, each as its model reads them; rows count by the weights that they have to the first.
    /// `None` if somebody interrupted it.
    pub fn new(
        files: [&ModelFile; 2],
        rows: [&Dataset; 2],
        settings: PredictSettings,
        voice: Voice,
    ) -> Result<Option<Self>> {
        let mut scored = Vec::with_capacity(2);
        for (file, rows) in files.into_iter().zip(rows) {
            let Some(own) = row_scores(file, rows, settings, voice)? else { return Ok(None) };
            scored.push(own);
        }
        let (weights, targets) = (rows[0].weights(), &files[0].schema.targets);
        let Some((second, first)) = scored.pop().zip(scored.pop()) else { return Ok(None) };
        Ok(Some(Self::of_scores(&first, &second, rows[0].y(), weights, targets)))
    }

    /// The comparison of what two models make of each row.
    fn of_scores(first: &RowScores, second: &RowScores, y: &Mat, weights: Option<&[f64]>, targets: &[String]) -> Self {
        let of = |measure, target: Option<&String>, paired| Difference { measure, target: target.cloned(), paired };
        let means = |measure, a: &[f64], b: &[f64]| of(measure, None, Paired::of_means(a, b, weights));
        let gains = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| b - a).collect();
        match (first, second) {
            (RowScores::Numbers(a), RowScores::Numbers(b)) => {
                let mut all = vec![means(Measure::LogLikelihood, &a.log_density, &b.log_density)];
                let several = targets.len() > 1;
                for (p, target) in targets.iter().enumerate() {
                    let target = several.then_some(target);
                    let column = |m: &Mat| (0..m.nrows()).map(|i| m[(i, p)]).collect::<Vec<f64>>();
                    let squares = |own: &Assessment| -> Vec<f64> {
                        (0..y.nrows()).map(|i| (y[(i, p)] - own.mean[(i, p)]).powi(2)).collect()
                    };
                    let crps = Paired::of_means(&column(&a.crps), &column(&b.crps), weights);
                    all.push(of(Measure::Crps, target, crps));
                    all.push(of(Measure::Rmse, target, Paired::of_roots(&squares(a), &squares(b), weights)));
                }
                Self { differences: all, gains: gains(&a.log_density, &b.log_density) }
            }
            (RowScores::Classes { log_loss: a, hit }, RowScores::Classes { log_loss: b, hit: other }) => Self {
                differences: vec![means(Measure::LogLoss, a, b), means(Measure::Accuracy, hit, other)],
                gains: gains(b, a),
            },
            (RowScores::Counts { log_mass: a, squares }, RowScores::Counts { log_mass: b, squares: other }) => Self {
                differences: vec![
                    means(Measure::LogScore, a, b),
                    of(Measure::Rmse, None, Paired::of_roots(squares, other, weights)),
                ],
                gains: gains(a, b),
            },
            (RowScores::Numbers(_) | RowScores::Classes { .. } | RowScores::Counts { .. }, _) => {
                unreachable!("models of different kinds of targets are refused before they are scored")
            }
        }
    }
}

/// What a model makes of each row; `None` if somebody interrupted it.
fn row_scores(file: &ModelFile, rows: &Dataset, settings: PredictSettings, voice: Voice) -> Result<Option<RowScores>> {
    let y = rows.y().as_slice();
    Ok(match file.regressor.model.likelihood().outcomes() {
        Outcomes::Real => by_model(&file.regressor, rows, settings, voice, |own, some| own.assess(some))?
            .map(|parts| RowScores::Numbers(Assessment::of_parts(&parts))),
        Outcomes::Classes(_) => {
            by_model(&file.regressor, rows, settings, voice, |own, some| own.class_probabilities(some))?.map(|parts| {
                let p: Vec<&[f64]> = parts.iter().flat_map(|part| (0..part.nrows()).map(|i| part.row(i))).collect();
                let own = |i: usize| p[i][y[i] as usize];
                // The lowest of several classes that are as probable is the one that is said.
                let said = |i: usize| p[i].iter().position(|other| *other >= p[i].iter().copied().fold(0.0, f64::max));
                let hit = |i: usize| f64::from(u8::from(said(i) == Some(y[i] as usize)));
                RowScores::Classes {
                    log_loss: (0..y.len()).map(|i| -own(i).max(LEAST_PROBABILITY).ln()).collect(),
                    hit: (0..y.len()).map(hit).collect(),
                }
            })
        }
        Outcomes::Counts => {
            by_model(&file.regressor, rows, settings, voice, |own, some| own.assess_counts(some))?.map(|parts| {
                let means = parts.iter().flat_map(|part| &part.mean);
                RowScores::Counts {
                    squares: means.zip(y).map(|(mean, y)| (y - mean).powi(2)).collect(),
                    log_mass: parts.iter().flat_map(|part| &part.log_mass).copied().collect(),
                }
            })
        }
    })
}

/// A table of differences for people, with the names of the two models.
pub fn table(all: &[Difference], names: &[String; 2]) -> String {
    let head = ["", &names[0], &names[1], "difference", "95 % interval", "better"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for Difference { measure, target, paired } in all {
        let label = target.as_ref().map_or(measure.name().into(), |target| format!("{}: {target}", measure.name()));
        let shown = |value: f64| if *measure == Measure::Accuracy { percent(value) } else { number(value) };
        let better = match (paired.is_clear(), (paired.difference > 0.0) == measure.higher_is_better()) {
            (true, true) => names[1].clone(),
            (true, false) => names[0].clone(),
            (false, _) => "not clear".into(),
        };
        let interval = format!("{} to {}", shown(paired.lower), shown(paired.upper));
        let scores = [paired.first, paired.second, paired.difference].map(shown);
        rows.push([vec![label], scores.into(), vec![interval, better]].concat());
    }
    aligned(&rows)
}

/// The differences for scripts: an object for each measure; where a measure is of several targets, with an object for each of them.
pub fn json(all: &[Difference]) -> Value {
    let mut out = Map::new();
    for Difference { measure, target, paired } in all {
        let own = json!(paired);
        match target {
            None => {
                out.insert(measure.key().into(), own);
            }
            Some(target) => {
                if let Value::Object(by_target) = out.entry(measure.key()).or_insert_with(|| json!({})) {
                    by_target.insert(target.clone(), own);
                }
            }
        }
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(positions: &[u64], y: &[f64]) -> PlacedRows {
        let data = Dataset::new(Mat::column(y.to_vec()), Mat::column(y.to_vec())).unwrap();
        PlacedRows { data, positions: positions.to_vec() }
    }

    #[test]
    fn rows_are_those_of_both_and_have_the_same_targets() {
        let targets = ["y".to_string()];
        let (first, second) =
            (placed(&[1, 4, 5, 9], &[1.0, 4.0, 5.0, 9.0]), placed(&[9, 4, 2, 1], &[9.0, 4.0, 2.0, 1.0]));
        let [own, other] = common_rows(&first, &second, &targets).unwrap();
        assert_eq!((&own.positions[..], &other.positions[..]), (&[1, 4, 9][..], &[1, 4, 9][..]));
        assert_eq!(own.data.y(), other.data.y());
        let error = common_rows(&first, &placed(&[4, 9], &[4.0, 900.0]), &targets).unwrap_err().to_string();
        assert!(
            error.starts_with("row 10 (counted from 1") && error.contains("9 to the first model and of 900"),
            "{error}"
        );
        let error = common_rows(&first, &placed(&[4], &[4.0]), &targets).unwrap_err().to_string();
        assert!(error.contains("1 row in common"), "{error}");
    }

    #[test]
    fn a_clear_difference_names_the_better_model() {
        let names = ["a".to_string(), "b".to_string()];
        let of = |measure, second: [f64; 4]| {
            let paired = Paired::of_means(&[1.0, 2.0, 3.0, 4.0], &second, None);
            table(&[Difference { measure, target: None, paired }], &names).lines().last().unwrap().to_string()
        };
        assert!(of(Measure::LogLikelihood, [2.0, 3.0, 4.1, 5.0]).ends_with("   b"));
        assert!(of(Measure::LogLoss, [2.0, 3.0, 4.1, 5.0]).ends_with("   a"));
        assert!(of(Measure::LogLoss, [1.0, 2.0, 3.0, 4.0]).ends_with("not clear"));
        let several = Difference {
            measure: Measure::Rmse,
            target: Some("y".into()),
            paired: Paired::of_means(&[1.0, 2.0], &[1.5, 2.5], None),
        };
        assert_eq!(json(&[several])["rmse"]["y"]["difference"], 0.5);
    }
}
