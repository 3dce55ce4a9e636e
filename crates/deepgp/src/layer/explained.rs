//! The explained shares `G_p` of all outputs, and what a block of rows needs of them.
//!
//! Every form of the covariance is `σ²_p = k_xx − A G_p Aᵀ` for a row `A` of a block's `[B, M_b]`, with a symmetric `G_p`, dense or
//! diagonal. Forward, rows need the quadratic forms; backward, with `e_p = −∂/∂σ²_p`,
//!
//! ```text
//!            forms                    Ā                      Ḡ_p                          flops a row
//! dense      A · Q_p, Q_p = A G_p     2 Σ_p e_p Q_p          Σ_n e_np a_n a_nᵀ            3·M_b²·P
//! diagonal   (A∘A) g_p                2 A ∘ Σ_p e_p g_p      Σ_n e_np a_n∘a_n             6·M_b·P
//! ```
//!
//! where `g_p` is the diagonal. Where nothing goes backward, dense forms are [`QuadraticForms`] at half the flops.

use super::covariance::{CovarianceForm, Structure};
use super::quadratic_forms::QuadraticForms;
use super::rows::{Want, cast_matrix};
use super::symmetric_sums::SymmetricSums;
use crate::numeric::linalg::{Accumulate, dot, product};
use crate::numeric::mat::{Mat, ViewMut};
use crate::numeric::real::Real;
use crate::numeric::scratch::Scratch;
use crate::numeric::simd::vectorised;

/// The explained shares of all outputs, as a prepared covariance has them.
#[derive(Clone, Debug)]
pub(crate) enum Explained {
    /// The symmetric matrices `G_1, G_2, …` side by side, `[M_b, P·M_b]`.
    Dense(Mat),
    /// The diagonals `g_1, g_2, …`, one below the other, `[P, M_b]`.
    Diagonal(Mat),
}

impl Explained {
    /// Gives its memory back.
    pub fn give(self, scratch: &mut Scratch<f64>) {
        match self {
            Self::Dense(g) | Self::Diagonal(g) => scratch.give_mat(g),
        }
    }
}

/// The explained shares in the precision of the rows, and in the shape that what is wanted of them asks for.
#[derive(Debug)]
pub(super) enum RowExplained<T> {
    /// `G_1, G_2, …` side by side, `[M_b, P·M_b]`.
    Dense(Mat<T>),
    /// `G_1, G_2, …` as quadratic forms, where only moments are wanted.
    Forms(QuadraticForms<T>),
    /// The diagonals, `[P, M_b]`.
    Diagonal(Mat<T>),
}

impl<T: Default> Default for RowExplained<T> {
    fn default() -> Self {
        Self::Dense(Mat::default())
    }
}

impl<T: Real> RowExplained<T> {
    /// Casts `from` to the precision of the rows; the memory is reused.
    pub fn cast(&mut self, from: &Explained, want: Want) {
        let mut memory = match std::mem::take(self) {
            Self::Dense(memory) | Self::Diagonal(memory) => memory,
            Self::Forms(_) => Mat::default(),
        };
        *self = match (from, want) {
            (Explained::Dense(g), Want::Moments) => Self::Forms(QuadraticForms::new(g)),
            (Explained::Dense(g), Want::Gradients) => {
                cast_matrix(g, &mut memory);
                Self::Dense(memory)
            }
            (Explained::Diagonal(g), _) => {
                cast_matrix(g, &mut memory);
                Self::Diagonal(memory)
            }
        }
    }

    /// Writes `a_nᵀ G_p a_n` for `a` `[B, M_b]` into `forms` `[B, P]`, and into `q` what the pullbacks need: `Q_p = A G_p`,
    /// `[B, P·M_b]`, or `A∘A`, `[B, M_b]`.
    pub fn forms(&self, a: &Mat<T>, q: &mut Mat<T>, forms: &mut Mat<T>) {
        let (b, m_b) = (a.nrows(), a.ncols());
        match self {
            Self::Forms(own) => own.write(a, q, forms),
            Self::Dense(g) => {
                q.reshape_for_overwrite(b, g.ncols());
                product(q.view_mut().faer(), Accumulate::Replace, T::ONE, a.view().faer(), g.view().faer());
                forms.reshape_for_overwrite(b, g.ncols() / m_b);
                vectorised(
                    #[inline(always)]
                    || {
                        for i in 0..b {
                            let a = a.row(i);
                            for (form, q) in forms.row_mut(i).iter_mut().zip(q.row(i).chunks_exact(m_b)) {
                                *form = dot(a, q);
                            }
                        }
                    },
                );
            }
            Self::Diagonal(g) => {
                q.reshape_for_overwrite(b, m_b);
                vectorised(
                    #[inline(always)]
                    || {
                        for (to, &a) in q.as_mut_slice().iter_mut().zip(a.as_slice()) {
                            *to = a * a;
                        }
                    },
                );
                forms.reshape_for_overwrite(b, g.nrows());
                let g = g.view().faer().transpose();
                product(forms.view_mut().faer(), Accumulate::Replace, T::ONE, q.view().faer(), g);
            }
        }
    }

