//! `deepgp export`: writes a model for programs without this one.

use anyhow::Result;
use deepgp::PredictSettings;
use deepgp_io::{ModelFile, onnx};
use serde_json::json;

use crate::arguments::value::choice::draws_of;
use crate::arguments::{ExportArgs, paths};
use crate::terminal::output::{self, Outcome};
use crate::terminal::text::count;

/// Writes a model as an ONNX graph.
pub fn export(args: &ExportArgs) -> Result<Outcome> {
    let ExportArgs { model, onnx: path, samples, seed, balanced, voice } = args;
    paths::check_distinct(&[("the model", Some(model)), ("--onnx", Some(path))])?;
    let file = ModelFile::load(model)?;
    let settings =
        PredictSettings { samples: *samples, seed: *seed, draws: draws_of(*balanced), ..PredictSettings::default() };
    onnx::save(&file.regressor, &file.schema, settings, path)?;
    let features = file.schema.feature_names();
    let shown = path.display();
    output::say(
        *voice,
        &format!(
            "{shown}: `x` of {} in, `mean` and `std` out; docs/export.md says how rows are encoded",
            count(features.len(), "column")
        ),
    );
    if voice.json {
        output::json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "onnx": shown.to_string(),
            "features": features,
            "targets": file.schema.targets,
        }))?;
    }
    Ok(Outcome::Done)
}
