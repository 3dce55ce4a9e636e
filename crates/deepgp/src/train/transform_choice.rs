//! The transform that [`TransformChoice::Auto`] takes for each target: the one under which a simple regression predicts best, if one is
//! clearly better than none.
//!
//! Training several deep models to find out would take as many times as long, so nearest neighbours stand in for them: each of up to 2000
//! training rows is predicted by the ten nearest of the others, as a Gaussian of the transformed target `z` with the neighbours' mean `m` and
//! a variance between theirs and that of all residuals,
//!
//! ```text
//! v = κ (10 s_near² + 2 s²) / 12        s² = ⟨(z − m)²⟩        κ so that ⟨(z − m)² / v⟩ = 1
//! ```
//!
//! A transform is taken if, in the user's units, the log density of the rows is greater by a margin and by several standard errors of the
//! differences, and the CRPS is smaller too: the density alone could be gained from a few values that many rows have.

use crate::data::{Dataset, FEWEST_VALUES, Standardiser, TargetTransform, TransformChoice, distinct_values};
use crate::error::Result;
use crate::numeric::mat::Mat;
use crate::numeric::threads::Threads;
use crate::predict::neighbours::averages;
use crate::predict::transformed::crps_of_gaussian;
use crate::random::noise::{Key, Purpose};

/// The transforms that are tried, the simplest first.
const TRIED: [TransformChoice; 4] =
    [TransformChoice::Log, TransformChoice::Log1p, TransformChoice::YeoJohnson, TransformChoice::Quantile];
/// The number of neighbours that predict a row.
const NEIGHBOURS: usize = 10;
/// The weight of the spread of all residuals beside that of the neighbours, in rows.
const PRIOR_ROWS: f64 = 2.0;
/// The most rows among which neighbours are searched for.
const MOST_ROWS: usize = 20_000;
/// The most rows that are predicted.
const MOST_PREDICTED: usize = 2_000;
/// The most rows that transforms are fitted to: of more, so many at random say as much.
pub(super) const MOST_FITTED: usize = 200_000;
/// The least number of rows that can tell transforms apart.
const FEWEST_ROWS: usize = 100;
/// The least gain in mean log density for which a target is transformed.
const LEAST_GAIN: f64 = 0.25;
/// The least gain in standard errors.
const STANDARD_ERRORS: f64 = 3.0;
/// The largest CRPS, as a share of that without a transform.
const LARGEST_CRPS: f64 = 0.98;
/// The gain by which a transform must be better than a simpler one.
const WORTH_MORE: f64 = 0.02;

/// What [`TransformChoice::Auto`] found out about one target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TransformFinding {
    /// A transform is clearly better than none, and was taken.
    Better {
        /// The transform.
        transform: TransformChoice,
        /// The mean log density that nearest neighbours gain by it.
        gain: f64,
        /// The standard error of the gain.
        error: f64,
    },
    /// No transform is clearly better than none.
    NoneBetter,
    /// The target has too few distinct values for densities to tell transforms apart.
    FewValues {
        /// The number of distinct values.
        distinct: usize,
    },
    /// There are too few rows to tell transforms apart.
    FewRows {
        /// The number of rows.
        rows: usize,
    },
}

/// How well nearest neighbours predict under one transform: log density and CRPS of each row, in the user's units.
struct Trial {
    log_density: Vec<f64>,
    crps: Vec<f64>,
}

