//! Sums over the rows of a layer, on the way back to its parameters.
//!
//! They are products that are cut into chunks of rows, so that there are enough of them to keep the device busy, and then added up in
//! order. In `mixed` precision the factors of most may be rounded to TF32. They run on the layer's own lanes, beside the way back through
//! the layers below.

use deepgp::CovarianceForm;

use super::Scope;
use crate::arrays::LayerArrays;
use crate::arrays::chunks::{SQUARE_CHUNKS, chunks, symmetric_chunks};
use crate::arrays::row_sums::BlockSums;
use crate::arrays::rows::BackArrays;
use crate::device::lane::Lane;
use crate::device::memory::Span;
use crate::device::product::{Operand, Shape};
use crate::device::real::Real;
use crate::fault::Outcome;
use crate::kernels::diagonal::{DIAGONAL_CHUNKS, DiagonalSums};
use crate::kernels::exchange::SumBlocks;
use crate::kernels::matrix::{ClearAbove, SumChunks};
use crate::kernels::rows::WeightedSquares;
use crate::kernels::symmetric::{SumTriangles, SymmetricSums};

/// `w̄`, after [`through_variance`](super::backward::through_variance).
pub fn weights<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, back: &BackArrays<T>, lane: &Lane) -> Outcome<()> {
    let (blueprint, own) = (&layer.blueprint, &layer.rows);
    let (p, columns) = (blueprint.outputs, blueprint.columns());
    let (k_a, mean_bar) = (Operand::new(own.k, columns), Operand::new(back.mean_bar, p));
    let sum =
        RowSum { m: blueprint.means, n: p, rows: own.rows, left: (k_a, columns), right: (mean_bar, p), rough: true };
    sum.run(scope, back.weights_chunks, back.sums.weights, lane)
}

/// `Ḡ`, after [`through_variance`](super::backward::through_variance). A dense one comes by a kernel of its own where the device has one for it,
/// else as a product; a diagonal one is left in chunks, which [`covariance`](super::epilogue::covariance) adds up, if it is not exchanged.
pub fn explained<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, back: &BackArrays<T>, lane: &Lane) -> Outcome<()> {
    let (blueprint, own) = (&layer.blueprint, &layer.rows);
    let (m, p) = (blueprint.covariances, blueprint.outputs);
    match blueprint.covariance_form {
        CovarianceForm::Dual | CovarianceForm::Standard | CovarianceForm::Whitened => {}
        CovarianceForm::Diagonal => {
            let sums = DiagonalSums {
                a: own.a,
                a_stride: own.a_stride,
                e: back.e,
                rows: own.rows,
                chunk_rows: own.rows.div_ceil(DIAGONAL_CHUNKS),
                outputs: p,
                m,
                partial: back.explained_chunks,
                chunks: DIAGONAL_CHUNKS,
            };
            lane.run(scope.general, sums)?;
            let Some(BlockSums { diagonal_explained: to, .. }) = back.sums.blocks else { return Ok(()) };
            let (from, chunks, n) = (back.explained_chunks, DIAGONAL_CHUNKS, p * m);
            return lane.run(scope.general, SumChunks { from, chunks, n, add: false, to });
        }
    }
    if !back.symmetric {
        let (scaled, a) = (Operand::new(own.q, p * m), Operand::new(own.a, own.a_stride));
        let sum =
            RowSum { m: p * m, n: m, rows: own.rows, left: (scaled, p * m), right: (a, own.a_stride), rough: true };
        return sum.run(scope, back.explained_chunks, back.sums.explained, lane);
    }
    let (chunks, partial) = (symmetric_chunks(own.rows, m, p), back.explained_chunks);
    let sums = SymmetricSums {
        a: own.a,
        a_stride: own.a_stride,
        e: back.e,
        all_rows: own.rows,
        chunk_rows: own.rows.div_ceil(chunks),
        outputs: p,
        m,
        partial,
        chunks,
    };
    lane.run(scope.general, sums)?;
    lane.run(scope.general, SumTriangles { from: partial, chunks, outputs: p, m, to: back.sums.explained })
}

