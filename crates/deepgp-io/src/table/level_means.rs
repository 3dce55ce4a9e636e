//! Categories of very many levels, each as the mean of the targets of its rows.
//!
//! A category of hundreds of levels would be hundreds of inputs, each with a lengthscale to learn from a few rows. What a level says about the
//! target is one number: the mean of the target over the level's rows, drawn towards the mean `μ` of all rows by as much as few rows
//! leave in doubt,
//!
//! ```text
//! v(l) = (Σ_{i in l} w_i y_i + m μ) / (Σ_{i in l} w_i + m),     m = σ² / τ²,
//! ```
//!
//! with `σ²` the variance of targets within levels and `τ²` that of levels' means. Such a number knows the target of its row, and a
//! model that is trained on it would trust it too much. So the training rows are dealt into folds, and each takes the number that the
//! other folds give; rows that come later take the number of all training rows. A level that was not seen is `μ`.
//!
//! There is one number for each target, and of classes one for each but the first: its share of the rows. Cost: a pass over the rows.

use deepgp::{Dataset, Mat, Result, Stratify};
use serde::{Deserialize, Serialize};

use super::{Kind, Schema, TargetKind};

/// The number of folds that training rows are dealt into.
const FOLDS: usize = 5;

/// What each level says about the targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelMeans {
    /// A row for each level, a number for each target or class but the first.
    pub(super) values: Vec<Vec<f64>>,
    /// The same for a level that is not known.
    pub(super) unknown: Vec<f64>,
}

impl LevelMeans {
    /// How many numbers there are for each level.
    pub fn width(&self) -> usize {
        self.unknown.len()
    }

    /// The numbers of a level, by its position; those of an unknown one beyond the last.
    pub(super) fn of(&self, level: usize) -> &[f64] {
        self.values.get(level).unwrap_or(&self.unknown)
    }

    /// The means over some rows: the level and the weight of each, and what is averaged, `[N, W]`.
    fn new(
        levels: usize,
        of_row: &[usize],
        weights: &[f64],
        y: &Mat,
        rows: impl Iterator<Item = usize> + Clone,
    ) -> Self {
        let columns: Vec<(Vec<f64>, f64)> = (0..y.ncols())
            .map(|c| column_means(levels, rows.clone().map(|i| (of_row[i], weights[i], y[(i, c)]))))
            .collect();
        let values = (0..levels).map(|level| columns.iter().map(|(means, _)| means[level]).collect()).collect();
        Self { values, unknown: columns.iter().map(|(_, mean)| *mean).collect() }
    }
}

/// The drawn mean of each level, and the mean of all rows.
fn column_means(levels: usize, rows: impl Iterator<Item = (usize, f64, f64)> + Clone) -> (Vec<f64>, f64) {
    let (mut weight, mut sum) = (vec![0.0; levels], vec![0.0; levels]);
    let (mut all_weight, mut all_sum) = (0.0, 0.0);
    for (level, w, y) in rows.clone() {
        (all_weight, all_sum) = (all_weight + w, all_sum + w * y);
        if level < levels {
            weight[level] += w;
            sum[level] += w * y;
        }
    }
    let mean = if all_weight > 0.0 { all_sum / all_weight } else { 0.0 };
    let of_level = |level: usize| if weight[level] > 0.0 { sum[level] / weight[level] } else { mean };
    // The analysis of variance with one factor: of what lies between levels, some is the scatter within them.
    let (mut within, mut between, mut squares, mut known) = (0.0, 0.0, 0.0, 0.0);
    for (level, w, y) in rows.filter(|(level, ..)| *level < levels) {
        within += w * (y - of_level(level)).powi(2);
        known += w;
    }
    for level in 0..levels {
        between += weight[level] * (of_level(level) - mean).powi(2);
        squares += weight[level].powi(2);
    }
    let seen = weight.iter().filter(|weight| **weight > 0.0).count() as f64;
    let variance = if known > seen { within / (known - seen) } else { 0.0 };
    let size = if known > 0.0 { known - squares / known } else { 0.0 };
    let spread = if size > 0.0 { (between - (seen - 1.0) * variance) / size } else { 0.0 };
    let draw = |level: usize| {
        if weight[level] == 0.0 || spread <= 0.0 {
            return mean;
        }
        let prior = variance / spread;
        (sum[level] + prior * mean) / (weight[level] + prior)
    };
    ((0..levels).map(draw).collect(), mean)
}

/// Rows to train on, and others, whose levels have become numbers.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The schema, which knows what levels say about the targets.
    pub schema: Schema,
    /// The training rows, each with what the others say of its levels.
    pub train: Dataset,
    /// The other rows, with what the training rows say of their levels.
    pub others: Option<Dataset>,
}

