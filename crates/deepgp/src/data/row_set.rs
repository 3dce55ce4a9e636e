//! [`RowSet`]: which rows of a table somebody has, a bit for each row.

/// The rows of a block of bits whose number is kept beside them.
const BLOCK: usize = 512;
/// The words of a block.
const WORDS: usize = BLOCK / 64;

/// Some of the rows of a table, by their numbers. Takes an eighth of a byte for each row of the table, and finds its `i`-th row by halving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowSet {
    /// A bit for each row of the table.
    words: Vec<u64>,
    /// The number of rows before each block.
    before: Vec<u32>,
    /// The number of rows in the set.
    len: usize,
}

impl RowSet {
    /// All of so many rows.
    pub fn all(rows: usize) -> Self {
        let mut words = vec![u64::MAX; rows.div_ceil(64)];
        if let (Some(last), 1..) = (words.last_mut(), rows % 64) {
            *last = (1 << (rows % 64)) - 1;
        }
        Self::of(words)
    }

    /// The rows whose bits are set.
    fn of(words: Vec<u64>) -> Self {
        let mut len = 0;
        let before = words.chunks(WORDS).map(|block| {
            let before = len as u32;
            len += block.iter().map(|word| word.count_ones() as usize).sum::<usize>();
            before
        });
        let before = before.collect();
        Self { words, before, len }
    }

    /// The number of rows in the set.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number in the table of the set's `i`-th row, from 0, which it must have.
    pub fn row(&self, i: usize) -> u32 {
        debug_assert!(i < self.len, "row {i} of {}", self.len);
        let block = self.before.partition_point(|before| *before as usize <= i) - 1;
        let mut left = i - self.before[block] as usize;
        for (word, bits) in self.words.iter().enumerate().skip(block * WORDS) {
            let here = bits.count_ones() as usize;
            if left < here {
                let mut bits = *bits;
                (0..left).for_each(|_| bits &= bits - 1);
                return 64 * word as u32 + bits.trailing_zeros();
            }
            left -= here;
        }
        unreachable!("a set has as many rows as it says")
    }

    /// The rows from the `from`-th on, in ascending order.
    pub fn rows_from(&self, from: usize) -> impl Iterator<Item = u32> + '_ {
        let first = (from < self.len).then(|| self.row(from));
        let start = first.map_or(self.words.len(), |row| row as usize / 64);
        self.words.iter().enumerate().skip(start).flat_map(move |(word, bits)| {
            let mut bits = *bits;
            if let Some(first) = first.filter(|first| *first as usize / 64 == word) {
                bits &= u64::MAX << (first % 64);
            }
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some(64 * word as u32 + bit)
            })
        })
    }

    /// The set without the rows that stand at `places` in it, and those alone.
    pub fn split(&self, places: impl IntoIterator<Item = u32>) -> (Self, Self) {
        let mut is_out = vec![0_u64; self.len.div_ceil(64)];
        places.into_iter().for_each(|place| is_out[place as usize / 64] |= 1 << (place % 64));
        let (mut rest, mut out) = (self.words.clone(), vec![0; self.words.len()]);
        for (place, row) in self.rows_from(0).enumerate() {
            if is_out[place / 64] >> (place % 64) & 1 == 1 {
                rest[row as usize / 64] &= !(1 << (row % 64));
                out[row as usize / 64] |= 1 << (row % 64);
            }
        }
        (Self::of(rest), Self::of(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_knows_its_rows_by_their_place() {
        for rows in [1, 63, 64, 65, 511, 512, 513, 3000] {
            let all = RowSet::all(rows);
            assert_eq!(all.rows_from(0).collect::<Vec<_>>(), (0..rows as u32).collect::<Vec<_>>());
            let (rest, out) = all.split((0..rows as u32).filter(|row| row % 7 == 3 || row / 600 == 1));
            let (more, few) = rest.split((0..rest.len() as u32).filter(|place| place % 5 == 0));
            for set in [&all, &rest, &out, &more, &few] {
                let listed: Vec<u32> = set.rows_from(0).collect();
                assert!(listed.is_sorted() && listed.len() == set.len());
                assert!((0..set.len()).all(|i| set.row(i) == listed[i]), "{rows}");
                for from in [0, 1, set.len() / 2, set.len()].into_iter().filter(|from| *from <= set.len()) {
                    assert!(set.rows_from(from).eq(listed[from..].iter().copied()), "{rows} from {from}");
                }
            }
            assert_eq!(rest.len() + out.len(), rows);
            assert!(out.rows_from(0).all(|row| row % 7 == 3 || row / 600 == 1));
            assert!(few.rows_from(0).enumerate().all(|(i, row)| row == rest.row(5 * i)));
        }
    }
}
