//! What figures over the number of hidden layers are made of: curves with their spread over splits, and the axis.

use crate::picture::{Axis, Colour, Mark};

/// A number of hidden layers, and mean and standard deviation over the splits of its runs.
pub type Spread = (usize, (f64, f64));

/// The marks of a curve over depths: a band of one deviation, a line of means, and a dot at each.
pub fn spreads(points: &[Spread], colour: Colour) -> [Mark; 3] {
    let means = || points.iter().map(|(hidden, (mean, _))| (*hidden as f64, *mean));
    let band = points.iter().map(|(hidden, (mean, spread))| (*hidden as f64, mean - spread, mean + spread));
    // A single depth has no line.
    let dots = Mark::dots(means(), colour).opacity(1.0).stroke(4.5);
    [Mark::band(band, colour), Mark::line(means(), colour), dots]
}

/// The axis of depths: three at least, so that no tick falls between two.
pub fn depth_axis(depths: impl Iterator<Item = usize>) -> Axis {
    let deepest = depths.max().unwrap_or(0) as f64;
    Axis::new("hidden layers").between(-0.3, deepest.max(2.0) + 0.3)
}
