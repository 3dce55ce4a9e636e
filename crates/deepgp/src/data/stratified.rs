//! Hold-outs that keep the shares of classes: each class gives its fraction of rows.

use super::split::{check_split, held_out};
use crate::error::{Error, Result};
use crate::random::noise::{Key, Purpose};

/// The numbers of the rows that a split leaves, and of those it holds out, like [`split_rows`](super::split_rows), where each row is of the
/// class whose number it has here. Of every class a `fraction` is held out, rounded so that all classes together give as many rows as
/// [`split_rows`](super::split_rows) holds out, and so that no class is held out whole.
///
/// ```
/// let (rest, held_out) = deepgp::split_rows_by_class(&[0, 0, 1, 0, 0, 1, 0, 0], 0.5, 1)?;
/// let ones = |rows: &[u32]| rows.iter().filter(|row| [2, 5].contains(*row)).count();
/// assert_eq!((ones(&rest), rest.len(), ones(&held_out), held_out.len()), (1, 4, 1, 4));
/// # Ok::<(), deepgp::Error>(())
/// ```
pub fn split_rows_by_class(classes: &[usize], fraction: f64, seed: u64) -> Result<(Vec<u32>, Vec<u32>)> {
    check_split(classes.len(), fraction)?;
    let mut left = quotas(&sizes(classes), fraction);
    if left.iter().all(|quota| *quota == 0) {
        let advice = "give more rows of each class, or hold none out";
        return Err(Error::TooFewRows { what: "a split of classes", needed: 2, rows: 1, advice });
    }
    let (mut rest, mut out) = (Vec::new(), Vec::new());
    for row in Key::new(seed, Purpose::Split).permutation(classes.len(), 0) {
        let quota = &mut left[classes[row as usize]];
        if *quota > 0 {
            *quota -= 1;
            out.push(row);
        } else {
            rest.push(row);
        }
    }
    rest.sort_unstable();
    out.sort_unstable();
    Ok((rest, out))
}

/// The number of rows of each class.
fn sizes(classes: &[usize]) -> Vec<usize> {
    let mut sizes = vec![0; classes.iter().max().map_or(0, |largest| largest + 1)];
    for class in classes {
        sizes[*class] += 1;
    }
    sizes
}

/// The number of rows that each class gives: its fraction rounded down, and one more where most was rounded off, until there are enough. A
/// class keeps at least one row.
fn quotas(sizes: &[usize], fraction: f64) -> Vec<usize> {
    let exact: Vec<f64> = sizes.iter().map(|size| *size as f64 * fraction).collect();
    let most = |class: usize| sizes[class].saturating_sub(1);
    let mut quotas: Vec<usize> = (0..sizes.len()).map(|class| (exact[class] as usize).min(most(class))).collect();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    // By what was rounded off; of equal ones the larger class, which misses a row less.
    order.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()).then(sizes[b].cmp(&sizes[a])).then(a.cmp(&b)));
    let mut missing = held_out(sizes.iter().sum(), fraction).saturating_sub(quotas.iter().sum());
    while missing > 0 {
        let before = missing;
        for &class in order.iter().filter(|class| sizes[**class] > 0) {
            if missing > 0 && quotas[class] < most(class) {
                quotas[class] += 1;
                missing -= 1;
            }
        }
        if missing == before {
            break;
        }
    }
    quotas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_gives_its_share_and_every_row_is_somewhere() {
        let classes: Vec<usize> = (0..1000).map(|i| if i % 10 == 0 { 2 } else { i % 2 }).collect();
        let (rest, out) = split_rows_by_class(&classes, 0.2, 5).unwrap();
        let count = |rows: &[u32], class| rows.iter().filter(|row| classes[**row as usize] == class).count();
        assert_eq!([0, 1, 2].map(|class| (count(&rest, class), count(&out, class))), [(320, 80), (400, 100), (80, 20)]);
        let mut all = [rest.clone(), out.clone()].concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..1000) && rest.is_sorted() && out.is_sorted());
        assert_eq!(split_rows_by_class(&classes, 0.2, 5).unwrap().1, out);
        assert_ne!(split_rows_by_class(&classes, 0.2, 6).unwrap().1, out);
    }

    #[test]
    fn rounding_keeps_the_total_and_leaves_no_class_without_rows() {
        assert_eq!(quotas(&[50, 30, 20], 0.25), [13, 7, 5]);
        assert_eq!(quotas(&[7, 0, 3], 0.5), [4, 0, 1]);
        // The only row of a class stays, and another class gives one more.
        assert_eq!(quotas(&[6, 1], 0.9), [5, 0]);
        assert_eq!(quotas(&[98, 1, 1], 0.1), [10, 0, 0]);
        let classes = [0, 1, 2];
        let error = split_rows_by_class(&classes, 0.5, 0).unwrap_err().to_string();
        assert!(error.contains("a split of classes"), "{error}");
        assert!(split_rows_by_class(&[0, 0], 1.0, 0).is_err());
    }

    #[test]
    fn a_split_by_class_is_of_the_same_rows_in_every_version() {
        let classes = [0, 0, 1, 0, 1, 0, 0, 1, 0, 1];
        assert_eq!(split_rows_by_class(&classes, 0.3, 1).unwrap().1.len(), 3);
        // Of one class alone it is the split of rows.
        assert_eq!(split_rows_by_class(&[0; 10], 0.3, 1).unwrap(), super::super::split_rows(10, 0.3, 1).unwrap());
    }
}
