//! The Gram matrix `K_ZZ` of inducing inputs with its jitter, its factor, and the gradients that reach it.
//!
//! One jittered matrix serves the conditional and the KL alike. If it cannot be factored, the jitter climbs a ladder, tenfold a rung
//! (the first of them at least 1e-10 of the diagonal), and the jitter that worked is reported with layer, matrix and likely cause.

use super::factor::Factor;
use crate::error::{Error, Matrix, Result};
use crate::kernel::{Kernel, Scratch};
use crate::numeric::linalg::{Accumulate, Cholesky, lower_product};
use crate::numeric::mat::{Mat, View, ViewMut};

/// The jitter `ε = absolute + relative · mean(diag K)` on the diagonal of every kernel matrix of inducing inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Jitter {
    /// The part of `ε` that does not depend on the matrix.
    pub absolute: f64,
    /// The factor of `mean(diag K)` in `ε`.
    pub relative: f64,
}

impl Jitter {
    /// The factor by which jitter that does not do is raised, a rung of the ladder at a time.
    pub const RAISE: f64 = 10.0;
    /// The number of times that the jitter may be raised before it is an error.
    pub const RAISES: i32 = 5;
    /// The first raise is to no less than this, relative to the diagonal: however little jitter was asked for, the ladder must reach what
    /// rounding asks for.
    pub const FIRST_RAISE: f64 = 1e-10;

    /// Fails unless both parts are finite and not negative.
    pub(crate) fn check(self) -> Result<()> {
        let fits = |v: f64| v >= 0.0 && v.is_finite();
        if fits(self.absolute) && fits(self.relative) {
            return Ok(());
        }
        Err(Error::Setting { name: "jitter", value: format!("{self:?}"), requirement: "zero or more" })
    }
}

/// The report on a kernel matrix that needed more jitter than asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct JitterEvent {
    /// The layer's number, from 0.
    pub layer: usize,
    /// The matrix that was factored.
    pub matrix: Matrix,
    /// The jitter that worked.
    pub jitter: f64,
    /// The likely cause, as a phrase.
    pub cause: String,
}

/// A kernel matrix of inducing inputs, `K_ZZ + εI`, and its factor where a form needs one.
#[derive(Clone, Debug)]
pub(crate) struct Gram {
    /// `K_ZZ + εI`, `[M, M]`.
    pub k: Mat,
    /// The jitter `ε` that was added.
    jitter: f64,
    /// `∂ε/∂mean(diag K)`, for the pullback.
    relative: f64,
    /// `L⁻¹` and `log |K|`, if they were asked for.
    factor: Option<Factor>,
}

/// The gradients that reach a [`Gram`]: at `K` (symmetric) and, where it was factored, at `L`, as the lower triangle of `Lᵀ L̄`, in
/// parts, `inner + a bᵀ` and a leading block. What no form asks for stays `None`: at `M_a = 500` each square is 2 MB.
#[derive(Clone, Debug)]
pub(crate) struct GramBar {
    /// The order `M` of the matrix.
    order: usize,
    /// `K̄`, `[M, M]`, without what comes through `L`.
    k: Option<Mat>,
    /// The part of `Lᵀ L̄` that is stored as a square, `[M, M]`.
    inner: Option<Mat>,
    /// The part of `Lᵀ L̄` that is a product `a bᵀ` of two thin matrices, `[M, P]` each.
    outer: Option<(Mat, Mat)>,
    /// The part of `Lᵀ L̄` that is its leading block alone: what reaches the head of a nested set.
    head: Option<Mat>,
}

impl Gram {
    /// Builds `k(z, z) + εI` and factors it if `factor` is set; `place` is the layer and the matrix, for messages.
    pub fn new(
        kernel: &dyn Kernel,
        z: View<'_>,
        jitter: Jitter,
        factor: bool,
        place: (usize, Matrix),
        scratch: &mut Scratch<f64>,
    ) -> Result<(Self, Option<JitterEvent>)> {
        let m = z.nrows();
        let mut k = scratch.take_mat(m, m);
        kernel.gram(z, k.view_mut(), scratch);
        let mean = (0..m).map(|i| k[(i, i)]).sum::<f64>() / m as f64;
        let asked = jitter.absolute + jitter.relative * mean;
        if !factor {
            add_diagonal(&mut k, asked);
            return Ok((Self { k, jitter: asked, relative: jitter.relative, factor: None }, None));
        }
        let (layer, matrix) = place;
        match factor_with_jitter(&mut k, asked, scratch) {
            Ok(Factored { factor, jitter: added, rung }) => {
                let event = (rung > 0).then(|| JitterEvent { layer, matrix, jitter: added, cause: cause(z, &k) });
                // On a ladder that starts at the lowest first rung, all of it is relative to the diagonal.
                let relative = match rung {
                    0 => jitter.relative,
                    _ if Jitter::RAISE * asked < Jitter::FIRST_RAISE * mean => added / mean,
                    _ => jitter.relative * Jitter::RAISE.powi(rung),
                };
                Ok((Self { k, jitter: added, relative, factor: Some(Factor::new(factor, scratch)) }, event))
            }
            Err(NotFactored { pivot, jitter }) => {
                Err(Error::NotPositiveDefinite { layer, matrix, pivot, jitter, cause: cause(z, &k) })
            }
        }
    }

