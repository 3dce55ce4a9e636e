//! Marks, which a panel shows: lines, bands, points, bars and rules, each in one colour.

use crate::picture::axis::scale::{Kind, has_place};
use crate::picture::svg::colour::Colour;

/// A set of values drawn in one shape and colour.
#[derive(Debug, Clone)]
pub struct Mark {
    pub(in crate::picture) shape: Shape,
    pub(in crate::picture) colour: Colour,
    pub(in crate::picture) opacity: f64,
    pub(in crate::picture) stroke: f64,
    pub(in crate::picture) dashed: bool,
    pub(in crate::picture) label: Option<String>,
}

/// The shape that values are drawn in.
#[derive(Debug, Clone)]
pub(in crate::picture) enum Shape {
    /// A line through points in their order.
    Line(Vec<(f64, f64)>),
    /// A band, by `x`, lower end and upper end.
    Band(Vec<(f64, f64, f64)>),
    /// Small filled dots, for many points.
    Dots(Vec<(f64, f64)>),
    /// Small hollow circles, for few.
    Circles(Vec<(f64, f64)>),
    /// Small upright crosses, for few.
    Crosses(Vec<(f64, f64)>),
    /// Small triangles that point down, for few: what lies below the panel.
    Drops(Vec<(f64, f64)>),
    /// Straight pieces, each from one point to another.
    Segments(Vec<[(f64, f64); 2]>),
    /// Rectangles, each by two opposite corners.
    Boxes(Vec<[(f64, f64); 2]>),
    /// A horizontal rule across the panel.
    HorizontalRule(f64),
    /// A vertical rule across the panel.
    VerticalRule(f64),
}

/// The number of dots beyond which some are left out, evenly.
pub(in crate::picture) const MOST_DOTS: usize = 3000;

impl Mark {
    fn new(shape: Shape, colour: Colour, opacity: f64, stroke: f64) -> Self {
        Self { shape, colour, opacity, stroke, dashed: false, label: None }
    }

    /// A line through points in their order; a point that is not finite is a gap.
    pub fn line(points: impl IntoIterator<Item = (f64, f64)>, colour: Colour) -> Self {
        Self::new(Shape::Line(points.into_iter().collect()), colour, 1.0, 1.6)
    }

    /// A band between two curves, from triples `x`, lower, upper.
    pub fn band(triples: impl IntoIterator<Item = (f64, f64, f64)>, colour: Colour) -> Self {
        Self::new(Shape::Band(triples.into_iter().collect()), colour, 0.16, 0.0)
    }

    /// Small dots that darken where they crowd.
    pub fn dots(points: impl IntoIterator<Item = (f64, f64)>, colour: Colour) -> Self {
        let points: Vec<_> = points.into_iter().collect();
        let opacity = if points.len() > 400 { 0.45 } else { 0.7 };
        Self::new(Shape::Dots(crate::picture::sample(&points, MOST_DOTS)), colour, opacity, 3.0)
    }

    /// Hollow circles.
    pub fn circles(points: impl IntoIterator<Item = (f64, f64)>, colour: Colour) -> Self {
        Self::new(Shape::Circles(points.into_iter().collect()), colour, 1.0, 1.4)
    }

    /// Upright crosses.
    pub fn crosses(points: impl IntoIterator<Item = (f64, f64)>, colour: Colour) -> Self {
        Self::new(Shape::Crosses(points.into_iter().collect()), colour, 1.0, 1.6)
    }

    /// Triangles that point down, their tips at the points.
    pub fn drops(points: impl IntoIterator<Item = (f64, f64)>, colour: Colour) -> Self {
        Self::new(Shape::Drops(points.into_iter().collect()), colour, 1.0, 1.4)
    }

    /// Straight pieces between pairs of points.
    pub fn segments(pairs: impl IntoIterator<Item = [(f64, f64); 2]>, colour: Colour) -> Self {
        Self::new(Shape::Segments(pairs.into_iter().collect()), colour, 0.35, 1.2)
    }

    /// Filled rectangles between opposite corners.
    pub fn boxes(corners: impl IntoIterator<Item = [(f64, f64); 2]>, colour: Colour) -> Self {
        Self::new(Shape::Boxes(corners.into_iter().collect()), colour, 0.75, 0.0)
    }

    /// A horizontal rule at `y`.
    pub fn horizontal_rule(y: f64, colour: Colour) -> Self {
        Self::new(Shape::HorizontalRule(y), colour, 1.0, 1.1)
    }

    /// A vertical rule at `x`.
    pub fn vertical_rule(x: f64, colour: Colour) -> Self {
        Self::new(Shape::VerticalRule(x), colour, 1.0, 1.1)
    }

    /// The mark with a name in the legend.
    pub fn labelled(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// The mark with broken strokes.
    pub fn dashed(self) -> Self {
        Self { dashed: true, ..self }
    }

    /// The mark with another opacity.
    pub fn opacity(self, opacity: f64) -> Self {
        Self { opacity, ..self }
    }

    /// The mark with another stroke width.
    pub fn stroke(self, stroke: f64) -> Self {
        Self { stroke, ..self }
    }

    /// Whether nothing of the mark can be drawn.
    pub(in crate::picture) fn is_empty(&self) -> bool {
        let mut none = true;
        self.visit(&mut |_, _| none = false);
        none
    }

    /// Calls `see` with the points that an axis must reach; NaN stands for a coordinate that does not matter.
    pub(in crate::picture) fn visit(&self, see: &mut dyn FnMut(f64, f64)) {
        let mut both = |x: f64, y: f64| {
            if has_place(Kind::Linear, x) && has_place(Kind::Linear, y) {
                see(x, y);
            }
        };
        match &self.shape {
            Shape::Line(points)
            | Shape::Dots(points)
            | Shape::Circles(points)
            | Shape::Crosses(points)
            | Shape::Drops(points) => {
                points.iter().for_each(|&(x, y)| both(x, y));
            }
            Shape::Band(triples) => triples.iter().for_each(|&(x, low, high)| {
                both(x, low);
                both(x, high);
            }),
            Shape::Segments(pairs) | Shape::Boxes(pairs) => {
                pairs.iter().flatten().for_each(|&(x, y)| both(x, y));
            }
            &Shape::HorizontalRule(y) if has_place(Kind::Linear, y) => see(f64::NAN, y),
            &Shape::VerticalRule(x) if has_place(Kind::Linear, x) => see(x, f64::NAN),
            Shape::HorizontalRule(_) | Shape::VerticalRule(_) => {}
        }
    }
}
