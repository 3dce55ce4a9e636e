//! The course of training: the bound and its parts, the validation score, the noise.

use super::History;
use super::figure::Figure;
use super::number::{duration, fixed, significant};
use super::statistics::{last, smooth};
use crate::picture::{Axis, Chart, Colour, Mark, Panel};

/// The figures there is data for.
pub(super) fn curves(history: &History) -> Vec<Figure> {
    let late = history.step.len() / 4;
    let whole = (!history.elbo.is_empty()).then(|| {
        let took = match (last(&history.step), last(&history.seconds)) {
            (Some(steps), Some(seconds)) => format!(" {} steps took {}.", fixed(steps, 0), duration(seconds)),
            _ => String::new(),
        };
        bound(
            history,
            0,
            "elbo",
            "Evidence lower bound",
            format!(
                "The bound that training raises, and the two parts it is the sum of. \
             Good: a steep rise, then a plateau without sudden drops.{took}"
            ),
        )
    });
    let end = (history.elbo.len() >= 16).then(|| {
        bound(
            history,
            late,
            "elbo-late",
            "The bound without its first quarter",
            String::from(
                "The same curve from where it no longer hides its detail. Good: level at the end; \
             a bound that still climbs asks for more steps.",
            ),
        )
    });
    whole.into_iter().chain(end).chain(validation(history)).chain(noise(history)).collect()
}

/// The bound from the record `first` on; with its parts where the whole run is shown.
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

fn validation(history: &History) -> Option<Figure> {
    if history.validation.is_empty() {
        return None;
    }
    let mut panel = Panel::new(Axis::new("step"), Axis::new("mean log density of a validation row"))
        .with(Mark::line(history.validation.clone(), Colour::Model).stroke(1.4))
        .with(Mark::dots(history.validation.clone(), Colour::Model).stroke(4.5).opacity(1.0));
    let mut kept = String::new();
    if let Some(best) = history.best_step {
        panel = panel.with(
            Mark::moment(best, Colour::Other).stroke(1.4).dashed().labelled(format!("kept: step {}", fixed(best, 0))),
        );
        kept = " The parameters of the marked step were kept.".to_owned();
    }
    Some(Figure {
        stem: "validation".to_owned(),
        picture: Chart::new("Validation score").with(panel, 1.0).draw(),
        caption: format!(
            "The score on rows held back from training. Good: it rises and stays level; a fall after a peak is \
             overfitting.{kept}"
        ),
    })
}

fn noise(history: &History) -> Option<Figure> {
    let points: Vec<_> = history.step.iter().copied().zip(history.noise.iter().copied()).collect();
    let positive = || points.iter().map(|(_, noise)| *noise).filter(|noise| *noise > 0.0 && noise.is_finite());
    let (low, high) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
    let end = positive().next_back()?;
    let axis = Axis::new("noise, in units of the target");
    let axis = if high > 8.0 * low { axis.log() } else { axis };
    let panel = Panel::new(Axis::new("step"), axis).with(Mark::line(points, Colour::Model).stroke(2.0));
    Some(Figure {
        stem: "noise".to_owned(),
        picture: Chart::new("Standard deviation of the noise").with(panel, 1.0).draw(),
        caption: format!(
            "What the model takes for noise around the function it has learned; {} at the end. Good: it settles, near \
             the RMSE if the noise is all that is left.",
            significant(end, 3)
        ),
    })
}