    /// The Cholesky factor `L` of `k(z, z) + εI`, `[M, M]`.
    pub fn lower(kernel: &dyn Kernel, z: View<'_>, jitter: Jitter, place: (usize, Matrix)) -> Result<Mat> {
        let scratch = &mut Scratch::default();
        let (gram, _) = Self::new(kernel, z, jitter, true, place, scratch)?;
        let lower = Cholesky::new(&gram.k, scratch).expect("it was factored a moment ago");
        Ok(Mat::from_fn(z.nrows(), z.nrows(), |i, j| lower.lower()[(i, j)]))
    }

    /// The matrix's factor. Only forms that asked for one may call this.
    pub fn factor(&self) -> &Factor {
        self.factor.as_ref().expect("the form said that it needs a factor")
    }

    /// Gradients of zero for this matrix.
    pub fn zero_bar(&self) -> GramBar {
        GramBar { order: self.k.nrows(), k: None, inner: None, outer: None, head: None }
    }

    /// The inverse factor `L⁻¹`, where a form asked for a factor.
    pub fn inverse_factor(&self) -> Option<&Mat> {
        self.factor.as_ref().map(|factor| &factor.inverse)
    }

    /// Adds the gradients in inducing inputs and kernel parameters, from those at `K` and `L` in `bar`. After that the matrix is without
    /// its jitter; the factor stays.
    pub fn pullback(
        &mut self,
        kernel: &dyn Kernel,
        z: View<'_>,
        bar: GramBar,
        z_bar: ViewMut<'_>,
        theta_bar: &mut [f64],
        scratch: &mut Scratch<f64>,
    ) {
        let GramBar { order, k: direct, inner, outer, head } = bar;
        let through_factor = match (inner, &outer, &head) {
            (None, None, None) => None,
            (None, Some((a, b)), head) => Some(self.factor().pullback_outer(a, b, head.as_ref(), scratch)),
            (inner, outer, head) => {
                let mut inner = inner.unwrap_or_else(|| scratch.zeros(order, order));
                if let Some((a, b)) = outer {
                    let (a, b) = (a.view().faer(), b.view().faer());
                    lower_product(inner.view_mut().faer(), Accumulate::Add, 1.0, a, b.transpose());
                }
                if let Some(head) = head {
                    add_block(&mut inner, head);
                }
                Some(self.factor().pullback(inner, scratch))
            }
        };
        if let Some(mut k_bar) = join(direct, through_factor, scratch) {
            let m = self.k.nrows();
            // ε moves with the diagonal where it is relative to it.
            let trace: f64 = (0..m).map(|i| k_bar[(i, i)]).sum();
            for i in 0..m {
                self.k[(i, i)] -= self.jitter;
                k_bar[(i, i)] += trace * self.relative / m as f64;
            }
            kernel.gram_pullback(z, self.k.view(), k_bar.view_mut(), z_bar, theta_bar, scratch);
            scratch.give_mat(k_bar);
        }
        for used in outer.into_iter().flat_map(|(a, b)| [a, b]).chain(head) {
            scratch.give_mat(used);
        }
    }

    /// The matrix of the first `m` inducing inputs alone: a copy of the leading blocks of `K` and of its factor.
    pub fn head(&self, m: usize, scratch: &mut Scratch<f64>) -> Self {
        let k = leading(&self.k, m, scratch);
        Self { k, factor: self.factor.as_ref().map(|factor| factor.head(m, scratch)), ..*self }
    }

    /// Gives its memory back.
    pub fn give(self, scratch: &mut Scratch<f64>) {
        scratch.give_mat(self.k);
        if let Some(factor) = self.factor {
            factor.give(scratch);
        }
    }
}

/// A copy of the leading `m × m` block of `from`.
pub(super) fn leading(from: &Mat, m: usize, scratch: &mut Scratch<f64>) -> Mat {
    let mut out = scratch.take_mat(m, m);
    for i in 0..m {
        out.row_mut(i).copy_from_slice(&from.row(i)[..m]);
    }
    out
}

