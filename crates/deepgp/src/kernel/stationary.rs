//! Kernels of the scaled distance alone: `k(x, z) = σ² g(r²)` with `r² = Σ_d ((x_d − z_d) / ℓ_d)²` and `g(0) = 1`.
//!
//! One lengthscale for each input (ARD). A [`Profile`] is `g`; everything else is written once, here.

use super::distance::{by_differences, by_differences_pullback, by_products, by_products_pullback};
use super::{CrossBars, Evaluate, Kernel, Scratch, both_sides};
use crate::mat::{View, ViewMut};
use crate::params::{Constraint, Leaf, Parameters};
use crate::real::Real;
use crate::simd::vectorised;

/// No lengthscale falls below this.
const LENGTHSCALE_FLOOR: f64 = 1e-4;
/// No variance falls below this.
const VARIANCE_FLOOR: f64 = 1e-8;

/// The function `g` of a stationary kernel.
pub trait Profile: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// The kernel's name.
    const NAME: &'static str;
    /// Whether `g` has a kink at 0, so that rounding in `r²` matters there.
    const KINK: bool = false;
    /// Whether `g'` is a function of `g` alone: then the pullback need not compute distances again.
    const SLOPE_FROM_VALUE: bool = false;

    /// `g(r²)`.
    fn value<T: Real>(&self, r2: T) -> T;

    /// `g'(r²)`; `value` is `g(r²)`.
    fn slope<T: Real>(&self, r2: T, value: T) -> T;

    /// The shape parameter, if there is one: its name and its value.
    fn shape(&mut self) -> Option<(&'static str, &mut f64)> {
        None
    }

    /// `∂g/∂shape`; `value` is `g(r²)`.
    fn shape_slope<T: Real>(&self, _r2: T, _value: T) -> T {
        T::ZERO
    }
}

/// `σ² g(r²)`.
#[derive(Clone, Debug)]
pub struct Stationary<P> {
    /// `σ²`.
    pub variance: f64,
    /// `ℓ`, one for each input.
    pub lengthscales: Vec<f64>,
    /// `g`.
    pub profile: P,
}

impl<P: Profile> Stationary<P> {
    fn distances<T: Real>(&self, x: View<'_, T>, z: View<'_, T>, r2: ViewMut<'_, T>, scratch: &mut Scratch<T>) {
        if P::KINK {
            by_differences(x, z, &self.lengthscales, r2, scratch);
        } else {
            by_products(x, z, &self.lengthscales, r2, scratch);
        }
    }

    /// `r²` in place becomes `σ² g(r²)`.
    fn apply<T: Real>(&self, r2: &mut [T]) {
        let variance = T::of(self.variance);
        vectorised(
            #[inline(always)]
            || {
                for v in r2.iter_mut() {
                    *v = variance * self.profile.value(*v);
                }
            },
        );
    }

    /// `k̄` in place becomes `W = k̄ σ² g'(r²)`; adds the gradients of `σ²` and of the shape to `theta_bar`.
    fn weigh<T: Real>(&self, r2: &[T], k: &[T], k_bar: &mut [T], columns: usize, theta_bar: &mut [f64]) {
        let (variance, inverse) = (T::of(self.variance), T::of(1.0 / self.variance));
        let d = self.lengthscales.len();
        vectorised(
            #[inline(always)]
            || {
                const LANES: usize = 16;
                let rows = k.chunks(columns).zip(k_bar.chunks_mut(columns)).zip(r2.chunks(columns));
                for ((k, k_bar), r2) in rows {
                    let (mut for_variance, mut for_shape) = ([T::ZERO; LANES], [T::ZERO; LANES]);
                    let lanes = k.chunks(LANES).zip(k_bar.chunks_mut(LANES)).zip(r2.chunks(LANES));
                    for ((k, k_bar), r2) in lanes {
                        for i in 0..k.len() {
                            let value = k[i] * inverse;
                            for_variance[i] += k_bar[i] * value;
                            if theta_bar.len() > d + 1 {
                                for_shape[i] += k_bar[i] * self.profile.shape_slope(r2[i], value);
                            }
                            k_bar[i] *= variance * self.profile.slope(r2[i], value);
                        }
                    }
                    theta_bar[d] += crate::linalg::sum_lanes(for_variance).to_f64();
                    if theta_bar.len() > d + 1 {
                        theta_bar[d + 1] += self.variance * crate::linalg::sum_lanes(for_shape).to_f64();
                    }
                }
            },
        );
    }
}

