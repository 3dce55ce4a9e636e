//! Errors of the library in words of the user's table: the library counts columns, a person knows their names.

use deepgp::Error;
use deepgp_io::table::Schema;

/// The error with the names of columns in place of their numbers, and with the flag that helps.
pub fn in_words_of(schema: &Schema, error: Error) -> anyhow::Error {
    let name = |what: &str, column: usize| {
        let names = if what == "y" { schema.targets.clone() } else { schema.feature_names() };
        names.get(column).cloned().unwrap_or_else(|| format!("{what}, column {column}"))
    };
    match error {
        Error::ConstantColumn { what: "y", column, value, .. } => anyhow::anyhow!(
            "the target `{}` is {value} in every row, so there is nothing to learn; choose another --target",
            name("y", column)
        ),
        Error::ConstantColumn { what, column, value, .. } => anyhow::anyhow!(
            "`{}` is {value} in every row; leave it out with --ignore, or keep it with --constant keep",
            name(what, column)
        ),
        Error::Spread { what, column, deviation } => anyhow::anyhow!(
            "`{}` has a standard deviation of {deviation:e}; bring it between 1e-150 and 1e150",
            name(what, column)
        ),
        Error::TooFewRows { what, needed, rows, .. } => anyhow::anyhow!(
            "{what} needs at least {needed} rows, but there are {rows}; give a longer table, or hold fewer rows out with \
             --test 0 --validation 0"
        ),
        other => other.into(),
    }
}
