//! Grids of shaded cells with names of rows and columns.

use super::svg::colour::Colour;
use super::svg::document::{HEAD, Picture, WIDTH};
use super::svg::text_width::{LABEL, fit, width};
use super::svg::{Anchor, escape, number, text};

/// A cell of a grid.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The colour of the cell.
    pub colour: Colour,
    /// How much of the colour there is, from 0 to 1.
    pub shade: f64,
    /// The text in the cell, left out where cells are too narrow for theirs.
    pub text: String,
    /// The text for a reader who points at the cell.
    pub hint: String,
}

/// A title, a line that says what rows and columns are, and shaded cells.
#[derive(Debug, Clone)]
pub struct ShadedGrid {
    /// The title of the picture.
    pub title: String,
    /// What the rows and the columns are, above all names.
    pub remark: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The names of the rows.
    pub rows: Vec<String>,
    /// The cells, row after row.
    pub cells: Vec<Vec<Cell>>,
}

/// The largest width of a cell.
const WIDEST: f64 = 84.0;
/// The largest height of a cell.
const HIGHEST: f64 = 34.0;
/// The least height of a cell: that of its row's name.
const LOWEST: f64 = 14.0;
/// The largest width of a row's name.
const MOST_NAME: f64 = 0.3 * WIDTH;
/// The largest height of a column's name, where it stands upright.
const MOST_UPRIGHT: f64 = 84.0;
/// The largest opacity of a cell: text on it can be read in both themes.
const DARKEST: f64 = 0.5;
/// The height of the line that says what rows and columns are.
const LINE: f64 = 18.0;

impl ShadedGrid {
    /// Draws the names at the left and above, upright where they are too long, and the cells.
    pub fn draw(&self) -> Picture {
        let widest = |names: &[String]| names.iter().map(|name| width(name, LABEL)).fold(0.0, f64::max);
        let left = widest(&self.rows).min(MOST_NAME) + 8.0;
        let wide = ((WIDTH - left) / self.columns.len().max(1) as f64).min(WIDEST);
        let high = wide.clamp(LOWEST, HIGHEST);
        let upright = widest(&self.columns) > wide - 2.0;
        let above = if upright { widest(&self.columns).min(MOST_UPRIGHT) + 6.0 } else { LINE };
        let top = HEAD + LINE + above;

        let mut labels = text(0.0, HEAD + 12.0, Anchor::Start, "", &fit(&self.remark, LABEL, WIDTH));
        for (c, name) in self.columns.iter().enumerate() {
            let middle = left + wide * (c as f64 + 0.5);
            labels += &if upright {
                let (x, y) = (middle + 4.3, top - 5.0);
                let turn = format!("transform=\"rotate(-90 {} {})\"", number(x), number(y));
                text(x, y, Anchor::Start, &turn, &fit(name, LABEL, MOST_UPRIGHT))
            } else {
                text(middle, top - 5.0, Anchor::Middle, "", name)
            };
        }
        for (r, name) in self.rows.iter().enumerate() {
            let middle = top + high * (r as f64 + 0.5);
            labels += &text(left - 8.0, middle + 4.3, Anchor::End, "", &fit(name, LABEL, MOST_NAME));
        }
        let cells = self.cells.iter().flatten();
        let room = cells.map(|cell| width(&cell.text, LABEL)).fold(0.0, f64::max) <= wide - 3.0;
        let (mut shapes, mut texts) = (String::new(), String::new());
        for (r, row) in self.cells.iter().enumerate() {
            for (c, cell) in row.iter().enumerate() {
                let (x, y) = (left + wide * c as f64, top + high * r as f64);
                shapes += &shape(cell, (x, y), (wide, high));
                if room {
                    texts += &text(x + 0.5 * wide, y + 0.5 * high + 4.3, Anchor::Middle, "", &cell.text);
                }
            }
        }
        let body = format!(
            "{shapes}<g fill=\"{}\" pointer-events=\"none\">{texts}</g><g fill=\"{}\">{labels}</g>",
            Colour::Ink.css(),
            Colour::Muted.css()
        );
        Picture::new(&self.title, top + high * self.rows.len() as f64 + 4.0, body)
    }
}

/// The rectangle of a cell, with a little room around it.
fn shape(cell: &Cell, (x, y): (f64, f64), (wide, high): (f64, f64)) -> String {
    let shade = if cell.shade.is_finite() { cell.shade.clamp(0.0, 1.0) } else { 0.0 };
    // What has no shade is seen to be a cell all the same.
    let (colour, opacity) = if shade > 0.0 { (cell.colour, DARKEST * shade) } else { (Colour::Grid, DARKEST) };
    let hint = if cell.hint.is_empty() { String::new() } else { format!("<title>{}</title>", escape(&cell.hint)) };
    format!(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" fill-opacity=\"{opacity:.2}\">{hint}</rect>",
        number(x + 0.5),
        number(y + 0.5),
        number(wide - 1.0),
        number(high - 1.0),
        colour.css()
    )
}
