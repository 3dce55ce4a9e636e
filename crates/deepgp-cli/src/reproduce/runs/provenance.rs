//! How a run came about: what every line of a journal says beside its results.

use anyhow::Result;
use deepgp::FitSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::queue::Slot;
use super::setup::Setup;
use super::training_run::TrainedModel;

/// When, where and with what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Of training, by the clock.
    pub seconds: f64,
    /// How many runs were made at a time, this one included.
    pub sharing: usize,
    /// Steps made.
    pub steps: u64,
    /// Where it was computed.
    pub device: String,
    /// All settings.
    pub settings: Value,
    /// Of deepgp.
    pub version: String,
}

/// Under what circumstances a time was taken; those with fewer runs at a time come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimingConditions<'a> {
    /// How many runs were made at a time.
    pub sharing: usize,
    /// Where they were computed.
    pub device: &'a str,
}

impl Provenance {
    /// Of a run that has ended.
    pub fn new(setup: &Setup, slot: &Slot, settings: &FitSettings, trained: &TrainedModel) -> Result<Self> {
        Ok(Self {
            seconds: trained.seconds,
            sharing: slot.sharing,
            steps: trained.steps,
            device: setup.device(),
            settings: serde_json::to_value(settings)?,
            version: env!("CARGO_PKG_VERSION").into(),
        })
    }

    /// What its time hangs on beside the work: times are compared where these are equal, as journals of several machines can be
    /// joined.
    pub fn timing(&self) -> TimingConditions<'_> {
        TimingConditions { sharing: self.sharing, device: &self.device }
    }

    /// How many steps it was to make.
    pub fn planned_steps(&self) -> Option<u64> {
        self.settings["train"]["steps"].as_u64()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Of a run that had a CPU to itself for so long.
    pub fn provenance(seconds: f64, steps: u64) -> Provenance {
        let (settings, device, version) = (Value::Null, "cpu".into(), "0".into());
        Provenance { seconds, sharing: 1, steps, device, settings, version }
    }
}
