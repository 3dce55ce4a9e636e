//! A model in training: one graph, given out once a step; the host looks at what came of it a burst at a time. Where there are several processes
//! a step is two graphs, and the host takes the sums over rows from one to the other; what came of a burst, it looks at afterwards there too.

use cudarc::driver::CudaGraph;
use deepgp::backend::{Run, StepPlan, TrainingTask};
use deepgp::noise::{Key, Purpose};
use deepgp::params::Constraint;
use deepgp::{Adam, DeepGp, Error, Evaluation, Snapshot, TrainState};

use crate::Cuda;
use crate::arrays::Arrays;
use crate::arrays::workload::{Workload, most_rows};
use crate::device::memory::Span;
use crate::device::real::Real;
use crate::evaluate::{evaluation, known_objective, known_optimiser, upload_data, upload_values};
use crate::fault::{Fault, Outcome};
use crate::kernels::common::{Control, Step};
use crate::kernels::optimiser::Constrain;
use crate::step::forward::NoiseSource;
use crate::task::DeviceTask;
use crate::task::jitter::Raised;

/// Where the optimiser's state keeps Adam's two running means.
const FIRST: usize = 0;
const SECOND: usize = 1;

/// The most steps that are given out at once.
const PLANS_ON_BOARD: usize = 16;

/// A model in training on a GPU, with the graph of its step.
pub struct DeviceRun<T> {
    // Before the task, whose lanes they use.
    graph: Owned,
    /// The graph of what comes after the sums over all processes, if there are several.
    after_sums: Option<Owned>,
    task: DeviceTask<T>,
    /// The same model on the CPU, which finds out how much jitter a matrix needs.
    model: DeepGp,
    name: String,
    /// Whether the row numbers on the device are those of the whole dataset, in order.
    all_rows: bool,
    /// Adam's updates so far.
    updates: u64,
    /// Adam's updates before the last of them.
    updates_before: u64,
}

impl<T> std::fmt::Debug for DeviceRun<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceRun").field("device", &self.name).field("updates", &self.updates).finish_non_exhaustive()
    }
}

/// The rows of a plan's minibatch, those of other processes included.
fn batch_rows(plan: &StepPlan<'_>) -> usize {
    plan.shard.map_or(plan.rows.len(), |shard| shard.batch_rows)
}

/// The number of rows of all processes, of which this one has `rows`.
fn rows_of_all(cuda: &Cuda, rows: usize) -> Outcome<usize> {
    let mut total = [rows as f64];
    cuda.communicator.sum(&mut total)?;
    Ok(total[0] as usize)
}

/// The graph of a step, which moves from thread to thread with its run.
struct Owned(CudaGraph);

// SAFETY: graphs must not be used from two threads at once. This one belongs to a run, which is not shared but moved.
#[allow(unsafe_code)]
unsafe impl Send for Owned {}

impl Owned {
    /// The graph of some work, ready on the device.
    fn of<T: Real>(task: &DeviceTask<T>, work: impl FnOnce() -> Outcome<()>) -> Outcome<Self> {
        let graph = Self(task.capture(work)?);
        graph.0.upload()?;
        Ok(graph)
    }
}

impl<T: Real> DeviceRun<T> {
    /// Takes model and data on board and records the graph of a step.
    pub fn boxed(cuda: &Cuda, model: &DeepGp, task: TrainingTask<'_>) -> Outcome<Box<dyn Run>> {
        let TrainingTask { data, settings, objective, optimiser } = task;
        let objective = known_objective(&*objective)?;
        known_optimiser(optimiser)?;
        let total = rows_of_all(cuda, data.len())?;
        let work = Workload {
            batch_rows: most_rows(data.len(), total, settings.batches(total)),
            samples: model.samples(settings.samples),
            gradients: true,
            burst: PLANS_ON_BOARD,
            data_rows: data.len(),
            weighted: data.weights().is_some(),
            offset: data.offsets().is_some(),
            given_rows: 0,
            together: cuda.is_together(),
            objective,
        };
        let task = DeviceTask::<T>::new(cuda, model, work)?;
        upload_data(&task, data)?;
        upload_constraints(&task, model)?;
        upload_values(&task, model)?;
        let noise = match model.sites() {
            Some(_) => NoiseSource::Sites,
            None => NoiseSource::Rows { key: Key::new(settings.seed, Purpose::Train).words() },
        };
        // Once without a graph, so that the libraries are ready; a step that is halted moves nothing.
        task.set_steps(&[Step { kl_weight: 1.0, scale: 1.0, ..Step::default() }])?;
        task.set_control(Control { halted: 1, ..Control::default() })?;
        task.step(noise)?;
        if cuda.is_together() {
            task.step_after_sums()?;
        }
        task.main().wait_for_all()?;
        let graph = Owned::of(&task, || task.step(noise))?;
        let after_sums = cuda.is_together().then(|| Owned::of(&task, || task.step_after_sums())).transpose()?;
        Ok(Box::new(Self {
            graph,
            after_sums,
            task,
            model: model.clone().computed_on(None),
            name: cuda.name.clone(),
            all_rows: false,
            updates: 0,
            updates_before: 0,
        }))
    }

