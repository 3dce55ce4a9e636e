//! A task on the device: a model's programs, its lanes and its memory.

pub mod exchange;
pub mod jitter;
pub mod record;
mod schedule;

use cudarc::driver::{CudaGraph, sys};
use deepgp::{DeepGp, Jitter, MeanFunction, ObjectiveForm};

use crate::Cuda;
use crate::arrays::prepared::{CovarianceArrays, GramArrays};
use crate::arrays::workload::{Extent, Workload};
use crate::arrays::{Arrays, LayerArrays};
use crate::device::lane::Lane;
use crate::device::memory::{Arena, Memory, gate};
use crate::device::program::Program;
use crate::device::real::Real;
use crate::fault::{Fault, Outcome};
use crate::kernels::common::{Control, Step};
use crate::kernels::factor::{INVERT_OWN, InvertLower, largest_order};
use crate::kernels::resident::FactorResident;
use crate::kernels::symmetric::SymmetricSums;
use crate::kernels::{Covariance, DataTerm, General};
use crate::model::blueprint::Blueprint;
use crate::model::limits::{check_counts, check_orders, too_large};
use exchange::Exchange;

/// A model on the device, with all that its work needs.
#[derive(Debug)]
pub struct DeviceTask<T> {
    // First, so that its work has ended before the programs go.
    held: Held,
    pub blueprint: Blueprint,
    pub arrays: Arrays<T>,
    pub extent: Extent,
    programs: Programs,
}

/// A model's programs.
#[derive(Debug)]
struct Programs {
    general: Program<General>,
    /// One for each layer.
    covariances: Vec<Program<Covariance>>,
    /// Only where gradients are wanted.
    data_term: Option<Program<DataTerm>>,
}

/// Lanes, and the memory that their work uses.
#[derive(Debug)]
struct Held {
    /// The main lane, then two for each layer: the mean's and the covariance's; where there is a way back two more: one for inducing
    /// inputs and one for `Ḡ`.
    lanes: Vec<Lane>,
    /// The way of the sums over rows to other processes, if there are any.
    exchange: Option<Exchange>,
    memory: Option<Memory>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let _gate = gate();
        self.lanes.clear();
        self.exchange = None;
        self.memory = None;
    }
}

impl<T: Real> DeviceTask<T> {
    /// Compiles programs, takes memory and makes lanes.
    pub fn new(cuda: &Cuda, model: &DeepGp, work: Workload) -> Outcome<Self> {
        let blueprint = Blueprint::new(model)?;
        let context = cuda.context();
        let gate = gate();
        let programs = Programs::new::<T>(cuda, &blueprint, work.gradients.then_some(work.objective))?;
        let most = cuda.shared_memory()?;
        let resident = if programs.general.has::<FactorResident>() { most } else { 0 };
        if resident > 0 {
            programs.general.allow_shared::<FactorResident>(resident)?;
        }
        let has_symmetric_sums = programs.general.has::<SymmetricSums<T>>();
        let extent = Extent::new(work, blueprint.layers.len(), has_symmetric_sums, resident);
        let lanes = (0..extent.lanes).map(|_| Lane::new(&context)).collect::<Outcome<Vec<_>>>()?;
        let shared = most - INVERT_OWN;
        programs.general.allow_shared::<InvertLower>(shared)?;
        check_orders(&blueprint, largest_order(shared))?;
        let mut workspaces = Vec::new();
        for gram in blueprint.layers.iter().flat_map(|layer| layer.grams.iter()).filter(|gram| gram.factored) {
            workspaces.push((gram.order, lanes[0].factor_workspace(gram.order)?));
        }
        let workspace = |n: usize| workspaces.iter().find(|w| w.0 == n).map_or(0, |w| w.1);
        let measure = |rows: usize| {
            let mut arena = Arena::new(0);
            Arrays::<T>::new(&blueprint, Extent { rows, ..extent }, &workspace, &mut arena);
            arena.used()
        };
        let (needed, (free, _)) = (measure(extent.rows), context.mem_get_info()?);
        // A model in training is asked for predictions now and then, which need memory too.
        let free = if work.gradients { free - free / 8 } else { free };
        if needed > free {
            return Err(too_large(needed, free, extent.rows, measure));
        }
        check_counts(&blueprint, extent)?;
        let memory = Memory::zeroed(&context, needed)?;
        let arrays = Arrays::new(&blueprint, extent, &workspace, &mut Arena::new(memory.address()));
        for (lane, workspace) in lanes.iter().zip(&arrays.workspaces) {
            lane.give_workspace(*workspace)?;
        }
        let exchange = |sums| Exchange::new(&context, sums, cuda.communicator.clone());
        let exchange = arrays.sums.as_ref().map(exchange).transpose()?;
        let held = Held { lanes, exchange, memory: Some(memory) };
        let task = Self { blueprint, arrays, extent, programs, held };
        drop(gate);
        task.arrays.layers.iter().try_for_each(|layer| task.fill_constants(layer))?;
        Ok(task)
    }

