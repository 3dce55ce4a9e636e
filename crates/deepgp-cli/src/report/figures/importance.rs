//! What the predictions depend on: the share of their variance in which each column has a part, and how they change along the main ones.

use super::{Figure, stem, title};
use crate::picture::{Axis, Bar, BarList, Chart, Colour, Mark, Panel};
use crate::report::number::percent;
use crate::report::{Along, Dependence, ImportanceView};

/// The largest number of columns shown.
const MOST: usize = 20;
/// The most classes that are drawn along a column.
const CLASSES: usize = 5;
/// The characters that have room below a panel of half of the width.
const NARROW_NAMES: usize = 20;

/// The figure of the importance of columns to target `index` of `all`; `None` if there are none, or nothing varies.
pub(in crate::report) fn importance(all: &[ImportanceView], index: usize) -> Option<Figure> {
    let view = &all[index];
    let known: Vec<_> = view.columns.iter().filter(|(_, own)| own.share.is_finite() && own.error.is_finite()).collect();
    let (shown, hidden) = known.split_at(known.len().min(MOST));
    shown.first().filter(|(_, own)| own.share > 0.0)?;
    let bar = |(name, own): &&(String, deepgp::Importance)| Bar {
        name: name.clone(),
        value: own.share,
        doubt: own.error,
        shown: percent(own.share),
    };
    let remark = match hidden.first() {
        None => String::new(),
        Some((_, next)) => format!("and {} more, at most {}", hidden.len(), percent(next.share)),
    };
    let what = if view.of_classes { "class probabilities" } else { "predicted means" };
    let units = view.units.as_ref().map_or(String::new(), |units| format!(" (of {units})"));
    Some(Figure {
        stem: stem("importance", index, all.len()),
        picture: BarList {
            title: title("Importance of columns", &view.target, all.len()),
            bars: shown.iter().map(bar).collect(),
            remark,
        }
        .draw(),
        caption: format!(
            "The share of the variance of {what}{units} in which a column has a part, by itself or together with others: what is lost when \
             its cells are those of other rows. Shares add up to more than 100\u{202f}% where columns act together, and to less where they go \
             together in the table, so that one stands in for the other. Whiskers are one standard error, from {} rows.",
            view.rows
        ),
    })
}

/// The figure of how the predictions of target `index` of `all` change along its main columns; `None` if there are none.
pub(in crate::report) fn dependence(all: &[ImportanceView], index: usize) -> Option<Figure> {
    let view = &all[index];
    if view.dependence.is_empty() {
        return None;
    }
    let mut chart = Chart::new(title("Predictions along the main columns", &view.target, all.len()));
    // Two side by side, and below them those that need all of the width for their names.
    let (wide, narrow): (Vec<&Dependence>, Vec<&Dependence>) = view.dependence.iter().partition(|own| is_wide(own));
    let rows = narrow.chunks(2).chain(wide.chunks(1));
    for (i, row) in rows.enumerate() {
        chart = if i > 0 { chart.below() } else { chart };
        for (j, own) in row.iter().enumerate() {
            let panel = panel(view, own);
            // The legend tells once what is the same in all panels.
            chart = chart.with(if i + j > 0 { panel.without_labels() } else { panel }, 1.0);
        }
    }
    let caption = if view.of_classes {
        "Mean probabilities over rows whose cells in one column are all set to the same value, and all others stay. Steep: the column decides."
    } else {
        "Thick: the mean prediction over rows whose cells in one column are all set to the same value, and all others stay. Thin: some of these rows \
         by themselves; where they are not parallel, the column acts together with others. Band: two standard deviations of doubt about the function, \
         a row on average; it widens where there are few rows like these."
    };
    Some(Figure { stem: stem("dependence", index, all.len()), picture: chart.draw(), caption: caption.to_owned() })
}

/// Whether the names below a panel take more than half of the width.
fn is_wide(own: &Dependence) -> bool {
    match &own.along {
        Along::Numbers(_) => false,
        Along::Levels(levels) => {
            let longest = levels.iter().map(|level| level.chars().count()).max().unwrap_or(0);
            levels.len() * (longest + 1) > NARROW_NAMES
        }
    }
}

