//! The pieces of a step that take most of its time, each by itself, for benchmarks.

use std::time::Instant;

use super::{CovarianceForm, Floor, Inducing, Jitter, Layer, LayerCovariance, LayerMean, LayerMemory, LayerRows};
use super::{LayerSums, MeanForm, MeanFunction, RowArrays, RowLayer, Want};
use crate::data::InputLayout;
use crate::data::compressed::{pack, packed_len};
use crate::data::sparse::SparseInputs;
use crate::error::{Matrix, Result};
use crate::kernel::bound::KernelSums;
use crate::kernel::{CrossBars, Kernel, Scratch, SparseRows, SquaredExponential};
use crate::numeric::linalg::{Accumulate, product};
use crate::numeric::mat::{Mat, ViewMut};
use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;
use crate::random::noise::{Key, Purpose};

/// The sizes of a block of rows in one layer.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The number of rows of the block.
    pub rows: usize,
    /// The number of inputs, `D`.
    pub columns: usize,
    /// The number of outputs, `P`.
    pub outputs: usize,
    /// The number of the mean's inducing inputs, `M_a`.
    pub mean_inducing: usize,
    /// The number of the covariance's inducing inputs, `M_b`.
    pub covariance_inducing: usize,
}

/// A piece of a step that a benchmark times: its name, and how much work it is.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// What the piece computes.
    pub name: &'static str,
    /// Floating-point operations with symmetric and triangular structure used, or exponentials.
    pub work: f64,
}

