//! Kernels: the open trait, and one file for each that comes with the library.
//!
//! To add a kernel, write one file: a struct with its parameters, [`Parameters`] to list them, [`Evaluate`] for the
//! numbers (generic in the precision, so that `f64` and `mixed` both work) and [`Kernel`] to join them. If it is a
//! function of the scaled distance alone, implement [`Profile`] instead, which is a dozen lines: see `matern.rs`.

pub(crate) mod bound;
mod combination;
mod distance;
mod form;
mod matern;
mod rational_quadratic;
mod sparse;
mod squared_exponential;
mod stationary;

pub use combination::Combination;
pub use form::KernelForm;
pub use matern::{Matern12, Matern32, Matern52};
pub use rational_quadratic::RationalQuadratic;
pub use sparse::EvaluateSparse;
pub use squared_exponential::SquaredExponential;
pub use stationary::{Profile, Stationary};

pub use crate::data::sparse::SparseRows;
pub use crate::numeric::scratch::Scratch;

use crate::model::params::Parameters;
use crate::numeric::linalg::mirror_lower;
use crate::numeric::mat::{View, ViewMut};
use crate::numeric::real::Real;

/// The gradients that [`Evaluate::cross_pullback`] adds to.
#[derive(Debug)]
pub struct CrossBars<'a, T> {
    /// `∂/∂x`, `[N, D]`; absent where `x` is data and needs none.
    pub x: Option<ViewMut<'a, T>>,
    /// `∂/∂z`, `[M, D]`.
    pub z: ViewMut<'a, T>,
    /// `∂/∂θ` in the kernel's parameters, in the order of [`Parameters::visit`].
    pub theta: &'a mut [f64],
}

