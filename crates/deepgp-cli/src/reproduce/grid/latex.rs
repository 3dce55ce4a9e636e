//! The paper's Tables 3 to 6 as LaTeX.

use std::fmt::Write as _;

use super::GridLine;
use super::paper::Printed;
use super::summary::summaries;
use super::tables::{digits, seconds};
use crate::reproduce::datasets::DATASETS;
use crate::reproduce::results::number_text::mean_with_deviation;

/// All tables as LaTeX, for the package `booktabs`.
pub fn latex(lines: &[GridLine]) -> String {
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
            let of = |values, digits| mean_with_deviation(values, s.splits, digits).replace('±', "\\pm");
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
    use super::*;
    use crate::reproduce::grid::run::Model;
    use crate::reproduce::grid::tests::line;

    #[test]
    fn the_best_is_bold_and_the_papers_number_is_in_brackets() {
        let lines: Vec<GridLine> = [1.30, 1.32, 1.34]
            .into_iter()
            .zip(0..)
            .flat_map(|(ll, split)| [line(Model::Full, 1, split, ll), line(Model::Decoupled, 1, split, ll + 0.1)])
            .collect();
        let text = latex(&lines);
        assert!(text.contains("1 & full & $1.320 \\pm 0.020$ & ($1.32 \\pm 0.03$)"), "{text}");
        assert!(text.contains("1 & decoupled & $\\mathbf{1.420 \\pm 0.020}$ & ($1.34 \\pm 0.02$)"), "{text}");
        assert_eq!([text.matches("\\begin{table}").count(), text.matches("\\end{table}").count()], [1, 1]);
    }
}