/// The transform of each target of these rows, which are in the user's units, and what was found out about it. Without transforms they are
/// standardised by `plain`; `fetch` gives some of them with their inputs, which `rows` need not have. `smallest` is the smallest value of each target
/// among all rows, of which `rows` may be a sample.
pub(super) fn choose(
    rows: &Dataset,
    smallest: &[f64],
    plain: &Standardiser,
    fetch: &dyn Fn(&[u32]) -> Result<Dataset>,
    threads: &Threads,
) -> Result<Vec<(TargetTransform, TransformFinding)>> {
    let targets = rows.y().ncols();
    let column = |p: usize| -> Vec<f64> { (0..rows.len()).map(|i| rows.y()[(i, p)]).collect() };
    if rows.len() < FEWEST_ROWS {
        let found = TransformFinding::FewRows { rows: rows.len() };
        return Ok(vec![(TargetTransform::Identity, found); targets]);
    }
    let distinct: Vec<usize> = (0..targets).map(|p| distinct_values(&column(p), |_| 1.0)).collect();
    if distinct.iter().all(|own| *own < FEWEST_VALUES) {
        let found = |distinct| (TargetTransform::Identity, TransformFinding::FewValues { distinct });
        return Ok(distinct.into_iter().map(found).collect());
    }
    // Every transform for every target that can have it.
    let possible = |choice: TransformChoice, p: usize| distinct[p] >= FEWEST_VALUES && choice.contains(smallest[p]);
    let fitted: Vec<Vec<Option<TargetTransform>>> = TRIED
        .iter()
        .map(|choice| {
            let fit = |p: usize| choice.fit_column(p, &column(p), rows.weights()).ok();
            (0..targets).map(|p| possible(*choice, p).then(|| fit(p)).flatten()).collect()
        })
        .collect();
    let mut units = vec![plain.clone()];
    for each in &fitted {
        let each = each.iter().map(|own| own.clone().unwrap_or_default()).collect();
        units.push(plain.clone().with_transforms(rows, each)?);
    }
    let mut some = Key::new(0, Purpose::Split).permutation(rows.len(), 4);
    some.truncate(MOST_ROWS);
    let some = fetch(&some)?;
    let trials = threads.run(|| try_all(&some, &units))?;
    let found = |p: usize| {
        if distinct[p] < FEWEST_VALUES {
            return (TargetTransform::Identity, TransformFinding::FewValues { distinct: distinct[p] });
        }
        let tried = fitted.iter().zip(&trials[1..]).filter_map(|(own, trial)| Some((own[p].as_ref()?, &trial[p])));
        let best = tried.filter_map(|(own, trial)| Some((own, gain(&trials[0][p], trial)?)));
        let better = best.reduce(|best, own| if own.1.0 > best.1.0 + WORTH_MORE { own } else { best });
        match better {
            None => (TargetTransform::Identity, TransformFinding::NoneBetter),
            Some((own, (gain, error))) => {
                (own.clone(), TransformFinding::Better { transform: own.choice(), gain, error })
            }
        }
    };
    Ok((0..targets).map(found).collect())
}

/// The smallest value of each target.
pub(super) fn smallest(y: &Mat) -> Vec<f64> {
    let mut all = vec![f64::INFINITY; y.ncols()];
    (0..y.nrows()).for_each(|i| all.iter_mut().zip(y.row(i)).for_each(|(least, v)| *least = least.min(*v)));
    all
}

