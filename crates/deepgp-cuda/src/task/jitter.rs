//! Kernel matrices that cannot be factored: they get more jitter, as much as the CPU would give them, for the step at hand.

use deepgp::{DeepGp, Error, Jitter, JitterEvent, Matrix};

use super::DeviceTask;
use super::record::Record;
use crate::arrays::prepared::CovarianceArrays;
use crate::device::real::Real;
use crate::fault::Outcome;

/// How often the jitter may be raised before a step counts as failed.
const DEVICE_RAISES: usize = 6;
/// Kernel matrices whose jitter was raised above what was asked for.
#[derive(Debug, Default)]
pub struct Raised {
    pub events: Vec<JitterEvent>,
    /// How often it was raised so far.
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
            for gram in layer.prepared.grams.iter().filter(|gram| gram.blueprint.factored) {
                let (failed, matrix) = (infos.next().is_some_and(|info| *info != 0), gram.blueprint.matrix);
                let found = events.iter().find(|event| event.layer == l && event.matrix == matrix);
                if !failed && found.is_none() {
                    continue;
                }
                let prior = model.layers()[l].kernel_diagonal();
                let jitter = task.blueprint.jitter;
                let asked = jitter.absolute + jitter.relative * prior;
                let raised = match found {
                    // On the first raise the CPU's jitter is taken; if even that fails here, ten times more, and so on.
                    Some(event) => event.jitter * Jitter::RAISE.powi(self.raises as i32),
                    None => asked.max(Jitter::FIRST_RAISE * prior) * Jitter::RAISE.powi(1 + self.raises as i32),
                };
                // As on the CPU: next to no jitter is raised to something relative to the diagonal.
                let jitter = if Jitter::RAISE * asked < Jitter::FIRST_RAISE * prior {
                    Jitter { absolute: 0.0, relative: raised / prior }
                } else {
                    let factor = raised / asked;
                    Jitter { absolute: jitter.absolute * factor, relative: jitter.relative * factor }
                };
                task.set_jitter(gram, jitter)?;
                let cause = found.map_or_else(|| "the device needed more than the CPU".into(), |e| e.cause.clone());
                self.events.retain(|event| (event.layer, event.matrix) != (l, matrix));
                self.events.push(JitterEvent { layer: l, matrix, jitter: raised, cause });
            }
            let own = match layer.prepared.covariance {
                CovarianceArrays::Dual { infos: own, .. } => own.len(),
                CovarianceArrays::Standard { .. } | CovarianceArrays::Whitened | CovarianceArrays::Diagonal => 0,
            };
            let own: Vec<i32> = infos.by_ref().take(own).copied().collect();
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
        self.raises += 1;
        match self.events.last() {
            Some(event) if self.raises > DEVICE_RAISES => {
                let JitterEvent { layer, matrix, jitter, cause } = event.clone();
                let pivot =
                    record.infos.iter().find(|info| **info != 0).map_or(0, |info| info.unsigned_abs() as usize - 1);
                Err(Error::NotPositiveDefinite { layer, matrix, pivot, jitter, cause }.into())
            }
            _ => Ok(()),
        }
    }

    /// Whether some matrix has more jitter than asked for.
    pub fn any(&self) -> bool {
        !self.events.is_empty()
    }

    /// Returns to the jitter asked for.
    pub fn reset<T: Real>(&mut self, task: &DeviceTask<T>) -> Outcome<()> {
        let raised = self.any();
        *self = Self::default();
        if raised {
            for gram in task.arrays.layers.iter().flat_map(|layer| layer.prepared.grams.iter()) {
                task.set_jitter(gram, task.blueprint.jitter)?;
            }
        }
        Ok(())
    }
}

/// The error of a step in which everything could be factored, but not everything is finite.
fn not_finite(record: &Record) -> Error {
    let what = match record.kl.iter().position(|kl| !kl.is_finite()) {
        Some(layer) => format!("the KL of layer {layer}"),
        None if !record.data_term.is_finite() => "the data term".into(),
        None => "the gradient".into(),
    };
    Error::Diverged { what }
}
