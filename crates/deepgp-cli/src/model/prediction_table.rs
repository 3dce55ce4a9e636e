//! The table of predictions: its columns, and a line of text for each row.

use anyhow::{Result, bail};
use deepgp::likelihood::Outcomes;
use deepgp::{Mat, Rows, UserPredictor};
use deepgp_io::ModelFile;
use deepgp_io::table::{CellKind, Chunk};
use serde_json::Value;

use super::labels;
use crate::arguments::usage::Usage;

/// The columns of a table of predictions.
#[derive(Debug)]
pub struct PredictionColumns<'a> {
    pub keep: &'a [String],
    pub targets: &'a [String],
    pub quantiles: &'a [f64],
    /// The levels of central intervals.
    pub intervals: &'a [f64],
    pub draws: usize,
    /// Whether each draw is of all rows together.
    pub joint: bool,
    /// What is predicted.
    pub answers: Answers,
}

/// What a model predicts, and so what is told of a row.
#[derive(Clone, Debug)]
pub enum Answers {
    /// Numbers.
    Numbers {
        /// Whether the noise differs from row to row, and so has a column of its own.
        noise: bool,
    },
    /// Classes.
    Classes {
        /// Their labels.
        labels: Vec<String>,
    },
    /// Counts.
    Counts,
}

impl Answers {
    /// What the model of a file predicts.
    pub fn of(file: &ModelFile) -> Self {
        let likelihood = file.regressor.model.likelihood();
        match likelihood.outcomes() {
            Outcomes::Real => Self::Numbers { noise: likelihood.noise_follows_inputs() },
            Outcomes::Classes(_) => Self::Classes { labels: labels::of(file) },
            Outcomes::Counts => Self::Counts,
        }
    }
}

