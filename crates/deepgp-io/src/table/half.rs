//! Floating-point numbers of 16 bits, which Parquet and NumPy may hold.

/// The value of an IEEE 754 half: `(−1)^s 2^(e−15) (1 + m/1024)`, or `(−1)^s 2^(−14) m/1024` where `e = 0`.
pub(super) fn half_to_f64(bits: u16) -> f64 {
    let exponent = i32::from(bits >> 10 & 31);
    let mantissa = f64::from(bits & 1023) / 1024.0;
    let size = match exponent {
        0 => mantissa * 2f64.powi(-14),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + mantissa) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_halves_have_their_values() {
        let known = [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 2f64.powi(-24)),
            (0x3555, 0.333251953125),
            (0x8000, 0.0),
            (0xfc00, f64::NEG_INFINITY),
        ];
        for (bits, value) in known {
            assert_eq!(half_to_f64(bits), value, "{bits:x}");
        }
        assert!(half_to_f64(0x7e00).is_nan());
    }
}
