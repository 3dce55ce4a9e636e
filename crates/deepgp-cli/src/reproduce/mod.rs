//! `deepgp reproduce`: the paper's experiments, a run at a time, beside the paper's numbers.
//!
//! Five experiments: the paper's [`grid`] of models (its section 3), the [`forms`] of its Tables 1 and 2, where [`inducing`]
//! inputs start, which settings should be the [`defaults`], and the paper [`continued`]: its question where noise follows the inputs. Each
//! finished run is a line of the experiment's [`journal`]; a run that is there is not made again. So the work can be cut at any time and goes on where it
//! was, on several machines too, whose journals are joined with `cat`. Tables, figures and the page that shows them are written anew after
//! every run.

mod continued;
mod datasets;
mod defaults;
mod experiment;
pub mod folder;
mod forms;
mod grid;
mod inducing;
mod page;
mod results;
pub mod runs;

pub use continued::{DENSITIES, Density};
pub use datasets::DATASETS;
pub use defaults::{CANDIDATES, Candidate};
pub use experiment::{EXPERIMENTS, Experiment};
pub use grid::baselines;
pub use grid::{MODELS, Model};
