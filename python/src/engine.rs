//! A model and its units, as Python holds them: parameters in and out, the bound and its gradient, a step, files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deepgp::noise::{Key, Purpose};
use deepgp::{
    Adam, Batch, Dataset, Evaluation, Factors, Mat, Noise, Optimiser, OptimiserState, Snapshot, Standardiser, Update,
};
use deepgp_io::{ClassWeights, ModelFile, Note, StopReason};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{Matrix, Vector};
use crate::exposures::{self, Exposures};
use crate::frames::{self, Table};
use crate::plan::{LayerArrays, Plan};
use crate::{arrays, background, columns, device, errors, settings};

/// The ELBO and its parts: data term, KL of each layer, clamped variances, and each jitter that was raised, in words.
type Parts<'py> = (f64, f64, Vector<'py>, usize, Vec<String>);

/// Adam's moments and the number of its updates, out and in.
type Memory<'py> = (Vector<'py>, Vector<'py>, u64);
type GivenMemory<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>, u64);

/// A model, its units and how it came about: what a model file holds. Safe to share between threads.
#[pyclass(frozen, module = "deepgp._core")]
pub struct Engine {
    file: Mutex<Arc<ModelFile>>,
    adam: Mutex<Option<OptimiserState>>,
}

impl Engine {
    pub fn new(file: ModelFile) -> Self {
        Self { file: Mutex::new(Arc::new(file)), adam: Mutex::new(None) }
    }

    /// As it is now. What another thread changes afterwards does not touch it.
    pub fn file(&self) -> Arc<ModelFile> {
        lock(&self.file).clone()
    }

    /// Changes all or nothing.
    fn change(&self, by: impl FnOnce(&mut ModelFile) -> PyResult<()>) -> PyResult<()> {
        let mut place = lock(&self.file);
        let mut changed = ModelFile::clone(&place);
        by(&mut changed)?;
        *place = Arc::new(changed);
        Ok(())
    }
}

/// Nothing is left half done by a panic, so its poison does not matter.
fn lock<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Rows to evaluate the bound on, from a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Rows<'py> {
    x: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray2<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    exposure: Exposures<'py>,
    noise: Option<Vec<PyReadonlyArray2<'py, f64>>>,
    num_data: Option<usize>,
    samples: usize,
    kl_weight: f64,
    seed: u64,
}

/// The same, owned by the thread that works on them.
struct OwnRows {
    data: Dataset,
    noise: Option<Vec<Mat>>,
    num_data: usize,
    samples: usize,
    kl_weight: f64,
    key: Key,
    /// The step whose noise is drawn.
    step: u32,
}

impl OwnRows {
    /// In the model's units.
    fn new(rows: &Rows<'_>, file: &ModelFile) -> PyResult<Self> {
        let mut data = dataset(arrays::matrix(&rows.x)?, arrays::matrix(&rows.y)?, rows.weights.as_ref())?;
        if let Some(offsets) = exposures::offsets_for(file, &rows.exposure, data.len())? {
            data = data.with_offsets(offsets).map_err(errors::library)?;
        }
        let data = file.regressor.standardiser.apply(&data).map_err(errors::library)?;
        let noise = rows.noise.as_ref().map(|noise| arrays::matrices(noise)).transpose()?;
        let Rows { samples, kl_weight, seed, .. } = *rows;
        let num_data = rows.num_data.unwrap_or(data.len());
        Ok(Self { data, noise, num_data, samples, kl_weight, key: Key::new(seed, Purpose::Train), step: 0 })
    }

    fn evaluate<T>(&self, then: impl FnOnce(Batch<'_>, Noise<'_>) -> T) -> T {
        let all: Vec<u32> = (0..self.data.len() as u32).collect();
        let Self { data, num_data, samples, kl_weight, .. } = self;
        let batch = Batch { num_data: *num_data, samples: *samples, kl_weight: *kl_weight, ..Batch::of(data, &all) };
        match &self.noise {
            Some(given) => then(batch, Noise::Given(given)),
            None => then(batch, Noise::Rows { key: self.key, step: self.step }),
        }
    }
}