    fn place_rows(&mut self, plans: &[StepPlan<'_>]) -> Outcome<()> {
        let all = plans.iter().all(|plan| batch_rows(plan) == plan.num_data);
        if all && self.all_rows {
            return Ok(());
        }
        // If all steps take all rows, so will those to come: every place is filled.
        let count = if all { PLANS_ON_BOARD } else { plans.len() };
        if let Some(plan) = plans.iter().find(|plan| plan.rows.len() > self.task.extent.rows) {
            let (rows, most) = (plan.rows.len(), self.task.extent.rows);
            return Err(Fault::Device(format!("a minibatch has {rows} rows of this process, and room is for {most}")));
        }
        self.task.set_rows((0..count).map(|i| plans[i.min(plans.len() - 1)].rows))?;
        self.all_rows = all;
        Ok(())
    }

    fn give_out(&mut self, plans: &[StepPlan<'_>]) -> Outcome<()> {
        self.place_rows(plans)?;
        let step = |(i, plan): (usize, &StepPlan<'_>)| {
            let rate = Adam::corrected(plan.learning_rate, self.updates + 1 + i as u64);
            Step {
                rate,
                kl_weight: plan.kl_weight,
                scale: plan.num_data as f64 / batch_rows(plan) as f64,
                faithfulness: self.task.extent.work.objective.faithfulness(plan.progress),
                number: plan.step as u32,
                live: plan.rows.len() as u32,
                offset: plan.shard.map_or(0, |shard| shard.offset.into()),
            }
        };
        let steps: Vec<Step> = plans.iter().enumerate().map(step).collect();
        self.task.set_steps(&steps)?;
        for _ in plans {
            self.graph.0.launch()?;
            if let Some(after_sums) = &self.after_sums {
                self.task.sum_over_processes()?;
                after_sums.0.launch()?;
            }
        }
        Ok(())
    }

    fn make(&mut self, plans: &[StepPlan<'_>]) -> Outcome<Vec<Result<Evaluation, Error>>> {
        let (mut outcomes, mut raised) = (Vec::new(), Raised::default());
        while outcomes.len() < plans.len() {
            let rest = &plans[outcomes.len()..];
            // Jitter is raised for one step, as on the CPU.
            let burst = &rest[..if raised.any() { 1 } else { rest.len().min(PLANS_ON_BOARD) }];
            self.give_out(burst)?;
            let records = self.task.records(burst.len())?;
            let good = records.iter().take_while(|record| record.good).count();
            outcomes.extend(
                records[..good]
                    .iter()
                    .map(|record| Ok(evaluation(record, self.task.extent.work.objective, raised.events.clone()))),
            );
            if good > 0 {
                (self.updates, self.updates_before) = (self.updates + good as u64, self.updates + good as u64 - 1);
            }
            if good == burst.len() {
                raised.reset(&self.task)?;
                continue;
            }
            let mut raw = vec![0.0; self.task.blueprint.parameters];
            self.task.main().download(self.task.arrays.raw, &mut raw)?;
            self.model.set_raw(&raw);
            match raised.raise(&self.task, &self.model, &records[good]) {
                Ok(()) => {}
                Err(Fault::Model(error)) => {
                    outcomes.push(Err(error));
                    break;
                }
                Err(fault) => return Err(fault),
            }
        }
        raised.reset(&self.task)?;
        Ok(outcomes)
    }

    fn take_up(&mut self, model: &DeepGp, state: &TrainState) -> Outcome<()> {
        let (main, arrays) = (self.task.main(), &self.task.arrays);
        let n = self.task.blueprint.parameters;
        if let Some(before) = &state.before {
            self.put(before, arrays.before)?;
            self.model.set_raw(&before.raw);
            upload_values(&self.task, &self.model)?;
            if before.optimiser.updates > 0 {
                self.constrain(arrays.before.first(n))?;
            }
            main.copy(arrays.values, arrays.before.from(3 * n))?;
            self.updates_before = before.optimiser.updates;
        }
        main.upload(&state.now.raw, arrays.raw)?;
        main.upload(&state.now.optimiser.slots[FIRST], arrays.first)?;
        main.upload(&state.now.optimiser.slots[SECOND], arrays.second)?;
        upload_values(&self.task, model)?;
        self.updates = state.now.optimiser.updates;
        if self.updates > 0 {
            // The device's own exponentials, so that a run that goes on has the bits of one that never stopped.
            self.constrain(arrays.raw)?;
        }
        self.all_rows = false;
        Ok(())
    }

    /// Computes the values of `raw`; those that are frozen stay as they are.
    fn constrain(&self, raw: Span<f64>) -> Outcome<()> {
        let Arrays { floors, frozen, values, .. } = self.task.arrays;
        let n = self.task.blueprint.parameters;
        self.task.main().run(self.task.general(), Constrain { raw, floors, frozen, n, values })
    }

    fn put(&self, snapshot: &Snapshot, to: Span<f64>) -> Outcome<()> {
        let n = self.task.blueprint.parameters;
        for (i, numbers) in
            [&snapshot.raw, &snapshot.optimiser.slots[FIRST], &snapshot.optimiser.slots[SECOND]].into_iter().enumerate()
        {
            self.task.main().upload(numbers, to.from(i * n))?;
        }
        Ok(())
    }

    fn return_to_before(&mut self) -> Outcome<()> {
        let (main, arrays) = (self.task.main(), &self.task.arrays);
        let n = self.task.blueprint.parameters;
        for (i, to) in [arrays.raw, arrays.first, arrays.second, arrays.values].into_iter().enumerate() {
            main.copy(arrays.before.from(i * n).first(n), to)?;
        }
        self.updates = self.updates_before;
        Ok(())
    }

    fn fetch(&self, state: &mut TrainState) -> Outcome<()> {
        let (main, arrays) = (self.task.main(), &self.task.arrays);
        let n = self.task.blueprint.parameters;
        let TrainState { now, before, .. } = state;
        main.download(arrays.raw, &mut now.raw)?;
        main.download(arrays.first, &mut now.optimiser.slots[FIRST])?;
        main.download(arrays.second, &mut now.optimiser.slots[SECOND])?;
        now.optimiser.updates = self.updates;
        if let Some(before) = before {
            main.download(arrays.before, &mut before.raw)?;
            main.download(arrays.before.from(n), &mut before.optimiser.slots[FIRST])?;
            main.download(arrays.before.from(2 * n), &mut before.optimiser.slots[SECOND])?;
            before.optimiser.updates = self.updates_before;
        }
        Ok(())
    }

    fn named<U>(&self, outcome: Outcome<U>) -> Result<U, Error> {
        outcome.map_err(|fault| fault.on(&self.name))
    }
}

impl<T: Real> Run for DeviceRun<T> {
    fn load(&mut self, model: &DeepGp, state: &TrainState) -> Result<(), Error> {
        let outcome = self.take_up(model, state);
        self.named(outcome)
    }

    fn steps(
        &mut self,
        plans: &[StepPlan<'_>],
        _model: &mut DeepGp,
        _state: &mut TrainState,
    ) -> Result<Vec<Result<Evaluation, Error>>, Error> {
        let outcome = self.make(plans);
        self.named(outcome)
    }

    fn roll_back(&mut self, _model: &mut DeepGp, _state: &mut TrainState) -> Result<(), Error> {
        let outcome = self.return_to_before();
        self.named(outcome)
    }

    fn store_raw(&mut self, state: &mut TrainState) -> Result<(), Error> {
        self.named(self.task.main().download(self.task.arrays.raw, &mut state.now.raw))
    }

    fn store(&mut self, state: &mut TrainState) -> Result<(), Error> {
        self.named(self.fetch(state))
    }
}

/// Uploads floors of positive parameters (−1 for others), and which parameters are frozen.
fn upload_constraints<T: Real>(task: &DeviceTask<T>, model: &DeepGp) -> Outcome<()> {
    let (mut floors, mut frozen) = (Vec::new(), Vec::new());
    for parameter in model.parameters() {
        let floor = match parameter.constraint {
            Constraint::Positive { floor } => floor,
            Constraint::Real | Constraint::LowerTriangular { .. } => -1.0,
        };
        floors.resize(parameter.range.end, floor);
        frozen.resize(parameter.range.end, u8::from(parameter.frozen));
    }
    task.main().upload(&floors, task.arrays.floors)?;
    task.main().upload(&frozen, task.arrays.frozen)
}
