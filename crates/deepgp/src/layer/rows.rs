//! A block of rows through one layer, forward and backward, in either precision. This is where a step spends its time.
//!
//! Given `w` `[M_a, P]`, `R` `[M_b, M_b]` and `G` `[M_b, P·M_b]`, for every row of a block:
//!
//! ```text
//! k = k(x, Z)                 mean = k_a w + m(x)
//! A = k_b Rᵀ                  Q_p = A G_p           variance_p = k(x, x) − A · Q_p
//! ```
//!
//! and backward, with `e_p = −∂/∂variance_p`: `Ā = 2 Σ_p e_p Q_p`, `Ḡ_p += Aᵀ diag(e_p) A` (symmetric: half of it), then
//! `k̄_b = Ā R`, `R̄ += Āᵀ k_b`, `k̄_a = mean̄ wᵀ`, `w̄ += k_aᵀ mean̄`, and the kernel's pullback. About `3·M_b²·P` flops a row, and
//! `M_b²·P` where nothing goes backward; where `G` is diagonal, `explained.rs` does with `6·M_b·P` and `2·M_b·P`.

use std::ops::Range;

use super::explained::{ExplainedSums, RowExplained};
use super::{Layer, MeanFunction, Prepared};
use crate::data::{InputLayout, Inputs};
use crate::kernel::Scratch;
use crate::kernel::bound::{BoundArrays, BoundKernel, KernelSums};
use crate::numeric::linalg::{
    Accumulate, dot, lower_product, mirror_lower, product, times_lower, times_lower_transposed,
};
use crate::numeric::mat::Mat;
use crate::numeric::real::{Real, narrow};
use crate::numeric::simd::vectorised;

/// The least variance of a layer's output: variances below `absolute + relative · k(x, x)` are raised to it, with zero gradient, and
/// counted.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    /// The part that does not depend on the row.
    pub absolute: f64,
    /// The factor of `k(x, x)`.
    pub relative: f64,
}

/// What is wanted of rows that go through a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// Means and variances: forward alone.
    Moments,
    /// Gradients too: forward and backward.
    Gradients,
}

/// The matrices that a block of rows needs of a prepared layer, in the precision of the rows. Their memory is reused.
#[derive(Debug, Default)]
pub(crate) struct RowArrays<T> {
    /// The kernel's arrays, bound to `Z_a` above `Z_b`, or to the one tied set.
    kernel: BoundArrays<T>,
    /// The mean's weights `w`, `[M_a, P]`.
    weights: Mat<T>,
    /// The projection `R`, `[M_b, M_b]`; `None` for the identity.
    projection: Option<Mat<T>>,
    /// The explained shares `G_1 … G_P`.
    pub(super) explained: RowExplained<T>,
    /// What the mean function needs for rows of this layout.
    mean_plan: Vec<T>,
}

/// A prepared layer in the precision of the rows that go through it.
#[derive(Debug)]
pub(crate) struct RowLayer<'a, T> {
    /// The kernel, bound to the inducing inputs.
    pub(super) kernel: BoundKernel<'a, T>,
    /// The fixed function that is added to the mean.
    mean_function: &'a MeanFunction,
    /// `w`, `R` and `G`.
    pub(super) arrays: RowArrays<T>,
    /// The stacked inducing inputs that are `Z_b`.
    covariance_rows: Range<usize>,
    /// The layout of the gradients at the explained shares.
    pub(super) explained_sums: ExplainedSums,
    /// The least variance.
    floor: Floor,
    /// Whether the conditional variance is wanted.
    pub conditional: bool,
}

