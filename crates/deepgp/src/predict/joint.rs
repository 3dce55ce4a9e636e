//! Prediction at many rows jointly: the covariance of `f` between rows, and draws of whole functions.
//!
//! Where [`Predictor::moments`] treats each row by itself, here a hidden layer is sampled jointly over all rows,
//! `f_p = μ_p + chol(Σ_p) ε`, so that a draw is one function seen at `N` places. The first layer's covariance is the same for
//! every sample and is factored once (learned sites are not drawn, and need no factor: there `f_p = μ_p + ξ_p σ_p`); each further hidden layer costs `N³/3` flops an output and a sample, and memory
//! is `P · N²` numbers: hence [`JOINT_ROWS`].

use rayon::prelude::*;

use crate::backend::cpu::chain::Chain;
use crate::data::check_finite;
use crate::error::{Error, Matrix, Result};
use crate::layer::{Factored, LayerRows, NotFactored, Want, factor_with_jitter};
use crate::model::Sites;
use crate::numeric::linalg::{Accumulate, Cholesky, product};
use crate::numeric::mat::{Mat, View};
use crate::numeric::scratch::Scratch;
use crate::predict::{Predictor, within_reach};
use crate::random::noise::{Key, Purpose, fill_row};
use crate::settings::Draws;

/// The largest number of rows that can be taken jointly.
pub const JOINT_ROWS: usize = 2000;

/// Independent samples in place of a balanced one: joint moments have as many as before there were balanced ones.
const INSTEAD_OF_BALANCED: usize = 3;

/// The jitter on every joint covariance before it is factored, relative to the prior's variance: about what rounding leaves of a
/// difference of two kernel matrices.
const JITTER: f64 = 1e-10;

/// Mean and covariance of `f` over all rows.
#[derive(Clone, Debug, PartialEq)]
pub struct JointMoments {
    /// The mean at each row, `[N, P]`.
    pub mean: Mat,
    /// The covariance between rows, `[N, N]`, one for each output.
    pub covariance: Vec<Mat>,
}

/// Draws of whole functions, `[N, P]` each.
#[derive(Clone, Debug, PartialEq)]
pub struct JointDraws {
    /// Draws of the function.
    pub f: Vec<Mat>,
    /// Draws of observations of the function, with noise of their own at each row.
    pub y: Vec<Mat>,
}

/// The moments of a layer over all rows, given one joint sample of the layers before it.
struct LayerJoint {
    /// The mean at each row, `[N, P]`.
    mean: Mat,
    /// The covariance between rows, `[N, N]`, one for each output.
    covariance: Vec<Mat>,
    /// The prior's variance, averaged over rows.
    prior: f64,
}

