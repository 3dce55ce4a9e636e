//! What experiments show their results with: sections of tables and figures, and the numbers in them.

pub mod axis_range;
pub mod number_text;
pub mod section;
pub mod table;
