//! Model files: one safetensors file that holds a model, its units, its columns and how it came about; in a checkpoint also the
//! state of the run. `docs/model-file.md` describes the format for other programs.
//!
//! The arrays are `f64`, under the names of the model's parameters. Everything else is one JSON text under the key `deepgp` of the
//! header. A checksum over both tells damage, which safetensors itself does not.

mod description;
mod error;
mod folds;
mod format_1;
mod history;
mod implausible;
mod likelihood;
mod log;
mod progress;
mod provenance;
mod record;
mod score;
mod search;
mod split;
mod state;
mod stop;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use deepgp::likelihood::{Outcomes, TargetUnits};
use deepgp::{Regressor, Scaling, Score, Sharpness, Spread, Standardiser, TargetTransforms, TrainState, Trend};
use safetensors::{Dtype, SafeTensors, View};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

pub use error::ModelError;
pub use folds::{FoldScore, FoldScores, FoldSubject, Metric};
pub use history::{History, HistoryPoint};
pub use implausible::ImplausibleNumbers;
pub use likelihood::{LikelihoodWatch, noise_of_first_target};
pub use progress::{Bound, TrainingProgress};
pub use provenance::{Provenance, TableRecord};
pub use record::{ClassWeights, Record, now};
pub use score::{Baseline, RowSample, ScoreRecord, Subject};
pub use search::SearchRecord;
pub use split::SplitRule;
pub use stop::StopReason;

use crate::atomic;
use crate::table::Schema;
use description::{Array, Arrays, ModelDescription, vector};
use state::StateDescription;

/// The version of the format that is written here, and the last that can be read.
const FORMAT_VERSION: u64 = 2;
/// The most arrays of a model file: a thousand layers have a tenth of it, with the state of their training.
const MOST_ARRAYS: usize = 100_000;
/// The header's key.
const KEY: &str = "deepgp";

/// Everything that a model file holds.
#[derive(Clone, Debug)]
pub struct ModelFile {
    /// The model and its units.
    pub regressor: Regressor,
    /// Which columns it reads, and how.
    pub schema: Schema,
    /// How it came about.
    pub record: Record,
    /// How training went.
    pub history: History,
    /// Where training stands: in a checkpoint.
    pub state: Option<TrainState>,
}

/// What the header says.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    format_version: u64,
    /// SHA-256 of the description and all arrays.
    checksum: String,
    /// Kept as the text that it is: written anew, it could differ.
    description: Box<RawValue>,
}

/// What every version of the header says.
#[derive(Debug, Deserialize)]
struct Version {
    format_version: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Description {
    model: ModelDescription,
    schema: Schema,
    record: Record,
    state: Option<StateDescription>,
    /// The transforms of targets; none in files that are older than transforms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transform: Option<TargetTransforms>,
    /// The trend of the targets; none in files that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trend: Option<Trend>,
    /// The power that class probabilities are raised to; 1 in files that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sharpness: Option<f64>,
    /// The factor by which each target's distribution is widened; 1 in files that do not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spread: Vec<f64>,
}

impl ModelFile {
    /// Writes it to `path`, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        let bytes = self.to_bytes()?;
        atomic::write(path, &bytes).map_err(|cause| ModelError::Io { action: "write", path: path.into(), cause })
    }