impl Predictor<'_> {
    /// Mean and covariance of `f` over up to [`JOINT_ROWS`] rows, from samples of the hidden layers (exact if there are none; independent ones, three
    /// for each of the predictor's if those are balanced) or from its sites: `m = Σ_s ω_s m_s` and `C = Σ_s ω_s (C_s + (m_s − m)(m_s − m)ᵀ)` for each output, with `ω_s = 1/S` or a
    /// site's weight.
    pub fn joint_moments(&self, x: View<'_>) -> Result<JointMoments> {
        self.check_joint(x)?;
        let p = self.model.latent_width();
        let worth = match self.settings.draws {
            Draws::Balanced => INSTEAD_OF_BALANCED,
            Draws::Independent => 1,
        };
        let samples = self.model.mixture_size(self.settings.samples.saturating_mul(worth));
        let weight = |s: usize| self.weights.as_ref().map_or(1.0 / samples as f64, |all| all[s]);
        let mut means = Vec::new();
        let mut covariance = vec![Mat::zeros(x.nrows(), x.nrows()); p];
        let each: Vec<usize> = (0..samples).collect();
        self.each_path(x, &each, |s, last| {
            for (total, own) in covariance.iter_mut().zip(&last.covariance) {
                total.add_scaled(weight(s), own);
            }
            means.push(last.mean.clone());
            Ok(())
        })?;
        let mut mean = Mat::zeros(x.nrows(), p);
        for (s, own) in means.iter().enumerate() {
            mean.add_scaled(weight(s), own);
        }
        // Plus the spread of the means over samples.
        for (o, total) in covariance.iter_mut().enumerate() {
            let spread = Mat::from_fn(samples, x.nrows(), |s, i| means[s][(i, o)] - mean[(i, o)]);
            // In units of `1/S`, so that equal weights are exactly 1.
            let relative = |s: usize| self.weights.as_ref().map_or(1.0, |all| all[s] * samples as f64);
            let weighted = Mat::from_fn(samples, x.nrows(), |s, i| relative(s) * spread[(s, i)]);
            let (weighted, spread) = (weighted.view().faer(), spread.view().faer());
            product(total.view_mut().faer(), Accumulate::Add, 1.0 / samples as f64, weighted.transpose(), spread);
        }
        for (own, factor) in covariance.iter_mut().zip(self.latent_factors()).filter(|(_, factor)| *factor != 1.0) {
            own.as_mut_slice().iter_mut().for_each(|v| *v *= factor * factor);
        }
        Ok(JointMoments { mean, covariance })
    }

    /// `draws` draws of the function and of observations over up to [`JOINT_ROWS`] rows.
    pub fn joint_draws(&self, x: View<'_>, draws: usize) -> Result<JointDraws> {
        self.check_joint(x)?;
        let likelihood = self.likelihood();
        let stretched = match &self.widening {
            Some(widening) => Some((widening, self.moments(x)?.f.mean)),
            None => None,
        };
        let observe = Key::new(self.settings.seed, Purpose::Observe);
        let layer = self.model.layers().len() - 1;
        let (mut f, mut y) = (Vec::new(), Vec::new());
        let mut previous = None;
        let sites: Vec<usize> = (0..draws).map(|k| self.part_of_draw(k)).collect();
        self.each_path(x, &sites, |path, last| {
            // Without a hidden layer every path ends in the same covariance.
            let factors = match previous.take() {
                Some(factors) if layer == 0 => factors,
                _ => factor_all(last.covariance.clone(), last.prior, layer)?,
            };
            let mut drawn = self.draw(&last.mean, &factors, path, layer);
            if let Some((widening, center)) = &stretched {
                widening.stretch(&mut drawn, center);
            }
            let mut observed = Mat::zeros(x.nrows(), likelihood.observed_width());
            for i in 0..x.nrows() {
                likelihood.draw(drawn.row(i), observe, [i as u32, 1, path as u32, 0], observed.row_mut(i));
            }
            f.push(drawn);
            y.push(observed);
            previous = Some(factors);
            Ok(())
        })?;
        Ok(JointDraws { f, y })
    }

    /// Fails unless `x` has the model's width, some rows, and no more than [`JOINT_ROWS`].
    fn check_joint(&self, x: View<'_>) -> Result<()> {
        if x.ncols() != self.model.input_width() || x.nrows() == 0 || x.nrows() > JOINT_ROWS {
            return Err(Error::Shape {
                what: "rows taken jointly",
                expected: format!("1 to {JOINT_ROWS} rows of {} columns", self.model.input_width()),
                found: format!("{} x {}", x.nrows(), x.ncols()),
            });
        }
        check_finite("x", x)
    }

    /// Samples the hidden layers, jointly over all rows, once for each entry of `sites`, and hands the entry's number and the last layer's
    /// moments to `then`. The entry itself is the site, where a model has some.
    fn each_path(
        &self,
        x: View<'_>,
        sites: &[usize],
        then: impl FnMut(usize, &LayerJoint) -> Result<()> + Send,
    ) -> Result<()> {
        self.threads.run(|| self.each_path_here(x, sites, then))
    }

    /// [`Predictor::each_path`] on the threads of the caller.
    fn each_path_here(
        &self,
        x: View<'_>,
        sites: &[usize],
        mut then: impl FnMut(usize, &LayerJoint) -> Result<()>,
    ) -> Result<()> {
        let (layers, floor) = (self.model.layers(), self.model.precision().floor());
        let chain = Chain::<f64>::new(layers, self.prepared()?, floor, 1, Want::Gradients);
        let (last, inputs) = (layers.len() - 1, within_reach(x));
        let conditional = |l: usize, x: Mat| {
            let mut rows = LayerRows::default();
            *rows.x.dense_mut() = x;
            chain.layers[l].joint_mean(&mut rows);
            let prior = chain.layers[l].joint_prior(&rows);
            let outputs = 0..chain.layers[l].output_width();
            let own = |p| chain.layers[l].joint_covariance(&rows, &prior, p);
            let covariance = outputs.into_par_iter().map(own).collect();
            let prior = (0..prior.nrows()).map(|i| prior[(i, i)]).sum::<f64>() / prior.nrows() as f64;
            let mut mean = rows.mean;
            if let (true, Some(trend)) = (l == last, &self.trend) {
                (0..mean.nrows()).for_each(|i| trend.add(inputs.row(i), mean.row_mut(i)));
            }
            LayerJoint { mean, covariance, prior }
        };
        let first = conditional(0, inputs.clone());
        if last == 0 {
            return (0..sites.len()).try_for_each(|path| then(path, &first));
        }
        if let Some(points) = self.model.sites().map(Sites::points) {
            for (path, &site) in sites.iter().enumerate() {
                let mut f = at_site(&first, points[0].row(site));
                for l in 1..last {
                    f = at_site(&conditional(l, f), points[l].row(site));
                }
                then(path, &conditional(last, f))?;
            }
            return Ok(());
        }
        let factors = factor_all(first.covariance, first.prior, 0)?;
        for path in 0..sites.len() {
            let mut f = self.draw(&first.mean, &factors, path, 0);
            for l in 1..last {
                let LayerJoint { mean, covariance, prior } = conditional(l, f);
                f = self.draw(&mean, &factor_all(covariance, prior, l)?, path, l);
            }
            then(path, &conditional(last, f))?;
        }
        Ok(())
    }

    /// A draw `f_p = μ_p + L_p ε_p` of each output over all rows, `[N, P]`, where `L_p L_pᵀ` is its covariance.
    fn draw(&self, mean: &Mat, factors: &[Cholesky], path: usize, layer: usize) -> Mat {
        let key = Key::new(self.settings.seed, Purpose::Joint);
        let (n, p) = (mean.nrows(), mean.ncols());
        let mut epsilon = Mat::zeros(n, p);
        for i in 0..n {
            fill_row(key, [i as u32, 0, path as u32, (layer as u32) << 16], epsilon.row_mut(i));
        }
        let mut out = mean.clone();
        for (o, factor) in factors.iter().enumerate() {
            let into = out.view_mut().faer().subcols_mut(o, 1);
            product(into, Accumulate::Add, 1.0, factor.lower(), epsilon.view().faer().subcols(o, 1));
        }
        out
    }
}

