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
//! `k̄_b = Ā R`, `R̄ += Āᵀ k_b`, `k̄_a = mean̄ wᵀ`, `w̄ += k_aᵀ mean̄`, and the kernel's pullback. About `3·M_b²·P` flops a row.

use super::{Layer, MeanFunction, Prepared};
use crate::kernel::{CrossBars, Kernel, Scratch};
use crate::linalg::{Into, dot, lower_product, mirror_lower, product, times};
use crate::mat::{Mat, ViewMut};
use crate::real::Real;
use crate::simd::vectorised;

/// Variances below `absolute + relative · k(x, x)` are raised to it, with zero gradient, and counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Floor {
    pub absolute: f64,
    pub relative: f64,
}

/// A prepared layer as a block of rows sees it.
#[derive(Debug)]
pub(crate) struct RowLayer<'a, T> {
    kernel: &'a dyn Kernel,
    mean_function: &'a MeanFunction,
    /// `Z_a` above `Z_b`, or the one tied set.
    inducing: Mat<T>,
    covariance_start: usize,
    weights: Mat<T>,
    projection: Option<Mat<T>>,
    explained: Mat<T>,
    floor: Floor,
}

/// Sums over rows of what [`RowLayer::backward`] finds.
#[derive(Clone, Debug)]
pub(crate) struct LayerSums<T> {
    pub weights: Mat<T>,
    /// The lower triangle.
    pub projection: Mat<T>,
    /// `[P·M_b, M_b]`, the lower triangle of each block.
    pub explained: Mat<T>,
    pub inducing: Mat<T>,
    pub theta: Vec<f64>,
}

/// One block's numbers in one layer; memory that is used again and again.
#[derive(Debug, Default)]
pub(crate) struct LayerRows<T> {
    /// The layer's input, `[B, D]`: fill it before [`RowLayer::forward`].
    pub x: Mat<T>,
    /// `[B, P]` each, after [`RowLayer::forward`].
    pub mean: Mat<T>,
    pub variance: Mat<T>,
    /// Square roots of the variances, where the layer is sampled.
    pub deviation: Mat<T>,
    /// Gradients at them: fill these before [`RowLayer::backward`].
    pub mean_bar: Mat<T>,
    pub variance_bar: Mat<T>,
    /// Gradient at the input, after [`RowLayer::backward`].
    pub x_bar: Mat<T>,
    /// How many variances were raised to the floor.
    pub clamped: usize,
    k: Mat<T>,
    a: Mat<T>,
    q: Mat<T>,
    diagonal: Vec<T>,
    k_bar: Mat<T>,
    a_bar: Mat<T>,
    scaled: Mat<T>,
    scratch: Scratch<T>,
}

impl<T: Real> LayerSums<T> {
    pub fn zeros(layer: &Layer) -> Self {
        let (m_a, m_b) = (layer.inducing.mean().nrows(), layer.inducing.covariance().nrows());
        let (d, p) = (layer.input_width(), layer.output_width());
        let stacked = layer.inducing.covariance_start() + m_b;
        Self {
            weights: Mat::zeros(m_a, p),
            projection: Mat::zeros(m_b, m_b),
            explained: Mat::zeros(p * m_b, m_b),
            inducing: Mat::zeros(stacked, d),
            theta: vec![0.0; layer.kernel_parameters()],
        }
    }

    /// Every array in turn, those of the block's precision and the one that is always `f64`.
    pub fn parts_mut(&mut self) -> ([&mut [T]; 4], &mut [f64]) {
        let matrices = [&mut self.weights, &mut self.projection, &mut self.explained, &mut self.inducing];
        (matrices.map(Mat::as_mut_slice), &mut self.theta)
    }

    /// Every array in turn.
    pub fn parts(&self) -> ([&[T]; 4], &[f64]) {
        let matrices = [&self.weights, &self.projection, &self.explained, &self.inducing];
        (matrices.map(Mat::as_slice), &self.theta)
    }
}

impl<'a, T: Real> RowLayer<'a, T> {
    pub fn new(layer: &'a Layer, prepared: &Prepared, floor: Floor) -> Self {
        Self {
            kernel: &*layer.kernel,
            mean_function: &layer.mean_function,
            inducing: layer.inducing.stacked().cast(),
            covariance_start: layer.inducing.covariance_start(),
            weights: prepared.mean.weights.cast(),
            projection: prepared.covariance.projection.as_ref().map(Mat::cast),
            explained: prepared.covariance.explained.cast(),
            floor,
        }
    }

