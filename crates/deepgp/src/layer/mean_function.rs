//! Fixed mean functions: what a layer returns before it has learnt anything (Salimbeni and Deisenroth 2017).
//!
//! A hidden layer starts as the identity, so that a deep model starts as a shallow one. Mean functions have no parameters.

use super::principal_directions::principal_directions;
use crate::data::compressed::{pack, packed_len};
use crate::data::sparse::SparseRows;
use crate::data::{InputLayout, Inputs};
use crate::error::{Error, Result};
use crate::numeric::linalg::{Accumulate, product};
use crate::numeric::mat::{Mat, View, ViewMut};
use crate::numeric::real::Real;

/// A fixed function `m(x)` that a layer adds to its mean, `[N, D] → [N, P]`.
#[derive(Clone, Debug, PartialEq)]
pub enum MeanFunction {
    /// `m(x) = 0`: the usual choice for the last layer.
    Zero,
    /// `m(x) = x`, where widths match.
    Identity,
    /// `m(x) = (x, 0, …, 0)`, where a layer is wider than its input.
    ZeroPadding,
    /// `m(x) = x W` with `W` of shape `[D, P]`, e.g. the leading principal directions where a layer is narrower.
    Linear(Mat),
}

impl MeanFunction {
    /// The usual choice for a hidden layer of `width` outputs over inputs that look like `x`: the identity, zero padding where the layer
    /// is wider than its input, principal directions where it is narrower.
    pub fn between(x: View<'_>, width: usize) -> Result<Self> {
        Ok(match x.ncols().cmp(&width) {
            std::cmp::Ordering::Equal => Self::Identity,
            std::cmp::Ordering::Less => Self::ZeroPadding,
            std::cmp::Ordering::Greater => Self::principal_directions(x, width)?,
        })
    }

    /// The linear function onto the `width` directions in which `x` (taken as centred) varies most: leading eigenvectors of `xᵀx`,
    /// and 0 where there are more columns than rows and `width` is more than the directions that these vary along.
    pub fn principal_directions(x: View<'_>, width: usize) -> Result<Self> {
        if width > x.ncols() {
            return Err(Error::Shape {
                what: "principal directions",
                expected: format!("at most {}, the width of the input", x.ncols()),
                found: width.to_string(),
            });
        }
        principal_directions(x, width).map(Self::Linear)
    }

    /// Fails unless the function maps width `input` to width `output`.
    pub(crate) fn check(&self, layer: usize, input: usize, output: usize) -> Result<()> {
        let fits = match self {
            Self::Zero => true,
            Self::Identity => input == output,
            Self::ZeroPadding => input <= output,
            Self::Linear(w) => (w.nrows(), w.ncols()) == (input, output),
        };
        if let Self::Linear(w) = self
            && w.as_slice().iter().any(|v| !v.is_finite())
        {
            return Err(Error::Overflow { what: format!("the mean function of layer {layer}") });
        }
        if fits {
            return Ok(());
        }
        let (found, expected) = match self {
            Self::Linear(w) if w.nrows() != input => (w.nrows(), input),
            Self::Linear(w) => (w.ncols(), output),
            _ => (input, output),
        };
        let advice = "take a mean function that maps the layer's input width to its output width";
        Err(Error::Width { layer, what: "the mean function", found, expected, advice })
    }

    /// Whether the function keeps distances between rows, so that inducing inputs can simply be pushed through it.
    pub(crate) fn keeps_distances(&self) -> bool {
        matches!(self, Self::Identity | Self::ZeroPadding)
    }

    /// The values `m(x)` as a new matrix of `width` columns. Panics if `x` has not the width that the function maps from.
    pub fn apply(&self, x: View<'_>, width: usize) -> Mat {
        assert!(self.check(0, x.ncols(), width).is_ok(), "a mean function from width {} to {width}", x.ncols());
        let mut out = Mat::zeros(x.nrows(), width);
        self.add_dense(x, out.view_mut());
        out
    }

    /// Writes to `plan` what [`MeanFunction::add`] needs, once for all rows of one layout: for sparse rows `background W` and `W`, laid out
    /// for the sparse product.
    pub(crate) fn plan<T: Real>(&self, layout: InputLayout<'_>, plan: &mut Vec<T>) {
        match layout {
            InputLayout::Dense => {}
            InputLayout::Sparse(background) => self.plan_sparse(background, plan),
        }
    }

    /// Adds `m(x)` to `out`.
    pub(crate) fn add<T: Real>(&self, x: &Inputs<T>, plan: &[T], out: ViewMut<'_, T>) {
        match x {
            Inputs::Dense(x) => self.add_dense(x.view(), out),
            Inputs::Sparse(x) => self.add_sparse(x, plan, out),
        }
    }

    /// Adds `m(x)` of dense rows to `out`.
    fn add_dense<T: Real>(&self, x: View<'_, T>, mut out: ViewMut<'_, T>) {
        match self {
            Self::Zero => {}
            Self::Identity | Self::ZeroPadding => {
                for i in 0..x.nrows() {
                    for (to, &from) in out.row_mut(i).iter_mut().zip(x.row(i)) {
                        *to += from;
                    }
                }
            }
            Self::Linear(w) => {
                let w: Mat<T> = w.cast();
                product(out.faer(), Accumulate::Add, T::ONE, x.faer(), w.view().faer());
            }
        }
    }

