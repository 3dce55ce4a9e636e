//! What a model of classes said of the scored rows.

use deepgp::likelihood::Outcomes;
use deepgp_io::ModelFile;

use super::{ReportSources, row_numbers};
use crate::model::labels;
use crate::model::scores::Scores;
use crate::report::{ClassReport, ClassRows};

/// The labels, scores and predictions of a model of classes; `None` of another model. Without scored rows, the scores are those in the model file.
pub fn classes(file: &ModelFile, sources: &ReportSources<'_>) -> Option<ClassReport> {
    match file.regressor.model.likelihood().outcomes() {
        Outcomes::Classes(_) => {}
        Outcomes::Real | Outcomes::Counts => return None,
    }
    let labels = labels::of(file);
    Some(match sources.scored {
        Some(Scores::Classes(scored)) => {
            let rows = ClassRows {
                truth: scored.data.y().as_slice().iter().map(|class| *class as usize).collect(),
                probabilities: scored.probabilities.clone(),
                numbers: row_numbers(sources, scored.data.len()),
            };
            ClassReport { labels, scores: scored.scores.clone(), rows: Some(rows) }
        }
        Some(Scores::Numbers(_) | Scores::Counts(_)) | None => {
            ClassReport { labels, scores: file.record.class_scores.clone(), rows: None }
        }
    })
}
