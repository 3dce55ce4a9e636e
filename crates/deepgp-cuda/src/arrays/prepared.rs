//! Arrays of what a layer is prepared into once a step: kernel matrices, factors, `w`, `R` and `G`.

use deepgp::{CovarianceForm, MeanForm, MeanFunction};

use super::{divergences, when};
use crate::device::memory::{Arena, Span};
use crate::device::real::Real;
use crate::kernels::resident::resident_bytes;
use crate::model::blueprint::{GramBlueprint, Grams, LayerBlueprint};

/// One kernel matrix of inducing inputs.
#[derive(Clone, Copy, Debug)]
pub struct GramArrays {
    pub blueprint: GramBlueprint,
    /// `K` with its jitter, `[n, n]`.
    pub k: Span<f64>,
    /// `L` of `L Lᵀ = K`.
    pub l: Span<f64>,
    /// `R = L⁻¹`, where it is factored.
    pub r: Span<f64>,
    /// `log |K|`.
    pub log_det: Span<f64>,
    /// Inner products of inducing inputs for each leaf, where distances are taken by products.
    pub products: Span<f64>,
    /// Squared norms of inducing inputs for each leaf.
    pub norms: Span<f64>,
    /// Inducing inputs times `−2 / ℓ²`.
    pub scaled: Span<f64>,
    /// Jitter: absolute, relative.
    pub jitter: Span<f64>,
    /// What the factorisation said: 0, or the first bad pivot.
    pub info: Span<i32>,
    /// Whether the matrix is factored in the shared memory of a cluster.
    pub resident: bool,
    /// cuSOLVER's workspace.
    pub workspace: Span<f64>,
    /// The gradient at `K`.
    pub k_bar: Span<f64>,
    /// Working memory of the same size.
    pub work: [Span<f64>; 2],
    /// `∂/∂r²` of each leaf, unless it is summed at once.
    pub weights: Span<f64>,
    /// The sums for variances and shapes that go with it, by blocks.
    pub partial: Span<f64>,
}

/// What a form of the covariance needs beside `R`; arrays of `[P, M_b, M_b]`, `G` among them where it is dense.
#[derive(Clone, Copy, Debug)]
pub enum CovarianceArrays {
    /// `H = I + L_Bᵀ K L_B` of each output, with its factor.
    Dual {
        /// `H`, then its Cholesky factor.
        h: Span<f64>,
        /// The addresses of the `H_p`, for cuSOLVER.
        h_addresses: Span<u64>,
        /// The inverse of that factor.
        r: Span<f64>,
        /// `log |H_p|`.
        log_dets: Span<f64>,
        /// What each factorisation said.
        infos: Span<i32>,
        /// `H⁻¹`.
        h_inverse: Span<f64>,
    },
    /// `S = L_s L_sᵀ` and `K`.
    Standard {
        /// `V = R L_s`.
        v: Span<f64>,
    },
    /// `S'` alone.
    Whitened,
    /// The diagonal of `S'`, of which rows read `s` itself: there is nothing to prepare.
    Diagonal,
}

/// What a layer is prepared into once a step.
#[derive(Clone, Debug)]
pub struct PreparedArrays<T> {
    /// `k(x, x)` and its derivatives in the leaves' variances.
    pub prior: Span<f64>,
    /// `[1 | Z]`.
    pub z_wide: Span<f64>,
    pub z: Span<T>,
    pub grams: Grams<GramArrays>,
    /// `w`, `[M_a, P]`.
    pub weights_wide: Span<f64>,
    pub weights: Span<T>,
    /// Whether `w` comes with the factor of the mean's kernel matrix.
    pub solved: bool,
    /// `R` of the covariance's set, `[M_b, M_b]`, where rows are projected.
    pub projection_wide: Span<f64>,
    pub projection: Span<T>,
    /// `log |K_bb|`, where that is factored.
    pub projection_log_det: Span<f64>,
    /// `G`, `[P, M_b, M_b]`, where it is dense.
    pub explained_wide: Span<f64>,
    pub explained: Span<T>,
    pub covariance: CovarianceArrays,
    /// `[M_a, P]` working memory.
    pub mean_work: [Span<f64>; 2],
    /// `[P, M_b, M_b]` working memory.
    pub square_work: [Span<f64>; 4],
    /// The matrix of a linear mean function, `[D, P]`.
    pub linear: Span<T>,
    /// The mean's part of the KL.
    pub mean_kl: Span<f64>,
    /// The covariance's, a number for each output.
    pub covariance_kl: Span<f64>,
}

/// What a layer has in common with the others: arrays that it takes its part of, and how to lay it out.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    /// All parameter values.
    pub values: Span<f64>,
    /// What this layer's factorisations will say, and those after it.
    pub infos: Span<i32>,
    /// Where the parts of this layer's KL go.
    pub kls: Span<f64>,
    pub gradients: bool,
    /// Bytes of shared memory for matrices that are factored there; 0 where that cannot be done.
    pub resident: usize,
    /// How many numbers of workspace a factorisation of an order needs.
    pub factor_workspace: &'a dyn Fn(usize) -> usize,
}

