//! Kernels of the scaled distance alone: `k(x, z) = σ² g(r²)` with `r² = Σ_d ((x_d − z_d) / ℓ_d)²` and `g(0) = 1`.
//!
//! There is one lengthscale `ℓ_d` for each input (ARD). A [`Profile`] is `g`; everything else is written once, here. Backward,
//! with `W = k̄ σ² g'(r²)`, the gradient at `r²` (`[N, M]`): `σ̄² = Σ k̄ k / σ²`, the gradient of a shape parameter `α` is
//! `Σ k̄ σ² ∂g/∂α`, and `distance.rs` takes `W` on to inputs and lengthscales.

use super::distance::{
    Weights, by_differences, by_differences_pullback, by_products, by_products_pullback, lower_by_differences,
    lower_by_products, symmetric_pullback,
};
use super::{CrossBars, Evaluate, EvaluateSparse, Kernel, KernelForm, Scratch, SparseRows, both_sides, sparse};
use crate::model::params::{Constraint, Leaf, Parameters};
use crate::numeric::linalg::{mirror_lower, sum_lanes};
use crate::numeric::mat::{View, ViewMut};
use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;
use crate::settings::KernelChoice;

/// The number of partial sums that a loop keeps side by side, so that it vectorises.
const LANES: usize = 16;
/// From so many columns on, distances between inducing inputs, and in single precision to them, are taken by products too:
/// differences would take as long as all the rest, and points in so many dimensions are not as close to one another, in view of
/// their distance from the origin, that rounding could matter.
const MANY_COLUMNS: usize = 32;
/// The least lengthscale that training can reach.
const LENGTHSCALE_FLOOR: f64 = 1e-4;
/// The least variance that training can reach.
const VARIANCE_FLOOR: f64 = 1e-8;
/// The least shape parameter that training can reach.
const SHAPE_FLOOR: f64 = 1e-3;

/// The function `g` of a stationary kernel `k = σ² g(r²)`, with `g(0) = 1`.
pub trait Profile: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// The kernel's name, e.g. `matern-3/2`.
    const NAME: &'static str;
    /// Which of the library's kernels this is; `None` for one that is defined elsewhere, which no file can hold.
    const CHOICE: Option<KernelChoice> = None;
    /// Whether `g` has a kink at 0, so that rounding in `r²` matters there.
    const KINK: bool = false;
    /// Whether `g'` is a function of `g` alone: then the pullback need not compute distances again, unless a shape asks for them.
    const SLOPE_FROM_VALUE: bool = false;

    /// Whether `g` has a shape parameter beside variance and lengthscales.
    const SHAPED: bool = false;

    /// The value `g(r²)`.
    fn value<T: Real>(&self, r2: T) -> T;

    /// The slope `g'(r²) = ∂g/∂r²`; `value` is `g(r²)`.
    fn slope<T: Real>(&self, r2: T, value: T) -> T;

    /// Name and value of the shape parameter, if the profile is [`Profile::SHAPED`].
    fn shape(&mut self) -> Option<(&'static str, &mut f64)> {
        None
    }

    /// The slope in the shape parameter, `∂g/∂shape` at `r²`; `value` is `g(r²)`.
    fn shape_slope<T: Real>(&self, _r2: T, _value: T) -> T {
        T::ZERO
    }
}

/// A kernel of the scaled distance alone, `k(x, z) = σ² g(r²)` with a lengthscale for each input.
#[derive(Clone, Debug)]
pub struct Stationary<P> {
    /// The variance `σ² = k(x, x)`.
    pub variance: f64,
    /// The lengthscales `ℓ`, one for each input.
    pub lengthscales: Vec<f64>,
    /// The function `g`.
    pub profile: P,
}

impl<P: Profile> Stationary<P> {
    /// Writes `r²`, `[N, M]`, by products or by differences, as its rounding asks for; `finish` gets each row of it.
    fn distances<T: Real>(
        &self,
        x: View<'_, T>,
        z: View<'_, T>,
        r2: ViewMut<'_, T>,
        scratch: &mut Scratch<T>,
        finish: impl Fn(&mut [T]),
    ) {
        if P::KINK || (T::ROUNDS_COARSELY && z.ncols() < MANY_COLUMNS) {
            by_differences(x, z, &self.lengthscales, r2, scratch, finish);
        } else {
            by_products(x, z, &self.lengthscales, r2, scratch, finish);
        }
    }

    /// Turns `r²` into `σ² g(r²)`, in place.
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