/// The gradients of a layer that [`RowLayer::backward`] sums over rows, before the epilogue takes them to the parameters.
#[derive(Clone, Debug)]
pub(crate) struct LayerSums<T> {
    /// `w̄`, `[M_a, P]`.
    pub weights: Mat<T>,
    /// `R̄`, `[M_b, M_b]`, the lower triangle.
    pub projection: Mat<T>,
    /// `Ḡ_1 … Ḡ_P`, in the layout of [`ExplainedSums`].
    pub explained: Vec<T>,
    /// The gradients at inducing inputs and kernel parameters through `k(x, Z)` and `k(x, x)`.
    pub kernel: KernelSums<T>,
}

/// A block of `B` rows in one layer: its input, its moments, their gradients, and working memory that is reused.
#[derive(Debug, Default)]
pub(crate) struct LayerRows<T> {
    /// The layer's input, `[B, D]`: fill it before [`RowLayer::forward`].
    pub x: Inputs<T>,
    /// The means of the outputs, `[B, P]`, after [`RowLayer::forward`].
    pub mean: Mat<T>,
    /// The variances of the outputs, `[B, P]`, after [`RowLayer::forward`].
    pub variance: Mat<T>,
    /// The square roots of the variances, `[B, P]`, where the layer is sampled.
    pub deviation: Mat<T>,
    /// The conditional variances `d = k(x, x) − A Aᵀ`, `[B]`, where they are wanted: what the inducing inputs leave of the prior.
    pub conditional: Vec<T>,
    /// The gradient at `conditional`, where it is wanted: fill it before [`RowLayer::backward`].
    pub conditional_bar: Vec<T>,
    /// The gradient at `mean`: fill it before [`RowLayer::backward`].
    pub mean_bar: Mat<T>,
    /// The gradient at `variance`: fill it before [`RowLayer::backward`].
    pub variance_bar: Mat<T>,
    /// The gradient at the input, `[B, D]`, after [`RowLayer::backward`].
    pub x_bar: Mat<T>,
    /// The number of variances that were raised to the floor.
    pub clamped: usize,
    /// `k(x, Z)`, `[B, M_a + M_b]`, or `[B, M_a]` where `Z_b` is in `Z_a`.
    pub(super) k: Mat<T>,
    /// `A = k_b Rᵀ`, `[B, M_b]`.
    pub(super) a: Mat<T>,
    /// `Q_p = A G_p`, `[B, P·M_b]`, or `A∘A`, `[B, M_b]`, where `G` is diagonal.
    pub(super) q: Mat<T>,
    /// `k(x, x)`, `[B]`.
    diagonal: Vec<T>,
    /// `k̄`, of the shape of `k`.
    pub(super) k_bar: Mat<T>,
    /// `Ā`, `[B, M_b]`.
    a_bar: Mat<T>,
    /// Memory for `e_p ∘ A` of a group of outputs.
    pub(super) scaled: Mat<T>,
    /// Memory for the kernel.
    pub(super) scratch: Scratch<T>,
}

impl<T: Real> LayerRows<T> {
    /// The number of rows, `B`.
    pub fn len(&self) -> usize {
        self.x.nrows()
    }
}

impl<T: Real> LayerSums<T> {
    /// Sums of zero, for rows of this layout.
    pub fn zeros(layer: &Layer, layout: InputLayout<'_>) -> Self {
        let (m_a, m_b) = (layer.inducing.mean().nrows(), layer.inducing.covariance().nrows());
        let (d, p) = (layer.input_width(), layer.output_width());
        let stacked = layer.inducing.stacked_len();
        Self {
            weights: Mat::zeros(m_a, p),
            projection: Mat::zeros(m_b, m_b),
            explained: vec![T::ZERO; layer.explained_sums().len()],
            kernel: KernelSums::zeros(&*layer.kernel, (stacked, d), layout),
        }
    }

    /// Every array of the sums, to change: those of the rows' precision, and the one that is always `f64`.
    pub fn parts_mut(&mut self) -> ([&mut [T]; 4], &mut [f64]) {
        let [weights, projection] = [&mut self.weights, &mut self.projection].map(Mat::as_mut_slice);
        ([weights, projection, &mut self.explained, &mut self.kernel.inducing], &mut self.kernel.theta)
    }

