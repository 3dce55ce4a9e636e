//! `deepgp report`: gathers what the page tells, and writes it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use deepgp::likelihood::Gaussian;
use deepgp::{Dataset, DeepGp, Inducing, Mat, PredictSettings};
use deepgp_io::{ModelFile, ScoreRecord, atomic};
use serde_json::Value;

use crate::args::ReportArgs;
use crate::output::{self, Outcome};
use crate::report::{self, History, InducingView, LayerRelevance, Metrics, Output, Report, ScoreRow};
use crate::score::Scored;
use crate::{fit, info, paths, picture, rows};

/// Rows whose way through the layers is drawn.
const SAMPLED_ROWS: usize = 600;
/// Samples of the hidden layers behind such a picture.
const FEW_SAMPLES: usize = 20;

/// Writes a report, and its pictures if they are asked for.
pub fn report(args: ReportArgs) -> Result<Outcome> {
    let ReportArgs { model, table, out, pictures, formats, sampling, voice } = args;
    paths::check_distinct(&[("the model", Some(&model)), ("the table", table.as_ref()), ("--out", Some(&out))])?;
    let file = ModelFile::load(&model)?;
    // The table of the fit is needed for its test rows and for the baselines; without it the report is shorter.
    let training = rows::of_fit(&file, None)
        .and_then(|data| rows::split(&data, file.record.test, file.record.settings.train.seed));
    if let Err(reason) = &training {
        output::say(voice, &format!("note: there are no baselines in the report: {reason:#}"));
    }
    let (train, own_test) = training.map_or((None, None), |(train, test)| (Some(train), test));
    let test = match &table {
        None => own_test,
        Some(path) => {
            let (data, notes) = rows::to_score(&file, &sampling.schema(&file), path)?;
            output::notes(voice, &notes);
            Some(data)
        }
    };
    let scored = test.map(|test| Scored::with(&file, train.as_ref(), &test, sampling.settings())).transpose()?;
    let on = match (&table, &scored) {
        (Some(path), Some(scored)) => Some(format!("{} rows of {}", scored.rows(), file_name(path))),
        _ => None,
    };
    let content = gather(&file, scored.as_ref(), train.as_ref(), on)?;
    write_page(&content, &out)?;
    output::say(voice, &format!("report: {}", out.display()));
    if let Some(folder) = pictures {
        let count = write_pictures(&content, &folder, &formats)?;
        output::say(voice, &format!("{count} pictures: {}", folder.display()));
    }
    if voice.json {
        output::json(
            &serde_json::json!({ "report": out.display().to_string(), "version": env!("CARGO_PKG_VERSION") }),
        )?;
    }
    Ok(Outcome::Done)
}

/// Writes the report on a model that has just been fitted.
pub fn write(file: &ModelFile, scored: Option<&Scored>, train: Option<&Dataset>, path: &Path) -> Result<()> {
    write_page(&gather(file, scored, train, None)?, path)
}