/// The panel of predictions along one column.
fn panel(view: &ImportanceView, own: &Dependence) -> Panel {
    let (at, axis): (Vec<f64>, Axis) = match &own.along {
        Along::Numbers(values) => (values.clone(), Axis::new(&own.column)),
        Along::Levels(levels) => {
            ((0..levels.len()).map(|k| k as f64).collect(), Axis::new(&own.column).named(levels.clone()))
        }
    };
    let levels = matches!(own.along, Along::Levels(_));
    let points = |values: &[f64]| at.iter().copied().zip(values.iter().copied()).collect::<Vec<(f64, f64)>>();
    let y = if view.of_classes { "probability".to_owned() } else { view.target.clone() };
    let mut panel = Panel::new(axis, Axis::new(y));
    if view.of_classes {
        let shown = own.means.len().min(CLASSES);
        for (k, (name, values)) in own.means.iter().take(CLASSES).enumerate() {
            let colour = [Colour::Model, Colour::Other, Colour::Ink][k % 3];
            // Between levels there is nothing, and no line. Colours come again with broken strokes, or paler.
            let again = k >= 3 && shown > 3;
            let mark = match (levels, again) {
                (true, again) => Mark::dots(points(values), colour).stroke(7.0).opacity(if again { 0.4 } else { 1.0 }),
                (false, true) => Mark::line(points(values), colour).stroke(2.0).dashed(),
                (false, false) => Mark::line(points(values), colour).stroke(2.0),
            };
            panel = panel.with(mark.labelled(name.clone()));
        }
        return panel;
    }
    for (k, curve) in own.curves.iter().enumerate() {
        let mark = Mark::line(points(curve), Colour::Muted).stroke(0.8).opacity(0.45);
        panel = panel.with(if k == 0 { mark.labelled("a row") } else { mark });
    }
    let band = at.iter().zip(&own.band).map(|(at, (low, high))| (*at, *low, *high)).collect::<Vec<_>>();
    let means = own.means.first().map_or(Vec::new(), |(_, values)| points(values));
    if levels {
        let reach = band.iter().map(|(at, low, high)| [(*at, *low), (*at, *high)]);
        return panel
            .with(Mark::segments(reach, Colour::Model).opacity(0.5).stroke(5.0).labelled("doubt"))
            .with(Mark::dots(means, Colour::Model).stroke(7.0).opacity(1.0).labelled("mean"));
    }
    panel
        .with(Mark::band(band, Colour::Model).labelled("doubt"))
        .with(Mark::line(means, Colour::Model).stroke(2.4).labelled("mean"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example::explained;

    #[test]
    fn columns_are_bars_with_whiskers_and_the_rest_is_counted() {
        let mut all = vec![explained()];
        let figure = importance(&all, 0).unwrap();
        let svg = figure.picture.inline();
        assert!(
            svg.contains("zone") && svg.contains("area") && figure.caption.contains("900 rows"),
            "{}",
            figure.caption
        );
        assert!(svg.contains("60.0\u{202f}%") && figure.stem == "importance");
        let more = all[0].columns[1].clone();
        all[0].columns.extend((0..30).map(|k| (format!("column {k}"), more.1)));
        assert!(importance(&all, 0).unwrap().picture.inline().contains("and 13 more"));
        all[0].columns.clear();
        assert!(importance(&all, 0).is_none());
    }

    #[test]
    fn panels_are_curves_along_numbers_and_points_at_levels() {
        let mut all = vec![explained()];
        let svg = dependence(&all, 0).unwrap().picture.inline();
        assert!(svg.contains("north") && svg.contains("doubt") && svg.contains("a row"), "{svg}");
        // Names that are too long for half of the width are not cut.
        let long = ["district heating", "none", "wood pellets"];
        all[0].dependence[1].along = Along::Levels(long.map(String::from).to_vec());
        let svg = dependence(&all, 0).unwrap().picture.inline();
        assert!(long.iter().all(|name| svg.contains(name)), "{svg}");
        all[0].of_classes = true;
        let svg = dependence(&all, 0).unwrap().picture.inline();
        assert!(svg.contains("probability") && !svg.contains("doubt"), "{svg}");
        all[0].dependence.clear();
        assert!(dependence(&all, 0).is_none());
    }
}
