//! [`Trend`]: a line in some inputs that is taken off the targets before the model sees them, and put back on what it predicts.
//!
//! Far from its training rows a Gaussian process returns to its mean. Where the mean is zero, a series that has grown for years falls back to its
//! average soon after its last row. With a line in its dates as the mean it goes on as the line does, and the model learns what is left:
//!
//! ```text
//! z = T(y)        z_n ≈ α + Σ_d β_d x_nd        β = argmin Σ_n ω_n (z_n − α − x_n β)² + s² |β|²        y_n = (z_n − shift − Σ_{d ∈ D} β_d x_nd) / scale
//! ```
//!
//! over all standardised inputs `x`, of which those in `D` are kept; `s²` is the variance of `z`, so that the ridge weighs as much as one row. The line is part of the change of units, and so is
//! of every prediction. It has no uncertainty of its own: a fit of thousands of rows knows it well, and held-out rows that are the last make up for
//! the rest ([`Spread`](crate::Spread)).

use crate::data::{ConstantColumns, Dataset, Scaling, SplitBy, Standardiser};
use crate::error::{Error, Result};
use crate::likelihood::{Likelihood, TargetUnits};
use crate::numeric::linalg::{Cholesky, NotPositive, times};
use crate::numeric::mat::{Mat, View};
use crate::numeric::scratch::Scratch;

/// The shares of the rows after which one looks ahead, to see whether a line helps, and the share of them that is then predicted.
const MOMENTS: [f64; 4] = [0.5, 0.6, 0.7, 0.8];
const AHEAD: f64 = 0.2;
/// The least number of rows that can tell.
const FEWEST_ROWS: usize = 50;
/// The largest mean squared error ahead, as a share of that without the line.
const LARGEST_ERROR: f64 = 0.9;
/// With more inputs than these, the line is fitted without those that it is not made of.
const MOST_INPUTS: usize = 500;

/// Whether targets follow inputs along a line, before a model learns the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum TrendChoice {
    /// They do not: far from the training rows, predictions return to the mean of the targets.
    #[default]
    None,
    /// They follow a line in some columns of the inputs.
    Linear,
    /// They follow a line in some columns of the inputs, if rows are split by time ([`SplitBy::Times`]), and if by the line what comes later is predicted
    /// better than without it, from each of several moments in the training rows.
    Auto,
}

/// A line in some inputs for each target.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Trend {
    /// The slopes of each target in each input, both in the model's units: as many as there are inputs, for each target.
    pub slopes: Vec<Vec<f64>>,
    /// Mean and standard deviation of each target as it is, for scores in such units.
    pub original: Scaling,
}

impl Trend {
    /// Whether this trend can be one of so many inputs and targets: finite slopes for each, and units to shift and scale by.
    pub fn fits(&self, inputs: usize, targets: usize) -> bool {
        let Scaling { shift, scale } = &self.original;
        let lengths = [self.slopes.len(), shift.len(), scale.len()];
        let slopes = self.slopes.iter().all(|own| own.len() == inputs && own.iter().all(|v| v.is_finite()));
        let units = shift.iter().all(|v| v.is_finite()) && scale.iter().all(|v| v.is_finite() && *v > 0.0);
        lengths.iter().all(|len| *len == targets) && slopes && units
    }

    /// The line of target `p` at a row in the model's units, `Σ_d β_dp x_d`.
    pub fn at(&self, p: usize, x: &[f64]) -> f64 {
        self.slopes[p].iter().zip(x).map(|(slope, x)| slope * x).sum()
    }
}

