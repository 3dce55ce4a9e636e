//! What people ask for after the first fit: intervals, what predictions depend on, and whether another model is better.

mod common;

use std::fmt::Write as _;

use deepgp::noise::{Key, Purpose};

use common::{Place, arm, column};

const SMALL: &str = "--hidden-layers 0 --inducing 15 --steps 60 --threads 1";

/// Counts of two rates.
fn calls(rows: usize) -> String {
    let count = |i: usize| if i.is_multiple_of(2) { (i * 7) % 3 } else { 4 + (i * 5) % 6 };
    format!("shift,calls\n{}", (0..rows).map(|i| format!("{},{}\n", i % 2, count(i))).collect::<String>())
}

#[test]
fn intervals_are_two_columns_between_the_quantiles_that_they_stand_for() {
    let place = Place::new();
    place.write("arm.csv", arm(300, 1));
    place.done(&format!("fit arm.csv --target distance --transform-target log --out m.deepgp {SMALL}"));
    let json =
        place.json("predict m.deepgp arm.csv --quantiles 0.05,0.95,0.25,0.75 --interval 0.9,0.5 --draws 1 --out p.csv");
    let text = place.read("p.csv");
    let head = "mean,std,f_std,noise_std,q0.05,q0.95,q0.25,q0.75,lower0.9,upper0.9,lower0.5,upper0.5,draw1";
    assert_eq!(text.lines().next(), Some(head));
    assert_eq!(json["columns"], serde_json::json!(head.split(',').collect::<Vec<_>>()));
    for (end, quantile) in [("lower0.9", "q0.05"), ("upper0.9", "q0.95"), ("lower0.5", "q0.25"), ("upper0.5", "q0.75")]
    {
        for (end, quantile) in column(&text, end).iter().zip(column(&text, quantile)) {
            assert!((end / quantile - 1.0).abs() < 1e-9, "{end} {quantile}");
        }
    }
    let distance = column(&place.read("arm.csv"), "distance");
    let inside = column(&text, "lower0.9").into_iter().zip(column(&text, "upper0.9")).zip(&distance);
    let share = inside.filter(|((lower, upper), y)| lower <= *y && *y <= upper).count() as f64 / 300.0;
    assert!((0.8..=1.0).contains(&share), "{share}");
    // Several targets have intervals each, and Parquet has the same numbers.
    place.write("two.csv", arm(200, 2).replacen("a8", "reach", 1));
    place.done(&format!("fit two.csv --target distance,reach --out two.deepgp {SMALL}"));
    place.done("predict two.deepgp two.csv --interval 0.8 --out two.parquet");
    let source = deepgp_io::table::Source::open(&place.path("two.parquet")).unwrap();
    let named = |name: &str| source.names().iter().any(|own| own == name);
    assert!(["distance_lower0.8", "distance_upper0.8", "reach_lower0.8", "reach_upper0.8"].into_iter().all(named));
    for (wrong, said) in [
        ("--interval 0.9,0.5,0.90", "--interval 0.9: give each level once"),
        ("--interval 1", "--interval 1: give a probability between"),
        ("--interval 90", "--interval 90: give a probability between"),
        ("--interval=-0.5", "--interval -0.5: give a probability between"),
    ] {
        let ended = place.run(&format!("predict m.deepgp arm.csv {wrong} --out q.csv"));
        assert!(ended.code == Some(2) && ended.stderr.contains(said), "{wrong}: {}", ended.stderr);
    }
    assert!(!place.path("q.csv").exists());
}

#[test]
fn counts_have_intervals_of_whole_numbers_and_classes_none() {
    let place = Place::new();
    place.write("calls.csv", calls(300));
    place.done(&format!("fit calls.csv --target calls --task counts --out m.deepgp {SMALL}"));
    place.done("predict m.deepgp calls.csv --interval 0.9 --out p.csv");
    let (text, calls) = (place.read("p.csv"), column(&place.read("calls.csv"), "calls"));
    let (lower, upper) = (column(&text, "lower0.9"), column(&text, "upper0.9"));
    assert!(lower.iter().chain(&upper).all(|end| end.fract() == 0.0 && *end >= 0.0), "{text}");
    let inside = (0..300).filter(|i| lower[*i] <= calls[*i] && calls[*i] <= upper[*i]).count();
    assert!(inside >= 270 && lower[1] > lower[0], "{inside}: {} {}", lower[0], lower[1]);
    place.done(&format!("fit calls.csv --target calls --task classification --out c.deepgp {SMALL}"));
    let ended = place.run("predict c.deepgp calls.csv --interval 0.9");
    assert!(ended.code == Some(2) && ended.stderr.contains("classes, which have no intervals"), "{}", ended.stderr);
}

