//! Learned sites: in place of random samples of the hidden layers, a few points that are trained (deep sigma point processes, Jankowiak et
//! al. 2020).
//!
//! ```text
//! h_s = μ(x) + ξ_s ∘ σ(x)        p(y | x) = Σ_s ω_s p(y | h_s)        ω = softmax(logits)
//! ```
//!
//! Site `s` has a point `ξ_s` in every hidden layer, `[Q, width]`, the same for all rows, and one weight `ω_s`. What a model with sites
//! predicts is this mixture of `Q` parts: no sampling, and `Q` passes where a hundred samples take a hundred.

use super::DeepGp;
use super::params::{Constraint, Leaf, Parameters};
use crate::error::{Error, Result};
use crate::likelihood::log_sum_exp;
use crate::numeric::mat::Mat;
use crate::random::noise::{Key, Purpose, fill_row};

/// The points and weights of a model's sites.
#[derive(Clone, Debug, PartialEq)]
pub struct Sites {
    /// The points `ξ`, `[Q, width]` for each hidden layer, in units of its deviations.
    points: Vec<Mat>,
    /// The logarithms of the weights, up to a constant, `[Q]`.
    logits: Vec<f64>,
    /// The names of the points in the list of parameters, so that none is put together at every step.
    names: Vec<String>,
}

impl Sites {
    /// The number of sites that is usual.
    pub const USUAL: usize = 8;

    /// Sites at these points, `[Q, width]` for each hidden layer, and with these logits. Fails unless there are as many of each, and one.
    pub fn new(points: Vec<Mat>, logits: Vec<f64>) -> Result<Self> {
        let fits = !logits.is_empty() && !points.is_empty() && points.iter().all(|own| own.nrows() == logits.len());
        if !fits {
            return Err(Error::Shape {
                what: "sites",
                expected: format!("a matrix of {} rows for each hidden layer, and a hidden layer", logits.len().max(1)),
                found: format!("{:?}", points.iter().map(|own| (own.nrows(), own.ncols())).collect::<Vec<_>>()),
            });
        }
        let names = (0..points.len()).map(|layer| format!("points.{layer}")).collect();
        Ok(Self { points, logits, names })
    }

    /// `count` sites of equal weight at points drawn from the standard normal, for hidden layers of these widths.
    pub fn draw(count: usize, widths: &[usize], seed: u64) -> Result<Self> {
        let key = Key::new(seed, Purpose::Sites);
        let points = widths.iter().enumerate().map(|(layer, &width)| {
            let mut own = Mat::zeros(count, width);
            for s in 0..count {
                fill_row(key, [s as u32, layer as u32, 0, 0], own.row_mut(s));
            }
            own
        });
        Self::new(points.collect(), vec![0.0; count])
    }

    /// The number of sites, `Q`.
    pub fn count(&self) -> usize {
        self.logits.len()
    }

    /// The points `ξ`, `[Q, width]` for each hidden layer.
    pub fn points(&self) -> &[Mat] {
        &self.points
    }

    /// The logarithms of the weights, `log ω_s`.
    pub fn log_weights(&self) -> Vec<f64> {
        let total = log_sum_exp(&self.logits);
        self.logits.iter().map(|own| own - total).collect()
    }

    /// The gradient at the logits from that at the logarithms of the weights: `λ_s − ω_s Σ_t λ_t`.
    pub(crate) fn logits_pullback(&self, log_weights_bar: &[f64], logits_bar: &mut [f64]) {
        let total: f64 = log_weights_bar.iter().sum();
        for ((to, own), log_weight) in logits_bar.iter_mut().zip(log_weights_bar).zip(self.log_weights()) {
            *to = own - log_weight.exp() * total;
        }
    }
}

impl Parameters for Sites {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        for (own, name) in self.points.iter_mut().zip(&self.names) {
            let shape = &[own.nrows(), own.ncols()];
            leaf(Leaf { name, constraint: Constraint::Real, shape, values: own.as_mut_slice() });
        }
        let shape = &[self.logits.len()];
        leaf(Leaf { name: "logits", constraint: Constraint::Real, shape, values: &mut self.logits });
    }
}

impl DeepGp {
    /// The same model with learned sites in place of samples, or without any. Fails unless there are points for every hidden layer, as wide
    /// as it.
    pub fn with_sites(mut self, sites: Option<Sites>) -> Result<Self> {
        if let Some(sites) = &sites {
            let hidden = &self.layers()[..self.layers().len() - 1];
            let expected: Vec<usize> = hidden.iter().map(|layer| layer.output_width()).collect();
            let found: Vec<usize> = sites.points.iter().map(Mat::ncols).collect();
            if found != expected {
                return Err(Error::Shape {
                    what: "sites",
                    expected: format!("points of the hidden layers' widths {expected:?}"),
                    found: format!("{found:?}"),
                });
            }
        }
        self.sites = sites;
        self.check_values()?;
        Ok(self)
    }

    /// The learned sites, if the model has any in place of samples.
    pub fn sites(&self) -> Option<&Sites> {
        self.sites.as_ref()
    }

    /// The number of samples of the hidden layers that a row really has where so many are asked for: as many as there are sites.
    pub fn samples(&self, asked: usize) -> usize {
        self.sites.as_ref().map_or(asked, Sites::count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_slope;

    #[test]
    fn weights_sum_to_one_and_their_pullback_is_the_slope() {
        let at = |logits: &[f64]| Sites::new(vec![Mat::zeros(3, 2)], logits.to_vec()).unwrap();
        let sites = at(&[700.0, 701.0, 699.5]);
        assert!((sites.log_weights().iter().map(|w| w.exp()).sum::<f64>() - 1.0).abs() < 1e-12);
        let (bars, mut gradient) = ([0.3, -1.0, 2.0], [0.0; 3]);
        sites.logits_pullback(&bars, &mut gradient);
        let column = |v: &[f64]| Mat::column(v.to_vec());
        assert_slope("logits", &column(&sites.logits), &column(&gradient), 1e-7, |logits| {
            at(logits.as_slice()).log_weights().iter().zip(bars).map(|(w, bar)| w * bar).sum()
        });
    }

    #[test]
    fn sites_without_a_hidden_layer_or_of_unequal_numbers_are_refused() {
        assert!(Sites::draw(4, &[], 1).is_err() && Sites::draw(0, &[3], 1).is_err());
        assert!(Sites::new(vec![Mat::zeros(3, 2), Mat::zeros(4, 2)], vec![0.0; 3]).is_err());
        assert_eq!(Sites::draw(4, &[3, 2], 1).unwrap().points()[1].ncols(), 2);
    }
}
