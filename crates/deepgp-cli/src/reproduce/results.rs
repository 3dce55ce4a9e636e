//! `results.jsonl` and `baselines.jsonl`: a line for each finished run. Files of several machines can be joined with `cat`.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cell::{Cell, Model};

/// One finished run. Scores are in the target's units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// `kin8nm`, `protein` or `molecules`.
    pub dataset: String,
    /// Which model.
    pub model: Model,
    /// Layers before the last one.
    pub hidden: usize,
    /// The number of the split.
    pub split: u64,
    /// What seeded it.
    pub seed: u64,
    /// Mean log density of the test rows.
    pub test_log_likelihood: f64,
    /// Root mean squared error there.
    pub test_rmse: f64,
    /// Continuous ranked probability score there.
    pub test_crps: f64,
    /// The share of test rows in their central 95 % interval.
    pub test_coverage_95: f64,
    /// Of training, by the clock.
    pub seconds: f64,
    /// Of the optimiser.
    pub steps: u64,
    /// Where it was computed.
    pub device: String,
    /// All settings.
    pub settings: Value,
    /// Of deepgp.
    pub version: String,
}

/// A line that says which run it is of.
pub trait Keyed {
    /// What tells runs apart.
    type Key: PartialEq;

    /// Which run it is.
    fn key(&self) -> Self::Key;
}

impl Keyed for Line {
    type Key = Cell;

    fn key(&self) -> Cell {
        Cell { dataset: self.dataset.clone(), hidden: self.hidden, model: self.model, split: self.split }
    }
}

/// The file, open to be added to.
#[derive(Debug)]
pub struct Results<L> {
    file: File,
    /// All lines, those that were there already first. Of a run that is there twice, the first counts.
    pub lines: Vec<L>,
}

impl<L: Keyed + Serialize + DeserializeOwned> Results<L> {
    /// Opens or makes the file. What a cut left of a last line is removed.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = options.with_context(|| format!("cannot open {shown}"))?;
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(|| format!("cannot read {shown}"))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            file.set_len(whole as u64).with_context(|| format!("cannot mend {shown}"))?;
        }
        file.seek(SeekFrom::End(0))?;
        let mut results = Self { file, lines: Vec::new() };
        for (number, line) in text[..whole].lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let line: L = serde_json::from_str(line)
                .with_context(|| format!("{shown}: line {} is not the result of a run", number + 1))?;
            if !results.has(&line.key()) {
                results.lines.push(line);
            }
        }
        Ok(results)
    }

    /// Whether a run is done.
    pub fn has(&self, key: &L::Key) -> bool {
        self.lines.iter().any(|line| line.key() == *key)
    }

    /// Adds a line, and sees it to the disk.
    pub fn add(&mut self, line: L) -> Result<()> {
        let mut text = serde_json::to_string(&line)?;
        text.push('\n');
        self.file.write_all(text.as_bytes()).context("cannot write the results")?;
        self.file.sync_data().context("cannot write the results")?;
        self.lines.push(line);
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn line(model: Model, hidden: usize, split: u64, log_likelihood: f64) -> Line {
        Line {
            dataset: "kin8nm".into(),
            model,
            hidden,
            split,
            seed: split,
            test_log_likelihood: log_likelihood,
            test_rmse: 0.1 - 0.02 * log_likelihood,
            test_crps: 0.03,
            test_coverage_95: 0.95,
            seconds: 10.0 + split as f64,
            steps: 5000,
            device: "cpu".into(),
            settings: Value::Null,
            version: "0".into(),
        }
    }

    #[test]
    fn runs_come_back_and_a_torn_line_is_run_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let mut results = Results::<Line>::open(&path).unwrap();
        for split in 0..3 {
            results.add(line(Model::Full, 1, split, 1.3)).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3);
        std::fs::write(&path, &text[..text.len() - 30]).unwrap();
        let mut again = Results::<Line>::open(&path).unwrap();
        assert_eq!(again.lines.len(), 2);
        assert!(!again.has(&line(Model::Full, 1, 2, 0.0).key()));
        again.add(line(Model::Full, 1, 2, 1.3)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        std::fs::write(&path, format!("{text}{text}")).unwrap();
        assert_eq!(Results::<Line>::open(&path).unwrap().lines.len(), 3, "of two machines' results, each run once");
        std::fs::write(&path, "what?\n").unwrap();
        assert!(format!("{:#}", Results::<Line>::open(&path).unwrap_err()).contains("line 1 is not the result"));
    }
}
