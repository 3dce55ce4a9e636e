//! A model ready to answer requests: the rows of a body become the numbers that `deepgp predict` writes.

use anyhow::Error;
use deepgp::{Mat, PredictSettings, UserPredictor};
use deepgp_io::table::{Schema, Source, Targets};
use deepgp_io::{ModelFile, Note, chunks};
use hyper::StatusCode;
use serde_json::{Map, Value, json};

use super::limits::{ANSWERED_NUMBERS, Limits};
use super::refusal::Refusal;
use super::request::PredictRequest;
use super::row_schema;
use crate::model::notes::sentences;
use crate::model::prediction_table::{Answers, PredictionColumns};
use crate::model::{device, non_finite};

/// What messages call the rows of a request.
const NAME: &str = "rows";

/// A model ready to answer.
#[derive(Debug)]
pub struct Predictions<'a> {
    file: &'a ModelFile,
    schema: Schema,
    settings: PredictSettings,
    /// The predictor of requests without a seed of their own.
    predictor: UserPredictor<'a>,
    answers: Answers,
    limits: Limits,
}

/// The answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The body of the response.
    pub body: String,
    /// How many rows were predicted.
    pub rows: u64,
}

/// The levels of quantiles that are computed, and under which names they are told.
struct Levels {
    all: Vec<f64>,
    /// A name, and the position of its level.
    named: Vec<(String, usize)>,
}

impl<'a> Predictions<'a> {
    /// The model of a file, which reads rows as `schema` says.
    pub fn new(file: &'a ModelFile, schema: Schema, settings: PredictSettings, limits: Limits) -> anyhow::Result<Self> {
        let predictor = file.regressor.predictor(settings).map_err(device::explain)?;
        Ok(Self { file, schema, settings, predictor, answers: Answers::of(file), limits })
    }

    /// The JSON Schema of a row, and what is told of one.
    pub fn row_schema(&self) -> Value {
        row_schema::of(self.file, &self.schema, &self.columns(&[], 0).names())
    }

    /// The limits of requests.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Answers a body. `go_on` is asked before each chunk of rows, and its refusal is the answer.
    pub fn answer(&self, body: &[u8], go_on: &dyn Fn() -> Result<(), Refusal>) -> Result<Answer, Refusal> {
        let request = PredictRequest::read(body, &self.limits)?;
        let levels = self.levels(&request)?;
        let columns = self.columns(&levels.all, request.draws);
        let (names, rows) = (columns.names(), request.rows.len());
        if names.len().saturating_mul(rows) > ANSWERED_NUMBERS {
            let (told, most) = (names.len(), ANSWERED_NUMBERS);
            let message = format!(
                "{told} numbers for each of {rows} rows are more than {most} in all: send fewer rows, or ask for fewer draws"
            );
            return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        let of_seed = match request.seed.filter(|seed| *seed != self.settings.seed) {
            Some(seed) => {
                Some(self.file.regressor.predictor(PredictSettings { seed, ..self.settings }).map_err(failed)?)
            }
            None => None,
        };
        let predictor = of_seed.as_ref().unwrap_or(&self.predictor);
        predictor.quantiles(Mat::zeros(0, self.schema.width()).view(), &levels.all).map_err(refused)?;
        let source = Source::of_json_rows(NAME, &self.schema, &request.rows).map_err(refused)?;
        let mut encoder = self.schema.encoder(&source, Targets::Unneeded).map_err(refused)?;
        let rows_at_once = chunks::rows_at_once(self.settings.samples.saturating_add(request.draws));
        let fields = self.fields(&names, &levels, request.draws);
        let (mut predicted, mut told) = (0, vec![Value::Null; rows]);
        while let Some(chunk) = encoder.next_chunk(rows_at_once).map_err(refused)? {
            go_on()?;
            let predictions = columns.predictions_of(predictor, &chunk).map_err(|error| failed_with(&error))?;
            if let Some((row, column, value)) = columns.first_non_finite(predictor, &predictions) {
                let (place, cause) = (chunk.kept[row] + 1, non_finite::cause(self.file, chunk.x.row(row)));
                return Err(Refusal::of_content(format!("{NAME}, row {place}: `{column}` would be {value}: {cause}")));
            }
            for (i, at) in chunk.kept.iter().enumerate() {
                let of_row =
                    |(name, column): &(String, usize)| (name.clone(), columns.json(*column, predictions[(i, *column)]));
                told[*at as usize] = fields.iter().map(of_row).collect::<Map<_, _>>().into();
            }
            predicted += chunk.kept.len() as u64;
        }
        let notes: Vec<Note> = encoder.notes().into_iter().map(of_request).collect();
        let body = json!({ "predictions": told, "notes": sentences(&notes) }).to_string();
        Ok(Answer { body, rows: predicted })
    }

    /// The columns of predictions with these quantiles and draws.
    fn columns<'b>(&'b self, quantiles: &'b [f64], draws: usize) -> PredictionColumns<'b> {
        let answers = self.answers.clone();
        PredictionColumns { keep: &[], targets: &self.schema.targets, quantiles, draws, joint: false, answers }
    }

    /// The levels that a request needs. Fails if it asks for quantiles of classes.
    fn levels(&self, request: &PredictRequest) -> Result<Levels, Refusal> {
        let mut all = request.quantiles.clone();
        let mut named: Vec<(String, usize)> = all.iter().map(|level| format!("q{level}")).zip(0..).collect();
        for (name, level) in ["lower", "upper"].into_iter().zip(request.interval_levels().into_iter().flatten()) {
            let position = all.iter().position(|own| *own == level).unwrap_or_else(|| {
                all.push(level);
                all.len() - 1
            });
            named.push((name.into(), position));
        }
        match (&self.answers, named.is_empty()) {
            (Answers::Classes { .. }, false) => Err(Refusal::of_content(
                "quantiles, interval: the model predicts classes, which have neither: leave them out and read the probabilities",
            )),
            (Answers::Numbers { .. } | Answers::Classes { .. } | Answers::Counts, _) => Ok(Levels { all, named }),
        }
    }

    /// What is told of a row: names, and the columns of predictions that they are of. Target after target: facts, quantiles, draws.
    fn fields(&self, names: &[String], levels: &Levels, draws: usize) -> Vec<(String, usize)> {
        let targets = &self.schema.targets;
        let width = names.len() / targets.len().max(1);
        let facts = width - levels.all.len() - draws;
        let mut fields = Vec::new();
        for (p, target) in targets.iter().enumerate() {
            let before = if targets.len() == 1 { String::new() } else { format!("{target}_") };
            let column = |own: usize| (names[p * width + own].clone(), p * width + own);
            fields.extend((0..facts).map(column));
            let quantile = |(name, level): &(String, usize)| (format!("{before}{name}"), p * width + facts + level);
            fields.extend(levels.named.iter().map(quantile));
            fields.extend((width - draws..width).map(column));
        }
        fields
    }
}

/// A note without the flags of `deepgp predict`.
fn of_request(note: Note) -> Note {
    match note {
        Note::UnusedColumns { columns, .. } => Note::UnusedColumns { columns, may_be_kept: false },
        other => other,
    }
}

/// What is wrong with a request.
fn refused(error: impl std::fmt::Display) -> Refusal {
    Refusal::of_content(error.to_string())
}

/// What the server could not do.
fn failed(error: deepgp::Error) -> Refusal {
    failed_with(&device::explain(error))
}

fn failed_with(error: &Error) -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}"))
}
