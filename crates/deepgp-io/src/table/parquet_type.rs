//! What a value of a Parquet column means: its physical type says how it is stored, its annotation what it is.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::data_type::ByteArray;
use parquet::schema::types::ColumnDescriptor;

use super::half::half_to_f64;
use super::{Cell, date};

const SECONDS_A_DAY: f64 = 86_400.0;

/// Integers up to here are numbers without being rounded.
const EXACT: u64 = 1 << 53;

/// A value as it is stored.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Boolean(bool),
    /// With and without sign.
    Integer(i64, u64),
    Single(f32),
    Double(f64),
    Bytes(ByteArray),
}

/// What a column's values are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Meaning {
    /// Just what is stored; bytes are text.
    Plain,
    /// Integers that are never negative.
    Unsigned,
    /// Integers to be divided by ten to this power.
    Decimal(i32),
    /// The same, to be seconds since midnight.
    Time(u32),
    /// The same, to be seconds since 1970.
    Timestamp(u32),
    /// Days since 1970, to be seconds, so that dates and timestamps mean the same.
    Date,
    /// Two bytes each.
    Half,
}

impl Meaning {
    /// By the annotation; older files have only the converted type.
    pub(super) fn of(column: &ColumnDescriptor) -> Self {
        let digits = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => 3,
            TimeUnit::MICROS => 6,
            TimeUnit::NANOS => 9,
        };
        match column.logical_type_ref() {
            Some(LogicalType::Decimal(decimal)) => return Self::Decimal(decimal.scale),
            Some(LogicalType::Date) => return Self::Date,
            Some(LogicalType::Time(time)) => return Self::Time(digits(&time.unit)),
            Some(LogicalType::Timestamp(timestamp)) => return Self::Timestamp(digits(&timestamp.unit)),
            Some(LogicalType::Integer(integer)) if !integer.is_signed => return Self::Unsigned,
            Some(LogicalType::Float16) => return Self::Half,
            _ => {}
        }
        match column.converted_type() {
            ConvertedType::DATE => Self::Date,
            ConvertedType::DECIMAL => Self::Decimal(column.type_scale()),
            ConvertedType::TIME_MILLIS => Self::Time(3),
            ConvertedType::TIME_MICROS => Self::Time(6),
            ConvertedType::TIMESTAMP_MILLIS => Self::Timestamp(3),
            ConvertedType::TIMESTAMP_MICROS => Self::Timestamp(6),
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64 => {
                Self::Unsigned
            }
            // The oldest files' timestamps, which are read as microseconds.
            _ if column.physical_type() == Type::INT96 => Self::Timestamp(6),
            _ => Self::Plain,
        }
    }

    /// The value as a cell.
    pub(super) fn cell(self, value: &Value) -> Cell {
        match value {
            Value::Boolean(value) => Cell::Boolean(*value),
            Value::Integer(signed, unsigned) => self.integer(*signed, *unsigned),
            Value::Single(value) => Cell::number((*value).into()),
            Value::Double(value) => Cell::number(*value),
            Value::Bytes(bytes) => self.bytes(bytes.data()),
        }
    }

    /// The value as text: integers and decimals to the last digit, dates and times as ISO has them.
    pub(super) fn text(self, value: &Value) -> String {
        let exact = match (self, value) {
            (Self::Unsigned, Value::Integer(_, unsigned)) => Some(unsigned.to_string()),
            (Self::Plain, Value::Integer(signed, _)) => Some(signed.to_string()),
            (Self::Decimal(scale), Value::Integer(signed, _)) => Some(decimal_text((*signed).into(), scale)),
            (Self::Decimal(scale), Value::Bytes(bytes)) => big_endian(bytes.data()).map(|n| decimal_text(n, scale)),
            (Self::Date, Value::Integer(days, _)) => date::day(*days),
            (Self::Timestamp(digits), Value::Integer(units, _)) => date::moment(*units, digits),
            (Self::Time(digits), Value::Integer(units, _)) => date::time(*units, digits),
            (_, Value::Single(value)) if !value.is_nan() => Some(value.to_string()),
            _ => None,
        };
        exact.unwrap_or_else(|| self.cell(value).label().unwrap_or_default().into_owned())
    }

    /// An integer, given with and without sign.
    fn integer(self, signed: i64, unsigned: u64) -> Cell {
        match self {
            Self::Unsigned => Cell::Number(unsigned as f64),
            Self::Decimal(scale) => decimal(signed.into(), scale),
            Self::Time(digits) => Cell::Number(seconds(signed, digits)),
            Self::Timestamp(digits) => Cell::Date(seconds(signed, digits)),
            Self::Date => Cell::Date(signed as f64 * SECONDS_A_DAY),
            Self::Plain | Self::Half => Cell::Number(signed as f64),
        }
    }

    /// Bytes: a decimal, a half, or text; if they are no UTF-8, then hexadecimal text.
    fn bytes(self, bytes: &[u8]) -> Cell {
        match (self, bytes, big_endian(bytes)) {
            (Self::Half, [low, high], _) => Cell::number(half_to_f64(u16::from_le_bytes([*low, *high]))),
            (Self::Decimal(scale), _, Some(value)) => decimal(value, scale),
            _ => match std::str::from_utf8(bytes) {
                Ok(text) => Cell::Text(text.into()),
                Err(_) => Cell::Text(bytes.iter().fold("0x".into(), |text, byte| text + &format!("{byte:02x}"))),
            },
        }
    }
}