/// A kernel's values and gradients in one precision.
pub trait Evaluate<T: Real> {
    /// Writes the kernel matrix `k[n, m] = k(x_n, z_m)`, `[N, M]`.
    fn cross(&self, x: View<'_, T>, z: View<'_, T>, k: ViewMut<'_, T>, scratch: &mut Scratch<T>);

    /// Adds the gradients of `Σ k_bar ∘ k` to `bars`. `k` is what [`Evaluate::cross`] gave; `k_bar` may be overwritten.
    fn cross_pullback(
        &self,
        x: View<'_, T>,
        z: View<'_, T>,
        k: View<'_, T>,
        k_bar: ViewMut<'_, T>,
        bars: CrossBars<'_, T>,
        scratch: &mut Scratch<T>,
    );

    /// Writes the prior variances `out[n] = k(x_n, x_n)`.
    fn diagonal(&self, x: View<'_, T>, out: &mut [T]);

    /// Adds the gradients of `Σ diagonal_bar ∘ diagonal` to `x_bar`, where it is asked for, and `theta_bar`.
    fn diagonal_pullback(
        &self,
        x: View<'_, T>,
        diagonal_bar: &[T],
        x_bar: Option<ViewMut<'_, T>>,
        theta_bar: &mut [f64],
    );

    /// The kernel's side for sparse rows, if it can make use of them; other kernels get all rows dense.
    fn sparse(&self) -> Option<&dyn EvaluateSparse<T>> {
        None
    }
}

/// A positive-definite function of two inputs, with trainable parameters.
pub trait Kernel: Parameters + Evaluate<f32> + Evaluate<f64> + std::fmt::Debug + Send + Sync {
    /// The kernel's name, e.g. `squared-exponential`.
    fn name(&self) -> String;

    /// The number of columns of the kernel's inputs.
    fn input_width(&self) -> usize;

    /// A copy of the kernel. (`Clone` itself cannot be called on a trait object.)
    fn clone_box(&self) -> Box<dyn Kernel>;

    /// The kernel's form, which a model file stores beside its parameters; `None` for a kernel that the library does not know.
    fn form(&self) -> Option<KernelForm> {
        None
    }

    /// Writes the Gram matrix `k(z, z)`, `[M, M]`, exactly symmetric. Override it where close points need more care than in `cross`.
    fn gram(&self, z: View<'_>, mut k: ViewMut<'_>, scratch: &mut Scratch<f64>) {
        Evaluate::<f64>::cross(self, z, z, k.reborrow(), scratch);
        mirror_lower(k);
    }

    /// Adds the gradients of `Σ k_bar ∘ gram` to `z_bar` and `theta_bar`; `k_bar` is symmetric and may be overwritten.
    fn gram_pullback(
        &self,
        z: View<'_>,
        k: View<'_>,
        k_bar: ViewMut<'_>,
        z_bar: ViewMut<'_>,
        theta_bar: &mut [f64],
        scratch: &mut Scratch<f64>,
    ) {
        both_sides(z, z_bar, theta_bar, scratch, |bars, scratch| {
            Evaluate::<f64>::cross_pullback(self, z, z, k, k_bar, bars, scratch);
        });
    }
}

/// Adds the gradients of a Gram matrix by the pullback of `k(x, z)` at `x = z`: both sides' gradients go to `z_bar`.
fn both_sides(
    z: View<'_>,
    mut z_bar: ViewMut<'_>,
    theta: &mut [f64],
    scratch: &mut Scratch<f64>,
    pullback: impl FnOnce(CrossBars<'_, f64>, &mut Scratch<f64>),
) {
    let mut left = scratch.take(z.as_slice().len());
    left.fill(0.0);
    let x = Some(ViewMut::new(&mut left, z.nrows(), z.ncols()));
    pullback(CrossBars { x, z: z_bar.reborrow(), theta }, scratch);
    for (to, from) in z_bar.as_mut_slice().iter_mut().zip(&left) {
        *to += from;
    }
    scratch.give(left);
}

impl Clone for Box<dyn Kernel> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::params;
    use crate::numeric::mat::Mat;
    use crate::testing::{assert_slope, dot_all, uniform};

    pub(crate) fn cross<T: Real>(kernel: &dyn Kernel, x: &Mat<T>, z: &Mat<T>) -> Mat<T> {
        let mut k = Mat::zeros(x.nrows(), z.nrows());
        T::evaluator(kernel).cross(x.view(), z.view(), k.view_mut(), &mut Scratch::default());
        k
    }

    fn gram(kernel: &dyn Kernel, z: &Mat) -> Mat {
        let mut k = Mat::zeros(z.nrows(), z.nrows());
        kernel.gram(z.view(), k.view_mut(), &mut Scratch::default());
        k
    }

    fn diagonal(kernel: &dyn Kernel, x: &Mat) -> Mat {
        let mut out = vec![0.0; x.nrows()];
        Evaluate::<f64>::diagonal(kernel, x.view(), &mut out);
        Mat::column(out)
    }

    fn theta(kernel: &dyn Kernel) -> Mat {
        let mut all = Vec::new();
        kernel.clone_box().visit(&mut |leaf| all.extend_from_slice(leaf.values));
        Mat::column(all)
    }

    fn with_theta(kernel: &dyn Kernel, theta: &Mat) -> Box<dyn Kernel> {
        let (mut copy, mut at) = (kernel.clone_box(), 0);
        copy.visit(&mut |leaf| {
            let end = at + leaf.values.len();
            leaf.values.copy_from_slice(&theta.as_slice()[at..end]);
            at = end;
        });
        copy
    }

    fn every_kernel() -> Vec<Box<dyn Kernel>> {
        let scales = || vec![0.7, 2.0, 1.1];
        let one: Vec<Box<dyn Kernel>> = vec![
            Box::new(SquaredExponential::new(1.3, scales())),
            Box::new(Matern12::new(0.8, scales())),
            Box::new(Matern32::new(1.3, scales())),
            Box::new(Matern52::new(1.7, scales())),
            Box::new(RationalQuadratic::new(1.1, scales(), 0.6)),
        ];
        let sum = Combination::sum(vec![one[0].clone(), one[2].clone()]).unwrap();
        let product = Combination::product(vec![one[3].clone(), one[4].clone(), one[0].clone()]).unwrap();
        let nested = Combination::sum(vec![Box::new(product.clone()), one[1].clone()]).unwrap();
        one.into_iter().chain([Box::new(sum) as Box<dyn Kernel>, Box::new(product), Box::new(nested)]).collect()
    }

    #[test]
    fn every_pullback_agrees_with_central_differences() {
        for kernel in every_kernel() {
            let kernel = &*kernel;
            let name = kernel.name();
            let (x, z, weight) = (uniform(4, 3, 1), uniform(5, 3, 2), uniform(4, 5, 3));
            let scratch = &mut Scratch::default();
            let parameters = params::count(&mut *kernel.clone_box());

            let (mut x_bar, mut z_bar, mut theta_bar) = (Mat::zeros(4, 3), Mat::zeros(5, 3), vec![0.0; parameters]);
            let bars = CrossBars { x: Some(x_bar.view_mut()), z: z_bar.view_mut(), theta: &mut theta_bar };
            let (k, mut k_bar) = (cross(kernel, &x, &z), weight.clone());
            Evaluate::<f64>::cross_pullback(kernel, x.view(), z.view(), k.view(), k_bar.view_mut(), bars, scratch);
            let loss = |kernel: &dyn Kernel, x: &Mat, z: &Mat| dot_all(&weight, &cross(kernel, x, z));
            assert_slope(&format!("{name} x"), &x, &x_bar, 1e-7, |x| loss(kernel, x, &z));
            assert_slope(&format!("{name} z"), &z, &z_bar, 1e-7, |z| loss(kernel, &x, z));
            assert_slope(&format!("{name} theta"), &theta(kernel), &Mat::column(theta_bar), 1e-7, |theta| {
                loss(&*with_theta(kernel, theta), &x, &z)
            });

            let symmetric = Mat::from_fn(5, 5, |i, j| uniform(5, 5, 4)[(i.max(j), i.min(j))]);
            let (mut z_bar, mut theta_bar) = (Mat::zeros(5, 3), vec![0.0; parameters]);
            let (k, mut k_bar) = (gram(kernel, &z), symmetric.clone());
            kernel.gram_pullback(z.view(), k.view(), k_bar.view_mut(), z_bar.view_mut(), &mut theta_bar, scratch);
            assert_slope(&format!("{name} gram z"), &z, &z_bar, 1e-7, |z| dot_all(&symmetric, &gram(kernel, z)));
            assert_slope(&format!("{name} gram theta"), &theta(kernel), &Mat::column(theta_bar), 1e-7, |theta| {
                dot_all(&symmetric, &gram(&*with_theta(kernel, theta), &z))
            });

            let weight = uniform(4, 1, 5);
            let (mut x_bar, mut theta_bar) = (Mat::zeros(4, 3), vec![0.0; parameters]);
            let x_view = Some(x_bar.view_mut());
            Evaluate::<f64>::diagonal_pullback(kernel, x.view(), weight.as_slice(), x_view, &mut theta_bar);
            assert_slope(&format!("{name} diagonal x"), &x, &x_bar, 1e-7, |x| dot_all(&weight, &diagonal(kernel, x)));
            assert_slope(&format!("{name} diagonal theta"), &theta(kernel), &Mat::column(theta_bar), 1e-7, |theta| {
                dot_all(&weight, &diagonal(&*with_theta(kernel, theta), &x))
            });
        }
    }

    #[test]
    fn gram_matrices_are_symmetric_positive_definite_and_agree_with_cross_and_diagonal() {
        for kernel in every_kernel() {
            let z = uniform(9, 3, 8);
            let (k, other, diagonal) = (gram(&*kernel, &z), cross(&*kernel, &z, &z), diagonal(&*kernel, &z));
            assert!(crate::numeric::linalg::Cholesky::new(&k, &mut Scratch::default()).is_ok(), "{}", kernel.name());
            for i in 0..9 {
                assert!((k[(i, i)] - diagonal[(i, 0)]).abs() < 1e-12, "{}", kernel.name());
                for j in 0..9 {
                    assert_eq!(k[(i, j)], k[(j, i)]);
                    assert!((k[(i, j)] - other[(i, j)]).abs() < 1e-12, "{}", kernel.name());
                }
            }
        }
    }

    #[test]
    fn single_precision_agrees_with_double() {
        for kernel in every_kernel() {
            let (x, z) = (uniform(20, 3, 1), uniform(7, 3, 2));
            let (wide, narrow) = (cross(&*kernel, &x, &z), cross::<f32>(&*kernel, &x.cast(), &z.cast()));
            for (a, b) in wide.as_slice().iter().zip(narrow.as_slice()) {
                assert!((a - f64::from(*b)).abs() < 3e-6, "{}: {a} {b}", kernel.name());
            }
        }
    }

    #[test]
    fn single_precision_tells_close_points_apart_many_lengthscales_from_the_origin() {
        for (rows, columns) in [(40, 1), (41, 3), (43, 10), (0, 2)] {
            let kernel = SquaredExponential::new(1.0, (0..columns).map(|i| if i == 0 { 0.02 } else { 2.0 }).collect());
            let (x, z) = (uniform(rows, columns, 1), uniform(70, columns, 2));
            let (wide, narrow) = (cross(&kernel, &x, &z), cross::<f32>(&kernel, &x.cast(), &z.cast()));
            for (a, b) in wide.as_slice().iter().zip(narrow.as_slice()) {
                assert!((a - f64::from(*b)).abs() < 2e-5, "{columns} columns: {a} {b}");
            }
        }
    }

    #[test]
    fn far_points_give_exact_zeros_and_no_denormal_number() {
        let kernel = SquaredExponential::new(1e-3, vec![0.05]);
        let x = Mat::from_fn(200, 1, |i, _| i as f32 * 0.01);
        let k = cross::<f32>(&kernel, &x, &x);
        assert!(k.as_slice().iter().all(|v| *v == 0.0 || v.is_normal()));
        assert!(k.as_slice().contains(&0.0));
    }
}
