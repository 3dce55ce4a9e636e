//! Panels: a pair of axes with its marks.

use std::ops::Range;

use super::draw_marks::{Area, Frame};
use super::mark::Mark;
use crate::picture::axis::Axis;
use crate::picture::axis::scale::Scale;
use crate::picture::svg::colour::Colour;
use crate::picture::svg::text_width::{LABEL, fit, width};
use crate::picture::svg::{Anchor, number, text};

/// A panel: two axes, and the marks between them.
#[derive(Debug, Clone)]
pub struct Panel {
    x: Axis,
    y: Axis,
    pub(in crate::picture) marks: Vec<Mark>,
}

/// The height of the line above the plot that holds the vertical axis's title.
const ABOVE: f64 = 25.0;
/// The height of the labels below the plot.
const LABELS: f64 = 22.0;
/// The height of the horizontal axis's title below the labels.
const BELOW: f64 = 18.0;
/// The room for half a label beyond the right end.
const RIGHT: f64 = 14.0;
/// The room between labels side by side, on average.
const APART: f64 = 18.0;
/// The least room between labels side by side.
const TOUCHING: f64 = 6.0;
/// The length by which a label may reach beyond the panel: widths are those of a wide face, and pictures have a margin.
const BEYOND: f64 = 4.0;

impl Panel {
    /// An empty panel.
    pub fn new(x: Axis, y: Axis) -> Self {
        Self { x, y, marks: Vec::new() }
    }

    /// The panel with one more mark, drawn over the earlier ones.
    pub fn with(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }

    /// The panel without its marks' names, where the legend has them from another panel.
    pub fn without_labels(mut self) -> Self {
        self.marks.iter_mut().for_each(|mark| mark.label = None);
        self
    }

    /// The height that the panel needs below its plot: panels in one row share the largest, so that their plots line
    /// up.
    pub(in crate::picture) fn below(&self) -> f64 {
        LABELS + if self.x.title.is_empty() { 0.0 } else { BELOW }
    }

    /// The panel as SVG elements that fill `outer`, the lowest `below` of it for labels.
    pub(in crate::picture) fn draw(&self, outer: Area, below: f64) -> String {
        let (mut xs, mut ys) = (Vec::new(), Vec::new());
        self.marks.iter().for_each(|mark| {
            mark.visit(&mut |x, y| {
                xs.push(x);
                ys.push(y);
            });
        });
        match (xs.is_empty(), self.x.scale(&xs), self.y.scale(&ys)) {
            (false, Some(x), Some(y)) => self.draw_on(Frame { x, y, area: outer }, below),
            _ => {
                let middle = (outer.left + outer.width / 2.0, outer.top + outer.height / 2.0);
                self.title(outer, &muted()) + &text(middle.0, middle.1, Anchor::Middle, &muted(), "no data")
            }
        }
    }

    /// The title of the vertical axis, above the plot, where it needs no room beside it.
    fn title(&self, outer: Area, look: &str) -> String {
        if self.y.bare {
            return String::new();
        }
        text(outer.left, outer.top + 11.0, Anchor::Start, look, &fit(&self.y.title, LABEL, outer.width))
    }

    /// The panel where there are values; `outer.area` is what labels and plot share.
    fn draw_on(&self, outer: Frame, below: f64) -> String {
        let Area { left, top, width: whole, height } = outer.area;
        let tall = height - ABOVE - below;
        // A label takes its height and as much again.
        let y_ticks = outer.y.ticks(((tall / (2.0 * LABEL)) as usize).clamp(2, 7));
        let widest = y_ticks.iter().map(|(_, label)| width(label, LABEL)).fold(0.0, f64::max);
        let margin = if self.y.bare { 4.0 } else { widest + 8.0 };
        let area =
            Area { left: left + margin, top: top + ABOVE, width: (whole - margin - RIGHT).max(20.0), height: tall };
        let x_ticks = match (self.x.bare, self.x.names.is_empty()) {
            (true, _) => Vec::new(),
            (false, true) => roomy_ticks(&outer.x, area, left..left + whole),
            (false, false) => named_ticks(&outer.x, area, &self.x.names),
        };
        let frame = Frame { area, ..outer };
        let bottom = area.top + area.height;
        let up = |share: f64| bottom - share * area.height;

        let mut grid = String::new();
        for (share, _) in &y_ticks {
            grid += &format!("M{} {}h{}", number(area.left), number(up(*share)), number(area.width));
        }
        for Tick { at, .. } in &x_ticks {
            grid += &format!("M{} {}v{}", number(*at), number(area.top), number(area.height));
        }
        let axis = format!("M{} {}h{}", number(area.left), number(bottom), number(area.width));
        let mut svg = format!(
            "<path d=\"{grid}\" stroke=\"{}\" fill=\"none\"/><path d=\"{axis}\" stroke=\"{}\" fill=\"none\"/>",
            Colour::Grid.css(),
            Colour::Axis.css()
        );
        svg.extend(self.marks.iter().map(|mark| frame.draw(mark)));

        let mut labels = self.title(outer.area, "");
        if !self.y.bare {
            for (share, label) in &y_ticks {
                labels += &text(area.left - 6.0, up(*share) + 4.3, Anchor::End, "", label);
            }
        }
        for Tick { middle, label, .. } in &x_ticks {
            labels += &text(*middle, bottom + 16.0, Anchor::Middle, "", label);
        }
        let middle = area.left + 0.5 * area.width;
        labels += &text(middle, bottom + 34.0, Anchor::Middle, "", &fit(&self.x.title, LABEL, area.width + 30.0));
        svg + &format!("<g {}>{labels}</g>", muted())
    }
}

