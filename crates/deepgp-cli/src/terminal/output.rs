//! What commands say: to people on standard error, to scripts as one JSON object on standard output.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use deepgp::Score;
use deepgp_io::{ModelFile, Note, StopReason};
use serde_json::{Map, Value, json};

use crate::arguments::Voice;
use crate::model::score::{self, Scored};
use crate::model::training_run::{Ending, Run};
use crate::model::units;

/// How a command ended, if it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All was done.
    Done,
    /// Somebody stopped it; what there was is saved.
    Interrupted,
}

/// Tells people, if somebody still listens: a closed terminal or pipe is no reason to lose a run.
pub fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Shows people something that is soon overwritten, on the line where they are.
pub fn show(text: &str) {
    let mut terminal = std::io::stderr();
    let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}

/// Tells people who want to be told.
pub fn say(voice: Voice, text: &str) {
    if !voice.quiet {
        tell(text);
    }
}

/// Tells people what is worth knowing.
pub fn notes(voice: Voice, notes: &[impl Display]) {
    for note in notes {
        say(voice, &format!("note: {note}"));
    }
}

/// Tells a script.
pub fn json(value: &Value) -> Result<Reader> {
    print(format!("{value}\n").as_bytes())
}

/// Who reads standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Somebody.
    There,
    /// Nobody any more, which is no error: they have had enough.
    Gone,
}

/// Writes to standard output.
pub fn print(bytes: &[u8]) -> Result<Reader> {
    let mut out = std::io::stdout();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error).context("cannot write to standard output"),
        Ok(()) => Ok(Reader::There),
    }
}

/// A moment as `2026-11-15 09:30 UTC`.
pub fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days are counted from 1 March of the year 0, so that a leap day comes last in its year.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", rest / 3600, rest % 3600 / 60)
}

/// One number, or one for each target where there are several.
fn by_target(values: &[f64], targets: &[String]) -> Value {
    match values {
        [one] => json!(one),
        several => Value::Object(targets.iter().cloned().zip(several.iter().map(|v| json!(v))).collect()),
    }
}

/// A score for scripts, in original units.
pub fn score(score: &Score, rows: usize, targets: &[String]) -> Value {
    let each = |values: &[f64]| by_target(values, targets);
    json!({
        "rows": rows,
        "log_likelihood": score.log_likelihood,
        "rmse": each(&score.rmse),
        "mae": each(&score.mae),
        "crps": each(&score.crps),
        "coverage_50": each(&score.coverage_50),
        "coverage_90": each(&score.coverage_90),
        "coverage_95": each(&score.coverage_95),
    })
}

/// The scores of the model and of the baselines: `test` and `baselines`.
pub fn scores(scored: &Scored, targets: &[String]) -> Map<String, Value> {
    let mut out = Map::new();
    let [model, baselines @ ..] = &scored.scores[..] else { return out };
    out.insert("test".into(), score(&model.score, scored.rows(), targets));
    if !baselines.is_empty() {
        let each = baselines.iter().map(|own| (own.of.to_string(), score(&own.score, scored.rows(), targets)));
        out.insert("baselines".into(), Value::Object(each.collect()));
    }
    out
}

/// The step whose parameters the model has, where validation rows chose it, with their mean log density in the targets' units.
pub fn kept(file: &ModelFile) -> Option<Value> {
    units::kept(file).map(|(step, score)| json!({ "step": step, "validation_log_likelihood": score }))
}

/// What is worth knowing of a model: of its fit, then of its test scores.
pub fn all_notes(file: &ModelFile) -> Vec<Note> {
    let notes = &file.record.notes;
    let remarks = score::remarks_of_fit(file).into_iter().filter(|remark| !notes.contains(remark));
    notes.iter().cloned().chain(remarks).collect()
}

/// Notes as scripts get them: in sentences.
pub fn sentences(notes: &[Note]) -> Vec<String> {
    notes.iter().map(Note::to_string).collect()
}

/// What `fit --json` prints.
pub fn fit_summary(file: &ModelFile, scored: Option<&Scored>, out: &Path, run: &Run, ending: Ending) -> Value {
    let record = &file.record;
    let mut summary = json!({
        "version": record.version,
        "model": out.display().to_string(),
        "elbo": record.elbo,
        "kept": kept(file),
        "steps": record.steps,
        "train_seconds": record.train_seconds,
        "stop": record.stop.as_ref().map(StopReason::to_string),
        "interrupted": ending == Ending::Interrupted,
        "rows": record.data.rows(),
        "targets": file.schema.targets,
        "inputs": file.schema.feature_names(),
        "settings": record.settings,
        "notes": sentences(&all_notes(file)),
    });
    if let Value::Object(summary) = &mut summary {
        if ending != Ending::Done {
            summary.insert("checkpoint".into(), json!(run.checkpoint.display().to_string()));
        }
        if let Some(scored) = scored {
            summary.extend(scores(scored, &file.schema.targets));
        }
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_around_leap_days() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(951_868_800), "2000-03-01 00:00 UTC");
        assert_eq!(date(1_709_164_799), "2024-02-28 23:59 UTC");
        assert_eq!(date(4_102_444_800), "2100-01-01 00:00 UTC");
    }
}
