//! A kernel bound to its inducing inputs `Z` and to the layout, dense or sparse, of the rows it will meet.
//!
//! For dense rows `k(x, Z)` needs `Z` alone, and its gradient in `Z` is summed over rows directly. For sparse rows a *plan* is computed
//! from `Z` beforehand, and what is summed over rows becomes a gradient once, at the end ([`finish`]). Layers see no difference.

use super::{CrossBars, Evaluate, EvaluateSparse, Kernel, Scratch};
use crate::data::{InputLayout, Inputs};
use crate::model::params;
use crate::numeric::mat::{Mat, View, ViewMut};
use crate::numeric::real::Real;

/// The arrays of a [`BoundKernel`]: `Z` in the precision of the rows, and its plan. Their memory is reused from step to step.
#[derive(Debug, Default)]
pub(crate) struct BoundArrays<T> {
    /// `Z`, `[M, D]`: fill it before [`BoundKernel::new`].
    pub inducing: Mat<T>,
    /// What sparse rows need of `Z`; empty for dense rows.
    plan: Vec<T>,
}

/// A kernel with its inducing inputs `Z`: `k(x, Z)` for dense and for sparse rows.
#[derive(Debug)]
pub(crate) struct BoundKernel<'a, T> {
    /// The kernel with its parameters.
    kernel: &'a dyn Kernel,
    /// `Z` and what was computed from it.
    pub arrays: BoundArrays<T>,
}

/// Sums over rows of a bound kernel's gradients.
#[derive(Clone, Debug)]
pub(crate) struct KernelSums<T> {
    /// `∂/∂Z`, `[M, D]`, for dense rows; for sparse rows the sums that [`finish`] turns into it.
    pub inducing: Vec<T>,
    /// `∂/∂θ` in the kernel's parameters, in the order of [`params::Parameters::visit`].
    pub theta: Vec<f64>,
}

/// The layout in which rows of `data` come to a kernel: sparse where they have such a form and the kernel can make use of it.
pub(crate) fn layout<'d>(kernel: &dyn Kernel, data: &'d crate::data::Dataset) -> InputLayout<'d> {
    let sparse = Evaluate::<f64>::sparse(kernel).and_then(|_| data.sparse());
    sparse.map_or(InputLayout::Dense, |inputs| InputLayout::Sparse(inputs.background()))
}

impl<T: Real> KernelSums<T> {
    /// Sums of zero, for `M` inducing inputs of width `D`.
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

    /// The kernel's side for sparse rows. It is there wherever rows are sparse, because [`layout`] asks for it.
    fn sparse(&self) -> &dyn EvaluateSparse<T> {
        T::evaluator(self.kernel).sparse().expect("rows were gathered sparse for a kernel that takes them so")
    }

    /// Writes the kernel matrix `k[n, m] = k(x_n, z_m)`, `[N, M]`.
    pub fn cross(&self, x: &Inputs<T>, k: ViewMut<'_, T>, scratch: &mut Scratch<T>) {
        match x {
            Inputs::Dense(x) => T::evaluator(self.kernel).cross(x.view(), self.arrays.inducing.view(), k, scratch),
            Inputs::Sparse(x) => self.sparse().cross(x, &self.arrays.plan, k, scratch),
        }
    }

    /// Writes the prior variances `out[n] = k(x_n, x_n)`.
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

    /// Sums of zero for a [`BoundKernel::pullback`] of which only the gradients in `x` are wanted.
    pub fn unused_sums(&self) -> KernelSums<T> {
        let z = &self.arrays.inducing;
        KernelSums::zeros(self.kernel, (z.nrows(), z.ncols()), InputLayout::Dense)
    }

    /// The prior covariance of the rows of `x`, `k(x, x)`, `[N, N]`.
    pub fn prior(&self, x: View<'_>) -> Mat {
        let mut prior = Mat::zeros(x.nrows(), x.nrows());
        self.kernel.gram(x, prior.view_mut(), &mut Scratch::default());
        prior
    }
}

/// Writes the gradients in `Z` and `θ` from the sums over all rows, to `z_bar` and `theta`.
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
