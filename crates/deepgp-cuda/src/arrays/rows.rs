//! Arrays of a layer's rows, on the way forward and back.

use deepgp::CovarianceForm;

use super::chunks::{SQUARE_CHUNKS, SYMMETRIC_FROM, chunks, symmetric_chunks};
use super::prepared::GramArrays;
use super::row_sums::{BlockSums, RowSumArrays};
use super::when;
use super::workload::Extent;
use crate::device::memory::{Arena, Span};
use crate::device::real::Real;
use crate::kernels::covariance::{gram_blocks, tiles};
use crate::kernels::diagonal::DIAGONAL_CHUNKS;
use crate::model::blueprint::{Grams, LayerBlueprint};

/// A layer's rows on the way forward.
#[derive(Clone, Debug)]
pub struct RowArrays<T> {
    /// How many rows it sees.
    pub rows: usize,
    /// `[1 | x]`.
    pub x: Span<T>,
    /// Inner products of rows and inducing inputs for each leaf, where distances are taken by products.
    pub products: Span<T>,
    /// Squared norms of rows.
    pub x_norms: Span<T>,
    /// Squared norms of inducing inputs.
    pub z_norms: Span<T>,
    /// Inducing inputs times `−2 / ℓ²`.
    pub z_scaled: Span<T>,
    /// `k(x, Z)`.
    pub k: Span<T>,
    /// `A = k_b Rᵀ`, or `k_b` itself where rows are not projected.
    pub a: Span<T>,
    pub a_stride: usize,
    /// `Q`: `A G_p` for each output, where `G` is dense.
    pub q: Span<T>,
    pub mean: Span<T>,
    pub variance: Span<T>,
    /// `d = k(x, x) − A Aᵀ` of each row, where the objective reads it.
    pub conditional: Span<T>,
    /// The noise that samples of the layer's outputs take.
    pub noise: Span<T>,
    /// The noise that was uploaded for them.
    pub given: Span<f64>,
}

/// Arrays that layers use one after the other where nothing goes backward: the largest ones.
#[derive(Clone, Copy, Debug)]
pub struct SharedRows<T> {
    k: Span<T>,
    q: Span<T>,
}

impl<T: Real> SharedRows<T> {
    /// Room for the largest layer.
    pub fn new(layers: &[LayerBlueprint], extent: Extent, arena: &mut Arena) -> Self {
        let rows = extent.rows * extent.work.samples;
        let widest = |width: fn(&LayerBlueprint) -> usize| layers.iter().map(width).max().unwrap_or(0);
        let k = arena.take(rows * widest(LayerBlueprint::columns));
        Self { k, q: arena.take(rows * widest(quadratic_width)) }
    }
}

/// Numbers of `Q` in a row.
fn quadratic_width(layer: &LayerBlueprint) -> usize {
    match layer.covariance_form {
        CovarianceForm::Dual | CovarianceForm::Standard | CovarianceForm::Whitened => layer.outputs * layer.covariances,
        CovarianceForm::Diagonal => 0,
    }
}

impl<T: Real> RowArrays<T> {
    /// Lays out those of layer `index`; the `last` layer is not sampled.
    pub fn new(
        layer: &LayerBlueprint,
        extent: Extent,
        (index, last): (usize, bool),
        shared: Option<SharedRows<T>>,
        arena: &mut Arena,
    ) -> Self {
        let LayerBlueprint { width: d, outputs: p, covariances: m, .. } = *layer;
        let (columns, leaves, products) = (layer.columns(), layer.text.leaves, layer.text.products);
        let rows = extent.layer_rows(index);
        let samples = when(!last, extent.rows * extent.work.samples * p);
        let k = shared.map_or_else(|| arena.take(rows * columns), |shared| shared.k.first(rows * columns));
        let of_q = rows * quadratic_width(layer);
        let q = shared.map_or_else(|| arena.take(of_q), |shared| shared.q.first(of_q));
        let (a, a_stride) = match layer.projects() {
            true => (arena.take(rows * m), m),
            false => (k.from(layer.start), columns),
        };
        Self {
            rows,
            x: arena.take(rows * (d + 1)),
            products: arena.take(when(products, leaves * rows * columns)),
            x_norms: arena.take(when(products, leaves * rows)),
            z_norms: arena.take(when(products, leaves * columns)),
            z_scaled: arena.take(when(products, leaves * columns * d)),
            k,
            a,
            a_stride,
            q,
            mean: arena.take(rows * p),
            variance: arena.take(rows * p),
            conditional: if last && extent.conditional() { arena.take(rows) } else { Span::NONE },
            noise: arena.take(samples),
            given: arena.take(when(!last, extent.work.given_rows * p)),
        }
    }
}

