//! Inducing inputs of each layer among what enters it.

use super::{Figure, stem};
use crate::picture::{Axis, Chart, Colour, Mark, Panel};
use crate::report::InducingView;

/// The figure of view `index` of `views`; `None` if it has no inducing input.
pub(in crate::report) fn inducing(views: &[InducingView], index: usize) -> Option<Figure> {
    let view = &views[index];
    if view.mean_inducing.is_empty() && view.covariance_inducing.is_empty() {
        return None;
    }
    // Along a single input, height only keeps the kinds apart.
    let height = Axis::new(&view.axes.1);
    let height = if view.axes.1.is_empty() { height.bare() } else { height };
    let panel = Panel::new(Axis::new(&view.axes.0), height)
        .with(Mark::dots(view.data.iter().copied(), Colour::Muted).opacity(0.25).labelled("data"))
        .with(Mark::crosses(view.covariance_inducing.iter().copied(), Colour::Other).labelled("covariance inducing"))
        .with(Mark::circles(view.mean_inducing.iter().copied(), Colour::Model).labelled("mean inducing"));
    Some(Figure {
        stem: stem("inducing", index, views.len()),
        picture: Chart::new(&view.layer).with(panel, 1.0).draw(),
        caption:
            "Good: both kinds cover the data, denser where the function bends. Many far outside, or heaped on one \
                  spot, are wasted."
                .into(),
    })
}
