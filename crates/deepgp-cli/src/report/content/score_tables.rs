//! Scores of classes and counts, as tables of texts.

use deepgp_io::{ModelFile, Record};

use crate::model::{class_score, count_score, labels};
use crate::report::PlainTable;
use crate::terminal::text::count;

/// How to read the scores of classes.
const OF_CLASSES: &str = "Log loss: mean of −ln of the probability that the true class was given, lower is better. Accuracy: the share of rows \
                          whose most probable class is the true one. Brier: mean squared distance of the probabilities from the truth, lower \
                          is better. Calibration error: how far stated probabilities are from the shares of rows that they come true in; \
                          lower is better. AUC, of two classes: the chance that a row of the second one is given a higher probability of it \
                          than a row of the first; higher is better.";
/// How to read the scores of counts.
const OF_COUNTS: &str = "Log score: mean logarithm of the probability of the true count, higher is better. Deviance, RMSE and MAE: errors, lower is \
                         better. The share of rows inside 50, 90 and 95 % intervals should be at least its heading: counts jump, so that \
                         such intervals hold more.";

/// The tables of the test scores in a model file where targets are classes or counts; empty where they are numbers, or nothing was scored.
pub fn score_tables(file: &ModelFile) -> Vec<PlainTable> {
    let Record { class_scores, count_scores, test_rows, .. } = &file.record;
    let title = || format!("On {} that training never saw", count(*test_rows, "row"));
    let mut all = Vec::new();
    if !class_scores.is_empty() {
        all.push(PlainTable { title: title(), cells: class_score::cells(class_scores), caption: OF_CLASSES.into() });
        let confusion = class_score::confusion_cells(class_scores, &labels::of(file));
        all.extend(confusion.map(|cells| PlainTable {
            title: "What the model takes rows for".into(),
            cells,
            caption: "Rows of each class, by the class that is most probable to the model. Good: large numbers on the diagonal alone.".into(),
        }));
    }
    if !count_scores.is_empty() {
        all.push(PlainTable { title: title(), cells: count_score::cells(count_scores), caption: OF_COUNTS.into() });
    }
    all
}
