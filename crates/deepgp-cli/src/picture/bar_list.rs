//! Lists of named horizontal bars, one below the other.

use super::svg::colour::Colour;
use super::svg::document::{HEAD, Picture, WIDTH};
use super::svg::text_width::{LABEL, fit, width};
use super::svg::{Anchor, escape, number, text};

/// A bar of a list.
#[derive(Debug, Clone)]
pub struct Bar {
    /// The name at the left of the bar.
    pub name: String,
    /// The length of the bar; a negative one, or one that is not finite, has none.
    pub value: f64,
    /// How far the value may be off to either side, drawn as a whisker; none if 0.
    pub doubt: f64,
    /// The value as text, at the end of the bar.
    pub shown: String,
}

/// A title, bars on a common scale from zero, and a remark below them.
#[derive(Debug, Clone)]
pub struct BarList {
    /// The title of the picture.
    pub title: String,
    /// The bars from top to bottom.
    pub bars: Vec<Bar>,
    /// The remark below the bars; none if empty.
    pub remark: String,
}

/// The height of a bar with its room.
const ROW: f64 = 21.0;
/// The largest width of a name.
const MOST_NAME: f64 = 0.42 * WIDTH;

impl BarList {
    /// Draws the names at the left, cut where they are too long, then the bars, each with its value at the end.
    pub fn draw(&self) -> Picture {
        let muted = format!("fill=\"{}\"", Colour::Muted.css());
        if self.bars.is_empty() {
            let body = text(WIDTH / 2.0, HEAD + 30.0, Anchor::Middle, &muted, "no data");
            return Picture::new(&self.title, HEAD + 60.0, body);
        }
        let length = |bar: &Bar| if bar.value.is_finite() { bar.value.max(0.0) } else { 0.0 };
        let doubt = |bar: &Bar| if bar.doubt.is_finite() { bar.doubt.max(0.0) } else { 0.0 };
        let longest = self.bars.iter().map(|bar| length(bar) + doubt(bar)).fold(0.0, f64::max);
        let widest = |texts: &dyn Fn(&Bar) -> f64| self.bars.iter().map(texts).fold(0.0, f64::max);
        let names = widest(&|bar| width(&bar.name, LABEL)).min(MOST_NAME);
        let values = widest(&|bar| width(&bar.shown, LABEL));
        let (left, room) = (names + 8.0, (WIDTH - names - values - 20.0).max(20.0));

        let (mut labels, mut shapes, mut whiskers) = (String::new(), String::new(), String::new());
        for (row, bar) in self.bars.iter().enumerate() {
            let top = HEAD + 6.0 + ROW * row as f64;
            let scaled = |value: f64| if longest > 0.0 { room * value / longest } else { 0.0 };
            let (long, end) = (scaled(length(bar)), scaled(length(bar) + doubt(bar)));
            if doubt(bar) > 0.0 {
                let from = left + scaled((length(bar) - doubt(bar)).max(0.0));
                whiskers += &format!("M{} {}H{}", number(from), number(top + 6.5), number(left + end));
            }
            shapes += &format!("M{} {}h{}v13h{}z", number(left), number(top), number(long), number(-long));
            let short = fit(&bar.name, LABEL, MOST_NAME);
            let label = text(left - 8.0, top + 11.0, Anchor::End, "", &short);
            // The whole name, for a reader who points at it.
            let whole = if short == bar.name { String::new() } else { format!("<title>{}</title>", escape(&bar.name)) };
            labels += &format!("<g>{whole}{label}</g>");
            labels += &text(left + end + 6.0, top + 11.0, Anchor::Start, "", &bar.shown);
        }
        let bottom = HEAD + 6.0 + ROW * self.bars.len() as f64;
        let axis = format!("M{} {}V{}", number(left), number(HEAD + 2.0), number(bottom - 4.0));
        let mut body = format!(
            "<path d=\"{shapes}\" fill=\"{}\" fill-opacity=\"0.85\"/><path d=\"{axis}\" stroke=\"{}\" fill=\"none\"/>",
            Colour::Model.css(),
            Colour::Axis.css()
        );
        if !whiskers.is_empty() {
            body += &format!(
                "<path d=\"{whiskers}\" stroke=\"{}\" stroke-width=\"1.6\" fill=\"none\"/>",
                Colour::Ink.css()
            );
        }
        let mut height = bottom;
        if !self.remark.is_empty() {
            labels += &text(left, bottom + 12.0, Anchor::Start, "", &fit(&self.remark, LABEL, WIDTH - left));
            height += ROW;
        }
        body += &format!("<g {muted}>{labels}</g>");
        Picture::new(&self.title, height, body)
    }
}
