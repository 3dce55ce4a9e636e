//! Everything that runs on the device: CUDA text, and how each kernel of it is launched.
//!
//! Beside a file of CUDA text stands a Rust file of the same name. There [`kernels!`](crate::launch::kernels) declares, for each kernel, a
//! struct of its arguments under the names and in the order of the CUDA signature, and the grid that it runs on;
//! [`constants!`](crate::source::constants) holds the numbers that both sides must agree on, which are written out into the text. Tests
//! (`source/signature.rs`) parse the text and fail where the two have drifted apart, without a GPU. `profiles.cu` belongs to
//! `covariance.cu`, `objectives.cu`, `likelihoods.cu` and the folder `likelihood`, a file for each, to `data_term.cu`; `hopper.cu` has no
//! kernels, only what those of newer GPUs are made of.

pub mod common;
pub mod covariance;
pub mod data_term;
pub mod diagonal;
pub mod exchange;
pub mod factor;
pub mod matrix;
pub mod optimiser;
pub mod resident;
pub mod rows;
pub mod symmetric;

use crate::launch::{Declaration, Group};

/// Kernels that depend on nothing of a model but the precision of its rows.
#[derive(Debug)]
pub struct General;

impl Group for General {
    const KERNELS: &'static [&'static [Declaration]] = &[
        factor::KERNELS,
        resident::KERNELS,
        matrix::KERNELS,
        symmetric::KERNELS,
        rows::KERNELS,
        diagonal::KERNELS,
        optimiser::KERNELS,
        exchange::KERNELS,
    ];
}

/// Kernels that are written out for one covariance function and one input width.
#[derive(Debug)]
pub struct Covariance;

impl Group for Covariance {
    const KERNELS: &'static [&'static [Declaration]] = &[covariance::KERNELS];
}

/// The kernel that is written out for one objective and one likelihood.
#[derive(Debug)]
pub struct DataTerm;

impl Group for DataTerm {
    const KERNELS: &'static [&'static [Declaration]] = &[data_term::KERNELS];
}
