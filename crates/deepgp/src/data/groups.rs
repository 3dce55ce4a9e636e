//! Hold-outs and folds that keep groups of rows together: of patients, of households, of days.
//!
//! Rows of one group know each other: a model that has seen some of them does better on the others than on those of a group that is new to it.
//! So a group is held out whole or not at all, at the price that the share of rows held out is met only as nearly as the groups allow.

use super::split::{check_split, held_out};
use crate::error::{Error, Result};
use crate::random::noise::{Key, Purpose};

/// The numbers of the rows that a split leaves, and of those it holds out, where each row is of the group that has its number here: groups are
/// held out whole. They are drawn one after the other, and one is held out if that brings the number of rows nearer to the `fraction`; never
/// all of them. One group alone takes their place if it is nearer. The numbers of the groups themselves say nothing but which rows belong together.
///
/// Where `classes` are given, a group is held out if that brings the rows of each class nearer to their fraction, in the sum of squares. That is
/// the best effort only: a class that is in one group alone is held out whole or not at all, and not held out if another group can be.
///
/// ```
/// let patients = [7, 7, 7, 2, 2, 9, 9, 9, 4, 4];
/// let (rest, held_out) = deepgp::split_rows_by_group(&patients, None, 0.2, 1)?;
/// assert_eq!(held_out.len(), 2);
/// assert!(rest.iter().all(|row| held_out.iter().all(|other| patients[*row as usize] != patients[*other as usize])));
/// # Ok::<(), deepgp::Error>(())
/// ```
pub fn split_rows_by_group(
    groups: &[u32],
    classes: Option<&[usize]>,
    fraction: f64,
    seed: u64,
) -> Result<(Vec<u32>, Vec<u32>)> {
    check_split(groups.len(), fraction)?;
    let tally = Tally::new(groups, classes);
    tally.check("a split by groups", 2)?;
    let wanted = held_out(groups.len(), fraction) as f64 / groups.len() as f64;
    let order = Key::new(seed, Purpose::Split).permutation(tally.groups.len(), 0);
    let (mut held, mut is_out) = (vec![0; tally.sizes.len()], vec![false; tally.groups.len()]);
    for &group in &order {
        let with = sum(&held, &tally.groups[group as usize]);
        if !tally.has_whole_class(&with) && tally.distance(&with, wanted) < tally.distance(&held, wanted) {
            (held, is_out[group as usize]) = (with, true);
        }
    }
    // One group alone may be nearer than those that were drawn, and where each has more rows than were asked for, none were.
    let cost = |rows: &[usize]| (tally.has_whole_class(rows), tally.distance(rows, wanted));
    let cheaper = |a: (bool, f64), b: (bool, f64)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
    let of = |group: u32| cost(&tally.groups[group as usize]);
    let alone = order.iter().copied().min_by(|a, b| cheaper(of(*a), of(*b)));
    if let Some(alone) = alone.filter(|own| !is_out.contains(&true) || cheaper(of(*own), cost(&held)).is_lt()) {
        is_out.fill(false);
        is_out[alone as usize] = true;
    }
    let (out, rest) = (0..groups.len() as u32).partition(|row| is_out[tally.of_row[*row as usize]]);
    Ok((rest, out))
}

