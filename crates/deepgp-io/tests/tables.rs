//! Tables of every format become the numbers that they hold.

mod common;

use common::*;
use deepgp_io::table::{Cell, Chunk, InputColumn, Kind, Missing, Schema, Source, TargetKind, Targets, Wanted};
use parquet::basic::Compression;
use proptest::prelude::*;

fn rows(file: &TableFile) -> Vec<(u64, Vec<Cell>)> {
    let mut rows = file.source().rows().unwrap();
    let (mut all, mut cells) = (Vec::new(), Vec::new());
    while let Some(number) = rows.next(&mut cells).unwrap() {
        all.push((number, cells.clone()));
    }
    all
}

/// Semicolons, decimal commas, quotes, a byte order mark, `\r\n`, blank lines, categories, booleans, missing cells.
const MESSY: &str = "\u{feff}weight;\"colour\" ; sold ;price;id\r\n\
    1,5; red;TRUE;10;a1\r\n\
    \r\n\
    NA;\"light; \"\"blue\"\"\";false;20,5;a2\r\n\
    \"2,5\";red;;30;a3\r\n\
    3,5;;True;?;a4\r\n\
    +4e0;green;FALSE;-50;a5\r\n";

#[test]
fn a_messy_table_is_read_with_its_lines() {
    let file = TableFile::new(MESSY);
    let source = file.source();
    assert_eq!(source.names(), ["weight", "colour", "sold", "price", "id"]);
    assert!(source.notes().is_empty() && !source.is_unnamed() && source.path() == file.path);
    let rows = rows(&file);
    assert_eq!(rows.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 4, 5, 6, 7]);
    let text = |text: &str| Cell::Text(text.into());
    let expected = [Cell::Missing, text("light; \"blue\""), Cell::Boolean(false), Cell::Number(20.5), text("a2")];
    assert_eq!(rows[1].1, expected);
    assert_eq!(rows[3].1[..4], [Cell::Number(3.5), Cell::Missing, Cell::Boolean(true), Cell::Missing]);
}