impl PredictionColumns<'_> {
    /// Fails if two columns would have the same name, or classes are asked for quantiles or intervals.
    pub fn check(&self) -> Result<()> {
        for (flag, what, levels) in
            [("--quantiles", "quantiles", self.quantiles), ("--interval", "intervals", self.intervals)]
        {
            if let (Answers::Classes { .. }, [level, ..]) = (&self.answers, levels) {
                bail!(Usage(format!("{flag} {level}: the model predicts classes, which have no {what}: leave it out")));
            }
            for (index, level) in levels.iter().enumerate() {
                if levels[..index].contains(level) {
                    bail!(Usage(format!("{flag} {level}: give each level once")));
                }
            }
        }
        let predicted = self.predicted();
        for (index, name) in self.keep.iter().enumerate() {
            if self.keep[..index].contains(name) {
                bail!(Usage(format!("--keep {name}: give each column once")));
            }
            if predicted.contains(name) {
                bail!(Usage(format!(
                    "--keep {name}: a column of the predictions is called so, too: rename it in the table"
                )));
            }
        }
        Ok(())
    }

    /// The names of all columns: those kept from the table, then those of the predictions.
    pub fn names(&self) -> Vec<String> {
        [self.keep, &self.predicted()].concat()
    }

    /// The names of what is told of every row: moments of a number or a count, the class and its probabilities.
    fn facts(&self) -> Vec<String> {
        let moments: &[&str] = match &self.answers {
            Answers::Numbers { noise: true } => &["mean", "std", "f_std", "noise_std"],
            Answers::Numbers { noise: false } => &["mean", "std", "f_std"],
            Answers::Counts => &["mean", "std", "p_zero"],
            Answers::Classes { labels } => {
                let probabilities = labels.iter().map(|label| format!("p_{label}"));
                return ["class".to_string()].into_iter().chain(probabilities).chain(["entropy".to_string()]).collect();
            }
        };
        moments.iter().map(|name| name.to_string()).collect()
    }

    /// The names of the predictions: `mean,std,f_std,q0.05,…,lower0.9,upper0.9,…,draw1,…`, after the target's name where there are several
    /// targets.
    fn predicted(&self) -> Vec<String> {
        let mut names = Vec::new();
        for target in self.targets {
            let mut add = |name: String| {
                names.push(if self.targets.len() == 1 { name } else { format!("{target}_{name}") });
            };
            self.facts().into_iter().for_each(&mut add);
            for level in self.quantiles {
                add(format!("q{level}"));
            }
            for level in self.intervals {
                add(format!("lower{level}"));
                add(format!("upper{level}"));
            }
            for draw in 1..=self.draws {
                add(format!("draw{draw}"));
            }
        }
        names
    }

    /// The predictions for each row, a column for each name; classes by their numbers.
    pub fn predictions(&self, predictor: &UserPredictor<'_>, rows: Rows<'_>) -> Result<Mat> {
        let (x, outputs, none) = (rows.x, self.targets.len(), || Mat::zeros(rows.x.nrows(), 0));
        let facts = self.facts_of(predictor, rows)?;
        let quantiles = if self.quantiles.is_empty() { none() } else { predictor.quantiles(rows, self.quantiles)? };
        let intervals = if self.intervals.is_empty() { none() } else { predictor.intervals(rows, self.intervals)? };
        let draws = match (self.draws, self.joint && x.nrows() > 0) {
            (0, _) => Vec::new(),
            (draws, true) => predictor.joint_draws(x, draws)?.y,
            (draws, false) => predictor.draws_of_y(rows, draws)?,
        };
        // What there is of each target, one after the other.
        let [first, levels, ends] = [&facts, &quantiles, &intervals].map(|all| all.ncols() / outputs);
        let width = first + levels + ends + self.draws;
        Ok(Mat::from_fn(x.nrows(), outputs * width, |i, column| {
            let (p, own) = (column / width, column % width);
            match own {
                _ if own < first => facts[(i, p * first + own)],
                _ if own < first + levels => quantiles[(i, p * levels + own - first)],
                _ if own < first + levels + ends => intervals[(i, p * ends + own - first - levels)],
                _ => draws[own - first - levels - ends][(i, p)],
            }
        }))
    }

    /// [`PredictionColumns::predictions`] for the rows of a chunk, with their exposures.
    pub fn predictions_of(&self, predictor: &UserPredictor<'_>, chunk: &Chunk) -> Result<Mat> {
        let offsets: Option<Vec<f64>> = chunk.exposure.as_ref().map(|all| all.iter().map(|own| own.ln()).collect());
        self.predictions(predictor, Rows { x: chunk.x.view(), offsets: offsets.as_deref() })
    }

    /// The first prediction that is no finite number, after its row and the name of its column. Where a target has no function of its own, there
    /// is no spread of one to tell.
    pub fn first_non_finite(&self, predictor: &UserPredictor<'_>, predictions: &Mat) -> Option<(usize, String, f64)> {
        let width = predictions.ncols() / self.targets.len().max(1);
        let may_be_none = |column: usize| match &self.answers {
            Answers::Numbers { .. } => column % width == 2 && predictor.location(column / width).is_none(),
            Answers::Classes { .. } | Answers::Counts => false,
        };
        let (row, column) = (0..predictions.nrows()).find_map(|row| {
            let odd = |(column, value): (usize, &f64)| !value.is_finite() && !may_be_none(column);
            Some((row, predictions.row(row).iter().enumerate().position(odd)?))
        })?;
        Some((row, self.predicted().swap_remove(column), predictions[(row, column)]))
    }

    /// What is told of every row, in the order of the names: target after target.
    fn facts_of(&self, predictor: &UserPredictor<'_>, rows: Rows<'_>) -> Result<Mat> {
        let (count, facts) = (rows.x.nrows(), self.facts().len());
        if let Answers::Classes { labels } = &self.answers {
            let p = predictor.class_probabilities(rows)?;
            return Ok(Mat::from_fn(count, facts, |i, column| match column.checked_sub(1) {
                None => most_probable(p.row(i)) as f64,
                Some(class) if class < labels.len() => p[(i, class)],
                Some(_) => entropy(p.row(i)),
            }));
        }
        let moments = predictor.moments(rows)?;
        let zero = match &self.answers {
            Answers::Counts => predictor.cumulative(rows, Mat::zeros(count, 1).view())?,
            Answers::Numbers { .. } | Answers::Classes { .. } => Mat::zeros(0, 0),
        };
        Ok(Mat::from_fn(count, self.targets.len() * facts, |i, column| {
            let (p, own) = (column / facts, column % facts);
            match (own, &self.answers) {
                (0, _) => moments.y.mean[(i, p)],
                (1, _) => moments.y.variance[(i, p)].sqrt(),
                (_, Answers::Counts) => zero[(i, p)],
                // Not every target has a function of its own.
                (2, _) => predictor.location(p).map_or(f64::NAN, |latent| moments.f.variance[(i, latent)].sqrt()),
                _ => moments.noise[(i, p)].sqrt(),
            }
        }))
    }

    /// Whether a column of the predictions has labels of classes: the class that is predicted, and draws of it.
    fn is_label(&self, column: usize) -> bool {
        match &self.answers {
            Answers::Classes { .. } => column == 0 || column >= self.facts().len(),
            Answers::Numbers { .. } | Answers::Counts => false,
        }
    }

    /// The text of a prediction in a column: a number, or the label of a class.
    fn text(&self, column: usize, value: f64) -> String {
        match &self.answers {
            Answers::Classes { labels } if self.is_label(column) => {
                labels.get(value as usize).cloned().unwrap_or_default()
            }
            Answers::Numbers { .. } | Answers::Counts | Answers::Classes { .. } => value.to_string(),
        }
    }

    /// A prediction in a column as JSON: a number, or the label of a class; `null` where a target has no function of its own.
    pub fn json(&self, column: usize, value: f64) -> Value {
        if self.is_label(column) { self.text(column, value).into() } else { value.into() }
    }

    /// What each column holds, with its name: what is kept from the table is written as it is.
    pub fn kinds(&self) -> Vec<(String, CellKind)> {
        let kept = self.keep.iter().map(|name| (name.clone(), CellKind::Text));
        let predicted = self.predicted().into_iter().enumerate();
        let kind = |column: usize| if self.is_label(column) { CellKind::Text } else { CellKind::Number };
        kept.chain(predicted.map(|(column, name)| (name, kind(column)))).collect()
    }

    /// The cells of a chunk of rows, the first of which has number `first`, row by row. A row that could not be used has empty cells in place of
    /// predictions.
    pub fn cells(&self, chunk: &Chunk, first: u64, predictions: &Mat) -> Vec<Vec<String>> {
        let mut kept = chunk.kept.iter().enumerate().peekable();
        let carried = chunk.carried.len() / chunk.read.max(1) as usize;
        let mut rows = Vec::with_capacity(chunk.read as usize);
        for row in 0..chunk.read as usize {
            let cells: Vec<String> = match kept.next_if(|(_, at)| **at == first + row as u64) {
                Some((i, _)) => {
                    predictions.row(i).iter().enumerate().map(|(column, v)| self.text(column, *v)).collect()
                }
                None => vec![String::new(); predictions.ncols()],
            };
            let beside = &chunk.carried[row * carried..(row + 1) * carried];
            rows.push([beside, &cells].concat());
        }
        rows
    }
}