/// Lists lengthscales, variance, then the shape.
impl<P: Profile> Parameters for Stationary<P> {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        leaf(Leaf {
            name: "lengthscales",
            constraint: Constraint::Positive { floor: LENGTHSCALE_FLOOR },
            shape: &[self.lengthscales.len()],
            values: &mut self.lengthscales,
        });
        leaf(Leaf {
            name: "variance",
            constraint: Constraint::Positive { floor: VARIANCE_FLOOR },
            shape: &[],
            values: std::slice::from_mut(&mut self.variance),
        });
        if let Some((name, value)) = self.profile.shape() {
            let constraint = Constraint::Positive { floor: 1e-3 };
            leaf(Leaf { name, constraint, shape: &[], values: std::slice::from_mut(value) });
        }
    }
}

impl<T: Real, P: Profile> Evaluate<T> for Stationary<P> {
    fn cross(&self, x: View<'_, T>, z: View<'_, T>, mut k: ViewMut<'_, T>, scratch: &mut Scratch<T>) {
        self.distances(x, z, k.reborrow(), scratch);
        self.apply(k.as_mut_slice());
    }

    fn cross_pullback(
        &self,
        x: View<'_, T>,
        z: View<'_, T>,
        k: View<'_, T>,
        mut k_bar: ViewMut<'_, T>,
        bars: CrossBars<'_, T>,
        scratch: &mut Scratch<T>,
    ) {
        if P::SLOPE_FROM_VALUE {
            self.weigh(k.as_slice(), k.as_slice(), k_bar.as_mut_slice(), z.nrows(), bars.theta);
        } else {
            let mut r2 = scratch.take(x.nrows() * z.nrows());
            self.distances(x, z, ViewMut::new(&mut r2, x.nrows(), z.nrows()), scratch);
            self.weigh(&r2, k.as_slice(), k_bar.as_mut_slice(), z.nrows(), bars.theta);
            scratch.give(r2);
        }
        if P::KINK {
            by_differences_pullback(x, z, &self.lengthscales, k_bar.as_view(), bars, scratch);
        } else {
            by_products_pullback(x, z, &self.lengthscales, k_bar.as_view(), bars, scratch);
        }
    }

    fn diagonal(&self, _x: View<'_, T>, out: &mut [T]) {
        out.fill(T::of(self.variance));
    }

    fn diagonal_pullback(
        &self,
        _x: View<'_, T>,
        diagonal_bar: &[T],
        _x_bar: Option<ViewMut<'_, T>>,
        theta_bar: &mut [f64],
    ) {
        theta_bar[self.lengthscales.len()] += diagonal_bar.iter().map(|v| v.to_f64()).sum::<f64>();
    }
}

impl<P: Profile> Kernel for Stationary<P> {
    fn name(&self) -> String {
        P::NAME.to_string()
    }

    fn input_width(&self) -> usize {
        self.lengthscales.len()
    }

    fn clone_box(&self) -> Box<dyn Kernel> {
        Box::new(self.clone())
    }

    fn gram(&self, z: View<'_>, mut k: ViewMut<'_>, scratch: &mut Scratch<f64>) {
        by_differences(z, z, &self.lengthscales, k.reborrow(), scratch);
        self.apply(k.as_mut_slice());
    }

    fn gram_pullback(
        &self,
        z: View<'_>,
        k: View<'_>,
        mut k_bar: ViewMut<'_>,
        z_bar: ViewMut<'_>,
        theta_bar: &mut [f64],
        scratch: &mut Scratch<f64>,
    ) {
        let m = z.nrows();
        let mut r2 = scratch.take(m * m);
        if !P::SLOPE_FROM_VALUE {
            by_differences(z, z, &self.lengthscales, ViewMut::new(&mut r2, m, m), scratch);
        }
        self.weigh(&r2, k.as_slice(), k_bar.as_mut_slice(), m, theta_bar);
        both_sides(z, z_bar, theta_bar, scratch, |bars, scratch| {
            by_differences_pullback(z, z, &self.lengthscales, k_bar.as_view(), bars, scratch);
        });
        scratch.give(r2);
    }
}
