//! How single values of the command line are read: one of several names, a length of time, a size, a file that may be `-`.

pub mod choice;
pub mod duration;
pub mod limits;
pub mod share;
pub mod stdio_path;
pub mod test_rows;
