//! Sparse-GP layers: the moments of `q(F)` at a batch of inputs, and `KL[q ‖ p]`.
//!
//! A layer is a kernel, a fixed [`MeanFunction`], a [`LayerMean`] over `Z_a` and a [`LayerCovariance`] over `Z_b`. The last
//! two never look at each other: that is the decoupling (section 2.2), and it is why the KL is a sum of two terms, one
//! for each file here. (Section 2.1 of the paper names `U` and `Z` the wrong way round: `Z` are inputs.)
//!
//! Once a step, [`Layer::prepare`] turns the parameters into the few matrices a block of rows needs; `rows.rs` takes
//! blocks through them, forward and backward; [`Layer::pullback`] takes the sums over blocks back to the parameters.

mod covariance;
mod dense_covariance;
mod diagonal_covariance;
mod explained;
mod explicit;
mod factor;
mod gram;
mod grams;
mod inducing;
mod mean;
mod mean_function;
pub mod pieces;
mod principal_directions;
mod quadratic_forms;
mod rows;
mod symmetric_sums;

pub use covariance::{CovarianceForm, LayerCovariance};
pub use explicit::{ExplicitLayer, ExplicitShares};
pub(crate) use gram::{Factored, Gram, NotFactored, factor_with_jitter};
pub use gram::{Jitter, JitterEvent};
pub(crate) use grams::LayerMemory;
pub use inducing::Inducing;
pub(crate) use inducing::compare_rows;
pub use mean::{LayerMean, MeanForm};
pub use mean_function::MeanFunction;
pub use rows::Floor;
pub(crate) use rows::{LayerRows, LayerSums, RowArrays, RowLayer, Want};

use crate::data::InputLayout;
use crate::error::{Error, Matrix, Result};
use crate::kernel::bound::finish;
use crate::kernel::{Evaluate, Kernel};
use crate::model::params::{self, Constraint, Leaf, Parameters, visit_under};
use crate::numeric::mat::{Mat, ViewMut};
use covariance::{CovarianceBars, PreparedCovariance, Structure};
use explained::ExplainedSums;
use grams::Grams;
use mean::PreparedMean;

/// A sparse-GP layer, `[N, D] → [N, P]`. All outputs share the kernel and the inducing inputs.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The kernel: the prior covariance that all outputs share.
    pub kernel: Box<dyn Kernel>,
    /// The fixed function that is added to the mean.
    pub mean_function: MeanFunction,
    /// The inducing inputs, `Z_a` and `Z_b`.
    pub inducing: Inducing,
    /// The mean over `Z_a`.
    pub mean: LayerMean,
    /// The covariance over `Z_b`.
    pub covariance: LayerCovariance,
}

/// A layer as rows need it, computed once a step by [`Layer::prepare`]: everything of size `M × M`.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// The kernel matrices of the inducing inputs.
    grams: Grams,
    /// `w`, and the mean's term of the KL.
    pub mean: PreparedMean,
    /// `G`, and the covariance's term of the KL.
    pub covariance: PreparedCovariance,
    /// The matrices that needed more jitter than asked for.
    pub events: Vec<JitterEvent>,
}

impl Prepared {
    /// The inverse factor `L⁻¹` of `K_aa`, or of the one `K_ZZ` of a tied layer, if a form asked for it.
    pub(crate) fn mean_factor(&self) -> Option<&Mat> {
        self.grams.mean().inverse_factor()
    }

    /// The inverse factor `L⁻¹` of `K_bb`, or of the one `K_ZZ` of a tied layer, if a form asked for it.
    pub(crate) fn covariance_factor(&self) -> Option<&Mat> {
        self.grams.covariance().inverse_factor()
    }

    /// The covariance's matrix `K_bb`, or the one `K_ZZ` of a tied layer.
    fn covariance_gram(&self) -> &Gram {
        self.grams.covariance()
    }

