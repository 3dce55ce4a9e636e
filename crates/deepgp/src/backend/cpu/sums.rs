//! Sums over rows: partial ones, one for each accumulator, and their total, in `f64` and in a fixed order.

use rayon::prelude::*;

use crate::backend::Communicator;
use crate::data::InputLayout;
use crate::error::Result;
use crate::layer::LayerSums;
use crate::model::params;
use crate::model::{DeepGp, Sites};
use crate::numeric::mat::Mat;
use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;

/// The number of entries that one thread adds up over all partial sums, while they are in its cache.
const REDUCE_AT_ONCE: usize = 4096;

/// The sums over some rows, or over all: the objective's data term, and the gradients that reach layers and likelihood.
#[derive(Debug)]
pub(super) struct Sums<T> {
    /// The gradients at each layer's `w`, `R`, `G`, inducing inputs and kernel parameters.
    pub layers: Vec<LayerSums<T>>,
    /// `∂/∂θ` in the likelihood's parameters.
    pub likelihood: Vec<f64>,
    /// The gradient in the parameters that belong to no layer.
    pub shared: Vec<f64>,
    /// The gradient at the points of learned sites, `[Q, width]` for each hidden layer; empty where there are none.
    pub points: Vec<Mat>,
    /// The gradient at the logarithms of the sites' weights, `[Q]`.
    pub log_weights: Vec<f64>,
    /// The objective's data term.
    pub data_term: f64,
    /// The number of variances that were raised to the floor.
    pub clamped: usize,
}

impl<T: Real> Sums<T> {
    /// Sums over no row, for rows in this layout.
    pub fn zeros(model: &DeepGp, first: InputLayout<'_>) -> Self {
        Self {
            layers: model
                .layers()
                .iter()
                .enumerate()
                .map(|(l, layer)| LayerSums::zeros(layer, first.of_layer(l)))
                .collect(),
            likelihood: vec![0.0; params::count(&mut *model.likelihood().clone_box())],
            shared: vec![0.0; model.shared_values().len()],
            points: (model.sites().map_or(&[][..], Sites::points).iter())
                .map(|own| Mat::zeros(own.nrows(), own.ncols()))
                .collect(),
            log_weights: vec![0.0; model.sites().map_or(0, Sites::count)],
            data_term: 0.0,
            clamped: 0,
        }
    }

    /// Sets all sums to 0.
    pub fn clear(&mut self) {
        for layer in &mut self.layers {
            let (matrices, theta) = layer.parts_mut();
            for part in matrices {
                part.fill(T::ZERO);
            }
            theta.fill(0.0);
        }
        for own in self.beside_layers_mut() {
            own.fill(0.0);
        }
        (self.data_term, self.clamped) = (0.0, 0);
    }
}

impl<T> Sums<T> {
    /// The gradients that reach no layer, all of them in `f64`: likelihood, parameters of no layer, weights and points of sites.
    fn beside_layers(&self) -> impl Iterator<Item = &[f64]> {
        let Self { likelihood, shared, points, log_weights, .. } = self;
        [&likelihood[..], shared, log_weights].into_iter().chain(points.iter().map(Mat::as_slice))
    }

    /// [`Sums::beside_layers`], to change.
    fn beside_layers_mut(&mut self) -> impl Iterator<Item = &mut [f64]> {
        let Self { likelihood, shared, points, log_weights, .. } = self;
        [&mut likelihood[..], shared, log_weights].into_iter().chain(points.iter_mut().map(Mat::as_mut_slice))
    }
}

/// Writes the total of the partial sums, added in order and in `f64`; what only a gradient needs is left out unless `gradient` is set.
pub(super) fn reduce<T: Real>(sums: &[Sums<T>], total: &mut Sums<f64>, gradient: bool) {
    total.clear();
    for sum in sums {
        total.data_term += sum.data_term;
        total.clamped += sum.clamped;
        for (to, from) in total.beside_layers_mut().zip(sum.beside_layers()) {
            for (to, from) in to.iter_mut().zip(from) {
                *to += from;
            }
        }
    }
    if !gradient {
        return;
    }
    total.layers.par_iter_mut().enumerate().for_each(|(l, total)| {
        let (into, theta) = total.parts_mut();
        for (part, into) in into.into_iter().enumerate() {
            into.par_chunks_mut(REDUCE_AT_ONCE).enumerate().for_each(|(chunk, into)| {
                for sum in sums {
                    let from = &sum.layers[l].parts()[part][chunk * REDUCE_AT_ONCE..];
                    vectorised(
                        #[inline(always)]
                        || {
                            for (to, from) in into.iter_mut().zip(from) {
                                *to += from.to_f64();
                            }
                        },
                    );
                }
            });
        }
        for sum in sums {
            for (to, from) in theta.iter_mut().zip(&sum.layers[l].kernel.theta) {
                *to += from;
            }
        }
    });
}

impl Sums<f64> {
    /// Replaces the sums over this process's rows by those over the rows of all processes, in one message: the data term and a count, and
    /// all that the gradient needs.
    pub fn over_processes(&mut self, communicator: &dyn Communicator, gradient: bool) -> Result<()> {
        if communicator.is_alone() {
            return Ok(());
        }
        let mut numbers = vec![self.data_term, self.clamped as f64];
        if gradient {
            self.visit(&mut |own| numbers.extend_from_slice(own));
        }
        communicator.sum(&mut numbers)?;
        (self.data_term, self.clamped) = (numbers[0], numbers[1] as usize);
        let mut rest = &numbers[2..];
        if gradient {
            self.visit(&mut |own| {
                let (from, after) = rest.split_at(own.len());
                own.copy_from_slice(from);
                rest = after;
            });
        }
        Ok(())
    }

    /// Shows all that a gradient is made of.
    fn visit(&mut self, see: &mut dyn FnMut(&mut [f64])) {
        self.beside_layers_mut().for_each(&mut *see);
        for layer in &mut self.layers {
            let (matrices, theta) = layer.parts_mut();
            matrices.into_iter().for_each(&mut *see);
            see(theta);
        }
    }
}
