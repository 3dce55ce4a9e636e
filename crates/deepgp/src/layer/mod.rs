//! Sparse-GP layers: the moments of `q(F)` at a batch of inputs, and `KL[q ‖ p]`.
//!
//! A layer is a kernel, a fixed [`MeanFunction`], a [`LayerMean`] over `Z_a` and a [`LayerCovariance`] over `Z_b`. The last
//! two never look at each other: that is the decoupling (section 2.2), and it is why the KL is a sum of two terms, one
//! for each file here. (Section 2.1 of the paper names `U` and `Z` the wrong way round: `Z` are inputs.)
//!
//! Once a step, [`Layer::prepare`] turns the parameters into the few matrices a block of rows needs; `rows.rs` takes
//! blocks through them, forward and backward; [`Layer::pullback`] takes the sums over blocks back to the parameters.

mod covariance;
mod factor;
mod gram;
mod mean;
mod mean_function;
pub mod pieces;
mod quadratic_forms;
mod rows;
mod symmetric_sums;

pub use covariance::{CovarianceForm, LayerCovariance};
pub(crate) use gram::{Factored, Gram, NotFactored, factor_with_jitter};
pub use gram::{Jitter, JitterEvent};
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
use crate::numeric::scratch::Scratch;
use covariance::{CovarianceBars, PreparedCovariance};
use mean::PreparedMean;
use symmetric_sums::SymmetricSums;

/// The inducing inputs of a layer: one set, or one for the mean and one for the covariance.
#[derive(Clone, Debug, PartialEq)]
pub enum Inducing {
    /// One set for mean and covariance, `[M, D]`: the full DGP. One factorisation serves both.
    Tied(Mat),
    /// A set for the mean and one for the covariance: the paper's decoupling.
    Decoupled {
        /// The mean's set `Z_a`, `[M_a, D]`.
        mean: Mat,
        /// The covariance's set `Z_b`, `[M_b, D]`.
        covariance: Mat,
    },
}

impl Inducing {
    /// The mean's set `Z_a`, `[M_a, D]`.
    pub fn mean(&self) -> &Mat {
        match self {
            Self::Tied(z) => z,
            Self::Decoupled { mean, .. } => mean,
        }
    }

    /// The covariance's set `Z_b`, `[M_b, D]`.
    pub fn covariance(&self) -> &Mat {
        match self {
            Self::Tied(z) => z,
            Self::Decoupled { covariance, .. } => covariance,
        }
    }

    /// The same sets, each sent through `by`.
    pub(crate) fn map(&self, by: impl Fn(&Mat) -> Mat) -> Self {
        match self {
            Self::Tied(z) => Self::Tied(by(z)),
            Self::Decoupled { mean, covariance } => Self::Decoupled { mean: by(mean), covariance: by(covariance) },
        }
    }

    /// The inducing inputs stacked, `Z_a` above `Z_b`, or the one tied set, in memory borrowed from `scratch`.
    fn stacked(&self, scratch: &mut Scratch<f64>) -> Mat {
        let mut z = scratch.take_mat(self.covariance_start() + self.covariance().nrows(), self.covariance().ncols());
        let (above, below) = z.as_mut_slice().split_at_mut(self.covariance_start() * self.covariance().ncols());
        above.copy_from_slice(&self.mean().as_slice()[..above.len()]);
        below.copy_from_slice(self.covariance().as_slice());
        z
    }

    /// The row at which `Z_b` starts where both sets are stacked, `Z_a` above `Z_b`; 0 for a tied set, which is stored once.
    fn covariance_start(&self) -> usize {
        match self {
            Self::Tied(_) => 0,
            Self::Decoupled { mean, .. } => mean.nrows(),
        }
    }
}

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

/// The kernel matrices of a layer's inducing inputs.
#[derive(Clone, Debug)]
enum Grams {
    /// The one `K_ZZ` of a tied layer.
    Tied(Gram),
    /// A matrix for each of a decoupled layer's sets.
    Decoupled {
        /// The mean's matrix `K_aa`.
        mean: Gram,
        /// The covariance's matrix `K_bb`.
        covariance: Gram,
    },
}

impl Grams {
    /// The mean's matrix `K_aa`, or the one `K_ZZ`.
    fn mean(&self) -> &Gram {
        match self {
            Self::Tied(gram) => gram,
            Self::Decoupled { mean, .. } => mean,
        }
    }