/// Adds `block` to the leading block of `into`.
fn add_block(into: &mut Mat, block: &Mat) {
    for i in 0..block.nrows() {
        for (to, from) in into.row_mut(i).iter_mut().zip(block.row(i)) {
            *to += from;
        }
    }
}

/// The sum of two matrices, either of which may be missing.
fn join(one: Option<Mat>, other: Option<Mat>, scratch: &mut Scratch<f64>) -> Option<Mat> {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            one.add_scaled(1.0, &other);
            scratch.give_mat(other);
            Some(one)
        }
        (one, other) => one.or(other),
    }
}

impl GramBar {
    /// The gradient at `K` to add to, zero at first.
    pub fn k_mut(&mut self, scratch: &mut Scratch<f64>) -> &mut Mat {
        self.k.get_or_insert_with(|| scratch.zeros(self.order, self.order))
    }

    /// `Lᵀ L̄` to add to, zero at first; only its lower triangle counts.
    pub fn inner_mut(&mut self, scratch: &mut Scratch<f64>) -> &mut Mat {
        self.inner.get_or_insert_with(|| scratch.zeros(self.order, self.order))
    }

    /// Adds the gradients that reached a [`Gram::head`] of this matrix. At most once.
    pub fn add_head(&mut self, of_head: Self, scratch: &mut Scratch<f64>) {
        let Self { k, inner, outer, head, .. } = of_head;
        debug_assert!(outer.is_none() && head.is_none() && self.head.is_none(), "a covariance has none of these");
        if let Some(k) = k {
            add_block(self.k_mut(scratch), &k);
            scratch.give_mat(k);
        }
        self.head = inner;
    }

    /// Adds `a bᵀ` to `Lᵀ L̄`. At most once.
    pub fn add_outer(&mut self, a: Mat, b: Mat) {
        debug_assert!(self.outer.is_none());
        self.outer = Some((a, b));
    }
}

/// A matrix that was factored on some rung of the jitter's ladder.
#[derive(Debug)]
pub(crate) struct Factored {
    /// `L` of the matrix with its jitter.
    pub factor: Cholesky,
    /// The jitter that worked.
    pub jitter: f64,
    /// The rung of the ladder; 0 is the jitter asked for.
    pub rung: i32,
}

/// A matrix that could not be factored on any rung of the jitter's ladder.
#[derive(Debug)]
pub(crate) struct NotFactored {
    /// The pivot at which the last attempt failed.
    pub pivot: usize,
    /// The largest jitter tried.
    pub jitter: f64,
}

/// Adds `asked` to the diagonal of `k` and factors it; as long as that fails, with ten times more, up to [`Jitter::RAISES`] times.
pub(crate) fn factor_with_jitter(
    k: &mut Mat,
    asked: f64,
    scratch: &mut Scratch<f64>,
) -> std::result::Result<Factored, NotFactored> {
    let mean = (0..k.nrows()).map(|i| k[(i, i)]).sum::<f64>() / k.nrows() as f64;
    let first = (Jitter::RAISE * asked).max(Jitter::FIRST_RAISE * mean);
    let (mut jitter, mut pivot) = (0.0, 0);
    for rung in 0..=Jitter::RAISES {
        let wanted = if rung == 0 { asked } else { first * Jitter::RAISE.powi(rung - 1) };
        add_diagonal(k, wanted - jitter);
        jitter = wanted;
        match Cholesky::new(k, scratch) {
            Ok(factor) => return Ok(Factored { factor, jitter, rung }),
            Err(failure) => pivot = failure.pivot,
        }
    }
    Err(NotFactored { pivot, jitter })
}

/// `K += by · I`.
fn add_diagonal(k: &mut Mat, by: f64) {
    for i in 0..k.nrows() {
        k[(i, i)] += by;
    }
}

