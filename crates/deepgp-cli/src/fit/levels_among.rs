//! Categories of very many levels, whose rows several processes hold: what a level says about the targets is found out by each process alike, from the
//! levels and targets of all rows.
//!
//! A table of those columns alone is settled as one process settles the whole table ([`Schema::settle`]); the numbers then take the places of the levels
//! in this process's rows. Every process holds one number for each row and such a column meanwhile, and then the numbers of each.

use anyhow::Result;
use deepgp::backend::Communicator;
use deepgp::{Dataset, Mat};
use deepgp_io::table::{InputColumn, Kind, Schema, Settled};

/// Rows that are split: the numbers of those to train on among all, and of the others.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// Those to train on.
    pub train: &'a [u32],
    /// The others, if there are any.
    pub others: Option<&'a [u32]>,
}

/// The columns with what levels say about targets, and this process's rows with that in place of levels; `all` are the rows of all processes but for
/// their inputs, and `own` this one's, of which the first has the number `first`. All processes call this. The columns and rows as they are, if no
/// category has so many levels: then there are none.
pub fn settle(
    schema: &Schema,
    processes: &dyn Communicator,
    all: &Dataset,
    (own, first): (&Dataset, usize),
    parts: Parts<'_>,
    seed: u64,
) -> Result<(Schema, Option<Dataset>)> {
    if !schema.has_many_levels() {
        return Ok((schema.clone(), None));
    }
    let is_many = |column: &InputColumn| matches!(column.kind, Kind::ManyLevels { .. });
    let inputs: Vec<InputColumn> = schema.inputs.iter().filter(|column| is_many(column)).cloned().collect();
    let of_columns = schema.inputs.iter().zip(schema.inputs_of_columns());
    let places: Vec<usize> = of_columns.filter(|(column, _)| is_many(column)).map(|(_, own)| own.start).collect();
    let mut levels = Mat::zeros(all.len(), places.len());
    for (column, at) in places.iter().enumerate() {
        let of_own: Vec<f64> = (0..own.len()).map(|i| own.x()[(i, *at)]).collect();
        for (i, level) in processes.gather(&of_own)?.into_iter().enumerate() {
            levels[(i, column)] = level;
        }
    }
    let of = |rows: &[u32]| all.gather(rows)?.with_inputs(levels.gather(rows));
    let apart = Schema { inputs, ..schema.clone() };
    let Settled { schema: learnt, train, others } =
        apart.settle(of(parts.train)?, parts.others.map(of).transpose()?, seed)?;
    let mut numbers = Mat::zeros(all.len(), train.x().ncols());
    for (rows, settled) in [(parts.train, Some(&train)), (parts.others.unwrap_or_default(), others.as_ref())] {
        for (i, row) in rows.iter().enumerate() {
            settled.into_iter().for_each(|part| numbers.row_mut(*row as usize).copy_from_slice(part.x().row(i)));
        }
    }
    let width = numbers.ncols() / places.len();
    let mut x = Vec::new();
    for i in 0..own.len() {
        let mut next = numbers.row(first + i).chunks_exact(width);
        for (at, value) in own.x().row(i).iter().enumerate() {
            match places.contains(&at).then(|| next.next()).flatten() {
                Some(numbers) => x.extend_from_slice(numbers),
                None => x.push(*value),
            }
        }
    }
    let x = Mat::from_vec(own.len(), x.len() / own.len(), x).expect("each row has as many");
    let mut learnt = learnt.inputs.into_iter();
    let settled = |column: &InputColumn| match is_many(column) {
        true => learnt.next().expect("every column of many levels is settled"),
        false => column.clone(),
    };
    let inputs = schema.inputs.iter().map(settled).collect();
    Ok((Schema { inputs, ..schema.clone() }, Some(own.with_inputs(x)?)))
}
