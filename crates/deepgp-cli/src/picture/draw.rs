//! Marks as SVG, once the scales and the place of the panel are known.

use super::mark::{Mark, Shape};
use super::scale::Scale;
use super::svg::{number, path};
use super::thin::envelope;

/// A rectangle of the picture, `y` downwards.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Two scales over an area.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) x: Scale,
    pub(super) y: Scale,
    pub(super) area: Area,
}

/// A line of more points than twice this is thinned: about what a screen has columns.
const LINE_BUCKETS: usize = 500;
/// Dots are dealt to this many paths: within one path overlaps do not darken, between paths they do.
const DOT_PATHS: usize = 8;

impl Frame {
    /// The place of shares of the width and the height.
    fn pixel(&self, x: f64, y: f64) -> (f64, f64) {
        (self.area.left + x * self.area.width, self.area.top + (1.0 - y) * self.area.height)
    }

    /// The place of a point; `None` if it is not in the panel.
    fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some(self.pixel(self.x.place(x)?, self.y.place(y)?))
    }

    /// The place of a point, moved to the edge if it lies beyond.
    fn near(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some(self.pixel(self.x.nearest_place(x)?, self.y.nearest_place(y)?))
    }

    /// The mark as SVG elements; nothing if none of it has a place.
    pub(super) fn draw(&self, mark: &Mark) -> String {
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
            Shape::Segments(pairs) => {
                let ends = |[a, b]: &[(f64, f64); 2]| Some(vec![self.near(*a)?, self.near(*b)?]);
                element(&path(&pairs.iter().filter_map(ends).collect::<Vec<_>>()), &stroke)
            }
            Shape::Boxes(corners) => {
                let rectangle = |[a, b]: &[(f64, f64); 2]| Some(rectangle(self.near(*a)?, self.near(*b)?));
                element(&corners.iter().filter_map(rectangle).collect::<String>(), &fill(mark))
            }
            Shape::Level(y) => {
                let across = self.y.place(*y).map(|y| vec![self.pixel(0.0, y), self.pixel(1.0, y)]);
                element(&path(&across.into_iter().collect::<Vec<_>>()), &stroke)
            }
            Shape::Moment(x) => {
                let up = self.x.place(*x).map(|x| vec![self.pixel(x, 0.0), self.pixel(x, 1.0)]);
                element(&path(&up.into_iter().collect::<Vec<_>>()), &stroke)
            }
        }
    }

    /// A line's places, broken where a point has none.
    fn runs(&self, points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
        let places: Vec<_> = points.iter().map(|&p| self.at(p)).collect();
        places
            .split(|place| place.is_none())
            .map(|run| run.iter().flatten().copied().collect::<Vec<_>>())
            .map(|run| envelope(&run, LINE_BUCKETS))
            .collect()
    }

    /// A band's outline: along the lower ends, back along the upper.
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

/// Attributes of a mark's strokes.
pub(super) fn strokes(mark: &Mark) -> String {
    let dash = if mark.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
    let opacity = if mark.opacity < 1.0 { format!(" stroke-opacity=\"{:.2}\"", mark.opacity) } else { String::new() };
    format!(
        "stroke=\"{}\" stroke-width=\"{}\" stroke-linecap=\"round\" stroke-linejoin=\"round\"{opacity}{dash}",
        mark.colour.css(),
        number(mark.stroke)
    )
}

/// Attributes of a mark's area.
pub(super) fn fill(mark: &Mark) -> String {
    format!("fill=\"{}\" fill-opacity=\"{:.2}\"", mark.colour.css(), mark.opacity)
}

/// A `<path>`, if there is anything on it.
fn element(data: &str, attributes: &str) -> String {
    if data.is_empty() { String::new() } else { format!("<path d=\"{data}\" {attributes}/>") }
}

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

pub(super) fn circle(x: f64, y: f64, radius: f64) -> String {
    format!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"/>", number(x), number(y), number(radius))
}

/// Path data of an upright cross.
pub(super) fn cross((x, y): (f64, f64)) -> String {
    format!("M{} {}h7M{} {}v7", number(x - 3.5), number(y), number(x), number(y - 3.5))
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
