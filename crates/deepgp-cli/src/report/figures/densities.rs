//! Predicted densities of a few rows, each with the value that was observed.

use super::{Figure, stem, title};
use crate::picture::{Axis, Chart, Colour, Mark, Panel};
use crate::report::number::significant;
use crate::report::{ChosenRow, Output, RowDensity};

impl ChosenRow {
    /// The reason in a few words.
    fn name(self) -> &'static str {
        match self {
            Self::Narrow => "narrow (10th percentile)",
            Self::Typical => "typical (median)",
            Self::Wide => "wide (90th percentile)",
            Self::LeastLikely => "the least likely row",
        }
    }
}

/// The figure of output `index` of `outputs`; `None` if no density can be drawn.
pub(in crate::report) fn densities(outputs: &[Output], index: usize) -> Option<Figure> {
    let output = &outputs[index];
    let finite = |own: &&RowDensity| {
        own.y.is_finite() && own.curve.iter().any(|(y, density)| y.is_finite() && density.is_finite())
    };
    let shown: Vec<&RowDensity> = output.densities.iter().filter(finite).collect();
    let mut chart = Chart::new(title("Predicted density of chosen rows", &output.name, outputs.len()));
    for (i, own) in shown.iter().enumerate() {
        chart = if i > 0 && i.is_multiple_of(2) { chart.below() } else { chart };
        let panel = panel(&output.name, own);
        chart = chart.with(if i > 0 { panel.without_labels() } else { panel }, 1.0);
    }
    let surprise = shown.iter().find(|own| own.reason == ChosenRow::LeastLikely).map_or(String::new(), |own| {
        format!(" In that row {} was observed where the mean is {}.", significant(own.y, 3), significant(own.mean, 3))
    });
    let together = if outputs.len() > 1 { ", by all targets together" } else { "" };
    (!shown.is_empty()).then(|| Figure {
        stem: stem("densities", index, outputs.len()),
        picture: chart.draw(),
        caption: format!(
            "All that the model says of a row: of those whose predicted standard deviation is small, middling and large among \
             the scored rows, and of the one that it held least likely{together}. Good: the observed value lies where the density is \
             high. The last shows the worst there is: an outlier, or something that the inputs do not tell.{surprise}"
        ),
    })
}

/// The panel of one row's density.
fn panel(target: &str, own: &RowDensity) -> Panel {
    let area = own.curve.iter().map(|&(y, density)| (y, 0.0, density));
    Panel::new(Axis::new(target), Axis::new(own.reason.name()).starting_at_zero())
        .with(Mark::band(area, Colour::Model).opacity(0.25))
        .with(Mark::line(own.curve.iter().copied(), Colour::Model).stroke(1.6).labelled("predicted density"))
        .with(Mark::vertical_rule(own.y, Colour::Other).stroke(2.0).labelled("observed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example::report;

    #[test]
    fn each_chosen_row_has_a_panel_and_the_least_likely_one_its_numbers() {
        let mut outputs = report().outputs;
        let figure = densities(&outputs, 0).expect("densities");
        let picture = figure.picture.inline();
        for reason in [ChosenRow::Narrow, ChosenRow::Typical, ChosenRow::Wide, ChosenRow::LeastLikely] {
            assert_eq!(picture.matches(reason.name()).count(), 1, "{reason:?}");
        }
        let worst = outputs[0].densities.last().expect("a row");
        let told = format!("{} was observed where the mean is {}", significant(worst.y, 3), significant(worst.mean, 3));
        assert!(figure.caption.contains(&told), "{}", figure.caption);
        outputs[0].densities.clear();
        assert!(densities(&outputs, 0).is_none());
    }
}
