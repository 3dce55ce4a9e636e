//! Other programs' models on the splits of this experiment: nearest neighbours, boosted trees, GPyTorch's deep Gaussian processes.

use serde::{Deserialize, Serialize};

use crate::reproduce::runs::journal::Keyed;
use crate::reproduce::runs::test_scores::TestScores;

/// The score of another program's model on one split: a line of `peers.jsonl`, which such a program writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerLine {
    /// The dataset's name, such as `kin8nm`.
    pub dataset: String,
    /// The model's name, such as `k-NN mixture`.
    pub model: String,
    /// The number of the split.
    pub split: u64,
    /// The scores on the split's test rows.
    #[serde(flatten)]
    pub scores: TestScores,
    /// Seconds of training, if the program took them.
    #[serde(default)]
    pub seconds: Option<f64>,
}

impl Keyed for PeerLine {
    type Key = (String, String, u64);

    fn key(&self) -> Self::Key {
        (self.dataset.clone(), self.model.clone(), self.split)
    }
}

/// The names of the models that a dataset has lines of, in the order of their first line.
pub fn models<'a>(lines: &'a [PeerLine], dataset: &str) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for line in lines.iter().filter(|line| line.dataset == dataset) {
        if !names.contains(&line.model.as_str()) {
            names.push(&line.model);
        }
    }
    names
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A score of another program's model on kin8nm.
    pub fn line(model: &str, split: u64, log_likelihood: f64) -> PeerLine {
        let scores =
            TestScores { test_log_likelihood: log_likelihood, test_rmse: 0.2, test_crps: 0.1, test_coverage_95: 0.9 };
        PeerLine { dataset: "kin8nm".into(), model: model.into(), split, scores, seconds: None }
    }

    #[test]
    fn a_line_of_another_program_needs_no_more_than_scores() {
        let text = r#"{"dataset":"kin8nm","model":"trees","split":1,"test_log_likelihood":0.5,"test_rmse":0.2,
                       "test_crps":0.1,"test_coverage_95":0.9,"something":"else"}"#;
        let read: PeerLine = serde_json::from_str(text).unwrap();
        assert_eq!(read, line("trees", 1, 0.5));
        assert_eq!(models(&[line("b", 0, 1.0), line("a", 0, 1.0), line("b", 1, 1.0)], "kin8nm"), ["b", "a"]);
    }
}
