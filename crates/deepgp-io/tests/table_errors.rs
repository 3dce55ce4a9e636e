//! What can be wrong with a table, and what is said then.

mod common;

use common::*;
use deepgp_io::Result;
use deepgp_io::table::{InputColumn, Kind, Missing, Schema, Source, TargetKind, Targets, Wanted};
use parquet::basic::Compression;

/// The message, which must begin with the file, without it.
#[track_caller]
fn message<T>(result: Result<T>) -> String {
    let message = result.err().expect("this should fail").to_string();
    let (path, rest) = message.split_once("table.data").unwrap_or_else(|| panic!("no file in: {message}"));
    assert!(path.starts_with('/') && !path.contains(' '), "{message}");
    rest.to_string()
}

#[track_caller]
fn assert_says<T>(result: Result<T>, expected: &str) {
    assert_eq!(message(result), expected);
}

#[track_caller]
fn assert_fit_says(bytes: impl AsRef<[u8]>, wanted: &Wanted, expected: &str) {
    assert_says(fit(bytes, wanted), expected);
}

#[test]
fn files_that_cannot_be_read() {
    let error = Source::open("/nowhere/at/all.csv".as_ref()).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/at/all.csv: the file cannot be read: "), "{error}");
    let error = Source::open("/".as_ref()).unwrap_err().to_string();
    assert!(error.starts_with("/: the file cannot be read: "), "{error}");
    for path in ["/nowhere/at/all.csv", "/"] {
        let open = |open: fn(&std::path::Path) -> Result<Source>| open(path.as_ref()).unwrap_err().to_string();
        assert_eq!(open(Source::open), open(Source::open_streamed));
    }
}

#[test]
#[cfg(unix)]
fn a_pipe_is_refused_before_anybody_writes_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.data");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let (say, said) = std::sync::mpsc::channel();
    std::thread::spawn(move || say.send(message(Source::open(&path))));
    let said = said.recv_timeout(std::time::Duration::from_secs(60)).expect("opening must not wait");
    assert_eq!(said, ": it is a pipe or a device; save the table to a file first");
}

#[test]
fn tables_without_rows() {
    assert_says(TableFile::new("").open(), ": the file is empty; a table needs rows");
    let no_rows = ": the table has columns but no rows; check the program that wrote it";
    assert_says(TableFile::new("a,b\n\n").open(), no_rows);
    assert_says(TableFile::new(npy("<f8", false, "(0, 2)", &[])).open(), no_rows);
    assert_says(TableFile::new(npz(&[("x.npy", npy("<f8", false, "(0,)", &[]))])).open(), no_rows);
    let empty = parquet("message t { REQUIRED DOUBLE a; }", Compression::UNCOMPRESSED, &[]);
    assert_says(TableFile::new(empty).open(), no_rows);
}

#[test]
fn text_that_is_no_table() {
    let said = ", line 2: the text is neither UTF-8 nor Windows-1252; save the table as UTF-8";
    assert_fit_says(b"a,b\n1,\xe4\x81\n", &target("a"), said);
    let said = message(TableFile::new(b"\xff\xfea\0,\0").open());
    assert!(said.starts_with(", line 1: the text is neither UTF-8 nor Windows-1252"), "{said}");
    assert_fit_says(
        "a,y\n1,2\n\n3\n",
        &target("y"),
        ", line 4: expected 2 fields, as in the first record, found 1; mend the line, or quote fields that hold the delimiter",
    );
    assert!(message(fit("a,y\n1,2\n3,\"4\n", &target("y"))).starts_with(", line 3: a quote opens in this record"));
    assert!(message(TableFile::new("a,b\r1,2\r").open()).starts_with(": the lines end with carriage returns alone;"));
}