    pub fn input_width(&self) -> usize {
        self.inducing.ncols()
    }

    pub fn output_width(&self) -> usize {
        self.weights.ncols()
    }

    fn m_b(&self) -> usize {
        self.explained.nrows()
    }

    /// `k` and `A` for the rows in `rows.x`.
    fn project(&self, rows: &mut LayerRows<T>) {
        let (b, m_b) = (rows.x.nrows(), self.m_b());
        rows.k.reshape_for_overwrite(b, self.inducing.nrows());
        let LayerRows { x, k, a, scratch, .. } = rows;
        T::evaluator(self.kernel).cross(x.view(), self.inducing.view(), k.view_mut(), scratch);
        a.reshape_for_overwrite(b, m_b);
        let start = self.covariance_start;
        match &self.projection {
            Some(r) => {
                let k_b = k.view().faer().subcols(start, m_b);
                product(a.view_mut().faer(), Into::Replace, T::ONE, k_b, r.view().faer().transpose());
            }
            None => {
                for i in 0..b {
                    a.row_mut(i).copy_from_slice(&k.row(i)[start..start + m_b]);
                }
            }
        }
    }

    /// `mean` for the rows in `rows.x`, after [`RowLayer::project`].
    fn means(&self, rows: &mut LayerRows<T>) {
        rows.mean.reshape_for_overwrite(rows.x.nrows(), self.output_width());
        let k_a = rows.k.view().faer().subcols(0, self.weights.nrows());
        product(rows.mean.view_mut().faer(), Into::Replace, T::ONE, k_a, self.weights.view().faer());
        self.mean_function.add(rows.x.view(), rows.mean.view_mut());
    }

    /// Moments at the rows in `rows.x`.
    pub fn forward(&self, rows: &mut LayerRows<T>) {
        let (b, m_b, p) = (rows.x.nrows(), self.m_b(), self.output_width());
        self.project(rows);
        self.means(rows);
        let LayerRows { x, a, q, variance, diagonal, clamped, .. } = rows;
        diagonal.resize(b, T::ZERO);
        T::evaluator(self.kernel).diagonal(x.view(), diagonal);
        q.reshape_for_overwrite(b, p * m_b);
        product(q.view_mut().faer(), Into::Replace, T::ONE, a.view().faer(), self.explained.view().faer());
        variance.reshape_for_overwrite(b, p);
        *clamped = 0;
        vectorised(
            #[inline(always)]
            || {
                for i in 0..b {
                    let floor = self.floor_at(diagonal[i]);
                    let a = a.row(i);
                    for (v, q) in variance.row_mut(i).iter_mut().zip(q.row(i).chunks_exact(m_b)) {
                        *v = diagonal[i] - dot(a, q);
                        // Not `at_least`: a NaN must come through.
                        if *v < floor {
                            *v = floor;
                            *clamped += 1;
                        }
                    }
                }
            },
        );
    }

    fn floor_at(&self, diagonal: T) -> T {
        T::of(self.floor.absolute) + T::of(self.floor.relative) * diagonal
    }

