//! Learning curves: the bound and its parts, the validation score, the noise.

use super::{Figure, title};
use crate::picture::{Axis, Chart, Colour, Mark, Panel};
use crate::report::number::{duration, fixed, significant};
use crate::report::statistics::{last, smooth};
use crate::report::{History, Report};

/// The figures of all learning curves that there is data for.
pub(in crate::report) fn curves(report: &Report) -> Vec<Figure> {
    let history = &report.history;
    let whole = (!history.elbo.is_empty()).then(|| {
        let took = match (last(&history.step), last(&history.seconds)) {
            (Some(steps), Some(seconds)) => format!(" {} steps took {}.", fixed(steps, 0), duration(seconds)),
            _ => String::new(),
        };
        let caption = format!(
            "The bound that training raises, and the two parts it is the sum of. Good: a steep rise, then a plateau \
             without sudden drops.{took}"
        );
        bound(history, 0, "elbo", "Evidence lower bound", caption)
    });
    let end = (history.elbo.len() >= 16).then(|| {
        let good = match history.kept_before_the_end() {
            Some(kept) => format!(
                "The model is that of step {}, the best by the validation rows: what the bound gained after it was \
                 gained on the training rows alone.",
                fixed(kept, 0)
            ),
            None => "Good: level at the end; a bound that still climbs asks for more steps.".to_owned(),
        };
        let caption = format!("The same curve from where it no longer hides its detail. {good}");
        bound(history, history.step.len() / 4, "elbo-late", "The bound without its first quarter", caption)
    });
    whole.into_iter().chain(end).chain(validation(history, report.targets.len())).chain(noise(report)).collect()
}

/// The figure of the bound from the record `first` on; with its parts where the whole run is shown.
fn bound(history: &History, first: usize, stem: &str, title: &str, caption: String) -> Figure {
    let curve = |values: &[f64]| -> Vec<(f64, f64)> {
        let points = history.step.iter().copied().zip(values.iter().copied());
        points.filter(|(step, value)| step.is_finite() && value.is_finite()).collect()
    };
    let line = |points: Vec<(f64, f64)>, colour| Mark::line(points.into_iter().skip(first), colour);
    let mut panel = Panel::new(Axis::new("step"), Axis::new("nats"));
    if first == 0 {
        let minus_kl: Vec<f64> = history.kl.iter().map(|kl| -kl).collect();
        panel = panel
            .with(line(averaged(&curve(&history.data_term)), Colour::Muted).dashed().labelled("data term"))
            .with(line(averaged(&curve(&minus_kl)), Colour::Other).labelled("−KL"));
    }
    let elbo = curve(&history.elbo);
    if smooth(&elbo).is_some() {
        panel = panel.with(line(elbo.clone(), Colour::Model).stroke(0.8).opacity(0.35));
    }
    panel = panel.with(line(averaged(&elbo), Colour::Model).stroke(2.0).labelled("ELBO"));
    Figure { stem: stem.to_owned(), picture: Chart::new(title).with(panel, 1.0).draw(), caption }
}

/// The smoothed curve, or the curve itself where it is short.
fn averaged(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    smooth(points).unwrap_or_else(|| points.to_vec())
}

/// The figure of the validation score; `None` without validation rows.
fn validation(history: &History, targets: usize) -> Option<Figure> {
    if history.validation.is_empty() {
        return None;
    }
    let mut panel = Panel::new(Axis::new("step"), Axis::new("mean log density of a validation row"))
        .with(Mark::line(history.validation.clone(), Colour::Model).stroke(1.4))
        .with(Mark::dots(history.validation.clone(), Colour::Model).stroke(4.5).opacity(1.0));
    let mut kept = String::new();
    if let Some(step) = history.kept_step {
        panel = panel.with(
            Mark::vertical_rule(step, Colour::Other)
                .stroke(1.4)
                .dashed()
                .labelled(format!("kept: step {}", fixed(step, 0))),
        );
        kept = " The parameters of the marked step were kept.".to_owned();
    }
    let likelihood = if targets > 1 { "the joint log likelihood" } else { "the log likelihood" };
    Some(Figure {
        stem: "validation".to_owned(),
        picture: Chart::new("Validation score").with(panel, 1.0).draw(),
        caption: format!(
            "The score on rows held back from training, in the units of {likelihood} of test rows. Good: it rises and stays \
             level; a fall after a peak is overfitting.{kept}"
        ),
    })
}

/// The figure of the noise of the first target, whose course alone is known; the caption has that of all.
fn noise(report: &Report) -> Option<Figure> {
    let Report { history, targets, .. } = report;
    let points: Vec<_> = history.step.iter().copied().zip(history.noise.iter().copied()).collect();
    let positive = || points.iter().map(|(_, noise)| *noise).filter(|noise| *noise > 0.0 && noise.is_finite());
    let (low, high) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
    let end = positive().next_back()?;
    let first = targets.first().map_or("", String::as_str);
    let unit = match history.noise_units.as_ref().and_then(|units| units.first()) {
        Some(unit) => unit,
        None if targets.len() > 1 => first,
        None => "the target",
    };
    let axis = Axis::new(format!("noise, in units of {unit}"));
    let axis = if high > 8.0 * low { axis.log() } else { axis };
    let panel = Panel::new(Axis::new("step"), axis).with(Mark::line(points, Colour::Model).stroke(2.0));
    Some(Figure {
        stem: "noise".to_owned(),
        picture: Chart::new(title("Standard deviation of the noise", first, targets.len())).with(panel, 1.0).draw(),
        caption: format!(
            "What the model takes for noise around the function it has learned; {}. Good: it settles, near the RMSE if the \
             noise is all that is left.",
            noise_in_words(report, end)
        ),
    })
}

/// The noise of the model in words, target by target, and of the first one at the end of training where the model is
/// that of an earlier step.
fn noise_in_words(report: &Report, end: f64) -> String {
    let Report { history, targets, .. } = report;
    let each = history.noise_units.as_ref().unwrap_or(targets).iter().zip(&history.model_noise);
    let named = each.map(|(target, noise)| match targets.len() {
        1 => significant(*noise, 3),
        _ => format!("{} of {target}", significant(*noise, 3)),
    });
    let all = named.collect::<Vec<_>>().join(", ");
    match history.kept_before_the_end() {
        _ if all.is_empty() => format!("{} at the end", significant(end, 3)),
        None => format!("{all} at the end"),
        Some(kept) => {
            let of_first =
                targets.first().filter(|_| targets.len() > 1).map_or(String::new(), |name| format!(" of {name}"));
            format!(
                "{all} at step {}, which was kept, and {}{of_first} at the last",
                fixed(kept, 0),
                significant(end, 3)
            )
        }
    }
}