    /// Gives its memory back.
    pub(crate) fn give(self, memory: &mut LayerMemory) {
        let Self { grams, mean, covariance, .. } = self;
        grams.give(mean.weights, memory);
        covariance.give(&mut memory.covariance);
    }
}

impl Layer {
    /// The number of inputs, `D`.
    pub fn input_width(&self) -> usize {
        self.inducing.mean().ncols()
    }

    /// The number of outputs, `P`.
    pub fn output_width(&self) -> usize {
        self.mean.free.ncols()
    }

    /// The prior variance `k(x, x)` at the layer's first inducing input; the same everywhere for the library's kernels.
    pub fn kernel_diagonal(&self) -> f64 {
        let (mut out, z) = ([0.0], self.inducing.mean().view().rows(0..1));
        Evaluate::<f64>::diagonal(&*self.kernel, z, &mut out);
        out[0]
    }

    /// Fails unless all shapes fit together. `index` is the layer's place, for messages.
    pub(crate) fn check(&self, index: usize) -> Result<()> {
        let (d, p) = (self.input_width(), self.output_width());
        let width = |what, found, expected, advice| {
            if found == expected { Ok(()) } else { Err(Error::Width { layer: index, what, found, expected, advice }) }
        };
        let (mean, covariance) = (self.inducing.mean(), self.inducing.covariance());
        let advice = "give the layer a kernel over its own inputs";
        width("the kernel", self.kernel.input_width(), d, advice)?;
        let advice = "give both sets the width of the layer's input";
        width("the covariance's set of inducing inputs", covariance.ncols(), d, advice)?;
        let shape = |what, matrix: &Mat, rows: usize, cols: usize| {
            if (matrix.nrows(), matrix.ncols()) == (rows, cols) {
                return Ok(());
            }
            let expected = format!("{rows} x {cols} in layer {index}");
            Err(Error::Shape { what, expected, found: format!("{} x {}", matrix.nrows(), matrix.ncols()) })
        };
        let (m_a, m_b) = (mean.nrows(), covariance.nrows());
        shape("the mean's `free`, one row for each inducing input", &self.mean.free, m_a, p)?;
        let (what, each) = match self.covariance.form.structure() {
            Structure::Dense(_) => ("the covariance's `factor`, a square for each output", m_b),
            Structure::Diagonal => ("the covariance's `factor`, a row for each output", 1),
        };
        shape(what, &self.covariance.factor, p * each, m_b)?;
        if mean.nrows() == 0 || covariance.nrows() == 0 || p == 0 || d == 0 {
            let requirement = "at least 1 in each of inputs, outputs and inducing inputs";
            return Err(Error::Setting { name: "layer size", value: "0".into(), requirement });
        }
        self.mean_function.check(index, d, p)?;
        self.inducing.check(index)
    }