/// Checked data in the units in which it came.
pub fn dataset(x: Mat, y: Mat, weights: Option<&PyReadonlyArray1<'_, f64>>) -> PyResult<Dataset> {
    let data = Dataset::new(x, y).map_err(errors::library)?;
    match weights {
        None => Ok(data),
        Some(weights) => data.with_weights(weights.as_array().iter().copied().collect()).map_err(errors::library),
    }
}

fn parts(py: Python<'_>, elbo: Evaluation) -> Parts<'_> {
    let jitter = elbo.jitter.iter().map(|event| {
        format!("layer {}: {} needed a jitter of {:e}; {}", event.layer, event.matrix, event.jitter, event.cause)
    });
    (elbo.total(), elbo.data_term, arrays::vector(py, elbo.kl), elbo.clamped, jitter.collect())
}

#[pymethods]
impl Engine {
    /// Builds a model that takes numbers as they are.
    #[staticmethod]
    fn build(
        py: Python<'_>,
        words: &str,
        layers: Vec<LayerArrays<'_>>,
        x: Option<PyReadonlyArray2<'_, f64>>,
    ) -> PyResult<Self> {
        let plan = Plan::new(words, &layers, x.as_ref().map(arrays::matrix).transpose()?)?;
        let model = background::run(py, move |_| plan.build())?.map_err(errors::library)?;
        Ok(Self::new(columns::unscaled(model)))
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Ok(Self::new(ModelFile::load(&path).map_err(errors::file)?))
    }

    /// Writes a model file, whole or not at all; with the samples of an estimator's predictions, if they are given.
    #[pyo3(signature = (path, prediction_samples=None))]
    fn save(&self, path: PathBuf, prediction_samples: Option<usize>) -> PyResult<()> {
        let mut file = self.file();
        if prediction_samples.is_some() {
            Arc::make_mut(&mut file).record.prediction_samples = prediction_samples;
        }
        file.save(&path).map_err(errors::file)
    }

    /// From the bytes of a model file, and the optimiser's memory if there is one.
    #[staticmethod]
    #[pyo3(signature = (bytes, adam=None))]
    fn from_bytes(bytes: &[u8], adam: Option<GivenMemory<'_>>) -> PyResult<Self> {
        let engine = Self::new(ModelFile::from_bytes(bytes, Path::new("the pickled model")).map_err(errors::file)?);
        if let Some((first, second, updates)) = adam {
            let own = |moments: PyReadonlyArray1<'_, f64>| moments.as_array().iter().copied().collect::<Vec<_>>();
            let (first, second) = (own(first), own(second));
            let count = engine.file().regressor.model.raw().len();
            if (first.len(), second.len()) != (count, count) {
                return Err(PyValueError::new_err("the pickled model has the optimiser's memory of another one"));
            }
            *lock(&engine.adam) =
                Some(OptimiserState { name: Adam.name().into(), updates, slots: vec![first, second] });
        }
        Ok(engine)
    }

    /// The optimiser's memory: both moments, and how many steps it has seen.
    fn adam<'py>(&self, py: Python<'py>) -> Option<Memory<'py>> {
        let OptimiserState { updates, slots, .. } = lock(&self.adam).clone()?;
        let [first, second] = <[Vec<f64>; 2]>::try_from(slots).ok()?;
        Some((arrays::vector(py, first), arrays::vector(py, second), updates))
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.file().to_bytes().map_err(errors::file)?))
    }

    /// One that shares nothing with this one.
    fn copy(&self) -> Self {
        Self { file: Mutex::new(self.file()), adam: Mutex::new(lock(&self.adam).clone()) }
    }

    /// Has the model computed on another device.
    fn place(&self, device: &str) -> PyResult<()> {
        let accelerator = device::open(device)?;
        self.change(|file| {
            file.regressor.model = file.regressor.model.clone().computed_on(accelerator);
            Ok(())
        })
    }

    /// Where the model is computed, in words.
    fn device(&self) -> String {
        self.file().regressor.model.backend().name()
    }

    /// Every parameter's values by its name.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for parameter in self.file().regressor.model.parameters() {
            all.set_item(&parameter.name, arrays::shaped(py, &parameter.shape, parameter.values)?)?;
        }
        Ok(all)
    }

    /// Sets parameters by name: all of these, or none if one cannot be.
    fn set_parameters(&self, values: Vec<(String, PyReadonlyArrayDyn<'_, f64>)>) -> PyResult<()> {
        self.change(|file| {
            let model = &mut file.regressor.model;
            let known = model.parameters();
            for (name, array) in &values {
                let flat = match known.iter().find(|parameter| parameter.name == *name) {
                    Some(parameter) => arrays::values_of(name, array, &parameter.shape)?,
                    None => Vec::new(), // the library knows what to say
                };
                model.set_parameter(name, &flat).map_err(errors::library)?;
            }
            Ok(())
        })?;
        *lock(&self.adam) = None;
        Ok(())
    }

    /// Keeps steps away from a parameter, or from all whose names start so.
    fn freeze(&self, name: &str) -> PyResult<()> {
        self.change(|file| file.regressor.model.freeze(name).map_err(errors::library))
    }

    /// Undoes `freeze`.
    fn unfreeze(&self, name: &str) -> PyResult<()> {
        self.change(|file| file.regressor.model.unfreeze(name).map_err(errors::library))
    }

    /// Names of the parameters that steps leave alone.
    fn frozen(&self) -> Vec<String> {
        let all = self.file().regressor.model.parameters();
        all.into_iter().filter(|parameter| parameter.frozen).map(|parameter| parameter.name).collect()
    }

    /// The bound on some rows.
    fn elbo<'py>(&self, py: Python<'py>, rows: Rows<'_>) -> PyResult<Parts<'py>> {
        let file = self.file();
        let rows = OwnRows::new(&rows, &file)?;
        let work = move |_: &_| rows.evaluate(|batch, noise| file.regressor.model.objective(batch, noise));
        Ok(parts(py, background::run(py, work)?.map_err(errors::library)?))
    }

    /// The bound on some rows, and its gradient in every parameter's values.
    fn elbo_gradient<'py>(&self, py: Python<'py>, rows: Rows<'_>) -> PyResult<(Parts<'py>, Bound<'py, PyDict>)> {
        let file = self.file();
        let own = file.clone();
        let rows = OwnRows::new(&rows, &file)?;
        let work = move |_: &_| rows.evaluate(|batch, noise| own.regressor.model.objective_gradient(batch, noise));
        let (elbo, gradient) = background::run(py, work)?.map_err(errors::library)?;
        let all = PyDict::new(py);
        for parameter in file.regressor.model.parameters() {
            let values = gradient[parameter.range].to_vec();
            all.set_item(&parameter.name, arrays::shaped(py, &parameter.shape, values)?)?;
        }
        Ok((parts(py, elbo), all))
    }

    /// One step of Adam on some rows; the bound is that before the step. The step's own number makes its noise.
    fn train_step<'py>(&self, py: Python<'py>, rows: Rows<'_>, learning_rate: f64) -> PyResult<Parts<'py>> {
        let file = self.file();
        let mut rows = OwnRows::new(&rows, &file)?;
        let parameters = file.regressor.model.parameters();
        let raw = file.regressor.model.raw();
        let optimiser = lock(&self.adam).clone().unwrap_or_else(|| OptimiserState::new(&Adam, raw.len()));
        rows.step = optimiser.updates as u32;
        let before = Snapshot { raw, optimiser };
        let work = move |_: &_| {
            let model = &file.regressor.model;
            let (elbo, gradient) = rows.evaluate(|batch, noise| model.objective_gradient(batch, noise))?;
            let mut after = before.clone();
            let (gradient, parameters, factors) = (&gradient[..], &parameters[..], Factors::none());
            Adam.ascend(&before, &Update { gradient, parameters, factors, rate: learning_rate }, &mut after);
            Ok((elbo, after))
        };
        let (elbo, after) = background::run(py, work)?.map_err(errors::library)?;
        self.change(|file| {
            file.regressor.model.set_raw(&after.raw);
            Ok(())
        })?;
        *lock(&self.adam) = Some(after.optimiser);
        Ok(parts(py, elbo))
    }

    /// Mean and variance of the last layer at each row, after one sample of the hidden layers.
    fn propagate<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'_, f64>,
        noise: Option<Vec<PyReadonlyArray2<'_, f64>>>,
        seed: u64,
    ) -> PyResult<(Matrix<'py>, Matrix<'py>)> {
        let file = self.file();
        let x = file.regressor.standardiser.x.apply("x", arrays::matrix(&x)?.view()).map_err(errors::library)?;
        let noise = noise.as_ref().map(|noise| arrays::matrices(noise)).transpose()?;
        let own = file.clone();
        let work = move |_: &_| {
            let drawn = Noise::Rows { key: Key::new(seed, Purpose::Train), step: 0 };
            let noise = noise.as_ref().map_or(drawn, |given| Noise::Given(given));
            own.regressor.model.propagate(x.view(), noise, 1)
        };
        let mut moments = background::run(py, work)?.map_err(errors::library)?;
        let units = file.regressor.model.likelihood().latent_units(&file.regressor.standardiser.y);
        units.undo(&mut moments.mean);
        units.undo_variance(&mut moments.variance);
        Ok((arrays::array(py, moments.mean)?, arrays::array(py, moments.variance)?))
    }

    /// Shift and scale of inputs and targets.
    fn standardiser<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let file = self.file();
        let Standardiser { x, y, .. } = &file.regressor.standardiser;
        let all = PyDict::new(py);
        for (name, values) in
            [("x_shift", &x.shift), ("x_scale", &x.scale), ("y_shift", &y.shift), ("y_scale", &y.scale)]
        {
            all.set_item(name, arrays::vector(py, values.clone()))?;
        }
        Ok(all)
    }

    /// The name of each target's transform.
    fn transforms(&self) -> Vec<&'static str> {
        let file = self.file();
        (0..file.schema.targets.len()).map(|p| file.regressor.standardiser.transform_of(p).choice().name()).collect()
    }

    /// Names of the encoded inputs and of the targets.
    fn columns(&self) -> (Vec<String>, Vec<String>) {
        let file = self.file();
        (file.schema.feature_names(), file.schema.targets.clone())
    }

    /// Names of the columns that inputs are made from.
    fn input_columns(&self) -> Vec<String> {
        self.file().schema.inputs.iter().map(|column| column.name.clone()).collect()
    }

    /// Whether the model takes frames of texts, dates and missing cells.
    fn is_of_table(&self) -> bool {
        frames::is_of_table(&self.file())
    }

    /// The rows of a frame as numbers, and what somebody who asks about them should be warned of.
    fn encode<'py>(&self, py: Python<'py>, table: &Table) -> PyResult<(Matrix<'py>, Vec<String>)> {
        let (x, notes) = frames::encode(py, table, &self.file().schema)?;
        Ok((arrays::array(py, x)?, frames::warnings_of_rows(&notes)))
    }

    /// The labels of all classes, if targets are classes.
    fn labels(&self) -> Option<Vec<String>> {
        self.file().schema.target_kind.labels().map(<[String]>::to_vec)
    }

    /// The name of the column of exposures, if the model was fitted with some.
    fn exposure(&self) -> Option<String> {
        self.file().schema.exposure.clone()
    }

    /// Whether the inputs have no names, so that those of `columns` are made up.
    fn is_unnamed(&self) -> bool {
        self.file().schema.positions.is_some()
    }

    /// Inputs, targets, and outputs of each hidden layer.
    pub fn widths(&self) -> (usize, usize, Vec<usize>) {
        let file = self.file();
        let model = &file.regressor.model;
        let hidden = model.layers().len() - 1;
        let widths = model.layers()[..hidden].iter().map(deepgp::Layer::output_width).collect();
        (model.input_width(), model.likelihood().observed_width(), widths)
    }

    /// The settings that the model was made with, as a JSON object.
    fn settings(&self) -> PyResult<String> {
        let record = &self.file().record;
        let mut all = settings::flat(&record.settings)?;
        if let Some(samples) = record.prediction_samples {
            all.insert("prediction_samples".into(), samples.into());
        }
        let class_weight = match record.class_weights {
            ClassWeights::None => serde_json::Value::Null,
            ClassWeights::Balanced => "balanced".into(),
        };
        all.insert("class_weight".into(), class_weight);
        Ok(serde_json::Value::Object(all).to_string())
    }

    /// Whether it was fitted to data, be it by no step at all, and not just built.
    fn is_fitted(&self) -> bool {
        self.file().record.data.is_fitted()
    }

    /// Steps, seconds, the last ELBO, why training ended (in a word), and what is worth knowing (in sentences). A checkpoint of a run
    /// that is not at its end was interrupted.
    fn record(&self) -> (u64, f64, Option<f64>, &'static str, Vec<String>) {
        let record = &self.file().record;
        let stop = record.stop.as_ref().unwrap_or(&StopReason::Interrupted).name();
        let notes = record.notes.iter().map(frames::in_words).collect();
        (record.steps, record.train_seconds, record.elbo, stop, notes)
    }

    /// What somebody who has just fitted the model should be warned of: why no step could be made any more; or else that a step was
    /// rolled back, and why.
    fn trouble(&self) -> Option<String> {
        let record = &self.file().record;
        match &record.stop {
            Some(StopReason::Stuck { cause }) => Some(cause.clone()),
            Some(StopReason::Steps | StopReason::Patience | StopReason::TimeLimit | StopReason::Interrupted) | None => {
                record.rolled_back().map(Note::to_string)
            }
        }
    }

    /// What somebody who has just fitted the model should be told: that columns are left out, or that it has fewer inducing inputs than were
    /// asked for.
    fn warnings(&self) -> Vec<String> {
        frames::warnings_of_fit(&self.file().record.notes)
    }

    /// The latent function around which each target scatters; fails where observations have no joint covariance.
    fn locations(&self) -> PyResult<Vec<usize>> {
        let file = self.file();
        let likelihood = file.regressor.model.likelihood();
        if let Some(transform) = &file.regressor.standardiser.transform {
            let names: Vec<&str> = transform.each.iter().map(|own| own.choice().name()).collect();
            return Err(PyValueError::new_err(format!(
                "targets are transformed ({}), and in their own units their joint covariance is not known: give \
                 `transform_target=\"none\"`, or take `return_std=True`, `predict_quantiles` or `sample_y`",
                names.join(", ")
            )));
        }
        let each = (0..likelihood.observed_width()).map(|output| likelihood.location(output));
        each.collect::<Option<Vec<usize>>>().ok_or_else(|| {
            PyValueError::new_err(format!(
                "under the likelihood `{}` targets scatter around no function, and have no joint covariance: take \
                 `return_std=True`, `predict_quantiles` or `sample_y`",
                likelihood.name()
            ))
        })
    }

    /// The course of training, an array a column.
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let file = self.file();
        let all = PyDict::new(py);
        let add = |name: &str, values: Vec<f64>| all.set_item(name, arrays::vector(py, values));
        let points = file.history.points();
        add("step", points.iter().map(|p| p.step as f64).collect())?;
        add("seconds", points.iter().map(|p| p.seconds).collect())?;
        add("elbo", points.iter().map(|p| p.elbo).collect())?;
        add("data_term", points.iter().map(|p| p.data_term).collect())?;
        add("kl", points.iter().map(|p| p.kl).collect())?;
        add("noise", points.iter().map(|p| deepgp_io::noise_of_first_target(&p.likelihood)).collect())?;
        let looks = file.history.validation();
        add("validation_step", looks.iter().map(|look| look.0 as f64).collect())?;
        add("validation_score", looks.iter().map(|look| look.1).collect())?;
        Ok(all)
    }
}
