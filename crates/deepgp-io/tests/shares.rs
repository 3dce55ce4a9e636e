//! Proves that a table of which several processes, here threads, read a share each is the table that one reads: the same columns, notes, rows, messages
//! and digest, wherever it is cut; and that no process reads what another one reads.

mod common;
#[path = "../../deepgp/tests/common/processes.rs"]
mod processes;

use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::Arc;

use common::{Values, gzip, parquet};
use deepgp::backend::Communicator;
use deepgp_io::table::{Cell, Missing, ReadOptions, Schema, Source, Targets, Task, Wanted, random_split_notes};
use deepgp_io::{Error, Note};
use parquet::basic::Compression;
use processes::processes;
use proptest::prelude::*;

/// What a process knows of a table, and the rows that it has read.
#[derive(Debug, PartialEq)]
struct Read {
    schema: Schema,
    /// Of the columns, of the rows, and on splits at random.
    notes: [Vec<Note>; 3],
    /// How many records there are, as whoever watches is told.
    records: u64,
    digest: String,
    rows: Vec<Row>,
}

/// What becomes of a line, by its number.
type Change = dyn Fn(usize, &String) -> String;

/// A row's inputs, targets and exposure, to the bit, and its position.
#[derive(Clone, Debug, PartialEq)]
struct Row(Vec<u64>, u64);

fn wanted() -> Wanted {
    Wanted { targets: vec!["y".into()], missing: Missing::Indicator, ..Wanted::default() }
}

/// What one of several processes makes of these files.
fn read(paths: &[PathBuf], wanted: &Wanted, communicator: Arc<dyn Communicator>) -> deepgp_io::Result<Read> {
    let source = Source::open_among(paths, ReadOptions::default(), communicator)?;
    let mut records = 0;
    let (schema, notes) = Schema::scan_watched(&source, wanted, &mut |seen| records = seen)?;
    let (chunk, of_rows) = schema.encoder(&source, Targets::Needed)?.read_all()?;
    let notes = [notes, of_rows, random_split_notes(&source, &schema)?];
    let y = chunk.y.unwrap();
    let bits = |i: usize| chunk.x.row(i).iter().chain(y.row(i)).map(|value| value.to_bits());
    let exposure = |i: usize| chunk.exposure.iter().map(move |all| all[i].to_bits());
    let row = |(i, position): (usize, &u64)| Row(bits(i).chain(exposure(i)).collect(), *position);
    let rows = chunk.kept.iter().enumerate().map(row).collect();
    Ok(Read { schema, notes, records, digest: source.sha256()?, rows })
}

/// Fails unless these files are one table, whoever reads them; gives what they hold.
fn same_however_it_is_shared(paths: &[PathBuf], wanted: &Wanted) -> Read {
    let mut alone = processes(1, |communicator| read(paths, wanted, communicator).unwrap());
    let whole = alone.remove(0);
    for count in [2, 3, 5, 16] {
        let mut rows = Vec::new();
        for mut own in processes(count, |communicator| read(paths, wanted, communicator).unwrap()) {
            rows.append(&mut own.rows);
            own.rows.clone_from(&whole.rows);
            assert_eq!(own, whole, "{count} processes");
        }
        assert_eq!(rows, whole.rows, "{count} processes");
    }
    whole
}