/// An integer of at most sixteen bytes, with the sign in the first.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let sign = i128::from(*bytes.first()? as i8 >> 7);
    (bytes.len() <= 16).then(|| bytes.iter().fold(sign, |value, byte| value << 8 | i128::from(*byte)))
}

/// `value / 10^scale`, rounded once.
pub(super) fn decimal(value: i128, scale: i32) -> Cell {
    format!("{value}e{}", -i64::from(scale)).parse().map_or(Cell::Missing, Cell::number)
}

/// The same with all its digits.
fn decimal_text(value: i128, scale: i32) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let behind = scale.max(0) as usize;
    // A digit at least before the point.
    let digits = format!("{:0width$}", value.unsigned_abs(), width = behind + 1);
    match digits.split_at(digits.len() - behind) {
        (whole, "") => format!("{sign}{whole}{}", "0".repeat(scale.min(0).unsigned_abs() as usize)),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    }
}

/// Seconds of which there are `10^digits` units each, rounded once.
fn seconds(units: i64, digits: u32) -> f64 {
    if units.unsigned_abs() > EXACT
        && let Cell::Number(seconds) = decimal(units.into(), digits as i32)
    {
        return seconds;
    }
    units as f64 / 10f64.powi(digits as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(value: i64) -> Value {
        Value::Integer(value, value as u64)
    }

    fn bytes(bytes: &[u8]) -> Value {
        Value::Bytes(bytes.to_vec().into())
    }

    #[test]
    fn decimals_are_rounded_once() {
        assert_eq!(Meaning::Decimal(2).cell(&integer(-329)), Cell::Number(-3.29));
        assert_eq!(Meaning::Decimal(1).cell(&bytes(&[0xff, 0xfb])), Cell::Number(-0.5));
        assert_eq!(Meaning::Decimal(0).cell(&bytes(&[1, 0])), Cell::Number(256.0));
        assert_eq!(
            Meaning::Decimal(3).cell(&bytes(&i128::MAX.to_be_bytes())),
            Cell::Number(170141183460469231731687303715884105.727)
        );
    }

    #[test]
    fn times_are_seconds_and_unsigned_integers_have_no_sign() {
        assert_eq!(Meaning::Time(3).cell(&integer(1500)), Cell::Number(1.5));
        let midnight = Meaning::Timestamp(0).cell(&integer(-172_800));
        assert_eq!(Meaning::Date.cell(&integer(-2)), midnight, "a date is its midnight");
        assert_eq!(Meaning::Unsigned.cell(&Value::Integer(-1, u32::MAX.into())), Cell::Number(4294967295.0));
        assert_eq!(Meaning::Plain.cell(&integer(-1)), Cell::Number(-1.0));
    }

    #[test]
    fn nanoseconds_are_what_they_are_in_text() {
        for units in (0..2000).map(|i| 1_709_251_198_000_000_000 + i * 123_456_789) {
            let text = Meaning::Timestamp(9).text(&integer(units));
            assert_eq!(Meaning::Timestamp(9).cell(&integer(units)), Cell::Date(date::seconds(&text).unwrap()));
        }
    }

    #[test]
    fn bytes_are_text_or_halves_or_hexadecimal() {
        assert_eq!(Meaning::Plain.cell(&bytes("grün".as_bytes())), Cell::Text("grün".into()));
        assert_eq!(Meaning::Plain.cell(&bytes(&[0xff, 0x0a])), Cell::Text("0xff0a".into()));
        assert_eq!(Meaning::Half.cell(&bytes(&[0x00, 0xc0])), Cell::Number(-2.0));
    }

    #[test]
    fn nothing_is_lost_in_text() {
        for (meaning, value, text) in [
            (Meaning::Plain, integer(i64::MAX), "9223372036854775807"),
            (Meaning::Unsigned, Value::Integer(-1, u64::MAX), "18446744073709551615"),
            (Meaning::Decimal(2), integer(-7), "-0.07"),
            (Meaning::Decimal(0), integer(70), "70"),
            (Meaning::Decimal(-2), integer(70), "7000"),
            (Meaning::Decimal(3), bytes(&i128::MAX.to_be_bytes()), "170141183460469231731687303715884105.727"),
            (Meaning::Date, integer(-1), "1969-12-31"),
            (Meaning::Timestamp(3), integer(1_709_251_198_250), "2024-02-29 23:59:58.25"),
            (Meaning::Time(6), integer(3_723_000_000), "01:02:03"),
            (Meaning::Plain, Value::Single(0.1), "0.1"),
            (Meaning::Plain, Value::Double(1000.0), "1000"),
            (Meaning::Plain, Value::Double(f64::NAN), ""),
            (Meaning::Plain, Value::Boolean(true), "true"),
            (Meaning::Plain, bytes(b"00120"), "00120"),
            (Meaning::Half, bytes(&[0x00, 0xc0]), "-2"),
        ] {
            assert_eq!(meaning.text(&value), text, "{meaning:?} {value:?}");
        }
        let far = Meaning::Date.text(&integer(1 << 40));
        assert_eq!(far, (86_400u64 << 40).to_string(), "a year of more than four digits is left in seconds");
    }
}