/// The mean gain in log density of `own` over `plain` and its standard error, if it is clear and the CRPS is smaller.
fn gain(plain: &Trial, own: &Trial) -> Option<(f64, f64)> {
    let differences: Vec<f64> = own.log_density.iter().zip(&plain.log_density).map(|(a, b)| a - b).collect();
    let gain = mean(&differences);
    let spread = mean(&differences.iter().map(|d| (d - gain).powi(2)).collect::<Vec<_>>());
    let error = (spread / differences.len() as f64).sqrt();
    let clear = gain >= LEAST_GAIN && gain >= STANDARD_ERRORS * error;
    (clear && mean(&own.crps) <= LARGEST_CRPS * mean(&plain.crps)).then_some((gain, error))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A trial for each of `units` and each target: some of these rows, which are in random order, each predicted by the nearest of the others.
fn try_all(rows: &Dataset, units: &[Standardiser]) -> Result<Vec<Vec<Trial>>> {
    // All transformed targets side by side with their squares, so that neighbours are searched for once.
    let z: Vec<Mat> = units.iter().map(|own| own.targets(rows.y().view())).collect::<Result<_>>()?;
    let targets = rows.y().ncols();
    let moments = Mat::from_fn(rows.len(), 2 * units.len() * targets, |i, j| {
        let (trial, p) = (j / 2 / targets, j / 2 % targets);
        z[trial][(i, p)].powi(1 + (j % 2) as i32)
    });
    let inputs = units[0].x.apply("x", rows.x().view())?;
    let known = Dataset::new(inputs, moments)?;
    let mut predicted = Key::new(0, Purpose::Split).permutation(rows.len(), 5);
    predicted.truncate(MOST_PREDICTED);
    let near = averages(&known, known.x().gather(&predicted).view(), Some(&predicted), NEIGHBOURS);
    let trial = |t: usize, p: usize| {
        let column = 2 * (t * targets + p);
        let part = |i: usize| (z[t][(predicted[i] as usize, p)], near[(i, column)], near[(i, column + 1)]);
        let residuals: Vec<f64> = (0..predicted.len()).map(part).map(|(z, m, _)| (z - m).powi(2)).collect();
        let overall = mean(&residuals).max(f64::MIN_POSITIVE);
        let count = NEIGHBOURS as f64;
        let mut variance: Vec<f64> = (0..predicted.len())
            .map(part)
            .map(|(_, m, square)| (count * (square - m * m).max(0.0) + PRIOR_ROWS * overall) / (count + PRIOR_ROWS))
            .collect();
        let factor = mean(&residuals.iter().zip(&variance).map(|(r, v)| r / v).collect::<Vec<_>>());
        variance.iter_mut().for_each(|v| *v *= factor);
        let mut own = Trial { log_density: Vec::new(), crps: Vec::new() };
        for (i, v) in variance.iter().enumerate() {
            let (y, (z, m, _)) = (rows.y()[(predicted[i] as usize, p)], part(i));
            let density = -0.5 * ((std::f64::consts::TAU * v).ln() + (z - m).powi(2) / v);
            own.log_density.push(density + units[t].log_slope(p, y));
            own.crps.push(crps_of_gaussian(&units[t], p, (m, *v), y));
        }
        own
    };
    Ok((0..units.len()).map(|t| (0..targets).map(|p| trial(t, p)).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::ConstantColumns;
    use crate::testing::uniform;

    /// Four targets of the same inputs: a log-normal, a Gaussian, one of few values, and one that is log-normal but for its sign.
    fn data(rows: usize) -> Dataset {
        let (x, key) = (uniform(rows, 2, 1), Key::new(3, Purpose::Simulate));
        let y = Mat::from_fn(rows, 4, |i, p| {
            let f = (3.0 * x[(i, 0)]).sin() + x[(i, 1)] + 0.5 * key.normals([i as u32, p as u32, 0, 0])[0];
            match p {
                0 => (1.5 * f).exp(),
                1 => f,
                2 => (2.0 * f).round(),
                _ => -(1.5 * f).exp(),
            }
        });
        Dataset::new(x, y).unwrap()
    }

    fn chosen(data: &Dataset, threads: usize) -> Vec<(TargetTransform, TransformFinding)> {
        let plain = Standardiser::fit(data, ConstantColumns::Keep).unwrap();
        choose(data, &smallest(data.y()), &plain, &|rows| data.gather(rows), &Threads::new(threads).unwrap()).unwrap()
    }

    #[test]
    fn a_transform_is_taken_where_it_is_clearly_better() {
        let found = chosen(&data(900), 1);
        assert_eq!(found[0].0, TargetTransform::Log, "{:?}", found[0].1);
        let TransformFinding::Better { transform: TransformChoice::Log, gain, error } = found[0].1 else {
            panic!("{:?}", found[0].1)
        };
        assert!(gain > 0.3 && gain > 5.0 * error, "{gain} {error}");
        assert_eq!(found[1], (TargetTransform::Identity, TransformFinding::NoneBetter));
        let TransformFinding::FewValues { distinct } = found[2].1 else { panic!("{:?}", found[2].1) };
        assert!(distinct < 30 && found[2].0 == TargetTransform::Identity);
        // No logarithm there, but Yeo and Johnson's transform or normal scores bend downwards just as well.
        assert!(matches!(found[3].1, TransformFinding::Better { .. }), "{:?}", found[3].1);
    }

    #[test]
    fn the_choice_does_not_depend_on_threads_and_needs_some_rows() {
        let (data, few) = (data(300), data(60));
        let on = |threads: usize| chosen(&data, threads);
        assert_eq!(on(1), on(2));
        let found = chosen(&few, 1);
        assert!(found.iter().all(|own| own.1 == TransformFinding::FewRows { rows: 60 }));
    }
}
