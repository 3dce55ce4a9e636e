//! What a model's predictions depend on: the importance of columns, and predictions along the main ones.

use std::ops::Range;

use anyhow::Result;
use deepgp::likelihood::Outcomes;
use deepgp::{
    IMPORTANCE_SAMPLES, Mat, PredictSettings, UserPredictor, View, dependence, frequent_values, importance_rows,
    spread_values,
};
use deepgp_io::ModelFile;
use deepgp_io::table::{InputColumn, Kind};

use crate::model::importance::{self, ColumnImportance};
use crate::model::{device, labels, units};
use crate::picture::sample;
use crate::report::{Along, Dependence, ImportanceView};
use crate::terminal::output::Voice;

/// The number of columns that predictions are drawn along.
const COLUMNS: usize = 4;
/// The rows whose predictions are drawn, and averaged, along each.
const ROWS: usize = 60;
/// The number of these that are drawn by themselves.
const CURVES: usize = 12;
/// The most numbers and the most levels that a column is set to.
const POINTS: usize = 20;
const LEVELS: usize = 4;
/// The reach of the doubt about the function that is drawn, in standard deviations.
const DEVIATIONS: f64 = 2.0;
/// The columns of a table of which importance takes as many predictions as of wider ones.
const MANY_COLUMNS: usize = 10;
/// The seconds of a year, on average.
const YEAR: f64 = 31_556_952.0;

/// The number of predictions behind all this, of a table of so many rows, in units of predictions with all samples.
pub(super) fn predicted_rows(rows: usize) -> usize {
    let all = 2 * importance_rows(0) * MANY_COLUMNS + COLUMNS * POINTS * ROWS;
    // Of few rows each stands in for a few others.
    (all * IMPORTANCE_SAMPLES / PredictSettings::default().samples).min(16 * rows)
}

/// What the predictions of each target depend on, at these rows; nothing if there are too few.
pub(super) fn explained(file: &ModelFile, x: View<'_>, asked: PredictSettings) -> Result<Vec<ImportanceView>> {
    if x.nrows() < 2 {
        return Ok(Vec::new());
    }
    let all = importance::of_columns(file, x, asked, importance::stage(Voice::SILENT))?;
    let predictor = file.regressor.predictor(importance::settings(asked)).map_err(device::explain)?;
    let of_classes = matches!(file.regressor.model.likelihood().outcomes(), Outcomes::Classes(_));
    let bent = file.regressor.standardiser.transform.is_some();
    let view = |(p, (found, units)): (usize, (ColumnImportance, String))| {
        let ColumnImportance { target, columns } = found;
        let main = columns.iter().take(COLUMNS).filter(|(_, own)| own.share > own.error);
        let place = |name: &String| file.schema.inputs.iter().position(|column| column.name == *name);
        let along = main.filter_map(|(name, _)| place(name));
        let groups = file.schema.inputs_of_columns();
        let curves = along
            .filter_map(|at| along_column(file, &predictor, x, (&file.schema.inputs[at], &groups[at]), p).transpose());
        Ok(ImportanceView {
            dependence: curves.collect::<Result<_>>()?,
            units: (bent && units != target).then_some(units),
            target,
            of_classes,
            rows: importance::rows_taken(x.nrows(), file.schema.inputs.len()),
            columns,
        })
    };
    all.into_iter().zip(units::noise_units(file)).enumerate().map(view).collect()
}

