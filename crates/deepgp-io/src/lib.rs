//! Files: tables in, model files in and out. The only crate of deepgp that opens a file.

pub mod table;
