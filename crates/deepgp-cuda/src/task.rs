//! A task on the device: a model's programs, its lanes, its memory, and the order in which work is given out.
//!
//! A step is a graph. Once `[1 | Z]` is there, every layer's two factorisations run on lanes of their own, beside one another and
//! beside the rows, which go forward on the main lane and wait for a layer's factors only when they come to it. On the way back
//! the main lane hands each layer's sums over to the layer's lanes and goes on to the layer below. So what a step takes is the
//! longest way through, not the sum.

use cudarc::driver::{CudaEvent, sys};
use deepgp::{CovarianceForm, DeepGp, MeanFunction};

use crate::Cuda;
use crate::arrays::{Arrays, BackArrays, LayerArrays, Task, divergences, record_length};
use crate::blueprint::Blueprint;
use crate::chunks::ROW_MULTIPLE;
use crate::device::lane::Lane;
use crate::device::memory::{Arena, Memory, Span, gate};
use crate::device::program::Program;
use crate::device::real::Real;
use crate::epilogue::{self, Reached};
use crate::fault::{Fault, Outcome};
use crate::kernels::common::{Control, Step};
use crate::kernels::matrix::{INVERT_OWN, InvertLower, largest_order};
use crate::kernels::optimiser::{Advance, Ascend, CheckFinite, Decide};
use crate::kernels::rows::Gather;
use crate::kernels::symmetric::SymmetricSums;
use crate::kernels::{Covariance, General};
use crate::limits::{check_counts, check_orders, too_large};
use crate::prologue::{self, Scope};
use crate::rows::{self, NoiseSource, Setting, Targets};

/// See the module.
#[derive(Debug)]
pub struct DeviceTask<T> {
    // First, so that its work has ended before the programs go.
    held: Held,
    pub blueprint: Blueprint,
    pub arrays: Arrays<T>,
    pub shape: Task,
    general: Program<General>,
    covariances: Vec<Program<Covariance>>,
}

/// Lanes, and the memory that their work uses.
#[derive(Debug)]
struct Held {
    /// The main lane, then two for each layer: the mean's and the covariance's; where there is a way back two more: one for inducing
    /// inputs and one for `Ḡ`.
    lanes: Vec<Lane>,
    memory: Option<Memory>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let _gate = gate();
        self.lanes.clear();
        self.memory = None;
    }
}

/// Marks after what the rows of a layer wait for.
#[derive(Debug)]
pub struct Ready {
    mean: CudaEvent,
    covariance: CudaEvent,
}

/// What a step left behind.
#[derive(Clone, Debug)]
pub struct Record {
    pub data_term: f64,
    pub clamped: usize,
    pub good: bool,
    pub infos: Vec<i32>,
    pub kl: Vec<f64>,
}

impl<T: Real> DeviceTask<T> {
    /// Compiles programs, takes memory and makes lanes. `shape.rows` is filled up, `shape.lanes` set.
    pub fn new(cuda: &Cuda, model: &DeepGp, mut shape: Task) -> Outcome<Self> {
        let blueprint = Blueprint::new(model)?;
        let context = cuda.context();
        let gate = gate();
        shape.rows = shape.rows.next_multiple_of(ROW_MULTIPLE);
        shape.lanes = 1 + blueprint.layers.len() * if shape.gradients { 4 } else { 2 };
        let general = cuda.general_program::<T>()?;
        shape.symmetric = shape.gradients && general.has::<SymmetricSums<T>>();
        let covariances = blueprint
            .layers
            .iter()
            .map(|plan| cuda.covariance_program::<T>(&plan.text))
            .collect::<Outcome<Vec<_>>>()?;
        let lanes = (0..shape.lanes).map(|_| Lane::new(&context)).collect::<Outcome<Vec<_>>>()?;
        let shared = cuda.shared_memory()? - INVERT_OWN;
        general.allow_shared::<InvertLower>(shared)?;
        check_orders(&blueprint, largest_order(shared))?;
        let mut workspaces = Vec::new();
        for gram in blueprint.layers.iter().flat_map(|layer| &layer.grams).filter(|gram| gram.factored) {
            workspaces.push((gram.order, lanes[0].factor_workspace(gram.order)?));
        }
        let workspace = |n: usize| workspaces.iter().find(|w| w.0 == n).map_or(0, |w| w.1);
        let measure = |rows: usize| {
            let mut arena = Arena::new(0);
            Arrays::<T>::new(&blueprint, Task { rows, ..shape }, &workspace, &mut arena);
            arena.used()
        };
        let (needed, (free, _)) = (measure(shape.rows), context.mem_get_info()?);
        // A model in training is asked for predictions now and then, which need memory too.
        let free = if shape.gradients { free - free / 8 } else { free };
        if needed > free {
            return Err(too_large(needed, free, shape.rows, measure));
        }
        check_counts(&blueprint, shape)?;
        let memory = Memory::zeroed(&context, needed)?;
        let arrays = Arrays::new(&blueprint, shape, &workspace, &mut Arena::new(memory.address()));
        for (lane, workspace) in lanes.iter().zip(&arrays.workspaces) {
            lane.give_workspace(*workspace)?;
        }
        let task = Self { blueprint, arrays, shape, general, covariances, held: Held { lanes, memory: Some(memory) } };
        drop(gate);
        task.fill_constants()?;
        Ok(task)
    }