    /// Turns `k̄` into `W = k̄ σ² g'(r²)`, in place, and sums it along both axes; adds the gradients of variance and shape,
    /// `Σ k̄ g` and `σ² Σ k̄ ∂g/∂shape`, to `theta_bar`.
    fn weigh<T: Real>(&self, r2: &[T], k: &[T], k_bar: &mut [T], sums: &mut AxisSums<T>, theta_bar: &mut [f64]) {
        let (d, columns) = (self.lengthscales.len(), sums.columns.len());
        sums.columns.fill(T::ZERO);
        let mut rows = k.chunks_exact(columns).zip(k_bar.chunks_exact_mut(columns)).zip(r2.chunks_exact(columns));
        let (mut variance_bar, mut shape_bar) = (0.0, 0.0);
        vectorised(
            #[inline(always)]
            || {
                for (((k, k_bar), r2), row_sum) in rows.by_ref().zip(&mut sums.rows) {
                    let totals = self.weigh_row(r2, k, k_bar, &mut sums.columns);
                    *row_sum = sum_lanes(totals.weights);
                    variance_bar += sum_lanes(totals.variance).to_f64();
                    shape_bar += sum_lanes(totals.shape).to_f64();
                }
            },
        );
        theta_bar[d] += variance_bar;
        if let Some(to) = theta_bar.get_mut(d + 1) {
            *to += self.variance * shape_bar;
        }
    }

    /// One row of [`Stationary::weigh`], in chunks of a fixed size so that it vectorises.
    #[inline(always)]
    fn weigh_row<T: Real>(&self, r2: &[T], k: &[T], k_bar: &mut [T], columns: &mut [T]) -> RowTotals<T> {
        let (variance, inverse) = (T::of(self.variance), T::of(1.0 / self.variance));
        let one = |r2: T, k: T, k_bar: T| {
            let value = k * inverse;
            let shape = if P::SHAPED { k_bar * self.profile.shape_slope(r2, value) } else { T::ZERO };
            (k_bar * variance * self.profile.slope(r2, value), k_bar * value, shape)
        };
        let mut totals = RowTotals::default();
        let (r2, r2_rest) = r2.as_chunks::<LANES>();
        let (k, k_rest) = k.as_chunks::<LANES>();
        let (k_bar, k_bar_rest) = k_bar.as_chunks_mut::<LANES>();
        let (columns, columns_rest) = columns.as_chunks_mut::<LANES>();
        for (((r2, k), k_bar), column) in r2.iter().zip(k).zip(k_bar).zip(columns) {
            totals = totals.add_chunk(&one, r2, k, k_bar, column);
        }
        let rest = r2_rest.iter().zip(k_rest).zip(k_bar_rest).zip(columns_rest);
        for (i, (((r2, k), k_bar), column)) in rest.enumerate() {
            let (w, value, shape) = one(*r2, *k, *k_bar);
            totals.weights[i] += w;
            totals.variance[i] += value;
            totals.shape[i] += shape;
            *k_bar = w;
            *column += w;
        }
        totals
    }
}

/// Sums over one row of what [`Stationary::weigh`] needs, each as [`LANES`] partial sums.
#[derive(Default)]
struct RowTotals<T> {
    /// `Σ_m W_nm`.
    weights: [T; LANES],
    /// `Σ_m k̄_nm g_nm`.
    variance: [T; LANES],
    /// `Σ_m k̄_nm ∂g_nm/∂shape`.
    shape: [T; LANES],
}

impl<T: Real> RowTotals<T> {
    /// Adds [`LANES`] entries of a row and writes their weights over `k_bar`. It takes and returns the sums by value, so that they
    /// stay in registers.
    #[inline(always)]
    fn add_chunk(
        mut self,
        one: &impl Fn(T, T, T) -> (T, T, T),
        r2: &[T; LANES],
        k: &[T; LANES],
        k_bar: &mut [T; LANES],
        column: &mut [T; LANES],
    ) -> Self {
        for i in 0..LANES {
            let (w, value, shape) = one(r2[i], k[i], k_bar[i]);
            self.weights[i] += w;
            self.variance[i] += value;
            self.shape[i] += shape;
            k_bar[i] = w;
            column[i] += w;
        }
        self
    }
}

/// Sums of a matrix along its rows and along its columns.
struct AxisSums<T> {
    /// `Σ_m W_nm`, one for each row.
    rows: Vec<T>,
    /// `Σ_n W_nm`, one for each column.
    columns: Vec<T>,
}

impl<T: Real> AxisSums<T> {
    /// Borrows memory for the sums of a `[rows, columns]` matrix.
    fn take(rows: usize, columns: usize, scratch: &mut Scratch<T>) -> Self {
        Self { rows: scratch.take(rows), columns: scratch.take(columns) }
    }

    /// Gives the memory back.
    fn give(self, scratch: &mut Scratch<T>) {
        scratch.give(self.rows);
        scratch.give(self.columns);
    }
}

/// The parameters in their order: lengthscales, variance, then the shape if there is one.
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
            let constraint = Constraint::Positive { floor: SHAPE_FLOOR };
            leaf(Leaf { name, constraint, shape: &[], values: std::slice::from_mut(value) });
        }
    }
}