/// The messages of processes that cannot read these files: of one, and of the first of several that says what is wrong.
fn messages(paths: &[PathBuf], wanted: &Wanted, count: usize) -> (String, Vec<String>) {
    let said = |count: usize| {
        processes(count, |communicator| read(paths, wanted, communicator).unwrap_err())
            .into_iter()
            .filter(|error| !matches!(error, Error::Processes(_)))
            .map(|error| error.to_string())
            .collect::<Vec<_>>()
    };
    (said(1).remove(0), said(count))
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// The header, and lines of a table in which everything is awkward: line ends, quotes and delimiters in cells, missing cells, words for nothing,
/// dates whose order of day and month one line tells, signs, leading zeros, levels that the last lines have alone, ids that come again.
fn messy(rows: usize) -> (String, Vec<String>) {
    let line = |i: usize| {
        let note = match i % 4 {
            0 => format!("\"{} said \"\"{}\"\"\n\n and left, again\"", i % 3, i % 2),
            1 => "plain".into(),
            2 => "5\" pipe".into(),
            _ => "\"a\r\nb\"".into(),
        };
        let heat = if i + 3 > rows { "late" } else { ["gas", "none", "oil"][i % 3] };
        let day = if i == rows - 2 { "31/12/2024".into() } else { format!("{:02}/{:02}/2024", 1 + i % 12, 1 + i % 12) };
        let size = if i % 7 == 3 { "NA".into() } else { format!("{}", (i * 37 % 101) as f64 * 0.1 - 3.0) };
        let price = if i.is_multiple_of(5) {
            format!("\"${},{:03}\"", 1 + i % 9, i % 1000)
        } else {
            format!("{}", i * 11 % 500)
        };
        let sold = ["true", "false", ""][i % 3];
        let y = if i % 31 == 5 { String::new() } else { format!("{}", (i * i % 97) as f64 / 7.0) };
        format!("{i},k{i},{note},{heat},{day},{size},{price},{sold},0{:03},p{},{y}", i % 60, i % 20)
    };
    ("row,code,note,heat,day,size,price,sold,zip,patient,y".into(), (0..rows).map(line).collect())
}

#[test]
fn a_messy_text_is_the_same_table_wherever_it_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let (header, lines) = messy(150);
    let text = format!("\u{feff}{header}\n\n{}", lines.join("\n"));
    let path = write(folder.path(), "t.csv", &text);
    let whole = same_however_it_is_shared(from_ref(&path), &wanted());
    assert_eq!((whole.records, whole.rows.len()), (150, 145));
    let told = |name: &str| whole.notes.iter().flatten().any(|note| format!("{note:?}").starts_with(name));
    for name in
        ["ColumnLeftOut", "MarkersAreWords", "DecoratedNumbers", "DatesWithYearLast", "RowsLeftOut", "RepeatedIds"]
    {
        assert!(told(name), "{name}: {:?}", whole.notes);
    }
    // Rows of which any cell is missing are left out, and positions go on counting.
    let dropped = same_however_it_is_shared(&[path], &Wanted { missing: Missing::Drop, ..wanted() });
    assert!(dropped.rows.len() < 100 && dropped.rows.last().unwrap().1 > 140);
}

#[test]
fn other_texts_are_too() {
    let folder = tempfile::tempdir().unwrap();
    // A decimal comma, classes, `\r\n`, no line end at the end.
    let rows: Vec<String> =
        (0..90).map(|i| format!("{},5;\"{}\r\n;\";{}", i, i % 7, ["no", "yes", "so"][i % 3])).collect();
    let text = format!("a;b;y\r\n{}", rows.join("\r\n"));
    let whole = same_however_it_is_shared(&[write(folder.path(), "semicolons.csv", text)], &wanted());
    assert_eq!(whole.schema.target_kind.labels().unwrap(), ["no", "so", "yes"]);
    // No header, Windows-1252 from some line on, counts with exposures.
    let mut text: Vec<u8> =
        (0..80).flat_map(|i| format!("{}\t{}\tKoln\t{}\n", i % 9, i * 7 % 13, 1 + i % 4).into_bytes()).collect();
    text.extend(b"3\t4\tK\xf6ln\t2\n1\t2\tK\xf6ln\t1\n");
    let counts =
        Wanted { targets: vec!["c1".into()], exposure: Some("c4".into()), task: Task::Counts, ..Wanted::default() };
    let whole = same_however_it_is_shared(&[write(folder.path(), "tabs.txt", text)], &counts);
    assert!(whole.notes[0].contains(&Note::NotUtf8 { line: 81 }), "{:?}", whole.notes);
    // One cell that is most of the file, so that whole shares are within it; and fewer lines than processes.
    let long = format!("a,b,y\n1,\"{}\",2\n3,x,4\n5,y,7\n", "\n,\"\"".repeat(3000));
    assert_eq!(same_however_it_is_shared(&[write(folder.path(), "long.csv", long)], &wanted()).records, 3);
    // More different numbers than are kept, the first of which count.
    let line = |i: usize| match i % 2 {
        0 => format!("{},w{},0\n", i * 7919 % 24_000, i % 50),
        _ => format!("{},{},1\n", i * 7919 % 24_000, i * 7919 % 24_001),
    };
    let many: String = (0..24_000).map(line).collect();
    let path = write(folder.path(), "many.csv", format!("a,b,y\n{many}"));
    same_however_it_is_shared(&[path], &Wanted { categorical: vec!["a".into()], ..wanted() });
}

#[test]
fn several_files_are_shared_out_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let (header, lines) = messy(120);
    let part = |name: &str, lines: &[String]| write(folder.path(), name, format!("{header}\n{}\n", lines.join("\n")));
    let (a, b) = (part("a.csv", &lines[..20]), part("b.csv", &lines[20..100]));
    let c = write(folder.path(), "c.csv.gz", gzip(format!("{header}\n{}\n", lines[100..].join("\n")).as_bytes()));
    let whole = same_however_it_is_shared(&[a, b, c], &wanted());
    let one = same_however_it_is_shared(&[part("all.csv", &lines)], &wanted());
    assert_eq!((&whole.rows, whole.records), (&one.rows, 120));
}

