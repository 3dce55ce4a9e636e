//! The content of a report: a model file and its scores as plain numbers and words.

mod choices;
mod classes;
mod counts;
mod densities;
mod explained;
mod inducing;
mod noise;
mod outputs;
mod settings;

use std::path::Path;

use anyhow::Result;
use deepgp::{Dataset, PredictSettings};
use deepgp_io::note::ScoredRows;
use deepgp_io::{ModelFile, Note, Record, ScoreRecord, noise_of_first_target};

use choices::choices;
use classes::classes;
use counts::counts;
use explained::explained;
use inducing::inducing;
use outputs::outputs;
use settings::all_settings;

use crate::arguments::paths::file_name;
use crate::model::description::{describe, transforms_in_words};
use crate::model::relevance::relevance_of_columns as bends;
use crate::model::scores::{Scores, are_of_fit, remarks_of_fit};
use crate::model::{notes as model_notes, units};
use crate::report::figures::accuracy::INTERVALS;
use crate::report::{History, LayerRelevance, Report, ScoreRow};
use crate::terminal::date;
use crate::terminal::text::{count, duration};

/// What a report is made from, beside the model file.
#[derive(Clone, Debug)]
pub struct ReportSources<'a> {
    /// The rows that were scored for the report, if there were any.
    pub scored: Option<&'a Scores<'a>>,
    /// The positions of these rows in their table, from 0; `None` if they are not known.
    pub positions: Option<&'a [u64]>,
    /// The table of the scored rows, if it is not that of the fit.
    pub table: Option<&'a Path>,
    /// The training rows, if they are there.
    pub train: Option<&'a Dataset>,
    /// The settings of prediction.
    pub settings: PredictSettings,
    /// The notes that were shown while the report was made: who reads the page has not seen them.
    pub notes: Vec<String>,
}

/// The number of rows that a report on so many scored rows asks the model about once more, about: for intervals, noise, densities, and what predictions depend on.
pub fn predicted_rows(scored: usize) -> usize {
    // Two quantiles of a row cost about as much as two predictions, and densities are those of four rows at many points.
    scored.min(noise::ROWS) + 2 * scored.min(INTERVALS) + 4 * densities::POINTS + explained::predicted_rows(scored)
}

/// Gathers everything that the page shows. Without scored rows, the scores are those in the model file.
pub fn gather(file: &ModelFile, sources: &ReportSources<'_>) -> Result<Report> {
    let (schema, record) = (&file.schema, &file.record);
    let &ReportSources { scored, table, train, settings, .. } = sources;
    let numbers = match scored {
        Some(Scores::Numbers(own)) => Some(own),
        Some(Scores::Classes(_) | Scores::Counts(_)) | None => None,
    };
    let scores = numbers.map_or(&record.scores[..], |scored| &scored.scores);
    let are_scored = scored.is_some() || are_of_fit(file);
    let fitted = data_name(record);
    let rows = scored.map_or(record.test_rows, |scored| scored.data().len());
    let (title, scored_on) = match table.map(file_name) {
        Some(other) => (format!(", scored on {other}"), format!("{} of {other}", count(rows, "row"))),
        None => {
            let then = if scored.is_none() { ", when the model was fitted" } else { "" };
            (String::new(), format!("{} of {fitted} that training never saw{then}", count(rows, "row")))
        }
    };
    let rows_to_explain = scored.map(Scores::data).or(train);
    Ok(Report {
        title: format!("{} from {fitted}{title}", schema.targets.join(", ")),
        summary: sentence(file),
        created: date::date(date::now()),
        version: format!("deepgp {}", env!("CARGO_PKG_VERSION")),
        targets: schema.targets.clone(),
        scores: score_rows(file, scores),
        classes: classes(file, sources),
        counts: counts(file, sources)?,
        scored_on: are_scored.then_some(scored_on),
        choices: choices(file),
        outputs: numbers.map_or(Ok(Vec::new()), |scored| outputs(file, scored, settings))?,
        history: history(file),
        importance: rows_to_explain.map_or(Ok(Vec::new()), |rows| explained(file, rows.x().view(), settings))?,
        relevance: relevance(file),
        inducing: inducing(file, train, settings)?,
        settings: all_settings(file),
        notes: notes(file, sources),
    })
}

