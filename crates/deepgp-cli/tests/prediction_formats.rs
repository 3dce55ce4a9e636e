//! Where predictions come from and go to: files of text, Parquet, standard input and output.

mod common;

use std::io::Write;
use std::process::Stdio;

use common::{Ended, Place, arm, column};
use deepgp_io::table::{Schema, Source, Targets, Wanted};

/// A folder with a table and a model of it.
fn fitted() -> Place {
    let place = Place::new();
    place.write("arm.csv", arm(700, 1));
    place.done(
        "fit arm.csv --target distance --hidden-layers 0 --inducing 10 --steps 20 --threads 1 --out m.deepgp --quiet",
    );
    place
}

#[test]
fn standard_input_is_read_like_a_file() {
    let place = fitted();
    let from_file = place.done("predict m.deepgp arm.csv").stdout;
    let mut child = place.command("predict m.deepgp -").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(place.path("arm.csv")).unwrap()).unwrap();
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stdout.lines().count()), (Some(0), 701));
    assert_eq!(ended.stdout, from_file);
    let empty = place.run("predict m.deepgp -");
    assert!(empty.code == Some(1) && empty.stderr.contains("standard input"), "{}", empty.stderr);
}

#[test]
fn parquet_has_the_same_numbers_as_text() {
    let place = fitted();
    // A row that cannot be used has no predictions.
    place.write("new.csv", place.read("arm.csv").replacen("\n", "\nx,,,,,,,,\n", 1).replacen("x,", ",", 1));
    for out in ["out.csv", "out.parquet"] {
        place.done(&format!("predict m.deepgp new.csv --keep a1 --quantiles 0.25 --missing drop --out {out} --quiet"));
    }
    let text = place.read("out.csv");
    let source = Source::open(&place.path("out.parquet")).unwrap();
    assert_eq!(source.names().join(","), text.lines().next().unwrap());
    let wanted = Wanted { targets: vec!["mean".into()], missing: deepgp_io::table::Missing::Drop, ..Wanted::default() };
    let wanted = Wanted { ignore: vec!["a1".into()], ..wanted };
    let (schema, _) = Schema::scan(&source, &wanted).unwrap();
    let (chunk, _) = schema.encoder(&source, Targets::Needed).unwrap().read_all_watched(&mut |_| ()).unwrap();
    assert_eq!((chunk.read, chunk.kept.len(), chunk.kept[0]), (701, 700, 1));
    let means = chunk.y.unwrap();
    assert_eq!(means.as_slice(), &column(&text, "mean")[1..]);
    let refused = place.run("predict m.deepgp arm.csv --out out.npy");
    assert!(refused.code == Some(2) && refused.stderr.contains(".parquet"), "{}", refused.stderr);
}

#[test]
fn on_request_no_cell_is_one_that_a_spreadsheet_runs() {
    let place = Place::new();
    let cells = ["=1+1", "+a", "-b", "@c", "-5", "plain", "\"\t=2\""];
    let row = |i: usize| format!("{},{}.5,{}\n", cells[i % cells.len()], i * 7 % 11, i * 3 % 5);
    place.write("t.csv", format!("=note,x,y\n{}", (0..42).map(row).collect::<String>()));
    place.done(
        "fit t.csv --target y --ignore =note --hidden-layers 0 --inducing 5 --steps 2 --threads 1 --out m.deepgp",
    );
    let first = |flag: &str| {
        place.done(&format!("predict m.deepgp t.csv --keep =note --out p.csv {flag}"));
        let text = place.read("p.csv");
        let cells: Vec<String> = text.lines().take(8).map(|line| line.split(',').next().unwrap().to_string()).collect();
        (cells, text)
    };
    let (safe, text) = first("--safe-csv");
    assert_eq!(safe, ["'=note", "'=1+1", "'+a", "'-b", "'@c", "-5", "plain", "'=2"].map(String::from));
    let (plain, same) = first("");
    assert_eq!(plain, ["=note", "=1+1", "+a", "-b", "@c", "-5", "plain", "=2"].map(String::from));
    // Predictions are numbers, negative ones too.
    let numbers =
        |text: &str| text.lines().skip(1).map(|line| line.split_once(',').unwrap().1.to_string()).collect::<Vec<_>>();
    assert_eq!(numbers(&text), numbers(&same));
    let refused = place.run("predict m.deepgp t.csv --safe-csv --out p.parquet");
    assert!(refused.code == Some(2) && refused.stderr.contains("--safe-csv is for text"), "{}", refused.stderr);
}