#[test]
fn row_groups_are_shared_out() {
    let folder = tempfile::tempdir().unwrap();
    let group = |begin: i32, rows: i32| {
        let words = ["red", "blue", "none"];
        let word = |i: i32| if begin + i > 400 { "late" } else { words[((begin + i) * 7 % 3) as usize] };
        vec![
            (Values::Doubles((0..rows).map(|i| f64::from(begin + i) * 0.1).collect()), None),
            (Values::Texts((0..rows).map(word).collect()), None),
            (Values::Integers((0..rows / 2).collect()), Some((0..rows).map(|i| i16::from(i % 2 == 0)).collect())),
            (Values::Doubles((0..rows).map(|i| f64::from((begin + i) * 31 % 17)).collect()), None),
        ]
    };
    let schema = "message t { REQUIRED DOUBLE a; REQUIRED BYTE_ARRAY b (UTF8); OPTIONAL INT32 c; REQUIRED DOUBLE y; }";
    let groups = [group(0, 40), group(40, 100), group(140, 10), group(150, 2), group(152, 248), group(400, 20)];
    let path = write(folder.path(), "t.parquet", parquet(schema, Compression::SNAPPY, &groups));
    let whole = same_however_it_is_shared(from_ref(&path), &wanted());
    assert_eq!(whole.records, 420);
    // A message has the row of the table.
    let mut bad = group(400, 20);
    bad[3].0 = Values::Doubles((0..20).map(|i| if i == 17 { f64::INFINITY } else { 1.0 }).collect());
    let bad = [group(0, 40), group(40, 100), group(140, 260), bad];
    let bad = write(folder.path(), "bad.parquet", parquet(schema, Compression::SNAPPY, &bad));
    let (alone, together) = messages(&[bad], &wanted(), 3);
    assert!(alone.contains("row 418") && together.iter().all(|said| *said == alone), "{alone}\n{together:#?}");
    let one = write(folder.path(), "one.parquet", parquet(schema, Compression::SNAPPY, &[group(0, 40)]));
    assert_eq!(same_however_it_is_shared(&[path, one], &wanted()).records, 460);
}

#[test]
fn the_order_of_dates_is_known_across_shares() {
    let folder = tempfile::tempdir().unwrap();
    let day = |i: usize| format!("2024-{:02}-{:02}", 1 + i / 28, 1 + i % 28);
    let day_of = |order: usize, i: usize| match order {
        0 => i,
        1 => 89 - i,
        2 => i / 2 * 2,
        _ => (i + 45) % 90,
    };
    for order in 0..4 {
        let rows: String =
            (0..90).map(|i| format!("{},{},{}\n", day(day_of(order, i)), i * 7 % 11, i * i % 13)).collect();
        let whole = same_however_it_is_shared(&[write(folder.path(), "t.csv", format!("day,x,y\n{rows}"))], &wanted());
        assert_eq!(whole.notes[2].is_empty(), order == 3, "{:?}", whole.notes);
    }
}

#[test]
fn no_process_reads_what_another_reads() {
    let folder = tempfile::tempdir().unwrap();
    let (header, lines) = messy(400);
    let path = write(folder.path(), "t.csv", format!("{header}\n{}\n", lines.join("\n")));
    let records = |communicator: Arc<dyn Communicator>| {
        let source = Source::open_among(from_ref(&path), ReadOptions::default(), communicator).unwrap();
        let (mut rows, mut cells, mut numbers) = (source.rows().unwrap(), Vec::new(), Vec::new());
        while rows.next(&mut cells).unwrap().is_some() {
            let Cell::Number(number) = cells[0] else { panic!("{cells:?}") };
            numbers.push(number as usize);
        }
        numbers
    };
    for count in [1, 2, 4, 8] {
        let each = processes(count, records);
        assert_eq!(each.concat(), (0..400).collect::<Vec<_>>());
        assert!(
            each.iter().all(|own| own.len().abs_diff(400 / count) < 10),
            "{count}: {:?}",
            each.iter().map(Vec::len).collect::<Vec<_>>()
        );
    }
    // What cannot be cut is read by one of them.
    let path = write(folder.path(), "t.csv.gz", gzip(format!("{header}\n{}\n", lines.join("\n")).as_bytes()));
    let each = processes(4, |communicator| {
        let source = Source::open_among(from_ref(&path), ReadOptions::default(), communicator).unwrap();
        let (mut rows, mut cells, mut count) = (source.rows().unwrap(), Vec::new(), 0);
        while rows.next(&mut cells).unwrap().is_some() {
            count += 1;
        }
        count
    });
    assert_eq!(each, [0, 0, 400, 0]);
}

/// A line with another last cell.
fn last_cell(line: &str, cell: &str) -> String {
    format!("{},{cell}", &line[..line.rfind(',').unwrap()])
}

