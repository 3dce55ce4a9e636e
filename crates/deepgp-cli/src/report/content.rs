//! What the page on a model tells: a model file and its scores as plain numbers and words.

use std::path::Path;

use anyhow::Result;
use deepgp::likelihood::Gaussian;
use deepgp::{Dataset, DeepGp, Inducing, Mat, PredictSettings};
use deepgp_io::note::ScoredRows;
use deepgp_io::{ModelFile, Note, Record, ScoreRecord, StopReason, noise_of_first_target};
use serde_json::Value;

use crate::arguments::paths::file_name;
use crate::model::description::{describe, inputs_in_words};
use crate::model::relevance::relevance as bends;
use crate::model::score::{Scored, remarks};
use crate::model::{device, notes as model_notes, units};
use crate::report::{self, History, InducingView, Interval, LayerRelevance, Output, Report, ScoreRow};
use crate::terminal::date;
use crate::terminal::text::count;

/// Rows whose way through the layers is drawn.
const SAMPLED_ROWS: usize = 600;
/// Samples of the hidden layers behind such a picture.
const FEW_SAMPLES: usize = 20;

/// What a page is made from, beside a model file.
#[derive(Clone, Debug)]
pub struct Basis<'a> {
    /// Rows that were scored for it, if there were any.
    pub scored: Option<&'a Scored<'a>>,
    /// The table that they are of, if it is not that of the fit.
    pub table: Option<&'a Path>,
    /// The training rows, if they are there.
    pub train: Option<&'a Dataset>,
    /// What rows are predicted with.
    pub settings: PredictSettings,
    /// What was told while it was made: who reads the page has not seen that.
    pub notes: Vec<String>,
}

/// Everything that the page tells. Without scored rows, the scores are those that the fit took down.
pub fn gather(file: &ModelFile, basis: &Basis<'_>) -> Result<Report> {
    let (schema, record) = (&file.schema, &file.record);
    let &Basis { scored, table, train, settings, .. } = basis;
    let scores = scored.map_or(&record.scores[..], |scored| &scored.scores);
    let fitted = data_name(record);
    let rows = scored.map_or(record.test_rows, Scored::rows);
    let (title, scored_on) = match table.map(file_name) {
        Some(other) => (format!(", scored on {other}"), format!("{} of {other}", count(rows, "row"))),
        None => {
            let then = if scored.is_none() { ", when the model was fitted" } else { "" };
            (String::new(), format!("{} of {fitted} that training never saw{then}", count(rows, "row")))
        }
    };
    Ok(Report {
        title: format!("{} from {fitted}{title}", schema.targets.join(", ")),
        summary: sentence(file),
        created: date::date(date::now()),
        version: format!("deepgp {}", env!("CARGO_PKG_VERSION")),
        targets: schema.targets.clone(),
        scores: score_rows(file, scores),
        scored_on: (!scores.is_empty()).then_some(scored_on),
        outputs: scored.map_or(Ok(Vec::new()), |scored| outputs(file, scored, settings))?,
        history: history(file),
        relevance: relevance(file),
        inducing: inducing(file, train, settings)?,
        settings: all_settings(file),
        notes: notes(file, basis, scores, rows),
    })
}

/// The file name of the table of the fit, or what there was in place of one.
fn data_name(record: &Record) -> String {
    record.data.table().map_or_else(|| record.data.to_string(), |table| file_name(Path::new(&table.path)))
}

/// What is worth knowing of the fit, of the rows that were scored, and of their scores, each with the table that it is about.
fn notes(file: &ModelFile, basis: &Basis<'_>, scores: &[ScoreRecord], rows: usize) -> Vec<String> {
    let record = &file.record;
    let on = basis.table.map(file_name).map_or(ScoredRows::Test, |name| ScoredRows::Table { name });
    let of_fit = |note: &Note| match basis.table {
        Some(_) => format!("the fit to {}: {note}", data_name(record)),
        None => note.to_string(),
    };
    let of_scores = model_notes::sentences(&remarks(scores, &on, rows, &file.schema.targets));
    record.notes.iter().map(of_fit).chain(basis.notes.iter().cloned()).chain(of_scores).collect()
}

