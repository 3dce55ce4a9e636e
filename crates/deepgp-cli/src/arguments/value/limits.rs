//! Limits of sizes: those that nobody means are wrong use, before they become an allocation that cannot be.
//!
//! The limits are generous. What is below them may still be more than a machine has memory for.

use std::ops::RangeInclusive;

use clap::builder::TypedValueParser;
use deepgp_io::limits;

/// The sizes that are allowed, from the least to the largest.
pub type Sizes = RangeInclusive<usize>;

/// Numbers of layers before the last one.
pub const HIDDEN_LAYERS: Sizes = 0..=limits::MOST_HIDDEN_LAYERS;
/// Numbers of outputs of a hidden layer.
pub const WIDTH: Sizes = 1..=limits::MOST_OUTPUTS;
/// Numbers of inducing inputs of a layer.
pub const INDUCING: Sizes = 1..=1_000_000;
/// Numbers of samples of the hidden layers.
pub const SAMPLES: Sizes = 1..=limits::MOST_SAMPLES;
/// Numbers of draws of the target.
pub const DRAWS: Sizes = 0..=1_000_000;
/// Numbers of rows of synthetic data.
pub const ROWS: Sizes = 1..=1_000_000_000;
/// Numbers of rows to predict, if any.
pub const PREDICTED_ROWS: Sizes = 0..=*ROWS.end();
/// Numbers of columns of synthetic data.
pub const COLUMNS: Sizes = 1..=100_000;
/// Numbers of classes of synthetic data.
pub const CLASSES: Sizes = 2..=10_000;
/// Limits of tables: columns, bytes of a cell, multiples of a file.
pub const TABLE_SIZE: Sizes = 1..=1_000_000_000;
/// Numbers of steps to time.
pub const TIMED_STEPS: Sizes = 1..=1_000_000_000;
/// Numbers of models that are trained side by side, each from a thread.
pub const REPLICAS: Sizes = 1..=1000;
/// Numbers of random splits of a dataset.
pub const SPLITS: RangeInclusive<u64> = 1..=1000;

/// The size, if it is allowed; otherwise what to give instead.
pub fn allowed(size: usize, sizes: &Sizes) -> Result<usize, String> {
    if size < *sizes.start() {
        Err(format!("give at least {}", sizes.start()))
    } else if size > *sizes.end() {
        Err(format!("give at most {}", sizes.end()))
    } else {
        Ok(size)
    }
}

/// A parser of sizes within these limits.
pub fn within(sizes: Sizes) -> impl TypedValueParser<Value = usize> {
    move |text: &str| allowed(text.parse().map_err(|error: std::num::ParseIntError| error.to_string())?, &sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_allowed_up_to_its_limits() {
        assert_eq!((allowed(1, &WIDTH), allowed(100_000, &WIDTH)), (Ok(1), Ok(100_000)));
        assert_eq!(allowed(0, &WIDTH), Err("give at least 1".into()));
        assert_eq!(allowed(usize::MAX, &WIDTH), Err("give at most 100000".into()));
    }
}