impl Schema {
    /// Whether inputs have so many levels that these become numbers with the training rows.
    pub fn has_many_levels(&self) -> bool {
        self.inputs.iter().any(|column| matches!(column.kind, Kind::ManyLevels { .. }))
    }

    /// The same columns, with levels as positions: as they were before the training rows were known.
    pub fn unsettled(&self) -> Self {
        let mut schema = self.clone();
        for column in &mut schema.inputs {
            if let Kind::ManyLevels { means, .. } = &mut column.kind {
                *means = None;
            }
        }
        schema
    }

    /// Puts what levels say about the targets in place of their positions. `train` are the rows to learn from, encoded by this schema, which is
    /// an unsettled one. The same rows and seed give the same numbers. Fails if the rows are not of this schema.
    pub fn settle(&self, train: Dataset, others: Option<Dataset>, seed: u64) -> Result<Settled> {
        if !self.has_many_levels() {
            return Ok(Settled { schema: self.clone(), train, others });
        }
        let y = self.averaged(&train);
        let weights = train.weights().map_or_else(|| vec![1.0; train.len()], <[f64]>::to_vec);
        let fold_of = folds(&train, seed)?;
        let mut schema = self.clone();
        let (mut of_train, mut of_others) = (Vec::new(), Vec::new());
        let mut at = 0;
        for column in &mut schema.inputs {
            let width = column.width();
            if let Kind::ManyLevels { levels, means } = &mut column.kind {
                let codes: Vec<usize> = (0..train.len()).map(|i| train.x()[(i, at)] as usize).collect();
                let of_folds: Vec<LevelMeans> = (0..FOLDS)
                    .map(|fold| {
                        let rest = (0..train.len()).filter(|i| fold_of[*i] != fold);
                        LevelMeans::new(levels.len(), &codes, &weights, &y, rest)
                    })
                    .collect();
                let all = LevelMeans::new(levels.len(), &codes, &weights, &y, 0..train.len());
                of_train.push((at, codes, of_folds));
                of_others.push((at, all.clone()));
                *means = Some(all);
            }
            at += width;
        }
        let train = replaced(&train, &of_train.iter().map(|(at, ..)| *at).collect::<Vec<_>>(), |i, column| {
            let (_, codes, of_folds) = &of_train[column];
            of_folds[fold_of[i]].of(codes[i])
        })?;
        let others = others.map(|rows| {
            let columns: Vec<usize> = of_others.iter().map(|(at, _)| *at).collect();
            replaced(&rows, &columns, |i, column| of_others[column].1.of(rows.x()[(i, columns[column])] as usize))
        });
        Ok(Settled { schema, train, others: others.transpose()? })
    }

    /// What is averaged over the rows of a level, `[N, W]`: targets; shares of classes, but for the first; counts for each unit of exposure.
    fn averaged(&self, train: &Dataset) -> Mat {
        let y = train.y();
        match &self.target_kind {
            TargetKind::Numbers => y.clone(),
            TargetKind::Classes { labels } => {
                let is = |i: usize, class: usize| f64::from(u8::from(y[(i, 0)] == class as f64));
                Mat::from_fn(train.len(), labels.len() - 1, |i, class| is(i, class + 1))
            }
            TargetKind::Counts => {
                let exposure = |i: usize| train.offsets().map_or(1.0, |offsets| offsets[i].exp());
                Mat::from_fn(train.len(), 1, |i, _| y[(i, 0)] / exposure(i))
            }
        }
    }
}

/// The fold of each row; groups stay together where rows have some.
fn folds(train: &Dataset, seed: u64) -> Result<Vec<usize>> {
    let mut fold_of = vec![0; train.len()];
    let dealt = match train.folds(FOLDS.min(train.len()), Stratify::Rows, seed) {
        Ok(folds) => folds,
        // Neither the order of time nor fewer groups than folds keep rows from being dealt out one by one.
        Err(_) if train.len() >= 2 => {
            let rows = Dataset::new(train.x().clone(), train.y().clone())?;
            rows.folds(FOLDS.min(train.len()), Stratify::Rows, seed)?
        }
        Err(error) => return Err(error),
    };
    for (fold, (_, held_out)) in dealt.iter().enumerate() {
        held_out.iter().for_each(|row| fold_of[*row as usize] = fold);
    }
    Ok(fold_of)
}