impl Standardiser {
    /// The standardiser with a line in these columns as `choice` has it, which is learnt from `data` in the user's units; the scale of the targets is then
    /// that of what is left. Nothing changes where there is no line, or where targets scatter around no latent function of the likelihood and the
    /// choice is `Auto`.
    pub(crate) fn with_trend(
        self,
        data: &Dataset,
        (choice, columns): (TrendChoice, &[usize]),
        likelihood: &dyn Likelihood,
    ) -> Result<Self> {
        let certain = match choice {
            TrendChoice::None => return Ok(self),
            TrendChoice::Linear => true,
            TrendChoice::Auto => false,
        };
        let of_function = |p: usize| likelihood.location(p).is_some();
        let possible = likelihood.target_units() == TargetUnits::Standardised && (0..data.y().ncols()).all(of_function);
        if columns.is_empty() || (!possible && !certain) {
            return Ok(self);
        }
        if !possible {
            let requirement = "`none` for a likelihood whose targets are not numbers around a function";
            return Err(Error::Setting { name: "trend", value: "linear".into(), requirement });
        }
        if let Some(column) = columns.iter().find(|column| **column >= data.x().ncols()) {
            let requirement = "columns of the inputs";
            return Err(Error::Setting { name: "trend", value: column.to_string(), requirement });
        }
        let (x, z) = (self.x.apply("x", data.x().view())?, self.targets(data.y().view())?);
        let targets = z.ncols();
        let taken: Vec<bool> = match certain {
            true => vec![true; targets],
            false => helps(data, &x, &z, columns)?,
        };
        if taken.iter().all(|own| !own) {
            return Ok(self);
        }
        let all: Vec<usize> = if x.ncols() > MOST_INPUTS { columns.to_vec() } else { (0..x.ncols()).collect() };
        let line = Line::fit(&x, &z, data.weights(), &all)?;
        let mut slopes = vec![vec![0.0; x.ncols()]; targets];
        for (p, own) in slopes.iter_mut().enumerate().filter(|(p, _)| taken[*p]) {
            columns.iter().for_each(|d| own[*d] = line.slopes[(*d, p)]);
        }
        let mut trend = Trend { slopes, original: self.original().clone() };
        let left = Mat::from_fn(z.nrows(), targets, |i, p| z[(i, p)] - trend.at(p, x.row(i)));
        // What is left of a line without noise is nothing to standardise by.
        let Ok(rest) = Scaling::fit("y", left.view(), data.weights(), ConstantColumns::Reject) else { return Ok(self) };
        let mut y = self.y.clone();
        for p in 0..targets {
            y.shift[p] = self.y.shift[p] + rest.shift[p] * self.y.scale[p];
            y.scale[p] = rest.scale[p] * self.y.scale[p];
            trend.slopes[p].iter_mut().for_each(|slope| *slope /= rest.scale[p]);
        }
        Ok(Self { y, trend: Some(trend), ..self })
    }

    /// Targets in the model's units less their trend at inputs in the model's units.
    pub(super) fn without_trend(&self, x: View<'_>, mut y: Mat) -> Mat {
        if let Some(trend) = &self.trend {
            for i in 0..y.nrows() {
                for (p, v) in y.row_mut(i).iter_mut().enumerate() {
                    *v -= trend.at(p, x.row(i));
                }
            }
        }
        y
    }

    /// The trend of target `p` at a row in the model's units; 0 if there is none.
    pub(crate) fn trend_at(&self, p: usize, x: &[f64]) -> f64 {
        self.trend.as_ref().map_or(0.0, |trend| trend.at(p, x))
    }
}

/// For each target, whether a line in these columns beside the other inputs predicts what comes later better than the other inputs alone, from
/// whichever moment of several one looks ahead: what held once may have been chance, or have ended.
fn helps(data: &Dataset, x: &Mat, z: &Mat, columns: &[usize]) -> Result<Vec<bool>> {
    let (rows, targets) = (x.nrows(), z.ncols());
    let Some(SplitBy::Times(times)) = data.split_by() else { return Ok(vec![false; targets]) };
    if rows < FEWEST_ROWS {
        return Ok(vec![false; targets]);
    }
    let mut order: Vec<u32> = (0..rows as u32).collect();
    order.sort_by(|a, b| times[*a as usize].total_cmp(&times[*b as usize]).then(a.cmp(b)));
    let others: Vec<usize> = match x.ncols() > MOST_INPUTS {
        true => Vec::new(),
        false => (0..x.ncols()).filter(|d| !columns.contains(d)).collect(),
    };
    let both = [&others[..], columns].concat();
    let mut better = vec![true; targets];
    for moment in MOMENTS {
        let at = |share: f64| ((share * rows as f64) as usize).min(rows);
        let (before, later) = (&order[..at(moment)], &order[at(moment)..at(moment + AHEAD)]);
        let weights_of =
            |some: &[u32]| data.weights().map(|all| some.iter().map(|i| all[*i as usize]).collect::<Vec<_>>());
        let (own, weights) = ((x.gather(before), z.gather(before)), weights_of(before));
        let (test, test_weights) = ((x.gather(later), z.gather(later)), weights_of(later));
        let error = |inputs: &[usize]| -> Result<Vec<f64>> {
            let line = Line::fit(&own.0, &own.1, weights.as_deref(), inputs)?;
            let weight = |i: usize| test_weights.as_ref().map_or(1.0, |all| all[i]);
            let of = |p: usize| {
                (0..later.len()).map(|i| weight(i) * (test.1[(i, p)] - line.at(p, test.0.row(i))).powi(2)).sum::<f64>()
            };
            Ok((0..targets).map(of).collect())
        };
        let errors = error(&both)?.into_iter().zip(error(&others)?);
        better.iter_mut().zip(errors).for_each(|(own, (with, without))| *own &= with < LARGEST_ERROR * without);
    }
    Ok(better)
}

