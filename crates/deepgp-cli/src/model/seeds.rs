//! The seeds of all that a fit draws: with them and the table it can be made again.

use deepgp::PredictSettings;
use deepgp_io::ModelFile;
use serde_json::{Value, json};

/// The seeds for people: `seed 3 for the split, the model's start and training; 0 for the samples behind scores`.
pub fn in_words(file: &ModelFile) -> String {
    let (split, start, scores) = of(file);
    let fit = if split == start {
        format!("seed {split} for the split, the model's start and training")
    } else {
        format!("seed {split} for the split and training, {start} for the model's start")
    };
    format!("{fit}; {scores} for the samples behind scores")
}

/// The seeds for scripts.
pub fn json(file: &ModelFile) -> Value {
    let (split, start, scores) = of(file);
    json!({ "split": split, "start": start, "training": split, "scores": scores })
}

/// The seed of the split and of training, of where the model starts, and of the samples behind scores.
fn of(file: &ModelFile) -> (u64, u64, u64) {
    let settings = &file.record.settings;
    (settings.train.seed, settings.model.seed, PredictSettings::default().seed)
}