    /// Every array of the sums that has the rows' precision.
    pub fn parts(&self) -> [&[T]; 4] {
        [self.weights.as_slice(), self.projection.as_slice(), &self.explained, &self.kernel.inducing]
    }
}

impl<'a, T: Real> RowLayer<'a, T> {
    /// Casts a prepared layer to the precision of the rows, for rows of this layout; reuses the memory of `arrays`.
    pub fn new(
        layer: &'a Layer,
        prepared: &Prepared,
        floor: Floor,
        want: Want,
        mut arrays: RowArrays<T>,
        layout: InputLayout<'_>,
    ) -> Self {
        let mut bound = std::mem::take(&mut arrays.kernel);
        bound.inducing.reshape_for_overwrite(layer.inducing.stacked_len(), layer.input_width());
        let mut rest = bound.inducing.as_mut_slice();
        for set in layer.inducing.stored() {
            let (own, after) = rest.split_at_mut(set.as_slice().len());
            narrow(set.as_slice(), own);
            rest = after;
        }
        cast_matrix(&prepared.mean.weights, &mut arrays.weights);
        match layer.covariance.projection(prepared.covariance_gram()) {
            Some(r) => cast_matrix(r, arrays.projection.get_or_insert_default()),
            None => arrays.projection = None,
        }
        layer.mean_function.plan(layout, &mut arrays.mean_plan);
        arrays.explained.cast(&prepared.covariance.explained, want);
        Self {
            kernel: BoundKernel::new(&*layer.kernel, bound, layout),
            mean_function: &layer.mean_function,
            arrays,
            covariance_rows: layer.inducing.covariance_rows(),
            explained_sums: layer.explained_sums(),
            floor,
            conditional: false,
        }
    }

    /// The arrays, whose memory the next step can reuse.
    pub fn into_arrays(self) -> RowArrays<T> {
        RowArrays { kernel: self.kernel.arrays, ..self.arrays }
    }

    /// The inducing inputs, `Z_a` above `Z_b`, or the one tied set.
    pub(super) fn inducing(&self) -> &Mat<T> {
        &self.kernel.arrays.inducing
    }

    /// The number of inputs, `D`.
    pub fn input_width(&self) -> usize {
        self.inducing().ncols()
    }

    /// The number of outputs, `P`.
    pub fn output_width(&self) -> usize {
        self.arrays.weights.ncols()
    }

    /// The number of the covariance's inducing inputs, `M_b`.
    fn m_b(&self) -> usize {
        self.covariance_rows.len()
    }

    /// Computes `k = k(x, Z)` and `A = k_b Rᵀ` for the rows in `rows.x`.
    fn project(&self, rows: &mut LayerRows<T>) {
        let (b, m_b) = (rows.len(), self.m_b());
        rows.k.reshape_for_overwrite(b, self.inducing().nrows());
        let LayerRows { x, k, a, scratch, .. } = rows;
        self.kernel.cross(x, k.view_mut(), scratch);
        a.reshape_for_overwrite(b, m_b);
        let start = self.covariance_rows.start;
        match &self.arrays.projection {
            Some(r) => {
                let k_b = k.view().faer().subcols(start, m_b);
                times_lower_transposed(a.view_mut().faer(), k_b, r.view().faer());
            }
            None => {
                for i in 0..b {
                    a.row_mut(i).copy_from_slice(&k.row(i)[start..start + m_b]);
                }
            }
        }
    }

    /// Computes `mean = k_a w + m(x)` for the rows in `rows.x`, after [`RowLayer::project`].
    fn means(&self, rows: &mut LayerRows<T>) {
        rows.mean.reshape_for_overwrite(rows.len(), self.output_width());
        let weights = &self.arrays.weights;
        let k_a = rows.k.view().faer().subcols(0, weights.nrows());
        product(rows.mean.view_mut().faer(), Accumulate::Replace, T::ONE, k_a, weights.view().faer());
        self.mean_function.add(&rows.x, &self.arrays.mean_plan, rows.mean.view_mut());
    }

