//! What `resume` goes on from: a checkpoint, which has the state of its run, or a finished model, whose parameters a further run starts from.
//!
//! A run that goes on from its state ends with the same bits as one that was never interrupted. A finished model keeps no state, unless its
//! checkpoint still lies beside it, as after a time limit; without one the optimiser, the schedule of the learning rate, minibatches and noise
//! begin anew.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use deepgp_io::atomic::Lock;
use deepgp_io::{History, ModelFile};

use super::{checkpoint, model_place};
use crate::arguments::paths;
use crate::processes::Processes;

/// A fit to go on with.
#[derive(Debug)]
pub struct Continuation {
    /// The model, how it came about, and the state of its run, if that was kept.
    pub file: ModelFile,
    /// The file of the run's checkpoint.
    pub checkpoint: PathBuf,
    /// Where the model goes.
    pub out: PathBuf,
    /// The right to write the checkpoint; of several processes, the first has it.
    pub lock: Option<Arc<Lock>>,
}

impl Continuation {
    /// The fit of the checkpoint or finished model at `path`, whose model is to go to `out`, if that is given. Fails if there is neither,
    /// if the checkpoint's model would go to another folder and nobody says so, or if a further run would replace the checkpoint of another
    /// fit that has not ended.
    pub fn of(path: &Path, out: Option<PathBuf>, processes: &Processes) -> Result<Self> {
        let lock_of = |checkpoint: &Path| processes.first(|| checkpoint::lock(checkpoint));
        // Before it is read: whoever has it may be about to move on.
        let lock = lock_of(path)?;
        let file = ModelFile::load(path)?;
        if file.state.is_some() {
            let out = out.map_or_else(|| model_place::named_by(&file.record, path), Ok)?;
            return Ok(Self { file, checkpoint: path.into(), out, lock });
        }
        drop(lock);
        let out = out.unwrap_or_else(|| path.into());
        let kept = paths::beside(path, "checkpoint");
        let lock = lock_of(&kept)?;
        if let Some(state) = ModelFile::load(&kept).ok().filter(|kept| is_state_of(kept, &file)) {
            return Ok(Self { file: state, checkpoint: kept, out, lock });
        }
        let own = paths::beside(&out, "checkpoint");
        let lock = if own == kept { lock } else { lock_of(&own)? };
        checkpoint::check_replaceable(&own, false, "remove it")?;
        Ok(Self { file: further(file), checkpoint: own, out, lock })
    }
}

/// Whether `kept` is a checkpoint of the run that `model` is the result of.
fn is_state_of(kept: &ModelFile, model: &ModelFile) -> bool {
    let bits = |file: &ModelFile| file.regressor.model.raw().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    kept.state.is_some()
        && kept.record.steps == model.record.steps
        && kept.record.data == model.record.data
        && bits(kept) == bits(model)
}

/// The file of a further run that starts from a finished model: what was told of the run before is gone, but for its steps.
fn further(mut file: ModelFile) -> ModelFile {
    file.record.begin_further();
    file.history = History::default();
    file
}
