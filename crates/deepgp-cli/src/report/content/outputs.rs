//! The predictions on the scored rows, target by target.

use anyhow::Result;
use deepgp::{Mat, PredictSettings};
use deepgp_io::ModelFile;

use super::densities::densities;
use super::noise::noise;
use crate::model::device;
use crate::model::score::Scored;
use crate::report::{self, Interval, Output};

/// The predictions on the scored rows, target by target. Two quantiles cost more than all scores of a row: they are
/// taken for the rows that are drawn with them.
pub fn outputs(file: &ModelFile, scored: &Scored, settings: PredictSettings) -> Result<Vec<Output>> {
    let predictor = file.regressor.predictor(settings).map_err(device::explain)?;
    let drawn = report::rows_with_interval(scored.rows());
    let ends = predictor.quantiles(inputs_of(scored, &drawn).view(), &[0.025, 0.975])?;
    let interval =
        |i: usize, p: usize| Interval { row: drawn[i], lower: ends[(i, 2 * p)], upper: ends[(i, 2 * p + 1)] };
    let mut noise = noise(file, scored, &predictor)?.into_iter();
    let each = file.schema.targets.iter().enumerate();
    let output = |(p, name): (usize, &String)| {
        Ok(Output {
            name: name.clone(),
            y: column(scored.data.y(), p),
            mean: column(&scored.model.mean, p),
            intervals_95: (0..drawn.len()).map(|i| interval(i, p)).collect(),
            pit: column(&scored.model.pit, p),
            deviation: column(&scored.model.deviation, p),
            noise: noise.next(),
            densities: densities(scored, &predictor, p)?,
        })
    };
    each.map(output).collect()
}

/// The inputs of some of the scored rows.
pub(super) fn inputs_of(scored: &Scored, rows: &[usize]) -> Mat {
    let x = scored.data.x();
    Mat::from_fn(rows.len(), x.ncols(), |i, d| x[(rows[i], d)])
}

/// A column of a matrix.
pub(super) fn column(m: &Mat, p: usize) -> Vec<f64> {
    (0..m.nrows()).map(|i| m[(i, p)]).collect()
}
