//! Learning curves: the objective and its parts, the validation score, the noise.

use super::{Figure, title};
use crate::picture::{Axis, Chart, Colour, Mark, Panel};
use crate::report::choices::degrees;
use crate::report::number::{duration, fixed, significant};
use crate::report::statistics::{last, smooth};
use crate::report::vocabulary::{NoiseWords, ObjectiveWords, ScoreWords};
use crate::report::{History, Report};

/// The figures of all learning curves that there is data for.
pub(in crate::report) fn curves(report: &Report) -> Vec<Figure> {
    let (history, words) = (&report.history, ObjectiveWords::of(report.choices.objective));
    let noun = words.noun;
    let whole = (!history.objective.is_empty()).then(|| {
        let took = match (last(&history.step), last(&history.seconds)) {
            (Some(steps), Some(seconds)) => format!(" {} steps took {}.", fixed(steps, 0), duration(seconds)),
            _ => String::new(),
        };
        let weighed = report.choices.kl_weight.map_or(String::new(), |weight| {
            format!(" The KL is drawn whole, though training counted it {} times.", significant(weight, 2))
        });
        let caption = format!(
            "The {noun} that training raises, and the two parts it is the sum of. Good: a steep rise, then a plateau \
             without sudden drops.{weighed}{took}"
        );
        objective(history, words, 0, "objective", words.title, caption)
    });
    let end = (history.objective.len() >= 16).then(|| {
        let good = match history.kept_before_the_end() {
            Some(kept) => format!(
                "The model is that of step {}, the best by the validation rows: what the {noun} gained after it was \
                 gained on the training rows alone.",
                fixed(kept, 0)
            ),
            None => format!("Good: level at the end; if the {noun} still climbs, it asks for more steps."),
        };
        let caption = format!("The same curve from where it no longer hides its detail. {good}");
        let title = format!("The {noun} without its first quarter");
        objective(history, words, history.step.len() / 4, "objective-late", &title, caption)
    });
    let score = validation(report);
    whole.into_iter().chain(end).chain(score).chain(noise(report)).collect()
}

/// The figure of the objective from the record `first` on; with its parts where the whole run is shown.
fn objective(
    history: &History,
    words: ObjectiveWords,
    first: usize,
    stem: &str,
    title: &str,
    caption: String,
) -> Figure {
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
    let whole = curve(&history.objective);
    if smooth(&whole).is_some() {
        panel = panel.with(line(whole.clone(), Colour::Model).stroke(0.8).opacity(0.35));
    }
    panel = panel.with(line(averaged(&whole), Colour::Model).stroke(2.0).labelled(words.label));
    Figure { stem: stem.to_owned(), picture: Chart::new(title).with(panel, 1.0).draw(), caption }
}

/// The smoothed curve, or the curve itself where it is short.
fn averaged(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    smooth(points).unwrap_or_else(|| points.to_vec())
}

/// The figure of the validation score; `None` without validation rows.
fn validation(report: &Report) -> Option<Figure> {
    let history = &report.history;
    if history.validation.is_empty() {
        return None;
    }
    let ScoreWords { axis, meaning, good, .. } = ScoreWords::of(report);
    let mut panel = Panel::new(Axis::new("step"), Axis::new(axis))
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
    Some(Figure {
        stem: "validation".to_owned(),
        picture: Chart::new("Validation score").with(panel, 1.0).draw(),
        caption: format!("{meaning} {good}{kept}"),
    })
}

/// The figure of the noise of the first target, whose course alone is known; the caption has that of all. `None` where no one number says
/// what the noise is.
fn noise(report: &Report) -> Option<Figure> {
    let words = NoiseWords::of(report.choices.likelihood)?;
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
    let axis = Axis::new(format!("{}, in units of {unit}", words.axis));
    let axis = if high > 8.0 * low { axis.log() } else { axis };
    let panel = Panel::new(Axis::new("step"), axis).with(Mark::line(points, Colour::Model).stroke(2.0));
    Some(Figure {
        stem: "noise".to_owned(),
        picture: Chart::new(title(words.title, first, targets.len())).with(panel, 1.0).draw(),
        caption: format!(
            "What the model takes for noise around the function it has learned; {}.{} Good: it settles, near the RMSE if the \
             noise is all that is left.",
            noise_in_words(report, end),
            tails(report)
        ),
    })
}

/// The tails of Student's t in words, with a space before them; empty for other noise.
fn tails(report: &Report) -> String {
    let Report { history, choices, targets, .. } = report;
    let deviation = |(scale, degrees): (&f64, &f64)| significant(scale * (degrees / (degrees - 2.0)).sqrt(), 3);
    let deviations: Vec<String> = history.model_noise.iter().zip(&choices.degrees).map(deviation).collect();
    if deviations.is_empty() {
        return String::new();
    }
    let several = if deviations.len() > 1 { "deviations are" } else { "deviation is" };
    format!("{} With its tails, its standard {several} {}.", degrees(&choices.degrees, targets), deviations.join(", "))
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
