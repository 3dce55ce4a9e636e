//! `deepgp`: from a table to a calibrated model, predictions and a report.

fn main() {}