/// A line through rows, `z = α + x β`.
struct Line {
    /// `β`, `[D, P]`; 0 for inputs that it was not fitted to.
    slopes: Mat,
    /// `α`.
    constants: Vec<f64>,
}

impl Line {
    /// The line in some of the inputs, with a ridge that weighs as much as one row.
    fn fit(x: &Mat, z: &Mat, weights: Option<&[f64]>, inputs: &[usize]) -> Result<Self> {
        let (n, targets) = (x.nrows(), z.ncols());
        let heaviest = weights.map_or(1.0, |all| all.iter().copied().fold(f64::MIN_POSITIVE, f64::max));
        let weight = |i: usize| weights.map_or(1.0, |all| all[i] / heaviest);
        let total: f64 = (0..n).map(weight).sum();
        let mean = |column: &dyn Fn(usize) -> f64| (0..n).map(|i| weight(i) * column(i)).sum::<f64>() / total;
        let x_means: Vec<f64> = inputs.iter().map(|d| mean(&|i| x[(i, *d)])).collect();
        let z_means: Vec<f64> = (0..targets).map(|p| mean(&|i| z[(i, p)])).collect();
        let mut slopes = Mat::zeros(x.ncols(), targets);
        if !inputs.is_empty() {
            let scratch = &mut Scratch::default();
            let own = Mat::from_fn(n, inputs.len(), |i, j| weight(i).sqrt() * (x[(i, inputs[j])] - x_means[j]));
            let left = Mat::from_fn(n, targets, |i, p| weight(i).sqrt() * (z[(i, p)] - z_means[p]));
            let mut scatter = times(own.view().faer().transpose(), own.view().faer(), scratch);
            (0..inputs.len()).for_each(|j| scatter[(j, j)] += 1.0);
            let factor = Cholesky::new(&scatter, scratch)
                .map_err(|NotPositive { .. }| Error::Overflow { what: "the trend".into() })?;
            let r = factor.into_inverse_lower(scratch);
            let projected = times(own.view().faer().transpose(), left.view().faer(), scratch);
            let half = times(r.view().faer(), projected.view().faer(), scratch);
            let found = times(r.view().faer().transpose(), half.view().faer(), scratch);
            for (j, d) in inputs.iter().enumerate() {
                slopes.row_mut(*d).copy_from_slice(found.row(j));
            }
        }
        let at_mean = |p: usize| inputs.iter().zip(&x_means).map(|(d, mean)| slopes[(*d, p)] * mean).sum::<f64>();
        let constants = (0..targets).map(|p| z_means[p] - at_mean(p)).collect();
        Ok(Self { slopes, constants })
    }

