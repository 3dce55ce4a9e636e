//! A layer in plain matrices, for programs elsewhere that are to compute what it computes.

use std::ops::Range;

use super::explained::Explained;
use super::{Floor, Layer, MeanFunction, Prepared};
use crate::kernel::Kernel;
use crate::numeric::mat::Mat;
use crate::numeric::scratch::Scratch;

/// A layer without its forms: for a row `x` of its input, with `k = k(x, Z)`,
///
/// ```text
/// mean = k_a w + m(x)        A = k_b Rᵀ        variance_p = max(k(x, x) − A G_p Aᵀ, least)
/// ```
///
/// where `k_a` are the first `M_a` entries of `k`, and `k_b` those of `covariance_rows`.
#[derive(Clone, Debug)]
pub struct ExplicitLayer {
    /// The kernel.
    pub kernel: Box<dyn Kernel>,
    /// The prior variance `k(x, x)`, which is the same everywhere for the library's kernels.
    pub kernel_diagonal: f64,
    /// The fixed function `m` that is added to the mean.
    pub mean_function: MeanFunction,
    /// The inducing inputs `Z`, `[M, D]`: the mean's, and below them those of the covariance that are not among them.
    pub inducing: Mat,
    /// The rows of `inducing` that are the covariance's.
    pub covariance_rows: Range<usize>,
    /// The mean's weights `w`, `[M_a, P]`.
    pub weights: Mat,
    /// The projection `R`, `[M_b, M_b]`; `None` for the identity.
    pub projection: Option<Mat>,
    /// The shares of the prior that are explained, `G_1 … G_P`.
    pub explained: ExplicitShares,
    /// The least variance.
    pub least_variance: f64,
}

/// The explained shares `G_p` of a layer's outputs.
#[derive(Clone, Debug, PartialEq)]
pub enum ExplicitShares {
    /// Symmetric matrices side by side, `[M_b, P·M_b]`.
    Dense(Mat),
    /// Diagonals, one below the other, `[P, M_b]`.
    Diagonal(Mat),
}

impl ExplicitLayer {
    /// A prepared layer whose variances are no less than `floor`.
    pub(crate) fn new(layer: &Layer, prepared: &Prepared, floor: Floor) -> Self {
        let kernel_diagonal = layer.kernel_diagonal();
        Self {
            kernel: layer.kernel.clone(),
            kernel_diagonal,
            mean_function: layer.mean_function.clone(),
            inducing: layer.inducing.stacked(&mut Scratch::default()),
            covariance_rows: layer.inducing.covariance_rows(),
            weights: prepared.mean.weights.clone(),
            projection: layer.covariance.projection(prepared.covariance_gram()).cloned(),
            explained: match &prepared.covariance.explained {
                Explained::Dense(g) => ExplicitShares::Dense(g.clone()),
                Explained::Diagonal(g) => ExplicitShares::Diagonal(g.clone()),
            },
            least_variance: floor.absolute + floor.relative * kernel_diagonal,
        }
    }
}
