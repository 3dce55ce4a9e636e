//! Inverse lengthscales of a layer's kernel: how fast a model's function bends along each input.

use deepgp_io::ModelFile;
use deepgp_io::table::{InputColumn, Kind};

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

/// The same by columns of the table: of a column that becomes several inputs, such as a category, the one along which the function bends fastest.
pub fn relevance_of_columns(file: &ModelFile, layer: usize) -> Vec<(String, f64)> {
    let all = relevance(file, layer);
    if layer > 0 {
        return all;
    }
    let mut names = file.schema.feature_names().into_iter();
    let fastest = |column: &InputColumn| {
        let own: Vec<String> = names.by_ref().take(column.width()).collect();
        let found = all.iter().find(|(name, _)| own.contains(name))?;
        Some((column.name.clone(), found.1))
    };
    let mut columns: Vec<(String, f64)> = file.schema.inputs.iter().filter_map(fastest).collect();
    columns.sort_by(|a, b| b.1.total_cmp(&a.1));
    columns
}

/// Of each input of the first layer, whether it says that a category has one of its levels: 0 or 1, and little to see along it.
pub fn are_levels(file: &ModelFile) -> Vec<bool> {
    let of_column = |column: &InputColumn| vec![matches!(column.kind, Kind::Category { .. }); column.width()];
    file.schema.inputs.iter().flat_map(of_column).collect()
}
