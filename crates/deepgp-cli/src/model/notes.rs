//! Notes: what a person should know of a model.

use deepgp_io::ModelFile;

use super::score;

/// All notes on a model: on its fit, then on its test scores.
pub fn all(file: &ModelFile) -> Vec<String> {
    let notes = &file.record.notes;
    let remarks = score::remarks_of_fit(file).into_iter().filter(|remark| !notes.contains(remark));
    notes.iter().cloned().chain(remarks).collect()
}
