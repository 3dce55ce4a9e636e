//! The start of a fit: a model at its starting point, and its file before the first step.

use std::ops::ControlFlow;
use std::thread;
use std::time::Instant;

use deepgp::{Dataset, FitMemory, FitSettings, Result, StartProgress, StoredRows, Training};
use deepgp_io::table::Schema;
use deepgp_io::{History, ModelFile, Note, Provenance, Record, TableRecord, memory, words};

use super::time_limit::TimeLimit;
use crate::processes::Processes;
use crate::terminal::interrupt;
use crate::terminal::output::Voice;
use crate::terminal::stage::{Extent, Stage};
use crate::terminal::waiting::Waiting;

/// Fails if a fit to so many rows of so many columns would need more memory than there is: with the sizes, before anything of it is tried.
pub fn check_memory(rows: usize, columns: usize, settings: &FitSettings) -> anyhow::Result<()> {
    let threads = match settings.train.threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    // Of few latent functions, as all likelihoods but those of very many classes have.
    let latent = settings.model.likelihood.start(1).latent_width();
    let memory = FitMemory::of(rows, columns, latent, settings, threads);
    let part = |what: &str, size: f64| format!("{what} {}", words::bytes(size as u64));
    let parts = [
        part("rows", memory.rows),
        part("parameters and what is kept of each", memory.parameters),
        part("the work of a step", memory.work),
    ];
    let what = format!("a fit to {rows} rows of {columns} inputs ({})", parts.join(", "));
    let advice = match () {
        () if memory.rows > memory.parameters + memory.work => {
            "keep them on disk with --rows-in disk, fit to fewer rows, or leave columns out with --ignore"
        }
        () => "take fewer inducing inputs, a smaller --width or fewer --hidden-layers",
    };
    Ok(memory::check(&what, memory.total(), advice)?)
}

/// The rows that a model is trained on.
#[derive(Debug)]
pub enum TrainingRows<'a> {
    /// This process's share of all, in memory.
    Share(&'a Dataset),
    /// All of them, on disk.
    OnDisk(StoredRows),
}

/// The training of a new model on these rows, and those of other processes. Progress is shown; if the time is up meanwhile, the choice of
/// inducing inputs is cut short, and the note says so.
pub fn start(
    processes: &Processes,
    rows: &TrainingRows<'_>,
    settings: &FitSettings,
    limit: Option<TimeLimit>,
    voice: Voice,
) -> Result<(Training, Option<Note>)> {
    let until = limit.map(|limit| limit.start_of_training());
    // Until inducing inputs are chosen, which is told of by itself.
    let mut waiting = Some(Waiting::new(voice, "preparing the rows"));
    let (mut shown, mut note): (Option<(usize, usize, Stage)>, _) = (None, None);
    let watch = |progress| {
        let StartProgress { layer, inducing, share } = progress;
        drop(waiting.take());
        if shown.as_ref().is_none_or(|(of_layer, count, _)| (*of_layer, *count) != (layer, inducing)) {
            let layers = settings.model.hidden_layers + 1;
            let what = format!("choosing {inducing} inducing inputs (layer {} of {layers})", layer + 1);
            shown = Some((layer, inducing, Stage::new(voice, what, Extent::Percent)));
        }
        if let Some((.., stage)) = &mut shown {
            stage.show((100.0 * share) as u64);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            note.get_or_insert(Note::InducingCutShort { layer });
            return ControlFlow::Break(());
        }
        if interrupt::asked() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let training = match rows {
        TrainingRows::Share(share) => Training::among(processes.communicator(), share, settings, watch),
        TrainingRows::OnDisk(rows) => Training::stored(rows, settings, watch),
    }?;
    Ok((training, note))
}

/// The model file of a fit that has not made a step, with the state to train from.
pub fn begin(schema: &Schema, table: &TableRecord, settings: FitSettings, training: &Training) -> ModelFile {
    let (regressor, state) = (training.regressor().clone(), Some(training.state()));
    let mut record = Record::new(Provenance::Table(table.clone()), settings);
    record.note_start(training, &schema.targets);
    ModelFile { regressor, schema: schema.clone(), record, history: History::default(), state }
}
