//! How many rows of a long table are predicted at once. How rows are cut changes no bit of their predictions.

/// Rows that are predicted at once, at most: so many are in memory.
pub const MOST_ROWS: usize = 8192;
/// Rows that are predicted at once, at least: fewer would not keep the threads busy.
const FEWEST_ROWS: usize = 16;
/// Rows times samples that are predicted at once, so that progress shows and an interruption is heard.
const ROWS_TIMES_SAMPLES: usize = 50_000;

/// Rows times inputs that are read at once: 64 MiB.
const ROWS_TIMES_INPUTS: usize = 8 << 20;

/// Rows of so many inputs to predict at once, with so many samples or draws of each.
pub fn rows_at_once(samples: usize, inputs: usize) -> usize {
    (ROWS_TIMES_SAMPLES / samples.max(1)).min(ROWS_TIMES_INPUTS / inputs.max(1)).clamp(FEWEST_ROWS, MOST_ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_samples_or_inputs_make_chunks_small_but_not_empty() {
        assert_eq!([0, 1, 100, 10_000, usize::MAX].map(|samples| rows_at_once(samples, 9)), [8192, 8192, 500, 16, 16]);
        assert_eq!([0, 1000, 20_000, usize::MAX].map(|inputs| rows_at_once(1, inputs)), [8192, 8192, 419, 16]);
    }
}