    /// Factors kernel matrices and computes `w`, `R`, `G` and the KL: about `⅔ M_a³ + M_b³ (1 + P)` flops, of which a diagonal covariance
    /// saves `M_b³ P` and a nested set `⅔ M_b³`.
    pub(crate) fn prepare(&self, jitter: Jitter, index: usize, memory: &mut LayerMemory) -> Result<Prepared> {
        let kernel = &*self.kernel;
        let (mean_factors, covariance_factors) = (self.mean.form.needs_factor(), self.covariance.form.needs_factor());
        let (z_a, z_b) = match &self.inducing {
            Inducing::Tied(z) => {
                let (z, factor) = (z.view(), mean_factors || covariance_factors);
                let scratch = &mut memory.covariance;
                let (gram, event) = Gram::new(kernel, z, jitter, factor, (index, Matrix::TiedGram), scratch)?;
                let mean = self.mean.prepare(&gram, scratch);
                let covariance = self.covariance.prepare(&gram, index, scratch)?;
                let events = event.into_iter().collect();
                return Ok(Prepared { grams: Grams::Tied(gram), mean, covariance, events });
            }
            Inducing::Nested { inputs, covariance: m_b } => {
                let (z, factor) = (inputs.view(), mean_factors || covariance_factors);
                let scratch = &mut memory.covariance;
                let (whole, event) = Gram::new(kernel, z, jitter, factor, (index, Matrix::MeanGram), scratch)?;
                let head = whole.head(*m_b, scratch);
                let mean = self.mean.prepare(&whole, scratch);
                let covariance = self.covariance.prepare(&head, index, scratch)?;
                let events = event.into_iter().collect();
                return Ok(Prepared { grams: Grams::Nested { whole, head }, mean, covariance, events });
            }
            Inducing::Decoupled { mean, covariance } => (mean, covariance),
        };
        let LayerMemory { mean: of_mean, covariance: of_covariance } = memory;
        let (mean, covariance) = rayon::join(
            || {
                let place = (index, Matrix::MeanGram);
                let (gram, event) = Gram::new(kernel, z_a.view(), jitter, mean_factors, place, of_mean)?;
                let prepared = self.mean.prepare(&gram, of_mean);
                Ok((gram, prepared, event))
            },
            || {
                let place = (index, Matrix::CovarianceGram);
                let (gram, event) = Gram::new(kernel, z_b.view(), jitter, covariance_factors, place, of_covariance)?;
                let prepared = self.covariance.prepare(&gram, index, of_covariance)?;
                Ok((gram, prepared, event))
            },
        );
        let ((mean_gram, mean, mean_event), (gram, covariance, event)) = (mean?, covariance?);
        let events = mean_event.into_iter().chain(event).collect();
        let grams = Grams::Decoupled { mean: mean_gram, covariance: gram };
        Ok(Prepared { grams, mean, covariance, events })
    }

    /// Writes the gradient, in the order of [`Parameters::visit`], to `out`, from the sums over all rows and `∂/∂KL`; `layout` is that
    /// of the rows.
    pub(crate) fn pullback(
        &self,
        prepared: &mut Prepared,
        sums: &mut LayerSums<f64>,
        kl_bar: f64,
        layout: InputLayout<'_>,
        memory: &mut LayerMemory,
        out: &mut [f64],
    ) {
        let Prepared { grams, mean, covariance, .. } = prepared;
        let kernel = &*self.kernel;
        let d = self.input_width();
        let (theta, rest) = out.split_at_mut(sums.kernel.theta.len());
        let stacked = self.inducing.stacked_len();
        let (inducing, rest) = rest.split_at_mut(stacked * d);
        let (free, factor) = rest.split_at_mut(self.mean.free.as_slice().len());
        let z = match layout {
            InputLayout::Dense => Mat::default(),
            InputLayout::Sparse(_) => self.inducing.stacked(&mut memory.covariance),
        };
        finish(kernel, layout, z.view(), &sums.kernel, ViewMut::new(inducing, stacked, d), theta);
        memory.covariance.give_mat(z);
        let factor = ViewMut::new(factor, self.covariance.factor.nrows(), self.covariance.factor.ncols());
        let LayerSums { weights, projection, explained, .. } = sums;
        let bars = CovarianceBars { projection, explained, kl: kl_bar };
        let LayerMemory { mean: of_mean, covariance: of_covariance } = memory;
        match grams {
            Grams::Decoupled { mean: mean_gram, covariance: gram } => {
                let (z_a, z_b) = (self.inducing.mean(), self.inducing.covariance());
                let (above, below) = inducing.split_at_mut(z_a.as_slice().len());
                let mut mean_theta = of_mean.zeros(1, theta.len());
                rayon::join(
                    || {
                        let mut bar = mean_gram.zero_bar();
                        let free_bar = self.mean.pullback(mean_gram, mean, weights, kl_bar, &mut bar, of_mean);
                        free.copy_from_slice(free_bar.as_slice());
                        of_mean.give_mat(free_bar);
                        let z_bar = ViewMut::new(above, z_a.nrows(), d);
                        mean_gram.pullback(kernel, z_a.view(), bar, z_bar, mean_theta.as_mut_slice(), of_mean);
                    },
                    || {
                        let mut bar = gram.zero_bar();
                        self.covariance.pullback(gram, covariance, bars, &mut bar, factor, of_covariance);
                        let z_bar = ViewMut::new(below, z_b.nrows(), d);
                        gram.pullback(kernel, z_b, bar, z_bar, theta, of_covariance);
                    },
                );
                for (to, from) in theta.iter_mut().zip(mean_theta.as_slice()) {
                    *to += from;
                }
                of_mean.give_mat(mean_theta);
            }
            Grams::Tied(gram) => {
                let mut bar = gram.zero_bar();
                self.covariance.pullback(gram, covariance, bars, &mut bar, factor, of_covariance);
                let free_bar = self.mean.pullback(gram, mean, weights, kl_bar, &mut bar, of_covariance);
                free.copy_from_slice(free_bar.as_slice());
                let z = self.inducing.mean();
                gram.pullback(kernel, z.view(), bar, ViewMut::new(inducing, z.nrows(), d), theta, of_covariance);
                of_covariance.give_mat(free_bar);
            }
            Grams::Nested { whole, head } => {
                let mut head_bar = head.zero_bar();
                self.covariance.pullback(head, covariance, bars, &mut head_bar, factor, of_covariance);
                let mut bar = whole.zero_bar();
                let free_bar = self.mean.pullback(whole, mean, weights, kl_bar, &mut bar, of_covariance);
                free.copy_from_slice(free_bar.as_slice());
                bar.add_head(head_bar, of_covariance);
                let z = self.inducing.mean();
                whole.pullback(kernel, z.view(), bar, ViewMut::new(inducing, z.nrows(), d), theta, of_covariance);
                of_covariance.give_mat(free_bar);
            }
        }
    }