    /// The covariance's matrix `K_bb`, or the one `K_ZZ`.
    fn covariance(&self) -> &Gram {
        match self {
            Self::Tied(gram) => gram,
            Self::Decoupled { covariance, .. } => covariance,
        }
    }
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
        match grams {
            Grams::Tied(gram) => {
                memory.covariance.give_mat(mean.weights);
                gram.give(&mut memory.covariance);
            }
            Grams::Decoupled { mean: mean_gram, covariance: gram } => {
                memory.mean.give_mat(mean.weights);
                mean_gram.give(&mut memory.mean);
                gram.give(&mut memory.covariance);
            }
        }
        covariance.give(&mut memory.covariance);
    }
}

/// Memory for the work on a layer's `M × M` matrices: one part for each of mean and covariance, which are worked on in parallel.
#[derive(Debug, Default)]
pub(crate) struct LayerMemory {
    /// Memory for the mean's side.
    mean: Scratch<f64>,
    /// Memory for the covariance's side, and for all of a tied layer.
    covariance: Scratch<f64>,
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
        shape("the covariance's `factor`, a square for each output", &self.covariance.factor, p * m_b, m_b)?;
        if mean.nrows() == 0 || covariance.nrows() == 0 || p == 0 || d == 0 {
            let requirement = "at least 1 in each of inputs, outputs and inducing inputs";
            return Err(Error::Setting { name: "layer size", value: "0".into(), requirement });
        }
        self.mean_function.check(index, d, p)?;
        match &self.inducing {
            Inducing::Tied(z) => check_distinct(z, index, "one set"),
            Inducing::Decoupled { mean, covariance } => {
                check_distinct(mean, index, "mean")?;
                check_distinct(covariance, index, "covariance")
            }
        }
    }

    /// Factors kernel matrices and computes `w`, `R`, `G` and the KL: about `⅔ M_a³ + M_b³ (1 + P)` flops.
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
        let stacked = self.inducing.covariance_start() + self.inducing.covariance().nrows();
        let (inducing, rest) = rest.split_at_mut(stacked * d);
        let (free, factor) = rest.split_at_mut(self.mean.free.as_slice().len());
        let z = match layout {
            InputLayout::Dense => Mat::default(),
            InputLayout::Sparse(_) => self.inducing.stacked(&mut memory.covariance),
        };
        finish(kernel, layout, z.view(), &sums.kernel, ViewMut::new(inducing, stacked, d), theta);
        memory.covariance.give_mat(z);
        let order = self.covariance.factor.ncols();
        let factor = ViewMut::new(factor, self.covariance.factor.nrows(), order);
        let LayerSums { weights, projection, explained, .. } = sums;
        let symmetric = SymmetricSums { order, outputs: self.output_width() };
        let bars = CovarianceBars { projection, explained, sums: symmetric, kl: kl_bar };
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
                        gram.pullback(kernel, z_b.view(), bar, z_bar, theta, of_covariance);
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
        }
    }

    /// The number of the layer's parameters, each entry of an array counted.
    pub(crate) fn parameter_count(&self) -> usize {
        let sets = match &self.inducing {
            Inducing::Tied(z) => z.as_slice().len(),
            Inducing::Decoupled { mean, covariance } => mean.as_slice().len() + covariance.as_slice().len(),
        };
        self.kernel_parameters() + sets + self.mean.free.as_slice().len() + self.covariance.factor.as_slice().len()
    }

    /// The number of the kernel's parameters.
    pub(crate) fn kernel_parameters(&self) -> usize {
        params::count(&mut *self.kernel.clone_box())
    }
}

/// A total order of rows, NaN included; 0 and −0 are one.
pub(crate) fn compare_rows(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    let each = a.iter().zip(b).map(|(x, y)| (x + 0.0).total_cmp(&(y + 0.0)));
    each.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
}

/// Fails if two rows of `z` are equal; `layer` and `set` are for the message.
fn check_distinct(z: &Mat, layer: usize, set: &'static str) -> Result<()> {
    let mut order: Vec<usize> = (0..z.nrows()).collect();
    order.sort_by(|&i, &j| compare_rows(z.row(i), z.row(j)));
    for pair in order.windows(2) {
        if z.row(pair[0]) == z.row(pair[1]) {
            let (first, second) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
            return Err(Error::DuplicateInducing { layer, set, first, second });
        }
    }
    Ok(())
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
        }
        matrix("mean.free", &mut self.mean.free, Constraint::Real);
        let order = self.covariance.factor.ncols();
        let shape = [self.covariance.factor.nrows() / order, order, order];
        leaf(Leaf {
            name: "covariance.factor",
            constraint: Constraint::LowerTriangular { order },
            shape: &shape,
            values: self.covariance.factor.as_mut_slice(),
        });
    }
}
