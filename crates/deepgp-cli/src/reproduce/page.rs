//! `index.html`: all tables and figures of the experiments on one page.

use super::folder::Lines;
use super::grid::{Verdict, verdicts};
use super::results::section::ResultSection;
use crate::html::{Document, KeyNumber, strip};
use crate::terminal::text::count;

/// The page as HTML: a summary, key numbers, and the sections of all experiments.
pub fn page(lines: Lines<'_>, sections: &[ResultSection]) -> String {
    let document = Document {
        title: "Deep Gaussian processes with decoupled inducing inputs: the paper's experiments, run again".into(),
        made: vec![format!("deepgp {}", env!("CARGO_PKG_VERSION"))],
        summary: summary(lines),
        key: strip("", &keys(lines)),
        notes: Vec::new(),
        sections: sections.iter().map(ResultSection::as_html).collect(),
    };
    document.html()
}

/// The sentence below the title: how many runs there are, on which devices, by which versions.
fn summary(lines: Lines<'_>) -> String {
    let grid = lines.results.iter().map(|line| (&line.provenance.device, &line.provenance.version));
    let forms = lines.forms.iter().map(|line| (&line.provenance.device, &line.provenance.version));
    let inducing = lines.inducing.iter().map(|line| (&line.provenance.device, &line.provenance.version));
    let defaults = lines.defaults.iter().map(|line| (&line.provenance.device, &line.provenance.version));
    let continued = lines.continued.iter().map(|line| (&line.provenance.device, &line.provenance.version));
    let (mut devices, mut versions): (Vec<&str>, Vec<&str>) = grid
        .chain(forms)
        .chain(inducing)
        .chain(defaults)
        .chain(continued)
        .map(|(device, version)| (device.as_str(), version.as_str()))
        .unzip();
    let runs = devices.len();
    for names in [&mut devices, &mut versions] {
        names.sort_unstable();
        names.dedup();
    }
    if runs == 0 {
        return "No run has been made yet.".into();
    }
    let made = format!("{} on {}, with deepgp {}", count(runs, "run"), devices.join(" and "), versions.join(" and "));
    format!("{made}. The tables are in tables.md and tables.tex too, and every figure is beside this page as SVG.")
}

/// The key numbers: cells that reach the paper's, and runs of each experiment.
fn keys(lines: Lines<'_>) -> Vec<KeyNumber> {
    let verdicts = verdicts(lines.results);
    let reached = |label: &str, reached: fn(&Verdict) -> bool| {
        (!verdicts.is_empty()).then(|| KeyNumber {
            label: label.into(),
            value: format!("{} of {}", verdicts.iter().filter(|v| reached(v)).count(), verdicts.len()),
            remark: "cells reach the paper's, to its digits".into(),
        })
    };
    let runs = |label: &str, count: usize, remark: &str| {
        (count > 0).then(|| KeyNumber { label: label.into(), value: count.to_string(), remark: remark.into() })
    };
    let all = [
        reached("Log likelihood", Verdict::reaches_log_likelihood),
        reached("RMSE", Verdict::reaches_rmse),
        runs("Runs of the tables", lines.results.len(), "each a dataset, model, depth and split"),
        runs("Runs of the forms", lines.forms.len(), "each a form of mean and covariance, rate and depth"),
        runs("Runs of inducing inputs", lines.inducing.len(), "each a dataset, start and split, moved or not"),
        runs("Runs of defaults", lines.defaults.len(), "each a dataset, settings and split"),
        runs("Runs of the paper, continued", lines.continued.len(), "each a dataset, depth, model, density and split"),
    ];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::laws::assert_sound;
    use crate::reproduce::continued::PeerLine;
    use crate::reproduce::folder::sections;
    use crate::reproduce::grid::tests::line;
    use crate::reproduce::grid::{BaselineLine, GridLine, Model};
    use crate::reproduce::runs::provenance::Provenance;
    use crate::reproduce::runs::provenance::tests::provenance;
    use crate::reproduce::{Candidate, Density, continued, defaults, forms, inducing};
    use deepgp::{CovarianceForm, InducingStart, MeanForm};

    const NONE: Lines<'_> =
        Lines { results: &[], baselines: &[], forms: &[], inducing: &[], defaults: &[], continued: &[], peers: &[] };

    #[test]
    fn all_tables_and_figures_are_on_a_sound_page() {
        let hostile = "<b>\"GPU\" & 'co'</b>";
        let results = [
            GridLine {
                provenance: Provenance { device: hostile.into(), ..provenance(1.0, 1) },
                ..line(Model::Full, 1, 0, 1.4)
            },
            line(Model::Decoupled, 1, 0, 1.2),
            GridLine { dataset: "molecules".into(), ..line(Model::Full, 1, 0, -1.2) },
        ];
        let baselines = [BaselineLine {
            dataset: "kin8nm".into(),
            model: "gradient-boosted trees".into(),
            split: 0,
            test_log_likelihood: 0.5,
            test_rmse: 0.1,
        }];
        let mut stuck = forms::tests::line(MeanForm::Dual, CovarianceForm::Dual, 0.01, 0.5);
        stuck.stuck = Some(hostile.into());
        let forms = [stuck, forms::tests::line(MeanForm::Whitened, CovarianceForm::Whitened, 0.001, 1.3)];
        let inducing = [inducing::tests::line(InducingStart::KMeans, true, 0, 1.3)];
        let defaults = [defaults::tests::line("energy", Candidate::Nested, 0, 0.3)];
        let continued = [Model::Full, Model::NestedDiagonal]
            .map(|model| continued::tests::line(model, Density::InputDependent, 1, 0, 1.3));
        let peers = [PeerLine { model: hostile.into(), ..continued::peers::tests::line("", 0, 0.5) }];
        let lines = Lines {
            results: &results,
            baselines: &baselines,
            forms: &forms,
            inducing: &inducing,
            defaults: &defaults,
            continued: &continued,
            peers: &peers,
        };
        let sections = sections(lines);
        let page = page(lines, &sections);
        assert_sound("all", &page);
        for text in [
            "9 runs on &lt;b&gt;",
            "<dd class=\"value\">1 of 2</dd>",
            "gradient-boosted trees",
            "<td class=\"aside\">1.32 ± 0.03</td>",
            "id=\"molecules\"",
            "Runs that could not go on",
            "started by k-means",
        ] {
            assert!(page.contains(text), "{text}");
        }
        for figure in sections.iter().flat_map(|section| &section.figures) {
            assert!(page.contains(&format!("<figure id=\"figure-{}\">", figure.stem)), "{}", figure.stem);
        }
        assert_eq!(page.matches("<figure").count(), 2 + 1 + 4 + 2 + 2);
        for table in sections.iter().flat_map(|section| &section.tables) {
            assert!(page.contains(&table.html()), "{}", table.caption);
        }
    }

    #[test]
    fn without_results_there_is_a_page_that_says_so() {
        let page = page(NONE, &sections(NONE));
        assert_sound("nothing", &page);
        assert!(
            page.contains("No run has been made yet.") && !page.contains("<section") && !page.contains("class=\"key\"")
        );
    }
}
