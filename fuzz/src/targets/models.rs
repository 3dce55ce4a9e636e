//! Model files and checkpoints: what is read can be computed with and written again, and all else is an error.
//!
//! A checksum stands before all of a file's contents, and no fuzzer finds one by itself: each target takes the bytes as they are, and once
//! more with the checksum that they ought to have.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::path::Path;

use deepgp::{Mat, PredictSettings, Trainer};
use deepgp_io::ModelFile;
use safetensors::SafeTensors;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

/// More work than this is left alone: a sound file may ask for it.
const MOST_PARAMETERS: usize = 20_000;
/// Rows of a run that goes on.
const MOST_ROWS: usize = 64;

/// A model file: what is read of it predicts, and is written with the same bytes twice.
pub fn model(bytes: &[u8]) {
    each(bytes, |file| {
        predict(&file);
        let written = file.to_bytes().expect("what was read can be written");
        let again = ModelFile::from_bytes(&written, Path::new("model")).expect("what was written can be read");
        assert!(again.to_bytes().expect("it can be written") == written, "it comes back to the last bit");
    });
}

/// A checkpoint: a run that goes on from it takes a step, or says why not.
pub fn checkpoint(bytes: &[u8]) {
    each(bytes, |file| {
        let model = file.regressor.model.clone();
        let Some(state) = file.state.clone() else { return };
        let rows = state.num_data;
        let settings = state.settings;
        let heavy = settings.samples.max(settings.validation_samples) > 8;
        if heavy || rows == 0 || rows > MOST_ROWS || parameters(&file) > MOST_PARAMETERS {
            return;
        }
        let input = Mat::from_fn(rows, model.input_width(), |i, j| (1.3 * i as f64 + 0.7 * j as f64).sin());
        let target = Mat::from_fn(rows, model.likelihood().observed_width(), |i, _| (i % 2) as f64);
        let Ok(data) = deepgp::Dataset::new(input, target) else { return };
        let settings = deepgp::TrainSettings { steps: state.step.saturating_add(2), threads: 0, ..settings };
        let Ok(mut trainer) = Trainer::resume(model, &data, None, settings, state) else { return };
        let _ = trainer.run(|_, _| ControlFlow::Continue(()));
        assert!(trainer.state().now.raw.iter().all(|raw| raw.is_finite()), "the parameters are finite");
    });
}

/// Hands what can be read to `check`: of the bytes, and of the same with the right checksum.
fn each(bytes: &[u8], check: impl Fn(ModelFile)) {
    let mended = mended(bytes);
    for bytes in std::iter::once(bytes).chain(mended.as_deref()) {
        match ModelFile::from_bytes(bytes, Path::new("model")) {
            Ok(file) => check(file),
            Err(error) => {
                let told = error.to_string();
                assert!(told.starts_with("model"), "no file in: {told}");
            }
        }
    }
}

/// Moments at two rows; numbers that no training leads to may end in others that are none, but in no panic.
fn predict(file: &ModelFile) {
    let model = &file.regressor.model;
    if parameters(file) > MOST_PARAMETERS {
        return;
    }
    let settings = PredictSettings { samples: 3, threads: 0, ..PredictSettings::default() };
    let Ok(predictor) = file.regressor.predictor(settings) else { return };
    let rows = Mat::from_fn(2, model.input_width(), |i, j| {
        let scaling = &file.regressor.standardiser.x;
        scaling.shift[j] + i as f64 * scaling.scale[j]
    });
    let moments = predictor.moments(rows.view());
    if let (Ok(moments), true) = (moments, file.implausible_numbers().is_empty()) {
        let variances = moments.y.variance.as_slice();
        assert!(variances.iter().all(|variance| variance.is_nan() || *variance >= 0.0), "variances are no less than 0");
    }
}

fn parameters(file: &ModelFile) -> usize {
    file.regressor.model.parameters().last().map_or(0, |parameter| parameter.range.end)
}

/// The same file with the checksum of its contents, as `docs/model-file.md` describes it; `None` if it cannot be taken apart.
fn mended(bytes: &[u8]) -> Option<Vec<u8>> {
    let tensors = SafeTensors::deserialize(bytes).ok()?;
    let (_, metadata) = SafeTensors::read_metadata(bytes).ok()?;
    let header = metadata.metadata().as_ref()?.get("deepgp")?;
    let header: BTreeMap<String, Box<RawValue>> = serde_json::from_str(header).ok()?;
    let description = header.get("description")?.get();
    let mut arrays: Vec<_> = tensors.tensors();
    arrays.sort_by(|one, other| one.0.cmp(&other.0));
    let mut hash = Sha256::new();
    hash.update(description);
    for (name, tensor) in &arrays {
        hash.update(format!("\n{name} {:?}\n", tensor.shape()));
        hash.update(tensor.data());
    }
    let checksum: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let version = header.get("format_version")?.get();
    let text = format!(r#"{{"format_version":{version},"checksum":"{checksum}","description":{description}}}"#);
    safetensors::serialize(arrays, Some(HashMap::from([("deepgp".into(), text)]))).ok()
}
