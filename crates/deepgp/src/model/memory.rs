//! The memory that a fit takes, from its sizes alone: for whoever wants to know before it is tried.
//!
//! With `Z` for all inducing inputs of a layer, a layer of `D` inputs and `P` outputs has
//!
//! ```text
//! parameters   Z·D + D + M_a·P + P·M_b             P·M_b² in place of P·M_b where the covariance is not diagonal
//! sums         Z·D + D + M_a·P + M_b² + P·M_b      the same
//! matrices     about 8 M_a² + 8 M_b²               and 3 P·M_b² where the covariance is not diagonal
//! rows         2 D + 2 Z + 5 M_b + 8 P             for each row of a block; and 2 P·M_b where the covariance is not diagonal
//! ```
//!
//! Parameters are there as those of the model, of its start, of now, of before the last step and of the best, with two vectors of the optimiser
//! twice, and again where a checkpoint is written. What is counted is what grows without bound; a few MiB are not.

use crate::layer::CovarianceForm;
use crate::model::Precision;
use crate::settings::{FitSettings, ResolvedSize};

/// Copies of the rows: as they came, those to train on as they came and in the model's units, and as inputs of the layer that is being built.
const COPIES_OF_ROWS: f64 = 5.0;
/// Copies of all parameters while a model is trained.
const COPIES_OF_PARAMETERS: f64 = 12.0;
/// Copies of all parameters while a checkpoint is written, beside those.
const COPIES_IN_CHECKPOINT: f64 = 20.0;
/// The most partial sums of a step, and the total.
const SUMS: usize = 16;
/// The rows of a block.
const BLOCK_ROWS: usize = 128;
/// The bytes of a number.
const NUMBER: f64 = 8.0;

/// The memory that a fit takes, in bytes, about.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FitMemory {
    /// The rows, in all the forms in which they are there.
    pub rows: f64,
    /// The parameters, with their optimiser, gradients and checkpoints.
    pub parameters: f64,
    /// The matrices of a step, and the blocks of rows under way.
    pub work: f64,
}

impl FitMemory {
    /// The memory of a fit to so many rows of so many columns, for a likelihood of `latent` functions, on so many threads.
    pub fn of(rows: usize, columns: usize, latent: usize, settings: &FitSettings, threads: usize) -> Self {
        let model = &settings.model;
        let size = model.inducing.resolve(rows).unwrap_or(ResolvedSize::Tied(rows));
        let (m_a, m_b, z) = match size {
            ResolvedSize::Tied(m) => (m, m, m),
            ResolvedSize::Decoupled { mean, covariance } => (mean, covariance, mean + covariance),
            ResolvedSize::Nested { mean, covariance } => (mean, covariance, mean),
        };
        let (m_a, m_b, z) = (m_a as f64, m_b as f64, z as f64);
        let deep = model.hidden_layers > 0;
        let parts = if deep { settings.train.samples.max(1) } else { 1 };
        let blocks = settings.train.batch_size.min(rows).saturating_mul(parts).div_ceil(BLOCK_ROWS);
        let sums_at_once = blocks.clamp(1, SUMS) as f64
            * match model.precision {
                Precision::F64 => 1.0,
                Precision::Mixed => 0.5,
            };
        let mut own = Self { rows: COPIES_OF_ROWS * rows as f64 * (columns + latent) as f64, ..Self::default() };
        // The layer that starts the others is that of the columns; all after it are alike.
        let hidden = model.hidden_layers as f64;
        let width = model.width as f64;
        let layers = [
            (1.0, columns as f64, if deep { width } else { latent as f64 }),
            ((hidden - 1.0).max(0.0), width, width),
            (if deep { 1.0 } else { 0.0 }, width, latent as f64),
        ];
        for (count, d, p) in layers {
            let (factor, dense) = match model.covariance_form {
                CovarianceForm::Diagonal => (p * m_b, 0.0),
                CovarianceForm::Whitened | CovarianceForm::Standard | CovarianceForm::Dual => (p * m_b * m_b, 1.0),
            };
            let parameters = z * d + d + m_a * p + factor;
            let sums = (sums_at_once + 1.0) * (z * d + d + m_a * p + m_b * m_b + factor);
            let directions = if d > p && deep { 3.0 * d * p } else { 0.0 };
            let copies = COPIES_OF_PARAMETERS + COPIES_IN_CHECKPOINT;
            own.parameters += count * (copies * parameters + directions + sums);
            let block = 2.0 * d + 2.0 * z + 5.0 * m_b + 8.0 * p + 2.0 * dense * p * m_b;
            let under_way = (threads.max(1) * BLOCK_ROWS) as f64;
            own.work += count * (8.0 * (m_a * m_a + m_b * m_b) + 3.0 * dense * factor + under_way * block);
            // While a model is built, the rows are pushed through its layers.
            own.rows += if count > 0.0 { 0.5 * rows as f64 * p } else { 0.0 };
        }
        Self { rows: NUMBER * own.rows, parameters: NUMBER * own.parameters, work: NUMBER * own.work }
    }

    /// All of it, in bytes.
    pub fn total(&self) -> u64 {
        (self.rows + self.parameters + self.work) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DeepGp;
    use crate::settings::InducingSize;
    use crate::testing::uniform;

    #[test]
    fn parameters_are_counted_as_the_model_has_them() {
        let x = uniform(60, 7, 1);
        for form in [CovarianceForm::Diagonal, CovarianceForm::Whitened] {
            let mut settings = FitSettings::plain();
            settings.model.covariance_form = form;
            settings.model.inducing = InducingSize::nested(30, 20);
            for (hidden_layers, width) in [(0, 1), (1, 4), (3, 9)] {
                (settings.model.hidden_layers, settings.model.width) = (hidden_layers, width);
                let model = DeepGp::for_regression(x.view(), 1, &settings.model).unwrap();
                let memory = |rows| FitMemory::of(rows, 7, 1, &settings, 1);
                let each = memory(60).parameters / (NUMBER * model.raw().len() as f64);
                // All copies, one partial sum and the total of them, and the principal directions.
                assert!((33.0..40.0).contains(&each), "{form:?}, {hidden_layers} of {width}: {each}");
            }
        }
    }

    #[test]
    fn what_is_large_is_told() {
        let gib = |memory: FitMemory| memory.total() as f64 / (1u64 << 30) as f64;
        let mut settings = FitSettings::default();
        let usual = FitMemory::of(10_000, 9, 2, &settings, 2);
        assert!(gib(usual) < 0.2, "{usual:?}");
        settings.model.width = 20_000;
        settings.model.covariance_form = CovarianceForm::Whitened;
        let wide = FitMemory::of(10_000, 9, 2, &settings, 2);
        assert!(gib(wide) > 500.0, "{wide:?}");
        assert!(gib(FitMemory::of(100_000_000, 1000, 2, &FitSettings::default(), 2)) > 3000.0);
    }
}
