//! Predictions that are no finite numbers: why a model gives one.

use deepgp_io::{ImplausibleNumbers, ModelFile};

use crate::terminal::text::number;

/// The distance from the rows of the fit, in their standard deviations, from which on it is the row that is to blame.
const FAR: f64 = 1e6;

/// Why the prediction at the inputs `x` of a row is no finite number, and what to do about it.
pub fn cause(file: &ModelFile, x: &[f64]) -> String {
    if let Some(ImplausibleNumbers { array, value, .. }) = file.implausible_numbers().into_iter().next() {
        let value = number(value);
        return format!(
            "the model's `{array}` has {value}, which no training leads to; copy the file again, or fit the model anew"
        );
    }
    let units = &file.regressor.standardiser.x;
    let away = |column: usize| ((x[column] - units.shift[column]) / units.scale[column]).abs();
    let farthest = (0..x.len()).max_by(|one, other| away(*one).total_cmp(&away(*other)));
    if let Some(column) = farthest.filter(|column| away(*column) >= FAR) {
        let name = file.schema.feature_names().swap_remove(column);
        let (value, away) = (number(x[column]), number(away(column)));
        return format!(
            "its `{name}` is {value}, {away} standard deviations from the rows of the fit; mend the row, or remove it"
        );
    }
    let largest = file.largest_parameter().map_or(String::new(), |(array, value)| {
        format!("; the largest number of the model is {}, in `{array}`", number(value))
    });
    format!("what the model makes of this row is too large to compute with{largest}; fit the model anew")
}
