//! Hold-outs of the last rows: a model of what comes later is tested on what came later.

use super::split::{check_split, held_out};
use crate::error::{Error, Result};

/// The numbers of the rows that a split leaves, and of those it holds out: the last `fraction` of the rows by their times, each in ascending
/// order. Rows of one time stay together: of the two moments between which that fraction ends, the nearer one is taken, and the later where both
/// are as near.
///
/// ```
/// let days = [3.0, 1.0, 5.0, 4.0, 2.0];
/// assert_eq!(deepgp::split_last_rows(&days, 0.4)?, (vec![0, 1, 4], vec![2, 3]));
/// # Ok::<(), deepgp::Error>(())
/// ```
pub fn split_last_rows(times: &[f64], fraction: f64) -> Result<(Vec<u32>, Vec<u32>)> {
    check_split(times.len(), fraction)?;
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let wanted = times.len() - held_out(times.len(), fraction);
    // Where one time ends and the next begins.
    let borders = (1..sorted.len()).filter(|&at| sorted[at - 1] < sorted[at]);
    let Some(border) = borders.min_by_key(|at| (at.abs_diff(wanted), std::cmp::Reverse(*at))) else {
        return Err(Error::OneTime { time: sorted[0] });
    };
    let (out, rest) = (0..times.len() as u32).partition(|row| times[*row as usize] >= sorted[border]);
    Ok((rest, out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rows_are_really_the_last() {
        let times: Vec<f64> = (0..100).map(|row| f64::from(row * 37 % 100)).collect();
        let (rest, out) = split_last_rows(&times, 0.2).unwrap();
        assert_eq!((rest.len(), out.len()), (80, 20));
        assert!(
            rest.iter().all(|row| times[*row as usize] < 80.0) && out.iter().all(|row| times[*row as usize] >= 80.0)
        );
        assert!(rest.is_sorted() && out.is_sorted());
    }

    #[test]
    fn rows_of_one_time_stay_together() {
        let (rest, out) = split_last_rows(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0], 0.3).unwrap();
        assert_eq!((rest.len(), out), (7, vec![7]), "one row is nearer to two than five are");
        let halves = split_last_rows(&[1.0, 1.0, 2.0, 2.0, 2.0, 3.0], 0.45).unwrap();
        assert_eq!(halves.1.len(), 4);
        // Rows that nobody knows the time of come first.
        assert_eq!(split_last_rows(&[f64::NEG_INFINITY, 5.0, f64::NEG_INFINITY, 4.0], 0.25).unwrap().1, [1]);
        assert_eq!(split_last_rows(&[0.0, -0.0, 1.0], 0.9).unwrap().1, [2], "zero has no sign");
        let error = split_last_rows(&[7.0; 5], 0.2).unwrap_err().to_string();
        assert!(error.contains("all rows have the same time, 7"), "{error}");
        assert!(split_last_rows(&[1.0, 2.0], 0.0).is_err());
    }
}