/// The most probable class; the lowest one of several.
fn most_probable(probabilities: &[f64]) -> usize {
    (1..probabilities.len())
        .fold(0, |best, class| if probabilities[class] > probabilities[best] { class } else { best })
}

/// The entropy `−Σ p ln p`, in nats: 0 where one class is certain.
fn entropy(probabilities: &[f64]) -> f64 {
    let each = probabilities.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln());
    each.sum::<f64>().max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_greatest_where_classes_are_equally_likely() {
        assert_eq!((entropy(&[1.0, 0.0]), entropy(&[0.5, 0.5])), (0.0, 2f64.ln()));
        assert_eq!((most_probable(&[0.2, 0.5, 0.3]), most_probable(&[0.5, 0.5])), (1, 0));
    }

    #[test]
    fn classes_have_their_labels_and_probabilities() {
        let (labels, targets) = (["no".to_string(), "yes".to_string()], ["y".to_string()]);
        let answers = Answers::Classes { labels: labels.into() };
        let (quantiles, intervals) = (&[][..], &[][..]);
        let columns =
            PredictionColumns { keep: &[], targets: &targets, quantiles, intervals, draws: 1, joint: false, answers };
        assert_eq!(columns.names(), ["class", "p_no", "p_yes", "entropy", "draw1"]);
        let chunk = Chunk {
            x: Mat::zeros(1, 1),
            y: None,
            exposure: None,
            first: 3,
            kept: vec![4],
            read: 2,
            carried: Vec::new(),
        };
        let predictions = Mat::from_vec(1, 5, vec![1.0, 0.25, 0.75, 0.5, 0.0]).unwrap();
        let rows = columns.cells(&chunk, 4, &predictions);
        assert_eq!(rows[0], ["yes", "0.25", "0.75", "0.5", "no"]);
        assert_eq!(rows[1], [""; 5]);
        let texts: Vec<bool> = columns.kinds().iter().map(|(_, kind)| *kind == CellKind::Text).collect();
        assert_eq!(texts, [true, false, false, false, true]);
    }
}
