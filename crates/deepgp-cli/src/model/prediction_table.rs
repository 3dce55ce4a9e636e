//! The table of predictions: its columns, and a line of text for each row.

use anyhow::{Result, bail};
use deepgp::{Mat, UserPredictor};
use deepgp_io::table::Chunk;

use crate::arguments::usage::Usage;
use crate::terminal::delimited::Delimiter;

/// The columns of a table of predictions.
#[derive(Debug)]
pub struct PredictionColumns<'a> {
    pub keep: &'a [String],
    pub targets: &'a [String],
    pub quantiles: &'a [f64],
    pub draws: usize,
    /// Whether each draw is of all rows together.
    pub joint: bool,
    /// Whether the noise differs from row to row, and so has a column of its own.
    pub noise: bool,
}

impl PredictionColumns<'_> {
    /// Fails if two columns would have the same name.
    pub fn check(&self) -> Result<()> {
        for (index, level) in self.quantiles.iter().enumerate() {
            if self.quantiles[..index].contains(level) {
                bail!(Usage(format!("--quantiles {level}: give each level once")));
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

    /// The names of the moments: the noise has one where it differs from row to row.
    fn moments(&self) -> &'static [&'static str] {
        if self.noise { &["mean", "std", "f_std", "noise_std"] } else { &["mean", "std", "f_std"] }
    }

    /// The names of the predictions: `mean,std,f_std,q0.05,…,draw1,…`, after the target's name where there are several
    /// targets.
    fn predicted(&self) -> Vec<String> {
        let mut names = Vec::new();
        for target in self.targets {
            let mut add = |name: String| {
                names.push(if self.targets.len() == 1 { name } else { format!("{target}_{name}") });
            };
            for name in self.moments() {
                add((*name).into());
            }
            for level in self.quantiles {
                add(format!("q{level}"));
            }
            for draw in 1..=self.draws {
                add(format!("draw{draw}"));
            }
        }
        names
    }

    /// The predictions for each row of `x`, a column for each name.
    pub fn predictions(&self, predictor: &UserPredictor<'_>, x: &Mat) -> Result<Mat> {
        let (levels, outputs) = (self.quantiles.len(), self.targets.len());
        let moments = predictor.moments(x.view())?;
        let quantiles =
            if levels > 0 { predictor.quantiles(x.view(), self.quantiles)? } else { Mat::zeros(x.nrows(), 0) };
        let draws = match (self.draws, self.joint && x.nrows() > 0) {
            (0, _) => Vec::new(),
            (draws, true) => predictor.joint_draws(x.view(), draws)?.y,
            (draws, false) => predictor.draws_of_y(x.view(), draws)?,
        };
        let first = self.moments().len();
        let width = first + levels + self.draws;
        Ok(Mat::from_fn(x.nrows(), outputs * width, |i, column| {
            let (p, own) = (column / width, column % width);
            match own {
                0 => moments.y.mean[(i, p)],
                1 => moments.y.variance[(i, p)].sqrt(),
                // Not every target has a function of its own.
                2 => predictor.location(p).map_or(f64::NAN, |latent| moments.f.variance[(i, latent)].sqrt()),
                3 if self.noise => moments.noise[(i, p)].sqrt(),
                _ if own < first + levels => quantiles[(i, p * levels + own - first)],
                _ => draws[own - first - levels][(i, p)],
            }
        }))
    }
}

/// The lines of a chunk of rows, the first of which has number `first`. A row that could not be used has empty cells in
/// place of predictions.
pub fn lines(chunk: &Chunk, first: u64, predictions: &Mat, delimiter: Delimiter) -> String {
    let mut kept = chunk.kept.iter().enumerate().peekable();
    let carried = chunk.carried.len() / chunk.read.max(1) as usize;
    let mut text = String::new();
    for row in 0..chunk.read as usize {
        let cells: Vec<String> = match kept.next_if(|(_, at)| **at == first + row as u64) {
            Some((i, _)) => predictions.row(i).iter().map(|v| v.to_string()).collect(),
            None => vec![String::new(); predictions.ncols()],
        };
        let beside = &chunk.carried[row * carried..(row + 1) * carried];
        text += &delimiter.line(beside.iter().chain(&cells).map(String::as_str));
    }
    text
}
