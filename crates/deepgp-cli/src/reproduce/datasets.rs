//! The datasets of the experiments, read from their files.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use deepgp::Dataset;
use deepgp_io::table::{Missing, Schema, Source, Task, Wanted};

use crate::data::{RECIPES, Recipe};
use crate::model::rows;
use crate::terminal::output::Voice;

/// The names of the datasets, after which their files are named: the paper's three, [`DISTINCT`], and those that defaults are chosen by.
pub const DATASETS: &[&str] = &[
    "kin8nm",
    "protein",
    "molecules",
    DISTINCT,
    "airfoil",
    "bike",
    "concrete",
    "elevators",
    "energy",
    "parkinsons",
    "pol",
    "skillcraft",
];
/// The name of protein without the rows whose inputs an earlier row has: random splits of the whole table put equal
/// rows on both sides.
pub const DISTINCT: &str = "protein-distinct";
/// The endings that a dataset's file may have, in the order in which they are tried.
const ENDINGS: [&str; 3] = ["csv.gz", "csv", "parquet"];
/// The column of the target in every dataset's file.
const TARGET: &str = "y";
/// Reads a dataset from its file in `folder`.
pub fn load(folder: &Path, name: &str) -> Result<Dataset> {
    let file = if name == DISTINCT { "protein" } else { name };
    let paths: Vec<PathBuf> = ENDINGS.iter().map(|ending| folder.join(format!("{file}.{ending}"))).collect();
    let Some(path) = paths.iter().find(|path| path.exists()) else {
        let tried: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let help = match Recipe::find(file) {
            Some(_) => format!("run `deepgp data fetch {file} --out {}`, or ", folder.display()),
            None => {
                let others: Vec<&str> = RECIPES.iter().map(|recipe| recipe.name).collect();
                format!("leave it out with --dataset {}, or ", others.join(","))
            }
        };
        bail!(
            "{name} was not found: {help}put it at one of {}, with the target in the column `{TARGET}`",
            tried.join(", ")
        );
    };
    let source = Source::open(path)?;
    // Missing cells are refused: these tables have none.
    let targets = vec![TARGET.to_string()];
    let wanted = Wanted { targets, missing: Missing::Reject, task: Task::Regression, ..Wanted::default() };
    let (schema, _) = Schema::scan(&source, &wanted)?;
    let data = rows::load(&schema, &source, rows::reading(Voice::SILENT))?.data;
    if name == DISTINCT { distinct(&data) } else { Ok(data) }
}

/// The rows of `data`, of those with the same inputs the first alone, in their order.
fn distinct(data: &Dataset) -> Result<Dataset> {
    let mut seen = std::collections::HashSet::new();
    let bits = |i: u32| data.x().row(i as usize).iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
    let first: Vec<u32> = (0..data.len() as u32).filter(|&i| seen.insert(bits(i))).collect();
    Ok(data.gather(&first)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::Mat;

    #[test]
    fn of_equal_inputs_the_first_row_stays() {
        let x = Mat::from_fn(5, 2, |i, j| [[0.0, 1.0], [2.0, 3.0], [0.0, 1.0], [2.0, 4.0], [2.0, 3.0]][i][j]);
        let y = Mat::from_fn(5, 1, |i, _| i as f64);
        let kept = distinct(&Dataset::new(x, y).unwrap()).unwrap();
        assert_eq!(kept.y().as_slice(), [0.0, 1.0, 3.0]);
    }
}
