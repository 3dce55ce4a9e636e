//! Notes: what a person should know of a model.

use deepgp::{DeepGp, FitSettings, InducingSize};
use deepgp_io::{ModelFile, Note};

use super::score;

/// All notes on a model: on its fit, then on its test scores.
pub fn all(file: &ModelFile) -> Vec<Note> {
    let notes = &file.record.notes;
    let remarks = score::remarks_of_fit(file).into_iter().filter(|remark| !notes.contains(remark));
    notes.iter().cloned().chain(remarks).collect()
}

/// A note if the model has fewer inducing inputs than were asked for, because its first layer has no more distinct inputs.
pub fn inducing_notes(settings: &FitSettings, model: &DeepGp) -> Option<Note> {
    let inducing = &model.layers()[0].inducing;
    let (mean, covariance) = match settings.model.inducing {
        InducingSize::Tied(m) => (Some(m), Some(m)),
        InducingSize::Decoupled { mean, covariance } | InducingSize::Nested { mean, covariance } => (mean, covariance),
    };
    let short = [(mean, inducing.mean().nrows()), (covariance, inducing.covariance().nrows())].into_iter();
    let asked = short.filter_map(|(asked, found)| asked.filter(|asked| *asked > found).map(|asked| (asked, found)));
    asked.max().map(|(asked, found)| Note::FewerInducing { asked, found })
}

/// Notes as scripts and pages show them: in sentences.
pub fn sentences(notes: &[Note]) -> Vec<String> {
    notes.iter().map(Note::to_string).collect()
}