#[test]
fn files_that_end_too_early() {
    let again = "; copy or download it again";
    let csv: String = (0..40_000).map(|i| format!("{i},{}\n", i * 7)).collect();
    let zipped = gzip(csv.as_bytes());
    for length in [12, zipped.len() / 2, zipped.len() - 9] {
        let said = message(fit(&zipped[..length], &target("c2")));
        assert!(said.starts_with(": the file ends too early (") && said.ends_with(again), "{said}");
    }
    let numbers = npy("<f8", false, "(3, 2)", &doubles(&[0.0; 6]));
    let said = ": the file ends too early (3 x 2 numbers take 48 bytes, but there are 47); copy or download it again";
    assert_says(TableFile::new(&numbers[..numbers.len() - 1]).open(), said);
    for length in [7, 9, 40] {
        assert!(message(TableFile::new(&numbers[..length]).open()).starts_with(": the file ends too early ("));
    }
    let longer = [&numbers[..], &[0]].concat();
    assert_says(
        TableFile::new(longer).open(),
        ": the file is damaged (there is more than 3 x 2 numbers); copy or download it again",
    );
    let table = one_of_each().remove(5);
    for length in [4, 5, 100, table.len() - 1] {
        let said = message(TableFile::new(&table[..length]).open());
        assert_eq!(
            said,
            ": the file ends too early (the footer of a Parquet file is not there); copy or download it again"
        );
    }
    let archive = npz(&[("x.npy", numbers)]);
    assert!(message(TableFile::new(&archive[..archive.len() - 30]).open()).starts_with(": the file is damaged ("));
}

#[test]
fn formats_that_are_not_read() {
    let said = message(TableFile::new(b"\x89HDF\r\n\x1a\n").open());
    assert_eq!(said, ": the format, HDF5, is not read; save the table as CSV or Parquet");
    let said = message(TableFile::new(b"BZh91AY&SY\xce\xc1\x9a").open());
    assert_eq!(said, ": the format, bzip2 compression, is not read; save the table as CSV or Parquet");
    let said = message(TableFile::new(gzip(&npy("<f8", false, "(1,)", &[0; 8]))).open());
    assert_eq!(said, ": the file is a NumPy array compressed with gzip; decompress it first");
    let said = message(TableFile::new(npz(&[("xl/workbook.xml", b"<xml>".to_vec())])).open());
    assert!(said.contains("the zip archive holds `xl/workbook.xml`, which is no NumPy array"), "{said}");
    let two = npz(&[("a.npy", npy("|u1", false, "(2,)", &[1, 2])), ("b.npy", npy("|u1", false, "(1,)", &[1]))]);
    assert!(message(TableFile::new(two).open()).contains("array `a` has 2 rows, but `b` has 1"));
    let said = message(TableFile::new(npz(&[("a.npy", npy("<U3", false, "(1,)", &[0; 12]))])).open());
    assert!(said.contains("array `a` has elements of type <U3"), "{said}");
    let nested = "message t { REQUIRED GROUP deep { REQUIRED DOUBLE a; } }";
    let nested = parquet(nested, Compression::UNCOMPRESSED, &[vec![(Values::Doubles(vec![1.0]), None)]]);
    assert_says(TableFile::new(nested).open(), ": column `deep` is nested; save the table without it");
}

#[test]
fn columns_that_are_not_there() {
    let table = "Weight,size,y\n1,2,3\n";
    let listed = "the columns are `Weight`, `size`, `y`";
    let said =
        |role: &str, name: &str, hint: &str| format!(": there is no column `{name}`, which is {role}; {hint}{listed}");
    assert_fit_says(table, &target("price"), &said("asked to be a target", "price", ""));
    let ignore = Wanted { ignore: names(&["weight"]), ..target("y") };
    assert_fit_says(table, &ignore, &said("asked to be ignored", "weight", "did you mean `Weight`? "));
    let categorical = Wanted { categorical: names(&["sise"]), ..target("y") };
    assert_fit_says(table, &categorical, &said("asked to be a category", "sise", "did you mean `size`? "));
    let (schema, ..) = fit(table, &target("y")).unwrap();
    let blanks = ": there is no column `y`, which is asked to be a target; the only column is `x y`: no delimiter was found, \
                  which may be a comma, a semicolon, a tab or `|`";
    assert_fit_says("x y\n1 2\n3 4\n", &target("y"), blanks);
    let only = npz(&[("x.npy", npy("<f8", false, "(1,)", &[0; 8]))]);
    assert!(message(fit(only, &target("y"))).ends_with("asked to be a target; the columns are `x`"));
    let expected = ": there is no column `size`, which is an input of the model; the columns are `Weight`, `y`";
    assert_says(apply(&schema, "Weight,y\n1,2\n"), expected);
    let said = message(apply(&schema, "1,2,3\n"));
    assert!(
        said.contains("there is no column `Weight`") && said.contains("the columns are `c1`, `c2`, `c3`"),
        "{said}"
    );
    let wide = TableFile::new(
        (1..=30).map(|i| format!("name{i}")).collect::<Vec<_>>().join(",") + "\n" + &"1,".repeat(29) + "1\n",
    );
    let said = message(Schema::scan(&wide.source(), &target("zzz")));
    assert!(said.ends_with("`name20` and 10 more"), "{said}");
}