    /// Jitter, addresses, mean functions.
    fn fill_constants(&self) -> Outcome<()> {
        let main = self.main();
        for layer in &self.arrays.layers {
            for gram in &layer.made.grams {
                self.set_jitter(gram.jitter, self.blueprint.jitter.absolute, self.blueprint.jitter.relative)?;
            }
            let square = layer.plan.covariances * layer.plan.covariances;
            if let Some(dual) = &layer.made.dual {
                let addresses: Vec<u64> = (0..layer.plan.outputs).map(|p| dual.h.from(p * square).address()).collect();
                main.upload(&addresses, dual.h_addresses)?;
            }
            if let (MeanFunction::Linear(w), Some(linear)) = (&layer.plan.mean_function, layer.made.linear) {
                let w: Vec<T> = w.as_slice().iter().map(|v| T::of(*v)).collect();
                main.upload(&w, linear)?;
            }
        }
        Ok(())
    }

    /// Sets the jitter of one kernel matrix.
    pub fn set_jitter(&self, jitter: Span<f64>, absolute: f64, relative: f64) -> Outcome<()> {
        self.main().upload(&[absolute, relative], jitter)
    }

    /// Makes the main lane wait for all others.
    pub fn join(&self) -> Outcome<()> {
        self.held.lanes[1..].iter().try_for_each(|lane| self.main().after(lane))
    }

    pub fn main(&self) -> &Lane {
        &self.held.lanes[0]
    }

    pub fn general(&self) -> &Program<General> {
        &self.general
    }

    /// Says what the next steps are, and starts counting anew.
    pub fn set_steps(&self, steps: &[Step]) -> Outcome<()> {
        self.main().upload(steps, self.arrays.steps)?;
        self.set_control(Control::default())
    }

    /// Sets what goes on from step to step.
    pub fn set_control(&self, control: Control) -> Outcome<()> {
        self.main().upload(&[control], self.arrays.control)
    }

