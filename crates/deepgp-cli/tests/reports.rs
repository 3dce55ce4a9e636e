//! What fits and reports say of a model through the real binary: of which rows, in which units, and whether it is any good.

mod common;

use common::{Place, arm};
use deepgp_io::Provenance;
use serde_json::Value;

/// A model that takes no time, and knows little.
const TINY: &str = "--hidden-layers 0 --inducing 10 --steps 20 --threads 1";

/// A straight line in two inputs, `y` times `unit`, with a gap in one of `gap` rows.
fn line(rows: u32, first: u32, unit: f64, gap: u32) -> String {
    let row = |i: u32| {
        let (a, b) = (f64::from(i % 17) / 8.0 - 1.0, f64::from(i % 23) / 11.0 - 1.0);
        let y = unit * (5.0 * a - 3.0 * b + 0.3 * f64::from(i * i % 13) / 12.0);
        if i % gap == gap - 1 { format!(",{b},{y}\n") } else { format!("{a},{b},{y}\n") }
    };
    String::from("a,b,y\n") + &(first..first + rows).map(row).collect::<String>()
}

/// The notes on a page.
fn notes(page: &str) -> &str {
    let (_, rest) = page.split_once("<aside").unwrap_or_default();
    rest.split("</aside>").next().unwrap_or_default()
}

#[test]
fn a_report_on_another_table_names_the_table_that_each_fact_is_of() {
    let place = Place::new();
    place.write("line.csv", line(300, 0, 1.0, 40));
    place.write("other.csv", line(80, 7, 1.0, 30));
    let fit = place.json(&format!("fit line.csv --target y --test 0.2 --missing drop {TINY}"));
    // Of the test rows, and so not of the record alone.
    assert!(fit["notes"].to_string().contains("on the test rows the model is beaten by linear regression"), "{fit}");
    assert!(place.done("info model.deepgp").stdout.contains("note: on the test rows the model is beaten by"));
    place.done("report model.deepgp other.csv --out other.html --threads 1");
    let page = place.read("other.html");
    assert!(page.contains("<h1>y from line.csv, scored on other.csv</h1>"));
    let told = notes(&page);
    for part in [
        "the fit to line.csv: 7 of 300 rows were left out",
        "other.csv: 2 of 80 rows were left out",
        "on the rows of other.csv the model is beaten by linear regression",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("test rows"), "{told}");
    place.done("report model.deepgp --out own.html --threads 1");
    let page = place.read("own.html");
    assert!(page.contains("<h1>y from line.csv</h1>") && page.contains("59 rows of line.csv that training never saw"));
    let told = notes(&page);
    assert!(told.contains("on the test rows the model is beaten by") && !told.contains("the fit to"), "{told}");
}

