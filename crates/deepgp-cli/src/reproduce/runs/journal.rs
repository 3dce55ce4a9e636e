//! Journals of experiments, `results.jsonl` and the like: a line for each finished run. Journals of several machines
//! can be joined with `cat`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};

/// A line of a journal that tells which run it is the result of.
pub trait Keyed {
    /// What tells one run from another.
    type Key: PartialEq;

    /// The run that this line is the result of.
    fn key(&self) -> Self::Key;
}

/// A journal: its file, and the lines in it. The file is made when the first line is added, and is not touched before.
#[derive(Debug)]
pub struct Journal<L> {
    path: PathBuf,
    /// All lines, those of the file first. Of a run with two lines, the first counts.
    pub lines: Vec<L>,
    /// What is to be repaired before a line can be added.
    repair: Option<Repair>,
}

/// What is wrong with the end of a journal's file.
#[derive(Clone, Copy, Debug)]
enum Repair {
    /// The last line is whole, but has no line break.
    EndLine,
    /// The process was cut off while it wrote: so many bytes are whole lines.
    CutTo(u64),
}

impl<L: Keyed + Serialize + DeserializeOwned> Journal<L> {
    /// Reads the journal from its file, if there is one. A piece of a last line is left out, and cut off before the
    /// next line is added.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
        };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut journal = Self { path: path.into(), lines: Vec::new(), repair: None };
        for (number, line) in text[..whole].lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let line: L = serde_json::from_str(line)
                .with_context(|| format!("{shown}: line {} is not the result of a run", number + 1))?;
            journal.take(line);
        }
        if whole < text.len() {
            journal.repair = Some(match serde_json::from_str(&text[whole..]) {
                Ok(line) => {
                    journal.take(line);
                    Repair::EndLine
                }
                Err(_) => Repair::CutTo(whole as u64),
            });
        }
        Ok(journal)
    }

    /// Takes a line into the journal, unless it has one of the same run.
    fn take(&mut self, line: L) {
        if !self.has(&line.key()) {
            self.lines.push(line);
        }
    }

    /// Whether the journal has the result of a run.
    pub fn has(&self, key: &L::Key) -> bool {
        self.find(key).is_some()
    }

    /// The result of a run, if the journal has it.
    pub fn find(&self, key: &L::Key) -> Option<&L> {
        self.lines.iter().find(|line| line.key() == *key)
    }

    /// Adds a line to the journal, and waits until it is on the disk.
    pub fn add(&mut self, line: L) -> Result<()> {
        let mut text = serde_json::to_string(&line)?;
        // JSON has no infinities: what cannot be read again is not written.
        serde_json::from_str::<L>(&text).context("the results of a run are not finite")?;
        text.push('\n');
        self.write(&text).with_context(|| format!("cannot write {}", self.path.display()))?;
        self.take(line);
        Ok(())
    }

    /// Appends a line to the file, which is repaired first where it needs that.
    fn write(&mut self, text: &str) -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        match self.repair.take() {
            Some(Repair::EndLine) => file.write_all(b"\n")?,
            Some(Repair::CutTo(length)) => file.set_len(length)?,
            None => {}
        }
        file.write_all(text.as_bytes())?;
        file.sync_data()
    }
}

/// Serialises a number of a learning curve with six digits: nobody draws more.
pub fn six_digits<S: Serializer>(value: &f64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_f64(rounded(*value))
}

/// Serialises an optional number of a learning curve with six digits.
pub fn six_digits_if_any<S: Serializer>(value: &Option<f64>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    value.map(rounded).serialize(serializer)
}

/// The value with six digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::grid::tests::line;
    use crate::reproduce::grid::{GridLine, Model};

    #[test]
    fn curves_are_written_with_six_digits() {
        assert_eq!(
            [rounded(-138_298.633_951), rounded(0.160_588_781), rounded(5000.0)],
            [-138_299.0, 0.160_589, 5000.0]
        );
        assert!(rounded(f64::NAN).is_nan() && rounded(0.0) == 0.0);
    }

    #[test]
    fn what_could_not_be_read_again_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::<GridLine>::open(&folder.path().join("results.jsonl")).unwrap();
        let error = journal.add(line(Model::Full, 1, 0, f64::NEG_INFINITY)).unwrap_err();
        assert_eq!(error.to_string(), "the results of a run are not finite");
        assert!(journal.lines.is_empty() && !folder.path().join("results.jsonl").exists());
    }

    #[test]
    fn runs_come_back_and_a_torn_line_is_run_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let mut results = Journal::<GridLine>::open(&path).unwrap();
        for split in 0..3 {
            results.add(line(Model::Full, 1, split, 1.3)).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3);
        std::fs::write(&path, text.trim_end()).unwrap();
        let mut ended = Journal::<GridLine>::open(&path).unwrap();
        assert_eq!(ended.lines.len(), 3, "a whole line counts though nobody ended it");
        ended.add(line(Model::Full, 1, 3, 1.3)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 4);
        std::fs::write(&path, &text[..text.len() - 30]).unwrap();
        let mut again = Journal::<GridLine>::open(&path).unwrap();
        assert_eq!(again.lines.len(), 2);
        assert_eq!(std::fs::read_to_string(&path).unwrap().len(), text.len() - 30, "reading changes nothing");
        assert!(!again.has(&line(Model::Full, 1, 2, 0.0).key()));
        again.add(line(Model::Full, 1, 2, 1.3)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        std::fs::write(&path, format!("{text}{text}")).unwrap();
        assert_eq!(Journal::<GridLine>::open(&path).unwrap().lines.len(), 3, "of two machines' results, each run once");
        std::fs::write(&path, "what?\n").unwrap();
        assert!(format!("{:#}", Journal::<GridLine>::open(&path).unwrap_err()).contains("line 1 is not the result"));
    }
}