    /// Computes mean and variance at the rows in `rows.x`.
    pub fn forward(&self, rows: &mut LayerRows<T>) {
        self.project(rows);
        self.means(rows);
        self.variances(rows);
    }

    /// Computes `variance_p = k(x, x) − A G_p Aᵀ`, and `Q_p = A G_p` where gradients are wanted, after [`RowLayer::project`].
    pub(super) fn variances(&self, rows: &mut LayerRows<T>) {
        let b = rows.len();
        let LayerRows { x, a, q, variance, diagonal, clamped, conditional, .. } = rows;
        diagonal.resize(b, T::ZERO);
        self.kernel.diagonal(x, diagonal);
        self.arrays.explained.forms(a, q, variance);
        if self.conditional {
            conditional.resize(b, T::ZERO);
            for (i, d) in conditional.iter_mut().enumerate() {
                let left = diagonal[i] - dot(a.row(i), a.row(i));
                *d = if left < self.floor_at(diagonal[i]) { self.floor_at(diagonal[i]) } else { left };
            }
        }
        *clamped = 0;
        for (i, &diagonal) in diagonal.iter().enumerate() {
            let floor = self.floor_at(diagonal);
            for v in variance.row_mut(i) {
                *v = diagonal - *v;
                // Not `at_least`: clamps are counted.
                if *v < floor {
                    *v = floor;
                    *clamped += 1;
                }
            }
        }
    }

    /// The least variance of a row whose prior variance is `diagonal`.
    fn floor_at(&self, diagonal: T) -> T {
        T::of(self.floor.absolute) + T::of(self.floor.relative) * diagonal
    }

    /// The pullback of [`RowLayer::variances`] to `Ā = 2 Σ_p e_p Q_p` and `diagonal_bar = −Σ_p e_p`; turns `rows.variance_bar` into
    /// `e_p = −∂/∂variance_p`, with zeros at the floor.
    pub(super) fn variances_pullback(&self, rows: &mut LayerRows<T>, diagonal_bar: &mut [T]) {
        let LayerRows { variance, variance_bar, a, q, diagonal, a_bar, conditional, conditional_bar, .. } = rows;
        vectorised(
            #[inline(always)]
            || {
                for i in 0..variance.nrows() {
                    let floor = self.floor_at(diagonal[i]);
                    let bars = variance_bar.row_mut(i);
                    for (bar, &v) in bars.iter_mut().zip(variance.row(i)) {
                        *bar = if v <= floor { T::ZERO } else { -*bar };
                    }
                    diagonal_bar[i] = -bars.iter().copied().sum::<T>();
                }
            },
        );
        self.arrays.explained.pullback(a, q, variance_bar, a_bar);
        if self.conditional {
            for (i, (&bar, &d)) in conditional_bar.iter().zip(&*conditional).enumerate() {
                if d > self.floor_at(diagonal[i]) {
                    diagonal_bar[i] += bar;
                    for (to, &a) in a_bar.row_mut(i).iter_mut().zip(a.row(i)) {
                        *to -= (bar + bar) * a;
                    }
                }
            }
        }
    }