    /// Uploads what does not change from step to step: jitter, addresses, mean functions.
    fn fill_constants(&self, layer: &LayerArrays<T>) -> Outcome<()> {
        let (main, prepared) = (self.main(), &layer.prepared);
        prepared.grams.iter().try_for_each(|gram| self.set_jitter(gram, self.blueprint.jitter))?;
        match prepared.covariance {
            CovarianceArrays::Dual { h, h_addresses, .. } => {
                let square = layer.blueprint.covariances * layer.blueprint.covariances;
                let addresses: Vec<u64> = (0..layer.blueprint.outputs).map(|p| h.from(p * square).address()).collect();
                main.upload(&addresses, h_addresses)?;
            }
            CovarianceArrays::Standard { .. } | CovarianceArrays::Whitened | CovarianceArrays::Diagonal => {}
        }
        match &layer.blueprint.mean_function {
            MeanFunction::Linear(w) => {
                let w: Vec<T> = w.as_slice().iter().map(|v| T::of(*v)).collect();
                main.upload(&w, prepared.linear)
            }
            MeanFunction::Zero | MeanFunction::Identity | MeanFunction::ZeroPadding => Ok(()),
        }
    }

    /// Sets the jitter of one kernel matrix.
    pub fn set_jitter(&self, gram: &GramArrays, jitter: Jitter) -> Outcome<()> {
        self.main().upload(&[jitter.absolute, jitter.relative], gram.jitter)
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

    /// Uploads row numbers for each of the next steps, filled up with row 0.
    pub fn set_rows<'a>(&self, rows: impl Iterator<Item = &'a [u32]>) -> Outcome<()> {
        let mut ids = Vec::new();
        for (i, own) in rows.enumerate() {
            assert!(own.len() <= self.extent.rows, "a minibatch fits");
            ids.extend_from_slice(own);
            ids.resize((i + 1) * self.extent.rows, 0);
        }
        self.main().upload(&ids, self.arrays.ids)
    }

    /// The lane that rows go through, which everything else joins.
    pub fn main(&self) -> &Lane {
        &self.held.lanes[0]
    }

    /// The way of the sums over rows to the other processes, which there must be.
    fn exchange(&self) -> &Exchange {
        self.held.exchange.as_ref().expect("there are other processes")
    }

    /// Makes the sums over rows that came to the host those of all processes.
    pub fn sum_over_processes(&mut self) -> Outcome<()> {
        let Held { lanes, exchange, .. } = &mut self.held;
        exchange.as_mut().expect("there are other processes").sum(&lanes[0])
    }

    /// The kernels that depend on nothing of the model.
    pub fn general(&self) -> &Program<General> {
        &self.programs.general
    }

    /// Makes all other lanes wait for the main one.
    pub fn fork(&self) -> Outcome<()> {
        self.held.lanes[1..].iter().try_for_each(|lane| lane.after(self.main()))
    }

    /// Makes the main lane wait for all others.
    pub fn join(&self) -> Outcome<()> {
        self.held.lanes[1..].iter().try_for_each(|lane| self.main().after(lane))
    }

    /// Records work as a graph that can be given out again and again at once.
    pub fn capture(&self, work: impl FnOnce() -> Outcome<()>) -> Outcome<CudaGraph> {
        let _gate = gate();
        let stream = self.main().stream();
        stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
        let given_out = work();
        let flags = sys::CUgraphInstantiate_flags(0);
        let graph = stream.end_capture(flags);
        given_out?;
        graph?.ok_or_else(|| Fault::Device("the driver recorded no graph".into()))
    }
}

impl Programs {
    /// Compiles those that are not there yet.
    fn new<T: Real>(cuda: &Cuda, blueprint: &Blueprint, objective: Option<ObjectiveForm>) -> Outcome<Self> {
        let general = cuda.general_program::<T>()?;
        let covariances = blueprint.layers.iter().map(|layer| cuda.covariance_program::<T>(&layer.text));
        let covariances = covariances.collect::<Outcome<Vec<_>>>()?;
        let text = &blueprint.likelihood.text;
        let data_term = objective.map(|own| cuda.data_term_program::<T>(text, own)).transpose()?;
        Ok(Self { general, covariances, data_term })
    }
}
