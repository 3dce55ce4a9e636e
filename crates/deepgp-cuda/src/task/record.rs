//! What a step leaves behind on the device, and how the host reads it.

use super::DeviceTask;
use crate::arrays::{divergences, record_length};
use crate::device::real::Real;
use crate::fault::Outcome;

/// What came of one step.
#[derive(Clone, Debug)]
pub struct Record {
    pub data_term: f64,
    /// Variances that were raised to the floor.
    pub clamped: usize,
    /// Whether everything was finite and every matrix could be factored.
    pub good: bool,
    /// What the factorisations said, in the order of layers: 0, or the first bad pivot, from 1.
    pub infos: Vec<i32>,
    /// The KL of each layer.
    pub kl: Vec<f64>,
}

impl<T: Real> DeviceTask<T> {
    /// What the last `count` steps left behind.
    pub fn records(&self, count: usize) -> Outcome<Vec<Record>> {
        let (length, factors) = (record_length(&self.blueprint), self.arrays.infos.len());
        let mut numbers = vec![0.0; count * length];
        self.main().download(self.arrays.records, &mut numbers)?;
        let record = |own: &[f64]| Record {
            data_term: own[0],
            clamped: own[1] as usize,
            good: own[2] != 0.0,
            infos: own[3..3 + factors].iter().map(|v| *v as i32).collect(),
            kl: self.layer_divergences(&own[3 + factors..]),
        };
        Ok(numbers.chunks_exact(length).map(record).collect())
    }

    /// Adds up the parts of each layer's KL.
    pub fn layer_divergences(&self, mut parts: &[f64]) -> Vec<f64> {
        let mut sums = Vec::new();
        for layer in &self.blueprint.layers {
            let (own, rest) = parts.split_at(divergences(layer));
            sums.push(own.iter().sum());
            parts = rest;
        }
        sums
    }
}