#[test]
fn what_is_wrong_is_told_as_one_process_tells_it() {
    let folder = tempfile::tempdir().unwrap();
    let (header, lines) = messy(100);
    let of = |change: &Change| {
        let lines: Vec<String> = lines.iter().enumerate().map(|(i, line)| change(i, line)).collect();
        write(folder.path(), "t.csv", format!("{header}\n{}\n", lines.join("\n")))
    };
    // A word among numbers of the target, near the end; an infinite cell of each process; rows that are too short, in two processes; a quote that
    // never closes; a missing cell that must not be; a column that is one thing here and another there.
    let cases: [(&Change, Wanted, &str); 6] = [
        (&|i, line| if i == 97 { last_cell(line, "much") } else { line.clone() }, wanted(), "\"much\" is not a number"),
        (&|i, line| if i % 20 == 9 { last_cell(line, "inf") } else { line.clone() }, wanted(), "\"inf\" is not finite"),
        (&|i, line| if i > 60 && i % 20 == 9 { line.replacen(',', "", 1) } else { line.clone() }, wanted(), "fields"),
        (&|i, line| if i == 99 { format!("{line}\n1,\"open") } else { line.clone() }, wanted(), "a quote opens"),
        (&|_, line| line.clone(), Wanted { missing: Missing::Reject, ..wanted() }, "the cell is missing, and"),
        (&|i, line| if i > 70 { line.replacen(&i.to_string(), "x", 1) } else { line.clone() }, wanted(), "\"x\""),
    ];
    for (change, wanted, expected) in cases {
        let path = of(change);
        for count in [2, 3, 7] {
            let (alone, together) = messages(from_ref(&path), &wanted, count);
            assert!(alone.contains(expected), "{alone}");
            assert!(
                together.iter().all(|said| *said == alone) && !together.is_empty(),
                "{count}: {alone}\n{together:#?}"
            );
        }
    }
    // Both decimal marks, one here and one there.
    let rows: String = (0..60).map(|i| if i < 40 { format!("{i},5;1\n") } else { format!("{i}.5;2\n") }).collect();
    let path = write(folder.path(), "marks.csv", format!("a;y\n{rows}"));
    let (alone, together) = messages(&[path], &wanted(), 3);
    assert!(alone.contains("decimal") && together.iter().all(|said| *said == alone), "{alone}\n{together:#?}");
}

/// Cells that mean different things in different company.
const PALETTES: [&[&str]; 6] = [
    &["1", "2.5", "", "-3", "1e3", "NA", "07"],
    &["gas", "none", "oil", "\"a\n\"\"b\"", "", "?", "x\" y"],
    &["2024-01-05", "2023-11-30 10:00:00", "2024-02-01T00:00:00Z", "", "2021-06-07"],
    &["01/02/2024", "03/04/2023", "13/05/2022", "12/31/2021", ""],
    &["$5", "7%", "1,200", "\"1,200\"", "3", "12"],
    &["true", "false", "", "TRUE", "1", "inf", "word"],
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever stands in a table, and wherever it is cut: the same is found out about it, or the same is wrong.
    #[test]
    fn any_table_is_found_out_about_in_shares(
        kinds in proptest::collection::vec((0usize..6, 0usize..12), 3),
        cells in proptest::collection::vec((0usize..7, 0usize..7, 0usize..7, -3i32..4), 1..60),
        missing in 0usize..4,
        size in 2usize..6,
    ) {
        let cell = |(palette, odd): (usize, usize), at: usize, row: usize| {
            // Here and there one of another kind.
            let palette = PALETTES[if odd == row { (palette + 1) % 6 } else { palette }];
            palette[at % palette.len()]
        };
        let line = |(i, (a, b, c, y)): (usize, &(usize, usize, usize, i32))| {
            [&i.to_string(), cell(kinds[0], *a, i), cell(kinds[1], *b, i), cell(kinds[2], *c, i), &y.to_string()].join("|") + "\n"
        };
        let rows: String = cells.iter().enumerate().map(line).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), "t.csv", format!("i|a|b|c|y\n{rows}"));
        let missing = [Missing::Reject, Missing::Drop, Missing::Mean, Missing::Indicator][missing];
        let wanted = Wanted { missing, ..wanted() };
        let outcome = |count: usize| -> (Vec<Row>, Vec<String>) {
            let all = processes(count, |communicator| read(from_ref(&path), &wanted, communicator));
            let (mut rows, mut told) = (Vec::new(), Vec::new());
            for own in all {
                match own {
                    Ok(mut own) => {
                        rows.append(&mut own.rows);
                        told.push(format!("{own:?}"));
                    }
                    Err(Error::Processes(_)) => {}
                    Err(error) => told.push(error.to_string()),
                }
            }
            told.dedup();
            (rows, told)
        };
        prop_assert_eq!(outcome(size), outcome(1));
    }
}