    /// Reads it from `path`.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let bytes = std::fs::read(path).map_err(|cause| ModelError::Io { action: "read", path: path.into(), cause })?;
        Self::from_bytes(&bytes, path)
    }

    /// The file's bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelError> {
        let mut arrays = Arrays::new();
        let model = ModelDescription::of(&self.regressor.model, &mut arrays)?;
        let Standardiser { x, y, transform, trend } = &self.regressor.standardiser;
        for (name, scaling) in [("x", x), ("y", y)] {
            arrays.insert(format!("standardiser.{name}.shift"), Array::vector(&scaling.shift));
            arrays.insert(format!("standardiser.{name}.scale"), Array::vector(&scaling.scale));
        }
        self.history.store(&mut arrays);
        let state = self.state.as_ref().map(|state| StateDescription::of(state, &mut arrays));
        let (schema, record, transform) = (self.schema.clone(), self.record.clone(), transform.clone());
        let trend = trend.clone();
        let sharpness = Some(self.regressor.sharpness).filter(|own| !own.is_neutral()).map(Sharpness::power);
        let spread = self.regressor.spread.factors().to_vec();
        let description = Description { model, schema, record, state, transform, trend, sharpness, spread };
        let unknown = |what: String| ModelError::Unknown { what };
        let description = serde_json::value::to_raw_value(&description).map_err(|e| unknown(e.to_string()))?;
        let checksum = checksum(&description, &arrays);
        let header = Header { format_version: FORMAT_VERSION, checksum, description };
        let header = serde_json::to_string(&header).map_err(|e| unknown(e.to_string()))?;
        let metadata = HashMap::from([(KEY.to_string(), header)]);
        safetensors::serialize(&arrays, Some(metadata)).map_err(|e| unknown(e.to_string()))
    }

    /// From the file's bytes; `path` is for messages.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, ModelError> {
        let foreign = |reason: String| ModelError::Foreign { path: path.into(), reason };
        let damaged = |reason: String| ModelError::Damaged { path: path.into(), reason };
        if bytes.is_empty() {
            return Err(foreign("it is empty".into()));
        }
        let ours = contains(&bytes[..bytes.len().min(1 << 16)], KEY.as_bytes());
        let unreadable = |e: safetensors::SafeTensorError| {
            if ours { damaged(e.to_string()) } else { foreign("it is not a safetensors file".into()) }
        };
        if let Some(arrays) = arrays_claimed(bytes).filter(|arrays| *arrays > MOST_ARRAYS) {
            let reason = format!("its header lists {arrays} arrays, and no model has more than {MOST_ARRAYS}");
            return Err(if ours { damaged(reason) } else { foreign(reason) });
        }
        let tensors = SafeTensors::deserialize(bytes).map_err(unreadable)?;
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
        let Some(header) = metadata.metadata().as_ref().and_then(|all| all.get(KEY)) else {
            return Err(foreign(format!("its header has no `{KEY}`")));
        };
        let words = |e: serde_json::Error| damaged(format!("its header: {e}"));
        // First, because all else may be different in a later version.
        let Version { format_version: found } = serde_json::from_str(header).map_err(words)?;
        if found > FORMAT_VERSION {
            return Err(ModelError::Newer { path: path.into(), found, known: FORMAT_VERSION });
        }
        let header: Header = serde_json::from_str(header).map_err(words)?;
        let arrays = read_arrays(&tensors).map_err(damaged)?;
        if checksum(&header.description, &arrays) != header.checksum {
            return Err(damaged("its contents do not match its checksum".into()));
        }
        Self::assemble(&header.description, &arrays).map_err(damaged)
    }

    fn assemble(description: &RawValue, arrays: &Arrays) -> Result<Self, String> {
        let description: Description =
            serde_json::from_str(description.get()).map_err(|e| format!("its header: {e}"))?;
        let model = description.model.build(arrays)?;
        let scaling = |name: &str, width: usize| {
            let part = |part: &str| vector(arrays, &format!("standardiser.{name}.{part}"));
            let (shift, scale) = (part("shift")?, part("scale")?);
            if (shift.len(), scale.len()) != (width, width) {
                return Err(format!("its units are for {} columns, not {width}", shift.len()));
            }
            if !shift.iter().all(|v| v.is_finite()) || !scale.iter().all(|v| v.is_finite() && *v > 0.0) {
                return Err("its units are no numbers to shift and scale by".into());
            }
            Ok(Scaling { shift, scale })
        };
        let (inputs, outputs) = (model.input_width(), model.likelihood().observed_width());
        let (width, targets) = (description.schema.width(), description.schema.targets.len());
        if (width, targets) != (inputs, outputs) {
            return Err(format!("its columns make {width} inputs and {targets} targets, not {inputs} and {outputs}"));
        }
        for ScoreRecord { score, .. } in &description.record.scores {
            let Score { rmse, mae, crps, coverage_50, coverage_90, coverage_95, .. } = score;
            if [rmse, mae, crps, coverage_50, coverage_90, coverage_95].iter().any(|all| all.len() != targets) {
                return Err(format!("its scores are not for {targets} targets"));
            }
        }
        if let Some(labels) = description.schema.target_kind.labels()
            && model.likelihood().outcomes() != Outcomes::Classes(labels.len())
        {
            return Err(format!("it has labels for {} classes, which its likelihood has not", labels.len()));
        }
        if description.transform.as_ref().is_some_and(|transform| !transform.fits(targets)) {
            return Err(format!("its transforms are not those of {targets} targets"));
        }
        if let Some(trend) = &description.trend
            && (!trend.fits(inputs, targets)
                || !(0..targets).all(|p| model.likelihood().location(p).is_some())
                || model.likelihood().target_units() != TargetUnits::Standardised)
        {
            return Err(format!("its trend is not one of {targets} targets that are numbers in {inputs} inputs"));
        }
        let sharpness = match (description.sharpness, model.likelihood().outcomes()) {
            (None, _) => Sharpness::default(),
            (Some(power), Outcomes::Classes(_)) => {
                Sharpness::new(power).ok_or(format!("its sharpness {power} is not above 0"))?
            }
            (Some(_), Outcomes::Real | Outcomes::Counts) => {
                return Err("it has a sharpness of classes, and no classes".into());
            }
        };
        let factors = description.spread;
        let spread = Spread::new(factors).ok_or("its spread is not above 0")?;
        if !spread.suits(model.likelihood()) || !(spread.factors().is_empty() || spread.factors().len() == targets) {
            return Err(format!("its spread is not one of {targets} targets that are numbers"));
        }
        let (x, y) = (scaling("x", inputs)?, scaling("y", outputs)?);
        let standardiser = Standardiser { x, y, transform: description.transform, trend: description.trend };
        Ok(Self {
            regressor: Regressor { model, standardiser, sharpness, spread },
            schema: description.schema,
            record: description.record,
            history: History::load(arrays)?,
            state: description.state.map(|state| state.build(arrays)).transpose()?,
        })
    }
}