fn sentence(file: &ModelFile) -> String {
    let record = &file.record;
    let held_out = record.test_rows;
    let rows = record.settings.training_rows(record.data.rows().saturating_sub(held_out));
    let described = describe(&file.regressor);
    let mut first = described.chars();
    let described = first.next().map_or(String::new(), |c| c.to_uppercase().collect::<String>() + first.as_str());
    let took = crate::terminal::progress::duration(record.train_seconds);
    let kept = file.history.kept().filter(|(step, _)| *step < record.steps);
    let kept =
        kept.map_or(String::new(), |(step, _)| format!(" Step {step} was kept, the best by the validation rows."));
    let (rows, steps) = (count(rows, "row"), count(record.steps as usize, "step"));
    format!("{described}, trained on {rows} in {steps} ({took}).{kept}")
}

fn score_rows(file: &ModelFile, scores: &[ScoreRecord]) -> Vec<ScoreRow> {
    let row = |ScoreRecord { of, score }: &ScoreRecord| {
        let of_model = of.baseline().is_none();
        ScoreRow {
            name: of.to_string(),
            original: score.clone(),
            standardised: score.standardised(&file.regressor.standardiser.y),
            seconds: of_model.then_some(file.record.train_seconds),
            of_model,
        }
    };
    scores.iter().map(row).collect()
}

/// The scored rows, target by target. Two quantiles cost more than all scores of a row: they are taken where they are drawn.
fn outputs(file: &ModelFile, scored: &Scored, settings: PredictSettings) -> Result<Vec<Output>> {
    let drawn = report::rows_with_interval(scored.rows());
    let x = Mat::from_fn(drawn.len(), scored.data.x().ncols(), |i, d| scored.data.x()[(drawn[i], d)]);
    let ends = file.regressor.predictor(settings).map_err(device::explain)?.quantiles(x.view(), &[0.025, 0.975])?;
    let column = |m: &Mat, p: usize| (0..m.nrows()).map(|i| m[(i, p)]).collect::<Vec<f64>>();
    let interval =
        |i: usize, p: usize| Interval { row: drawn[i], lower: ends[(i, 2 * p)], upper: ends[(i, 2 * p + 1)] };
    let each = file.schema.targets.iter().enumerate();
    let output = |(p, name): (usize, &String)| Output {
        name: name.clone(),
        y: column(scored.data.y(), p),
        mean: column(&scored.model.mean, p),
        intervals_95: (0..drawn.len()).map(|i| interval(i, p)).collect(),
        pit: column(&scored.model.pit, p),
        deviation: column(&scored.model.deviation, p),
    };
    Ok(each.map(output).collect())
}

fn history(file: &ModelFile) -> History {
    let points = file.history.points();
    let column = |of: fn(&deepgp_io::HistoryPoint) -> f64| points.iter().map(of).collect::<Vec<f64>>();
    History {
        step: column(|p| p.step as f64),
        seconds: column(|p| p.seconds),
        elbo: column(|p| p.elbo),
        data_term: column(|p| p.data_term),
        kl: column(|p| p.kl),
        noise: column(|p| noise_of_first_target(&p.likelihood)),
        model_noise: units::noise(file),
        validation: units::validation(file).into_iter().map(|(step, score)| (step as f64, score)).collect(),
        kept_step: file.history.kept().map(|(step, _)| step as f64),
    }
}

/// A layer's name, counted from 1.
fn layer_name(file: &ModelFile, layer: usize) -> String {
    let last = file.regressor.model.layers().len() - 1;
    match layer {
        _ if last == 0 => "the one layer".into(),
        0 => "layer 1 (input)".into(),
        _ if layer == last => format!("layer {} (output)", layer + 1),
        _ => format!("layer {}", layer + 1),
    }
}

fn relevance(file: &ModelFile) -> Vec<LayerRelevance> {
    let layers = 0..file.regressor.model.layers().len();
    let each = layers.map(|l| LayerRelevance { layer: layer_name(file, l), inputs: bends(file, l) });
    each.filter(|own| !own.inputs.is_empty()).collect()
}

