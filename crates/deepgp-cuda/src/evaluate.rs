//! The ELBO of one batch and its gradient, and what both of training and evaluation do around a step.

use deepgp::{Batch, Dataset, DeepGp, Elbo, Error, JitterEvent, Matrix, Noise};

use crate::Cuda;
use crate::arrays::Task;
use crate::fault::Outcome;
use crate::lane::Real;
use crate::rows::NoiseSource;
use crate::task::{DeviceTask, PlanWords, Record};

/// How often the jitter may be raised before a step counts as failed.
const RAISES: usize = 6;

/// One step whose update is thrown away.
pub fn evaluate<T: Real>(cuda: &Cuda, model: &DeepGp, batch: Batch<'_>, noise: Noise<'_>) -> Outcome<(Elbo, Vec<f64>)> {
    let rows = batch.rows.len();
    let shape = Task {
        rows,
        samples: batch.samples,
        gradients: true,
        plans: 1,
        data: batch.data.len(),
        weighted: batch.data.weights().is_some(),
        given_noise: matches!(noise, Noise::Given(_)),
        lanes: 0,
        symmetric: false,
    };
    let task = DeviceTask::<T>::new(cuda, model, shape)?;
    upload_data(&task, batch.data)?;
    upload_values(&task, model)?;
    let (source, step) = match noise {
        Noise::Rows { key, step } => (NoiseSource::Rows { key: key.words() }, step),
        Noise::Shared { key } => (NoiseSource::Shared { key: key.words() }, 0),
        Noise::Given(given) => {
            for (layer, noise) in task.arrays.layers.iter().zip(given) {
                task.main().upload(noise.as_slice(), layer.rows.given)?;
            }
            (NoiseSource::Given, 0)
        }
    };
    let scale = batch.num_data as f64 / rows as f64 / mixture_size(model, batch.samples) as f64;
    let plan = PlanWords { rate: 0.0, kl_weight: batch.kl_weight, scale, step, live: rows as u32 };
    let mut jitter = Raised::default();
    loop {
        upload_values(&task, model)?;
        task.set_plans(&[plan])?;
        task.set_rows(std::iter::once(batch.rows))?;
        task.step(source)?;
        let record = task.records(1)?.remove(0);
        if record.good {
            let mut gradient = vec![0.0; task.blueprint.parameters];
            task.main().download(task.arrays.gradient, &mut gradient)?;
            return Ok((elbo(&record, jitter.events), gradient));
        }
        jitter.raise(&task, model, &record)?;
    }
}

/// Rows of the last layer for each row of a batch.
pub fn mixture_size(model: &DeepGp, samples: usize) -> usize {
    if model.layers().len() == 1 { 1 } else { samples }
}

/// Inputs, targets, weights.
pub fn upload_data<T: Real>(task: &DeviceTask<T>, data: &Dataset) -> Outcome<()> {
    let x: Vec<T> = data.x().as_slice().iter().map(|v| T::of(*v)).collect();
    task.main().upload(&x, task.arrays.x)?;
    task.main().upload(data.y().as_slice(), task.arrays.y)?;
    if let Some(weights) = data.weights() {
        task.main().upload(weights, task.arrays.weights)?;
    }
    Ok(())
}

/// Parameter values.
pub fn upload_values<T: Real>(task: &DeviceTask<T>, model: &DeepGp) -> Outcome<()> {
    let values: Vec<f64> = model.parameters().into_iter().flat_map(|p| p.values).collect();
    task.main().upload(&values, task.arrays.values)
}

/// What a good step found.
pub fn elbo(record: &Record, jitter: Vec<JitterEvent>) -> Elbo {
    Elbo { data_term: record.data_term, kl: record.kl.clone(), clamped: record.clamped, jitter }
}

/// Jitter above what was asked for.
#[derive(Debug, Default)]
pub struct Raised {
    pub events: Vec<JitterEvent>,
    raises: usize,
}

impl Raised {
    /// Answers a step that failed at the parameters of `model`: raises the jitter of what could not be factored, or says why the
    /// step cannot be made. How much it takes, the CPU finds out.
    pub fn raise<T: Real>(&mut self, task: &DeviceTask<T>, model: &DeepGp, record: &Record) -> Outcome<()> {
        if record.infos.iter().all(|info| *info == 0) {
            return Err(not_finite(record).into());
        }
        let events = model.jitter_events()?;
        let mut infos = record.infos.iter();
        for (l, layer) in task.arrays.layers.iter().enumerate() {
            for gram in layer.made.grams.iter().filter(|gram| gram.plan.factored) {
                let (failed, matrix) = (infos.next().is_some_and(|info| *info != 0), gram.plan.matrix);
                let found = events.iter().find(|event| event.layer == l && event.matrix == matrix);
                if !failed && found.is_none() {
                    continue;
                }
                let prior = model.layers()[l].kernel_diagonal();
                let jitter = task.blueprint.jitter;
                let asked = jitter.absolute + jitter.relative * prior;
                let raised = match found {
                    // On the first raise the CPU's jitter is taken; if even that fails here, ten times more, and so on.
                    Some(event) => event.jitter * 10f64.powi(self.raises as i32),
                    None => asked.max(1e-10 * prior) * 10f64.powi(1 + self.raises as i32),
                };
                match asked > 0.0 {
                    true => {
                        let factor = raised / asked;
                        task.set_jitter(gram.jitter, jitter.absolute * factor, jitter.relative * factor)?;
                    }
                    false => task.set_jitter(gram.jitter, 0.0, raised / prior)?,
                }
                let cause = found.map_or_else(|| "the device needed more than the CPU".into(), |e| e.cause.clone());
                self.events.retain(|event| (event.layer, event.matrix) != (l, matrix));
                self.events.push(JitterEvent { layer: l, matrix, jitter: raised, cause });
            }
            if let Some(dual) = &layer.made.dual {
                let own: Vec<i32> = infos.by_ref().take(dual.infos.len()).copied().collect();
                if let Some(pivot) = own.into_iter().find(|info| *info != 0) {
                    return Err(Error::NotPositiveDefinite {
                        layer: l,
                        matrix: Matrix::DualPrecision,
                        pivot: pivot.unsigned_abs() as usize - 1,
                        jitter: 0.0,
                        cause: "its entries are not finite or far too large".into(),
                    }
                    .into());
                }
            }
        }
        self.raises += 1;
        if self.raises > RAISES {
            return Err(not_finite(record).into());
        }
        Ok(())
    }

    /// Returns to the jitter asked for.
    pub fn reset<T: Real>(&mut self, task: &DeviceTask<T>) -> Outcome<()> {
        let raised = !self.events.is_empty();
        *self = Self::default();
        if raised {
            for gram in task.arrays.layers.iter().flat_map(|layer| &layer.made.grams) {
                task.set_jitter(gram.jitter, task.blueprint.jitter.absolute, task.blueprint.jitter.relative)?;
            }
        }
        Ok(())
    }
}

fn not_finite(record: &Record) -> Error {
    let what = match record.kl.iter().position(|kl| !kl.is_finite()) {
        Some(layer) => format!("the KL of layer {layer}"),
        None if !record.data_term.is_finite() => "the data term".into(),
        None => "the gradient".into(),
    };
    Error::NonFinite { what }
}