    /// Writes `Ā = 2 Σ_p e_p A G_p`, `[B, M_b]`, for `e` `[B, P]` and the `q` of [`RowExplained::forms`].
    pub fn pullback(&self, a: &Mat<T>, q: &Mat<T>, e: &Mat<T>, a_bar: &mut Mat<T>) {
        let (b, m_b) = (a.nrows(), a.ncols());
        a_bar.reshape_for_overwrite(b, m_b);
        match self {
            Self::Forms(_) => {
                unreachable!("forms alone have no gradients: they are cast where moments alone are wanted")
            }
            Self::Dense(_) => vectorised(
                #[inline(always)]
                || {
                    for i in 0..b {
                        let a_bar = a_bar.row_mut(i);
                        a_bar.fill(T::ZERO);
                        for (&e, q) in e.row(i).iter().zip(q.row(i).chunks_exact(m_b)) {
                            let twice = e + e;
                            for (to, &from) in a_bar.iter_mut().zip(q) {
                                *to += twice * from;
                            }
                        }
                    }
                },
            ),
            Self::Diagonal(g) => {
                product(a_bar.view_mut().faer(), Accumulate::Replace, T::ONE, e.view().faer(), g.view().faer());
                vectorised(
                    #[inline(always)]
                    || {
                        for (to, &a) in a_bar.as_mut_slice().iter_mut().zip(a.as_slice()) {
                            *to *= a + a;
                        }
                    },
                );
            }
        }
    }
}

impl RowExplained<f64> {
    /// The product `A G_p` of one output, `[N, M_b]`.
    pub fn times(&self, a: &Mat, output: usize) -> Mat {
        let m_b = a.ncols();
        match self {
            Self::Forms(_) => {
                unreachable!("forms alone have no products: they are cast where moments alone are wanted")
            }
            Self::Dense(g) => {
                let mut out = Mat::zeros(a.nrows(), m_b);
                let g = g.view().faer().subcols(output * m_b, m_b);
                product(out.view_mut().faer(), Accumulate::Replace, 1.0, a.view().faer(), g);
                out
            }
            Self::Diagonal(g) => Mat::from_fn(a.nrows(), m_b, |i, j| a[(i, j)] * g[(output, j)]),
        }
    }
}

/// The layout of the gradients `Ḡ_1 … Ḡ_P` in one array.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExplainedSums {
    /// Symmetric matrices, one for each output.
    Dense(SymmetricSums),
    /// Diagonals, one below the other, `[P, M_b]`.
    Diagonal {
        /// The number of the covariance's inducing inputs, `M_b`.
        order: usize,
        /// The number of outputs, `P`.
        outputs: usize,
    },
}

impl ExplainedSums {
    /// The layout for a covariance of this form.
    pub fn new(form: CovarianceForm, order: usize, outputs: usize) -> Self {
        match form.structure() {
            Structure::Dense(_) => Self::Dense(SymmetricSums { order, outputs }),
            Structure::Diagonal => Self::Diagonal { order, outputs },
        }
    }

    /// The length of the array.
    pub fn len(self) -> usize {
        match self {
            Self::Dense(sums) => sums.len(),
            Self::Diagonal { order, outputs } => order * outputs,
        }
    }

    /// Adds the gradients of a block to `sums`, for `e` `[B, P]` and the `q` of [`RowExplained::forms`]; `scaled` is working memory.
    pub fn add<T: Real>(self, a: &Mat<T>, q: &Mat<T>, e: &Mat<T>, scaled: &mut Mat<T>, sums: &mut [T]) {
        match self {
            Self::Dense(layout) => layout.add(a, e, scaled, sums),
            Self::Diagonal { order, outputs } => {
                let sums = ViewMut::new(sums, outputs, order).faer();
                product(sums, Accumulate::Add, T::ONE, e.view().faer().transpose(), q.view().faer());
            }
        }
    }
}