impl Shared<'_> {
    /// Whether a matrix of order `n` can be factored in shared memory, with a solve for `width` right-hand sides or none.
    fn fits(&self, n: usize, width: usize) -> bool {
        resident_bytes(n, width).is_some_and(|bytes| bytes <= self.resident)
    }
}

impl GramArrays {
    fn new(
        layer: &LayerBlueprint,
        blueprint: GramBlueprint,
        info: Span<i32>,
        shared: Shared<'_>,
        arena: &mut Arena,
    ) -> Self {
        let (n, leaves, products) = (blueprint.order, layer.text.leaves, layer.text.products);
        let square = |yes: bool, arena: &mut Arena| arena.take(when(yes, n * n));
        Self {
            blueprint,
            k: square(true, arena),
            l: square(true, arena),
            r: square(blueprint.factored, arena),
            log_det: arena.take(1),
            products: arena.take(when(products, leaves * n * n)),
            norms: arena.take(when(products, leaves * n)),
            scaled: arena.take(when(products, leaves * n * layer.width)),
            jitter: arena.take(2),
            info,
            resident: blueprint.factored && shared.fits(n, 0),
            workspace: arena.take(if blueprint.factored { (shared.factor_workspace)(n) } else { 0 }),
            k_bar: square(shared.gradients, arena),
            work: [(); 2].map(|()| square(shared.gradients, arena)),
            weights: arena.take(when(shared.gradients && !layer.text.sums_at_once, leaves * n * n)),
            partial: Span::NONE,
        }
    }
}

impl CovarianceArrays {
    fn new(layer: &LayerBlueprint, infos: Span<i32>, arena: &mut Arena) -> Self {
        let (p, squares) = (layer.outputs, layer.outputs * layer.covariances * layer.covariances);
        match layer.covariance_form {
            CovarianceForm::Dual => Self::Dual {
                h: arena.take(squares),
                h_addresses: arena.take(p),
                r: arena.take(squares),
                log_dets: arena.take(p),
                infos: infos.first(p),
                h_inverse: arena.take(squares),
            },
            CovarianceForm::Standard => Self::Standard { v: arena.take(squares) },
            CovarianceForm::Whitened => Self::Whitened,
            CovarianceForm::Diagonal => Self::Diagonal,
        }
    }
}

impl<T: Real> PreparedArrays<T> {
    /// Lays out one layer's.
    pub fn new(layer: &LayerBlueprint, shared: Shared<'_>, arena: &mut Arena) -> Self {
        let LayerBlueprint { width: d, outputs: p, means, covariances: m, .. } = *layer;
        let narrowed = |wide: Span<f64>, arena: &mut Arena| T::alias(wide).unwrap_or_else(|| arena.take(wide.len()));
        let mut infos = shared.infos;
        let grams = layer.grams.map(|gram| {
            let (own, rest) = infos.split_at(usize::from(gram.factored));
            infos = rest;
            GramArrays::new(layer, *gram, own, shared, arena)
        });
        let covariance = CovarianceArrays::new(layer, infos, arena);
        let z_wide = arena.take(layer.columns() * (d + 1));
        let weights_wide = match layer.mean_form {
            // Its weights are the free numbers themselves.
            MeanForm::Dual => shared.values.part(&layer.free),
            MeanForm::ScaledDual | MeanForm::Standard | MeanForm::Whitened => arena.take(means * p),
        };
        let solved = match layer.mean_form {
            MeanForm::Whitened => grams.mean().resident && shared.fits(means, p),
            MeanForm::Dual | MeanForm::ScaledDual | MeanForm::Standard => false,
        };
        let (projection_wide, projection_log_det) = match (layer.projects(), layer.has_head()) {
            (true, true) => (arena.take(m * m), arena.take(1)),
            (true, false) => (grams.covariance().r, grams.covariance().log_det),
            (false, _) => (Span::NONE, Span::NONE),
        };
        let (squares, works_on_squares) = match layer.covariance_form {
            CovarianceForm::Dual => (p * m * m, true),
            CovarianceForm::Standard | CovarianceForm::Whitened => (p * m * m, shared.gradients),
            CovarianceForm::Diagonal => (0, false),
        };
        let explained_wide = arena.take(squares);
        let (mean_kl, covariance_kl) = shared.kls.first(divergences(layer)).split_at(1);
        Self {
            prior: arena.take(1 + layer.text.leaves),
            z_wide,
            z: narrowed(z_wide, arena),
            grams,
            weights_wide,
            weights: narrowed(weights_wide, arena),
            solved,
            projection_wide,
            projection: narrowed(projection_wide, arena),
            projection_log_det,
            explained_wide,
            explained: narrowed(explained_wide, arena),
            covariance,
            mean_work: [(); 2].map(|()| arena.take(means * p)),
            square_work: [(); 4].map(|()| arena.take(when(works_on_squares, squares))),
            linear: match layer.mean_function {
                MeanFunction::Linear(_) => arena.take(d * p),
                MeanFunction::Zero | MeanFunction::Identity | MeanFunction::ZeroPadding => Span::NONE,
            },
            mean_kl,
            covariance_kl,
        }
    }
}