/// The fold of each row, from 0, where groups stay together: the largest groups first, each goes where it makes the folds least unequal, in the
/// rows of each class if there are classes. Groups of one size are taken in random order.
pub(super) fn folds_by_group(groups: &[u32], classes: Option<&[usize]>, count: usize, seed: u64) -> Result<Vec<usize>> {
    let tally = Tally::new(groups, classes);
    tally.check("a split into folds by groups", count)?;
    let mut order = Key::new(seed, Purpose::Split).permutation(tally.groups.len(), 0);
    let rows = |counts: &[usize]| counts.iter().sum::<usize>();
    order.sort_by_key(|group| std::cmp::Reverse(rows(&tally.groups[*group as usize])));
    let (mut held, mut fold_of) = (vec![vec![0; tally.sizes.len()]; count], vec![0; tally.groups.len()]);
    for group in order {
        let own = &tally.groups[group as usize];
        // What the sum of squares `Σ_c n_c² / N_c` over folds grows by, `Σ_c (2 n_c + g_c) g_c / N_c`, up to what is the same in each. A fold
        // without rows of these classes costs nothing, and one without rows comes first.
        let growth = |fold: &Vec<usize>| -> f64 {
            let sizes = fold.iter().zip(own).zip(&tally.sizes).filter(|(_, size)| **size > 0);
            sizes.map(|((held, own), size)| *held as f64 * *own as f64 / *size as f64).sum()
        };
        let cheapest = (0..count).min_by(|&a, &b| {
            let by_growth = growth(&held[a]).total_cmp(&growth(&held[b]));
            by_growth.then(rows(&held[a]).cmp(&rows(&held[b])))
        });
        let fold = cheapest.unwrap_or(0);
        held[fold] = sum(&held[fold], own);
        fold_of[group as usize] = fold;
    }
    Ok(tally.of_row.iter().map(|group| fold_of[*group]).collect())
}

/// How many rows of each class are in each group.
struct Tally {
    /// The group of each row, from 0 in the order in which groups appear.
    of_row: Vec<usize>,
    /// The rows of each class in each group.
    groups: Vec<Vec<usize>>,
    /// The rows of each class.
    sizes: Vec<usize>,
}

impl Tally {
    /// The tally of these groups; without classes all rows are of one.
    fn new(groups: &[u32], classes: Option<&[usize]>) -> Self {
        let class = |row: usize| classes.map_or(0, |all| all[row]);
        let classes = (0..groups.len()).map(class).max().map_or(1, |largest| largest + 1);
        let mut numbers = std::collections::HashMap::new();
        let mut tally = Self { of_row: Vec::new(), groups: Vec::new(), sizes: vec![0; classes] };
        for (row, group) in groups.iter().enumerate() {
            let number = *numbers.entry(group).or_insert_with(|| {
                tally.groups.push(vec![0; classes]);
                tally.groups.len() - 1
            });
            tally.of_row.push(number);
            tally.groups[number][class(row)] += 1;
            tally.sizes[class(row)] += 1;
        }
        tally
    }

    /// Fails if there are fewer groups than are needed.
    fn check(&self, what: &'static str, needed: usize) -> Result<()> {
        let groups = self.groups.len();
        if groups < needed { Err(Error::TooFewGroups { what, needed, groups }) } else { Ok(()) }
    }

    /// How far these rows of each class are from their `share`: `Σ_c (n_c − share N_c)² / N_c`.
    fn distance(&self, rows: &[usize], share: f64) -> f64 {
        let of_class = |(rows, size): (&usize, &usize)| (*rows as f64 - share * *size as f64).powi(2) / *size as f64;
        rows.iter().zip(&self.sizes).filter(|(_, size)| **size > 0).map(of_class).sum()
    }

    /// Whether these are all rows of a class.
    fn has_whole_class(&self, rows: &[usize]) -> bool {
        rows.iter().zip(&self.sizes).any(|(rows, size)| *size > 0 && rows == size)
    }
}

