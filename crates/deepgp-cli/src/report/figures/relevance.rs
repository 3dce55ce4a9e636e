//! Inverse lengthscales: how fast the function of each layer bends along its inputs.
//!
//! That is not how much they matter: along an input that acts as a straight line nothing bends, however steep the line
//! is.

use super::{Figure, stem};
use crate::picture::{Bar, BarList};
use crate::report::LayerRelevance;
use crate::report::number::significant;

/// The largest number of inputs shown.
const MOST: usize = 20;

/// The figure of layer `index` of `layers`; `None` if it has no input with a finite value.
pub(in crate::report) fn relevance(layers: &[LayerRelevance], index: usize) -> Option<Figure> {
    let layer = &layers[index];
    let mut inputs: Vec<_> = layer.inputs.iter().filter(|(_, value)| value.is_finite()).collect();
    inputs.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (shown, hidden) = inputs.split_at(inputs.len().min(MOST));
    let last = shown.last()?;
    let bar = |(name, value): &&(String, f64)| Bar {
        name: name.clone(),
        value: *value,
        doubt: 0.0,
        shown: significant(*value, 2),
    };
    let remark = match hidden.len() {
        0 => String::new(),
        n => format!("and {n} more, at most {}", significant(hidden.first().map_or(last.1, |input| input.1), 2)),
    };
    let bars = shown.iter().map(bar).collect();
    let caption = if index == 0 {
        "One over the lengthscale of each standardised input: how fast the function bends along it. A bar near zero is an \
         input along which it is nearly a straight line, be that level or steep: such an input may matter much."
    } else {
        "The same for the outputs of the layer before: a bar near zero is a dimension along which this layer is nearly a \
         straight line, or which it does not use."
    };
    Some(Figure {
        stem: stem("relevance", index, layers.len()),
        picture: BarList { title: layer.layer.clone(), bars, remark }.draw(),
        caption: caption.to_owned(),
    })
}