/// Hands every piece, and a closure that runs it once, to `visit`, which may run it as often as it likes.
pub fn each<T: Real>(shape: Shape, mut visit: impl FnMut(Piece, &mut dyn FnMut())) -> Result<()> {
    let Shape { rows: b, columns: d, outputs: p, mean_inducing: m_a, covariance_inducing: m_b } = shape;
    let mut piece = |name, work: usize, run: &mut dyn FnMut()| visit(Piece { name, work: work as f64 }, run);
    let key = Key::new(1, Purpose::Simulate);
    let normal = |rows, cols, tag| Mat::from_fn(rows, cols, |i, j| key.normals([i as u32, j as u32, tag, 0])[0]);
    let layer = Layer {
        kernel: Box::new(SquaredExponential::new(1.0, vec![(d as f64).sqrt(); d])),
        mean_function: MeanFunction::Zero,
        inducing: Inducing::Decoupled { mean: normal(m_a, d, 1), covariance: normal(m_b, d, 2) },
        mean: LayerMean { form: MeanForm::Whitened, free: normal(m_a, p, 3) },
        covariance: LayerCovariance {
            form: CovarianceForm::Whitened,
            factor: Mat::from_fn(p * m_b, m_b, |i, j| if i % m_b == j { 0.5 } else { 0.0 }),
        },
    };
    let jitter = Jitter { absolute: 1e-6, relative: 0.0 };
    let memory = &mut LayerMemory::default();
    let prepared = layer.prepare(jitter, 0, memory)?;
    let floor = Floor { absolute: 1e-10, relative: 0.0 };
    let sums = &mut LayerSums::<T>::zeros(&layer, InputLayout::Dense);
    let rows = &mut LayerRows::<T>::default();
    *rows.x.dense_mut() = normal(b, d, 4).cast();
    let chain = RowLayer::new(&layer, &prepared, floor, Want::Gradients, RowArrays::default(), InputLayout::Dense);
    chain.forward(rows);
    rows.mean_bar = normal(b, p, 5).cast();
    rows.variance_bar = normal(b, p, 6).cast();

    let (all, kernel) = (m_a + m_b, T::evaluator(&*layer.kernel));
    let z = chain.inducing().view();
    piece("kernel", b * all * (2 * d + 1), &mut || {
        kernel.cross(rows.x.dense().view(), z, rows.k.view_mut(), &mut rows.scratch);
    });
    rows.k_bar = normal(b, all, 7).cast();
    let mut x_bar = Mat::zeros(b, d);
    piece("kernel pullback", b * all * 4 * d, &mut || {
        let KernelSums { inducing, theta } = &mut sums.kernel;
        let bars = CrossBars { x: Some(x_bar.view_mut()), z: ViewMut::new(inducing, all, d), theta };
        kernel.cross_pullback(rows.x.dense().view(), z, rows.k.view(), rows.k_bar.view_mut(), bars, &mut rows.scratch);
    });
    piece("quadratic forms", 2 * b * m_b * m_b * p, &mut || chain.variances(rows));
    let moments = RowLayer::new(&layer, &prepared, floor, Want::Moments, RowArrays::default(), InputLayout::Dense);
    piece("quadratic forms alone", b * m_b * m_b * p, &mut || moments.variances(rows));
    chain.variances(rows);
    let mut diagonal_bar = vec![T::ZERO; b];
    piece("quadratic forms pullback", b * m_b * m_b * p, &mut || {
        chain.variances_pullback(rows, &mut diagonal_bar);
        chain.explained_sums.add(&rows.a, &rows.q, &rows.variance_bar, &mut rows.scaled, &mut sums.explained);
    });
    let shares = normal(m_b, p * m_b, 12).cast();
    piece("product", 2 * b * m_b * m_b * p, &mut || {
        let (a, g) = (rows.a.view().faer(), shares.view().faer());
        product(rows.q.view_mut().faer(), Accumulate::Replace, T::ONE, a, g);
    });
    piece("symmetric product", b * m_b * m_b * p, &mut || {
        chain.explained_sums.add(&rows.a, &rows.q, &rows.variance_bar, &mut rows.scaled, &mut sums.explained);
    });
    // As many bits as the molecules of the paper have, and as few of them set.
    let bits = Mat::from_fn(b, 512, |i, j| f64::from(u8::from(key.uniform([i as u32, j as u32, 10, 0]) < 0.09)));
    if let Some(inputs) = SparseInputs::detect(bits.view()) {
        let (mut sparse, ids) = (SparseRows::<T>::default(), (0..b as u32).collect::<Vec<_>>());
        sparse.gather(&inputs, &ids);
        let mut packed = vec![T::ZERO; packed_len::<T>(512, all)];
        pack(normal(512, all, 11).cast().view(), &mut packed);
        piece("sparse product", 2 * sparse.deltas().stored() * all, &mut || {
            sparse.deltas().times_packed(Accumulate::Replace, &packed, rows.k.view_mut());
        });
    }
    let exponents: Vec<T> = (0..b * all).map(|i| T::of(-(i as f64) / (b * all) as f64)).collect();
    let mut values = exponents.clone();
    piece("exp", b * all, &mut || {
        vectorised(
            #[inline(always)]
            || {
                for (to, from) in values.iter_mut().zip(&exponents) {
                    *to = from.exp_decay();
                }
            },
        );
    });
    let scratch = &mut Scratch::default();
    let (k, z_a) = (&*layer.kernel as &dyn Kernel, layer.inducing.mean().view());
    let build = |scratch: &mut Scratch<f64>| {
        super::Gram::new(k, z_a, jitter, true, (0, Matrix::MeanGram), scratch).map(|(gram, _)| gram)
    };
    let gram = build(scratch)?;
    piece("factorisation", 2 * m_a.pow(3) / 3, &mut || {
        if let Ok(gram) = build(scratch) {
            gram.give(scratch);
        }
    });
    let (a, u) = (normal(m_a, p, 8), normal(m_a, p, 9));
    piece("factorisation pullback", m_a.pow(3), &mut || {
        let k_bar = gram.factor().pullback_outer(&a, &u, None, scratch);
        scratch.give_mat(k_bar);
    });
    Ok(())
}

/// The rate of a 1024³ matrix product on one thread, the best of five, in 10⁹ operations a second.
pub fn peak_gflops<T: Real>() -> f64 {
    const N: usize = 1024;
    let a: Mat<T> = Mat::from_fn(N, N, |i, j| T::of((i + j) as f64 / N as f64));
    let mut out = Mat::zeros(N, N);
    let mut once = || {
        let started = Instant::now();
        product(out.view_mut().faer(), Accumulate::Replace, T::ONE, a.view().faer(), a.view().faer());
        2.0 * (N as f64).powi(3) / started.elapsed().as_secs_f64() / 1e9
    };
    (0..5).map(|_| once()).fold(0.0, f64::max)
}