/// A tick of the horizontal axis.
struct Tick {
    at: f64,
    /// The middle of the tick's label: the tick, or as near to it as keeps the label in the panel.
    middle: f64,
    half: f64,
    label: String,
}

/// The ticks that fit side by side with their labels, below `area` and between the ends of the panel.
fn roomy_ticks(scale: &Scale, area: Area, ends: Range<f64>) -> Vec<Tick> {
    let placed = |(share, label): (f64, String)| {
        let (at, half) = (area.left + share * area.width, 0.5 * width(&label, LABEL));
        let middle = at.min(ends.end + BEYOND - half).max(ends.start - BEYOND + half);
        Tick { at, middle, half, label }
    };
    let fit = |ticks: &Vec<Tick>| {
        let taken: f64 = ticks.iter().map(|tick| 2.0 * tick.half + APART).sum();
        let apart = |pair: &[Tick]| pair[1].middle - pair[1].half - pair[0].middle - pair[0].half >= TOUCHING;
        taken <= area.width + APART && ticks.windows(2).all(apart)
    };
    let mut fewer = (1..=7).rev().map(|most| scale.ticks(most).into_iter().map(placed).collect::<Vec<_>>());
    fewer.find(fit).unwrap_or_default()
}

/// The ticks of an axis of named things, each name cut to the room that it has.
fn named_ticks(scale: &Scale, area: Area, names: &[String]) -> Vec<Tick> {
    let room = area.width / names.len() as f64 - TOUCHING;
    let tick = |(at, name): (usize, &String)| {
        let label = fit(name, LABEL, room);
        let middle = area.left + area.width * scale.place(at as f64)?;
        Some(Tick { at: middle, middle, half: 0.5 * width(&label, LABEL), label })
    };
    names.iter().enumerate().filter_map(tick).collect()
}

/// The attributes of labels.
fn muted() -> String {
    format!("fill=\"{}\"", Colour::Muted.css())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_side_by_side_keep_apart_and_in_the_panel() {
        let mut seen = 0;
        for middle in [0.0, 1.0, -20_000.5, 1.7e9, -1.7e9, 3e-5] {
            for reach in [1e-9, 1e-7, 1.1e-6, 3e-6, 0.3, 1.7].map(|share| share * f64::max(1e-3, f64::abs(middle))) {
                for room in [60.0, 133.0, 200.0, 290.0, 380.0] {
                    for shift in 0..8 {
                        let low = middle + reach * f64::from(shift) / 7.0;
                        let Some(scale) = Scale::between(low - reach, low + reach) else { continue };
                        let area = Area { left: 30.0, top: 0.0, width: room, height: 100.0 };
                        let ticks = roomy_ticks(&scale, area, 0.0..room + 44.0);
                        seen += ticks.len();
                        let (from, to) = (|t: &Tick| t.middle - t.half, |t: &Tick| t.middle + t.half);
                        let told = || format!("{low} ± {reach} on {room}");
                        assert!(ticks.windows(2).all(|pair| to(&pair[0]) + 5.0 < from(&pair[1])), "{}", told());
                        assert!(ticks.iter().all(|t| from(t) > -4.1 && to(t) < room + 48.1), "{}", told());
                    }
                }
            }
        }
        assert!(seen > 3000, "{seen} labels");
    }
}