#[test]
fn wishes_that_contradict_each_other() {
    let table = "x,y\n1,2\n";
    let both = Wanted { ignore: names(&["y"]), ..target("y") };
    assert_fit_says(table, &both, ": column `y` is asked to be a target and asked to be ignored; keep one of the two");
    let both = Wanted { categorical: names(&["y"]), ..target("y") };
    assert_fit_says(
        table,
        &both,
        ": column `y` is asked to be a target and asked to be a category; keep one of the two",
    );
    let twice = Wanted { targets: names(&["y", "y"]), ..Wanted::default() };
    assert_fit_says(
        table,
        &twice,
        ": column `y` is asked to be a target and asked to be one again; keep one of the two",
    );
    assert_fit_says(table, &Wanted::default(), ": no target column is named; name one of `x`, `y`");
    let all = Wanted { ignore: names(&["x"]), ..target("y") };
    assert_fit_says(table, &all, ": all 2 columns are targets or ignored, so no input is left; ignore fewer");
    let only = ": its only column is the target, so there is no input; give a table with more columns";
    assert_fit_says("y\n1\n2\n", &target("y"), only);
}

#[test]
fn text_among_numbers() {
    let table: String = (0..1000).map(|i| if i >= 997 { "oops,1\n".into() } else { format!("{i},1\n") }).collect();
    assert_fit_says(
        format!("x,y\n{table}"),
        &target("y"),
        ", line 999, column `x`: \"oops\" is not a number, but 997 of the column's 1000 cells are; mend it, or name the \
         column with --categorical",
    );
    // As many numbers as texts make a category.
    assert!(fit("x,y\n1,1\na,2\n", &target("y")).is_ok());
    let long = "z".repeat(60);
    assert_fit_says(
        format!("x,y\n1,1\n2,{long}\n3,4\n"),
        &target("y"),
        &format!(
            ", line 3, column `y`: \"{}…\" is not a number; mend the cell, or take the target as classes with --task classification",
            "z".repeat(40)
        ),
    );
    let said = ", line 2, column `y`: \"1.3027m\" is not a number; write it without units and separators, or take the target as \
                classes with --task classification";
    assert_fit_says("x,y\n1,1.3027m\n2,3\n2,4\n", &target("y"), said);
    let (schema, ..) = fit("x,b,y\n1,true,1\n2,false,2\n", &target("y")).unwrap();
    let said = message(apply(&schema, "x,b\n1,true\nlots,true\n"));
    assert_eq!(said, ", line 3, column `x`: \"lots\" is not a number; it was at fitting: mend the cell");
    let said = message(apply(&schema, "x,b\n1,2\n"));
    assert_eq!(said, ", line 2, column `b`: \"2\" is not true or false; it was at fitting: mend the cell");
}

#[test]
fn cells_that_are_no_dates_among_dates() {
    let dates: String = (1..=28).map(|day| format!("2024-02-{day:02},{day}\n")).collect();
    let expected = "a date, YYYY-MM-DD or YYYY-MM-DD HH:MM:SS, with an offset such as +01:00 or without";
    for odd in ["2024-02-30", "Feb 29", "45351", "true"] {
        let said = format!(
            ", line 30, column `day`: \"{odd}\" is not {expected}, but 28 of the column's 30 cells are; mend it, or name \
             the column with --categorical"
        );
        assert_fit_says(format!("day,y\n{dates}{odd},1\n{odd},2\n"), &target("y"), &said);
    }
    let (schema, ..) = fit(format!("day,y\n{dates}"), &target("y")).unwrap();
    for odd in ["2024-02-30", "March", "45351", "true"] {
        let said = format!(", line 3, column `day`: \"{odd}\" is not {expected}; it was at fitting: mend the cell");
        assert_says(apply(&schema, format!("day,x\n2024-03-01,1\n{odd},1\n")), &said);
    }
}

