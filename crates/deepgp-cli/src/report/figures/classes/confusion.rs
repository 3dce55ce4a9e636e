//! The confusion matrix: which classes are taken for which.

use crate::picture::{Cell, Colour, ShadedGrid};
use crate::report::figures::Figure;
use crate::report::number::{fixed, percent};
use crate::report::{ClassReport, PlainTable};

/// The number of classes up to which the matrix is drawn.
const MOST_CLASSES: usize = 30;
/// The least shade of a cell that has a row.
const PALEST: f64 = 0.25;
/// The number of pairs in the table of the most frequent mistakes.
const MOST_PAIRS: usize = 10;

/// The figure of the confusion matrix; `None` if nothing was scored, or there are too many classes to draw.
pub(in crate::report) fn matrix(report: &ClassReport) -> Option<Figure> {
    let score = report.of_model()?;
    let (confusion, classes) = (&score.confusion, report.labels.len());
    if classes > MOST_CLASSES || confusion.len() != classes {
        return None;
    }
    let cell = |truth: usize, said: usize| {
        let (rows, all) = (confusion[truth][said], confusion[truth].iter().sum::<f64>());
        let share = if all > 0.0 { rows / all } else { 0.0 };
        Cell {
            colour: if truth == said { Colour::Model } else { Colour::Other },
            // A square root and a least shade, so that few mistakes are seen.
            shade: if rows > 0.0 { share.sqrt().max(PALEST) } else { 0.0 },
            text: if rows > 0.0 { fixed(rows, 0) } else { String::new() },
            hint: if rows > 0.0 {
                let (truth, said) = (report.label(truth), report.label(said));
                format!("true {truth}, said {said}: {} of {} rows ({})", fixed(rows, 0), fixed(all, 0), percent(share))
            } else {
                String::new()
            },
        }
    };
    let grid = ShadedGrid {
        title: "Confusion matrix".to_owned(),
        remark: "true class (down), class that the model says (across)".to_owned(),
        columns: report.labels.clone(),
        rows: report.labels.clone(),
        cells: (0..classes).map(|truth| (0..classes).map(|said| cell(truth, said)).collect()).collect(),
    };
    Some(Figure {
        stem: "confusion".to_owned(),
        picture: grid.draw(),
        caption: format!(
            "Rows of each class by the class that is most probable to the model; the deeper a colour, the larger the share of \
             the true class. Good: the diagonal (blue) holds nearly all, and what lies beside it (orange) is pale; here it \
             holds {}. A column that is deep beside the diagonal is a class that is said too often.",
            percent(score.accuracy)
        ),
    })
}

/// The table of the most frequent mistakes; `None` if there are two classes, which the matrix says it all of, or no mistakes.
pub(in crate::report) fn frequent(report: &ClassReport) -> Option<PlainTable> {
    let confusion = &report.of_model()?.confusion;
    let classes = confusion.len();
    let mut pairs: Vec<(usize, usize)> =
        (0..classes).flat_map(|truth| (0..classes).map(move |said| (truth, said))).collect();
    pairs.retain(|&(truth, said)| truth != said && confusion[truth][said] > 0.0);
    if classes < 3 || pairs.is_empty() {
        return None;
    }
    // Of equally many rows, in the order of the classes.
    pairs.sort_by(|a, b| confusion[b.0][b.1].total_cmp(&confusion[a.0][a.1]));
    let mistakes: f64 = pairs.iter().map(|&(truth, said)| confusion[truth][said]).sum();
    let mut cells = vec![["true class", "said", "rows", "of the class", "of all mistakes"].map(String::from).to_vec()];
    for &(truth, said) in pairs.iter().take(MOST_PAIRS) {
        let rows = confusion[truth][said];
        cells.push(vec![
            report.label(truth).to_owned(),
            report.label(said).to_owned(),
            fixed(rows, 0),
            percent(rows / confusion[truth].iter().sum::<f64>()),
            percent(rows / mistakes),
        ]);
    }
    let shown = cells.len() - 1;
    let more = if pairs.len() > shown { format!(", of {} kinds that there are", pairs.len()) } else { String::new() };
    Some(PlainTable {
        title: "The most frequent mistakes".to_owned(),
        cells,
        caption: format!("Pairs of a true class and the class that was said in its place{more}."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example::{several_classes, two_classes};

    #[test]
    fn the_matrix_has_every_row_once_and_names_who_is_taken_for_whom() {
        let report = several_classes().classes.unwrap();
        let rows = report.rows.as_ref().unwrap();
        let picture = matrix(&report).expect("a matrix").picture.inline();
        let among = |truth: usize, said: usize| {
            (0..rows.len()).filter(|&row| rows.truth[row] == truth && rows.said(row) == said).count()
        };
        let of_zero: usize = (0..report.labels.len()).map(|said| among(0, said)).sum();
        let told = format!("true {0}, said {0}: {1} of {of_zero} rows", report.labels[0], among(0, 0));
        assert!(picture.contains(&told), "{told}: {picture}");
        let table = frequent(&report).expect("mistakes");
        let first = &table.cells[1];
        let class = |label: &String| report.labels.iter().position(|own| own == label).unwrap();
        assert_eq!(first[2], among(class(&first[0]), class(&first[1])).to_string());
        let classes = report.labels.len();
        let wrong = (0..classes * classes).filter(|pair| pair / classes != pair % classes);
        let most = wrong.map(|pair| among(pair / classes, pair % classes)).max();
        assert_eq!(first[2].parse().ok(), most);
        let number = |row: &Vec<String>| row[2].parse::<usize>().unwrap();
        assert!(table.cells[1..].windows(2).all(|pair| number(&pair[0]) >= number(&pair[1])), "{:?}", table.cells);
    }

    #[test]
    fn two_classes_need_no_table_of_pairs_and_many_classes_no_matrix() {
        let mut report = two_classes().classes.unwrap();
        assert!(matrix(&report).is_some() && frequent(&report).is_none());
        report.labels = (0..MOST_CLASSES + 1).map(|class| class.to_string()).collect();
        report.scores[0].score.confusion = vec![vec![1.0; MOST_CLASSES + 1]; MOST_CLASSES + 1];
        assert!(matrix(&report).is_none());
        let table = frequent(&report).expect("mistakes");
        assert_eq!(table.cells.len(), MOST_PAIRS + 1);
        assert!(table.caption.contains("of 930 kinds"), "{}", table.caption);
        report.scores.clear();
        assert!(matrix(&report).is_none() && frequent(&report).is_none());
    }
}