    /// The pullback of [`RowLayer::forward`] from `rows.mean_bar` and `rows.variance_bar`, which it uses up: adds to `sums`, if there are
    /// any, and writes `rows.x_bar` if `want_x`.
    pub fn backward(&self, rows: &mut LayerRows<T>, mut sums: Option<&mut LayerSums<T>>, want_x: bool) {
        let (b, m_b, d) = (rows.len(), self.m_b(), self.input_width());
        let (start, m_a) = (self.covariance_rows.start, self.arrays.weights.nrows());
        let mut diagonal_bar = rows.scratch.take(b);
        self.variances_pullback(rows, &mut diagonal_bar);
        let LayerRows { x, mean_bar, variance_bar, x_bar, k, a, q, k_bar, a_bar, scaled, scratch, .. } = rows;
        if let Some(sums) = &mut sums {
            self.explained_sums.add(a, q, variance_bar, scaled, &mut sums.explained);
            let (k_a, k_b) = (k.view().faer().subcols(0, m_a), k.view().faer().subcols(start, m_b));
            product(sums.weights.view_mut().faer(), Accumulate::Add, T::ONE, k_a.transpose(), mean_bar.view().faer());
            if self.arrays.projection.is_some() {
                let own = sums.projection.view_mut().faer();
                lower_product(own, Accumulate::Add, T::ONE, a_bar.view().faer().transpose(), k_b);
            }
        }
        k_bar.reshape_for_overwrite(b, self.inducing().nrows());
        product(
            k_bar.view_mut().faer().subcols_mut(0, m_a),
            Accumulate::Replace,
            T::ONE,
            mean_bar.view().faer(),
            self.arrays.weights.view().faer().transpose(),
        );
        // In a tied or nested layer the mean has written to the same columns.
        let shared = start < m_a;
        let k_b_bar = k_bar.view_mut().faer().subcols_mut(start, m_b);
        match &self.arrays.projection {
            Some(r) => {
                let into = if shared { Accumulate::Add } else { Accumulate::Replace };
                times_lower(k_b_bar, into, a_bar.view().faer(), r.view().faer());
            }
            None => {
                for i in 0..b {
                    let own = &mut k_bar.row_mut(i)[start..start + m_b];
                    for (to, &from) in own.iter_mut().zip(a_bar.row(i)) {
                        *to = if shared { *to + from } else { from };
                    }
                }
            }
        }
        if want_x {
            x_bar.reshape_for_overwrite(b, d);
            x_bar.fill(T::ZERO);
            self.mean_function.pullback(mean_bar.view(), x_bar.view_mut());
        }
        let mut unused = None;
        let sums = match sums {
            Some(sums) => &mut sums.kernel,
            None => unused.insert(self.kernel.unused_sums()),
        };
        let x_view = want_x.then(|| x_bar.view_mut());
        self.kernel.pullback(x, k.view(), (k_bar.view_mut(), &diagonal_bar), x_view, sums, scratch);
        scratch.give(diagonal_bar);
    }
}

/// Casts `from` to the precision of `to`, whose memory is reused.
pub(super) fn cast_matrix<T: Real>(from: &Mat, to: &mut Mat<T>) {
    to.reshape_for_overwrite(from.nrows(), from.ncols());
    narrow(from.as_slice(), to.as_mut_slice());
}

impl RowLayer<'_, f64> {
    /// The prior covariance of the rows in `rows.x`, `K_XX`, `[N, N]`.
    pub(crate) fn joint_prior(&self, rows: &LayerRows<f64>) -> Mat {
        self.kernel.prior(rows.x.dense().view())
    }

    /// The covariance of one output between all rows, `K_XX − A G_p Aᵀ`, `[N, N]`, after [`RowLayer::joint_mean`]; `prior` is `K_XX`.
    pub(crate) fn joint_covariance(&self, rows: &LayerRows<f64>, prior: &Mat, output: usize) -> Mat {
        let mut covariance = prior.clone();
        let a_g = self.arrays.explained.times(&rows.a, output);
        let a_t = rows.a.view().faer().transpose();
        lower_product(covariance.view_mut().faer(), Accumulate::Add, -1.0, a_g.view().faer(), a_t);
        mirror_lower(covariance.view_mut());
        covariance
    }

    /// Computes `mean` at the rows in `rows.x`, and `A`, which [`RowLayer::joint_covariance`] needs.
    pub(crate) fn joint_mean(&self, rows: &mut LayerRows<f64>) {
        self.project(rows);
        self.means(rows);
    }
}