#[test]
fn infinity() {
    let finite = "is not finite; mend it, or leave the cell empty";
    assert_fit_says("x,y\n1,2\n-Infinity,3\n", &target("y"), &format!(", line 3, column `x`: \"-inf\" {finite}"));
    assert_fit_says("x,y\n1,1e999\n", &target("y"), &format!(", line 2, column `y`: \"inf\" {finite}"));
    let array = npy("<f8", false, "(2, 2)", &doubles(&[1.0, 2.0, f64::INFINITY, 4.0]));
    assert_fit_says(array, &target("c2"), &format!(", row 2, column `c1`: \"inf\" {finite}"));
    // A column that is not used may hold anything.
    assert!(fit("x,z,y\n1,inf,2\n", &Wanted { ignore: names(&["z"]), ..target("y") }).is_ok());
    let (schema, ..) = fit("x,k,y\n1,a,2\n", &target("y")).unwrap();
    assert_says(apply(&schema, "x,k\ninf,a\n"), &format!(", line 2, column `x`: \"inf\" {finite}"));
    assert_says(apply(&schema, "x,k\n1,inf\n"), &format!(", line 2, column `k`: \"inf\" {finite}"));
}

#[test]
fn tables_of_which_nothing_is_left() {
    let rows: String = (0..1000).map(|i| format!("n{},{i}\n", i % 950)).collect();
    let said =
        ": no input is left: `id` only tell rows apart or are empty; keep one that says more with --keep-column COLUMN";
    assert_fit_says(format!("id,y\n{rows}"), &target("y"), said);
    assert_fit_says("id,y\n,1\n,2\n", &target("y"), said);
    let unknown = Wanted { keep: names(&["ident"]), ..target("y") };
    let said = message(fit(format!("id,y\n{rows}"), &unknown));
    assert!(said.starts_with(": there is no column `ident`, which is asked to be kept as an input"), "{said}");
}

#[test]
fn all_problems_are_told_at_once() {
    let mut text = String::from("a,day,b,z,y\n");
    for i in 0..40 {
        let a = if i == 5 { "many".into() } else { i.to_string() };
        let day = if i == 8 { "soon".into() } else { format!("2024-01-{:02}", 1 + i % 28) };
        let b = ["0.5", "inf"][usize::from(i == 3 || i == 4)];
        text += &format!("{a},{day},{b},{},{}\n", ["", "1"][usize::from(i != 9)], i * 2);
    }
    let expected = "a date, YYYY-MM-DD or YYYY-MM-DD HH:MM:SS, with an offset such as +01:00 or without";
    let said = [
        ": 4 problems:".to_string(),
        "  - line 5, column `b`: \"inf\" is not finite; mend it, or leave the cell empty".into(),
        "  - line 7, column `a`: \"many\" is not a number, but 39 of the column's 40 cells are; mend it, or name the column with \
         --categorical"
            .into(),
        format!(
            "  - line 10, column `day`: \"soon\" is not {expected}, but 39 of the column's 40 cells are; mend it, or name the \
             column with --categorical"
        ),
        "  - line 11, column `z`: the cell is missing, the only one in the table; leave such rows out with --missing drop, or fill \
         them in with --missing mean"
            .into(),
    ];
    assert_fit_says(text, &target("y"), &said.join("\n"));
    let both = Wanted { ignore: names(&["k"]), ..target("w") };
    let said = message(fit("x,y\n1,2\n", &both));
    assert!(said.contains("2 problems:") && said.contains("no column `w`") && said.contains("no column `k`"), "{said}");
}

