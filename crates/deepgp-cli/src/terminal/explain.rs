//! Errors of the library in words of the user's table: the library counts columns, a person knows their names.

use anyhow::anyhow;
use deepgp::Error;
use deepgp_io::table::Schema;

/// The error with the names of columns in place of their numbers, and with the flag that helps.
pub fn in_words_of(schema: &Schema, error: Error) -> anyhow::Error {
    let name = |what: &str, column: usize| {
        let names = if what == "y" { schema.targets.clone() } else { schema.feature_names() };
        names.get(column).cloned().unwrap_or_else(|| format!("{what}, column {column}"))
    };
    match error {
        Error::ConstantColumn { what: "y", column, value, .. } => anyhow!(
            "the target `{}` is {value} in every row, so there is nothing to learn; choose another --target",
            name("y", column)
        ),
        Error::ConstantColumn { what, column, value, .. } => anyhow!(
            "`{}` is {value} in every row; leave it out with --ignore, or keep it with --constant keep",
            name(what, column)
        ),
        Error::Spread { what, column, deviation } => anyhow!(
            "`{}` has a standard deviation of {deviation:e}; bring it between 1e-150 and 1e150",
            name(what, column)
        ),
        Error::TooFewRows { what, needed, rows, .. } => anyhow!(
            "{what} needs at least {needed} rows, but there are {rows}; give a longer table, or hold fewer rows out with \
             --test 0 --validation 0"
        ),
        Error::FewTargetValues { column, distinct, needed } => anyhow!(
            "`{}` has {distinct} distinct values among the rows to train on, and --transform-target quantile needs at least {needed}: \
             with fewer, its steps would be all that a model sees; take --transform-target yeo-johnson, or leave it out",
            name("y", column)
        ),
        other => other.into(),
    }
}

/// The error of a fit whose targets are outside of the domain of `--transform-target`; `positions` are those of the rows in the table.
pub fn impossible_in_table(schema: &Schema, positions: &[u64], error: Error) -> anyhow::Error {
    impossible(schema, positions, error, |transform, above| {
        let others = if above < 0.0 { "yeo-johnson" } else { "log1p (for values above -1) or yeo-johnson" };
        (format!("--transform-target {transform}"), format!("remove these rows, or take --transform-target {others}"))
    })
}

/// The error of rows to score whose targets a model cannot have, because of its transform; `positions` are those of the rows in the table.
pub fn impossible_in_model(schema: &Schema, positions: &[u64], error: Error) -> anyhow::Error {
    impossible(schema, positions, error, |transform, _| {
        let advice = "leave these rows out, or fit the model with another --transform-target".into();
        (format!("the model, which was fitted with --transform-target {transform},"), advice)
    })
}

/// The error in words of the table, if it is that of targets outside of their domain; `who` names what cannot have them, and what to do.
fn impossible(
    schema: &Schema,
    positions: &[u64],
    error: Error,
    who: impl Fn(&str, f64) -> (String, String),
) -> anyhow::Error {
    let Error::TargetDomain { transform, column, above, count, rows } = error else { return error.into() };
    let (subject, advice) = who(transform, above);
    let target = schema.targets.get(column).map_or("", String::as_str);
    let row = |(row, value): &(usize, f64)| format!("row {} has {value}", positions.get(*row).map_or(0, |at| at + 1));
    let named: Vec<String> = rows.iter().map(row).collect();
    let more = if count > named.len() { ", …" } else { "" };
    let have = if count == 1 { "1 row has another".into() } else { format!("{count} rows have others") };
    anyhow!(
        "{subject} needs values of `{target}` above {above}, but {have}: {}{more} (counted from 1, without a header); {advice}",
        named.join(", ")
    )
}