/// The rows with some columns of their inputs replaced by several numbers each; `numbers` gives those of a row and the how-manieth column.
fn replaced<'a>(rows: &Dataset, columns: &[usize], numbers: impl Fn(usize, usize) -> &'a [f64]) -> Result<Dataset> {
    let mut x = Vec::new();
    for i in 0..rows.len() {
        let mut next = 0;
        for (at, value) in rows.x().row(i).iter().enumerate() {
            if columns.get(next) == Some(&at) {
                x.extend_from_slice(numbers(i, next));
                next += 1;
            } else {
                x.push(*value);
            }
        }
    }
    let width = x.len() / rows.len();
    let x = Mat::from_vec(rows.len(), width, x).expect("every row gets as many numbers");
    rows.with_inputs(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::InputColumn;

    fn schema(target_kind: TargetKind) -> Schema {
        let levels = ["a", "b", "c"].map(String::from).into();
        let many = InputColumn::new("place", Kind::ManyLevels { levels, means: None });
        let inputs = vec![
            InputColumn::new("x", Kind::Number { fill: None }),
            many,
            InputColumn::new("z", Kind::Number { fill: None }),
        ];
        Schema { inputs, targets: vec!["y".into()], target_kind, ..Schema::default() }
    }

    /// Rows `(level, target)`, with numbers before and behind the level that say which row it is.
    fn rows(cells: &[(usize, f64)]) -> Dataset {
        let x = Mat::from_fn(cells.len(), 3, |i, j| if j == 1 { cells[i].0 as f64 } else { (10 * i + j) as f64 });
        Dataset::new(x, Mat::from_fn(cells.len(), 1, |i, _| cells[i].1)).unwrap()
    }

    #[test]
    fn a_level_is_the_mean_of_its_targets_drawn_towards_that_of_all() {
        let far: Vec<(usize, f64)> =
            (0..300).map(|i| (i % 3, [0.0, 10.0, 20.0][i % 3] + (i % 7) as f64 / 7.0)).collect();
        let settled = schema(TargetKind::Numbers).settle(rows(&far), Some(rows(&[(2, 0.0), (3, 0.0)])), 1).unwrap();
        let others = settled.others.unwrap();
        let mean = far.iter().map(|(_, y)| y).sum::<f64>() / 300.0;
        let own = far.iter().filter(|(level, _)| *level == 2).map(|(_, y)| y).sum::<f64>() / 100.0;
        let value = others.x()[(0, 1)];
        assert!((value - own).abs() < 0.01 && value < own, "levels that differ much are drawn little: {value}, {own}");
        assert!((others.x()[(1, 1)] - mean).abs() < 1e-12, "an unknown level is the mean of all");
        // What is beside the level stays where it was.
        assert_eq!((others.x()[(1, 0)], others.x()[(1, 2)]), (10.0, 12.0));
        // Levels that say nothing are all alike.
        let noise: Vec<(usize, f64)> = (0..300).map(|i| (i % 3, ((i * 37) % 101) as f64)).collect();
        let settled = schema(TargetKind::Numbers).settle(rows(&noise), Some(rows(&[(0, 0.0), (1, 0.0)])), 1).unwrap();
        let others = settled.others.unwrap();
        assert!((others.x()[(0, 1)] - others.x()[(1, 1)]).abs() < 3.0, "{:?}", others.x());
    }

    #[test]
    fn no_row_knows_its_own_target() {
        let base: Vec<(usize, f64)> = (0..60).map(|i| (i % 3, (i % 3) as f64 * 5.0 + (i % 5) as f64)).collect();
        let train = |cells: &[(usize, f64)]| schema(TargetKind::Numbers).settle(rows(cells), None, 7).unwrap().train;
        let before = train(&base);
        for row in [0, 17, 59] {
            let mut changed = base.clone();
            changed[row].1 += 1000.0;
            let after = train(&changed);
            assert_eq!(before.x()[(row, 1)], after.x()[(row, 1)], "row {row}");
            assert!((0..60).any(|i| before.x()[(i, 1)] != after.x()[(i, 1)]), "others of its level learn from it");
        }
        assert_eq!(train(&base), before, "the same rows and seed, the same numbers");
    }

    #[test]
    fn classes_have_a_share_each_but_the_first_and_schemas_go_back() {
        let labels = ["no", "perhaps", "yes"].map(String::from).into();
        let cells: Vec<(usize, f64)> =
            (0..90).map(|i| (i % 3, if i % 4 == 0 { 0.0 } else { (i % 3) as f64 })).collect();
        let schema = schema(TargetKind::Classes { labels });
        let settled = schema.settle(rows(&cells), None, 0).unwrap();
        assert_eq!(settled.train.x().ncols(), 4);
        assert_eq!(settled.schema.width(), 4);
        assert_eq!(settled.schema.feature_names(), ["x", "place (perhaps)", "place (yes)", "z"]);
        let Kind::ManyLevels { means: Some(means), .. } = &settled.schema.inputs[1].kind else { panic!("no means") };
        assert!(means.of(1)[0] > 0.6 && means.of(1)[1] < 0.1 && means.of(0)[0] < 0.1, "{means:?}");
        assert_eq!(settled.schema.unsettled(), schema);
    }
}
