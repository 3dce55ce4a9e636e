//! Checkpoints of training runs: locked against other processes, and saved.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Result, anyhow};
use deepgp::{Regressor, TrainState};
use deepgp_io::atomic::Lock;
use deepgp_io::{ModelError, ModelFile};

/// Takes the lock on a checkpoint, so that no other process trains from it or writes it meanwhile.
pub fn lock(checkpoint: &Path) -> Result<Lock> {
    Lock::take(checkpoint).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => {
            anyhow!("another deepgp is working on {}: wait for it, or stop it", checkpoint.display())
        }
        _ => anyhow!("cannot write {}: {error}", checkpoint.display()),
    })
}

/// Saves the state of a run as a checkpoint, which is a model file too: that of the best model so far.
pub fn save(
    file: &ModelFile,
    start: &Regressor,
    state: &TrainState,
    path: &Path,
) -> std::result::Result<(), ModelError> {
    let mut regressor = start.clone();
    regressor.model.set_raw(state.best_raw());
    ModelFile { regressor, state: Some(state.clone()), ..file.clone() }.save(path)
}
