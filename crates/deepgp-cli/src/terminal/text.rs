//! Text for people: numbers, counts, durations, and tables with aligned columns.

pub use deepgp_io::words::{count, number, percent};

/// Log likelihood and RMSE, as runs are summed up on the terminal.
pub fn scores(log_likelihood: f64, rmse: f64) -> String {
    format!("log likelihood {}, RMSE {}", number(log_likelihood), number(rmse))
}

/// A duration: `4.4 s`, `3 min 20 s`, `2 h 5 min`.
pub fn duration(seconds: f64) -> String {
    if seconds < 9.95 {
        return format!("{:.1} s", seconds.max(0.0));
    }
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// A table of aligned columns: the first to the left, the others to the right, with a line under the first row.
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

    #[test]
    fn times_read_well() {
        assert_eq!((duration(0.04), duration(4.44), duration(44.4)), ("0.0 s".into(), "4.4 s".into(), "44 s".into()));
        assert_eq!(duration(200.0), "3 min 20 s");
        assert_eq!(duration(7500.0), "2 h 5 min");
    }
}
