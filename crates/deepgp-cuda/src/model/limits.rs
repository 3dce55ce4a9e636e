//! What is too much for a device, and what to do then.

use deepgp::CovarianceForm;

use super::blueprint::Blueprint;
use crate::arrays::chunks::ROW_MULTIPLE;
use crate::arrays::workload::Extent;
use crate::fault::{Fault, Outcome};
use crate::kernels::covariance::TILE_ROWS;

/// Fails if a factor has more than `largest` rows, all that can be inverted.
pub fn check_orders(blueprint: &Blueprint, largest: usize) -> Outcome<()> {
    let orders = blueprint.layers.iter().flat_map(|layer| {
        let of_covariance = match layer.covariance_form {
            CovarianceForm::Dual => Some(layer.covariances),
            CovarianceForm::Standard | CovarianceForm::Whitened | CovarianceForm::Diagonal => None,
        };
        layer.grams.iter().filter(|gram| gram.factored).map(|gram| gram.order).chain(of_covariance)
    });
    match orders.max().filter(|order| *order > largest) {
        None => Ok(()),
        Some(order) => Err(Fault::Device(format!(
            "{order} inducing inputs are more than the {largest} it can factor; take fewer, or compute on the CPU"
        ))),
    }
}

/// The most rows of a kernel matrix that one grid of blocks can have.
const MOST_ROWS: usize = 65_535 * TILE_ROWS;
/// The most numbers that the threads of a kernel can count.
const MOST_NUMBERS: usize = 1 << 26;
/// The most outputs whose gradients fit into the shared memory that every device has.
const MOST_OUTPUTS: usize = 6000;

/// Fails if there are more rows or outputs than kernels can take.
pub fn check_counts(blueprint: &Blueprint, extent: Extent) -> Outcome<()> {
    let widest = blueprint.layers.iter().map(|layer| layer.outputs.max(layer.text.leaves)).max().unwrap_or(1);
    if widest > MOST_OUTPUTS {
        return Err(Fault::Device(format!(
            "a layer of {widest} outputs is wider than the {MOST_OUTPUTS} it can take; compute on the CPU"
        )));
    }
    let samples = extent.layer_samples(blueprint.layers.len() - 1);
    let most = MOST_ROWS.min(MOST_NUMBERS / widest) / samples / ROW_MULTIPLE * ROW_MULTIPLE;
    if extent.rows <= most {
        return Ok(());
    }
    let advice = match most {
        1.. if extent.work.gradients => format!("set `batch_size` to {most}, or compute on the CPU"),
        _ => "take fewer samples, or compute on the CPU".into(),
    };
    let rows = extent.rows;
    Err(Fault::TooLarge(format!("{rows} rows of {samples} samples at once are more than it can count; {advice}")))
}

/// The fault of a task that needs more memory than is free, with the number of rows that would fit.
pub fn too_large(needed: usize, free: usize, rows: usize, measure: impl Fn(usize) -> usize) -> Fault {
    let gib = |bytes: usize| bytes as f64 / (1u64 << 30) as f64;
    let (mut fits, mut over) = (0, rows);
    while over - fits > ROW_MULTIPLE {
        let half = (fits + (over - fits) / 2).next_multiple_of(ROW_MULTIPLE);
        if half >= over {
            break;
        }
        if measure(half) <= free { fits = half } else { over = half }
    }
    let advice = match fits {
        0 => "take fewer inducing inputs or outputs, or compute on the CPU".to_string(),
        rows => format!("{rows} rows at once would fit: set `batch_size` to that, or compute on the CPU"),
    };
    Fault::TooLarge(format!(
        "out of memory: {rows} rows at once need {:.2} GiB, but {:.2} GiB are free; {advice}",
        gib(needed),
        gib(free)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::workload::Workload;
    use deepgp::{DeepGp, InducingSize, Mat, ModelSettings};

    fn blueprint(hidden_layers: usize) -> Blueprint {
        let x = Mat::from_fn(30, 2, |i, j| (i * (j + 2) % 31) as f64);
        let inducing = InducingSize::Tied(9);
        let settings = ModelSettings { hidden_layers, width: 4, inducing, ..ModelSettings::default() };
        Blueprint::new(&DeepGp::for_regression(x.view(), 1, &settings).unwrap()).unwrap()
    }

    #[test]
    fn more_rows_or_inducing_inputs_than_it_can_take_are_refused_with_advice() {
        assert!(check_orders(&blueprint(1), 9).is_ok());
        let Err(Fault::Device(message)) = check_orders(&blueprint(1), 8) else { panic!() };
        assert!(message.contains("9 inducing inputs are more than the 8"), "{message}");
        let shape = |batch_rows, samples, gradients| {
            let work = Workload {
                batch_rows,
                samples,
                gradients,
                burst: 1,
                data_rows: 0,
                weighted: false,
                offset: false,
                given_rows: 0,
                together: false,
                objective: deepgp::ObjectiveForm::default(),
            };
            Extent::new(work, 2, false, 0)
        };
        assert!(check_counts(&blueprint(1), shape(10_000, 100, true)).is_ok());
        assert!(check_counts(&blueprint(0), shape(10_000, 1_000_000, true)).is_ok(), "one layer draws no samples");
        let Err(Fault::TooLarge(message)) = check_counts(&blueprint(1), shape(3_000_000, 1, true)) else { panic!() };
        assert!(message.contains("set `batch_size` to 2097120"), "{message}");
        let Err(Fault::TooLarge(message)) = check_counts(&blueprint(1), shape(16, 3_000_000, false)) else { panic!() };
        assert!(message.contains("take fewer samples"), "{message}");
    }

    #[test]
    fn too_large_a_task_says_what_would_fit() {
        let measure = |rows: usize| rows << 20;
        let Fault::TooLarge(message) = too_large(measure(1000), 600 << 20, 1000, measure) else { panic!() };
        assert!(message.contains("1000 rows at once need 0.98 GiB, but 0.59 GiB are free"), "{message}");
        assert!(message.contains("592 rows at once would fit"), "{message}");
        let Fault::TooLarge(message) = too_large(measure(1000), 1 << 20, 1000, measure) else { panic!() };
        assert!(message.contains("fewer inducing inputs"), "{message}");
    }
}
