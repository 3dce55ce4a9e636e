//! Learning curves of the forms: for each depth the ELBO and the test log likelihood, against steps and against
//! seconds.
//!
//! A panel for each form of the mean, a colour for each of the covariance, a dash for the smaller learning rate. All
//! panels of a picture share one [`axis_range`]: what leaves it goes out at the lower edge.

use super::{COVARIANCES, FormsLine, MEANS, RATES, covariance_name, mean_name};
use crate::html::Figure;
use crate::picture::{Axis, Chart, Colour, Mark, Panel};
use crate::reproduce::results::axis_range::{Curve, axis_range};
use crate::reproduce::results::number_text::layers;
use crate::reproduce::runs::training_run::{CURVE_SAMPLES, CurvePoint};
use crate::terminal::text::count;
use deepgp::{CovarianceForm, MeanForm};

/// The quantity that a learning curve shows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Quantity {
    Elbo,
    Likelihood,
}

/// The horizontal axis of a learning curve.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TimeAxis {
    Steps,
    Seconds,
}

impl Quantity {
    fn stem(self) -> &'static str {
        match self {
            Self::Elbo => "elbo",
            Self::Likelihood => "log-likelihood",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Elbo => "ELBO per row",
            Self::Likelihood => "Test log likelihood",
        }
    }

    fn of(self, line: &FormsLine, point: &CurvePoint) -> f64 {
        match self {
            Self::Elbo => point.elbo / line.rows as f64,
            Self::Likelihood => point.test_log_likelihood.unwrap_or(f64::NAN),
        }
    }
}

impl TimeAxis {
    fn name(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Seconds => "seconds",
        }
    }

    fn of(self, point: &CurvePoint) -> f64 {
        match self {
            Self::Steps => point.step as f64,
            Self::Seconds => point.seconds,
        }
    }

    fn end(self, line: &FormsLine) -> f64 {
        match self {
            Self::Steps => line.provenance.steps as f64,
            Self::Seconds => line.provenance.seconds,
        }
    }
}

/// The colour of a form of the covariance.
fn colour(form: CovarianceForm) -> Colour {
    match form {
        CovarianceForm::Dual => Colour::Ink,
        CovarianceForm::Standard => Colour::Other,
        CovarianceForm::Whitened => Colour::Model,
        CovarianceForm::Diagonal => Colour::Muted,
    }
}

/// The four figures of one dataset and depth, whose file names begin with `stem`; none without learning curves.
pub fn figures(stem: &str, hidden: usize, lines: &[&FormsLine]) -> Vec<Figure> {
    let mut all = Vec::new();
    for quantity in [Quantity::Elbo, Quantity::Likelihood] {
        let curve = |line: &&FormsLine| Curve {
            points: line.curve.iter().map(|point| (point.step as f64, quantity.of(line, point))).collect(),
            finished: line.stuck.is_none(),
        };
        let Some(range) = axis_range(&lines.iter().map(curve).collect::<Vec<_>>()) else { continue };
        for time in [TimeAxis::Steps, TimeAxis::Seconds] {
            let view = CurveChart { quantity, time, range };
            all.push(Figure {
                stem: format!("{stem}-{}-{}", quantity.stem(), time.name()),
                picture: view.chart(hidden, lines).draw(),
                caption: view.caption(lines),
            });
        }
    }
    all
}

/// A figure of learning curves: which quantity, against what, in which range.
struct CurveChart {
    quantity: Quantity,
    time: TimeAxis,
    range: (f64, f64),
}

