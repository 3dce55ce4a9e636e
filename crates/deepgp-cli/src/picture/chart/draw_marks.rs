//! Marks as SVG, once the scales and the place of the panel are known.

use super::mark::{Mark, Shape};
use crate::picture::axis::scale::Scale;
use crate::picture::svg::{number, path};
use crate::picture::thinning::envelope;

/// A rectangle of the picture, `y` downwards.
#[derive(Debug, Clone, Copy)]
pub(in crate::picture) struct Area {
    pub(in crate::picture) left: f64,
    pub(in crate::picture) top: f64,
    pub(in crate::picture) width: f64,
    pub(in crate::picture) height: f64,
}

/// Two scales over an area.
#[derive(Debug, Clone, Copy)]
pub(in crate::picture) struct Frame {
    pub(in crate::picture) x: Scale,
    pub(in crate::picture) y: Scale,
    pub(in crate::picture) area: Area,
}

/// The number of groups that the points of a line are thinned to, two of each: about what a screen has columns.
const LINE_BUCKETS: usize = 500;
/// The number of paths that dots are dealt to: within one path overlaps do not darken, between paths they do.
const DOT_PATHS: usize = 8;

impl Frame {
    /// The pixel at these shares of the width and the height.
    fn pixel(&self, x: f64, y: f64) -> (f64, f64) {
        (self.area.left + x * self.area.width, self.area.top + (1.0 - y) * self.area.height)
    }

    /// The pixel of a point; `None` if it is not in the panel.
    fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some(self.pixel(self.x.place(x)?, self.y.place(y)?))
    }

    /// The pixel of a point, moved to the edge if it lies beyond.
    fn near(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some(self.pixel(self.x.nearest_place(x)?, self.y.nearest_place(y)?))
    }

    /// The mark as SVG elements; empty if none of it has a place.
    pub(in crate::picture) fn draw(&self, mark: &Mark) -> String {
        let stroke = format!("fill=\"none\" {}", strokes(mark));
        let placed = |points: &[(f64, f64)]| points.iter().filter_map(|&p| self.at(p)).collect::<Vec<_>>();
        match &mark.shape {
            Shape::Line(points) => element(&path(&self.runs(points)), &stroke),
            Shape::Band(triples) => element(&self.outline(triples), &fill(mark)),
            Shape::Dots(points) => dots(&placed(points), &stroke),
            Shape::Circles(points) => {
                let circle = |(x, y): &(f64, f64)| circle(*x, *y, 3.2);
                group(placed(points).iter().map(circle).collect(), &stroke)
            }
            Shape::Crosses(points) => element(&placed(points).iter().map(|&p| cross(p)).collect::<String>(), &stroke),
            Shape::Drops(points) => element(&placed(points).iter().map(|&p| drop(p)).collect::<String>(), &stroke),
            Shape::Segments(pairs) => {
                let ends = |[a, b]: &[(f64, f64); 2]| Some(vec![self.near(*a)?, self.near(*b)?]);
                element(&path(&pairs.iter().filter_map(ends).collect::<Vec<_>>()), &stroke)
            }
            Shape::Boxes(corners) => {
                let rectangle = |[a, b]: &[(f64, f64); 2]| Some(rectangle(self.near(*a)?, self.near(*b)?));
                element(&corners.iter().filter_map(rectangle).collect::<String>(), &fill(mark))
            }
            Shape::HorizontalRule(y) => {
                let across = self.y.place(*y).map(|y| vec![self.pixel(0.0, y), self.pixel(1.0, y)]);
                element(&path(&across.into_iter().collect::<Vec<_>>()), &stroke)
            }
            Shape::VerticalRule(x) => {
                let up = self.x.place(*x).map(|x| vec![self.pixel(x, 0.0), self.pixel(x, 1.0)]);
                element(&path(&up.into_iter().collect::<Vec<_>>()), &stroke)
            }
        }
    }

    /// The pixels of a line, broken where a point has none, and cut off at the panel's edges where it leaves it.
    fn runs(&self, points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
        let share = |&(x, y): &(f64, f64)| Some((self.x.unbounded(x)?, self.y.unbounded(y)?));
        let shares: Vec<_> = points.iter().map(share).collect();
        let runs = shares.split(|share| share.is_none()).map(|run| run.iter().flatten().copied().collect::<Vec<_>>());
        let inside = runs.flat_map(|run| clip(&run));
        let placed = inside.map(|run| run.into_iter().map(|(x, y)| self.pixel(x, y)).collect::<Vec<_>>());
        placed.map(|run| envelope(&run, LINE_BUCKETS)).collect()
    }

    /// The outline of a band: along the lower ends, back along the upper.
    fn outline(&self, triples: &[(f64, f64, f64)]) -> String {
        let ends = |&(x, low, high): &(f64, f64, f64)| Some((self.near((x, low))?, self.near((x, high))?));
        let (mut outline, upper): (Vec<_>, Vec<_>) = triples.iter().filter_map(ends).unzip();
        if outline.is_empty() {
            return String::new();
        }
        outline.extend(upper.iter().rev());
        path(&[outline]) + "Z"
    }
}

/// The pieces of a line in the unit square: where it leaves, it goes up to the edge, and it comes back in a piece of
/// its own.
fn clip(points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
    if let [only] = points {
        return if span(*only, *only).is_some() { vec![vec![*only]] } else { Vec::new() };
    }
    let mut runs: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut open = false;
    for pair in points.windows(2) {
        let [a, b] = [pair[0], pair[1]];
        let Some((enter, leave)) = span(a, b) else {
            open = false;
            continue;
        };
        // Far outside, the sum loses all digits: the ends are taken as they are, and what lies between is kept inside.
        let between = |a: f64, b: f64, t: f64| (a + t * (b - a)).clamp(0.0, 1.0);
        let at = |t: f64| match t {
            0.0 => a,
            1.0 => b,
            t => (between(a.0, b.0, t), between(a.1, b.1, t)),
        };
        match runs.last_mut() {
            Some(run) if open && enter == 0.0 => run.push(at(leave)),
            _ => runs.push(vec![at(enter), at(leave)]),
        }
        open = leave == 1.0;
    }
    runs
}

