//! One pair of axes with its marks.

use super::axis::Axis;
use super::colour::Colour;
use super::draw::{Area, Frame};
use super::mark::Mark;
use super::scale::Scale;
use super::svg::{Anchor, number, text};
use super::text::{LABEL, fit, width};

/// Axes, and what is drawn between them.
#[derive(Debug, Clone)]
pub struct Panel {
    x: Axis,
    y: Axis,
    pub(super) marks: Vec<Mark>,
}

/// Height of the line above the plot that holds the vertical axis's title.
const ABOVE: f64 = 25.0;
/// Height of the labels below it.
const LABELS: f64 = 22.0;
/// Height of the horizontal axis's title below them.
const BELOW: f64 = 18.0;
/// Room for half a label beyond the right end.
const RIGHT: f64 = 14.0;

impl Panel {
    /// An empty panel.
    pub fn new(x: Axis, y: Axis) -> Self {
        Self { x, y, marks: Vec::new() }
    }

    /// With one more mark, drawn over the earlier ones.
    pub fn with(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }

    /// The height it needs below its plot: panels in one row share the largest, so that their plots line up.
    pub(super) fn below(&self) -> f64 {
        LABELS + if self.x.title.is_empty() { 0.0 } else { BELOW }
    }

    /// The panel as SVG elements that fill `outer`, the lowest `below` of it for labels.
    pub(super) fn draw(&self, outer: Area, below: f64) -> String {
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

    /// What the vertical axis measures, above the plot, where it needs no room beside it.
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
        let x_ticks = if self.x.bare { Vec::new() } else { roomy_ticks(&outer.x, area.width) };
        let frame = Frame { area, ..outer };
        let bottom = area.top + area.height;
        let at = |share: f64| area.left + share * area.width;
        let up = |share: f64| bottom - share * area.height;

        let mut grid = String::new();
        for (share, _) in &y_ticks {
            grid += &format!("M{} {}h{}", number(area.left), number(up(*share)), number(area.width));
        }
        for (share, _) in &x_ticks {
            grid += &format!("M{} {}v{}", number(at(*share)), number(area.top), number(area.height));
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
        for (share, label) in &x_ticks {
            labels += &text(at(*share), bottom + 16.0, Anchor::Middle, "", label);
        }
        labels += &text(at(0.5), bottom + 34.0, Anchor::Middle, "", &fit(&self.x.title, LABEL, area.width + 30.0));
        svg + &format!("<g {}>{labels}</g>", muted())
    }
}

/// As many ticks as fit side by side with their labels.
fn roomy_ticks(scale: &Scale, room: f64) -> Vec<(f64, String)> {
    let taken = |ticks: &[(f64, String)]| ticks.iter().map(|(_, label)| width(label, LABEL) + 18.0).sum::<f64>();
    let fitting = (2..=7).rev().map(|most| scale.ticks(most)).find(|ticks| taken(ticks) <= room + 18.0);
    fitting.unwrap_or_default()
}

fn muted() -> String {
    format!("fill=\"{}\"", Colour::Muted.css())
}
