//! The search for better settings: successive halving, in brackets around the best so far.
//!
//! A *candidate* is the settings of a fit with some of them changed; candidate 0 changes none. All candidates are trained on the same rows, and judged by
//! a score on the same other rows, which neither trained them nor said when to stop: a single split, or the folds of one ([`SearchPart`]).
//!
//! ```text
//! bracket 0   candidate 0, and others drawn around it           350 steps: all  →  1000: the best third  →  3000: the best of these
//! bracket 1   others, drawn around the best of bracket 0        the same
//! …
//! ```
//!
//! **Rungs** are numbers of steps, a third of one another. Who comes through a rung goes on from where it was, with the state of its optimiser: training
//! is that of one fit over all steps, whose learning rate falls along its schedule over *all* steps and not anew over each rung, so that the highest rung
//! holds models to the bit as `fit` would have made them of these rows. A rung therefore judges fits that have not ended, at high learning rates; what
//! it judges is the best that early stopping has seen up to there, calibrated as at an end. Candidate 0 goes up to the top in any case, so that there
//! is something to compare with.
//!
//! **The best** is the one with the best score on the highest rung on which candidate 0 and another have been judged ([`SearchLog::leader`]); of equal
//! scores the candidate with the lower number, which is candidate 0 above all.
//!
//! What comes next follows from what has been judged and from the seed, and from nothing else: neither from time, unless that is what is limited
//! ([`SearchBudget::Time`]), nor from how many are trained at once, nor from interruptions. Start reading at [`Search::run`].

mod budget;
mod candidate;
mod halving;
mod log;
mod metric;
mod run;
mod setting;
mod space;
mod store;
mod trial;

pub use budget::{SearchBudget, SearchTime};
pub use candidate::Candidate;
pub use halving::HalvingPlan;
pub use log::{Bracket, SearchEntry, SearchLog, Trial, TrialOutcome};
pub use metric::SearchMetric;
pub use run::{Search, SearchEnd, SearchEvent, SearchSettings};
pub use setting::{Setting, SettingValue};
pub use space::{Choices, SearchSpace};
pub use store::{MemoryStore, SearchStore};
pub use trial::{SearchPart, TrialModel, judging_rows};