/// Houses: the price follows the area, then the zone of many, and not the colour; some areas are missing.
fn houses(rows: usize) -> String {
    let uniform = |i: usize, stream: u32| Key::new(3, Purpose::Simulate).uniform([i as u32, stream, 0, 0]);
    let mut text = String::from("area,zone,built,colour,price\n");
    for i in 0..rows {
        let (area, zone, built) = (40.0 + 160.0 * uniform(i, 0), (60.0 * uniform(i, 1)) as usize, uniform(i, 2));
        let price = 2.0 * area + 1.5 * zone as f64 + 3.0 * uniform(i, 3);
        let shown = if i % 25 == 3 { String::new() } else { format!("{area:.2}") };
        let colour = ["red", "blue", "green"][(3.0 * uniform(i, 4)) as usize];
        writeln!(text, "{shown},z{zone},20{:02}-06-15,{colour},{price:.3}", (20.0 * built) as usize).unwrap();
    }
    text
}

#[test]
fn importance_is_of_columns_whatever_inputs_they_become() {
    let place = Place::new();
    place.write("houses.csv", houses(600));
    let small = "--hidden-layers 0 --inducing 60 --steps 300 --threads 1 --test 0.2";
    place.done(&format!("fit houses.csv --target price --categorical zone --out m.deepgp --report r.html {small}"));
    let json = place.json("explain m.deepgp houses.csv");
    let own = json["importance"]["price"].as_array().unwrap();
    let names: Vec<&str> = own.iter().map(|column| column["column"].as_str().unwrap()).collect();
    assert_eq!((names.len(), &names[..2]), (4, &["area", "zone"][..]), "{json}");
    let number = |at: usize, key: &str| own[at][key].as_f64().unwrap();
    // Variances of 4 · 160²/12 and 1.5² · 60²/12.
    assert!((0.75..1.1).contains(&number(0, "share")) && (0.02..0.2).contains(&number(1, "share")), "{json}");
    assert!(number(3, "share") < 0.02 && number(0, "error") > 0.0 && number(0, "error") < 0.1, "{json}");
    assert_eq!(json["rows"], serde_json::json!({ "taken": 600, "of": 600 }));
    // Without a table, it is that of the fit; rows need no targets.
    assert_eq!(place.json("explain m.deepgp")["importance"], json["importance"]);
    let without: String =
        place.read("houses.csv").lines().map(|line| format!("{}\n", line.rsplit_once(',').unwrap().0)).collect();
    place.write("new.csv", without);
    assert_eq!(place.json("explain m.deepgp new.csv")["importance"], json["importance"]);
    let told = place.done("explain m.deepgp new.csv").stdout;
    assert!(told.contains("What the predictions of price depend on") && told.contains("area "), "{told}");
    let page = place.read("r.html");
    assert!(page.contains("id=\"figure-importance\"") && page.contains("id=\"figure-dependence\""));
    let above = page.find("What the predictions depend on").unwrap();
    assert!(above < page.find("Along which inputs the function bends").unwrap());
    place.write("one.csv", place.read("new.csv").lines().take(2).collect::<Vec<_>>().join("\n"));
    let ended = place.run("explain m.deepgp one.csv");
    assert!(ended.code == Some(1) && ended.stderr.contains("importance needs at least 2 rows"), "{}", ended.stderr);
}