impl CurveChart {
    /// The chart with a panel for each form of the mean.
    fn chart(&self, hidden: usize, lines: &[&FormsLine]) -> Chart {
        let until = lines.iter().map(|line| self.time.end(line)).fold(0.0, f64::max);
        let title = format!("{} by {}, {}", self.quantity.title(), self.time.name(), layers(hidden));
        let mut chart = Chart::new(title);
        for (i, mean) in MEANS.into_iter().enumerate() {
            let own: Vec<&FormsLine> = lines.iter().copied().filter(|line| line.mean_form == mean).collect();
            // Panels above others leave the axis's name to them.
            let name = if i < 2 { "" } else { self.time.name() };
            chart = if i == 2 { chart.below() } else { chart }.with(self.panel(mean, name, until, &own), 1.0);
        }
        for (i, form) in COVARIANCES.into_iter().enumerate() {
            let name = covariance_name(form);
            let name = if i == 0 { format!("covariance: {name}") } else { name.into() };
            chart = chart.key(Mark::line([], colour(form)).labelled(name));
        }
        chart = chart.key(Mark::line([], Colour::Muted).labelled(format!("rate {}", RATES[0])));
        chart = chart.key(Mark::line([], Colour::Muted).dashed().labelled(format!("rate {}", RATES[1])));
        if lines.iter().any(|line| line.stuck.is_some()) {
            chart = chart.key(Mark::crosses([], Colour::Muted).stroke(2.2).labelled("stuck"));
        }
        if lines.iter().any(|line| self.ends_below(line)) {
            chart = chart.key(Mark::drops([], Colour::Muted).labelled("ends below"));
        }
        chart
    }

    /// The panel with the curves of one form of the mean.
    fn panel(&self, mean: MeanForm, name: &str, until: f64, lines: &[&FormsLine]) -> Panel {
        let (low, high) = self.range;
        let mut panel = Panel::new(
            Axis::new(name).between(0.0, 1.02 * until),
            Axis::new(format!("{} mean", mean_name(mean))).between(low, high),
        );
        let rows = |line: &FormsLine| line.rows as f64;
        if self.quantity == Quantity::Elbo {
            for line in lines {
                let fall = |p: &CurvePoint| (self.time.of(p), p.lowest_elbo / rows(line), p.elbo / rows(line));
                panel = panel.with(Mark::band(line.curve.iter().map(fall), colour(line.covariance_form)).opacity(0.1));
            }
        }
        for line in lines {
            let points = line.curve.iter().map(|point| (self.time.of(point), self.quantity.of(line, point)));
            let mark = Mark::line(points, colour(line.covariance_form)).stroke(1.3);
            panel = panel.with(if line.learning_rate == RATES[0] { mark } else { mark.dashed() });
        }
        for line in lines.iter().filter(|line| line.stuck.is_some()) {
            let end = (self.time.end(line), self.last(line).unwrap_or(low).clamp(low, high));
            panel = panel.with(Mark::crosses([end], colour(line.covariance_form)).stroke(2.2));
        }
        // Ends at about the same place are piled up.
        let mut ends: Vec<f64> = Vec::new();
        for line in lines.iter().filter(|line| self.ends_below(line)) {
            let end = self.time.end(line);
            let under = ends.iter().filter(|other| (*other - end).abs() < 0.06 * until).count();
            let place = (end, low + 0.06 * under as f64 * (high - low));
            panel = panel.with(Mark::drops([place], colour(line.covariance_form)));
            ends.push(end);
        }
        panel
    }

    /// The last value of a run's curve.
    fn last(&self, line: &FormsLine) -> Option<f64> {
        line.curve.iter().rev().map(|point| self.quantity.of(line, point)).find(|value| value.is_finite())
    }

    /// Whether a run that was not stuck ends below the panel.
    fn ends_below(&self, line: &FormsLine) -> bool {
        line.stuck.is_none() && self.last(line).is_none_or(|value| value < self.range.0)
    }

