//! What results are shown with: sections of tables and figures, and how the numbers in them are written.

pub mod axis_range;
pub mod number_text;
pub mod over_depths;
pub mod section;
pub mod summary;
pub mod table;