/// The outputs `f_p = μ_p + ξ_p σ_p` at one site over all rows, `[N, P]`.
fn at_site(layer: &LayerJoint, point: &[f64]) -> Mat {
    let deviation = |i: usize, p: usize| layer.covariance[p][(i, i)].max(0.0).sqrt();
    Mat::from_fn(layer.mean.nrows(), layer.mean.ncols(), |i, p| layer.mean[(i, p)] + point[p] * deviation(i, p))
}

/// Factors every output's covariance, each with as little jitter as it needs.
fn factor_all(covariance: Vec<Mat>, prior: f64, layer: usize) -> Result<Vec<Cholesky>> {
    let factored: Vec<Result<Cholesky>> = covariance
        .into_par_iter()
        .map(|mut own| match factor_with_jitter(&mut own, JITTER * prior, &mut Scratch::default()) {
            Ok(Factored { factor, .. }) => Ok(factor),
            Err(NotFactored { pivot, jitter }) => {
                let cause = "rows may coincide".to_string();
                Err(Error::NotPositiveDefinite { layer, matrix: Matrix::Joint, pivot, jitter, cause })
            }
        })
        .collect();
    // In order, so that the first error is the same on any number of threads.
    factored.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_covariance_that_is_none_is_named() {
        let indefinite = Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 2.0 });
        let message = factor_all(vec![Mat::identity(2), indefinite], 1.0, 3).unwrap_err().to_string();
        assert!(message.contains("layer 3: the joint covariance of the rows is not positive definite"), "{message}");
        assert!(message.contains("fewer rows"), "{message}");
    }
}