/// The lower triangle of `R̄`, where rows are projected, after [`through_variance`](super::backward::through_variance).
pub fn projection<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, back: &BackArrays<T>, lane: &Lane) -> Outcome<()> {
    let (blueprint, own) = (&layer.blueprint, &layer.rows);
    let (m, columns) = (blueprint.covariances, blueprint.columns());
    if !blueprint.projects() {
        return Ok(());
    }
    let (a_bar, k_b) = (Operand::new(back.a_bar, m), Operand::new(own.k.from(blueprint.start), columns));
    let sum = RowSum { m, n: m, rows: own.rows, left: (a_bar, m), right: (k_b, columns), rough: true };
    sum.run(scope, back.projection_chunks, back.sums.projection, lane)?;
    lane.run(scope.general, ClearAbove { m: back.sums.projection, n: m })
}

/// `Wᵀ [1 | x]`, after [`weigh`](super::backward::weigh).
pub fn inducing<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, back: &BackArrays<T>, lane: &Lane) -> Outcome<()> {
    let (blueprint, own) = (&layer.blueprint, &layer.rows);
    let (n, d, columns) = (own.rows, blueprint.width, blueprint.columns());
    let size = columns * (d + 1);
    for leaf in 0..blueprint.text.leaves {
        let (w, x) = (Operand::new(back.w.from(leaf * n * columns), columns), Operand::new(own.x, d + 1));
        // Not rough: the gradients of lengthscales and inducing inputs are small differences of these sums.
        let sum = RowSum { m: columns, n: d + 1, rows: n, left: (w, columns), right: (x, d + 1), rough: false };
        sum.run(scope, back.z_chunks, back.sums.inducing.from(leaf * size).first(size), lane)?;
    }
    Ok(())
}

/// `Σ s_n x_n²`, after [`inputs`](super::backward::inputs).
pub fn squares<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, back: &BackArrays<T>, lane: &Lane) -> Outcome<()> {
    let (own, d) = (&layer.rows, layer.blueprint.width);
    let (n, stride) = (own.rows, back.x_sums_width);
    for leaf in 0..layer.blueprint.text.leaves {
        let squares = WeightedSquares {
            s: back.x_sums.from(leaf * n * stride),
            s_stride: stride,
            x1: own.x,
            rows: n,
            width: d,
            chunk_rows: n.div_ceil(SQUARE_CHUNKS),
            partial: back.squares.from(leaf * SQUARE_CHUNKS * d),
            chunks: SQUARE_CHUNKS,
        };
        lane.run(scope.general, squares)?;
    }
    Ok(())
}

/// What is left in blocks of rows where nothing is exchanged: `Σ s_n x_n²`, after [`squares`], and what reaches the kernel's variances and shapes.
pub fn blocks<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, back: &BackArrays<T>, lane: &Lane) -> Outcome<()> {
    let Some(BlockSums { squares, variances, diagonal, .. }) = back.sums.blocks else { return Ok(()) };
    let (d, leaves) = (layer.blueprint.width, layer.blueprint.text.leaves);
    let add_up = |from, blocks, n, to| lane.run(scope.general, SumBlocks { from, blocks, n, to });
    for leaf in 0..leaves {
        add_up(back.squares.from(leaf * SQUARE_CHUNKS * d), SQUARE_CHUNKS, d, squares.from(leaf * d))?;
    }
    add_up(back.partial, back.row_blocks, 2 * leaves, variances)?;
    add_up(back.diagonal_bar, back.diagonal_bar.len(), 1, diagonal)
}

/// `Σ_n leftᵀ right`, an `[m, n]` matrix; each factor with the stride of its rows.
struct RowSum<T> {
    m: usize,
    n: usize,
    rows: usize,
    left: (Operand<T>, usize),
    right: (Operand<T>, usize),
    /// Whether `f32` factors may be rounded to the digits of TF32.
    rough: bool,
}

impl<T: Real> RowSum<T> {
    fn run(&self, scope: Scope<'_>, partial: Span<T>, to: Span<f64>, lane: &Lane) -> Outcome<()> {
        let Self { m, n, rows, .. } = *self;
        let chunks = chunks(m, n);
        let own = rows / chunks;
        let (left, right) = (self.left.0.t().each(own * self.left.1), self.right.0.each(own * self.right.1));
        let shape = Shape::new(m, n, own).times(chunks);
        let shape = if self.rough { shape.roughly() } else { shape };
        lane.product(shape, 1.0, left, right, 0.0, Operand::new(partial, n).each(m * n))?;
        lane.run(scope.general, SumChunks { from: partial, chunks, n: m * n, add: false, to })
    }
}