/// The shares of the way from `a` to `b` between which it is in the unit square; `None` if nowhere.
fn span(a: (f64, f64), b: (f64, f64)) -> Option<(f64, f64)> {
    let mut ends = (0.0, 1.0);
    for (from, to) in [(a.0, b.0), (a.1, b.1)] {
        let way = to - from;
        // A hair outside counts as inside, as it does for points.
        for (distance, slope) in [(from + 1e-9, way), (1.0 + 1e-9 - from, -way)] {
            // Inside while `distance + t slope >= 0`.
            match slope {
                s if s > 0.0 => ends.0 = f64::max(ends.0, -distance / s),
                s if s < 0.0 => ends.1 = f64::min(ends.1, -distance / s),
                _ if distance < 0.0 => return None,
                _ => {}
            }
        }
    }
    (ends.0 <= ends.1).then_some(ends)
}

/// The attributes of a mark's strokes.
pub(in crate::picture) fn strokes(mark: &Mark) -> String {
    let dash = if mark.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
    let opacity = if mark.opacity < 1.0 { format!(" stroke-opacity=\"{:.2}\"", mark.opacity) } else { String::new() };
    format!(
        "stroke=\"{}\" stroke-width=\"{}\" stroke-linecap=\"round\" stroke-linejoin=\"round\"{opacity}{dash}",
        mark.colour.css(),
        number(mark.stroke)
    )
}

/// The attributes of a mark's area.
pub(in crate::picture) fn fill(mark: &Mark) -> String {
    format!("fill=\"{}\" fill-opacity=\"{:.2}\"", mark.colour.css(), mark.opacity)
}

/// A `<path>` element; empty if there is nothing on it.
fn element(data: &str, attributes: &str) -> String {
    if data.is_empty() { String::new() } else { format!("<path d=\"{data}\" {attributes}/>") }
}

/// A `<g>` element; empty if there is nothing in it.
fn group(inner: String, attributes: &str) -> String {
    if inner.is_empty() { inner } else { format!("<g {attributes}>{inner}</g>") }
}

/// Dots as zero-length strokes with round caps: a third of the text that circles take.
fn dots(places: &[(f64, f64)], attributes: &str) -> String {
    let deal = |first: usize| {
        let hand = places.iter().skip(first).step_by(DOT_PATHS);
        element(&path(&hand.map(|&p| vec![p]).collect::<Vec<_>>()), "")
    };
    group((0..DOT_PATHS).map(deal).collect(), attributes)
}

/// A `<circle>` element.
pub(in crate::picture) fn circle(x: f64, y: f64, radius: f64) -> String {
    format!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"/>", number(x), number(y), number(radius))
}

/// Path data of an upright cross.
pub(in crate::picture) fn cross((x, y): (f64, f64)) -> String {
    format!("M{} {}h7M{} {}v7", number(x - 3.5), number(y), number(x), number(y - 3.5))
}

/// Path data of a triangle that stands on its tip.
pub(in crate::picture) fn drop((x, y): (f64, f64)) -> String {
    format!("M{} {}h7l-3.5 6z", number(x - 3.5), number(y - 6.0))
}

/// Path data of a rectangle, drawn in by half a pixel at each side so that neighbours stay apart.
fn rectangle(a: (f64, f64), b: (f64, f64)) -> String {
    let inset = |p: f64, q: f64| {
        let (low, high) = (p.min(q), p.max(q));
        if high - low > 3.0 { (low + 0.5, high - low - 1.0) } else { (low, high - low) }
    };
    let ((x, width), (y, height)) = (inset(a.0, b.0), (a.1.min(b.1), (a.1 - b.1).abs()));
    format!("M{} {}h{}v{}h{}z", number(x), number(y), number(width), number(height), number(-width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_up_to_the_edge_where_it_leaves() {
        let near = |runs: Vec<Vec<(f64, f64)>>, expected: &[&[(f64, f64)]]| {
            assert_eq!(
                runs.iter().map(Vec::len).collect::<Vec<_>>(),
                expected.iter().map(|r| r.len()).collect::<Vec<_>>()
            );
            for (own, other) in runs.iter().flatten().zip(expected.iter().copied().flatten()) {
                assert!((own.0 - other.0).abs() + (own.1 - other.1).abs() < 1e-6, "{runs:?}");
            }
        };
        // Out through the lower edge half way, and back.
        near(
            clip(&[(0.0, 0.5), (0.2, 0.5), (0.4, -0.5), (0.5, -3.0), (0.6, -1.0), (0.8, 1.0)]),
            &[&[(0.0, 0.5), (0.2, 0.5), (0.3, 0.0)], &[(0.7, 0.0), (0.8, 1.0)]],
        );
        // Through a corner of the square between two points outside.
        near(clip(&[(-0.5, 0.25), (0.5, 1.25)]), &[&[(0.0, 0.75), (0.25, 1.0)]]);
        near(clip(&[(0.1, -1.0), (0.9, -2.0)]), &[]);
        near(clip(&[(0.2, 0.5), (0.4, -1e40)]), &[&[(0.2, 0.5), (0.2, 0.0)]]);
        near(clip(&[(0.5, 0.5)]), &[&[(0.5, 0.5)]]);
        near(clip(&[(0.5, 1.5)]), &[]);
    }
}
