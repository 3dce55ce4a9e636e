//! Where a search keeps what it has found out, so that it can go on after an interruption.

use std::collections::HashMap;

use super::log::SearchEntry;
use super::trial::TrialModel;
use crate::error::Error;

/// Where a search keeps its log, and the models that may go on. A program that is to survive writes them to files.
pub trait SearchStore {
    /// What can go wrong.
    type Error: From<Error>;

    /// Keeps an entry, and the models of a trial: first the models, so that what the log says is there.
    fn keep(&mut self, entry: &SearchEntry, models: &[TrialModel]) -> Result<(), Self::Error>;

    /// The models that a candidate had on a rung.
    fn models(&self, candidate: usize, rung: usize) -> Result<Vec<TrialModel>, Self::Error>;

    /// The models of a candidate on a rung are not needed any more.
    fn forget(&mut self, candidate: usize, rung: usize) -> Result<(), Self::Error>;
}

/// A store in memory, for a search that is not to survive.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(HashMap<(usize, usize), Vec<TrialModel>>);

impl SearchStore for MemoryStore {
    type Error = Error;

    fn keep(&mut self, entry: &SearchEntry, models: &[TrialModel]) -> Result<(), Error> {
        if let SearchEntry::Trial(trial) = entry {
            self.0.insert((trial.candidate, trial.rung), models.to_vec());
        }
        Ok(())
    }

    fn models(&self, candidate: usize, rung: usize) -> Result<Vec<TrialModel>, Error> {
        Ok(self.0.get(&(candidate, rung)).cloned().unwrap_or_default())
    }

    fn forget(&mut self, candidate: usize, rung: usize) -> Result<(), Error> {
        self.0.remove(&(candidate, rung));
        Ok(())
    }
}
