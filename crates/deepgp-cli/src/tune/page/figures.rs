//! The figures of a search: scores over steps, and by the values of each setting.

use deepgp::search::{SearchLog, Setting};

use super::PageSubject;
use crate::html::Figure;
use crate::picture::{Axis, Chart, Colour, Mark, Panel};
use crate::terminal::text::number;
use crate::tune::space::{metric_in_words, unchanged_value, value_in_words};

/// The share of scores that an axis reaches: those of candidates that fail outright would hide the others.
const SHOWN: f64 = 0.85;

/// The scores of all candidates over the steps of their training.
pub(super) fn course(log: &SearchLog) -> Vec<Figure> {
    let Some(plan) = log.plan() else { return Vec::new() };
    let worst = worst_shown(log);
    let points = |candidate: usize| -> Vec<(f64, f64)> {
        let on = |(rung, steps): (usize, &u64)| Some((*steps as f64, log.trial(candidate, rung)?.score()?));
        let all = plan.rungs.iter().enumerate().filter_map(on);
        all.filter(|(_, score)| log.metric.loss(*score) <= worst).collect()
    };
    let best = log.leader().map_or(0, |(best, _)| best);
    let others: Vec<usize> = log.candidates().map(|own| own.number).filter(|own| *own != 0 && *own != best).collect();
    let mut panel = Panel::new(Axis::new("step").log(), Axis::new(metric_in_words(log.metric)));
    for candidate in &others {
        panel = panel.with(Mark::line(points(*candidate), Colour::Muted).stroke(1.0).opacity(0.55));
    }
    panel = panel.with(
        Mark::circles(others.iter().flat_map(|own| points(*own)), Colour::Muted)
            .opacity(0.7)
            .labelled("other candidates"),
    );
    for (candidate, colour, name) in [(0, Colour::Other, "the settings of fit"), (best, Colour::Model, "the best")] {
        if candidate > 0 || colour == Colour::Other {
            panel = panel
                .with(Mark::line(points(candidate), colour).stroke(2.2).labelled(name))
                .with(Mark::circles(points(candidate), colour).stroke(2.0));
        }
    }
    let better = if log.metric.more_is_better() { "More" } else { "Less" };
    vec![Figure {
        stem: "course".into(),
        picture: Chart::new(format!("{} by the rows that judge", metric_in_words(log.metric))).with(panel, 1.0).draw(),
        caption: format!(
            "Each line is a candidate: it ends where the candidate was left behind. {better} is better. Scores that are far worse than most are beyond \
             the picture, and in the table."
        ),
    }]
}

/// The scores on the lowest rung by the values of each setting that was changed.
pub(super) fn settings(log: &SearchLog, subject: PageSubject<'_>) -> Vec<Figure> {
    let changed = |setting: &Setting| log.candidates().any(|own| own.change_of(*setting).is_some());
    Setting::ALL.into_iter().filter(changed).map(|setting| by_value(log, subject, setting)).collect()
}

/// The scores on the lowest rung by the values of a setting.
fn by_value(log: &SearchLog, subject: PageSubject<'_>, setting: Setting) -> Figure {
    // In the order of the space, with the value of candidate 0 where it belongs.
    let own = unchanged_value(setting, subject.base);
    let mut names: Vec<String> = subject
        .space
        .choices()
        .filter(|(of, _)| *of == setting)
        .flat_map(|(_, choices)| choices.values.iter().map(|value| value_in_words(*value)))
        .collect();
    for candidate in log.candidates() {
        let name = candidate.change_of(setting).map_or_else(|| own.clone(), value_in_words);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.iter().filter(|name| **name != own).all(|name| name.parse::<f64>().is_ok()) {
        // What follows the rows is the usual size or rate, between the smaller and the larger ones.
        let at = |name: &String| name.parse::<f64>().ok();
        let middle = names.iter().filter_map(at).sum::<f64>() / names.iter().filter_map(at).count().max(1) as f64;
        names.sort_by(|a, b| at(a).unwrap_or(0.7 * middle).total_cmp(&at(b).unwrap_or(0.7 * middle)));
    }
    let worst = worst_shown(log);
    let (mut dots, mut sums) = (Vec::new(), vec![(0.0, 0usize); names.len()]);
    for candidate in log.candidates() {
        let name = candidate.change_of(setting).map_or_else(|| own.clone(), value_in_words);
        let (Some(at), Some(score)) =
            (names.iter().position(|own| *own == name), log.trial(candidate.number, 0).and_then(|trial| trial.score()))
        else {
            continue;
        };
        if log.metric.loss(score) > worst {
            continue;
        }
        // Side by side, not on top of one another.
        let aside = 0.09 * ((sums[at].1 % 5) as f64 - 2.0);
        dots.push((at as f64 + aside, score));
        sums[at] = (sums[at].0 + score, sums[at].1 + 1);
    }
    let means: Vec<(usize, f64)> =
        (0..names.len()).filter(|at| sums[*at].1 > 0).map(|at| (at, sums[at].0 / sums[at].1 as f64)).collect();
    let bars = means.iter().map(|(at, mean)| [(*at as f64 - 0.3, *mean), (*at as f64 + 0.3, *mean)]);
    let panel = Panel::new(Axis::new("").named(names.clone()), Axis::new(metric_in_words(log.metric)))
        .with(Mark::segments(bars, Colour::Model).opacity(1.0).stroke(2.4).labelled("mean"))
        .with(Mark::circles(dots, Colour::Muted).labelled("a candidate"));
    let told: Vec<String> =
        means.iter().map(|(at, mean)| format!("{} {} ({})", names[*at], number(*mean), sums[*at].1)).collect();
    Figure {
        stem: setting.name().into(),
        picture: Chart::new(setting.name()).with(panel, 1.0).draw(),
        caption: format!("Without another setting: {own}. Means, and how many candidates: {}.", told.join(", ")),
    }
}

/// The loss beyond which scores are not shown.
fn worst_shown(log: &SearchLog) -> f64 {
    let mut losses: Vec<f64> = log.trials().filter_map(|own| own.score()).map(|score| log.metric.loss(score)).collect();
    losses.sort_by(f64::total_cmp);
    let unchanged = log.loss(0, 0).unwrap_or(f64::NEG_INFINITY);
    match losses.len() {
        0 => f64::INFINITY,
        count => losses[((count - 1) as f64 * SHOWN).round() as usize].max(unchanged),
    }
}
