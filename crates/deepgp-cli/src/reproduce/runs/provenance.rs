//! Provenance of a result: with which settings, on which device, by which version, and in what time it was computed.

use anyhow::Result;
use deepgp::FitSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::queue::Slot;
use super::setup::Setup;
use super::training_run::TrainedModel;

/// How the result of a run came about, in every line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Seconds that training took, by the wall clock.
    pub seconds: f64,
    /// The number of runs made at a time, this one included.
    pub sharing: usize,
    /// Steps that training made.
    pub steps: u64,
    /// The name of the device that it was computed on.
    pub device: String,
    /// All settings of the fit, as JSON.
    pub settings: Value,
    /// The version of deepgp.
    pub version: String,
}

/// The conditions under which a run was timed. Times are comparable where these are equal. Fewer runs at a time sort
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimingConditions<'a> {
    /// The number of runs made at a time.
    pub sharing: usize,
    /// The name of the device that they were computed on.
    pub device: &'a str,
}

impl Provenance {
    /// The provenance of a run that has just ended.
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

    /// The conditions under which the run was timed. Journals of several machines can be joined, so that a journal may
    /// have several.
    pub fn timing(&self) -> TimingConditions<'_> {
        TimingConditions { sharing: self.sharing, device: &self.device }
    }

    /// Whether this run and another were timed on the same device, each with the device to itself: otherwise their times say nothing of
    /// the models.
    pub fn is_timed_like(&self, other: &Self) -> bool {
        self.timing() == other.timing() && self.sharing == 1
    }

    /// The number of steps that the settings ask for, if they say.
    pub fn planned_steps(&self) -> Option<u64> {
        self.settings["train"]["steps"].as_u64()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The provenance of a run that had a CPU to itself for so many seconds.
    pub fn provenance(seconds: f64, steps: u64) -> Provenance {
        let (settings, device, version) = (Value::Null, "cpu".into(), "0".into());
        Provenance { seconds, sharing: 1, steps, device, settings, version }
    }
}