/// The likely reason why a kernel matrix is close to singular: numbers that are not finite, two points that nearly coincide, or long
/// lengthscales.
fn cause(z: View<'_>, k: &Mat) -> String {
    if z.as_slice().iter().chain(k.as_slice()).any(|v| !v.is_finite()) {
        return "inducing inputs or kernel parameters are not finite, likely after too large a step".into();
    }
    let (mut largest, mut pair) = (0.0, (0, 0));
    for i in 0..k.nrows() {
        for j in 0..i {
            let correlation = k[(i, j)] / (k[(i, i)] * k[(j, j)]).sqrt();
            if correlation > largest {
                (largest, pair) = (correlation, (j, i));
            }
        }
    }
    if largest > 1.0 - 1e-6 {
        format!("inducing inputs {} and {} nearly coincide for this kernel", pair.0, pair.1)
    } else {
        "the lengthscales are long for so many inducing inputs".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::SquaredExponential;
    use crate::testing::{assert_slope, dot_all, uniform};

    const PLACE: (usize, Matrix) = (2, Matrix::MeanGram);

    #[test]
    fn the_ladder_rescues_a_singular_matrix_and_says_so() {
        let kernel = SquaredExponential::new(1.0, vec![1.0]);
        let z = Mat::column(vec![0.3, 0.3, 1.0]);
        let none = Jitter { absolute: 0.0, relative: 0.0 };
        let (gram, event) = Gram::new(&kernel, z.view(), none, true, PLACE, &mut Scratch::default()).unwrap();
        let event = event.unwrap();
        assert!(event.jitter > 0.0 && event.layer == 2 && event.matrix == Matrix::MeanGram, "{event:?}");
        assert!(event.cause.contains("0 and 1"), "{event:?}");
        assert_eq!(gram.k[(0, 0)], 1.0 + event.jitter);
        let (_, event) =
            Gram::new(&kernel, z.view(), Jitter { absolute: 1e-6, ..none }, true, PLACE, &mut Scratch::default())
                .unwrap();
        assert_eq!(event, None);
    }

    #[test]
    fn a_tiny_jitter_is_as_safe_as_none() {
        let kernel = SquaredExponential::new(1.0, vec![1.0]);
        let z = Mat::from_fn(40, 1, |i, _| i as f64 * 1e-4);
        for absolute in [0.0, 1e-300, 1e-20] {
            let jitter = Jitter { absolute, relative: 0.0 };
            let (_, event) = Gram::new(&kernel, z.view(), jitter, true, PLACE, &mut Scratch::default()).unwrap();
            assert_eq!(event.unwrap().jitter, Jitter::FIRST_RAISE, "asked for {absolute}");
        }
    }

    #[test]
    fn a_rung_of_the_ladder_has_its_gradient() {
        let z = Mat::column(vec![0.3, 0.3, 1.0]);
        let tiny = Jitter { absolute: 1e-30, relative: 0.0 };
        let gram = |v: f64| {
            let kernel = SquaredExponential::new(v, vec![1.0]);
            Gram::new(&kernel, z.view(), tiny, true, PLACE, &mut Scratch::default()).unwrap()
        };
        let (mut built, event) = gram(1.0);
        let jitter = event.unwrap().jitter;
        let mut theta = [0.0; 2];
        let corner = Mat::from_fn(3, 3, |i, j| f64::from(u8::from(i == 0 && j == 0)));
        let bar = GramBar { order: 3, k: Some(corner), inner: None, outer: None, head: None };
        let kernel = SquaredExponential::new(1.0, vec![1.0]);
        built.pullback(&kernel, z.view(), bar, Mat::zeros(3, 1).view_mut(), &mut theta, &mut Scratch::default());
        // K_00 = σ² + ε with ε = σ² · 1e-10 · 10ⁿ.
        assert!((theta[1] - (1.0 + jitter / 1.0)).abs() < 1e-15 + 1e-3 * jitter, "{} {jitter}", theta[1]);
        assert!((gram(4.0).1.unwrap().jitter / jitter - 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_hopeless_matrix_is_an_error_that_names_layer_and_matrix() {
        let kernel = SquaredExponential::new(1.0, vec![1.0]);
        let z = Mat::column(vec![0.3, f64::NAN, 1.0]);
        let error = Gram::new(
            &kernel,
            z.view(),
            Jitter { absolute: 1e-6, relative: 0.0 },
            true,
            PLACE,
            &mut Scratch::default(),
        )
        .unwrap_err();
        let message = error.to_string();
        assert!(message.contains("layer 2: K_aa") && message.contains("not finite"), "{message}");
    }

    #[test]
    fn a_relative_jitter_has_its_gradient() {
        let z = uniform(4, 2, 1);
        let jitter = Jitter { absolute: 1e-3, relative: 0.1 };
        let weight = Mat::from_fn(4, 4, |i, j| uniform(4, 4, 2)[(i.max(j), i.min(j))]);
        let gram = |v: f64| {
            let kernel = SquaredExponential::new(v, vec![0.7, 1.2]);
            Gram::new(&kernel, z.view(), jitter, false, PLACE, &mut Scratch::default()).unwrap().0
        };
        let mut theta = [0.0; 3];
        let bar = GramBar { order: 4, k: Some(weight.clone()), inner: None, outer: None, head: None };
        let kernel = SquaredExponential::new(1.3, vec![0.7, 1.2]);
        gram(1.3).pullback(&kernel, z.view(), bar, Mat::zeros(4, 2).view_mut(), &mut theta, &mut Scratch::default());
        assert_slope("variance", &Mat::column(vec![1.3]), &Mat::column(vec![theta[2]]), 1e-8, |v| {
            dot_all(&weight, &gram(v[(0, 0)]).k)
        });
    }
}
