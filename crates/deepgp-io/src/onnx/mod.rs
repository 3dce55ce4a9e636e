//! Models as ONNX graphs: rows of numbers in, means and standard deviations in the user's units out, or probabilities of classes, for programs without this
//! one.
//!
//! ```text
//! x [N, D] ─ units ─→ layer ─→ f = mean + √variance ∘ ε ─→ layer ─→ … ─→ S Gaussians a row ─→ mean, std [N, P]
//! ```
//!
//! The samples `ε` of the hidden layers are constants of the graph: those that prediction has, which all rows share, or the points of learned sites. Rows are
//! numbers as the encoder makes them, in the order of [`Schema::feature_names`]. Everything is `f64`, so that the numbers are those of
//! [`deepgp::UserPredictor::moments`] and [`deepgp::UserPredictor::class_probabilities`], to rounding or to what sums over lattices leave. A row costs what it costs here, but a runtime holds `N · S` rows of `M` numbers at once.

mod classes;
mod graph;
mod kernels;
mod layers;
mod observed;
mod protobuf;
mod transformed;

use std::path::{Path, PathBuf};

use deepgp::{Draws, PredictSettings, Regressor};

use crate::atomic;
use crate::table::Schema;
use classes::Classes;
use graph::{Graph, Tensor};

/// The largest input in magnitude, as in prediction: larger ones are moved there.
const LARGEST_INPUT: f64 = 1e12;

/// Why a model does not become an ONNX graph.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxError {
    /// The model has something that is not written as a graph.
    #[error("the model has {what}, which is not written as ONNX: {advice}")]
    Unsupported {
        /// What it has.
        what: String,
        /// What to do.
        advice: &'static str,
    },

    /// The model cannot be computed.
    #[error(transparent)]
    Model(#[from] deepgp::Error),

    /// The file cannot be written.
    #[error("{}: the file cannot be written: {cause}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        cause: std::io::Error,
    },
}

/// The model as the bytes of an ONNX file, with the samples that a prediction of these settings takes.
pub fn encode(regressor: &Regressor, schema: &Schema, settings: PredictSettings) -> Result<Vec<u8>, OnnxError> {
    observed::check(regressor)?;
    let explicit = regressor.model.explicit(settings)?;
    let mut graph = Graph::default();
    let units = &regressor.standardiser.x;
    let x = Tensor::input("x");
    let (shift, scale) = (graph.row(&units.shift), graph.row(&units.scale));
    let centred = graph.subtract(&x, &shift);
    let scaled = graph.divide(&centred, &scale);
    let within = graph.clip(&scaled, -LARGEST_INPUT, LARGEST_INPUT);
    let mut mixture = layers::mixture(&mut graph, &explicit, within.clone())?;
    layers::add_trend(&mut graph, regressor, &within, &mut mixture);
    let (columns, targets) = (units.shift.len(), regressor.standardiser.y.shift.len());
    let outputs = match Classes::of(regressor) {
        Some(classes) => {
            let p = classes.probabilities(&mut graph, regressor, &explicit, &mixture);
            graph.output(&p, "probabilities");
            vec![("probabilities", classes.count())]
        }
        None => {
            let (mean, deviation) = observed::moments(&mut graph, regressor, &explicit, &mixture);
            graph.output(&mean, "mean");
            graph.output(&deviation, "std");
            vec![("mean", targets), ("std", targets)]
        }
    };
    let mut facts = vec![
        ("deepgp.version", env!("CARGO_PKG_VERSION").to_string()),
        ("deepgp.features", json(&schema.feature_names())),
        ("deepgp.targets", json(&schema.targets)),
        ("deepgp.schema", json(schema)),
    ];
    if let Some(labels) = schema.target_kind.labels() {
        facts.push(("deepgp.labels", json(&labels)));
    }
    if explicit.noise.is_empty() || regressor.model.sites().is_some() {
        facts.push(("deepgp.samples", "none: the distribution is exact".into()));
    } else {
        facts.push(("deepgp.samples", settings.samples.to_string()));
        let draws = match settings.draws {
            Draws::Balanced => "balanced",
            Draws::Independent => "independent",
        };
        facts.push(("deepgp.draws", draws.into()));
        facts.push(("deepgp.seed", settings.seed.to_string()));
    }
    Ok(protobuf::model(&graph, ("x", columns), &outputs, &facts))
}

/// A fact about the model as JSON.
fn json(fact: &impl serde::Serialize) -> String {
    serde_json::to_string(fact).expect("names and numbers become JSON")
}

/// Writes the model as an ONNX file, whole or not at all.
pub fn save(regressor: &Regressor, schema: &Schema, settings: PredictSettings, path: &Path) -> Result<(), OnnxError> {
    let bytes = encode(regressor, schema, settings)?;
    atomic::write(path, &bytes).map_err(|cause| OnnxError::Write { path: path.into(), cause })
}
