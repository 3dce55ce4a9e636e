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

impl<'a> Predictions<'a> {
    /// The model of a file, which reads rows as `schema` says.
    pub fn new(file: &'a ModelFile, schema: Schema, settings: PredictSettings, limits: Limits) -> anyhow::Result<Self> {
        let predictor = file.regressor.predictor(settings).map_err(device::explain)?;
        Ok(Self { file, schema, settings, predictor, answers: Answers::of(file), limits })
    }

    /// The JSON Schema of a row, and what is told of one.
    pub fn row_schema(&self) -> Value {
        row_schema::of(self.file, &self.schema, &self.columns(&[], &[], 0).names())
    }

    /// The limits of requests.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Answers a body. `go_on` is asked before each chunk of rows, and its refusal is the answer.
    pub fn answer(&self, body: &[u8], go_on: &dyn Fn() -> Result<(), Refusal>) -> Result<Answer, Refusal> {
        let request = PredictRequest::read(body, &self.limits)?;
        let intervals: Vec<f64> = request.interval.into_iter().collect();
        self.check_answerable(&request)?;
        let columns = self.columns(&request.quantiles, &intervals, request.draws);
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
        if let Answers::Numbers { .. } | Answers::Counts = self.answers {
            let no_rows = Mat::zeros(0, self.schema.width());
            predictor.quantiles(no_rows.view(), &request.quantiles).map_err(refused)?;
            predictor.intervals(no_rows.view(), &intervals).map_err(refused)?;
        }
        let source = Source::of_json_rows(NAME, &self.schema, &request.rows).map_err(refused)?;
        let mut encoder = self.schema.encoder(&source, Targets::Unneeded).map_err(refused)?;
        let rows_at_once =
            chunks::rows_at_once(self.settings.samples.saturating_add(request.draws), self.schema.width());
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
                    |(column, name): (usize, &String)| (name.clone(), columns.json(column, predictions[(i, column)]));
                told[*at as usize] = names.iter().enumerate().map(of_row).collect::<Map<_, _>>().into();
            }
            predicted += chunk.kept.len() as u64;
        }
        let notes: Vec<Note> = encoder.notes().into_iter().map(of_request).collect();
        let body = json!({ "predictions": told, "notes": sentences(&notes) }).to_string();
        Ok(Answer { body, rows: predicted })
    }

    /// The columns of predictions with these quantiles, intervals and draws.
    fn columns<'b>(&'b self, quantiles: &'b [f64], intervals: &'b [f64], draws: usize) -> PredictionColumns<'b> {
        let (targets, answers) = (&self.schema.targets, self.answers.clone());
        PredictionColumns { keep: &[], targets, quantiles, intervals, draws, joint: false, answers }
    }

    /// Fails if a request asks for quantiles of classes.
    fn check_answerable(&self, request: &PredictRequest) -> Result<(), Refusal> {
        let asks = !request.quantiles.is_empty() || request.interval.is_some();
        match &self.answers {
            Answers::Classes { .. } if asks => Err(Refusal::of_content(
                "quantiles, interval: the model predicts classes, which have neither: leave them out and read the probabilities",
            )),
            Answers::Numbers { .. } | Answers::Classes { .. } | Answers::Counts => Ok(()),
        }
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
