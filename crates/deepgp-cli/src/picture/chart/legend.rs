//! Legends: a swatch and a name for each mark, in lines.

use super::draw_marks::{circle, cross, drop, fill, strokes};
use super::mark::{Mark, Shape};
use crate::picture::svg::colour::Colour;
use crate::picture::svg::text_width::{LABEL, fit, width};
use crate::picture::svg::{Anchor, number, text};

/// The height of a line.
const LINE: f64 = 18.0;
/// The width of a swatch.
const SWATCH: f64 = 16.0;
/// The room between a swatch and its name.
const GAP: f64 = 5.0;
/// The room between two entries of a line.
const BETWEEN: f64 = 14.0;

/// The legend of `marks`, `across` wide with its top at `top`, and its height: zero if no mark has a name.
pub(in crate::picture) fn draw<'a>(marks: impl Iterator<Item = &'a Mark>, across: f64, top: f64) -> (String, f64) {
    let (mut svg, mut x, mut line) = (String::new(), 0.0, 0);
    for mark in marks {
        let Some(label) = &mark.label else { continue };
        let label = fit(label, LABEL, across - SWATCH - GAP);
        let wide = SWATCH + GAP + width(&label, LABEL);
        if line == 0 || x + wide > across {
            (x, line) = (0.0, line + 1);
        }
        let baseline = top + LINE * f64::from(line) - 5.0;
        svg += &swatch(mark, x, baseline - 4.3);
        svg += &text(x + SWATCH + GAP, baseline, Anchor::Start, &format!("fill=\"{}\"", Colour::Muted.css()), &label);
        x += wide + BETWEEN;
    }
    (svg, LINE * f64::from(line))
}

/// A small example of the mark, centred at height `y`.
fn swatch(mark: &Mark, x: f64, y: f64) -> String {
    let middle = x + SWATCH / 2.0;
    // A faint dot or interval would not be seen on its own.
    let clear = Mark { opacity: mark.opacity.max(0.6), ..mark.clone() };
    let stroke = format!("fill=\"none\" {}", strokes(&clear));
    match &mark.shape {
        Shape::Line(_) | Shape::HorizontalRule(_) | Shape::VerticalRule(_) => {
            format!("<path d=\"M{} {}h{}\" {stroke}/>", number(x), number(y), number(SWATCH))
        }
        Shape::Band(_) | Shape::Boxes(_) => format!(
            "<path d=\"M{} {}h{}v9h{}z\" {}/>",
            number(x),
            number(y - 4.5),
            number(SWATCH),
            number(-SWATCH),
            fill(&Mark { opacity: mark.opacity.max(0.25), ..mark.clone() })
        ),
        Shape::Dots(_) => format!("<path d=\"M{} {}h.01\" {stroke}/>", number(middle), number(y)),
        Shape::Circles(_) => format!("<g {stroke}>{}</g>", circle(middle, y, 3.2)),
        Shape::Crosses(_) => format!("<path d=\"{}\" {stroke}/>", cross((middle, y))),
        Shape::Drops(_) => format!("<path d=\"{}\" {stroke}/>", drop((middle, y + 3.0))),
        Shape::Segments(_) => format!("<path d=\"M{} {}v10\" {stroke}/>", number(middle), number(y - 5.0)),
    }
}
