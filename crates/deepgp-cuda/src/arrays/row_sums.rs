//! The sums over rows, one behind the other on the device: all that a step's rows leave to its parameters, and so what several processes add
//! up ([`Exchange`](crate::task::exchange::Exchange)).
//!
//! Where there is one process, what is cheapest to add up by whoever reads it stays in blocks of rows. Several add it up before they
//! exchange it.

use deepgp::CovarianceForm;

use super::{data_term_length, when};
use crate::device::memory::{Arena, Span};
use crate::model::blueprint::{Blueprint, LayerBlueprint};

/// The sums over the rows of one layer.
#[derive(Clone, Copy, Debug)]
pub struct RowSumArrays {
    /// `w̄`, `[M_a, P]`.
    pub weights: Span<f64>,
    /// `R̄`, `[M_b, M_b]`, where rows are projected.
    pub projection: Span<f64>,
    /// `Ḡ`, `[P, M_b, M_b]`, where it is dense.
    pub explained: Span<f64>,
    /// `Wᵀ [1 | x]`, for each leaf.
    pub inducing: Span<f64>,
    /// What is left in blocks where there is one process.
    pub blocks: Option<BlockSums>,
}

/// Sums over the rows of one layer that several processes exchange, and one leaves in blocks.
#[derive(Clone, Copy, Debug)]
pub struct BlockSums {
    /// `ḡ`, `[P, M_b]`, where `Ḡ` is diagonal.
    pub diagonal_explained: Span<f64>,
    /// `Σ s_n x_n²`, `[leaves, D]`.
    pub squares: Span<f64>,
    /// What reaches the variance and the shape of each leaf, `[leaves, 2]`.
    pub variances: Span<f64>,
    /// The gradient at `k(x, x)`.
    pub diagonal: Span<f64>,
    /// The gradient at the points of learned sites, where there are any.
    pub points: Span<f64>,
}

impl RowSumArrays {
    /// Lays out those of a layer, for a process that has others or has not.
    pub fn new(layer: &LayerBlueprint, together: bool, arena: &mut Arena) -> Self {
        let LayerBlueprint { width: d, outputs: p, means, covariances: m, .. } = *layer;
        let leaves = layer.text.leaves;
        let (dense, diagonal) = match layer.covariance_form {
            CovarianceForm::Diagonal => (0, p * m),
            CovarianceForm::Dual | CovarianceForm::Standard | CovarianceForm::Whitened => (p * m * m, 0),
        };
        Self {
            weights: arena.take(means * p),
            projection: arena.take(when(layer.projects(), m * m)),
            explained: arena.take(dense),
            inducing: arena.take(leaves * layer.columns() * (d + 1)),
            blocks: together.then(|| BlockSums {
                diagonal_explained: arena.take(diagonal),
                squares: arena.take(leaves * d),
                variances: arena.take(leaves * 2),
                diagonal: arena.take(1),
                points: arena.take(layer.points.as_ref().map_or(0, ExactSizeIterator::len)),
            }),
        }
    }
}

/// The sums over the rows of all layers and of the data term, where several processes exchange them.
#[derive(Clone, Copy, Debug)]
pub struct DataSums {
    /// The data term, the gradient of the likelihood's parameters and that at the logarithms of sites' weights.
    pub data_term: Span<f64>,
    /// The number of variances at the floor.
    pub clamped: Span<f64>,
    /// All sums over rows, those of layers too, with what lies between them, which is 0.
    pub all: Span<f64>,
}

/// Lays out all sums over rows: those of each layer and, for a process that has others, those of the data term.
pub fn lay_out(blueprint: &Blueprint, together: bool, arena: &mut Arena) -> (Vec<RowSumArrays>, Option<DataSums>) {
    let start = arena.used();
    let layers = blueprint.layers.iter().map(|layer| RowSumArrays::new(layer, together, arena)).collect();
    let data = together.then(|| {
        let (data_term, clamped) = (arena.take(data_term_length(blueprint)), arena.take(1));
        DataSums { data_term, clamped, all: arena.taken_since(start) }
    });
    (layers, data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::{DeepGp, InducingSize, Mat, ModelSettings, Sites};

    fn blueprint(inducing: InducingSize, covariance_form: CovarianceForm) -> Blueprint {
        let x = Mat::from_fn(60, 3, |i, j| ((7 * i + 3 * j) % 61) as f64);
        let settings = ModelSettings {
            hidden_layers: 1,
            width: 4,
            inducing,
            covariance_form,
            sites: Some(Sites::USUAL),
            ..ModelSettings::plain()
        };
        Blueprint::new(&DeepGp::for_regression(x.view(), 1, &settings).unwrap()).unwrap()
    }

    /// The spans of a layer's sums.
    fn spans(sums: &RowSumArrays) -> Vec<Span<f64>> {
        let blocks = sums.blocks.expect("there are several processes");
        let BlockSums { diagonal_explained, squares, variances, diagonal, points } = blocks;
        let own = [sums.weights, sums.projection, sums.explained, sums.inducing];
        own.into_iter().chain([diagonal_explained, squares, variances, diagonal, points]).collect()
    }

    #[test]
    fn what_several_processes_exchange_is_one_piece_that_holds_every_sum_once() {
        use CovarianceForm::{Diagonal, Dual, Whitened};
        for (form, explained, projected) in [(Diagonal, 10, 100), (Whitened, 100, 100), (Dual, 100, 0)] {
            let blueprint = blueprint(InducingSize::nested(20, 10), form);
            let mut arena = Arena::new(4096);
            let before: Span<f64> = arena.take(5);
            let (layers, data) = lay_out(&blueprint, true, &mut arena);
            let (data, after) = (data.unwrap(), arena.take::<f64>(1));
            let mut all: Vec<Span<f64>> = layers.iter().flat_map(spans).chain([data.data_term, data.clamped]).collect();
            all.retain(|span| span.len() > 0);
            all.sort_by_key(|span| span.address());
            let end = |span: Span<f64>| span.address() + 8 * span.len() as u64;
            assert!(all.is_sorted_by(|a, b| end(*a) <= b.address()));
            assert!(end(before) <= data.all.address() && end(data.all) <= after.address());
            assert!(data.all.address() == all[0].address() && end(*all.last().unwrap()) <= end(data.all));
            // w̄, R̄, Ḡ, Wᵀ [1 | x], squares, variances, the diagonal, and points where a layer is sampled.
            let of_layer = |d: usize, p: usize, points: usize| {
                20 * p + projected + explained * p + 20 * (d + 1) + d + 2 + 1 + points * p
            };
            let numbers: usize = all.iter().map(|span| span.len()).sum();
            let of_data = 1 + 1 + Sites::USUAL + 1;
            assert_eq!(numbers, of_layer(3, 4, Sites::USUAL) + of_layer(4, 1, 0) + of_data, "{form:?}");
        }
    }

    #[test]
    fn one_process_leaves_blocks_as_they_are() {
        let blueprint = blueprint(InducingSize::nested(20, 10), CovarianceForm::Diagonal);
        let (layers, data) = lay_out(&blueprint, false, &mut Arena::new(0));
        assert!(data.is_none() && layers.iter().all(|layer| layer.blocks.is_none() && layer.explained.len() == 0));
    }
}
