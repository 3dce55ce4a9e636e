//! `--rows-in`: whether the rows of a fit are kept in memory, or in a file on disk from which each step reads its own.
//!
//! The model is the same, but for the rounding of inputs that mostly repeat one value, which are taken as sparse in memory alone.

use std::thread;

use anyhow::{Result, bail};
use deepgp::{FitMemory, FitSettings};
use deepgp_io::table::Schema;
use deepgp_io::{ClassWeights, SplitRule, memory};
use serde::{Deserialize, Serialize};

use crate::arguments::usage::Usage;
use crate::model::device::Device;
use crate::processes::Processes;

/// The share of free memory that a fit may take whose rows are in memory: they are read before what else it takes is looked at again.
const SHARE: f64 = 0.5;

/// Where the rows of a fit are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowsIn {
    /// In memory if they fit there, else on disk.
    #[default]
    Auto,
    /// In memory.
    Memory,
    /// On disk.
    Disk,
}

/// The names of [`RowsIn`]'s variants on the command line.
pub const PLACES: &[&str] = &["auto", "memory", "disk"];

/// What decides whether rows can be on disk.
#[derive(Clone, Copy, Debug)]
pub struct Demands<'a> {
    /// The columns.
    pub schema: &'a Schema,
    /// Which rows are held out.
    pub split: &'a SplitRule,
    /// How classes weigh.
    pub class_weights: ClassWeights,
    /// Whether there is cross-validation.
    pub folds: bool,
    /// Whether training starts from another model.
    pub init: bool,
    /// Where to compute.
    pub device: Device,
}

impl Demands<'_> {
    /// What must be left out for rows to be on disk, if anything.
    fn obstacle(&self, processes: &Processes) -> Option<&'static str> {
        let Self { schema, split, class_weights, folds, init, device } = *self;
        match () {
            () if processes.are_several() => Some("several processes, which keep their shares in memory"),
            () if device == Device::Cuda => Some("--device cuda"),
            () if folds => Some("--folds"),
            () if init => Some("--init"),
            () if schema.row_columns.weights.is_some() => Some("--weights"),
            () if schema.row_columns.group.is_some() => Some("--group"),
            () if *split != SplitRule::Random => Some("--test last:…"),
            () if !class_weights.is_none() => Some("--class-weights balanced"),
            () if schema.has_many_levels() => Some("a category of so many levels that each is the mean of its targets"),
            () => None,
        }
    }
}

impl RowsIn {
    /// The place's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Memory => "memory",
            Self::Disk => "disk",
        }
    }

    /// Whether so many rows of these columns are to be on disk. Fails if that is asked for and cannot be.
    pub fn is_disk(
        self,
        demands: &Demands<'_>,
        rows: u64,
        settings: &FitSettings,
        processes: &Processes,
    ) -> Result<bool> {
        match (self, demands.obstacle(processes)) {
            (Self::Memory, _) | (Self::Auto, Some(_)) => Ok(false),
            (Self::Disk, None) => Ok(true),
            (Self::Disk, Some(obstacle)) => {
                bail!(Usage(format!("--rows-in disk is not for {obstacle}: leave out one of the two")))
            }
            (Self::Auto, None) => Ok(!fits(demands.schema, rows, settings)),
        }
    }
}

/// Whether a fit to so many rows of these columns takes no more than a share of the memory that is free.
fn fits(schema: &Schema, rows: u64, settings: &FitSettings) -> bool {
    let threads = match settings.train.threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let latent = settings.model.likelihood.start(1).latent_width();
    let columns: usize = schema.inputs.iter().map(deepgp_io::table::InputColumn::width).sum();
    let needed = FitMemory::of(rows as usize, columns, latent, settings, threads).total();
    memory::free().is_none_or(|free| needed as f64 <= SHARE * free as f64)
}