    /// The caption; that of the first figure explains all four.
    fn caption(&self, lines: &[&FormsLine]) -> String {
        let stuck = lines.iter().filter(|line| line.stuck.is_some()).count();
        let below = lines.iter().filter(|line| self.ends_below(line)).count();
        let stuck = match stuck {
            0 => "No run got stuck".into(),
            some => format!("Of {} {some} got stuck (a cross where)", count(lines.len(), "run")),
        };
        let counts = if below > 0 { format!("{stuck}, {below} more end below (a triangle).") } else { stuck + "." };
        let sharing = lines.iter().map(|line| line.provenance.sharing).max().unwrap_or(1);
        let shared =
            if sharing > 1 { format!(", while up to {sharing} runs shared the device") } else { String::new() };
        match (self.quantity, self.time) {
            (_, TimeAxis::Seconds) => format!("The same against seconds of training{shared}."),
            (Quantity::Elbo, TimeAxis::Steps) => format!(
                "Per training row; a panel for each form of the mean. Good: a curve that rises early, stays up and does not jump. The range is \
                 that of the better runs after a tenth of the steps; what is worse leaves at the lower edge. A faint area \
                 reaches down to the lowest ELBO since the point before: a spike between points. {counts}"
            ),
            (Quantity::Likelihood, TimeAxis::Steps) => {
                format!(
                    "The same runs on the test rows, in the units of the target, by {CURVE_SAMPLES} samples. {counts}"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::parse;
    use crate::reproduce::forms::tests::line;

    fn lines() -> Vec<FormsLine> {
        let all = MEANS.into_iter().flat_map(|mean| COVARIANCES.map(|covariance| (mean, covariance)));
        all.flat_map(|(mean, covariance)| RATES.map(|rate| line(mean, covariance, rate, 1.0 + rate))).collect()
    }

    fn drawn(lines: &[FormsLine]) -> Vec<(String, String)> {
        let all = figures("forms-1", 1, &lines.iter().collect::<Vec<_>>());
        all.into_iter().map(|figure| (figure.stem, figure.picture.standalone())).collect()
    }

    #[test]
    fn a_depth_has_four_figures_with_a_panel_for_each_mean() {
        assert!(drawn(&[]).is_empty());
        let all = drawn(&lines());
        let stems: Vec<&str> = all.iter().map(|(stem, _)| stem.as_str()).collect();
        assert_eq!(
            stems,
            [
                "forms-1-elbo-steps",
                "forms-1-elbo-seconds",
                "forms-1-log-likelihood-steps",
                "forms-1-log-likelihood-seconds"
            ]
        );
        for (stem, svg) in all {
            parse(&svg).unwrap_or_else(|error| panic!("{stem}: {error}"));
            assert!(MEANS.iter().all(|mean| svg.contains(&format!(">{} mean<", mean_name(*mean)))), "{stem}");
            assert!(!svg.contains('…'), "{stem}: nothing is cut");
            // Twelve curves of the smaller rate and the legend's.
            assert_eq!(svg.matches("stroke-dasharray").count(), 13, "{stem}");
            assert!(!svg.contains("stuck") && !svg.contains("ends below"), "{stem}");
        }
    }

    #[test]
    fn runs_that_fail_are_marked_and_leave_the_range_to_the_others() {
        let ticks = |lines: &[FormsLine]| {
            let svg = &drawn(lines)[0].1;
            svg.split("text-anchor=\"end\">")
                .skip(1)
                .map(|t| t.split('<').next().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let mut all = lines();
        let before = ticks(&all);
        all[0].stuck = Some("no".into());
        all[0].curve.iter_mut().for_each(|point| point.elbo = -1e12);
        all[3].curve.iter_mut().for_each(|point| point.elbo = -1e12);
        assert_eq!(ticks(&all), before);
        let svg = &drawn(&all)[0].1;
        assert!(svg.contains("stuck") && svg.contains("ends below"));
        let caption = &figures("f", 1, &all.iter().collect::<Vec<_>>())[0].caption;
        assert!(caption.contains("Of 24 runs 1 got stuck") && caption.contains("1 more end below"), "{caption}");
    }

    #[test]
    fn a_spike_between_points_is_seen() {
        let mut all = lines();
        let whole = drawn(&all)[0].1.clone();
        all[5].curve[15].lowest_elbo -= 1e5;
        let spiked = drawn(&all);
        assert_ne!(spiked[0].1, whole);
        assert_eq!(spiked[2].1, drawn(&lines())[2].1, "the test log likelihood knows nothing of it");
    }
}
