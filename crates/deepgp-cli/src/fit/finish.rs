//! The end of a fit: the model is saved, scored on its test rows, and reported on.
//!
//! Whatever is finished is saved before the next part begins. If a signal comes meanwhile, that part is left out, and the rest is summed up.

use std::path::Path;

use anyhow::{Context, Result};
use deepgp::Dataset;
use deepgp_io::note::ScoredRows;
use deepgp_io::{ModelFile, Note, StopReason, atomic};

use super::learned_nothing;
use super::model_place::command_to_resume;
use super::summary::{LeftOut, Summary, ToldScores};
use super::training_run::{Ending, FinishedRun, RunOptions};
use crate::model::rows::{self, PlacedRows};
use crate::model::scores::Scores;
use crate::report;
use crate::terminal::abandon::Abandonable;
use crate::terminal::date;
use crate::terminal::output::{Outcome, Voice};
use crate::terminal::waiting::Waiting;

/// Saves the model of a run that has ended, scores it if there are test rows, writes the report if one is asked for,
/// and sums it all up.
pub fn finish(
    finished: FinishedRun,
    train: &Dataset,
    held_out: Option<&PlacedRows>,
    run: &RunOptions,
    out: &Path,
    report: Option<&Path>,
    voice: Voice,
) -> Result<Outcome> {
    let FinishedRun { mut file, ending, known_notes, training } = finished;
    file.record.written = date::now();
    // A finished model is worth more than one that was cut short, and that one is in the checkpoint too.
    let stays = ending == Ending::Interrupted && is_finished(out);
    if !stays {
        // Before the scores, which may take a while.
        file.save(out).with_context(|| left_to_go_on_from(&run.checkpoint, &file))?;
    }
    if ending == Ending::Done {
        // The model is safe; a checkpoint that cannot be removed does no harm.
        let _ = atomic::remove(&run.checkpoint);
    }
    let summary = |file: &ModelFile, scored: Option<ToldScores>, left_out: LeftOut, report: Option<&Path>| Summary {
        file: file.clone(),
        ending,
        known_notes,
        model: if stays { run.checkpoint.clone() } else { out.into() },
        stays: stays.then(|| out.into()),
        checkpoint: run.checkpoint.clone(),
        scored,
        left_out,
        report: report.map(Path::to_path_buf),
        voice,
    };
    if ending == Ending::Interrupted {
        let left_out = if report.is_some() { LeftOut::Report } else { LeftOut::Nothing };
        return summary(&file, None, left_out, None).tell();
    }
    let left_out = if held_out.is_some() { LeftOut::Scores } else { LeftOut::Remarks };
    let scoring = abandonable(run, summary(&file, None, left_out, None));
    let threads = file.record.settings.train.threads;
    let sample = match (run.time_limit, held_out) {
        (Some(limit), Some(test)) => limit.rows_to_score(&file.regressor, test, threads)?,
        (None, _) | (_, None) => None,
    };
    let held_out = sample.as_ref().map(|(rows, _)| rows).or(held_out);
    let scored = match held_out {
        // Whoever does not want to wait for the scores has the model already.
        Some(test) => match Scores::new(&file, Some(train), &test.data, threads, voice)? {
            None => return summary(&file, None, left_out, None).tell(),
            scored => scored,
        },
        None => None,
    };
    if let Some(scored) = &scored {
        scored.take_down(&mut file.record);
        if let Some((_, note)) = &sample {
            file.record.remark(note.clone());
        }
        if let Some(note) = rows::copies_note(train, scored.data(), ScoredRows::Test) {
            file.record.remark(note);
        }
    } else {
        let _shown = Waiting::new(voice, "looking whether it has learnt");
        for doubt in learned_nothing::remarks(&file, &training)? {
            file.record.remark(doubt);
        }
    }
    drop(scoring);
    // The model is there already, whole and of use: that it cannot be written once more, with its scores, loses those alone.
    if let Err(error) = file.save(out) {
        file.record.remark(Note::ScoresNotSaved { reason: error.to_string() });
    }
    let told = scored.as_ref().map(|scored| ToldScores::of(scored, &file));
    if let Some(path) = report {
        let reporting = abandonable(run, summary(&file, told.clone(), LeftOut::Report, None));
        let shown = Waiting::new(voice, "writing the report");
        let positions = held_out.map(|rows| &rows.positions[..]);
        let content = report::of_fit(&file, scored.as_ref(), Some(train), positions)?;
        drop((shown, reporting));
        report::write_page(&content, path)?;
    }
    summary(&file, told, LeftOut::Nothing, report).tell()
}

/// Work after training that is left out if a signal comes: then there is this summary. The lock file goes too.
fn abandonable(run: &RunOptions, summary: Summary) -> Abandonable {
    let lock = run.lock.clone();
    Abandonable::new(move || {
        // Nobody is left to be told what went wrong.
        let _ = summary.tell();
        if let Some(lock) = lock {
            lock.remove_file();
        }
    })
}

/// What there is if the model of a run cannot be written.
fn left_to_go_on_from(checkpoint: &Path, file: &ModelFile) -> String {
    let command = command_to_resume(checkpoint, &file.record);
    format!("training has ended, and what the last checkpoint has of it is kept: make room, and go on with `{command}`")
}

/// Whether there is a model file at `path` whose training nobody interrupted.
fn is_finished(path: &Path) -> bool {
    let stop = ModelFile::load(path).ok().and_then(|file| file.record.stop);
    stop.is_some_and(|stop| match stop {
        StopReason::Interrupted => false,
        StopReason::Steps | StopReason::Patience | StopReason::TimeLimit | StopReason::Stuck { .. } => true,
    })
}