    /// Writes `background W`, `[P]`, and `W`, `[D, P]`, laid out for the sparse product, for a linear function.
    fn plan_sparse<T: Real>(&self, background: &[f64], plan: &mut Vec<T>) {
        let Self::Linear(w) = self else { return };
        let (d, p) = (w.nrows(), w.ncols());
        plan.resize(p + packed_len::<T>(d, p), T::ZERO);
        let (constant, packed) = plan.split_at_mut(p);
        for (j, to) in constant.iter_mut().enumerate() {
            *to = T::of((0..d).map(|i| background[i] * w[(i, j)]).sum());
        }
        pack(w.cast::<T>().view(), packed);
    }

    /// Adds `m(x)` of sparse rows `x = background + δ` to `out`: for a linear function `background W + δ W`.
    fn add_sparse<T: Real>(&self, x: &SparseRows<T>, plan: &[T], mut out: ViewMut<'_, T>) {
        match self {
            Self::Zero => {}
            Self::Identity | Self::ZeroPadding => {
                for i in 0..x.nrows() {
                    let to = out.row_mut(i);
                    for (to, &from) in to.iter_mut().zip(x.background()) {
                        *to += from;
                    }
                    let (columns, deltas) = x.deltas().row(i);
                    for (&j, &delta) in columns.iter().zip(deltas) {
                        to[j as usize] += delta;
                    }
                }
            }
            Self::Linear(w) => {
                let (constant, packed) = plan.split_at(w.ncols());
                x.deltas().times_packed(Accumulate::Add, packed, out.reborrow());
                for i in 0..x.nrows() {
                    for (to, &from) in out.row_mut(i).iter_mut().zip(constant) {
                        *to += from;
                    }
                }
            }
        }
    }

    /// Adds `∂/∂x` from `∂/∂m(x)`: `x̄ += m̄ Wᵀ` for a linear function.
    pub(crate) fn pullback<T: Real>(&self, out_bar: View<'_, T>, mut x_bar: ViewMut<'_, T>) {
        match self {
            Self::Zero => {}
            Self::Identity | Self::ZeroPadding => {
                for i in 0..out_bar.nrows() {
                    for (to, &from) in x_bar.row_mut(i).iter_mut().zip(out_bar.row(i)) {
                        *to += from;
                    }
                }
            }
            Self::Linear(w) => {
                let w: Mat<T> = w.cast();
                product(x_bar.faer(), Accumulate::Add, T::ONE, out_bar.faer(), w.view().faer().transpose());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_slope, dot_all, uniform};

    #[test]
    fn directions_of_huge_inputs_are_those_of_small_ones_and_what_is_not_finite_is_refused() {
        let x = uniform(30, 4, 1);
        let huge = Mat::from_fn(30, 4, |i, j| x[(i, j)] * 2f64.powi(664));
        let directions = |x: &Mat| MeanFunction::principal_directions(x.view(), 2).unwrap();
        assert_eq!(directions(&x).check(0, 4, 2), Ok(()));
        let (MeanFunction::Linear(small), MeanFunction::Linear(large)) = (directions(&x), directions(&huge)) else {
            unreachable!()
        };
        assert!(small.as_slice().iter().zip(large.as_slice()).all(|(a, b)| (a - b).abs() < 1e-12));
        let broken = MeanFunction::Linear(Mat::from_fn(4, 2, |_, _| f64::NAN));
        assert!(matches!(broken.check(1, 4, 2), Err(Error::Overflow { .. })));
        let x = Mat::from_fn(5, 3, |_, _| f64::NAN);
        assert!(MeanFunction::principal_directions(x.view(), 2).is_err());
    }

    #[test]
    fn widths_choose_the_function_and_the_pullback_is_its_transpose() {
        let x = uniform(6, 3, 1);
        for width in [2, 3, 5] {
            let function = MeanFunction::between(x.view(), width).unwrap();
            function.check(0, 3, width).unwrap();
            assert!(function.check(0, 4, width).is_err() || width == 5);
            let weight = uniform(6, width, 2);
            let mut x_bar = Mat::zeros(6, 3);
            function.pullback(weight.view(), x_bar.view_mut());
            assert_slope("mean function", &x, &x_bar, 1e-8, |x| dot_all(&weight, &function.apply(x.view(), width)));
        }
    }

    #[test]
    fn principal_directions_keep_the_most_variance() {
        // The third column is large, the first is twice the second.
        let mut x = uniform(50, 3, 3);
        for i in 0..50 {
            x[(i, 2)] *= 10.0;
            x[(i, 0)] = 2.0 * x[(i, 1)];
        }
        let MeanFunction::Linear(w) = MeanFunction::principal_directions(x.view(), 2).unwrap() else { panic!() };
        assert!(w[(2, 0)] > 0.99);
        assert!((w[(0, 1)] / w[(1, 1)] - 2.0).abs() < 0.1);
        assert!(MeanFunction::principal_directions(x.view(), 4).is_err());
    }
}