#[test]
fn a_model_compared_with_itself_is_no_better_and_a_worse_one_is_told_of() {
    let place = Place::new();
    place.write("houses.csv", houses(500));
    place.write(
        "new.csv",
        houses(700)
            .lines()
            .enumerate()
            .filter(|(i, _)| *i == 0 || *i > 500)
            .fold(String::new(), |text, (_, line)| text + line + "\n"),
    );
    let fit = |flags: &str, out: &str| {
        place.done(&format!(
            "fit houses.csv --target price --test 0.3 --hidden-layers 0 --inducing 40 --threads 1 --out {out} {flags}"
        ));
    };
    fit("--steps 300", "good.deepgp");
    fit("--steps 300 --ignore area", "bad.deepgp");
    let same = place.json("compare good.deepgp good.deepgp");
    assert_eq!(same["rows"], 150);
    for measure in ["log_likelihood", "crps", "rmse"] {
        for key in ["difference", "error", "lower", "upper"] {
            assert_eq!(same["scores"][measure][key], 0.0, "{same}");
        }
    }
    assert_eq!(
        (same["where"]["rows"].as_array().unwrap().len(), same["where"]["groups"].as_array().unwrap().len()),
        (0, 0)
    );
    assert!(place.done("compare good.deepgp good.deepgp").stdout.contains("say the same of every row"));
    // On the rows that both held out, and on new ones, where the scores are those of `evaluate`.
    for (table, rows) in [("", 150), ("new.csv", 200)] {
        let found = place.json(&format!("compare good.deepgp bad.deepgp {table}"));
        let scores = &found["scores"];
        let number = |measure: &str, key: &str| scores[measure][key].as_f64().unwrap();
        assert_eq!(found["rows"], rows, "{found}");
        assert!(number("log_likelihood", "upper") < -0.5 && number("rmse", "lower") > 10.0, "{found}");
        if !table.is_empty() {
            for (file, key) in [("good", "first"), ("bad", "second")] {
                let own = place.json(&format!("evaluate {file}.deepgp new.csv"));
                for measure in ["log_likelihood", "crps", "rmse"] {
                    let expected = own["test"][measure].as_f64().unwrap();
                    assert!((number(measure, key) / expected - 1.0).abs() < 1e-9, "{measure} {expected} {found}");
                }
            }
        }
        let groups = found["where"]["groups"].as_array().unwrap();
        assert!(!groups.is_empty() && groups[0]["gain"].as_f64().unwrap() < 0.0, "{found}");
        assert_eq!(found["where"]["rows"].as_array().unwrap().len(), 6);
    }
    let told = place.done("compare bad.deepgp good.deepgp new.csv").stdout;
    assert!(told.contains("200 rows of new.csv") && told.contains("95 % interval"), "{told}");
    let line = told.lines().find(|line| line.starts_with("RMSE")).unwrap();
    assert!(line.ends_with("good.deepgp"), "{told}");
    // Several targets, counts, classes; and what cannot be compared.
    place.write("calls.csv", calls(200));
    let fit = |task: &str, out: &str| {
        place.done(&format!("fit calls.csv --target calls --task {task} --test 0.3 --out {out} {SMALL}"));
    };
    fit("counts", "counts.deepgp");
    fit("classification", "classes.deepgp");
    let counts = place.json("compare counts.deepgp counts.deepgp calls.csv");
    assert_eq!(
        (&counts["scores"]["log_score"]["difference"], &counts["rows"]),
        (&serde_json::json!(0.0), &serde_json::json!(200))
    );
    let classes = place.json("compare classes.deepgp classes.deepgp calls.csv");
    let own = place.json("evaluate classes.deepgp calls.csv");
    for measure in ["log_loss", "accuracy"] {
        let (found, expected) = (classes["scores"][measure]["first"].as_f64(), own["test"][measure].as_f64());
        assert!((found.unwrap() - expected.unwrap()).abs() < 1e-12, "{measure}");
    }
    for (other, said) in
        [("counts.deepgp", "predicts `price` and the second `calls`"), ("missing.deepgp", "missing.deepgp")]
    {
        let ended = place.run(&format!("compare good.deepgp {other} new.csv"));
        assert!(ended.code == Some(1) && ended.stderr.contains(said), "{}", ended.stderr);
    }
    let ended = place.run("compare counts.deepgp classes.deepgp calls.csv");
    assert!(ended.code == Some(1) && ended.stderr.contains("as counts, the second as classes"), "{}", ended.stderr);
    place.write("percent.csv", place.read("houses.csv"));
    place.done(
        "fit percent.csv --target price --out other.deepgp --hidden-layers 0 --inducing 10 --steps 5 --threads 1",
    );
    assert_eq!(place.json("compare good.deepgp other.deepgp new.csv")["rows"], 200);
    let ended = place.run("compare good.deepgp other.deepgp");
    assert!(ended.code == Some(1) && ended.stderr.contains("held no test rows out"), "{}", ended.stderr);
}
