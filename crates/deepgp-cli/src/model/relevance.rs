//! Inverse lengthscales of a layer's kernel: how fast a model's function bends along each input.

use deepgp_io::ModelFile;

/// The inputs of a layer with `1 / lengthscale`, largest first; empty if its kernel has no lengthscales. That is how
/// fast the function bends along an input, not how much the input matters.
pub fn relevance(file: &ModelFile, layer: usize) -> Vec<(String, f64)> {
    let wanted = format!("layers.{layer}.kernel.lengthscales");
    let parameters = file.regressor.model.parameters();
    let Some(found) = parameters.into_iter().find(|p| p.name == wanted) else { return Vec::new() };
    let names = if layer == 0 {
        file.schema.feature_names()
    } else {
        (1..=found.values.len()).map(|i| format!("unit {i}")).collect()
    };
    let mut all: Vec<(String, f64)> = names.into_iter().zip(found.values.iter().map(|ell| 1.0 / ell)).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}
