//! Numbers and tables for people.

pub use deepgp_io::words::{count, number, percent};

/// The two scores that everybody asks for.
pub fn scores(log_likelihood: f64, rmse: f64) -> String {
    format!("log likelihood {}, RMSE {}", number(log_likelihood), number(rmse))
}

/// Rows of cells as aligned columns: the first to the left, the others to the right; a line under the first row.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|row| row.get(c)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for (i, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(c, (cell, &width))| if c == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") })
            .collect();
        out.push_str(cells.join("   ").trim_end());
        out.push('\n');
        if i == 0 {
            out.push_str(&"─".repeat(widths.iter().sum::<usize>() + 3 * columns.saturating_sub(1)));
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned() {
        let rows = [vec!["model".into(), "LL".into()], vec!["linear".into(), "-0.5".into()]];
        assert_eq!(table(&rows), "model      LL\n─────────────\nlinear   -0.5\n");
    }
}