#[test]
fn without_the_table_of_the_fit_a_report_has_the_scores_that_the_fit_took_down() {
    let place = Place::new();
    place.write("line.csv", line(300, 0, 1.0, 400));
    place.done(&format!("fit line.csv --target y --test 0.2 {TINY} --report then.html"));
    let scores =
        |page: &str| page.split("<caption>In units").nth(1).unwrap().split("</table>").next().unwrap().to_string();
    let then = scores(&place.read("then.html"));
    place.write("line.csv", line(300, 1, 1.0, 400));
    let ended = place.done("report model.deepgp --out now.html");
    let page = place.read("now.html");
    assert_eq!(scores(&page), then);
    assert!(page.contains("60 rows of line.csv that training never saw, when the model was fitted"));
    for told in [&ended.stderr[..], notes(&page)] {
        for part in ["no pictures of predictions", "line.csv is not the table of the fit, or has changed since"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
    assert!(!page.contains("Predicted against true"));
    assert!(notes(&page).contains("on the test rows the model is beaten by"));
}

#[test]
fn validation_scores_are_in_the_units_of_the_target_and_of_the_step_that_was_kept() {
    let place = Place::new();
    let kept = |unit: f64, judge: &str| {
        place.write("line.csv", line(300, 0, unit, 400));
        let model =
            "--hidden-layers 0 --inducing 10 --steps 120 --threads 1 --likelihood gaussian --transform-target none";
        place.json(&format!("fit line.csv --target y {model} --validation-score {judge}"))["kept"].clone()
    };
    let score = |kept: &Value, name: &str| kept[name].as_f64().unwrap();
    let ranked = [1.0, 1000.0].map(|unit| score(&kept(unit, "crps"), "validation_crps"));
    assert!((ranked[1] / ranked[0] / 1000.0 - 1.0).abs() < 1e-6, "{ranked:?}");
    place.done("report model.deepgp --out page.html --threads 1");
    let shown = format!("<dt>Validation CRPS</dt><dd class=\"value\">{:.0}</dd>", ranked[1]);
    assert!(place.read("page.html").contains(&shown), "{shown}");
    let (one, thousand) = (kept(1.0, "log-density"), kept(1000.0, "log-density"));
    let score = |kept: &Value| score(kept, "validation_log_likelihood");
    assert_eq!((&one["step"], &thousand["step"]), (&Value::from(120), &Value::from(120)));
    assert!((score(&one) - score(&thousand) - 1000f64.ln()).abs() < 1e-6, "{one} {thousand}");
    let info = place.done("info model.deepgp").stdout;
    for part in ["kept      step 120, the best by the validation rows (log likelihood -", "(at the last step)"] {
        assert!(info.contains(part), "{part}: {info}");
    }
    place.done("report model.deepgp --out page.html --threads 1");
    let shown = format!("−{:.2}", -score(&thousand));
    assert!(place.read("page.html").contains(&format!("<dd class=\"value\">{shown}</dd>")), "{shown}");
}

#[test]
fn a_report_tells_and_draws_the_likelihood_and_the_objective_that_were_used() {
    let place = Place::new();
    place.write("line.csv", line(300, 0, 1.0, 400));
    let page = |choices: &str| {
        place.done(&format!("fit line.csv --target y --test 0.2 {TINY} {choices} --report page.html"));
        place.read("page.html")
    };
    let own = page("--likelihood heteroscedastic --validation-score crps");
    let plain = page("--likelihood gaussian --objective elbo --validation-score log-density");
    for (part, at_own) in [
        ("<dt>Likelihood: heteroscedastic</dt>", true),
        ("<dt>Objective: faithful</dt>", true),
        ("It was not chosen, but is what suits the likelihood.", true),
        ("mean CRPS of a validation row", true),
        ("figure-noise-mean", true),
        ("figure-noise-inputs", true),
        ("<dt>Likelihood: gaussian</dt>", false),
        ("<dt>Objective: elbo</dt>", false),
        ("mean log density of a validation row", false),
        ("Evidence lower bound", false),
        ("Standard deviation of the noise", false),
    ] {
        assert_eq!((own.contains(part), plain.contains(part)), (at_own, !at_own), "{part}");
    }
    for page in [own, plain] {
        for part in ["figure-densities", "the least likely row", "figure-reliability", "figure-pit"] {
            assert!(page.contains(part), "{part}");
        }
    }
}

#[test]
fn fits_that_led_nowhere_say_so() {
    let place = Place::new();
    place.write("line.csv", line(300, 0, 1.0, 400));
    let fit = |more: &str| {
        let common = "--target y --hidden-layers 1 --inducing 30 --threads 1 --transform-target none";
        place.json(&format!("fit line.csv {common} {more}"))["notes"].to_string()
    };
    let lost = fit("--steps 200 --learning-rate 100");
    assert!(lost.contains("on 30 validation rows the model is no better than the mean"), "{lost}");
    assert!(lost.contains("--learning-rate"), "{lost}");
    let lost = fit("--steps 200 --learning-rate 100 --validation 0");
    assert!(lost.contains("`y`: the noise has a standard deviation of"), "{lost}");
    // The note stays with the model.
    assert!(place.done("info model.deepgp").stdout.contains("the noise has a standard deviation of"));
    let poor = fit("--steps 1 --validation 0");
    assert!(poor.contains("no better than their mean"), "{poor}");
    for more in ["--steps 200", "--steps 200 --validation 0"] {
        let good = fit(more);
        assert!(!good.contains("better") && !good.contains("noise"), "{good}");
    }
}

#[test]
fn copies_of_training_rows_among_the_test_rows_are_told_of() {
    let place = Place::new();
    let table = arm(100, 1);
    let (head, rows) = table.split_once('\n').unwrap();
    place.write("arm.csv", &table);
    place.write("twice.csv", format!("{head}\n{rows}{rows}"));
    let fit =
        |table: &str| place.done(&format!("fit {table} --target distance --test 0.2 --out {table}.deepgp {TINY}"));
    assert!(!fit("arm.csv").stderr.contains("a copy among"));
    let told = fit("twice.csv").stderr;
    assert!(told.contains(" of 40 test rows have a copy among the training rows"), "{told}");
    let told = place.done("report arm.csv.deepgp twice.csv").stderr;
    assert!(told.contains("160 of 200 rows of twice.csv have a copy among the training rows"), "{told}");
}

#[test]
fn a_single_row_is_counted_as_one() {
    let place = Place::new();
    place.write("line.csv", line(60, 0, 1.0, 400));
    place.write("one.csv", line(1, 3, 1.0, 400));
    place.done(&format!("fit line.csv --target y --ignore b {TINY}"));
    assert!(place.done("evaluate model.deepgp one.csv").stdout.starts_with("1 row\n"));
    assert!(place.done("info model.deepgp").stdout.contains("from      1 column, 1 input\n"));
}

#[test]
fn a_model_of_arrays_is_told_of_as_such() {
    let place = Place::new();
    place.write("line.csv", line(60, 0, 1.0, 400));
    place.done(&format!("fit line.csv --target y {TINY}"));
    let mut file = place.model("model.deepgp");
    file.record.data = Provenance::Arrays { rows: 60 };
    file.save(&place.path("model.deepgp")).unwrap();
    assert!(place.done("info model.deepgp").stdout.contains("table     arrays in Python, 60 rows\n"));
    let table = &place.json("info model.deepgp")["table"];
    assert_eq!(*table, serde_json::json!({ "path": null, "sha256": null, "rows": 60 }));
    let ended = place.done("report model.deepgp --out page.html");
    let page = place.read("page.html");
    assert!(page.contains("<h1>y from arrays in Python</h1>"));
    for told in [&ended.stderr[..], notes(&page)] {
        let part =
            "not drawn beside the inducing inputs: the model was fitted to arrays in Python, which no file keeps";
        assert!(told.contains(part), "{told}");
    }
    place.done("evaluate model.deepgp line.csv");
}

#[test]
fn neighbours_among_a_sample_of_a_long_table_are_told_of_as_such() {
    let place = Place::new();
    place.write("line.csv", line(25_500, 0, 1.0, u32::MAX));
    let fit = "fit line.csv --target y --hidden-layers 0 --inducing 5 --steps 1 --validation 0 --threads 2 --report line.html";
    let json = place.json(&format!("{fit} --test 0.2"));
    let neighbours = &json["baselines"]["10 nearest neighbours"];
    assert_eq!(neighbours["training_rows"], serde_json::json!({ "sampled": 20_000, "of": 20_400 }), "{json}");
    assert!(json["baselines"]["linear regression"]["training_rows"].is_null());
    let told = "10 nearest neighbours (20000 of 20400 training rows)";
    assert!(place.read("line.html").contains(told));
    assert!(place.done("info model.deepgp").stdout.contains(told));
    let few = place.done(&format!("{fit} --test 0.9"));
    assert!(few.stderr.contains("10 nearest neighbours ") && !few.stderr.contains("training rows)"), "{}", few.stderr);
}
