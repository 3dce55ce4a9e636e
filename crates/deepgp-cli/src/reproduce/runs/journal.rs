//! Journals of experiments, `results.jsonl` and the like: a line for each finished run. Files of several machines can be joined
//! with `cat`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};

/// A line that says which run it is of.
pub trait Keyed {
    /// What tells runs apart.
    type Key: PartialEq;

    /// Which run it is.
    fn key(&self) -> Self::Key;
}

/// The file and what is in it. It is made with the first line that is added, and is not touched before.
#[derive(Debug)]
pub struct Journal<L> {
    path: PathBuf,
    /// All lines, those that were there already first. Of a run that is there twice, the first counts.
    pub lines: Vec<L>,
    /// What to do before a line is added.
    repair: Option<Repair>,
}

/// What is wrong with the end of a file.
#[derive(Clone, Copy, Debug)]
enum Repair {
    /// The last line is whole, but not ended.
    EndLine,
    /// A cut left a piece of a line after so many bytes.
    CutTo(u64),
}

impl<L: Keyed + Serialize + DeserializeOwned> Journal<L> {
    /// Reads the file, if there is one. A piece of a last line that a cut left does not count.
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

    fn take(&mut self, line: L) {
        if !self.has(&line.key()) {
            self.lines.push(line);
        }
    }

    /// Whether a run is done.
    pub fn has(&self, key: &L::Key) -> bool {
        self.find(key).is_some()
    }

    /// What there is of a run.
    pub fn find(&self, key: &L::Key) -> Option<&L> {
        self.lines.iter().find(|line| line.key() == *key)
    }

    /// Adds a line, and sees it to the disk.
    pub fn add(&mut self, line: L) -> Result<()> {
        let mut text = serde_json::to_string(&line)?;
        // JSON has no infinities: what cannot be read again is not written.
        serde_json::from_str::<L>(&text).context("the results of a run are not finite")?;
        text.push('\n');
        self.write(&text).with_context(|| format!("cannot write {}", self.path.display()))?;
        self.take(line);
        Ok(())
    }

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

/// Writes a number of a curve, which needs no more than six digits.
pub fn six_digits<S: Serializer>(value: &f64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_f64(rounded(*value))
}

/// The same where there may be none.
pub fn six_digits_if_any<S: Serializer>(value: &Option<f64>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    value.map(rounded).serialize(serializer)
}

fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::grid::tests::line;
    use crate::reproduce::grid::{Line, Model};

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
        let mut journal = Journal::<Line>::open(&folder.path().join("results.jsonl")).unwrap();
        let error = journal.add(line(Model::Full, 1, 0, f64::NEG_INFINITY)).unwrap_err();
        assert_eq!(error.to_string(), "the results of a run are not finite");
        assert!(journal.lines.is_empty() && !folder.path().join("results.jsonl").exists());
    }

    #[test]
    fn runs_come_back_and_a_torn_line_is_run_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let mut results = Journal::<Line>::open(&path).unwrap();
        for split in 0..3 {
            results.add(line(Model::Full, 1, split, 1.3)).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3);
        std::fs::write(&path, text.trim_end()).unwrap();
        let mut ended = Journal::<Line>::open(&path).unwrap();
        assert_eq!(ended.lines.len(), 3, "a whole line counts though nobody ended it");
        ended.add(line(Model::Full, 1, 3, 1.3)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 4);
        std::fs::write(&path, &text[..text.len() - 30]).unwrap();
        let mut again = Journal::<Line>::open(&path).unwrap();
        assert_eq!(again.lines.len(), 2);
        assert_eq!(std::fs::read_to_string(&path).unwrap().len(), text.len() - 30, "reading changes nothing");
        assert!(!again.has(&line(Model::Full, 1, 2, 0.0).key()));
        again.add(line(Model::Full, 1, 2, 1.3)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        std::fs::write(&path, format!("{text}{text}")).unwrap();
        assert_eq!(Journal::<Line>::open(&path).unwrap().lines.len(), 3, "of two machines' results, each run once");
        std::fs::write(&path, "what?\n").unwrap();
        assert!(format!("{:#}", Journal::<Line>::open(&path).unwrap_err()).contains("line 1 is not the result"));
    }
}
