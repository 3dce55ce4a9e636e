//! Pictures as SVG: charts with axes, lists of bars, and their rendering to PNG.
//!
//! A [`Chart`] lays out [`Panel`]s, a panel holds [`Mark`]s on two [`Axis`]es, and [`BarList`] draws named bars.
//! Both end as a [`Picture`], which is written in two ways: inline, for a page whose style sheet sets the
//! colours, and stand-alone, for a file that carries its own. [`png`] rasterises the latter.
//!
//! Values that are not finite are left out, and a panel without any value says so. Start reading at
//! [`Chart::draw`].

mod axis;
mod bars;
mod chart;
mod colour;
mod draw;
mod legend;
mod mark;
mod panel;
mod png;
mod scale;
mod sheet;
mod svg;
mod text;
mod thin;
mod ticks;

#[cfg(test)]
mod tests;

pub use axis::Axis;
pub use bars::{Bar, BarList};
pub use chart::Chart;
pub use colour::{Colour, style_sheet};
pub use mark::Mark;
pub use panel::Panel;
#[cfg(test)]
pub(crate) use png::parse;
pub use png::png;
pub use sheet::Picture;
pub use svg::escape;
pub use thin::sample;
