//! A kernel bound once to its inducing inputs `Z` and to the layout of the rows it will meet, whichever that is.
//!
//! For dense rows `k(x, Z)` needs `Z` alone, and its gradient in `Z` is summed as it is. For sparse rows a *plan* is made of `Z`
//! beforehand, and what is summed over rows becomes a gradient once, at the end ([`finish`]). Layers see neither.

use super::{CrossBars, Evaluate, EvaluateSparse, Kernel, Scratch};
use crate::data::{InputLayout, Inputs};
use crate::model::params;
use crate::numeric::mat::{Mat, View, ViewMut};
use crate::numeric::real::Real;

/// What a bound kernel keeps of `Z`; memory that is used again and again.
#[derive(Debug, Default)]
pub(crate) struct BoundArrays<T> {
    /// `Z`, `[M, D]`: fill it before [`BoundKernel::new`].
    pub inducing: Mat<T>,
    /// What sparse rows need of it.
    plan: Vec<T>,
}

/// A kernel with its `Z`.
#[derive(Debug)]
pub(crate) struct BoundKernel<'a, T> {
    kernel: &'a dyn Kernel,
    pub arrays: BoundArrays<T>,
}

/// Sums over rows of a bound kernel's gradients.
#[derive(Clone, Debug)]
pub(crate) struct KernelSums<T> {
    /// `∂/∂Z`, `[M, D]`, for dense rows; for sparse rows what [`finish`] makes it of.
    pub inducing: Vec<T>,
    /// `∂/∂θ`.
    pub theta: Vec<f64>,
}

/// How the rows of `data` come to a kernel: sparse where they have such a form and the kernel can make use of it.
pub(crate) fn layout<'d>(kernel: &dyn Kernel, data: &'d crate::data::Dataset) -> InputLayout<'d> {
    let sparse = Evaluate::<f64>::sparse(kernel).and_then(|_| data.sparse());
    sparse.map_or(InputLayout::Dense, |inputs| InputLayout::Sparse(inputs.background()))
}

impl<T: Real> KernelSums<T> {
    /// No gradient yet, for `M` inducing inputs of width `D`.
    pub fn zeros(kernel: &dyn Kernel, (m, d): (usize, usize), layout: InputLayout<'_>) -> Self {
        let length = match (layout, T::evaluator(kernel).sparse()) {
            (InputLayout::Sparse(_), Some(kernel)) => kernel.sums_len(m),
            (InputLayout::Sparse(_), None) | (InputLayout::Dense, _) => m * d,
        };
        Self { inducing: vec![T::ZERO; length], theta: vec![0.0; params::count(&mut *kernel.clone_box())] }
    }
}

impl<'a, T: Real> BoundKernel<'a, T> {
    /// Binds `kernel` to `arrays.inducing`.
    pub fn new(kernel: &'a dyn Kernel, mut arrays: BoundArrays<T>, layout: InputLayout<'_>) -> Self {
        if let (InputLayout::Sparse(background), Some(kernel)) = (layout, T::evaluator(kernel).sparse()) {
            kernel.plan(background, arrays.inducing.view(), &mut arrays.plan);
        }
        Self { kernel, arrays }
    }

    /// Rows are sparse only for kernels that can take them so: [`layout`] asks.
    fn sparse(&self) -> &dyn EvaluateSparse<T> {
        T::evaluator(self.kernel).sparse().expect("rows were gathered sparse for a kernel that takes them so")
    }

    /// `k[n, m] = k(x_n, z_m)`.
    pub fn cross(&self, x: &Inputs<T>, k: ViewMut<'_, T>, scratch: &mut Scratch<T>) {
        match x {
            Inputs::Dense(x) => T::evaluator(self.kernel).cross(x.view(), self.arrays.inducing.view(), k, scratch),
            Inputs::Sparse(x) => self.sparse().cross(x, &self.arrays.plan, k, scratch),
        }
    }

    /// `out[n] = k(x_n, x_n)`.
    pub fn diagonal(&self, x: &Inputs<T>, out: &mut [T]) {
        match x {
            Inputs::Dense(x) => T::evaluator(self.kernel).diagonal(x.view(), out),
            Inputs::Sparse(x) => self.sparse().diagonal(x, out),
        }
    }

    /// Adds the gradients of `Σ k_bar ∘ k + Σ diagonal_bar ∘ diagonal` to `sums`, and those in `x`, where they are asked for, to
    /// `x_bar`; `k_bar` may be overwritten. Sparse rows are data: they have no gradient.
    pub fn pullback(
        &self,
        x: &Inputs<T>,
        k: View<'_, T>,
        (k_bar, diagonal_bar): (ViewMut<'_, T>, &[T]),
        mut x_bar: Option<ViewMut<'_, T>>,
        sums: &mut KernelSums<T>,
        scratch: &mut Scratch<T>,
    ) {
        let KernelSums { inducing, theta } = sums;
        match x {
            Inputs::Dense(x) => {
                let (evaluator, z) = (T::evaluator(self.kernel), self.arrays.inducing.view());
                evaluator.diagonal_pullback(x.view(), diagonal_bar, x_bar.as_mut().map(ViewMut::reborrow), theta);
                let bars = CrossBars { x: x_bar, z: ViewMut::new(inducing, z.nrows(), z.ncols()), theta };
                evaluator.cross_pullback(x.view(), z, k, k_bar, bars, scratch);
            }
            Inputs::Sparse(x) => {
                self.sparse().diagonal_pullback(x, diagonal_bar, theta);
                self.sparse().cross_pullback(x, &self.arrays.plan, k, k_bar, inducing, theta, scratch);
            }
        }
    }

    /// Sums that nobody asked for.
    pub fn unused_sums(&self) -> KernelSums<T> {
        let z = &self.arrays.inducing;
        KernelSums::zeros(self.kernel, (z.nrows(), z.ncols()), InputLayout::Dense)
    }

    /// `k(x, x)`, `[N, N]`.
    pub fn prior(&self, x: View<'_>) -> Mat {
        let mut prior = Mat::zeros(x.nrows(), x.nrows());
        self.kernel.gram(x, prior.view_mut(), &mut Scratch::default());
        prior
    }
}

/// The gradients in `z` and `θ` from the sums over all rows: writes `z_bar` and `theta`.
pub(crate) fn finish(
    kernel: &dyn Kernel,
    layout: InputLayout<'_>,
    z: View<'_>,
    sums: &KernelSums<f64>,
    mut z_bar: ViewMut<'_>,
    theta: &mut [f64],
) {
    theta.copy_from_slice(&sums.theta);
    match (layout, Evaluate::<f64>::sparse(kernel)) {
        (InputLayout::Sparse(background), Some(kernel)) => {
            z_bar.as_mut_slice().fill(0.0);
            kernel.finish(background, z, &sums.inducing, z_bar, theta);
        }
        (InputLayout::Sparse(_), None) | (InputLayout::Dense, _) => {
            z_bar.as_mut_slice().copy_from_slice(&sums.inducing);
        }
    }
}
