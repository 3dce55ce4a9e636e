//! Public tables: fetched, checked to the last bit, and written in the form that the other commands read.
//!
//! ```text
//! address -> bytes (download) -> text (unpack) -> Table (table, arff) -> the recipe's columns, checked (recipe) -> NAME.csv.gz (fetch)
//! ```

mod arff;
mod download;
mod fetch;
#[cfg(test)]
mod hostile_text;
mod recipe;
#[cfg(test)]
#[path = "../../tests/common/server.rs"]
mod server;
mod table;
mod unpack;

pub use download::{Downloader, Mirror};
pub use fetch::{Fetched, Order, fetch};
pub use recipe::{RECIPES, Recipe};
