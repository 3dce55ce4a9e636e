//! Charts: panels in rows under one title and one legend.

mod draw_marks;
mod legend;
pub(super) mod mark;
pub(super) mod panel;

use super::svg::document::{HEAD, Picture, WIDTH};
use draw_marks::Area;
use mark::Mark;
use panel::Panel;

/// The height of a picture with one row whose legend has at most one line; more lines add to it.
const HEIGHT: f64 = 318.0;
/// The height of the panels below a legend of one line.
const PANELS: f64 = 272.0;
/// The height of a row where there are several, without what lies below its plots.
const ROW: f64 = 150.0;

/// The room between rows.
const BETWEEN: f64 = 8.0;

/// A chart: a title, and rows of panels that share the width.
#[derive(Debug, Clone)]
pub struct Chart {
    title: String,
    rows: Vec<Vec<(Panel, f64)>>,
    keys: Vec<Mark>,
}

impl Chart {
    /// A chart without panels.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), rows: vec![Vec::new()], keys: Vec::new() }
    }

    /// The chart with one more panel at the right of the last row, of width in proportion to `share`.
    pub fn with(mut self, panel: Panel, share: f64) -> Self {
        if let Some(row) = self.rows.last_mut() {
            row.push((panel, share));
        }
        self
    }

    /// The chart with a new row below, for the panels to come.
    pub fn below(mut self) -> Self {
        if self.rows.last().is_some_and(|row| !row.is_empty()) {
            self.rows.push(Vec::new());
        }
        self
    }

    /// The chart with one more entry of the legend, after those of the panels' marks: what a look means in all panels.
    pub fn key(mut self, mark: Mark) -> Self {
        self.keys.push(mark);
        self
    }

    /// Draws title, legend and rows from top to bottom.
    pub fn draw(&self) -> Picture {
        let rows: Vec<&Vec<(Panel, f64)>> = self.rows.iter().filter(|row| !row.is_empty()).collect();
        let marks = rows.iter().flat_map(|row| row.iter()).flat_map(|(panel, _)| &panel.marks);
        let named = marks.filter(|mark| !mark.is_empty()).chain(&self.keys);
        let (mut body, legend) = legend::draw(named, WIDTH, HEAD);
        let mut top = HEAD + legend + if legend > 0.0 { 4.0 } else { 0.0 };
        for (i, row) in rows.iter().enumerate() {
            top += if i > 0 { BETWEEN } else { 0.0 };
            let below = row.iter().map(|(panel, _)| panel.below()).fold(0.0, f64::max);
            let height = if rows.len() == 1 { PANELS.max(HEIGHT - top) } else { ROW + below };
            let shares: f64 = row.iter().map(|(_, share)| share).sum();
            let mut left = 0.0;
            for (panel, share) in row.iter() {
                let width = WIDTH * share / shares;
                body += &panel.draw(Area { left, top, width, height }, below);
                left += width;
            }
            top += height;
        }
        let height = if rows.is_empty() { top + PANELS.max(HEIGHT - top) } else { top };
        Picture::new(&self.title, height, body)
    }
}