impl<T: Real, P: Profile> Evaluate<T> for Stationary<P> {
    fn cross(&self, x: View<'_, T>, z: View<'_, T>, k: ViewMut<'_, T>, scratch: &mut Scratch<T>) {
        self.distances(x, z, k, scratch, |row| self.apply(row));
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
        let (n, m) = (x.nrows(), z.nrows());
        let mut sums = AxisSums::take(n, m, scratch);
        if P::SLOPE_FROM_VALUE && !P::SHAPED {
            self.weigh(k.as_slice(), k.as_slice(), k_bar.as_mut_slice(), &mut sums, bars.theta);
        } else {
            let mut r2 = scratch.take(n * m);
            self.distances(x, z, ViewMut::new(&mut r2, n, m), scratch, |_| ());
            self.weigh(&r2, k.as_slice(), k_bar.as_mut_slice(), &mut sums, bars.theta);
            scratch.give(r2);
        }
        if P::KINK {
            by_differences_pullback(x, z, &self.lengthscales, k_bar.as_view(), bars, scratch);
        } else {
            let weights = Weights { w: k_bar.as_view(), row_sums: &sums.rows, column_sums: &sums.columns };
            by_products_pullback(x, z, &self.lengthscales, weights, bars, scratch);
        }
        sums.give(scratch);
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

    fn sparse(&self) -> Option<&dyn EvaluateSparse<T>> {
        // Where there is a kink, distances are not taken by products.
        if P::KINK { None } else { Some(self) }
    }
}

impl<T: Real, P: Profile> EvaluateSparse<T> for Stationary<P> {
    fn plan(&self, background: &[f64], z: View<'_, T>, plan: &mut Vec<T>) {
        sparse::plan(background, z, &self.lengthscales, plan);
    }

    fn cross(&self, x: &SparseRows<T>, plan: &[T], k: ViewMut<'_, T>, _scratch: &mut Scratch<T>) {
        sparse::distances(x, plan, k, |row| self.apply(row));
    }

    fn cross_pullback(
        &self,
        x: &SparseRows<T>,
        plan: &[T],
        k: View<'_, T>,
        mut k_bar: ViewMut<'_, T>,
        sums: &mut [T],
        theta: &mut [f64],
        scratch: &mut Scratch<T>,
    ) {
        let (n, m) = (k.nrows(), k.ncols());
        let mut axes = AxisSums::take(n, m, scratch);
        if P::SLOPE_FROM_VALUE && !P::SHAPED {
            self.weigh(k.as_slice(), k.as_slice(), k_bar.as_mut_slice(), &mut axes, theta);
        } else {
            let mut r2 = scratch.take(n * m);
            sparse::distances(x, plan, ViewMut::new(&mut r2, n, m), |_| ());
            self.weigh(&r2, k.as_slice(), k_bar.as_mut_slice(), &mut axes, theta);
            scratch.give(r2);
        }
        sparse::pullback(x, k_bar.as_view(), (&axes.rows, &axes.columns), sums, scratch);
        axes.give(scratch);
    }

    fn diagonal(&self, _x: &SparseRows<T>, out: &mut [T]) {
        out.fill(T::of(self.variance));
    }

    fn diagonal_pullback(&self, _x: &SparseRows<T>, diagonal_bar: &[T], theta: &mut [f64]) {
        theta[self.lengthscales.len()] += diagonal_bar.iter().map(|v| v.to_f64()).sum::<f64>();
    }

    fn sums_len(&self, m: usize) -> usize {
        sparse::sums_len(m, self.lengthscales.len())
    }

    fn finish(&self, background: &[f64], z: View<'_>, sums: &[f64], z_bar: ViewMut<'_>, theta: &mut [f64]) {
        sparse::finish(background, z, &self.lengthscales, sums, z_bar, theta);
    }
}

impl<P: Profile> Kernel for Stationary<P> {
    fn name(&self) -> String {
        P::NAME.to_string()
    }

    fn input_width(&self) -> usize {
        self.lengthscales.len()
    }

    fn form(&self) -> Option<KernelForm> {
        P::CHOICE.map(KernelForm::One)
    }

    fn clone_box(&self) -> Box<dyn Kernel> {
        Box::new(self.clone())
    }

    fn gram(&self, z: View<'_>, mut k: ViewMut<'_>, scratch: &mut Scratch<f64>) {
        if P::KINK || z.ncols() < MANY_COLUMNS {
            lower_by_differences(z, &self.lengthscales, k.reborrow(), scratch);
            for i in 0..z.nrows() {
                self.apply(&mut k.row_mut(i)[..=i]);
            }
        } else {
            lower_by_products(z, &self.lengthscales, k.reborrow(), scratch, |row| self.apply(row));
        }
        mirror_lower(k);
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
        let mut sums = AxisSums::take(m, m, scratch);
        if P::SLOPE_FROM_VALUE && !P::SHAPED {
            self.weigh(k.as_slice(), k.as_slice(), k_bar.as_mut_slice(), &mut sums, theta_bar);
        } else {
            let mut r2 = scratch.take(m * m);
            by_differences(z, z, &self.lengthscales, ViewMut::new(&mut r2, m, m), scratch, |_| ());
            self.weigh(&r2, k.as_slice(), k_bar.as_mut_slice(), &mut sums, theta_bar);
            scratch.give(r2);
        }
        if P::KINK {
            both_sides(z, z_bar, theta_bar, scratch, |bars, scratch| {
                by_differences_pullback(z, z, &self.lengthscales, k_bar.as_view(), bars, scratch);
            });
        } else {
            symmetric_pullback(z, &self.lengthscales, k_bar.as_view(), &sums.rows, z_bar, theta_bar, scratch);
        }
        sums.give(scratch);
    }
}
