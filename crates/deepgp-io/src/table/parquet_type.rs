//! What a value of a Parquet column means: its physical type says how it is stored, its annotation what it is.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::schema::types::ColumnDescriptor;

use super::Cell;
use super::half::half_to_f64;

const SECONDS_A_DAY: f64 = 86_400.0;

/// What a column's values are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Meaning {
    /// Just what is stored; bytes are text.
    Plain,
    /// Integers that are never negative.
    Unsigned,
    /// Integers to be divided by ten to this power.
    Decimal(i32),
    /// Integers to be divided by this, to be seconds.
    Time(f64),
    /// Days, to be seconds, so that dates and timestamps mean the same.
    Date,
    /// Two bytes each.
    Half,
}

impl Meaning {
    /// By the annotation; older files have only the converted type.
    pub(super) fn of(column: &ColumnDescriptor) -> Self {
        let unit = |unit: &TimeUnit| {
            Self::Time(match unit {
                TimeUnit::MILLIS => 1e3,
                TimeUnit::MICROS => 1e6,
                TimeUnit::NANOS => 1e9,
            })
        };
        match column.logical_type_ref() {
            Some(LogicalType::Decimal(decimal)) => return Self::Decimal(decimal.scale),
            Some(LogicalType::Date) => return Self::Date,
            Some(LogicalType::Time(time)) => return unit(&time.unit),
            Some(LogicalType::Timestamp(timestamp)) => return unit(&timestamp.unit),
            Some(LogicalType::Integer(integer)) if !integer.is_signed => return Self::Unsigned,
            Some(LogicalType::Float16) => return Self::Half,
            _ => {}
        }
        match column.converted_type() {
            ConvertedType::DATE => Self::Date,
            ConvertedType::DECIMAL => Self::Decimal(column.type_scale()),
            ConvertedType::TIME_MILLIS | ConvertedType::TIMESTAMP_MILLIS => Self::Time(1e3),
            ConvertedType::TIME_MICROS | ConvertedType::TIMESTAMP_MICROS => Self::Time(1e6),
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64 => {
                Self::Unsigned
            }
            _ => Self::Plain,
        }
    }

    /// An integer, given with and without sign.
    pub(super) fn integer(self, signed: i64, unsigned: u64) -> Cell {
        match self {
            Self::Unsigned => Cell::Number(unsigned as f64),
            Self::Decimal(scale) => decimal(signed.into(), scale),
            Self::Time(units) => Cell::Number(signed as f64 / units),
            Self::Date => Cell::Number(signed as f64 * SECONDS_A_DAY),
            Self::Plain | Self::Half => Cell::Number(signed as f64),
        }
    }

    /// Bytes: a decimal, a half, or text; if they are no UTF-8, then hexadecimal text.
    pub(super) fn bytes(self, bytes: &[u8]) -> Cell {
        match (self, bytes) {
            (Self::Half, [low, high]) => Cell::number(half_to_f64(u16::from_le_bytes([*low, *high]))),
            (Self::Decimal(scale), [first, ..]) if bytes.len() <= 16 => {
                // Big-endian with the sign in the first byte.
                let sign = i128::from(*first as i8 >> 7);
                decimal(bytes.iter().fold(sign, |value, byte| value << 8 | i128::from(*byte)), scale)
            }
            _ => match std::str::from_utf8(bytes) {
                Ok(text) => Cell::Text(text.into()),
                Err(_) => Cell::Text(bytes.iter().fold("0x".into(), |text, byte| text + &format!("{byte:02x}"))),
            },
        }
    }
}

/// `value / 10^scale`, rounded once.
pub(super) fn decimal(value: i128, scale: i32) -> Cell {
    format!("{value}e{}", -i64::from(scale)).parse().map_or(Cell::Missing, Cell::number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_rounded_once() {
        assert_eq!(Meaning::Decimal(2).integer(-329, 0), Cell::Number(-3.29));
        assert_eq!(Meaning::Decimal(1).bytes(&[0xff, 0xfb]), Cell::Number(-0.5));
        assert_eq!(Meaning::Decimal(0).bytes(&[1, 0]), Cell::Number(256.0));
        assert_eq!(
            Meaning::Decimal(3).bytes(&i128::MAX.to_be_bytes()),
            Cell::Number(170141183460469231731687303715884105.727)
        );
    }

    #[test]
    fn times_are_seconds_and_unsigned_integers_have_no_sign() {
        assert_eq!(Meaning::Time(1e3).integer(1500, 0), Cell::Number(1.5));
        assert_eq!(Meaning::Date.integer(-2, 0), Meaning::Time(1.0).integer(-172_800, 0), "a date is its midnight");
        assert_eq!(Meaning::Unsigned.integer(-1, u64::from(u32::MAX)), Cell::Number(4294967295.0));
        assert_eq!(Meaning::Plain.integer(-1, 1), Cell::Number(-1.0));
    }

    #[test]
    fn bytes_are_text_or_halves_or_hexadecimal() {
        assert_eq!(Meaning::Plain.bytes("grün".as_bytes()), Cell::Text("grün".into()));
        assert_eq!(Meaning::Plain.bytes(&[0xff, 0x0a]), Cell::Text("0xff0a".into()));
        assert_eq!(Meaning::Half.bytes(&[0x00, 0xc0]), Cell::Number(-2.0));
    }
}