impl View for &Array {
    fn dtype(&self) -> Dtype {
        Dtype::F64
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(self.values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    fn data_len(&self) -> usize {
        8 * self.values.len()
    }
}

fn read_arrays(tensors: &SafeTensors<'_>) -> Result<Arrays, String> {
    let mut arrays = Arrays::new();
    for (name, tensor) in tensors.iter() {
        if tensor.dtype() != Dtype::F64 {
            return Err(format!("the array `{name}` is of type {:?}, not F64", tensor.dtype()));
        }
        let (numbers, _) = tensor.data().as_chunks::<8>();
        let values = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        arrays.insert(name.to_string(), Array { shape: tensor.shape().to_vec(), values });
    }
    Ok(arrays)
}

/// Over the description and every array with its name and shape, in the order of names.
fn checksum(description: &RawValue, arrays: &Arrays) -> String {
    let mut hash = Sha256::new();
    hash.update(description.get());
    for (name, array) in arrays {
        hash.update(format!("\n{name} {:?}\n", array.shape));
        for value in &array.values {
            hash.update(value.to_le_bytes());
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The number of arrays that the header lists, by the word that each has there: an array without numbers takes but fifty bytes, and many times
/// as many when it is read. `None` if there is no header.
fn arrays_claimed(bytes: &[u8]) -> Option<usize> {
    const WORD: &[u8] = b"\"data_offsets\"";
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    Some(rest.get(..length)?.windows(WORD.len()).filter(|own| *own == WORD).count())
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