/// The number of each scored row in its table, from 1, or among the scored rows where that is not known.
fn row_numbers(sources: &ReportSources<'_>, rows: usize) -> Vec<u64> {
    let positions = sources.positions.filter(|positions| positions.len() == rows);
    positions.map_or((1..=rows as u64).collect(), |positions| positions.iter().map(|at| at + 1).collect())
}

/// The file name of the table of the fit, or what there was in place of one.
fn data_name(record: &Record) -> String {
    record.data.table().map_or_else(|| record.data.to_string(), |table| file_name(Path::new(&table.path)))
}

/// The notes on the fit, on the rows that were scored, and on their scores, each with the table that it is about.
fn notes(file: &ModelFile, sources: &ReportSources<'_>) -> Vec<String> {
    let record = &file.record;
    let on = sources.table.map(file_name).map_or(ScoredRows::Test, |name| ScoredRows::Table { name });
    let of_fit = |note: &Note| match sources.table {
        Some(_) => format!("the fit to {}: {note}", data_name(record)),
        None => note.to_string(),
    };
    let of_scores = match sources.scored {
        Some(scored) => scored.remarks(&on, &file.schema.targets),
        None => remarks_of_fit(file),
    };
    let of_scores = model_notes::sentences(&of_scores);
    record.notes.iter().map(of_fit).chain(sources.notes.iter().cloned()).chain(of_scores).collect()
}

/// The sentence on the model and its training.
fn sentence(file: &ModelFile) -> String {
    let record = &file.record;
    let held_out = record.test_rows;
    let rows = record.settings.training_rows(record.data.rows().saturating_sub(held_out));
    let described = describe(&file.regressor);
    let mut first = described.chars();
    let described = first.next().map_or(String::new(), |c| c.to_uppercase().collect::<String>() + first.as_str());
    let took = duration(record.train_seconds);
    let kept = file.history.kept().filter(|(step, _)| *step < record.steps);
    let kept =
        kept.map_or(String::new(), |(step, _)| format!(" Step {step} was kept, the best by the validation rows."));
    let (rows, steps) = (count(rows, "row"), count(record.steps as usize, "step"));
    let transforms = transforms_in_words(file);
    let through =
        if transforms.is_empty() { String::new() } else { format!(" It learned {}.", transforms.join(" and ")) };
    format!("{described}, trained on {rows} in {steps} ({took}).{kept}{through}")
}

/// The scores in the targets' units and in standardised ones.
fn score_rows(file: &ModelFile, scores: &[ScoreRecord]) -> Vec<ScoreRow> {
    let row = |ScoreRecord { of, score }: &ScoreRecord| {
        let of_model = of.is_model();
        ScoreRow {
            name: of.to_string(),
            original: score.clone(),
            standardised: score.standardised(file.regressor.standardiser.original()),
            seconds: of_model.then_some(file.record.train_seconds),
            of_model,
            is_baseline: of.baseline().is_some(),
        }
    };
    scores.iter().map(row).collect()
}

/// The course of training, in columns.
fn history(file: &ModelFile) -> History {
    let points = file.history.points();
    let column = |of: fn(&deepgp_io::HistoryPoint) -> f64| points.iter().map(of).collect::<Vec<f64>>();
    History {
        step: column(|p| p.step as f64),
        seconds: column(|p| p.seconds),
        objective: column(|p| p.elbo),
        data_term: column(|p| p.data_term),
        kl: column(|p| p.kl),
        noise: column(|p| noise_of_first_target(&p.likelihood)),
        model_noise: units::noise(file),
        noise_units: file.regressor.standardiser.transform.is_some().then(|| units::noise_units(file)),
        validation: units::validation(file).into_iter().map(|(step, score)| (step as f64, score)).collect(),
        kept_step: file.history.kept().map(|(step, _)| step as f64),
    }
}

/// The name of a layer, counted from 1.
fn layer_name(file: &ModelFile, layer: usize) -> String {
    let last = file.regressor.model.layers().len() - 1;
    match layer {
        _ if last == 0 => "the one layer".into(),
        0 => "layer 1 (input)".into(),
        _ if layer == last => format!("layer {} (output)", layer + 1),
        _ => format!("layer {}", layer + 1),
    }
}

/// The inverse lengthscales of the layers that have some.
fn relevance(file: &ModelFile) -> Vec<LayerRelevance> {
    let layers = 0..file.regressor.model.layers().len();
    let each = layers.map(|l| LayerRelevance { layer: layer_name(file, l), inputs: bends(file, l) });
    each.filter(|own| !own.inputs.is_empty()).collect()
}
