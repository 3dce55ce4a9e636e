//! Checkpoints of training runs: locked against other processes, saved, and kept from being lost.
//!
//! A run that its time limit ended is finished: its checkpoint says so (`stop` in the record), and gives way to the next fit. One that somebody
//! interrupted, or that was killed, does not.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use deepgp::{Regressor, TrainState};
use deepgp_io::atomic::{self, Lock};
use deepgp_io::{ModelError, ModelFile};

use super::model_place::command_to_resume;

/// Takes the lock on a checkpoint, so that no other process trains from it or writes it meanwhile.
pub fn lock(checkpoint: &Path) -> Result<Arc<Lock>> {
    Lock::take(checkpoint).map(Arc::new).map_err(|error| match error.kind() {
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

/// Fails if a new run must not replace what is at `path`: a file that is no checkpoint, or the checkpoint of a fit that has not ended, unless
/// that is to be `given_up`. `otherwise` is what to do about the latter, beside going on with it.
pub fn check_replaceable(path: &Path, given_up: bool, otherwise: &str) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let shown = path.display();
    match ModelFile::load(path).ok().filter(|file| file.state.is_some()) {
        None => bail!("{shown} is there, and is no checkpoint: name another place with --checkpoint, or remove it"),
        Some(file) if file.record.stop.is_none() && !given_up => bail!(
            "{shown} is the checkpoint of a fit that has not ended: go on with `{}`, or {otherwise}",
            command_to_resume(path, &file.record)
        ),
        Some(_) => Ok(()),
    }
}

/// Removes the checkpoint of a run that could not make a step: it leaves nothing worth going on from.
pub fn remove_unless_begun(path: &Path) {
    if ModelFile::load(path).is_ok_and(|left| left.record.steps == 0) {
        let _ = atomic::remove(path);
    }
}
