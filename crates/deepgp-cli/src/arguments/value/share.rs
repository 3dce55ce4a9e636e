//! A share of the rows, or none of them.

/// The share that a text says: a number, or `none` for 0, as Python has it.
pub fn share(text: &str) -> Result<f64, String> {
    match text {
        "none" | "None" => Ok(0.0),
        number => number.parse().map_err(|_| "give a share of the rows such as 0.1, or none".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rows_are_none_or_0() {
        assert_eq!([share("none"), share("None"), share("0"), share("0.1")].map(Result::unwrap), [0.0, 0.0, 0.0, 0.1]);
        assert!(share("some").unwrap_err().contains("0.1, or none"));
    }
}