#[test]
fn what_is_missing_may_have_an_input_of_its_own() {
    let table = "size,full,sold,colour,y\n1,5,true,red,1\n,6,,blue,2\n3,7,false,,3\n9,,true,red,\n2,8,true,blue,4\n";
    let wanted = Wanted { missing: Missing::Indicator, ..target("y") };
    let (schema, chunk, _) = fit(table, &wanted).unwrap();
    // `full` has a missing cell in a row without a target alone, and a category tells by itself.
    let expected = ["size", "size is missing", "full", "sold", "sold is missing", "colour=blue", "colour=red"];
    assert_eq!((schema.feature_names(), schema.width()), (names(&expected), 7));
    assert_eq!(chunk.x.row(0), [1.0, 0.0, 5.0, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(chunk.x.row(1), [2.0, 1.0, 6.0, 2.0 / 3.0, 1.0, 1.0, 0.0]);
    assert_eq!(chunk.x.row(2)[5..], [0.0, 0.0]);
    assert_eq!(chunk.kept, [0, 1, 2, 4]);
    // In another table a column may be missing that had no gap before: the mean then stands alone.
    let (chunk, notes) = apply(&schema, "size,full,sold,colour,y\n,,true,red,1\n").unwrap();
    assert_eq!(chunk.x.row(0), [2.0, 1.0, 6.5, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(notes, ["2 missing cells were filled in with the column's mean at fitting"]);
    let again: Schema = serde_json::from_str(&serde_json::to_string(&schema).unwrap()).unwrap();
    assert_eq!(again, schema);
}

#[test]
fn missing_cells_are_filled_with_means_and_rows_without_target_dropped() {
    let wanted = Wanted { ignore: names(&["id"]), missing: Missing::Mean, ..target("price") };
    let (schema, chunk, notes) = fit(MESSY, &wanted).unwrap();
    // The row without a price counts for nothing, so its weight is not in the mean.
    let mean = (1.5 + 2.5 + 4.0) / 3.0;
    let Kind::Number { fill: Some(fill) } = schema.inputs[0].kind else { panic!("{:?}", schema.inputs[0]) };
    assert!((fill - mean).abs() < 1e-15);
    assert_eq!(schema.inputs[2].kind, Kind::Boolean { fill: Some(1.0 / 3.0) });
    let features = ["weight", "colour=green", "colour=light; \"blue\"", "colour=red", "sold"];
    assert_eq!(schema.feature_names(), features);
    assert_eq!(schema.width(), 5);
    assert_eq!((chunk.x.row(0), chunk.x.row(1)), (&[1.5, 0.0, 0.0, 1.0, 1.0][..], &[fill, 0.0, 1.0, 0.0, 0.0][..]));
    assert_eq!(
        (chunk.x.row(2), chunk.x.row(3)),
        (&[2.5, 0.0, 0.0, 1.0, 1.0 / 3.0][..], &[4.0, 1.0, 0.0, 0.0, 0.0][..])
    );
    assert_eq!(chunk.y.unwrap().as_slice(), [10.0, 20.5, 30.0, -50.0]);
    assert_eq!((chunk.kept, chunk.read), (vec![0, 1, 2, 4], 5));
    let expected = [
        "the table has columns that the model does not use: `id`",
        "1 of 5 rows was left out: it has missing cells",
        "2 missing cells were filled in with the column's mean at fitting",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn rows_with_missing_cells_can_be_dropped() {
    let wanted = Wanted { ignore: names(&["id"]), missing: Missing::Drop, ..target("price") };
    let (schema, chunk, notes) = fit(MESSY, &wanted).unwrap();
    // A level that only a dropped row has would be a column of zeros.
    assert_eq!(schema.feature_names(), ["weight", "colour=green", "colour=red", "sold"]);
    assert_eq!(chunk.x.as_slice(), [1.5, 0.0, 1.0, 1.0, 4.0, 1.0, 0.0, 0.0]);
    assert_eq!((chunk.kept, chunk.read), (vec![0, 4], 5));
    assert!(notes.contains(&"3 of 5 rows were left out: they have missing cells".to_string()));
    let ignored = Wanted { ignore: names(&["id", "sold", "weight", "colour"]), ..target("price") };
    assert!(fit(MESSY, &ignored).unwrap_err().to_string().contains("no input is left"));
}

#[test]
fn a_schema_reads_other_tables_by_name() {
    let table = "a,colour,flag,y\n1,red,true,1\n2,blue,false,2\n3,red,true,3\n";
    let (schema, ..) = fit(table, &target("y")).unwrap();
    let (chunk, notes) =
        apply(&schema, "flag\tnew\tcolour\ta\nfalse\t9\tred\t5\n1\t9\tviolet\t6\ntrue\t9\tpink\t7\n").unwrap();
    assert_eq!(chunk.x.as_slice(), [5.0, 0.0, 1.0, 0.0, 6.0, 0.0, 0.0, 1.0, 7.0, 0.0, 0.0, 1.0]);
    assert_eq!(chunk.y, None);
    let unseen = "column `colour`: 2 cells have a value that was not there at fitting, the first \"violet\" in line 3; \
                  such a value counts as none of the known ones, and the intervals of its rows are too narrow, as they do not \
                  include what is not known about it";
    let unused = "the table has columns that the model does not use: `new` (--keep COLUMN carries one along)";
    assert_eq!(notes, [unused, unseen]);
    // Targets that are there are no surprise, and what is in them does not matter.
    let (chunk, notes) = apply(&schema, "a,colour,flag,y\n1,red,true,later\n").unwrap();
    assert_eq!((chunk.x.nrows(), notes.len()), (1, 0));
    // How missing cells are treated may be changed.
    let gap = "a,colour,flag\n,red,true\n1,,true\n";
    assert!(
        apply(&schema, gap).unwrap_err().to_string().contains("line 2, column `a`: the cell is missing; leave such")
    );
    let (chunk, _) = apply(&Schema { missing: Missing::Mean, ..schema.clone() }, gap).unwrap();
    assert_eq!(chunk.x.as_slice(), [2.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    let (chunk, notes) = apply(&Schema { missing: Missing::Drop, ..schema }, gap).unwrap();
    assert_eq!((chunk.x.nrows(), chunk.x.ncols(), chunk.read), (0, 4, 2));
    assert_eq!(notes, ["2 of 2 rows have no prediction: they have missing cells"]);
}

#[test]
fn numbers_can_be_categories() {
    let wanted = Wanted { categorical: names(&["zone"]), ..target("y") };
    let (schema, chunk, _) = fit("zone,y\n10,1\n9,2\n010,3\n", &wanted).unwrap();
    assert_eq!(schema.feature_names(), ["zone=10", "zone=9"]);
    assert_eq!(chunk.x.as_slice(), [1.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
    // Who asks for many has them, and hears what they cost.
    let many: String = (0..3000).map(|i| format!("t{},{i}\n", i % 1000)).collect();
    let (schema, _, notes) = fit(format!("zone,y\n{many}"), &wanted).unwrap();
    assert_eq!(schema.width(), 1000);
    assert!(notes[0].starts_with("column `zone` becomes 1000 inputs, one for each category"), "{notes:?}");
    // Who does not has one number, which is a level's position until the training rows are known.
    let (schema, chunk, notes) = fit(format!("zone,y\n{many}"), &target("y")).unwrap();
    assert_eq!((schema.width(), chunk.x.ncols()), (1, 1));
    assert!(notes[0].starts_with("column `zone` has 1000 different texts: each becomes one number"), "{notes:?}");
    let Kind::ManyLevels { levels, .. } = &schema.inputs[0].kind else { panic!("{schema:?}") };
    assert_eq!(levels[chunk.x[(17, 0)] as usize], "t17");
    assert_eq!(apply(&schema, "zone\nnowhere\n").unwrap().0.x[(0, 0)], 1000.0);
    // Twenty rows for each of up to a hundred are enough for inputs of their own.
    let width = |rows: usize, levels: usize| {
        let rows: String = (0..rows).map(|i| format!("t{},{i}\n", i % levels)).collect();
        fit(format!("zone,y\n{rows}"), &target("y")).unwrap().0.width()
    };
    assert_eq!(
        [(30, 10), (400, 20), (399, 20), (2000, 100), (4000, 101)].map(|(rows, levels)| width(rows, levels)),
        [10, 20, 1, 100, 1]
    );
    // A text in half of the cells or more makes a category of the column; numbers and booleans are levels, too.
    let (schema, ..) = fit("k,y\n7,1\nx,2\ntrue,3\n7.0,4\n", &target("y")).unwrap();
    assert_eq!(schema.feature_names(), ["k=7", "k=true", "k=x"]);
}

#[test]
fn dates_in_text_are_what_they_are_in_parquet() {
    let wanted = Wanted { missing: Missing::Mean, ..target("y") };
    let (schema, chunk, notes) =
        fit("day,y\n1970-01-02,1\n1970-01-04,2\n,3\n1970-01-01T12:00:00.5Z,4\n", &wanted).unwrap();
    let fill = (86_400.0 + 3.0 * 86_400.0 + 43_200.5) / 3.0;
    let Kind::Date { fill: Some(found), .. } = schema.inputs[0].kind else { panic!("{:?}", schema.inputs[0]) };
    assert!((found / fill - 1.0).abs() < 1e-15);
    assert_eq!(chunk.x.as_slice(), [86_400.0, 259_200.0, found, 43_200.5]);
    assert_eq!(notes[0], "column `day`: dates are a trend, in seconds since 1970");
    assert_eq!(schema.feature_names(), ["day"]);
    let later = apply(&schema, "day\n1970-02-01\n1969-12-31 00:00\n").unwrap().0;
    assert_eq!(later.x.as_slice(), [31.0 * 86_400.0, -86_400.0]);
    let days = vec![(Values::Integers(vec![31, -1]), None)];
    let days = parquet("message t { REQUIRED INT32 day (DATE); }", Compression::UNCOMPRESSED, &[days]);
    assert_eq!(apply(&schema, days).unwrap().0.x, later.x);
    // Who says that they are categories is believed.
    let asked = Wanted { categorical: names(&["day"]), ..target("y") };
    let (schema, ..) = fit("day,y\n2024-01-02,1\n2024-01-01,2\n", &asked).unwrap();
    assert_eq!(schema.feature_names(), ["day=2024-01-01", "day=2024-01-02"]);
}

#[test]
fn dates_in_parquet_are_what_they_are_in_text() {
    let schema = "message t { REQUIRED INT32 day (DATE); REQUIRED INT64 seen (TIMESTAMP_MICROS); REQUIRED DOUBLE y; }";
    let table = || {
        let day = Values::Integers(vec![12_853, 12_854]);
        let seen = Values::Longs(vec![1_110_542_400_250_000, -1_000_000]);
        parquet(
            schema,
            Compression::UNCOMPRESSED,
            &[vec![(day, None), (seen, None), (Values::Doubles(vec![1.0, 2.0]), None)]],
        )
    };
    let (schema, chunk, notes) = fit(table(), &target("y")).unwrap();
    assert!(schema.inputs.iter().all(|column| matches!(column.kind, Kind::Date { .. })), "{:?}", schema.inputs);
    assert_eq!(notes[0], "column `day`: dates are a trend, in seconds since 1970");
    let text = "day,seen\n2005-03-11,2005-03-11T12:00:00.25\n2005-03-12,1969-12-31 23:59:59\n";
    assert_eq!(apply(&schema, text).unwrap().0.x, chunk.x);
    assert_eq!(chunk.x.row(0), [1_110_499_200.0, 1_110_542_400.25]);
    // A model that took them for numbers, as those of arrays are, can read them, too.
    let numbers =
        Schema { inputs: ["day", "seen"].map(|n| InputColumn::new(n, Kind::Number { fill: None })).into(), ..schema };
    assert_eq!(apply(&numbers, table()).unwrap().0.x, chunk.x);
    // As categories they have the names that text gives them.
    let asked = Wanted { categorical: names(&["day"]), ignore: names(&["seen"]), ..target("y") };
    let (schema, chunk, _) = fit(table(), &asked).unwrap();
    assert_eq!(schema.feature_names(), ["day=2005-03-11", "day=2005-03-12"]);
    assert_eq!(apply(&schema, text).unwrap().0.x, chunk.x);
    // So is a target.
    let dated = Wanted { ignore: names(&["y"]), ..target("day") };
    assert_eq!(fit(table(), &dated).unwrap().1.y.unwrap()[(0, 0)], 1_110_499_200.0);
    let text = "day,seen,y\n2005-03-11,2005-03-11T12:00:00.25,1\n2005-03-12,1969-12-31 23:59:59,2\n";
    assert_eq!(fit(text, &dated).unwrap().1.y, fit(table(), &dated).unwrap().1.y);
}

#[test]
fn times_are_brought_to_utc() {
    let table = |last: &str| format!("seen,y\n2024-03-31T01:30:00+01:00,1\n2024-03-31T03:30:00+0200,2\n{last},3\n");
    let (_, chunk, notes) = fit(table("2024-03-31T02:30:00Z"), &target("y")).unwrap();
    let begin = 1_711_845_000.0;
    assert_eq!(chunk.x.as_slice(), [begin, begin + 3600.0, begin + 7200.0]);
    assert_eq!(notes, ["column `seen`: dates are a trend, in seconds since 1970"]);
    // A date alone is no time; a time without a zone beside such with one is told of.
    assert_eq!(fit(table("2024-04-01"), &target("y")).unwrap().2, notes);
    let (_, chunk, notes) = fit(table("2024-03-31 02:30"), &target("y")).unwrap();
    assert_eq!(chunk.x[(2, 0)], begin + 7200.0);
    assert!(notes[0].ends_with("times that do not say how far they are from UTC are taken for UTC"), "{notes:?}");
}

#[test]
fn numbers_that_are_taken_for_categories_are_told() {
    let table = |different: usize, cell: &dyn Fn(usize) -> String| {
        let rows: String = (0..4 * different).map(|i| format!("{},{i}\n", cell(i % different))).collect();
        format!("share,y\n{rows}")
    };
    let notes = |table: String, wanted: &Wanted| fit(table, wanted).unwrap().2;
    let percent = |i: usize| format!("{}%", i + 10);
    let grams = |i: usize| format!("{} g", i + 10);
    let told = "column `share` is taken for 11 categories without order, such as \"10 g\"; if they are numbers, write them \
                without units and separators, and dates as YYYY-MM-DD; if not, --categorical share says so";
    assert_eq!(notes(table(11, &grams), &target("y")), [told]);
    assert!(notes(table(10, &grams), &target("y")).is_empty());
    let asked = Wanted { categorical: names(&["share"]), ..target("y") };
    assert!(notes(table(11, &grams), &asked).is_empty() && notes(table(11, &percent), &asked).is_empty());
    // Names, of which a few have digits.
    let names = |i: usize| ["oak", "7"][usize::from(i == 3)].repeat(i + 1) + "x";
    let told = notes(table(12, &names), &target("y"));
    assert!(told.len() == 1 && told[0].contains("each becomes one number"), "{told:?}");
}

#[test]
fn numbers_that_may_be_names_are_told() {
    let rows: String = (0..30).map(|i| format!("{},{:05},{},{i}\n", 1000 + i, i * 7 % 10, i * 3 % 8)).collect();
    let notes = |wanted: &Wanted| fit(format!("n,zip,x,y\n{rows}"), wanted).unwrap().2;
    let found = notes(&target("y"));
    assert!(
        found[0].contains("`n` is left out: it counts the rows") && found[1].contains("`zip`: \"00000\""),
        "{found:?}"
    );
    // Who has said what they are hears nothing.
    let told = Wanted { ignore: names(&["n"]), categorical: names(&["zip"]), ..target("y") };
    assert!(!notes(&told).iter().any(|note| note.contains("zip") || note.contains("counts")));
    // A column without a name is told of for that.
    let unnamed = fit(format!(",zip,x,y\n{rows}"), &Wanted { categorical: names(&["zip"]), ..target("y") }).unwrap().2;
    assert_eq!(unnamed.iter().filter(|note| note.contains("`c1` is left out")).count(), 1, "{unnamed:?}");
    assert!(!unnamed.iter().any(|note| note.contains("--ignore c1")), "{unnamed:?}");
    let kept = Wanted { keep: names(&["n"]), ..target("y") };
    assert!(!notes(&kept).iter().any(|note| note.contains("left out")));
    // The only input may be the time.
    let alone = Wanted { ignore: names(&["zip", "x"]), ..target("y") };
    assert!(!notes(&alone).iter().any(|note| note.contains("counts")));
}

#[test]
fn targets_keep_the_order_in_which_they_were_asked_for() {
    let wanted = Wanted { targets: names(&["second", "first"]), ..Wanted::default() };
    let (_, chunk, _) = fit("first,x,second\n1,0,true\n3,0,false\n", &wanted).unwrap();
    assert_eq!(chunk.y.unwrap().as_slice(), [1.0, 1.0, 0.0, 3.0]);
}

#[test]
fn tables_without_names_go_by_position() {
    let (schema, chunk, notes) = fit("1|2|3\n4|5|6\n", &target("c3")).unwrap();
    assert_eq!(schema.positions, Some(3));
    assert_eq!(chunk.x.as_slice(), [1.0, 2.0, 4.0, 5.0]);
    assert_eq!(notes, ["the table has no header, so its columns are called by position: `c1` to `c3`"]);
    assert_eq!(apply(&schema, "7,8\n").unwrap().0.x.as_slice(), [7.0, 8.0]);
    assert_eq!(apply(&schema, "7,8,9\n").unwrap().0.x.as_slice(), [7.0, 8.0]);
    let message = |bytes: &str| apply(&schema, bytes).unwrap_err().to_string();
    assert!(
        message("7,8,9,10\n").contains("must be the 3 that the model was fitted on (or 2, without targets); found 4")
    );
    // Were the target left away, the others would move.
    let (schema, ..) = fit("1,2,3\n4,5,6\n", &Wanted { ignore: names(&["c3"]), ..target("c1") }).unwrap();
    let error = apply(&schema, "2,3\n").unwrap_err().to_string();
    assert!(error.ends_with("must be the 3 that the model was fitted on; found 2"), "{error}");
}

#[test]
fn chunks_put_together_are_the_whole() {
    let table: String = (0..23).map(|i| if i % 5 == 0 { format!("NA,{i}\n") } else { format!("{i},{i}\n") }).collect();
    let file = TableFile::new(format!("x,y\n{table}"));
    let source = file.source();
    let (schema, _) = Schema::scan(&source, &Wanted { missing: Missing::Drop, ..target("y") }).unwrap();
    let (whole, notes) = schema.encoder(&source, Targets::Needed).unwrap().read_all().unwrap();
    for rows in [0, 1, 2, 7, 22, 23, 24] {
        let mut encoder = schema.encoder(&source, Targets::Needed).unwrap();
        let (mut x, mut y, mut kept, mut read) = (Vec::new(), Vec::new(), Vec::new(), 0);
        while let Some(chunk) = encoder.next_chunk(rows).unwrap() {
            assert!(chunk.read <= rows.max(1) as u64);
            x.extend_from_slice(chunk.x.as_slice());
            y.extend_from_slice(chunk.y.unwrap().as_slice());
            kept.extend(chunk.kept);
            read += chunk.read;
        }
        assert_eq!((&x[..], &y[..]), (whole.x.as_slice(), whole.y.as_ref().unwrap().as_slice()));
        assert_eq!((&kept, read), (&whole.kept, whole.read));
        assert_eq!(encoder.notes(), notes);
        assert!(encoder.next_chunk(5).unwrap().is_none());
    }
    assert_eq!(whole.kept.iter().map(|row| *row as f64).collect::<Vec<_>>(), whole.x.as_slice());
}

#[test]
fn who_waits_sees_the_records_of_both_passes() {
    let file = TableFile::new(format!("x,y\n{}", "1,2\n".repeat(10_000)));
    let (source, mut seen) = (file.source(), Vec::new());
    let (schema, _) = Schema::scan_watched(&source, &target("y"), &mut |rows| seen.push(rows)).unwrap();
    assert_eq!(seen, [4096, 8192, 10_000]);
    seen.clear();
    let encoder = schema.encoder(&source, Targets::Needed).unwrap();
    let (chunk, _) = encoder.read_all_watched(&mut |rows| seen.push(rows)).unwrap();
    assert_eq!((chunk.read, seen), (10_000, vec![4096, 8192]));
}

/// Columns carried along a table of one input, `x`, in chunks of two records.
fn carried(bytes: impl AsRef<[u8]>, columns: &[&str]) -> Vec<String> {
    let column = InputColumn::new("x", Kind::Number { fill: None });
    let schema = Schema {
        inputs: vec![column],
        targets: names(&["y"]),
        target_kind: TargetKind::Numbers,
        missing: Missing::Drop,
        positions: None,
        ..Schema::default()
    };
    let encoder = schema.encoder(&TableFile::new(bytes).source(), Targets::Unneeded).unwrap();
    let mut encoder = encoder.carrying(&names(columns)).unwrap();
    let mut all = Vec::new();
    while let Some(chunk) = encoder.next_chunk(2).unwrap() {
        assert_eq!(chunk.carried.len(), columns.len() * chunk.read as usize);
        all.extend(chunk.carried);
    }
    all
}

#[test]
fn columns_are_carried_along_as_they_are_written() {
    // Also beside a row that is left out, and whatever the model does with the column.
    let text = "id;when;x\n007; 2024-02-30 ;1,50\n\"a;\"\"b\"\"\";NA;\n12345678901234567890;;3\n";
    let expected = ["1,50", "007", "2024-02-30", "", "a;\"b\"", "NA", "3", "12345678901234567890", ""];
    assert_eq!(carried(text, &["x", "id", "when"]), expected);
    let schema = "message t { REQUIRED DOUBLE x; OPTIONAL INT64 id; REQUIRED INT32 day (DATE); REQUIRED BYTE_ARRAY zip (UTF8); \
                  REQUIRED INT64 seen (TIMESTAMP_MILLIS); }";
    let rows = |begin: i64| {
        vec![
            (Values::Doubles(vec![0.5, f64::NAN]), None),
            (Values::Longs(vec![i64::MAX - begin]), Some(vec![1, 0])),
            (Values::Integers(vec![begin as i32, 19_782]), None),
            (Values::Texts(vec!["00120", " b"]), None),
            (Values::Longs(vec![begin * 1000 + 500, -1]), None),
        ]
    };
    let table = parquet(schema, Compression::UNCOMPRESSED, &[rows(0), rows(1)]);
    let one = ["9223372036854775807", "1970-01-01", "00120", "1970-01-01 00:00:00.5", "0.5"];
    let two = ["", "2024-02-29", " b", "1969-12-31 23:59:59.999", ""];
    let three = ["9223372036854775806", "1970-01-02", "00120", "1970-01-01 00:00:01.5", "0.5"];
    assert_eq!(carried(table, &["id", "day", "zip", "seen", "x"]), [one, two, three, two].concat());
    let archive = npz(&[
        ("x.npy", npy("<f8", false, "(2,)", &doubles(&[1.0, f64::NAN]))),
        ("pair.npy", npy("<f4", true, "(2, 2)", &[0.1f32, 0.2, 0.3, f32::NAN].map(f32::to_le_bytes).concat())),
        ("id.npy", npy(">u8", false, "(2,)", &[u64::MAX, 7].map(u64::to_be_bytes).concat())),
        ("flag.npy", npy("|b1", false, "(2,)", &[1, 0])),
        ("low.npy", npy("<i8", false, "(2,)", &[i64::MIN, -7].map(i64::to_le_bytes).concat())),
    ]);
    let one = ["18446744073709551615", "0.3", "true", "-9223372036854775808", "1"];
    let two = ["7", "", "false", "-7", ""];
    assert_eq!(carried(archive, &["id", "pair2", "flag", "low", "x"]), [one, two].concat());
}

#[test]
fn what_is_carried_along_is_not_said_to_be_unused() {
    let (schema, ..) = fit("x,y\n1,2\n", &target("y")).unwrap();
    let file = TableFile::new("id,x,note\n1,2,3\n");
    let encoder = || schema.encoder(&file.source(), Targets::Unneeded).unwrap();
    let (_, notes) = encoder().carrying(&names(&["id"])).unwrap().read_all().unwrap();
    let told = ["the table has columns that the model does not use: `note` (--keep COLUMN carries one along)"];
    assert_eq!(common::sentences(&notes), told);
    let error = encoder().carrying(&names(&["Id"])).unwrap_err().to_string();
    assert!(error.contains("no column `Id`, which is asked to be kept; did you mean `id`?"), "{error}");
}

#[test]
fn compressed_text_is_text() {
    let plain = "a\tb\n1\t2\n3\t4\n";
    let parts = [gzip(b"a\tb\n1\t"), gzip(b"2\n3\t4\n")].concat();
    assert_eq!(rows(&TableFile::new(gzip(plain.as_bytes()))), rows(&TableFile::new(plain)));
    assert_eq!(rows(&TableFile::new(parts)), rows(&TableFile::new(plain)));
}

#[test]
fn a_digest_is_that_of_the_bytes() {
    let source = TableFile::new("abc\n1\n");
    // By another program.
    assert_eq!(source.source().sha256().unwrap(), "5cb310b6f87a23bce211e77652daf4e4931a010ffbca35148659961a9207e0fb");
}

/// Everything that a fit asks of a table: its columns' kinds, its rows, its digest.
fn all_passes(source: &Source) -> (Schema, Chunk, String) {
    let (schema, _) = Schema::scan(source, &Wanted { missing: Missing::Mean, ..target(&source.names()[0]) }).unwrap();
    let (chunk, _) = schema.encoder(source, Targets::Needed).unwrap().read_all().unwrap();
    (schema, chunk, source.sha256().unwrap())
}

#[test]
fn a_file_is_read_once() {
    for bytes in one_of_each() {
        let file = TableFile::new(bytes);
        let source = file.source();
        let before = all_passes(&source);
        std::fs::remove_file(&file.path).unwrap();
        assert_eq!(all_passes(&source), before);
    }
}

#[test]
fn a_file_that_is_replaced_after_it_was_opened_is_read_as_it_was() {
    for bytes in one_of_each() {
        let expected = all_passes(&TableFile::new(&bytes).source());
        let file = TableFile::new(bytes);
        let source = file.source();
        std::fs::write(&file.path, "other,columns\n1,2\n").unwrap();
        assert_eq!(all_passes(&source), expected);
        assert_eq!(file.source().names(), ["other", "columns"]);
    }
}

#[test]
fn a_file_that_is_not_kept_is_read_to_the_same_numbers() {
    for bytes in one_of_each() {
        let file = TableFile::new(bytes);
        let streamed = file.open_streamed().unwrap();
        assert_eq!(all_passes(&streamed), all_passes(&file.source()));
        // Each pass opens the file.
        std::fs::remove_file(&file.path).unwrap();
        assert!(streamed.rows().is_err() && streamed.sha256().is_err());
    }
}

#[test]
fn parquet_columns_of_every_kind_are_read() {
    let schema = "message t {
        REQUIRED DOUBLE weight; OPTIONAL INT32 age; REQUIRED BYTE_ARRAY colour (UTF8); REQUIRED BOOLEAN sold;
        REQUIRED INT64 price (DECIMAL(9, 2)); REQUIRED INT64 seen (TIMESTAMP_MILLIS); REQUIRED INT32 day (DATE);
    }";
    let group = |begin: i64, rows: i64| {
        let range = || begin..begin + rows;
        vec![
            (Values::Doubles(range().map(|i| if i == 1 { f64::NAN } else { i as f64 + 0.5 }).collect()), None),
            (
                Values::Integers(range().filter(|i| i % 3 != 0).map(|i| i as i32).collect()),
                Some(range().map(|i| i16::from(i % 3 != 0)).collect()),
            ),
            (Values::Texts(range().map(|i| ["red", "grün"][i as usize % 2]).collect()), None),
            (Values::Booleans(range().map(|i| i % 2 == 0).collect()), None),
            (Values::Longs(range().map(|i| -i * 10 - 1).collect()), None),
            (Values::Longs(range().map(|i| i * 1000 + 500).collect()), None),
            (Values::Integers(range().map(|i| i as i32).collect()), None),
        ]
    };
    let file = TableFile::new(parquet(schema, Compression::SNAPPY, &[group(0, 2500), group(2500, 3), group(2503, 1)]));
    assert_eq!(file.source().names(), ["weight", "age", "colour", "sold", "price", "seen", "day"]);
    let rows = rows(&file);
    assert_eq!(rows.len(), 2504);
    for (i, (number, cells)) in rows.iter().enumerate() {
        let value = i as f64;
        let expected = [
            if i == 1 { Cell::Missing } else { Cell::Number(value + 0.5) },
            if i % 3 == 0 { Cell::Missing } else { Cell::Number(value) },
            Cell::Text(["red", "grün"][i % 2].into()),
            Cell::Boolean(i % 2 == 0),
            Cell::Number(format!("-{}.{:02}", (i * 10 + 1) / 100, (i * 10 + 1) % 100).parse().unwrap()),
            Cell::Date(value + 0.5),
            Cell::Date(86_400.0 * value),
        ];
        assert_eq!((*number, &cells[..]), (i as u64 + 1, &expected[..]));
    }
}

#[test]
fn arrays_are_read_in_both_orders() {
    let numbers = [1.0, 2.0, 3.0, 4.0, f64::NAN, 6.0];
    let cells = |numbers: &[f64]| -> Vec<Cell> {
        numbers.iter().map(|v| if v.is_nan() { Cell::Missing } else { Cell::Number(*v) }).collect()
    };
    let file = TableFile::new(npy("<f8", false, "(3, 2)", &doubles(&numbers)));
    assert_eq!(file.source().names(), ["c1", "c2"]);
    assert!(file.source().is_unnamed());
    assert_eq!(rows(&file), [(1, cells(&[1.0, 2.0])), (2, cells(&[3.0, 4.0])), (3, cells(&[f64::NAN, 6.0]))]);
    let file = TableFile::new(npy("<f8", true, "(3, 2)", &doubles(&numbers)));
    assert_eq!(rows(&file), [(1, cells(&[1.0, 4.0])), (2, cells(&[2.0, f64::NAN])), (3, cells(&[3.0, 6.0]))]);
    let column = TableFile::new(npy(">i2", false, "(2,)", &[0xff, 0xfe, 0x01, 0x00]));
    assert_eq!(rows(&column), [(1, cells(&[-2.0])), (2, cells(&[256.0]))]);
}

#[test]
fn arrays_of_an_archive_stand_side_by_side() {
    let inputs = npy("<f8", true, "(2, 3)", &doubles(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let bytes = npz(&[
        ("X.npy", inputs),
        ("y.npy", npy("|u1", false, "(2, 1)", &[7, 8])),
        ("z.npy", npy("|b1", false, "(2,)", &[1, 0])),
    ]);
    let (schema, chunk, _) = fit(bytes, &target("y")).unwrap();
    assert_eq!(schema.feature_names(), ["X1", "X2", "X3", "z"]);
    assert_eq!(chunk.x.as_slice(), [1.0, 3.0, 5.0, 1.0, 2.0, 4.0, 6.0, 0.0]);
    assert_eq!(chunk.y.unwrap().as_slice(), [7.0, 8.0]);
    assert_eq!(schema.positions, None);
}

#[test]
fn formats_can_be_mixed() {
    let (schema, ..) =
        fit("zone,sold,y\n1,true,1\n2,false,2\n1,true,3\n", &Wanted { categorical: names(&["zone"]), ..target("y") })
            .unwrap();
    let archive = npz(&[
        ("sold.npy", npy("|u1", false, "(2,)", &[1, 0])),
        ("zone.npy", npy("<f8", false, "(2,)", &doubles(&[2.0, 1.0]))),
    ]);
    assert_eq!(apply(&schema, archive).unwrap().0.x.as_slice(), [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
}

proptest! {
    #[test]
    fn numbers_come_back_as_they_were_written(
        columns in 1usize..6,
        numbers in prop::collection::vec(any::<f64>().prop_filter("finite", |v| v.is_finite()), 6..60),
        delimiter in prop::sample::select(vec![',', ';', '\t', '|']),
        header in any::<bool>(),
        style in any::<u64>(),
    ) {
        let rows: Vec<&[f64]> = numbers.chunks_exact(columns).collect();
        let line_end = if style & 1 == 0 { "\n" } else { "\r\n" };
        let mut bits = style;
        let mut text = String::new();
        if header {
            let names: Vec<String> = (0..columns).map(|j| format!("\"column{delimiter} {j}\"")).collect();
            text += &(names.join(&delimiter.to_string()) + line_end);
        }
        for row in &rows {
            let cells: Vec<String> = row.iter().map(|value| {
                bits = bits.rotate_left(7).wrapping_mul(6364136223846793005).wrapping_add(1);
                let written = if bits & 2 == 0 { format!("{value:?}") } else { format!("{value:e}") };
                let written = if delimiter == ';' && style & 4 == 0 { written.replace('.', ",") } else { written };
                let written = if bits & 8 == 0 { format!("\"{written}\"") } else { written };
                if bits & 16 == 0 { format!(" {written} ") } else { written }
            }).collect();
            text += &(cells.join(&delimiter.to_string()) + line_end);
            if bits & 32 == 0 { text += line_end; }
        }
        // One column has no delimiter to go by, and a decimal comma would be one.
        prop_assume!(columns > 1 || !text.contains(','));
        let file = TableFile::new(&text);
        prop_assert_eq!(file.source().is_unnamed(), !header);
        let read: Vec<Cell> = self::rows(&file).into_iter().flat_map(|(_, cells)| cells).collect();
        let written: Vec<Cell> = rows.concat().into_iter().map(Cell::Number).collect();
        prop_assert_eq!(read, written);
    }
}
