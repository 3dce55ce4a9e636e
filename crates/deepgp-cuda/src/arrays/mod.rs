//! Every array of a task on the device. One function lays them out; it runs once to measure and once for real.

pub mod chunks;
pub mod prepared;
pub mod row_sums;
pub mod rows;
pub mod workload;

use deepgp::CovarianceForm;

use crate::device::lane::WORKSPACE;
use crate::device::memory::{Arena, Span};
use crate::device::real::Real;
use crate::kernels::common::{Control, Step};
use crate::kernels::data_term::DATA_TERM_ROWS;
use crate::model::blueprint::{Blueprint, LayerBlueprint};
use prepared::{PreparedArrays, Shared};
use row_sums::DataSums;
use rows::{BackArrays, RowArrays, SharedRows};
use workload::Extent;

/// One layer.
#[derive(Clone, Debug)]
pub struct LayerArrays<T> {
    pub blueprint: LayerBlueprint,
    pub prepared: PreparedArrays<T>,
    pub rows: RowArrays<T>,
    /// The way back, where gradients are wanted.
    pub back: Option<BackArrays<T>>,
}

/// Layers, parameters, optimiser and data.
#[derive(Clone, Debug)]
pub struct Arrays<T> {
    pub layers: Vec<LayerArrays<T>>,
    /// Parameter values.
    pub values: Span<f64>,
    /// The raw numbers that the optimiser moves.
    pub raw: Span<f64>,
    /// Adam's running means of gradients.
    pub first: Span<f64>,
    /// Adam's running means of their squares.
    pub second: Span<f64>,
    /// Raw, first, second and values before the last update.
    pub before: Span<f64>,
    pub gradient: Span<f64>,
    /// Floors of positive parameters; −1 for others.
    pub floors: Span<f64>,
    pub frozen: Span<u8>,
    pub x: Span<T>,
    pub y: Span<f64>,
    pub weights: Span<f64>,
    pub offsets: Span<f64>,
    /// Row numbers of each step of a burst.
    pub ids: Span<u32>,
    /// The steps of a burst.
    pub steps: Span<Step>,
    pub control: Span<Control>,
    /// What each step of a burst left behind.
    pub records: Span<f64>,
    /// What all factorisations said.
    pub infos: Span<i32>,
    /// The parts of all layers' KL.
    pub kls: Span<f64>,
    /// Sums of the data term, of the likelihood's gradient and of that at sites' weights, by blocks.
    pub data_term: Span<f64>,
    /// The sums over all rows, where several processes exchange them.
    pub sums: Option<DataSums>,
    pub workspaces: Vec<Span<u8>>,
}

fn when(yes: bool, n: usize) -> usize {
    if yes { n } else { 0 }
}

impl<T: Real> Arrays<T> {
    /// Lays everything out. `factor_workspace` says how many numbers of workspace a factorisation of an order needs.
    pub fn new(
        blueprint: &Blueprint,
        extent: Extent,
        factor_workspace: &dyn Fn(usize) -> usize,
        arena: &mut Arena,
    ) -> Self {
        let (n, work) = (blueprint.parameters, extent.work);
        let train = when(work.gradients, n);
        let values = arena.take(n);
        let infos: Span<i32> = arena.take(blueprint.layers.iter().map(factorisations).sum());
        let kls: Span<f64> = arena.take(blueprint.layers.iter().map(divergences).sum());
        let (mut left_infos, mut left_kls) = (infos, kls);
        let last = blueprint.layers.len() - 1;
        let (row_sums, sums) = match work.gradients {
            true => row_sums::lay_out(blueprint, work.together, arena),
            false => (Vec::new(), None),
        };
        let shared_rows = (!work.gradients).then(|| SharedRows::new(&blueprint.layers, extent, arena));
        let mut layers = Vec::new();
        for (index, layer) in blueprint.layers.iter().enumerate() {
            let shared = Shared {
                values,
                infos: left_infos,
                kls: left_kls,
                gradients: work.gradients,
                resident: extent.resident,
                factor_workspace,
            };
            left_infos = left_infos.from(factorisations(layer));
            left_kls = left_kls.from(divergences(layer));
            let mut prepared = PreparedArrays::new(layer, shared, arena);
            let rows = RowArrays::new(layer, extent, (index, index == last), shared_rows, arena);
            let mut back = None;
            if let Some(sums) = row_sums.get(index) {
                let (arrays, grams) =
                    BackArrays::new(layer, &prepared.grams, *sums, extent, (index, index == last), arena);
                (back, prepared.grams) = (Some(arrays), grams);
            }
            layers.push(LayerArrays { blueprint: layer.clone(), prepared, rows, back });
        }
        let blocks = layers[last].rows.rows.div_ceil(DATA_TERM_ROWS);
        Self {
            values,
            raw: arena.take(train),
            first: arena.take(train),
            second: arena.take(train),
            before: arena.take(4 * train),
            gradient: arena.take(train),
            floors: arena.take(train),
            frozen: arena.take(train),
            x: arena.take(work.data_rows * blueprint.layers[0].width),
            y: arena.take(when(work.gradients, work.data_rows * blueprint.likelihood.observed)),
            weights: if work.weighted { arena.take(work.data_rows) } else { Span::NONE },
            offsets: if work.offset { arena.take(work.data_rows) } else { Span::NONE },
            ids: arena.take(work.burst * extent.rows),
            steps: arena.take(work.burst),
            control: arena.take(1),
            records: arena.take(work.burst * record_length(blueprint)),
            data_term: arena.take(when(work.gradients, blocks * data_term_length(blueprint))),
            workspaces: (0..extent.lanes).map(|_| arena.take(WORKSPACE)).collect(),
            infos,
            kls,
            sums,
            layers,
        }
    }
}

