//! Panels side by side under one title and one legend.

use super::draw::Area;
use super::legend;
use super::panel::Panel;
use super::sheet::{HEAD, Picture, WIDTH};

/// Height of a picture whose legend has at most one line; more lines add to it.
const HEIGHT: f64 = 318.0;
/// Height of the panels below a legend of one line.
const PANELS: f64 = 272.0;

/// A title, and panels that share the width.
#[derive(Debug, Clone)]
pub struct Chart {
    title: String,
    panels: Vec<(Panel, f64)>,
}

impl Chart {
    /// A chart without panels.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), panels: Vec::new() }
    }

    /// With one more panel at the right, of width in proportion to `share`.
    pub fn with(mut self, panel: Panel, share: f64) -> Self {
        self.panels.push((panel, share));
        self
    }

    /// Title, legend, panels, from top to bottom.
    pub fn draw(&self) -> Picture {
        let marks = self.panels.iter().flat_map(|(panel, _)| &panel.marks);
        let (mut body, legend) = legend::draw(marks, WIDTH, HEAD);
        let top = HEAD + legend + if legend > 0.0 { 4.0 } else { 0.0 };
        let height = PANELS.max(HEIGHT - top);
        let shares: f64 = self.panels.iter().map(|(_, share)| share).sum();
        let mut left = 0.0;
        for (panel, share) in &self.panels {
            let width = WIDTH * share / shares;
            body += &panel.draw(Area { left, top, width, height });
            left += width;
        }
        Picture::new(&self.title, top + height, body)
    }
}