/// The predictions of target `p` along one column, which becomes the inputs of `group`; `None` if its cells are all the same.
fn along_column(
    file: &ModelFile,
    predictor: &UserPredictor<'_>,
    x: View<'_>,
    (column, group): (&InputColumn, &Range<usize>),
    p: usize,
) -> Result<Option<Dependence>> {
    let all: Vec<usize> = (0..x.nrows()).collect();
    let (points, along) = points_along(column, group, x, &all);
    if points.len() < 2 {
        return Ok(None);
    }
    let rows = sample(&all, ROWS);
    let means = |values: &Mat, q: usize| (0..values.nrows()).map(|k| values[(k, q)]).collect::<Vec<f64>>();
    let column = column.name.clone();
    if let Outcomes::Classes(classes) = file.regressor.model.likelihood().outcomes() {
        let found = dependence(x, &rows, group, &points, |x| predictor.class_probabilities(x))?;
        let names = labels::of(file);
        // Of two classes one says all.
        let first = usize::from(classes == 2);
        let means = (first..classes).map(|class| (names[class].clone(), means(&found.mean, class))).collect();
        return Ok(Some(Dependence { column, along, means, band: Vec::new(), curves: Vec::new() }));
    }
    let found = dependence(x, &rows, group, &points, |x| predictor.function_band(x, DEVIATIONS))?;
    let [mean, lower, upper] = [0, 1, 2].map(|q| means(&found.mean, 3 * p + q));
    Ok(Some(Dependence {
        column,
        along,
        means: vec![(file.schema.targets[p].clone(), mean)],
        band: lower.into_iter().zip(upper).collect(),
        curves: sample(&found.each, CURVES).iter().map(|own| means(own, 3 * p)).collect(),
    }))
}

/// The rows whose cells a column is set to, and what these cells are. Rows without a cell are left out.
fn points_along(column: &InputColumn, group: &Range<usize>, x: View<'_>, all: &[usize]) -> (Vec<usize>, Along) {
    let last = group.end - 1;
    let present: Vec<usize> = all.iter().copied().filter(|row| !(column.indicator && x[(*row, last)] == 1.0)).collect();
    let numbers = |rows: Vec<usize>, of: &dyn Fn(f64) -> f64| {
        let values = rows.iter().map(|row| of(x[(*row, group.start)])).collect();
        (rows, Along::Numbers(values))
    };
    let spread = || spread_values(x, &present, group.start, POINTS);
    match &column.kind {
        Kind::Number { .. } | Kind::ManyLevels { .. } => numbers(spread(), &|v| v),
        Kind::Date { .. } => numbers(spread(), &|seconds| 1970.0 + seconds / YEAR),
        Kind::Boolean { .. } => {
            let rows = spread();
            let name = |row: &usize| if x[(*row, group.start)] == 1.0 { "true" } else { "false" }.to_owned();
            let names = rows.iter().map(name).collect();
            (rows, Along::Levels(names))
        }
        Kind::Category { levels } => {
            // Rows without a level are no level.
            let level = |row: usize| (0..levels.len()).find(|at| x[(row, group.start + at)] == 1.0);
            let with: Vec<usize> = present.into_iter().filter(|row| level(*row).is_some()).collect();
            let rows = frequent_values(x, &with, group, LEVELS);
            let names = rows.iter().filter_map(|row| level(*row)).map(|at| levels[at].clone()).collect();
            (rows, Along::Levels(names))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_set_to_cells_that_rows_have() {
        let levels = ["a".to_string(), "b".to_string(), "c".to_string()];
        let cell = |i: usize, d: usize| match d {
            // A number that every fourth row lacks, then a category whose second level is the most frequent, and that one row lacks.
            0 => i as f64,
            1 => f64::from(u8::from(i.is_multiple_of(4))),
            _ if i == 0 => 0.0,
            _ => f64::from(u8::from(d - 2 == if i.is_multiple_of(3) { 0 } else { 1 })),
        };
        let x = Mat::from_fn(40, 5, cell);
        let all: Vec<usize> = (0..40).collect();
        let number = InputColumn { indicator: true, ..InputColumn::new("area", Kind::Number { fill: Some(7.0) }) };
        let (rows, Along::Numbers(values)) = points_along(&number, &(0..2), x.view(), &all) else { panic!("numbers") };
        assert_eq!((rows.len(), values[0], values.iter().any(|v| v % 4.0 == 0.0)), (20, 1.0, false));
        let category = InputColumn::new("zone", Kind::Category { levels: levels.into() });
        let (_, Along::Levels(names)) = points_along(&category, &(2..5), x.view(), &all) else { panic!("levels") };
        assert_eq!(names, ["b", "a"]);
    }
}
