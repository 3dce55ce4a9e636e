//! Synthetic data to time training on: normal inputs, or bits where there are many.

use anyhow::Result;
use deepgp::likelihood::Outcomes;
use deepgp::noise::{Key, Purpose};
use deepgp::{Dataset, Mat};

/// The number of columns from which on the inputs are bits, mostly zero.
pub const SPARSE_FROM: usize = 100;
/// The share of ones among the bits, as in the molecules of the paper.
pub const DENSITY: f64 = 0.09;

/// An input of a row: a normal number, or a bit where there are at least [`SPARSE_FROM`] columns.
pub fn input(key: Key, row: usize, column: usize, columns: usize) -> f64 {
    let place = [row as u32, column as u32, 0, 0];
    if columns >= SPARSE_FROM { f64::from(u8::from(key.uniform(place) < DENSITY)) } else { key.normals(place)[0] }
}

/// A dataset whose target is a sum of sines of random projections of the inputs, with a little noise.
pub fn synthetic(rows: usize, columns: usize) -> Result<Dataset> {
    let key = Key::new(1, Purpose::Simulate);
    let x = Mat::from_fn(rows, columns, |i, j| input(key, i, j, columns));
    let y = Mat::from_fn(rows, 1, |i, _| {
        let wave = |w: u32| {
            let each = x.row(i).iter().enumerate().map(|(j, v)| v * key.normals([j as u32, w, 1, 0])[0]);
            (2.0 * each.sum::<f64>() / (columns as f64).sqrt()).sin()
        };
        (0..4).map(wave).sum::<f64>() + 0.1 * key.normals([i as u32, 0, 2, 0])[0]
    });
    Ok(Dataset::new(x, y)?)
}

/// The dataset with its targets as a likelihood of these outcomes has them: as many rows of each class, or counts around 3.
pub fn observed(data: Dataset, outcomes: Outcomes) -> Result<Dataset> {
    let rows = data.len();
    let y = match outcomes {
        Outcomes::Real => return Ok(data),
        Outcomes::Classes(classes) => {
            let mut order: Vec<usize> = (0..rows).collect();
            order.sort_by(|a, b| data.y()[(*a, 0)].total_cmp(&data.y()[(*b, 0)]));
            let mut y = Mat::zeros(rows, 1);
            order.iter().enumerate().for_each(|(rank, i)| y[(*i, 0)] = (rank * classes / rows) as f64);
            y
        }
        Outcomes::Counts => data.y().map(|y: f64| (3.0 * (0.5 * y).exp()).floor()),
    };
    Ok(Dataset::new(data.x().clone(), y)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_what_the_likelihood_has() {
        let data = synthetic(100, 3).unwrap();
        let classes = observed(data.clone(), Outcomes::Classes(4)).unwrap();
        let of = |class: f64| classes.y().as_slice().iter().filter(|own| **own == class).count();
        assert_eq!([0.0, 1.0, 2.0, 3.0].map(of), [25; 4]);
        let counts = observed(data.clone(), Outcomes::Counts).unwrap();
        assert!(counts.y().as_slice().iter().all(|own| own.fract() == 0.0 && *own >= 0.0));
        assert_eq!(observed(data.clone(), Outcomes::Real).unwrap().y(), data.y());
    }
}