    /// From `rows.mean_bar` and `rows.variance_bar`: adds to `sums`, and writes `rows.x_bar` if `want_x`.
    pub fn backward(&self, rows: &mut LayerRows<T>, sums: &mut LayerSums<T>, want_x: bool) {
        let (b, m_b, p, d) = (rows.x.nrows(), self.m_b(), self.output_width(), self.input_width());
        let (start, m_a) = (self.covariance_start, self.weights.nrows());
        let LayerRows { x, variance, mean_bar, variance_bar, x_bar, k, a, q, diagonal, .. } = rows;
        let LayerRows { k_bar, a_bar, scaled, scratch, .. } = rows;
        a_bar.reshape_for_overwrite(b, m_b);
        scaled.reshape_for_overwrite(b, m_b);
        let mut diagonal_bar = scratch.take(b);
        vectorised(
            #[inline(always)]
            || {
                for i in 0..b {
                    let floor = self.floor_at(diagonal[i]);
                    for (bar, &v) in variance_bar.row_mut(i).iter_mut().zip(variance.row(i)) {
                        if v <= floor {
                            *bar = T::ZERO;
                        }
                    }
                    diagonal_bar[i] = variance_bar.row(i).iter().copied().sum();
                    let a_bar = a_bar.row_mut(i);
                    a_bar.fill(T::ZERO);
                    for (&bar, q) in variance_bar.row(i).iter().zip(q.row(i).chunks_exact(m_b)) {
                        let weight = -(bar + bar);
                        for (to, &from) in a_bar.iter_mut().zip(q) {
                            *to += weight * from;
                        }
                    }
                }
            },
        );
        for o in 0..p {
            vectorised(
                #[inline(always)]
                || {
                    for i in 0..b {
                        let weight = -variance_bar[(i, o)];
                        for (to, &from) in scaled.row_mut(i).iter_mut().zip(a.row(i)) {
                            *to = weight * from;
                        }
                    }
                },
            );
            let own = &mut sums.explained.as_mut_slice()[o * m_b * m_b..(o + 1) * m_b * m_b];
            let own = ViewMut::new(own, m_b, m_b).faer();
            lower_product(own, Into::Add, T::ONE, scaled.view().faer().transpose(), a.view().faer());
        }
        let (k_a, k_b) = (k.view().faer().subcols(0, m_a), k.view().faer().subcols(start, m_b));
        product(sums.weights.view_mut().faer(), Into::Add, T::ONE, k_a.transpose(), mean_bar.view().faer());
        k_bar.reshape_for_overwrite(b, self.inducing.nrows());
        product(
            k_bar.view_mut().faer().subcols_mut(0, m_a),
            Into::Replace,
            T::ONE,
            mean_bar.view().faer(),
            self.weights.view().faer().transpose(),
        );
        let tied = start == 0;
        let k_b_bar = k_bar.view_mut().faer().subcols_mut(start, m_b);
        match &self.projection {
            Some(r) => {
                let own = sums.projection.view_mut().faer();
                lower_product(own, Into::Add, T::ONE, a_bar.view().faer().transpose(), k_b);
                let into = if tied { Into::Add } else { Into::Replace };
                product(k_b_bar, into, T::ONE, a_bar.view().faer(), r.view().faer());
            }
            None => {
                for i in 0..b {
                    let own = &mut k_bar.row_mut(i)[start..start + m_b];
                    for (to, &from) in own.iter_mut().zip(a_bar.row(i)) {
                        *to = if tied { *to + from } else { from };
                    }
                }
            }
        }
        if want_x {
            x_bar.reshape_for_overwrite(b, d);
            x_bar.fill(T::ZERO);
            self.mean_function.pullback(mean_bar.view(), x_bar.view_mut());
        }
        let evaluator = T::evaluator(self.kernel);
        let x_view = want_x.then(|| x_bar.view_mut());
        evaluator.diagonal_pullback(x.view(), &diagonal_bar, x_view, &mut sums.theta);
        scratch.give(diagonal_bar);
        let x_view = want_x.then(|| x_bar.view_mut());
        let bars = CrossBars { x: x_view, z: sums.inducing.view_mut(), theta: &mut sums.theta };
        evaluator.cross_pullback(x.view(), self.inducing.view(), k.view(), k_bar.view_mut(), bars, scratch);
    }
}

impl RowLayer<'_, f64> {
    /// `K_XX`, `[N, N]`.
    pub(crate) fn joint_prior(&self, rows: &LayerRows<f64>) -> Mat {
        let mut prior = Mat::zeros(rows.x.nrows(), rows.x.nrows());
        self.kernel.gram(rows.x.view(), prior.view_mut(), &mut Scratch::default());
        prior
    }

    /// `K_XX − A G_p Aᵀ`, `[N, N]`, after [`RowLayer::joint_mean`].
    pub(crate) fn joint_covariance(&self, rows: &LayerRows<f64>, prior: &Mat, output: usize) -> Mat {
        let m_b = self.m_b();
        let mut covariance = prior.clone();
        let g = self.explained.view().faer().subcols(output * m_b, m_b);
        let a_g = times(rows.a.view().faer(), g);
        let a_t = rows.a.view().faer().transpose();
        lower_product(covariance.view_mut().faer(), Into::Add, -1.0, a_g.view().faer(), a_t);
        mirror_lower(&mut covariance);
        covariance
    }

    /// `mean` at the rows in `rows.x`, and what [`RowLayer::joint_covariance`] needs.
    pub(crate) fn joint_mean(&self, rows: &mut LayerRows<f64>) {
        self.project(rows);
        self.means(rows);
    }
}
