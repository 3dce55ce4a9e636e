//! Honest splits through the real binary: the last rows, groups, weights.

mod common;

use std::fmt::Write as _;
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Place, assert_same, signal};
use deepgp::noise::{Key, Purpose};
use serde_json::Value;

/// A model that takes a moment.
const SMALL: &str = "--hidden-layers 0 --inducing 12 --steps 30 --threads 1 --likelihood gaussian";

/// Visits of patients, three to each: a day, the patient, a weight, two inputs and a target. Days are not in the order of the table.
fn visits(rows: usize) -> String {
    let key = Key::new(1, Purpose::Simulate);
    let mut text = String::from("day,patient,w,x,z,y\n");
    for i in 0..rows {
        let [x, z] = [0, 1].map(|c| key.uniform([i as u32, c, 0, 0]));
        let day = i * 37 % rows;
        let (month, day) = (1 + day / 28, 1 + day % 28);
        let y = (3.0 * x).sin() + 0.1 * z + 0.01 * key.uniform([i as u32, 2, 0, 0]);
        writeln!(text, "2024-{month:02}-{day:02},p{},{},{x},{z},{y}", i / 3, 1 + i % 2).unwrap();
    }
    text
}

fn notes(summary: &Value) -> String {
    summary["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap().to_string() + "\n").collect()
}

#[test]
fn the_last_rows_go_by_the_date_by_a_named_column_or_by_the_order() {
    let place = Place::new();
    place.write("visits.csv", visits(240));
    let fit = place.json(&format!("fit visits.csv --target y --ignore patient,w --test last:0.2 {SMALL}"));
    assert_eq!(fit["test"]["rows"], 48);
    assert!(
        notes(&fit).contains("the last rows by `day` are held out for testing, and the last of the others"),
        "{fit}"
    );
    // The same rows as a table of its own, with the others as another: the same model, and the same scores.
    let all = visits(240);
    let (head, lines) = all.split_once('\n').unwrap();
    let mut sorted: Vec<&str> = lines.lines().collect();
    sorted.sort();
    place.write("late.csv", format!("{head}\n{}\n", sorted[192..].join("\n")));
    let evaluated = place.json("evaluate model.deepgp late.csv");
    let rmse = |summary: &Value| summary["test"]["rmse"].as_f64().unwrap();
    assert!((rmse(&evaluated) - rmse(&fit)).abs() < 1e-9, "{evaluated} {fit}");
    // By a number, which is an input too, and by the order of the table.
    let by_x = place.json(&format!("fit visits.csv --target y --ignore patient,w --test last:0.25:x {SMALL}"));
    assert_eq!(by_x["test"]["rows"], 60);
    assert!(notes(&by_x).contains("the last rows by `x`"), "{by_x}");
    let by_order = place.json(&format!("fit visits.csv --target y --ignore day,patient,w --test last:0.1 {SMALL}"));
    assert!(notes(&by_order).contains("the last rows, in the order of the table,"), "{by_order}");
    // What is scored again is what was held out.
    place.done("report model.deepgp --out report.html");
    let page = place.read("report.html");
    assert!(page.contains("the last, in the order of the table"));
    for (arguments, said) in [
        ("--test last:0.2:dya", "the columns are `day`, `patient`"),
        ("--test last:0.2:patient", "column `patient`: 240 cells are not a date"),
        ("--test latest:0.2", "or of the last ones, last:0.2 or last:0.2:COLUMN"),
        ("--test last:1", "--test last:1: give a share of the rows, from 0 to below 1"),
        ("--test last:0.2 --group patient", "contradict each other"),
        ("--group patiet --test 0.2", "did you mean `patient`?"),
        ("--group y --test 0.2", "column `y` is asked to be a target and asked to be the group"),
    ] {
        let wrong = place.run(&format!("fit visits.csv --target y {SMALL} {arguments}"));
        assert!(wrong.code != Some(0) && wrong.stderr.contains(said), "{arguments}: {}", wrong.stderr);
    }
}

#[test]
fn groups_stay_together_are_no_input_and_are_not_needed_to_predict() {
    let place = Place::new();
    place.write("visits.csv", visits(240));
    let fit = place.json(&format!("fit visits.csv --target y --ignore w,day --group patient --test 0.2 {SMALL}"));
    assert_eq!((&fit["inputs"], &fit["test"]["rows"]), (&serde_json::json!(["x", "z"]), &serde_json::json!(48)));
    let said = notes(&fit);
    assert!(
        said.contains("rows of one `patient` stay together wherever some are held out: 240 rows of 80 groups"),
        "{said}"
    );
    place.write("new.csv", "x,z\n0.5,0.5\n");
    assert_eq!(place.done("predict model.deepgp new.csv").stdout.lines().count(), 2);
    let config = "target = 'y'\ngroup = 'patient'\nignore = ['w', 'day']\ntest = 0.2\n";
    place.write("fit.toml", config);
    place.done(&format!("fit visits.csv --config fit.toml {SMALL} --out again.deepgp"));
    assert_same(&place.model("model.deepgp"), &place.model("again.deepgp"));
    let one: String = visits(60)
        .lines()
        .map(|line| line.to_string() + if line.starts_with("day") { ",g\n" } else { ",a\n" })
        .collect();
    place.write("one.csv", one);
    let wrong = place.run(&format!("fit one.csv --target y --ignore w,day,patient --group g --test 0.2 {SMALL}"));
    assert!(wrong.stderr.contains("a split by groups needs at least 2 groups, but there is 1"), "{}", wrong.stderr);
}

#[test]
fn a_fit_that_was_killed_makes_the_same_split_again() {
    for flags in
        ["--group patient --ignore w,day --test 0.2", "--test last:0.2 --ignore w,patient", "--weights w --test 0.2"]
    {
        let place = Place::new();
        place.write("visits.csv", visits(240));
        let fit = format!(
            "fit visits.csv --target y {} --hidden-layers 0 --inducing 12 --threads 1 --steps 3000 --validation 0.2 \
             --patience 1000 --checkpoint-every 10",
            if flags.contains("weights") { format!("{flags} --ignore day,patient") } else { flags.into() }
        );
        place.done(&format!("{fit} --out whole.deepgp --quiet"));
        let mut child = place.start(&format!("{fit} --out cut.deepgp --quiet"));
        let (checkpoint, started) = (place.path("cut.deepgp.checkpoint"), Instant::now());
        while !(checkpoint.exists() && place.model("cut.deepgp.checkpoint").record.steps > 0) {
            assert!(started.elapsed() < Duration::from_secs(60), "no step was made");
            sleep(Duration::from_millis(5));
        }
        signal(&child, "KILL");
        child.wait().unwrap();
        assert!(place.model("cut.deepgp.checkpoint").record.steps < 3000);
        place.done("resume cut.deepgp.checkpoint --quiet");
        assert_same(&place.model("whole.deepgp"), &place.model("cut.deepgp"));
    }
}

#[test]
fn weights_count_in_training_and_in_scores_and_bad_ones_are_named() {
    let place = Place::new();
    place.write("visits.csv", visits(240));
    let flags = format!("--target y --ignore day,patient --weights w --test 0.2 {SMALL}");
    let weighted = place.json(&format!("fit visits.csv {flags}"));
    assert_eq!(
        (&weighted["inputs"], &weighted["weighted_by"]),
        (&serde_json::json!(["x", "z"]), &serde_json::json!("w"))
    );
    let said = place.done(&format!("fit visits.csv {flags}")).stderr;
    assert!(said.contains("On 48 test rows, weighted by `w`:"), "{said}");
    assert!(place.done("info model.deepgp").stdout.contains("weighted by `w`"));
    let plain =
        place.json(&format!("fit visits.csv --target y --ignore day,patient,w --test 0.2 {SMALL} --out plain.deepgp"));
    assert_ne!(weighted["test"]["rmse"], plain["test"]["rmse"]);
    // A row of weight 2 scores like two rows, and one of weight 0 like none.
    place.write("twice.csv", "x,z,y,w\n0.1,0.2,0.3,1\n0.4,0.2,0.9,1\n0.4,0.2,0.9,1\n");
    place.write("heavy.csv", "x,z,y,w\n0.1,0.2,0.3,1\n0.4,0.2,0.9,2\n0.9,0.9,9.9,0\n");
    let rmse = |table: &str| place.json(&format!("evaluate model.deepgp {table}"))["test"]["rmse"].as_f64().unwrap();
    assert!((rmse("twice.csv") - rmse("heavy.csv")).abs() < 1e-12);
    place.write("bare.csv", "x,z,y\n0.1,0.2,0.3\n0.4,0.2,0.9\n");
    let bare = place.done("evaluate model.deepgp bare.csv");
    assert!(bare.stderr.contains("there is no column `w` to weigh rows by"), "{}", bare.stderr);
    assert!(bare.stdout.starts_with("2 rows\n"), "{}", bare.stdout);
    for (text, said) in [
        (
            "x,y,w\n1,2,-1\n2,3,\n3,4,1\n",
            "column `w`: 2 cells are not a number of 0 or more: line 2 has \"-1\", line 3 has nothing;",
        ),
        ("x,y,w\n1,2,0\n2,3,0\n", "column `w` is 0 in every row"),
        ("x,y\n1,2\n2,3\n", "`w`"),
    ] {
        place.write("bad.csv", text);
        let wrong = place.run(&format!("fit bad.csv --target y --weights w {SMALL}"));
        assert!(wrong.code == Some(1) && wrong.stderr.contains(said), "{}", wrong.stderr);
    }
}

#[test]
fn folds_score_models_of_the_other_rows_and_save_one_of_all() {
    let place = Place::new();
    place.write("visits.csv", visits(240));
    let fit = place.json(&format!("fit visits.csv --target y --ignore w,day --group patient --folds 4 {SMALL}"));
    let folds = &fit["cross_validation"];
    assert_eq!((&folds["folds"], &folds["rows"]), (&serde_json::json!(4), &serde_json::json!([60, 60, 60, 60])));
    let of = |subject: &Value, metric: &str| -> (f64, f64, Vec<f64>) {
        let own = &subject[metric];
        let each = own["each"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        (own["mean"].as_f64().unwrap(), own["deviation"].as_f64().unwrap(), each)
    };
    let (mean, deviation, each) = of(&folds["model"], "rmse");
    assert!(each.len() == 4 && (each.iter().sum::<f64>() / 4.0 - mean).abs() < 1e-12 && deviation > 0.0, "{folds}");
    assert_eq!(of(&folds["baselines"]["linear regression"], "log_likelihood").2.len(), 4);
    // The model that is saved knows all rows: it is that of a fit without a test.
    place.done(&format!("fit visits.csv --target y --ignore w,day --group patient {SMALL} --out all.deepgp"));
    assert_same(&place.model("model.deepgp"), &place.model("all.deepgp"));
    let said = place.done("info model.deepgp").stdout;
    assert!(said.contains("Cross-validation on 4 folds:") && said.contains("standard deviation"), "{said}");
    assert_eq!(place.files(), ["all.deepgp", "model.deepgp", "visits.csv"]);
    let told = place
        .done(&format!("fit visits.csv --target y --ignore w,day,patient --folds 2 {SMALL} --time-limit 30s"))
        .stderr;
    for said in [
        "fold 2 of 2: 120 training rows, 120 test rows",
        "fold 1 (120 rows)",
        "linear regression, mean",
        "fitted to all rows",
    ] {
        assert!(told.contains(said), "{said}: {told}");
    }
    for (flags, said) in [
        ("--folds 5 --test 0.2", "--folds"),
        ("--folds 1", "--folds 1: give at least 2"),
        ("--folds 300", "at least 300 rows"),
        ("--folds 100 --group patient", "at least 100 groups, but there are 80"),
    ] {
        let wrong = place.run(&format!("fit visits.csv --target y {SMALL} {flags}"));
        assert!(wrong.code != Some(0) && wrong.stderr.contains(said), "{flags}: {}", wrong.stderr);
    }
}

#[test]
fn folds_that_are_finished_are_told_of_when_the_others_are_interrupted() {
    let place = Place::new();
    place.write("visits.csv", visits(240));
    let fit = "fit visits.csv --target y --ignore w,day,patient --folds 3 --hidden-layers 0 --inducing 12 --threads 1 --json \
               --validation 0 --steps 2500";
    let mut child = place.start(fit);
    // Standard error tells when the second fold begins.
    let (mut said, mut byte) = (Vec::new(), [0]);
    let mut errors = child.stderr.take().unwrap();
    while !String::from_utf8_lossy(&said).contains("fold 2 of 3") {
        assert_eq!(std::io::Read::read(&mut errors, &mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
        said.push(byte[0]);
    }
    signal(&child, "INT");
    std::io::Read::read_to_end(&mut errors, &mut said).unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(said).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("Cross-validation on 1 of 3 folds:") && said.contains("there is no model"), "{said}");
    let summary: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(
        (&summary["interrupted"], &summary["cross_validation"]["rows"]),
        (&Value::Bool(true), &serde_json::json!([80]))
    );
    assert_eq!(place.files(), ["visits.csv"]);
}

#[test]
fn random_splits_that_look_wrong_are_told_of() {
    let place = Place::new();
    let mut lines: Vec<String> = visits(120).lines().map(String::from).collect();
    place.write("mixed.csv", lines.join("\n") + "\n");
    lines[1..].sort();
    place.write("sorted.csv", lines.join("\n") + "\n");
    let told = |arguments: &str| {
        let said = place.done(&format!("fit {arguments} --target y --ignore w {SMALL}")).stderr;
        (said.contains("in the order of `day`"), said.contains("--group patient"))
    };
    assert_eq!(told("mixed.csv --test 0.2"), (false, true));
    assert_eq!(told("sorted.csv --test 0.2"), (true, true));
    assert_eq!(told("sorted.csv --folds 2"), (true, true));
    assert_eq!(told("sorted.csv --test 0.2 --group patient"), (true, false));
    // Who holds nothing out, or the last rows, needs no such advice.
    assert_eq!(told("sorted.csv"), (false, false));
    assert_eq!(told("sorted.csv --test last:0.2"), (false, false));
}

#[test]
fn evaluate_says_what_a_report_says() {
    let place = Place::new();
    place.write("visits.csv", visits(240));
    let fit = format!("fit visits.csv --target y --ignore w,day,patient --test 0.2 --seed 7 {SMALL}");
    let seeds = &place.json(&fit)["seeds"];
    assert_eq!((&seeds["split"], &seeds["training"], &seeds["scores"]), (&7.into(), &7.into(), &0.into()));
    assert!(place.done(&fit).stderr.contains("seed 7 for the split"));
    assert!(place.done("info model.deepgp").stdout.contains("seeds     seed 7 for the split"));
    // Half of the rows were in the table of the fit.
    let (old, new) = (visits(240), visits(260));
    let some: Vec<&str> = old.lines().take(31).chain(new.lines().skip(241)).collect();
    place.write("new.csv", some.join("\n") + "\n");
    let evaluated = place.json("evaluate model.deepgp new.csv");
    assert!(evaluated["baselines"]["linear regression"]["rmse"].is_f64(), "{evaluated}");
    assert!(notes(&evaluated).contains("rows of new.csv have a copy among the training rows"), "{evaluated}");
    // Without the table of the fit it says what it cannot.
    std::fs::remove_file(place.path("visits.csv")).unwrap();
    let evaluated = place.json("evaluate model.deepgp new.csv");
    assert!(
        evaluated["baselines"].is_null()
            && notes(&evaluated).contains("there are no baselines, and nobody could check")
    );
    place.write(
        "far.csv",
        "x,z,y\n0.5,0.5,1000\n0.1,0.1,-1000\n0.2,0.2,1000\n".to_string() + &"0.5,0.5,900\n".repeat(40),
    );
    let far = place.done("evaluate model.deepgp far.csv").stderr;
    assert!(far.contains("the 90 % intervals hold 0.0 % of the rows of far.csv: they are too narrow"), "{far}");
}
