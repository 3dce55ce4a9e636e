//! What fits and reports say of a model through the real binary: of which rows, in which units, and whether it is any good.

mod common;

use common::Place;
use serde_json::Value;

/// A straight line in two inputs, `y` times `unit`, with a gap in one of `gap` rows.
fn line(rows: u32, first: u32, unit: f64, gap: u32) -> String {
    let row = |i: u32| {
        let (a, b) = (f64::from(i % 17) / 8.0 - 1.0, f64::from(i % 23) / 11.0 - 1.0);
        let y = unit * (5.0 * a - 3.0 * b + 0.3 * f64::from(i * i % 13) / 12.0);
        if i % gap == gap - 1 { format!(",{b},{y}\n") } else { format!("{a},{b},{y}\n") }
    };
    String::from("a,b,y\n") + &(first..first + rows).map(row).collect::<String>()
}

#[test]
fn validation_scores_are_in_the_units_of_the_target_and_of_the_step_that_was_kept() {
    let place = Place::new();
    let kept = |unit: f64| {
        place.write("line.csv", line(300, 0, unit, 400));
        place.json("fit line.csv --target y --hidden-layers 0 --inducing 10 --steps 120 --threads 1")["kept"].clone()
    };
    let (one, thousand) = (kept(1.0), kept(1000.0));
    let score = |kept: &Value| kept["validation_log_likelihood"].as_f64().unwrap();
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