/// The inducing inputs of each layer along the two inputs with the shortest lengthscales, over a sample of what enters the layer.
fn inducing(file: &ModelFile, train: Option<&Dataset>, settings: PredictSettings) -> Result<Vec<InducingView>> {
    let layers = file.regressor.model.layers();
    let sample = train.map(|train| sampled_inputs(file, train)).transpose()?;
    let mut views = Vec::new();
    for (l, layer) in layers.iter().enumerate() {
        let (names, order) = ordered_inputs(file, l);
        let at = |m: &Mat, row: usize, offset: f64| match order[..] {
            [only] => (m[(row, only)], offset),
            [first, second, ..] => (m[(row, first)], m[(row, second)]),
            [] => (0.0, 0.0),
        };
        // With a single input the three sets are drawn one above the other.
        let points = |m: &Mat, offset: f64| (0..m.nrows()).map(|row| at(m, row, offset)).collect::<Vec<_>>();
        let (mean, covariance) = match &layer.inducing {
            Inducing::Tied(z) => (points(z, 1.0), Vec::new()),
            Inducing::Decoupled { mean, covariance } => (points(mean, 1.0), points(covariance, 2.0)),
        };
        let unit = if l == 0 { " (standardised)" } else { "" };
        let axis = |i: usize| order.get(i).map_or(String::new(), |&d| format!("{}{unit}", names[d]));
        let data =
            sample.as_ref().map_or(Ok(Vec::new()), |x| entering(file, l, x, settings).map(|x| points(&x, 0.0)))?;
        views.push(InducingView {
            layer: layer_name(file, l),
            axes: (axis(0), axis(1)),
            data,
            mean_inducing: mean,
            covariance_inducing: covariance,
        });
    }
    Ok(views)
}

/// The inputs of a layer: their names, and their numbers from the shortest lengthscale on.
fn ordered_inputs(file: &ModelFile, layer: usize) -> (Vec<String>, Vec<usize>) {
    let width = file.regressor.model.layers()[layer].input_width();
    let names: Vec<String> =
        if layer == 0 { file.schema.feature_names() } else { (1..=width).map(|i| format!("unit {i}")).collect() };
    let ranked = bends(file, layer);
    let mut order: Vec<usize> =
        ranked.iter().filter_map(|(name, _)| names.iter().position(|own| own == name)).collect();
    if order.len() != width {
        order = (0..width).collect();
    }
    (names, order)
}

/// Some training rows in the model's units.
fn sampled_inputs(file: &ModelFile, train: &Dataset) -> Result<Mat> {
    let every = train.len().div_ceil(SAMPLED_ROWS);
    let rows: Vec<u32> = (0..train.len() as u32).step_by(every.max(1)).collect();
    Ok(file.regressor.standardiser.apply(&train.gather(&rows)?)?.x().clone())
}

/// What enters a layer, in the mean: the layers before it, taken as a model of their own.
fn entering(file: &ModelFile, layer: usize, x: &Mat, settings: PredictSettings) -> Result<Mat> {
    if layer == 0 {
        return Ok(x.clone());
    }
    let model = &file.regressor.model;
    let before = model.layers()[..layer].to_vec();
    let width = before[layer - 1].output_width();
    let head = DeepGp::new(before, Box::new(Gaussian::new(1.0, width)))?.with_precision(model.precision());
    let head = head.with_jitter(model.jitter())?;
    let settings = PredictSettings { samples: FEW_SAMPLES, ..settings };
    Ok(head.predictor(settings)?.moments(x.view())?.f.mean)
}

/// What would make the model again.
fn all_settings(file: &ModelFile) -> Vec<(String, String)> {
    let record = &file.record;
    let mut all = vec![
        ("table".to_string(), record.data.to_string()),
        ("rows".into(), record.data.rows().to_string()),
        ("SHA-256 of the table".into(), record.data.table().map_or(String::new(), |table| table.sha256.clone())),
        ("targets".into(), file.schema.targets.join(", ")),
        ("inputs".into(), inputs_in_words(file, "number")),
        ("parameters".into(), file.regressor.model.raw().len().to_string()),
        ("end of training".into(), record.stop.as_ref().map_or(String::new(), StopReason::to_string)),
    ];
    let mut flatten = |prefix: &str, value: &Value| {
        if let Value::Object(fields) = value {
            for (name, value) in fields {
                let shown = in_words(value);
                all.push((format!("{prefix}{}", name.replace('_', " ")), shown));
            }
        }
    };
    let settings = serde_json::to_value(&record.settings).unwrap_or_default();
    flatten("", settings.get("model").unwrap_or(&Value::Null));
    flatten("training: ", settings.get("train").unwrap_or(&Value::Null));
    all.push(("validation share".into(), record.settings.validation.map_or("none".into(), |v| v.to_string())));
    all.push(("test share".into(), record.test.map_or("none".into(), |v| v.to_string())));
    all.push(("model written by".into(), format!("deepgp {}", record.version)));
    all
}

/// A value of a setting without the marks of JSON: `{"decoupled":{"mean":5}}` is `decoupled: mean 5`.
fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "default".into(),
        Value::Object(fields) => {
            let each = fields.iter().map(|(name, value)| match value {
                Value::Object(_) => format!("{name}: {}", in_words(value)),
                _ => format!("{name} {}", in_words(value)),
            });
            each.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}