    /// The line of target `p` at a row.
    fn at(&self, p: usize, x: &[f64]) -> f64 {
        self.constants[p] + x.iter().enumerate().map(|(d, x)| self.slopes[(d, p)] * x).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::{Gaussian, LikelihoodForm};
    use crate::testing::uniform;

    /// Times, a wave and noise: a target that grows, one that does not, each with an effect of an input that is no time.
    fn data() -> Dataset {
        let e = uniform(300, 3, 1);
        let x = Mat::from_fn(300, 3, |i, d| match d {
            0 => 1e9 + 86_400.0 * i as f64,
            1 => (0.3 * i as f64).sin(),
            _ => e[(i, 2)],
        });
        let y = Mat::from_fn(300, 2, |i, p| {
            let line = if p == 0 { 0.05 * i as f64 } else { 0.0 };
            40.0 + line + 3.0 * e[(i, 2)] + e[(i, p)]
        });
        let times = (0..300).map(f64::from).collect();
        Dataset::new(x, y).unwrap().with_split_by(SplitBy::Times(times)).unwrap()
    }

    fn fitted(data: &Dataset, choice: TrendChoice, columns: &[usize]) -> Standardiser {
        let plain = Standardiser::fit(data, ConstantColumns::Reject).unwrap();
        plain.with_trend(data, (choice, columns), &Gaussian::new(0.1, 2)).unwrap()
    }

    #[test]
    fn a_line_is_found_beside_other_inputs_where_it_helps() {
        let data = data();
        let units = fitted(&data, TrendChoice::Auto, &[0, 1]);
        let trend = units.trend.as_ref().unwrap();
        assert!(trend.slopes[1].iter().all(|slope| *slope == 0.0), "{trend:?}");
        // In the user's units; the input that is no time is left to the model.
        let slope = trend.slopes[0][0] * units.y.scale[0] / units.x.scale[0] * 86_400.0;
        assert!((slope - 0.05).abs() < 1e-3 && trend.slopes[0][2] == 0.0, "{slope} {trend:?}");
        // What is left is standardised, and the units before are kept.
        let rows = units.apply(&data).unwrap();
        for p in 0..2 {
            let mean = (0..300).map(|i| rows.y()[(i, p)]).sum::<f64>() / 300.0;
            let variance = (0..300).map(|i| rows.y()[(i, p)].powi(2)).sum::<f64>() / 300.0;
            assert!(mean.abs() < 1e-9 && (variance - 1.0).abs() < 1e-9, "{p}: {mean} {variance}");
        }
        let plain = Standardiser::fit(&data, ConstantColumns::Reject).unwrap();
        assert_eq!(units.original(), &plain.y);
        assert!(units.y.scale[0] < 0.6 * plain.y.scale[0] && trend.fits(3, 2) && !trend.fits(2, 2));
        // Back again.
        for i in [0, 150, 299] {
            let value = rows.y()[(i, 0)] + units.trend_at(0, rows.x().row(i));
            assert!((units.target(0, value) - data.y()[(i, 0)]).abs() < 1e-9);
        }
    }

    #[test]
    fn without_times_or_evidence_nothing_changes() {
        let data = data();
        let plain = Standardiser::fit(&data, ConstantColumns::Reject).unwrap();
        for (choice, columns) in [(TrendChoice::None, &[0][..]), (TrendChoice::Auto, &[]), (TrendChoice::Auto, &[1])] {
            assert_eq!(fitted(&data, choice, columns), plain, "{choice:?}");
        }
        // Rows that are split at random are predicted between others.
        let at_random = Dataset::new(data.x().clone(), data.y().clone()).unwrap();
        assert!(fitted(&at_random, TrendChoice::Auto, &[0]).trend.is_none());
        // What grew for a while, and then fell.
        let mut y = data.y().clone();
        (210..300).for_each(|i| y.row_mut(i)[0] -= 0.15 * (i - 210) as f64);
        let turned = Dataset::new(data.x().clone(), y).unwrap();
        let turned = turned.with_split_by(data.split_by().unwrap().clone()).unwrap();
        assert!(fitted(&turned, TrendChoice::Auto, &[0]).trend.is_none());
        let few = data.gather(&(0..40).collect::<Vec<_>>()).unwrap();
        assert!(fitted(&few, TrendChoice::Auto, &[0]).trend.is_none());
        assert!(fitted(&few, TrendChoice::Linear, &[0]).trend.is_some());
    }

    #[test]
    fn a_line_needs_numbers_and_columns_that_are_there() {
        let data = data();
        let told = |column: usize, likelihood: LikelihoodForm| {
            let plain = Standardiser::fit(&data, ConstantColumns::Reject).unwrap();
            plain.with_trend(&data, (TrendChoice::Linear, &[column]), &*likelihood.start(2)).unwrap_err().to_string()
        };
        assert!(told(7, LikelihoodForm::GAUSSIAN).contains("columns of the inputs"));
        assert!(told(0, LikelihoodForm::Poisson).contains("not numbers"));
    }

    #[test]
    fn a_row_of_weight_two_is_as_good_as_two_rows() {
        let data = data();
        let some: Vec<u32> = (0..120).collect();
        let once = data.gather(&some).unwrap().with_weights((0..120).map(|i| 1.0 + f64::from(i < 50)).collect());
        let twice = data.gather(&some.iter().copied().chain(0..50).collect::<Vec<_>>()).unwrap();
        let slope = |data: &Dataset| fitted(data, TrendChoice::Linear, &[0]).trend.unwrap().slopes[0][0];
        // The ridge weighs as much as the heaviest row.
        assert!((slope(&once.unwrap()) / slope(&twice) - 1.0).abs() < 0.02);
    }
}