/// Factorisations of a layer that report how they went.
pub fn factorisations(layer: &LayerBlueprint) -> usize {
    let of_covariance = match layer.covariance_form {
        CovarianceForm::Dual => layer.outputs,
        CovarianceForm::Standard | CovarianceForm::Whitened | CovarianceForm::Diagonal => 0,
    };
    layer.grams.iter().filter(|gram| gram.factored).count() + of_covariance
}

/// Numbers that add up to a layer's KL: the mean's, and one for each output.
pub fn divergences(layer: &LayerBlueprint) -> usize {
    1 + layer.outputs
}

/// Numbers that a block of the data term leaves: its sum, and the gradients of the likelihood's parameters and at the weights of sites.
pub fn data_term_length(blueprint: &Blueprint) -> usize {
    1 + blueprint.likelihood.parameters.len() + blueprint.sites()
}

/// Numbers in the record of a step: data term, clamped, good, infos, KLs.
pub fn record_length(blueprint: &Blueprint) -> usize {
    3 + blueprint.layers.iter().map(|layer| factorisations(layer) + divergences(layer)).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::workload::Workload;
    use super::*;
    use deepgp::{DeepGp, InducingSize, Mat, ModelSettings};

    const WHITENED: (InducingSize, CovarianceForm) = (InducingSize::decoupled(20, 10), CovarianceForm::Whitened);

    fn used(
        (inducing, covariance_form): (InducingSize, CovarianceForm),
        batch_rows: usize,
        gradients: bool,
        base: u64,
    ) -> usize {
        let x = Mat::from_fn(60, 3, |i, j| ((7 * i + 3 * j) % 61) as f64);
        let settings =
            ModelSettings { hidden_layers: 1, width: 4, inducing, covariance_form, ..ModelSettings::default() };
        let model = DeepGp::for_regression(x.view(), 1, &settings).unwrap();
        let work = Workload {
            batch_rows,
            samples: 2,
            gradients,
            burst: 3,
            data_rows: 60,
            weighted: false,
            offset: false,
            given_rows: 0,
            together: false,
            objective: deepgp::ObjectiveForm::default(),
        };
        let (blueprint, mut arena) = (Blueprint::new(&model).unwrap(), Arena::new(base));
        let arrays = Arrays::<f64>::new(&blueprint, Extent::new(work, 2, true, 0), &|n| n * n, &mut arena);
        assert_eq!(arrays.layers.len(), 2);
        assert_eq!((arrays.layers[0].rows.rows, arrays.layers[1].rows.rows), (batch_rows, 2 * batch_rows));
        arena.used()
    }

    #[test]
    fn what_is_measured_is_what_is_laid_out_and_grows_with_the_rows() {
        assert_eq!(used(WHITENED, 64, true, 0), used(WHITENED, 64, true, 1 << 40));
        assert!(used(WHITENED, 128, true, 0) > used(WHITENED, 64, true, 0));
        assert!(used(WHITENED, 64, false, 0) < used(WHITENED, 64, true, 0));
    }

    #[test]
    fn one_set_takes_less_than_two_and_a_diagonal_less_than_squares() {
        let nested = InducingSize::nested(20, 10);
        let all = [WHITENED, (nested, CovarianceForm::Whitened), (nested, CovarianceForm::Diagonal)];
        for gradients in [false, true] {
            let bytes = all.map(|own| used(own, 1024, gradients, 0));
            assert!(bytes.is_sorted_by(|a, b| a > b), "{bytes:?}");
        }
    }
}