/// The sums of two tallies of classes.
fn sum(a: &[usize], b: &[usize]) -> Vec<usize> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of 1 to 13 rows, mixed over the table.
    fn groups(rows: u32) -> Vec<u32> {
        (0..rows).map(|row| (row.wrapping_mul(2_654_435_761) >> 16) % (rows / 7)).collect()
    }

    #[test]
    fn no_group_straddles_and_the_share_is_met_as_nearly_as_groups_allow() {
        let groups = groups(700);
        for seed in 0..20 {
            let (rest, out) = split_rows_by_group(&groups, None, 0.2, seed).unwrap();
            assert!(rest.iter().all(|row| out.iter().all(|other| groups[*row as usize] != groups[*other as usize])));
            let mut all = [rest.clone(), out.clone()].concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..700) && rest.is_sorted() && out.is_sorted());
            assert!((135..=145).contains(&out.len()), "{}", out.len());
            assert_eq!(split_rows_by_group(&groups, None, 0.2, seed).unwrap().1, out);
        }
        let other = |seed| split_rows_by_group(&groups, None, 0.2, seed).unwrap().1;
        assert_ne!(other(1), other(2));
        // The numbers of groups are names.
        let renamed: Vec<u32> = groups.iter().map(|group| 1_000_000 - 3 * group).collect();
        assert_eq!(split_rows_by_group(&renamed, None, 0.2, 1).unwrap().1, other(1));
    }

    #[test]
    fn classes_are_balanced_as_well_as_groups_allow() {
        let groups = groups(1400);
        // Every group has its class, one in ten the rare one.
        let classes: Vec<usize> = groups.iter().map(|group| usize::from(group % 10 == 0)).collect();
        let rare = |rows: &[u32]| rows.iter().filter(|row| classes[**row as usize] == 1).count() as f64;
        let all = classes.iter().sum::<usize>() as f64;
        for seed in 0..20 {
            let (_, out) = split_rows_by_group(&groups, Some(&classes), 0.2, seed).unwrap();
            assert!((rare(&out) / all - 0.2).abs() < 0.06, "seed {seed}: {} of {all}", rare(&out));
        }
        // A class of one group stays, as long as another group can be held out.
        for seed in 0..20 {
            let (rest, _) = split_rows_by_group(&[0, 0, 1, 1, 2, 2], Some(&[0, 0, 0, 0, 1, 1]), 0.3, seed).unwrap();
            assert!(rest.contains(&4) && rest.contains(&5), "{seed}");
        }
    }

    #[test]
    fn huge_groups_leave_some_rows_on_either_side() {
        let of = |sizes: &[u32]| -> Vec<u32> {
            sizes.iter().enumerate().flat_map(|(group, rows)| vec![group as u32; *rows as usize]).collect()
        };
        for (sizes, fraction, held) in [(&[99, 1][..], 0.99, 99), (&[50, 50], 0.01, 50), (&[60, 40], 0.1, 40)] {
            for seed in 0..8 {
                let (rest, out) = split_rows_by_group(&of(sizes), None, fraction, seed).unwrap();
                assert_eq!((rest.len(), out.len()), (100 - held, held), "{sizes:?} {fraction}");
            }
        }
        let error = split_rows_by_group(&[5; 9], None, 0.2, 0).unwrap_err().to_string();
        assert!(error.contains("at least 2 groups, but there is 1"), "{error}");
        assert!(split_rows_by_group(&[1, 2], None, 1.0, 0).is_err());
    }

    #[test]
    fn folds_keep_groups_whole_and_are_of_about_one_size() {
        let groups = groups(700);
        let folds = folds_by_group(&groups, None, 5, 3).unwrap();
        for (row, group) in groups.iter().enumerate() {
            assert_eq!(folds[row], folds[groups.iter().position(|other| other == group).unwrap()]);
        }
        for fold in 0..5 {
            let rows = folds.iter().filter(|own| **own == fold).count();
            assert!((138..=142).contains(&rows), "{rows}");
        }
        // As many groups as folds: one each, whatever their classes.
        let mut own = folds_by_group(&[0, 0, 0, 1, 2, 2], Some(&[0, 0, 0, 1, 1, 1]), 3, 0).unwrap();
        own.dedup();
        own.sort_unstable();
        assert_eq!(own, [0, 1, 2]);
        assert!(folds_by_group(&[0, 1], None, 3, 0).unwrap_err().to_string().contains("at least 3 groups"));
    }
}
