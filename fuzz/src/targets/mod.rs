//! What no bytes may do: one function a reader, and one for a training step. Each takes any bytes and panics if something is wrong.
//!
//! ```text
//! bytes ─→ reader ─→ an error that names the file
//!                └→ rows or a model, and what must hold of them
//! ```
//!
//! The fuzzer (`main.rs`) calls them with bytes that it bends towards new branches, and a test of the workspace
//! (`crates/deepgp-io/tests/hostile_bytes.rs`) with the corpus and seeded mutations of it. Neither time nor memory is measured here: whoever
//! calls has a clock and a limit.

mod choices;
mod dates;
mod json;
mod models;
mod steps;
mod tables;

/// A function that must survive any bytes, and its name, which is that of its corpus.
#[derive(Clone, Copy)]
pub struct Target {
    /// The name, on the command line and of the folder below `corpus`.
    pub name: &'static str,
    /// The function; it panics if something is wrong.
    pub run: fn(&[u8]),
}

/// Every target that the libraries have.
pub const TARGETS: [Target; 10] = [
    Target { name: "csv", run: tables::any },
    Target { name: "gzip", run: tables::gzip },
    Target { name: "parquet", run: tables::any },
    Target { name: "npy", run: tables::any },
    Target { name: "npz", run: tables::any },
    Target { name: "dates", run: dates::column },
    Target { name: "json", run: json::rows },
    Target { name: "model", run: models::model },
    Target { name: "checkpoint", run: models::checkpoint },
    Target { name: "step", run: steps::step },
];
