//! The ELBO of one batch and its gradient, and what both of training and evaluation do around a step. An evaluation takes everything on board
//! anew, so it is no faster than a few steps of training.

use deepgp::objective::Objective;
use deepgp::{Batch, Dataset, DeepGp, Evaluation, JitterEvent, Noise, ObjectiveForm, Optimiser, OptimiserForm};

use crate::Cuda;
use crate::arrays::workload::Workload;
use crate::device::real::Real;
use crate::fault::{Fault, Outcome};
use crate::kernels::common::Step;
use crate::step::forward::NoiseSource;
use crate::task::DeviceTask;
use crate::task::jitter::Raised;
use crate::task::record::Record;

/// The objective of one batch and its gradient: a step whose update is thrown away.
pub fn evaluate<T: Real>(
    cuda: &Cuda,
    model: &DeepGp,
    batch: Batch<'_>,
    noise: Noise<'_>,
) -> Outcome<(Evaluation, Vec<f64>)> {
    let objective = known_objective(batch.objective)?;
    if batch.places.is_some() {
        let what = "rows that are not where their numbers say cannot be evaluated on this device; compute on the CPU";
        return Err(Fault::Device(what.into()));
    }
    let rows = batch.rows.len();
    // A model with sites has them in place of whatever noise it is given.
    let samples = model.samples(batch.samples);
    let given_rows = match noise {
        _ if model.sites().is_some() => 0,
        Noise::Given(_) => rows * samples,
        Noise::Table(_) => samples,
        Noise::Rows { .. } | Noise::Shared { .. } => 0,
    };
    let work = Workload {
        // One of several processes may have none.
        batch_rows: rows.max(1),
        samples,
        gradients: true,
        burst: 1,
        data_rows: batch.data.len(),
        weighted: batch.data.weights().is_some(),
        offset: batch.data.offsets().is_some(),
        given_rows,
        together: cuda.is_together(),
        objective,
    };
    let mut task = DeviceTask::<T>::new(cuda, model, work)?;
    upload_data(&task, batch.data)?;
    let (source, number) = match (model.sites(), noise) {
        (Some(_), _) => (NoiseSource::Sites, 0),
        (None, Noise::Rows { key, step }) => (NoiseSource::Rows { key: key.words() }, step),
        (None, Noise::Shared { key }) => (NoiseSource::Shared { key: key.words() }, 0),
        (None, Noise::Given(given) | Noise::Table(given)) => {
            for (layer, noise) in task.arrays.layers.iter().zip(given) {
                task.main().upload(noise.as_slice(), layer.rows.given)?;
            }
            (NoiseSource::Given, 0)
        }
    };
    let step = Step {
        rate: 0.0,
        kl_weight: batch.kl_weight,
        scale: batch.scale(),
        faithfulness: objective.faithfulness(batch.progress),
        number,
        live: rows as u32,
        offset: batch.shard.map_or(0, |shard| shard.offset.into()),
    };
    let mut jitter = Raised::default();
    loop {
        upload_values(&task, model)?;
        task.set_steps(&[step])?;
        task.set_rows(std::iter::once(batch.rows))?;
        task.step_with_others(source)?;
        let record = task.records(1)?.remove(0);
        if record.good {
            let mut gradient = vec![0.0; task.blueprint.parameters];
            task.main().download(task.arrays.gradient, &mut gradient)?;
            return Ok((evaluation(&record, objective, jitter.events), gradient));
        }
        jitter.raise(&task, model, &record)?;
    }
}

/// Uploads inputs, targets, weights and offsets.
pub fn upload_data<T: Real>(task: &DeviceTask<T>, data: &Dataset) -> Outcome<()> {
    let x: Vec<T> = data.x().as_slice().iter().map(|v| T::of(*v)).collect();
    task.main().upload(&x, task.arrays.x)?;
    task.main().upload(data.y().as_slice(), task.arrays.y)?;
    if let Some(weights) = data.weights() {
        task.main().upload(weights, task.arrays.weights)?;
    }
    if let Some(offsets) = data.offsets() {
        task.main().upload(offsets, task.arrays.offsets)?;
    }
    Ok(())
}

/// Uploads the parameters' values.
pub fn upload_values<T: Real>(task: &DeviceTask<T>, model: &DeepGp) -> Outcome<()> {
    let values: Vec<f64> = model.parameters().into_iter().flat_map(|p| p.values).collect();
    task.main().upload(&values, task.arrays.values)
}

/// The evaluation that a good step found.
pub fn evaluation(record: &Record, objective: ObjectiveForm, jitter: Vec<JitterEvent>) -> Evaluation {
    Evaluation {
        objective: objective.objective().name(),
        data_term: record.data_term,
        kl: record.kl.clone(),
        clamped: record.clamped,
        jitter,
    }
}

/// Which objective it is; fails unless the device knows it.
pub fn known_objective(objective: &dyn Objective) -> Outcome<ObjectiveForm> {
    match objective.form() {
        Some(form) => Ok(form),
        None => Err(Fault::Device(format!(
            "the objective `{}` was not written for this device; compute this model on the CPU",
            objective.name()
        ))),
    }
}

/// Fails unless the device knows this optimiser.
pub fn known_optimiser(optimiser: &dyn Optimiser) -> Outcome<()> {
    match optimiser.form() {
        Some(OptimiserForm::Adam) => Ok(()),
        None => Err(Fault::Device(format!(
            "the optimiser `{}` was not written for this device; compute this model on the CPU",
            optimiser.name()
        ))),
    }
}
