//! The end of a fit: the model is saved, scored on its test rows, and summed up for people and scripts.

use std::path::Path;

use anyhow::Result;
use deepgp::Dataset;
use deepgp_io::note::ScoredRows;
use deepgp_io::{ModelFile, Record, StopReason, atomic};
use serde_json::{Value, json};

use super::learned_nothing;
use super::training_run::{Ending, FinishedRun, RunOptions};
use crate::model::rows::{self, PlacedRows};
use crate::model::scores::{self, Scores};
use crate::model::{json_summary, notes as model_notes};
use crate::report;
use crate::terminal::output::{self, Outcome, Voice};
use crate::terminal::text::{count, duration};
use crate::terminal::{date, shell};

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
    let model = if stays { &run.checkpoint } else { out };
    if !stays {
        // Before the scores, which may take a while.
        file.save(out)?;
    }
    let threads = file.record.settings.train.threads;
    let sample = match (run.time_limit, held_out) {
        (Some(limit), Some(test)) => limit.rows_to_score(test)?,
        (None, _) | (_, None) => None,
    };
    let held_out = sample.as_ref().map(|(rows, _)| rows).or(held_out);
    let scored = match held_out {
        Some(test) if ending != Ending::Interrupted => Scores::new(&file, Some(train), &test.data, threads, voice)?,
        _ => None,
    };
    // Whoever does not want to wait for the scores has the model already.
    let unscored = ending != Ending::Interrupted && held_out.is_some() && scored.is_none();
    if let Some(scored) = &scored {
        scored.take_down(&mut file.record);
        if let Some((_, note)) = &sample {
            file.record.remark(note.clone());
        }
        if let Some(note) = rows::copies_note(train, scored.data(), ScoredRows::Test) {
            file.record.remark(note);
        }
        file.save(out)?;
    } else if ending != Ending::Interrupted && !unscored {
        for doubt in learned_nothing::remarks(&file, &training)? {
            file.record.remark(doubt);
        }
        file.save(out)?;
    }
    if ending == Ending::Done {
        // The model is safe; a checkpoint that cannot be removed does no harm.
        let _ = atomic::remove(&run.checkpoint);
    }
    let report = report.filter(|_| !unscored);
    if let Some(path) = report {
        let positions = held_out.map(|rows| &rows.positions[..]);
        report::write_of_fit(&file, scored.as_ref(), Some(train), positions, path)?;
    }
    let Record { steps, train_seconds, stop, notes, .. } = &file.record;
    let (steps, stop) = (count(*steps as usize, "step"), stop.as_ref().map_or(String::new(), StopReason::to_string));
    output::say(voice, &format!("{steps} in {}: {stop}", duration(*train_seconds)));
    output::notes(voice, &notes[known_notes.min(notes.len())..]);
    output::notes(voice, &scores::remarks_of_fit(&file));
    if let Some(scored) = &scored {
        let table = scored.table(&file);
        output::say(voice, &format!("\nOn {}:\n{table}", count(scored.data().len(), "test row")));
    }
    if unscored {
        output::say(voice, "interrupted: the model has no scores; `deepgp evaluate` gives it some");
    }
    let instead = if stays { format!(" ({} stays as it was)", out.display()) } else { String::new() };
    output::say(voice, &format!("model: {}{instead}", model.display()));
    if let Some(path) = report {
        output::say(voice, &format!("report: {}", path.display()));
    }
    if ending != Ending::Done {
        output::say(voice, &format!("to go on: deepgp resume {}", shell::word(&run.checkpoint)));
    }
    let interrupted = ending == Ending::Interrupted || unscored;
    let outcome = if interrupted { Outcome::Interrupted } else { Outcome::Done };
    if voice.json {
        output::json(&as_json(&file, scored.as_ref(), model, run, (ending, outcome)))?;
    }
    Ok(outcome)
}

/// Whether there is a model file at `path` whose training nobody interrupted.
fn is_finished(path: &Path) -> bool {
    let stop = ModelFile::load(path).ok().and_then(|file| file.record.stop);
    stop.is_some_and(|stop| match stop {
        StopReason::Interrupted => false,
        StopReason::Steps | StopReason::Patience | StopReason::TimeLimit | StopReason::Stuck { .. } => true,
    })
}

/// The JSON object of `fit --json`.
fn as_json(
    file: &ModelFile,
    scored: Option<&Scores<'_>>,
    out: &Path,
    run: &RunOptions,
    (ending, outcome): (Ending, Outcome),
) -> Value {
    let record = &file.record;
    let mut summary = json!({
        "version": record.version,
        "model": out.display().to_string(),
        "elbo": record.elbo,
        "kept": json_summary::kept(file),
        "steps": record.steps,
        "train_seconds": record.train_seconds,
        "stop": record.stop.as_ref().map(StopReason::to_string),
        "interrupted": outcome == Outcome::Interrupted,
        "rows": record.data.rows(),
        "targets": file.schema.targets,
        "target_kind": file.schema.target_kind,
        "inputs": file.schema.feature_names(),
        "settings": record.settings,
        "notes": model_notes::sentences(&model_notes::all(file)),
    });
    if let Value::Object(summary) = &mut summary {
        if ending != Ending::Done {
            summary.insert("checkpoint".into(), json!(run.checkpoint.display().to_string()));
        }
        if let Some(scored) = scored {
            summary.extend(scored.json(file));
        }
    }
    summary
}