#[test]
fn missing_cells() {
    let advice = "leave such rows out with --missing drop, or fill them in with --missing mean";
    let table = "x,z,y\n1,2,3\n4,,5\n,6,\n";
    let said = format!(", line 3, column `z`: the cell is missing, and 2 more in the table; {advice}");
    assert_fit_says(table, &target("y"), &said);
    let left_out = "targets and exposures cannot be filled in: leave such rows out with --missing drop";
    let said = format!(", line 2, column `y`: the cell is missing, the only one in the table; {left_out}");
    assert_fit_says("x,y\n1,\n2,3\n", &target("y"), &said);
    let (schema, ..) = fit("x,y\n1,2\n", &target("y")).unwrap();
    let scored = TableFile::new("x,y\n1,2\n2,\n");
    let scored = schema.encoder(&scored.source(), Targets::Needed).unwrap().read_all();
    assert_says(scored, &format!(", line 3, column `y`: the cell is missing; {left_out}"));
    // A column with nothing in it is left out, unless rows with missing cells are: then all would be.
    for missing in [Missing::Reject, Missing::Mean] {
        let (schema, _, notes) = fit("x,z,y\n1,NA,2\n3,,4\n", &Wanted { missing, ..target("y") }).unwrap();
        assert_eq!(schema.feature_names(), ["x"]);
        assert!(notes[0].contains("`z` is left out: there is nothing in it"), "{notes:?}");
    }
    let said = ": column `y` has no value in any of 2 rows; name another target";
    assert_fit_says("x,y\n1,\n2,\n", &target("y"), said);
    let drop = Wanted { missing: Missing::Drop, ..target("y") };
    let said = ": each of the 2 rows would be left out for a missing cell; leave columns out with --ignore, or fill cells \
                in with --missing mean";
    assert_fit_says("x,y\n1,\n,2\n", &drop, said);
    // The one value of the column is in a row that is left out for its target.
    let mean = Wanted { missing: Missing::Mean, ..target("y") };
    assert_eq!(fit("x,z,y\n1,5,\n,5,2\n", &mean).unwrap().0.feature_names(), ["z"]);
    let column = InputColumn::new("x", Kind::Number { fill: None });
    let schema = Schema {
        inputs: vec![column],
        targets: names(&["y"]),
        target_kind: TargetKind::Numbers,
        missing: Missing::Mean,
        positions: None,
        ..Schema::default()
    };
    assert!(message(apply(&schema, "x,w\n,1\n")).contains("the model has no mean to fill it in with"));
}

#[test]
fn files_that_change_between_passes_and_are_not_kept() {
    let changed = |before: Vec<u8>, after: Vec<u8>| {
        let file = TableFile::new(before);
        let source = file.open_streamed().unwrap();
        std::fs::write(&file.path, after).unwrap();
        message(source.rows())
    };
    let narrow = || npy("|u1", false, "(2,)", &[1, 2]);
    let said = changed(narrow(), npy("|u1", false, "(1, 2)", &[1, 2]));
    assert!(said.starts_with(": the file changed while it was read (it had 1 columns and now has 2)"), "{said}");
    let said = changed(npz(&[("a.npy", narrow())]), npz(&[("b.npy", narrow())]));
    assert!(said.starts_with(": the file changed while it was read (its columns"), "{said}");
}

#[test]
fn points_and_commas_cannot_both_be_decimal_marks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("both.csv");
    std::fs::write(&path, "x;y\n1,5;2\n4.311;3\n").unwrap();
    let source = deepgp_io::table::Source::open(&path).unwrap();
    let wanted = deepgp_io::table::Wanted { targets: vec!["y".into()], ..Default::default() };
    let message = deepgp_io::table::Schema::scan(&source, &wanted).unwrap_err().to_string();
    for part in ["both.csv", "\"4.311\" in line 3", "\"1,5\" in line 2", "one decimal mark"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn points_and_commas_may_both_be_there_if_one_is_in_a_column_that_is_not_used() {
    let file = TableFile::new("a;version;y\n0,5;1.2;0,123\n0,7;1.3;0,2\n");
    let (targets, ignore) = (vec!["y".to_string()], vec!["version".to_string()]);
    let wanted = Wanted { targets: targets.clone(), ignore, ..Default::default() };
    let (schema, _) = Schema::scan(&file.source(), &wanted).unwrap();
    // At fitting, and in a table to predict whose target is not looked at.
    let read = |file: &TableFile, targets| schema.encoder(&file.source(), targets).unwrap().read_all();
    let (chunk, _) = read(&file, Targets::Needed).unwrap();
    assert_eq!((chunk.x[(0, 0)], chunk.y.unwrap()[(1, 0)]), (0.5, 0.2));
    let other = TableFile::new("a;version;y\n0,5;1.2;0.123\n");
    assert_eq!(read(&other, Targets::Unneeded).unwrap().0.x[(0, 0)], 0.5);
    assert!(read(&other, Targets::Needed).unwrap_err().to_string().contains("one decimal mark"));
    // A column that is used is looked at.
    let wanted = Wanted { targets, ..Default::default() };
    assert!(Schema::scan(&file.source(), &wanted).unwrap_err().to_string().contains("\"1.2\" in line 2"));
}
