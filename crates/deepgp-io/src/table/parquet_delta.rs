//! Lengths of texts in a Parquet page, as differences of few bits: how many there are, before the library makes room for them.
//!
//! ```text
//! values in a block, parts of a block, number of values, the first one
//! block: smallest difference │ bits of a difference, a byte for each part │ differences, part by part
//! ```
//!
//! The number is whatever the page says: 8 GiB of lengths, if a kilobyte says so.

/// Passes over so many lists of lengths at the beginning of `page`; `None` if one has more than `most`, or ends early.
pub(super) fn check(page: &[u8], lists: usize, most: u32) -> Option<()> {
    let mut left = page;
    for _ in 0..lists {
        left = list(left, u64::from(most))?;
    }
    Some(())
}

/// What comes after one list.
fn list(mut bytes: &[u8], most: u64) -> Option<&[u8]> {
    let (block, parts, count) = (number(&mut bytes)?, number(&mut bytes)?, number(&mut bytes)?);
    number(&mut bytes)?;
    if count > most || parts == 0 {
        return None;
    }
    let values = block / parts;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        number(&mut bytes)?;
        let widths = bytes.split_off(..usize::try_from(parts).ok()?)?;
        for width in widths {
            if left == 0 || values == 0 {
                break;
            }
            let length = values.checked_mul(u64::from(*width))?.div_ceil(8);
            // The last part may end where its values do.
            bytes = bytes.get(usize::try_from(length).ok()?..).unwrap_or_default();
            left = left.saturating_sub(values);
        }
        if values == 0 {
            return None;
        }
    }
    Some(bytes)
}

/// A number of seven bits a byte.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let byte = *bytes.split_off_first()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two lists of 3 and 2 values, in blocks of 128 of four parts: one part with values of 4 bits, and none with values.
    fn lists() -> Vec<u8> {
        let first = [&[128, 1, 4, 3, 10, 2, 4, 0, 0, 0][..], &[0x21; 16]].concat();
        [&first[..], &[128, 1, 4, 2, 10, 2, 0, 0, 0, 0]].concat()
    }

    #[test]
    fn lists_are_counted_and_passed_over() {
        let lists = lists();
        assert_eq!(list(&lists, 3), Some(&lists[26..]));
        assert_eq!((check(&lists, 2, 3), check(&lists, 2, 2), check(&lists, 1, 2)), (Some(()), None, None));
        assert_eq!(check(&lists[..30], 2, 3), None);
    }

    #[test]
    fn what_claims_to_be_long_or_never_ends_is_refused() {
        let endless = [&[128, 1, 4][..], &[0xff, 0xff, 0xff, 0xff, 7, 0]].concat();
        assert_eq!(check(&endless, 1, u32::MAX), None);
        assert_eq!(check(&[0, 4, 5, 0, 0, 0, 0, 0, 0], 1, 9), None);
        assert_eq!(check(&[0xff; 40], 1, 9), None);
        assert_eq!(check(&[128, 1, 0, 5, 0], 1, 9), None);
    }
}
