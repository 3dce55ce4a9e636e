//! What several processes agree on beside the sums of a step, all of it by [`Communicator::sum`].
//!
//! A number that one process knows is a sum in which the others have 0. So processes learn who has which rows, put lists one behind the
//! other, numbers or bytes, take the largest of some numbers, and find out that one of them failed or computes something else.

use std::ops::Range;

use super::Communicator;
use crate::error::{Error, Result};

/// The place of one process's rows among those of all processes, which follow one another in the order of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// The number of the process's first row among all rows.
    pub offset: usize,
    /// The number of the process's rows.
    pub rows: usize,
    /// The number of the rows of all processes.
    pub total: usize,
}

impl Share {
    /// The numbers of the process's rows among all rows.
    pub fn range(self) -> Range<usize> {
        self.offset..self.offset + self.rows
    }
}

impl dyn Communicator + '_ {
    /// Whether there is no other process.
    pub(crate) fn is_alone(&self) -> bool {
        self.size() == 1
    }

    /// The place of this process's `rows` rows among those of all processes.
    pub(crate) fn share(&self, rows: usize) -> Result<Share> {
        let mut each = vec![0.0; self.size()];
        each[self.rank()] = rows as f64;
        self.sum(&mut each)?;
        let upto = |rank: usize| each[..rank].iter().sum::<f64>() as usize;
        Ok(Share { offset: upto(self.rank()), rows, total: upto(self.size()) })
    }

    /// The numbers of all processes, one process's behind those of the one before.
    pub fn gather(&self, own: &[f64]) -> Result<Vec<f64>> {
        let share = self.share(own.len())?;
        let mut all = vec![0.0; share.total];
        all[share.range()].copy_from_slice(own);
        self.sum(&mut all)?;
        Ok(all)
    }

    /// The bytes of each process, in the order of ranks.
    pub fn gather_bytes(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        let packed: Vec<f64> = own.chunks(PACKED).map(pack).collect();
        let (lengths, packed) = (self.gather(&[own.len() as f64])?, self.gather(&packed)?);
        let mut rest = &packed[..];
        let of_each = lengths.into_iter().map(|length| {
            let (own, after) = rest.split_at((length as usize).div_ceil(PACKED));
            rest = after;
            let mut bytes: Vec<u8> = own.iter().flat_map(|six| unpack(*six)).collect();
            bytes.truncate(length as usize);
            bytes
        });
        Ok(of_each.collect())
    }

    /// Replaces each of `values` by the largest that a process has there.
    pub(crate) fn largest(&self, values: &mut [f64]) -> Result<()> {
        if self.is_alone() || values.is_empty() {
            return Ok(());
        }
        let all = self.gather(values)?;
        for own in all.chunks_exact(values.len()) {
            for (to, from) in values.iter_mut().zip(own) {
                *to = to.max(*from);
            }
        }
        Ok(())
    }

    /// Whether this is so in any process.
    pub(crate) fn any(&self, own: bool) -> Result<bool> {
        let mut count = [f64::from(u8::from(own))];
        self.sum(&mut count)?;
        Ok(count[0] > 0.0)
    }

    /// The result of this process, if all processes have one. The first process that failed gets its own error, the others one that names it.
    pub fn all_fine<T, E: From<Error>>(&self, own: std::result::Result<T, E>) -> std::result::Result<T, E> {
        if self.is_alone() {
            return own;
        }
        let mut failed = vec![0.0; self.size()];
        failed[self.rank()] = f64::from(u8::from(own.is_err()));
        self.sum(&mut failed)?;
        match failed.iter().position(|failed| *failed > 0.0) {
            Some(process) if process != self.rank() => Err(Error::OtherProcess { process }.into()),
            Some(_) | None => own,
        }
    }

    /// Fails unless all processes hold the bits of process 0; the error says of `what`, and the advice.
    pub(crate) fn check_same(&self, what: &'static str, values: &[f64], advice: &'static str) -> Result<()> {
        if self.is_alone() {
            return Ok(());
        }
        let all = self.gather(&fingerprint(values))?;
        let other = all.chunks_exact(2).position(|own| *own != all[..2]);
        other.map_or(Ok(()), |process| Err(Error::Apart { what, process, advice }))
    }
}

/// Bytes that are one number: whole numbers of so many are exact, and stay what they are when 0 is added.
const PACKED: usize = 6;

/// A few bytes as a number.
fn pack(bytes: &[u8]) -> f64 {
    bytes.iter().rev().fold(0u64, |number, byte| (number << 8) | u64::from(*byte)) as f64
}

/// The bytes of such a number, and zeros behind them.
fn unpack(number: f64) -> impl Iterator<Item = u8> {
    (number as u64).to_le_bytes().into_iter().take(PACKED)
}

/// A hash of the bits of these numbers (FNV-1a, a number at a time), as two whole numbers below 2³².
fn fingerprint(values: &[f64]) -> [f64; 2] {
    let hash = values.iter().fold(0xCBF2_9CE4_8422_2325u64, |hash, v| {
        (hash ^ v.to_bits()).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(29)
    });
    [(hash >> 32) as f64, (hash & 0xFFFF_FFFF) as f64]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Alone;

    #[test]
    fn one_process_agrees_with_itself() {
        let alone: &dyn Communicator = &Alone;
        assert_eq!(alone.share(7).unwrap(), Share { offset: 0, rows: 7, total: 7 });
        assert_eq!(alone.gather(&[1.0, -2.0]).unwrap(), [1.0, -2.0]);
        for bytes in [&b""[..], b"six by", b"\0 and \xff more"] {
            assert_eq!(alone.gather_bytes(bytes).unwrap(), [bytes]);
        }
        assert!(alone.any(true).unwrap() && !alone.any(false).unwrap());
        let mut values = [3.0, -4.0];
        alone.largest(&mut values).unwrap();
        alone.broadcast(&mut values).unwrap();
        alone.barrier().unwrap();
        alone.abort(1);
        assert_eq!((values, alone.all_fine(Ok::<i32, Error>(5))), ([3.0, -4.0], Ok(5)));
        assert_eq!(alone.check_same("numbers", &values, ""), Ok(()));
    }

    #[test]
    fn fingerprints_see_the_last_bit_and_the_order() {
        let values = [1.0, 2.0, 0.1];
        for other in [[1.0, 2.0, f64::from_bits(0.1f64.to_bits() ^ 1)], [2.0, 1.0, 0.1], [1.0, 2.0, -0.1]] {
            assert_ne!(fingerprint(&values), fingerprint(&other));
        }
    }
}