    /// Uploads row numbers for each planned step, filled up with row 0.
    pub fn set_rows<'a>(&self, rows: impl Iterator<Item = &'a [u32]>) -> Outcome<()> {
        let mut ids = Vec::new();
        for (i, own) in rows.enumerate() {
            assert!(own.len() <= self.shape.rows, "a minibatch fits");
            ids.extend_from_slice(own);
            ids.resize((i + 1) * self.shape.rows, 0);
        }
        self.main().upload(&ids, self.arrays.ids)
    }

    fn scope(&self, layer: usize) -> Scope<'_> {
        let Arrays { values, steps, control, .. } = self.arrays;
        Scope { general: &self.general, covariance: &self.covariances[layer], values, steps, control }
    }

    fn setting(&self, noise: NoiseSource) -> Setting {
        Setting { floor: self.blueprint.floor, samples: self.shape.samples, noise, ids: self.arrays.ids }
    }

    fn mean_lane(&self, layer: usize) -> &Lane {
        match self.arrays.layers[layer].made.grams.len() {
            1 => self.covariance_lane(layer),
            _ => &self.held.lanes[1 + 2 * layer],
        }
    }

    fn covariance_lane(&self, layer: usize) -> &Lane {
        &self.held.lanes[2 + 2 * layer]
    }

    /// For the rows' means: a lane that the prologue leaves alone, where there is one.
    fn means_lane(&self, layer: usize) -> &Lane {
        if self.shape.gradients { self.inducing_lane(layer) } else { self.main() }
    }

    fn inducing_lane(&self, layer: usize) -> &Lane {
        &self.held.lanes[1 + 2 * self.arrays.layers.len() + layer]
    }

    fn explained_lane(&self, layer: usize) -> &Lane {
        &self.held.lanes[1 + 3 * self.arrays.layers.len() + layer]
    }

    /// Rows of layer `l` for each row of the batch.
    fn rows_of_one(&self, layer: usize) -> usize {
        if layer == 0 { 1 } else { self.shape.samples }
    }

    /// Gives out all work that does not depend on rows; returns marks after what rows wait for.
    pub fn prologue(&self) -> Outcome<Vec<Ready>> {
        let main = self.main();
        for (l, layer) in self.arrays.layers.iter().enumerate() {
            prologue::begin(self.scope(l), layer, main)?;
        }
        let mut ready = Vec::new();
        for (l, layer) in self.arrays.layers.iter().enumerate() {
            let (scope, of_mean, of_covariance) = (self.scope(l), self.mean_lane(l), self.covariance_lane(l));
            of_covariance.after(main)?;
            prologue::covariance(scope, layer, of_covariance)?;
            let covariance = of_covariance.mark()?;
            if layer.made.grams.len() == 2 {
                of_mean.after(main)?;
            }
            prologue::mean(scope, layer, of_mean)?;
            ready.push(Ready { mean: of_mean.mark()?, covariance });
            prologue::covariance_divergence(scope, layer, of_covariance)?;
            prologue::mean_divergence(scope, layer, of_mean)?;
        }
        Ok(ready)
    }

    /// Gives out the way forward from the first layer's rows to the last layer's moments; a layer's rows wait for its marks, if there
    /// are any.
    pub fn forward(&self, noise: NoiseSource, ready: &[Ready]) -> Outcome<()> {
        let (main, setting) = (self.main(), self.setting(noise));
        for (l, layer) in self.arrays.layers.iter().enumerate() {
            let (scope, ready) = (self.scope(l), ready.get(l));
            // Means are computed beside what the variances need.
            let beside = self.means_lane(l);
            rows::cross(scope, layer, main, beside)?;
            beside.after(main)?;
            ready.map_or(Ok(()), |ready| beside.wait(&ready.mean))?;
            rows::means(layer, beside)?;
            ready.map_or(Ok(()), |ready| main.wait(&ready.covariance))?;
            rows::project(layer, main)?;
            main.after(beside)?;
            rows::moments(scope, layer, setting, self.rows_of_one(l), main)?;
            if let Some(above) = self.arrays.layers.get(l + 1) {
                rows::sample(scope, layer, above, l, setting, main)?;
            }
        }
        Ok(())
    }

    /// Gives out the likelihood and the way back, to the whole gradient.
    pub fn backward(&self, noise: NoiseSource) -> Outcome<()> {
        let (main, setting, gradient) = (self.main(), self.setting(noise), self.arrays.gradient);
        let last = self.arrays.layers.len() - 1;
        let mut x_bar = Span::NONE;
        for (l, layer) in self.arrays.layers.iter().enumerate().rev() {
            let (scope, back) = (self.scope(l), self.back(layer));
            if l == last {
                let noise = self.arrays.values.from(self.blueprint.noise).first(self.blueprint.outputs);
                let Arrays { y, weights, likelihood: partial, .. } = self.arrays;
                let targets = Targets { y, weights, noise, partial };
                rows::likelihood(scope, layer, back, targets, setting, self.rows_of_one(l), main)?;
            } else {
                rows::sample_pullback(scope, layer, back, x_bar, self.rows_of_one(l + 1) / self.rows_of_one(l), main)?;
            }
            rows::through_variance(scope, layer, back, setting, main)?;
            self.back_to_parameters(l, layer, back)?;

            rows::weigh(scope, layer, back, main)?;
            let of_inducing = self.inducing_lane(l);
            of_inducing.after(main)?;
            rows::inducing_sums(scope, layer, back, of_inducing)?;
            rows::inputs(scope, layer, back, l == 0, main)?;
            // Squares are taken beside the sums: for the first layer by the main lane, which has nothing else to do.
            let beside = if l == 0 { main } else { self.explained_lane(l) };
            if l > 0 {
                beside.after(main)?;
            }
            rows::squares(scope, layer, back, beside)?;
            of_inducing.after(beside)?;
            of_inducing.after(self.covariance_lane(l))?;
            of_inducing.after(self.mean_lane(l))?;
            epilogue::finish(scope, layer, back, gradient, of_inducing)?;
            x_bar = back.x_bar;
        }
        for l in 0..=last {
            main.after(self.inducing_lane(l))?;
            main.after(self.explained_lane(l))?;
        }
        Ok(())
    }

    /// Gives out sums over the rows of a layer and their way back to its parameters, beside the main lane.
    fn back_to_parameters(&self, l: usize, layer: &LayerArrays<T>, back: &BackArrays<T>) -> Outcome<()> {
        let (main, scope, gradient) = (self.main(), self.scope(l), self.arrays.gradient);
        let (of_mean, of_covariance, of_explained) =
            (self.mean_lane(l), self.covariance_lane(l), self.explained_lane(l));
        let mut reached = Reached::default();
        of_explained.after(main)?;
        of_covariance.after(main)?;
        rows::projection_sum(scope, layer, back, of_covariance)?;
        rows::explained_sum(scope, layer, back, of_explained)?;
        if layer.plan.covariance_form == CovarianceForm::Whitened {
            // The two do not meet.
            epilogue::covariance(scope, layer, back, gradient, &mut reached, of_explained)?;
        } else {
            of_covariance.after(of_explained)?;
            epilogue::covariance(scope, layer, back, gradient, &mut reached, of_covariance)?;
        }
        epilogue::projection(layer, back, &mut reached, of_covariance)?;
        if let [_, gram] = &layer.made.grams[..] {
            epilogue::kernel_matrix(scope, layer, back, gram, reached, of_covariance)?;
            reached = Reached::default();
            of_mean.after(main)?;
        }
        rows::weights_sum(scope, layer, back, of_mean)?;
        epilogue::mean(scope, layer, back, gradient, &mut reached, of_mean)?;
        epilogue::kernel_matrix(scope, layer, back, &layer.made.grams[0], reached, of_mean)
    }

    fn back<'a>(&self, layer: &'a LayerArrays<T>) -> &'a BackArrays<T> {
        layer.back.as_ref().expect("the task was laid out for gradients")
    }

    /// Gives out a whole step: rows by their numbers, ELBO and gradient, the record, and Adam if all is well.
    pub fn step(&self, noise: NoiseSource) -> Outcome<()> {
        let (main, arrays, general) = (self.main(), &self.arrays, &self.general);
        let first = &arrays.layers[0];
        let Arrays { ids, steps, control, infos, records, gradient, .. } = *arrays;
        let ready = self.prologue()?;
        let (rows, width) = (self.shape.rows, first.plan.width);
        main.run(general, Gather { data: arrays.x, ids, rows, width, control, x1: first.rows.x })?;
        self.forward(noise, &ready)?;
        self.backward(noise)?;
        let noise_at = self.blueprint.noise;
        main.run(general, CheckFinite { gradient, n: noise_at, control })?;
        let decide = Decide {
            partial: arrays.likelihood,
            blocks: arrays.likelihood.len() / (1 + self.blueprint.outputs),
            outputs: self.blueprint.outputs,
            kl: arrays.kls,
            kls: arrays.kls.len(),
            infos,
            factors: infos.len(),
            length: record_length(&self.blueprint),
            control,
            records,
            noise_bar: gradient.from(noise_at),
        };
        main.run(general, decide)?;
        let ascend = Ascend {
            raw: arrays.raw,
            first: arrays.first,
            second: arrays.second,
            values: arrays.values,
            before: arrays.before,
            gradient,
            floors: arrays.floors,
            frozen: arrays.frozen,
            n: self.blueprint.parameters,
            steps,
            control,
        };
        main.run(general, ascend)?;
        main.run(general, Advance { control })
    }

    /// Records work as a graph that can be given out again and again at once.
    pub fn capture(&self, work: impl FnOnce() -> Outcome<()>) -> Outcome<cudarc::driver::CudaGraph> {
        let _gate = gate();
        let stream = self.main().stream();
        stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
        let given_out = work();
        let flags = sys::CUgraphInstantiate_flags(0);
        let graph = stream.end_capture(flags);
        given_out?;
        graph?.ok_or_else(|| Fault::Device("the driver recorded no graph".into()))
    }

    /// Adds up the parts of each layer's KL.
    pub fn layer_divergences(&self, mut parts: &[f64]) -> Vec<f64> {
        let mut sums = Vec::new();
        for plan in &self.blueprint.layers {
            let (own, rest) = parts.split_at(divergences(plan));
            sums.push(own.iter().sum());
            parts = rest;
        }
        sums
    }

    /// What the last `count` steps left behind.
    pub fn records(&self, count: usize) -> Outcome<Vec<Record>> {
        let (length, factors) = (record_length(&self.blueprint), self.arrays.infos.len());
        let mut numbers = vec![0.0; count * length];
        self.main().download(self.arrays.records, &mut numbers)?;
        let record = |own: &[f64]| Record {
            data_term: own[0],
            clamped: own[1] as usize,
            good: own[2] != 0.0,
            infos: own[3..3 + factors].iter().map(|v| *v as i32).collect(),
            kl: self.layer_divergences(&own[3 + factors..]),
        };
        Ok(numbers.chunks_exact(length).map(record).collect())
    }
}
