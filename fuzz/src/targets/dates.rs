//! Dates: each line of a text is a cell of one column. What is taken for a date is one of the years that dates can have.

use deepgp_io::table::{DateOrder, Kind, Missing, Schema, Source, Targets, Wanted};

use super::tables::{self, NAME};

/// Seconds from the beginning of 1970 to those of the years 0 and 10000, and a day for zones.
const YEARS: std::ops::RangeInclusive<f64> = -62_167_305_600.0..=253_402_387_200.0;

/// A column of whatever stands in the lines, beside a target; the first byte says what comes first in a date.
pub fn column(bytes: &[u8]) {
    const ORDERS: [DateOrder; 3] = [DateOrder::Auto, DateOrder::DayFirst, DateOrder::MonthFirst];
    let dates = ORDERS[usize::from(bytes.first().copied().unwrap_or(0)) % ORDERS.len()];
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(10_000)]);
    let cell = |line: &str| format!("\"{}\"", line.replace('"', "\"\""));
    let lines: String = text.lines().enumerate().map(|(i, line)| format!("{},{}\n", i % 7, cell(line))).collect();
    let table = format!("y,date\n{lines}");
    let wanted = Wanted { targets: vec!["y".into()], dates, missing: Missing::Mean, ..Wanted::default() };
    let read = || {
        let source = Source::read(NAME.as_ref(), &mut table.as_bytes())?;
        let (schema, _) = Schema::scan(&source, &wanted)?;
        let (chunk, _) = schema.encoder(&source, Targets::Needed)?.read_all()?;
        Ok((schema, chunk))
    };
    match read() {
        Ok((schema, chunk)) if matches!(schema.inputs.first().map(|input| &input.kind), Some(Kind::Date { .. })) => {
            for row in 0..chunk.x.nrows() {
                assert!(YEARS.contains(&chunk.x[(row, 0)]), "a date of {} seconds", chunk.x[(row, 0)]);
            }
        }
        Ok(_) => {}
        Err(error) => tables::check_error(&error),
    }
}
