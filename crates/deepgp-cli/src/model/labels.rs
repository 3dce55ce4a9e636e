//! Labels of a model's classes.

use deepgp::likelihood::Outcomes;
use deepgp_io::ModelFile;

/// The labels of a model's classes in their order; numbers where its file has none, as of a model that was fitted to arrays. Empty if it does not
/// predict classes.
pub fn of(file: &ModelFile) -> Vec<String> {
    match (file.schema.target_kind.labels(), file.regressor.model.likelihood().outcomes()) {
        (Some(labels), _) => labels.to_vec(),
        (None, Outcomes::Classes(classes)) => (0..classes).map(|class| class.to_string()).collect(),
        (None, Outcomes::Real | Outcomes::Counts) => Vec::new(),
    }
}
