//! The paper's Tables 3 to 6 from the results of runs, the paper's number beside each of ours: as Markdown and for LaTeX.

use std::fmt::Write as _;

use super::Line;
use super::baselines::BaselineLine;
use super::cell::DATASETS;
use super::paper::Printed;
use super::summary::{Simple, Summary, simple, summaries};

/// Digits after the point that a dataset's RMSE is told with.
fn digits(dataset: &str) -> usize {
    if dataset == "kin8nm" { 4 } else { 3 }
}

/// A mean and its deviation.
fn pair(pair: (f64, f64), digits: usize) -> String {
    format!("{:.digits$} ± {:.digits$}", pair.0, pair.1)
}

/// Seconds, and how many runs shared the device meanwhile.
fn seconds(summary: &Summary) -> String {
    let Summary { seconds, sharing, .. } = summary;
    if *sharing > 1 { format!("{seconds:.1} ×{sharing}") } else { format!("{seconds:.1}") }
}

/// All tables as Markdown, simpler models below each.
pub fn markdown(lines: &[Line], baselines: &[BaselineLine]) -> String {
    let mut text = String::from(
        "# The paper's tables, run again\n\nMeans and standard deviations over splits, medians of seconds; in bold the best of \
         its depth. The paper's seconds are those of a Tesla K80. Seconds are of runs that had the device to themselves; where \
         there are none, ×4 says that four runs shared it.\n",
    );
    for dataset in DATASETS {
        let (all, simpler) = (summaries(lines, dataset), simple(baselines, dataset));
        if all.is_empty() && simpler.is_empty() {
            continue;
        }
        let _ = write!(
            text,
            "\n## {dataset}\n\n| hidden | model | splits | log likelihood | paper | RMSE | paper | seconds | paper |\n\
             |---:|---|---:|---:|---:|---:|---:|---:|---:|\n"
        );
        for s in all {
            let bold = |best: bool, cell: String| if best { format!("**{cell}**") } else { cell };
            let paper = |cell: fn(Printed) -> String| s.printed.map_or_else(|| "–".into(), cell);
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                s.hidden,
                s.model.name(),
                s.splits,
                bold(s.best[0], pair(s.log_likelihood, 3)),
                paper(|p| format!("{:.2} ± {:.2}", p.log_likelihood.0, p.log_likelihood.1)),
                bold(s.best[1], pair(s.rmse, digits(dataset))),
                paper(|p| format!("{:.2} ± {:.2}", p.rmse.0, p.rmse.1)),
                bold(s.best[2], seconds(&s)),
                paper(|p| format!("{:.0}", p.seconds)),
            );
        }
        for Simple { model, splits, log_likelihood, rmse } in simpler {
            let (ll, error) = (pair(log_likelihood, 3), pair(rmse, digits(dataset)));
            let _ = writeln!(text, "| | {model} | {splits} | {ll} | – | {error} | – | – | – |");
        }
    }
    text
}

/// All tables for LaTeX, with the package `booktabs`.
pub fn latex(lines: &[Line]) -> String {
    let mut text = String::from(
        "% Needs \\usepackage{booktabs}. In bold the best of its depth; in brackets what the paper prints.\n",
    );
    for dataset in DATASETS {
        let all = summaries(lines, dataset);
        if all.is_empty() {
            continue;
        }
        let _ = write!(
            text,
            "\n\\begin{{table}}\n\\centering\n\\caption{{{dataset}}}\n\\begin{{tabular}}{{llrlrlrl}}\n\\toprule\n\
             $L$ & Model & \\multicolumn{{2}}{{c}}{{Mean LL}} & \\multicolumn{{2}}{{c}}{{RMSE}} & \
             \\multicolumn{{2}}{{c}}{{Seconds}} \\\\\n\\midrule\n"
        );
        for s in all {
            let bold =
                |best: bool, cell: String| if best { format!("$\\mathbf{{{cell}}}$") } else { format!("${cell}$") };
            let of = |pair: (f64, f64), digits: usize| format!("{:.digits$} \\pm {:.digits$}", pair.0, pair.1);
            let paper =
                |cell: fn(Printed) -> String| s.printed.map_or_else(String::new, |p| format!("(${}$)", cell(p)));
            let _ = writeln!(
                text,
                "{} & {} & {} & {} & {} & {} & {} & {} \\\\",
                s.hidden,
                s.model.name(),
                bold(s.best[0], of(s.log_likelihood, 3)),
                paper(|p| format!("{:.2} \\pm {:.2}", p.log_likelihood.0, p.log_likelihood.1)),
                bold(s.best[1], of(s.rmse, digits(dataset))),
                paper(|p| format!("{:.2} \\pm {:.2}", p.rmse.0, p.rmse.1)),
                bold(s.best[2], seconds(&s).replace('×', "\\times ")),
                paper(|p| format!("{:.0}", p.seconds)),
            );
        }
        text.push_str("\\bottomrule\n\\end{tabular}\n\\end{table}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::cell::Model;
    use super::super::tests::line;
    use super::*;

    #[test]
    fn tables_have_means_deviations_medians_and_the_papers_numbers() {
        let mut lines = Vec::new();
        for (split, ll) in [1.30, 1.32, 1.34].into_iter().enumerate() {
            lines.push(line(Model::Full, 1, split as u64, ll));
            lines.push(line(Model::Decoupled, 1, split as u64, ll + 0.1));
        }
        let simple = |split, ll| BaselineLine {
            dataset: "kin8nm".into(),
            model: "linear regression".into(),
            split,
            test_log_likelihood: ll,
            test_rmse: 0.2,
        };
        let text = markdown(&lines, &[simple(0, 0.1), simple(1, 0.3)]);
        assert!(text.contains("| | linear regression | 2 | 0.200 ± 0.141 | – | 0.2000 ± 0.0000 |"), "{text}");
        let full = "| 1 | full | 3 | 1.320 ± 0.020 | 1.32 ± 0.03 | 0.0736 ± 0.0004 | 0.07 ± 0.00 | **11.0** | 481 |";
        let decoupled = "| 1 | decoupled | 3 | **1.420 ± 0.020** | 1.34 ± 0.02 | **0.0716 ± 0.0004** | 0.07 ± 0.00 | **11.0** | 433 |";
        assert!(text.contains(full) && text.contains(decoupled), "{text}");
        assert!(!text.contains("protein"));
        let text = latex(&lines);
        assert!(text.contains("1 & decoupled & $\\mathbf{1.420 \\pm 0.020}$ & ($1.34 \\pm 0.02$)"), "{text}");
        assert_eq!(text.matches("\\begin{table}").count(), text.matches("\\end{table}").count());
    }

    #[test]
    fn a_single_model_is_not_the_best_of_anything() {
        let text = markdown(&[line(Model::DecoupledWhitened, 2, 0, 1.4)], &[]);
        assert!(text.contains("| 2 | decoupled-whitened | 1 | 1.400 ± 0.000 | – |") && !text.contains("**"), "{text}");
    }
}
