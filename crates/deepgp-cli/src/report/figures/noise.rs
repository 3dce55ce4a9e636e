//! Noise that follows the inputs: against the predicted mean, and along the inputs with the shortest lengthscales.

use super::{Figure, stem, title};
use crate::picture::{Axis, Chart, Colour, Mark, Panel, Picture};
use crate::report::number::significant;
use crate::report::statistics::{groups_of_like, quantile, rms};
use crate::report::{NoiseView, Output};

/// The number of groups of rows whose errors are drawn beside the noise.
const GROUPS: usize = 10;
/// The ratio of the largest noise to the smallest from which on it is drawn in logarithms.
const WIDE: f64 = 8.0;

/// A row whose noise is known.
#[derive(Clone, Copy)]
struct Row {
    /// The number of the row in the view.
    index: usize,
    error: f64,
    /// The standard deviation of the whole prediction.
    spread: f64,
    noise: f64,
}

/// The figures of output `index` of `outputs`; none where the noise is the same for all rows, or no row is complete.
pub(in crate::report) fn noise(outputs: &[Output], index: usize) -> Vec<Figure> {
    let output = &outputs[index];
    let Some(view) = &output.noise else { return Vec::new() };
    let columns = view.error.iter().zip(&view.spread).zip(&view.deviation).enumerate();
    let complete = columns.map(|(index, ((&error, &spread), &noise))| Row { index, error, spread, noise });
    let usable = |row: &Row| (row.error + row.spread).is_finite() && row.noise.is_finite() && row.noise > 0.0;
    let rows: Vec<Row> = complete.filter(usable).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let named = |base: &str| title(base, &output.name, outputs.len());
    let against_mean = Figure {
        stem: stem("noise-mean", index, outputs.len()),
        picture: Chart::new(named("Predicted noise against the mean"))
            .with(panel(&format!("predicted mean of {}", output.name), &view.mean, &rows), 1.0)
            .draw(),
        caption: format!(
            "The noise that the model sees in each row{}; lines are root mean squares of a tenth of the rows. Good: errors follow \
             the whole prediction. What lies between it and the noise is doubt about the function, which more rows would narrow; \
             the noise would stay. A level cloud says that one noise for all rows would do.",
            range(&rows)
        ),
    };
    let along_inputs = (!view.inputs.is_empty()).then(|| Figure {
        stem: stem("noise-inputs", index, outputs.len()),
        picture: along_inputs(&named("Predicted noise along the inputs"), view, &rows),
        caption: "The same along the inputs with the shortest lengthscales. Good: errors follow the whole prediction along each. \
                  An input along which the noise rises tells which rows are noisy."
            .to_owned(),
    });
    [against_mean].into_iter().chain(along_inputs).collect()
}

/// The picture of the noise along each input, two panels in a row.
fn along_inputs(title: &str, view: &NoiseView, rows: &[Row]) -> Picture {
    let mut chart = Chart::new(title);
    for (i, (name, values)) in view.inputs.iter().enumerate() {
        chart = if i > 0 && i.is_multiple_of(2) { chart.below() } else { chart };
        let mut panel = panel(name, values, rows);
        // The legend tells once what is the same in all panels.
        panel = if i > 0 { panel.without_labels() } else { panel };
        chart = chart.with(panel, 1.0);
    }
    chart.draw()
}

/// The panel of noise and errors against `x`, which has a value for each row of the view.
fn panel(name: &str, x: &[f64], rows: &[Row]) -> Panel {
    let rows: Vec<Row> = rows.iter().copied().filter(|row| x.get(row.index).is_some_and(|x| x.is_finite())).collect();
    let at = |row: &Row| x[row.index];
    let groups = groups_of_like(&rows.iter().map(at).collect::<Vec<_>>(), GROUPS);
    let middle = |group: &[usize]| group.iter().map(|&i| at(&rows[i])).sum::<f64>() / group.len() as f64;
    let each = |of: fn(&Row) -> f64| -> Vec<(f64, f64)> {
        groups.iter().map(|group| (middle(group), rms(group.iter().map(|&i| of(&rows[i]))))).collect()
    };
    let (low, high) =
        rows.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), row| (low.min(row.noise), high.max(row.noise)));
    let axis = Axis::new("standard deviation");
    let axis = if high > WIDE * low { axis.log() } else { axis.starting_at_zero() };
    Panel::new(Axis::new(name), axis)
        .with(
            Mark::dots(rows.iter().map(|row| (at(row), row.noise)), Colour::Model)
                .opacity(0.3)
                .labelled("noise of a row"),
        )
        .with(Mark::line(each(|row| row.noise), Colour::Model).stroke(2.2).labelled("noise"))
        .with(Mark::line(each(|row| row.spread), Colour::Ink).stroke(1.4).dashed().labelled("whole prediction"))
        .with(Mark::line(each(|row| row.error), Colour::Other).stroke(1.0).opacity(0.6))
        .with(Mark::dots(each(|row| row.error), Colour::Other).stroke(5.5).opacity(1.0).labelled("error"))
}

/// The range of the noise in words, with a comma before it.
fn range(rows: &[Row]) -> String {
    let noise: Vec<f64> = rows.iter().map(|row| row.noise).collect();
    let (low, high) = (quantile(&noise, 0.05), quantile(&noise, 0.95));
    format!(", from {} to {} in nine rows of ten", significant(low, 2), significant(high, 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example::heteroscedastic;

    #[test]
    fn the_noise_is_drawn_against_the_mean_and_along_inputs_with_its_range_in_words() {
        let outputs = heteroscedastic().outputs;
        let figures = noise(&outputs, 0);
        let stems: Vec<&str> = figures.iter().map(|figure| figure.stem.as_str()).collect();
        assert_eq!(stems, ["noise-mean", "noise-inputs"]);
        let mut all = outputs[0].noise.clone().expect("noise that follows the inputs").deviation;
        all.sort_by(f64::total_cmp);
        let at = |share: f64| significant(all[(share * (all.len() - 1) as f64).round() as usize], 2);
        let told = format!("from {} to {} in nine", at(0.05), at(0.95));
        assert!(figures[0].caption.contains(&told), "{told}: {}", figures[0].caption);
        for name in ["cement", "age", "water", "slag"] {
            assert!(figures[1].picture.inline().contains(name), "{name}");
        }
    }

    #[test]
    fn without_noise_of_rows_or_without_inputs_there_is_less_to_draw() {
        let mut outputs = heteroscedastic().outputs;
        outputs[0].noise.as_mut().expect("noise").inputs.clear();
        assert_eq!(noise(&outputs, 0).len(), 1);
        outputs[0].noise = None;
        assert!(noise(&outputs, 0).is_empty());
    }
}