fn write_page(content: &Report, path: &Path) -> Result<()> {
    atomic::write(path, report::page(content).as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

fn write_pictures(content: &Report, folder: &Path, formats: &[String]) -> Result<usize> {
    let writing = || format!("cannot write to {}", folder.display());
    fs::create_dir_all(folder).with_context(writing)?;
    let mut count = 0;
    for (stem, svg) in report::pictures(content) {
        for format in formats {
            let path = folder.join(format!("{stem}.{format}"));
            let bytes = match format.as_str() {
                "png" => picture::png(&svg).map_err(|reason| anyhow!("{}: {reason}", path.display()))?,
                _ => svg.clone().into_bytes(),
            };
            atomic::write(&path, &bytes).with_context(writing)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Everything that the page tells. `on` says which rows were scored, if they are not the fit's own test rows.
fn gather(file: &ModelFile, scored: Option<&Scored>, train: Option<&Dataset>, on: Option<String>) -> Result<Report> {
    let (schema, record) = (&file.schema, &file.record);
    let joint = if schema.targets.len() > 1 { "; log likelihoods are of all targets together" } else { "" };
    let own = |scored: &Scored| format!("{} rows of the table that training never saw", scored.rows());
    let scored_on = scored.map(|scored| on.unwrap_or_else(|| own(scored)) + joint);
    Ok(Report {
        title: format!("{} from {}", schema.targets.join(", "), file_name(Path::new(&record.table.path))),
        summary: sentence(file),
        created: output::date(output::now()),
        version: format!("deepgp {}", env!("CARGO_PKG_VERSION")),
        scores: scored.map_or(Vec::new(), |scored| score_rows(file, scored)),
        scored_on,
        outputs: scored.map_or(Vec::new(), |scored| outputs(file, scored)),
        history: history(file),
        relevance: relevance(file),
        inducing: inducing(file, train)?,
        settings: settings(file),
        notes: record.notes.clone(),
    })
}

fn sentence(file: &ModelFile) -> String {
    let record = &file.record;
    let held_out = record.test_rows;
    let rows = record.settings.training_rows(record.table.rows.saturating_sub(held_out));
    let described = fit::describe(&file.regressor);
    let mut first = described.chars();
    let described = first.next().map_or(String::new(), |c| c.to_uppercase().collect::<String>() + first.as_str());
    let took = crate::progress::duration(record.train_seconds);
    format!("{described}, trained on {rows} rows in {} steps ({took}).", record.steps)
}

fn score_rows(file: &ModelFile, scored: &Scored) -> Vec<ScoreRow> {
    let (targets, units) = (&file.schema.targets, &file.regressor.standardiser.y);
    let mut rows = Vec::new();
    for (i, ScoreRecord { name, score }) in scored.scores.iter().enumerate() {
        let standardised = score.standardised(units);
        for (p, target) in targets.iter().enumerate() {
            let metrics = |score: &deepgp::Score| Metrics {
                log_likelihood: score.log_likelihood,
                rmse: score.rmse[p],
                mae: score.mae[p],
                crps: score.crps[p],
                coverage_50: score.coverage_50[p],
                coverage_90: score.coverage_90[p],
                coverage_95: score.coverage_95[p],
            };
            rows.push(ScoreRow {
                name: if targets.len() == 1 { name.clone() } else { format!("{name}: {target}") },
                original: metrics(score),
                standardised: metrics(&standardised),
                seconds: (i == 0).then_some(file.record.train_seconds),
                of_model: i == 0,
            });
        }
    }
    rows
}

fn outputs(file: &ModelFile, scored: &Scored) -> Vec<Output> {
    let column = |m: &Mat, p: usize| (0..m.nrows()).map(|i| m[(i, p)]).collect::<Vec<f64>>();
    let each = file.schema.targets.iter().enumerate();
    each.map(|(p, name)| Output {
        name: name.clone(),
        y: column(&scored.y, p),
        mean: column(&scored.model.mean, p),
        lower_95: column(&scored.interval, 2 * p),
        upper_95: column(&scored.interval, 2 * p + 1),
        pit: column(&scored.model.below, p),
        deviation: column(&scored.model.deviation, p),
    })
    .collect()
}

fn history(file: &ModelFile) -> History {
    let points = file.history.points();
    let column = |of: fn(&deepgp_io::HistoryPoint) -> f64| points.iter().map(of).collect::<Vec<f64>>();
    let validation: Vec<(f64, f64)> = file.history.validation().iter().map(|&(step, v)| (step as f64, v)).collect();
    let best = validation.iter().filter(|(_, v)| v.is_finite()).max_by(|a, b| a.1.total_cmp(&b.1));
    History {
        step: column(|p| p.step as f64),
        seconds: column(|p| p.seconds),
        elbo: column(|p| p.elbo),
        data_term: column(|p| p.data_term),
        kl: column(|p| p.kl),
        noise: column(|p| p.noise),
        best_step: best.map(|(step, _)| *step),
        validation,
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
    let each = layers.map(|l| LayerRelevance { layer: layer_name(file, l), inputs: info::relevance(file, l) });
    each.filter(|own| !own.inputs.is_empty()).collect()
}

/// The inducing inputs of each layer along the two inputs with the shortest lengthscales, over a sample of what enters the layer.
fn inducing(file: &ModelFile, train: Option<&Dataset>) -> Result<Vec<InducingView>> {
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
        let data = sample.as_ref().map_or(Ok(Vec::new()), |x| entering(file, l, x).map(|x| points(&x, 0.0)))?;
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
    let ranked = info::relevance(file, layer);
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
fn entering(file: &ModelFile, layer: usize, x: &Mat) -> Result<Mat> {
    if layer == 0 {
        return Ok(x.clone());
    }
    let model = &file.regressor.model;
    let before = model.layers()[..layer].to_vec();
    let width = before[layer - 1].output_width();
    let head = DeepGp::new(before, Box::new(Gaussian::new(1.0, width)))?.with_precision(model.precision());
    let head = head.with_jitter(model.jitter())?;
    let settings = PredictSettings { samples: FEW_SAMPLES, ..PredictSettings::default() };
    Ok(head.predictor(settings)?.moments(x.view())?.f.mean)
}

fn settings(file: &ModelFile) -> Vec<(String, String)> {
    let record = &file.record;
    let mut all = vec![
        ("table".to_string(), record.table.path.clone()),
        ("rows".into(), record.table.rows.to_string()),
        ("SHA-256 of the table".into(), record.table.sha256.clone()),
        ("targets".into(), file.schema.targets.join(", ")),
        ("inputs".into(), format!("{} columns, {} numbers", file.schema.inputs.len(), file.schema.width())),
        ("parameters".into(), file.regressor.model.raw().len().to_string()),
        ("end of training".into(), record.stop.clone().unwrap_or_default()),
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

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
