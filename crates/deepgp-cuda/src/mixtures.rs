//! Prediction: moments of the last layer for every row and sample. The mixtures themselves are reduced on the host.
//!
//! Rows go through in chunks of one size, a short one filled up, so that a row's bits do not depend on the others; the size is smaller
//! where memory is short, which may change last digits.

use std::sync::{Mutex, PoisonError};

use deepgp::backend::Mixtures;
use deepgp::{DeepGp, Error, Mat, Moments, ObjectiveForm, PredictSettings, View};

use crate::Cuda;
use crate::arrays::workload::Workload;
use crate::device::real::Real;
use crate::evaluate::upload_values;
use crate::fault::{Fault, Outcome};
use crate::kernels::common::Step;
use crate::step::forward::NoiseSource;
use crate::task::DeviceTask;
use crate::task::jitter::Raised;
use crate::task::record::Record;

/// Rows times samples that go through the layers together, where memory allows.
const AT_ONCE: usize = 1 << 15;

/// A model on a GPU that answers for one chunk of rows at a time.
#[derive(Debug)]
pub struct DeviceMixtures<T> {
    task: Mutex<DeviceTask<T>>,
    noise: NoiseSource,
    name: String,
    rows: usize,
    samples: usize,
}

impl<T: Real> DeviceMixtures<T> {
    /// Takes a model on board and computes what does not depend on rows.
    pub fn boxed(cuda: &Cuda, model: &DeepGp, settings: PredictSettings) -> Outcome<Box<dyn Mixtures>> {
        let samples = model.mixture_size(settings.samples);
        let mut rows = AT_ONCE.div_ceil(samples);
        let task = loop {
            let work = Workload {
                batch_rows: rows,
                samples,
                gradients: false,
                burst: 1,
                data_rows: 0,
                weighted: false,
                offset: false,
                given_rows: if model.sites().is_none() { samples } else { 0 },
                together: false,
                objective: ObjectiveForm::default(),
            };
            match DeviceTask::<T>::new(cuda, model, work) {
                Err(Fault::TooLarge(_)) if rows > 16 => rows /= 2,
                task => break task?,
            }
        };
        let mut raised = Raised::default();
        upload_values(&task, model)?;
        loop {
            let live = task.extent.rows as u32;
            task.set_steps(&[Step {
                rate: 0.0,
                kl_weight: 1.0,
                scale: 1.0,
                faithfulness: 0.0,
                number: 0,
                live,
                offset: 0,
            }])?;
            task.prologue()?;
            task.join()?;
            let (mut infos, mut kls) = (vec![0; task.arrays.infos.len()], vec![0.0; task.arrays.kls.len()]);
            task.main().download(task.arrays.infos, &mut infos)?;
            task.main().download(task.arrays.kls, &mut kls)?;
            if infos.iter().all(|info| *info == 0) {
                break;
            }
            let kl = task.layer_divergences(&kls);
            let record = Record { data_term: 0.0, clamped: 0, good: false, infos, kl };
            raised.raise(&task, &model.clone().computed_on(None), &record)?;
        }
        let noise = match model.sites() {
            Some(_) => NoiseSource::Sites,
            None => {
                for (layer, noise) in task.arrays.layers.iter().zip(model.prediction_noise(settings)) {
                    task.main().upload(noise.as_slice(), layer.rows.given)?;
                }
                NoiseSource::Given
            }
        };
        let rows = task.extent.rows;
        Ok(Box::new(Self { task: Mutex::new(task), noise, name: cuda.name.clone(), rows, samples }))
    }

    fn propagate(&self, x: View<'_>) -> Outcome<Moments> {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        let (d, p) = (x.ncols(), task.blueprint.likelihood.latents);
        let mut ones = vec![T::of(0.0); self.rows * (d + 1)];
        for i in 0..self.rows {
            // A short chunk is filled up, so that a row's bits do not depend on the others.
            let row = x.row(i.min(x.nrows() - 1));
            ones[i * (d + 1)] = T::of(1.0);
            for (to, from) in ones[i * (d + 1) + 1..].iter_mut().zip(row) {
                *to = T::of(*from);
            }
        }
        task.main().upload(&ones, task.arrays.layers[0].rows.x)?;
        task.forward(self.noise, &[])?;
        let last = &task.arrays.layers[task.arrays.layers.len() - 1].rows;
        let rows = x.nrows() * self.samples;
        let fetch = |from| -> Outcome<Mat> {
            let mut numbers = vec![T::of(0.0); rows * p];
            task.main().download(from, &mut numbers)?;
            Ok(Mat::from_vec(rows, p, numbers.into_iter().map(T::to_f64).collect())?)
        };
        Ok(Moments { mean: fetch(last.mean)?, variance: fetch(last.variance)? })
    }
}

impl<T: Real> Mixtures for DeviceMixtures<T> {
    fn moments(&self, x: View<'_>) -> Result<Moments, Error> {
        self.propagate(x).map_err(|fault| fault.on(&self.name))
    }

    fn rows_at_once(&self) -> usize {
        self.rows
    }
}
