//! The start of a fit: a model at its starting point, and its file before the first step.

use std::ops::ControlFlow;
use std::time::Instant;

use deepgp::{Dataset, FitSettings, Result, StartProgress, Training};
use deepgp_io::table::Schema;
use deepgp_io::{History, ModelFile, Note, Provenance, Record, TableRecord};

use super::time_limit::TimeLimit;
use crate::processes::Processes;
use crate::terminal::interrupt;
use crate::terminal::output::Voice;
use crate::terminal::stage::{Extent, Stage};
use crate::terminal::waiting::Waiting;

/// The training of a new model on these rows, and those of other processes. Progress is shown; if the time is up meanwhile, the choice of
/// inducing inputs is cut short, and the note says so.
pub fn start(
    processes: &Processes,
    train: &Dataset,
    settings: &FitSettings,
    limit: Option<TimeLimit>,
    voice: Voice,
) -> Result<(Training, Option<Note>)> {
    let until = limit.map(|limit| limit.start_of_training());
    // Until inducing inputs are chosen, which is told of by itself.
    let mut waiting = Some(Waiting::new(voice, "preparing the rows"));
    let (mut shown, mut note): (Option<(usize, usize, Stage)>, _) = (None, None);
    let training = Training::among(processes.communicator(), train, settings, |progress| {
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
    })?;
    Ok((training, note))
}

/// The model file of a fit that has not made a step, with the state to train from.
pub fn begin(schema: &Schema, table: &TableRecord, settings: FitSettings, training: &Training) -> ModelFile {
    let (regressor, state) = (training.regressor().clone(), Some(training.state()));
    let mut record = Record::new(Provenance::Table(table.clone()), settings);
    record.note_start(training, &schema.targets);
    ModelFile { regressor, schema: schema.clone(), record, history: History::default(), state }
}
