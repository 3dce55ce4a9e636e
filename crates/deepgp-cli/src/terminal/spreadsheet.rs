//! Cells that a spreadsheet would run: a text that begins like a formula is one, wherever it came from.
//!
//! On request such cells get an apostrophe before them, which spreadsheets show as text. Numbers, negative ones too, stay as they are.

use std::borrow::Cow;

/// What formulas, and calls of other programs, begin with; blanks that an import takes away hide them.
const BEGINS_FORMULA: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];

/// The cell as a spreadsheet takes it for text, or for the number that it is.
pub fn safe(cell: &str) -> Cow<'_, str> {
    let is_number = || cell.parse::<f64>().is_ok_and(f64::is_finite);
    if cell.starts_with(BEGINS_FORMULA) && !is_number() { format!("'{cell}").into() } else { cell.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_run_is_text_and_numbers_are_numbers() {
        for cell in ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "-inf", "+ 5"] {
            assert_eq!(safe(cell), format!("'{cell}"), "{cell:?}");
        }
        for cell in ["", "-1.5", "+3", "-1e-7", "a=1", "3 - 1", " x", "'=1"] {
            assert_eq!(safe(cell), cell);
        }
    }
}
