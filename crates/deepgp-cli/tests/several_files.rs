//! Proves that several files are one table: fitted to as one file is, gone on with, and refused with the name of the file that differs.

mod common;

use common::{Place, arm};

const SMALL: &str =
    "--hidden-layers 1 --width 2 --mean-inducing 20 --covariance-inducing 10 --threads 1 --test 0.2 --quiet";

/// The table of an arm as three files, the second of which has its columns the other way round.
fn parts(place: &Place) {
    let whole = arm(120, 1);
    let (header, rows) = whole.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let turned = |line: &str| line.split(',').rev().collect::<Vec<_>>().join(",");
    let file = |rows: &[&str]| format!("{header}\n{}\n", rows.join("\n"));
    place.write("whole.csv", &whole);
    place.write("a.csv", file(&rows[..50]));
    let middle: Vec<String> = rows[50..90].iter().map(|line| turned(line)).collect();
    place.write("b.csv", format!("{}\n{}\n", turned(header), middle.join("\n")));
    place.write("c.csv", file(&rows[90..]));
}

#[test]
fn several_files_are_fitted_to_as_one() {
    let place = Place::new();
    parts(&place);
    place.done(&format!("fit whole.csv --target distance {SMALL} --steps 12 --out whole.deepgp"));
    let whole = place.model("whole.deepgp");
    for kept in ["memory", "disk"] {
        let fit = format!("fit a.csv b.csv c.csv --target distance {SMALL} --rows-in {kept} --out parts.deepgp");
        place.done(&format!("{fit} --steps 12"));
        let parts = place.model("parts.deepgp");
        common::assert_same(&whole, &parts);
        assert_eq!((parts.record.data.rows(), parts.record.data.table().unwrap().more.len()), (120, 2));
        // Its rows are found again, in their files.
        let summary = place.json("resume parts.deepgp --steps 2");
        assert_eq!(summary["rows"], 120);
    }
    assert!(place.done("info parts.deepgp").stdout.contains("a.csv and 2 more"));
    place.done("report parts.deepgp --out r.html");
    // In another order it is another table, and so are fewer files.
    for files in ["--table b.csv --table a.csv --table c.csv", "--table a.csv"] {
        let other = place.run(&format!("resume parts.deepgp --steps 2 {files}"));
        assert!(other.stderr.contains("is not the table of the fit"), "{}", other.stderr);
    }
    place.done("resume parts.deepgp --steps 2 --table a.csv --table b.csv --table c.csv --quiet");
}

#[test]
fn a_file_that_differs_is_named() {
    let place = Place::new();
    parts(&place);
    let told = |files: &str| {
        let ended = place.run(&format!("fit {files} --target distance"));
        assert_ne!(ended.code, Some(0), "{files}");
        ended.stderr
    };
    place.write("other.csv", "a1,a2,a3,a4,a5,a6,a7,distance\n1,2,3,4,5,6,7,8\n");
    let missing = told("a.csv other.csv");
    assert!(
        missing.contains("other.csv: it has no column `a8`") && missing.contains("of the first, a.csv"),
        "{missing}"
    );
    place.write("wide.csv", place.read("a.csv").replace('\n', ",1\n").replacen(",1\n", ",extra\n", 1));
    assert!(told("a.csv wide.csv").contains("wide.csv: it has a further column `extra`"));
    place.write("mark.csv", "a1;a2;a3;a4;a5;a6;a7;a8;distance\n1,5;2;3;4;5;6;7;8;9\n");
    assert!(told("a.csv mark.csv").contains("mark.csv: it has another decimal mark"));
    assert!(told("a.csv none.csv").contains("none.csv"));
    assert!(told("a.csv b.csv a.csv").contains("are the same file"));
    // A cell is named by its file too.
    place.write("odd.csv", place.read("c.csv") + "1,2,3,4,5,6,7,8,far\n");
    let odd = told("a.csv odd.csv");
    assert!(odd.contains("a.csv and 1 more") && odd.contains("line 32 of file 2"), "{odd}");
}
