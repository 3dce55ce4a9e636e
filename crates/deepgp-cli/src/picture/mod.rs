//! Pictures as SVG: charts with axes, lists of bars, shaded grids, and their rendering to PNG.
//!
//! A [`Chart`] lays out [`Panel`]s, a panel holds [`Mark`]s on two [`Axis`]es, [`BarList`] draws named bars and
//! [`ShadedGrid`] shaded cells. All end as a [`Picture`], which is written in two ways: inline, for a page whose style sheet sets the
//! colours, and stand-alone, for a file that carries its own. [`png`] rasterises the latter.
//!
//! Values that are not finite are left out, and a panel without any value says so. Start reading at
//! [`Chart::draw`].

mod axis;
mod bar_list;
mod chart;
mod png;
mod shaded_grid;
mod svg;
mod thinning;

#[cfg(test)]
mod tests;

pub use axis::Axis;
pub use bar_list::{Bar, BarList};
pub use chart::Chart;
pub use chart::mark::Mark;
pub use chart::panel::Panel;
#[cfg(test)]
pub(crate) use png::parse;
pub use png::png;
pub use shaded_grid::{Cell, ShadedGrid};
pub use svg::colour::{Colour, style_sheet};
pub use svg::document::Picture;
pub use svg::escape;
pub use thinning::sample;
