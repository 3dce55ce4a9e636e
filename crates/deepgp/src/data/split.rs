//! The rows that are held out: a function of their number, a fraction and a seed alone.

use crate::error::{Error, Result};
use crate::random::noise::{Key, Purpose};

/// The numbers of the rows that a split of `rows` rows leaves, and of those it holds out: a `fraction` at random, rounded to some and not
/// all; each in ascending order. The same arguments give the same rows, now and in later versions.
///
/// ```
/// let (rest, held_out) = deepgp::split_rows(10, 0.3, 1)?;
/// assert_eq!((rest, held_out), (vec![0, 1, 2, 4, 6, 7, 8], vec![3, 5, 9]));
/// # Ok::<(), deepgp::Error>(())
/// ```
pub fn split_rows(rows: usize, fraction: f64, seed: u64) -> Result<(Vec<u32>, Vec<u32>)> {
    check_split(rows, fraction)?;
    let mut out = Key::new(seed, Purpose::Split).permutation(rows, 0);
    let mut rest = out.split_off(held_out(rows, fraction));
    out.sort_unstable();
    rest.sort_unstable();
    Ok((rest, out))
}

/// At most `most` of so many rows, at random by `key`, in ascending order; all if there are no more. `stream` numbers the choices of one key.
pub(crate) fn sample(rows: usize, most: usize, key: Key, stream: u64) -> Vec<u32> {
    if rows <= most {
        return (0..rows as u32).collect();
    }
    let mut some = key.permutation(rows, stream);
    some.truncate(most);
    some.sort_unstable();
    some
}

/// At most `most` of so many rows that are not all in the memory of one process, for what is done in memory: the same each time.
pub(crate) fn sample_in_memory(rows: usize, most: usize) -> Vec<u32> {
    sample(rows, most, Key::new(0, Purpose::Split), 6)
}

/// Fails if so many rows cannot be split, or not by this fraction.
pub(super) fn check_split(rows: usize, fraction: f64) -> Result<()> {
    if !(fraction > 0.0 && fraction < 1.0) {
        let requirement = "above 0 and below 1";
        return Err(Error::Setting { name: "fraction", value: fraction.to_string(), requirement });
    }
    if rows < 2 {
        let advice = "give more rows, or hold none out";
        return Err(Error::TooFewRows { what: "a split", needed: 2, rows, advice });
    }
    if u32::try_from(rows).is_err() {
        return Err(Error::Setting { name: "rows", value: rows.to_string(), requirement: "below 2³²" });
    }
    Ok(())
}

/// The number of rows that a hold-out of this fraction takes of `rows`, at least two: `round(rows · fraction)`, but some and not all.
pub(crate) fn held_out(rows: usize, fraction: f64) -> usize {
    ((rows as f64 * fraction).round() as usize).clamp(1, rows - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::numeric::mat::Mat;

    #[test]
    fn a_split_holds_every_row_once() {
        let data = Dataset::new(Mat::from_fn(10, 1, |i, _| i as f64), Mat::from_fn(10, 1, |i, _| i as f64)).unwrap();
        let (rest, out) = data.split(0.2, 3).unwrap();
        assert_eq!((rest.len(), out.len()), (8, 2));
        let mut all = [rest.x().as_slice(), out.x().as_slice()].concat();
        all.sort_by(f64::total_cmp);
        assert_eq!(all, (0..10).map(f64::from).collect::<Vec<_>>());
        assert_eq!(data.split(0.2, 3).unwrap().1, out);
        assert_ne!(data.split(0.2, 4).unwrap().1, out);
    }

    /// Pinned, here and in the Python package's tests: results that were published stay on the rows they were measured on.
    #[test]
    fn a_split_is_of_the_same_rows_in_every_version() {
        for (fraction, seed, expected) in [(0.2, 0, vec![2, 9]), (0.3, 1, vec![3, 5, 9]), (0.01, 2, vec![8])] {
            let (rest, out) = split_rows(10, fraction, seed).unwrap();
            assert_eq!(out, expected, "{fraction} {seed}");
            assert_eq!(rest, (0..10).filter(|row| !out.contains(row)).collect::<Vec<_>>());
        }
    }
}