    /// The layout of the gradients at the explained shares.
    fn explained_sums(&self) -> ExplainedSums {
        ExplainedSums::new(self.covariance.form, self.inducing.covariance_rows().len(), self.output_width())
    }

    /// The number of the layer's parameters, each entry of an array counted.
    pub(crate) fn parameter_count(&self) -> usize {
        let sets: usize = self.inducing.stored().map(|z| z.as_slice().len()).sum();
        self.kernel_parameters() + sets + self.mean.free.as_slice().len() + self.covariance.factor.as_slice().len()
    }

    /// The number of the kernel's parameters.
    pub(crate) fn kernel_parameters(&self) -> usize {
        params::count(&mut *self.kernel.clone_box())
    }
}

/// The parameters in their order: the kernel's, the inducing inputs, the mean's `free`, the covariance's `factor`.
impl Parameters for Layer {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        visit_under("kernel", &mut *self.kernel, leaf);
        let mut matrix = |name: &str, m: &mut Mat, constraint| {
            let shape = [m.nrows(), m.ncols()];
            leaf(Leaf { name, constraint, shape: &shape, values: m.as_mut_slice() });
        };
        match &mut self.inducing {
            Inducing::Tied(z) => matrix("inducing", z, Constraint::Real),
            Inducing::Decoupled { mean, covariance } => {
                matrix("mean_inducing", mean, Constraint::Real);
                matrix("covariance_inducing", covariance, Constraint::Real);
            }
            Inducing::Nested { inputs, .. } => matrix("inducing", inputs, Constraint::Real),
        }
        matrix("mean.free", &mut self.mean.free, Constraint::Real);
        let (order, outputs) = (self.covariance.factor.ncols(), self.covariance.outputs());
        let shape = match self.covariance.form.structure() {
            Structure::Dense(_) => &[outputs, order, order][..],
            Structure::Diagonal => &[outputs, order][..],
        };
        let constraint = self.covariance.constraint();
        leaf(Leaf { name: "covariance.factor", constraint, shape, values: self.covariance.factor.as_mut_slice() });
    }
}