/// A layer's rows on the way back, and sums over them: by chunks, then whole.
#[derive(Clone, Debug)]
pub struct BackArrays<T> {
    pub mean_bar: Span<T>,
    pub variance_bar: Span<T>,
    /// The gradient at `conditional`, where there is one.
    pub conditional_bar: Span<T>,
    pub a_bar: Span<T>,
    /// Whether a dense `Ḡ` is summed by a kernel of its own; then `e` stands beside `Q`, else it is multiplied into it.
    pub symmetric: bool,
    /// `e_p = −variance_bar_p`, where a sum needs it by itself.
    pub e: Span<T>,
    pub kb_bar: Span<T>,
    /// `W = ∂/∂r²` of each leaf.
    pub w: Span<T>,
    /// Sums for variances and shapes, of rows and kernel matrices: blocks of rows come first.
    pub partial: Span<f64>,
    /// How many blocks of rows there are in `partial`.
    pub row_blocks: usize,
    /// How many there are in all.
    pub blocks: usize,
    pub diagonal_bar: Span<f64>,
    /// `W [1 | z]` of the rows, `[leaves, rows, D + 1]`; only the first column for the first layer.
    pub x_sums: Span<T>,
    pub x_sums_width: usize,
    pub x_bar: Span<T>,
    /// `Σ s_n x_n²` by chunks.
    pub squares: Span<f64>,
    pub weights_chunks: Span<T>,
    pub projection_chunks: Span<T>,
    pub explained_chunks: Span<T>,
    pub z_chunks: Span<T>,
    /// The sums over rows.
    pub sums: RowSumArrays,
    /// `W [1 | z]` of the kernel matrices, for each leaf.
    pub gram_sums: Span<f64>,
}

impl<T: Real> BackArrays<T> {
    /// Lays out those of layer `index` with `rows` rows. Also gives the kernel matrices, with their part of the sums.
    pub fn new(
        layer: &LayerBlueprint,
        grams: &Grams<GramArrays>,
        row_sums: RowSumArrays,
        extent: Extent,
        (index, last): (usize, bool),
        arena: &mut Arena,
    ) -> (Self, Grams<GramArrays>) {
        let LayerBlueprint { width: d, outputs: p, means, covariances: m, .. } = *layer;
        let (rows, columns, leaves, first) = (extent.layer_rows(index), layer.columns(), layer.text.leaves, index == 0);
        // Whether `Ḡ` has a kernel of its own, whether `e` stands by itself, and chunks in which it is summed.
        let (symmetric, keeps_e, explained_chunks) = match layer.covariance_form {
            CovarianceForm::Diagonal => (false, true, DIAGONAL_CHUNKS * p * m),
            CovarianceForm::Dual | CovarianceForm::Standard | CovarianceForm::Whitened => {
                let symmetric = extent.symmetric && m >= SYMMETRIC_FROM;
                let count = if symmetric { symmetric_chunks(rows, m, p) } else { chunks(p * m, m) };
                (symmetric, symmetric, count * p * m * m)
            }
        };
        let of_rows = tiles(rows, columns);
        let of_gram = |gram: &GramArrays| gram_blocks(gram.blueprint.order, layer.text.sums_at_once);
        let blocks = of_rows + grams.iter().map(of_gram).sum::<usize>();
        let partial: Span<f64> = arena.take(blocks * 2 * leaves);
        let mut at = of_rows * 2 * leaves;
        let grams = grams.map(|gram| {
            let own = partial.from(at);
            at += of_gram(gram) * 2 * leaves;
            GramArrays { partial: own, ..*gram }
        });
        let sums = leaves * columns * (d + 1);
        let x_sums_width = if first { 1 } else { d + 1 };
        let back = Self {
            mean_bar: arena.take(rows * p),
            variance_bar: arena.take(rows * p),
            conditional_bar: if last && extent.conditional() { arena.take(rows) } else { Span::NONE },
            a_bar: arena.take(rows * m),
            symmetric,
            e: if keeps_e { arena.take(rows * p) } else { Span::NONE },
            kb_bar: arena.take(when(layer.projects(), rows * m)),
            w: arena.take(leaves * rows * columns),
            partial,
            row_blocks: of_rows,
            blocks,
            diagonal_bar: arena.take(rows),
            x_sums: arena.take(leaves * rows * x_sums_width),
            x_sums_width,
            x_bar: arena.take(when(!first, rows * d)),
            squares: arena.take(leaves * SQUARE_CHUNKS * d),
            weights_chunks: arena.take(chunks(means, p) * means * p),
            projection_chunks: arena.take(chunks(m, m) * m * m),
            explained_chunks: arena.take(explained_chunks),
            z_chunks: arena.take(chunks(columns, d + 1) * sums),
            sums: row_sums,
            gram_sums: arena.take(sums),
        };
        (back, grams)
    }

    /// What the gradient at the kernel's parameters adds up: blocks, or where there are several processes what came of them.
    pub fn kernel_sums(&self) -> KernelSums {
        let Self { squares, partial, row_blocks, blocks, diagonal_bar, .. } = *self;
        match self.sums.blocks {
            None => {
                KernelSums { squares, chunks: SQUARE_CHUNKS, partial, blocks, diagonal_bar, rows: diagonal_bar.len() }
            }
            Some(BlockSums { squares, diagonal, .. }) => {
                let (partial, blocks) = (self.whole_block(), blocks - row_blocks + 1);
                KernelSums { squares, chunks: 1, partial, blocks, diagonal_bar: diagonal, rows: 1 }
            }
        }
    }

    /// The last block of rows of `partial`, and those of kernel matrices after it: the sum over all processes takes that block's place.
    pub fn whole_block(&self) -> Span<f64> {
        let length = self.partial.len() / self.blocks;
        self.partial.from((self.row_blocks - 1) * length)
    }
}

/// Sums that the gradient at a kernel's parameters is made of, by chunks and blocks of rows.
#[derive(Clone, Copy, Debug)]
pub struct KernelSums {
    /// `Σ s_n x_n²`, `[leaves, chunks, D]`.
    pub squares: Span<f64>,
    pub chunks: usize,
    /// Of variances and shapes, `[blocks, leaves, 2]`.
    pub partial: Span<f64>,
    pub blocks: usize,
    /// The gradients at `k(x, x)`.
    pub diagonal_bar: Span<f64>,
    pub rows: usize,
}
