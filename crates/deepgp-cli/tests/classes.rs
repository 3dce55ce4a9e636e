//! Tables whose target is a class or a count, from the fit to its scores.

mod common;

use std::f64::consts::PI;
use std::fmt::Write as _;
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Ended, Place, assert_same, column, signal};
use deepgp::noise::{Key, Purpose};
use serde_json::Value;

const SMALL: &str = "--hidden-layers 1 --width 2 --inducing 25 --steps 300 --learning-rate 0.02 --threads 1";

/// Uniform numbers between 0 and 1.
fn uniform(row: usize, stream: u32) -> f64 {
    Key::new(1, Purpose::Simulate).uniform([row as u32, stream, 0, 0])
}

/// Two half circles that reach into each other, as `up` and `down`, or whatever they are called.
fn moons(rows: usize, up: &str, down: &str) -> String {
    let mut text = String::from("a,b,moon\n");
    for i in 0..rows {
        let (angle, side) = (PI * uniform(i, 0), i % 2);
        let (a, b) = if side == 0 { (angle.cos(), angle.sin()) } else { (1.0 - angle.cos(), 0.5 - angle.sin()) };
        let [jitter_a, jitter_b] = [1, 2].map(|stream| 0.3 * (uniform(i, stream) - 0.5));
        writeln!(text, "{},{},{}", a + jitter_a, b + jitter_b, if side == 0 { up } else { down }).unwrap();
    }
    text
}

/// Three clouds of points, of which `big` has four rows in six, and `rare` one.
fn clouds(rows: usize) -> String {
    let mut text = String::from("a,b,cloud\n");
    for i in 0..rows {
        let (centre, label) = match i % 6 {
            0 => ([0.0, 2.0], "rare"),
            1 => ([2.0, 0.0], "some"),
            _ => ([-1.5, -1.5], "big"),
        };
        let [a, b] = [0, 1].map(|d| centre[d as usize] + 1.5 * (uniform(i, d) + uniform(i, d + 2) - 1.0));
        writeln!(text, "{a},{b},{label}").unwrap();
    }
    text
}

/// Counts whose rate bends along `x` and grows with `hours`.
fn visits(rows: usize) -> String {
    let mut text = String::from("x,hours,visits\n");
    for i in 0..rows {
        let (x, hours) = (6.0 * uniform(i, 0), 0.5 + 3.0 * uniform(i, 1));
        let (rate, mut left, mut count) = (hours * (1.0 + x.sin()).exp(), uniform(i, 2), 0);
        let mut mass = (-rate).exp();
        while left > mass && count < 200 {
            left -= mass;
            count += 1;
            mass *= rate / f64::from(count);
        }
        writeln!(text, "{x},{hours},{count}").unwrap();
    }
    text
}

fn number(value: &Value, path: &[&str]) -> f64 {
    let found = path.iter().fold(value, |value, name| &value[name]);
    found.as_f64().unwrap_or_else(|| panic!("{path:?} in {value}"))
}

#[test]
fn two_classes_of_text_are_fitted_scored_and_predicted_by_their_labels() {
    let place = Place::new();
    place.write("moons.csv", moons(400, "up", "down"));
    let summary = place.json(&format!("fit moons.csv --target moon --test 0.25 --out m.deepgp {SMALL}"));
    assert!(number(&summary, &["test", "accuracy"]) > 0.95, "{summary}");
    let loss = |path: &[&str]| number(&summary, &[path, &["log_loss"]].concat());
    assert!(loss(&["test"]) < 0.2 && loss(&["test"]) < loss(&["baselines", "logistic regression"]), "{summary}");
    assert!((loss(&["baselines", "class shares"]) - 2f64.ln()).abs() < 1e-3);
    assert!(loss(&["baselines", "10 nearest neighbours"]) < 0.3);
    assert!(number(&summary, &["test", "auc"]) > 0.98 && number(&summary, &["test", "calibration_error"]) < 0.2);
    assert_eq!(summary["test"]["confusion"]["labels"], serde_json::json!(["down", "up"]));
    assert_eq!(summary["settings"]["model"]["likelihood"], serde_json::json!({"bernoulli": {"link": "probit"}}));
    assert!(summary["kept"].is_null() || summary["kept"]["validation_log_loss"].as_f64().unwrap() < 0.5, "{summary}");
    // Classes stand in the test rows as often as in all.
    let confusion = &summary["test"]["confusion"]["true_by_predicted"];
    let of_class = |class: usize| (0..2).map(|said| confusion[class][said].as_f64().unwrap()).sum::<f64>();
    assert_eq!((of_class(0), of_class(1)), (50.0, 50.0));

    place.done("predict m.deepgp moons.csv --out p.csv --keep moon --draws 2");
    let text = place.read("p.csv");
    assert_eq!(text.lines().next(), Some("moon,class,p_down,p_up,entropy,draw1,draw2"));
    let (down, up, entropy) = (column(&text, "p_down"), column(&text, "p_up"), column(&text, "entropy"));
    let mut right = 0;
    for (i, line) in text.lines().skip(1).enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[1], if up[i] > down[i] { "up" } else { "down" });
        assert!(["up", "down"].contains(&cells[5]), "{line}");
        assert!((down[i] + up[i] - 1.0).abs() < 1e-9 && (0.0..=2f64.ln() + 1e-9).contains(&entropy[i]), "{line}");
        right += usize::from(cells[0] == cells[1]);
    }
    assert!(right > 380, "{right}");

    let told = place.done("evaluate m.deepgp moons.csv");
    for part in ["log loss", "accuracy", "AUC", "true class (down), said (across)"] {
        assert!(told.stdout.contains(part), "{}", told.stdout);
    }
    let told = place.done("info m.deepgp").stdout;
    assert!(told.contains("one of 2 classes: down, up") && told.contains("logistic regression"), "{told}");
    assert!(told.contains("sharpened probabilities to the power"), "{told}");
    assert!(number(&place.json("info m.deepgp"), &["scores", "deep GP", "accuracy"]) > 0.95);
    place.done("report m.deepgp --out r.html");
    let page = place.read("r.html");
    for figure in ["confusion", "reliability", "stated", "mistakes", "objective"] {
        assert!(page.contains(&format!("id=\"figure-{figure}\"")), "{figure}");
    }
    assert_no_regression(&page);
    // The hardest rows are those of the table, with the probabilities that they are predicted with.
    let hardest = cells(&page, "The hardest rows");
    assert_eq!(hardest.len(), 10);
    for row in &hardest {
        let line = text.lines().nth(row[0].parse().unwrap()).unwrap();
        let (truth, said) = (line.split(',').next().unwrap(), line.split(',').nth(1).unwrap());
        assert_eq!((&row[1][..], &row[3][..]), (truth, said), "{line}");
        let at = row[0].parse::<usize>().unwrap() - 1;
        let p = if truth == "up" { up[at] } else { down[at] };
        assert!((row[2].parse::<f64>().unwrap() - p).abs() <= 0.051 * p + 1e-9, "{row:?} {p}");
    }
    assert!(hardest.windows(2).all(|pair| pair[0][2].parse::<f64>().unwrap() <= pair[1][2].parse().unwrap()));

    let mut unseen = moons(4, "up", "down");
    unseen += "0.1,0.2,sideways\n";
    place.write("unseen.csv", unseen);
    let ended = place.run("evaluate m.deepgp unseen.csv");
    assert_eq!(ended.code, Some(1));
    let said = "line 6, column `moon`: \"sideways\" is no class that the model knows, which are `down`, `up`";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    // To predict, nobody needs to know the class.
    place.done("predict m.deepgp unseen.csv --out q.csv");
    let ended = place.run("predict m.deepgp moons.csv --quantiles 0.5");
    assert!(ended.code == Some(2) && ended.stderr.contains("classes, which have no quantiles"), "{}", ended.stderr);
}

/// Asserts that a page has nothing that is for numbers alone.
fn assert_no_regression(page: &str) {
    let parts = ["figure-predicted", "figure-coverage", "figure-densities", "figure-residuals", "figure-noise", "CRPS"];
    for part in parts.into_iter().chain(["log density", "Transform of", "Standardised", "NaN"]) {
        assert!(!page.contains(part), "{part}");
    }
}

/// The cells of the rows of a page's table that has this caption.
fn cells(page: &str, caption: &str) -> Vec<Vec<String>> {
    let (_, table) = page.split_once(&format!("<caption>{caption}</caption>")).expect("the table");
    let (_, body) = table.split("</table>").next().unwrap().split_once("<tbody>").unwrap();
    let text = |cell: &str| cell.split_once('>').unwrap().1.split('<').next().unwrap().to_owned();
    let of_row = |row: &str| row.replace("<th", "<td").split("<td").skip(1).map(text).collect();
    body.split("<tr>").skip(1).map(of_row).collect()
}

#[test]
fn a_report_on_another_table_has_its_scores_and_its_mistakes() {
    let place = Place::new();
    place.write("clouds.csv", clouds(240));
    let few = "--hidden-layers 0 --inducing 10 --steps 60 --threads 1";
    place.done(&format!("fit clouds.csv --target cloud --test 0.2 --out m.deepgp --report fit.html {few}"));
    assert_no_regression(&place.read("fit.html"));
    // Every label of the other table is a wrong one.
    let turned = clouds(90).replace("big", "BIG").replace("rare", "big").replace("some", "rare").replace("BIG", "some");
    place.write("turned.csv", turned);
    let summary = place.json("evaluate m.deepgp turned.csv");
    let ended = place.done("report m.deepgp turned.csv --out r.html --pictures shown --formats svg");
    let page = place.read("r.html");
    assert!(page.contains("<h1>cloud from clouds.csv, scored on turned.csv</h1>"));
    assert!(page.contains("on the rows of turned.csv the model is beaten by class shares"), "{}", ended.stderr);
    let accuracy = number(&summary, &["test", "accuracy"]);
    assert!(accuracy < 0.1 && page.contains(&format!("{:.1}\u{202f}%</dd>", 100.0 * accuracy)), "{accuracy}");
    let frequent = cells(&page, "The most frequent mistakes");
    let confusion = &summary["test"]["confusion"]["true_by_predicted"];
    // Those that were big are called some.
    assert_eq!((&frequent[0][0][..], &frequent[0][1][..]), ("some", "big"));
    assert_eq!(frequent[0][2].parse::<f64>().ok(), confusion[2][0].as_f64());
    let matrix = place.read("shown/confusion.svg");
    assert!(matrix.contains(&format!("true some, said big: {} of 60 rows", frequent[0][2])), "{matrix}");
    assert!(!place.path("shown/residuals.svg").exists() && place.path("shown/reliability.svg").exists());
    // Without the table of the fit, the page has what the model file keeps.
    place.write("clouds.csv", clouds(30));
    let ended = place.done("report m.deepgp --out kept.html");
    assert!(ended.stderr.contains("the scores are those that the fit took down"), "{}", ended.stderr);
    let kept = place.read("kept.html");
    assert!(kept.contains("figure-confusion") && kept.contains("Class probabilities"));
    assert!(!kept.contains("figure-reliability") && !kept.contains("The hardest rows"));
}

#[test]
fn several_classes_keep_their_shares_and_may_weigh_alike() {
    let place = Place::new();
    place.write("clouds.csv", clouds(360));
    let summary = place.json(&format!("fit clouds.csv --target cloud --test 0.2 --out m.deepgp {SMALL}"));
    assert_eq!(summary["settings"]["model"]["likelihood"], serde_json::json!({"softmax": {"classes": 3}}));
    assert!(number(&summary, &["test", "accuracy"]) > 0.9, "{summary}");
    assert!(summary["test"]["auc"].is_null());
    let confusion = &summary["test"]["confusion"];
    assert_eq!(confusion["labels"], serde_json::json!(["big", "rare", "some"]));
    let of_class =
        |class: usize| (0..3).map(|said| confusion["true_by_predicted"][class][said].as_f64().unwrap()).sum();
    let rows: [f64; 3] = [0, 1, 2].map(of_class);
    assert_eq!(rows, [48.0, 12.0, 12.0]);
    place.done(&format!("fit clouds.csv --target cloud --class-weights balanced --out w.deepgp {SMALL}"));
    let (plain, balanced) = (place.model("m.deepgp"), place.model("w.deepgp"));
    assert_eq!(serde_json::to_value(balanced.record.class_weights).unwrap(), "balanced");
    assert_eq!(serde_json::to_value(plain.record.class_weights).unwrap(), "none");
    // Where nothing else is known, far from all rows, a rare class is likelier to the model that weighs it up.
    place.write("far.csv", "a,b\n50,50\n");
    let rare = |model: &str| {
        place.done(&format!("predict {model} far.csv --out far_p.csv"));
        column(&place.read("far_p.csv"), "p_rare")[0]
    };
    assert!(rare("w.deepgp") > rare("m.deepgp"), "{} {}", rare("w.deepgp"), rare("m.deepgp"));
}

#[test]
fn truth_values_and_whole_numbers_are_classes_where_they_are_meant_to_be() {
    let place = Place::new();
    place.write("truth.csv", moons(80, "True", "False"));
    let few = "--hidden-layers 0 --inducing 10 --steps 30 --threads 1";
    let summary = place.json(&format!("fit truth.csv --target moon --out t.deepgp {few}"));
    assert_eq!(summary["target_kind"], serde_json::json!({"classes": {"labels": ["false", "true"]}}));
    // As numbers, if they are to be.
    let summary = place.json(&format!("fit truth.csv --target moon --task regression --out n.deepgp {few}"));
    assert_eq!(summary["target_kind"], "numbers");
    place.write("whole.csv", moons(80, "10", "9"));
    let ended = place.done(&format!("fit whole.csv --target moon --out w.deepgp {few}"));
    assert!(ended.stderr.contains("if they are classes, say so with --task classification"), "{}", ended.stderr);
    let summary = place.json(&format!("fit whole.csv --target moon --task classification --out c.deepgp {few}"));
    assert_eq!(summary["target_kind"], serde_json::json!({"classes": {"labels": ["9", "10"]}}));
    assert!(!summary["notes"].to_string().contains("--task"), "{}", summary["notes"]);
    // A model of numbers is read, scored and shown as ever.
    place.done("evaluate w.deepgp whole.csv");
}

#[test]
fn targets_that_are_no_classes_or_counts_are_refused() {
    let place = Place::new();
    place.write("one.csv", moons(40, "up", "up"));
    let refused = |arguments: &str, code: i32, said: &str| {
        let ended = place.run(arguments);
        assert_eq!(ended.code, Some(code), "{arguments}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{arguments}: {}", ended.stderr);
    };
    refused("fit one.csv --target moon --out m.deepgp", 1, "the target `moon` is \"up\" in all 40 rows");
    place.write("negative.csv", "x,y\n1,0\n2,3\n3,-2\n4,1\n");
    let said = "line 4, column `y`: \"-2\" is not a count (0, 1, 2, …, up to 10^12)";
    refused("fit negative.csv --target y --task counts --out m.deepgp", 1, said);
    refused("fit negative.csv --target y --likelihood poisson --out m.deepgp", 1, said);
    place.write("moons.csv", moons(40, "up", "down"));
    refused("fit moons.csv --target moon --noise 0.1 --out m.deepgp", 2, "--noise 0.1 is for numbers");
    refused(
        "fit moons.csv --target moon --likelihood gaussian --out m.deepgp",
        1,
        "take the target as classes with --task",
    );
    refused(
        "fit moons.csv --target moon --task counts --likelihood probit --out m.deepgp",
        2,
        "--likelihood probit is for",
    );
    refused("fit moons.csv --target a --class-weights balanced --out m.deepgp", 2, "the target is a number");
    refused("fit moons.csv --target a --exposure b --out m.deepgp", 1, "is not a number above 0; an exposure is");
    assert_eq!(place.files(), ["moons.csv", "negative.csv", "one.csv"]);
}

#[test]
fn a_rare_class_is_told_of_and_stays_in_training() {
    let place = Place::new();
    place.write("moons.csv", moons(60, "up", "down") + "5,5,once\n");
    let few = "--hidden-layers 0 --inducing 10 --steps 30 --threads 1";
    let summary = place.json(&format!("fit moons.csv --target moon --test 0.3 --out m.deepgp {few}"));
    assert!(summary["notes"].to_string().contains("few rows are of \\\"once\\\" (1)"), "{}", summary["notes"]);
    let labels = summary["test"]["confusion"]["labels"].clone();
    assert_eq!(labels, serde_json::json!(["down", "once", "up"]));
    assert_eq!(summary["test"]["confusion"]["true_by_predicted"][1], serde_json::json!([0.0, 0.0, 0.0]));
}

#[test]
fn a_fit_of_classes_goes_on_to_the_same_bits_with_its_labels() {
    let place = Place::new();
    place.write("clouds.csv", clouds(240));
    let fit = "fit clouds.csv --target cloud --class-weights balanced --test 0.2 --hidden-layers 0 --inducing 15 --threads 1 \
               --steps 1500 --patience 1000 --checkpoint-every 10";
    place.done(&format!("{fit} --out whole.deepgp"));
    let child = place.start(&format!("{fit} --out cut.deepgp"));
    let started = Instant::now();
    let is_trained =
        || place.path("cut.deepgp.checkpoint").exists() && place.model("cut.deepgp.checkpoint").record.steps > 0;
    while !is_trained() {
        assert!(started.elapsed() < Duration::from_secs(60), "the first step never came");
        sleep(Duration::from_millis(5));
    }
    signal(&child, "INT");
    assert_eq!(Ended::from(child.wait_with_output().unwrap()).code, Some(130));
    let checkpoint = place.model("cut.deepgp.checkpoint");
    assert!(checkpoint.record.steps < 1500, "{}", checkpoint.record.steps);
    assert_eq!(checkpoint.schema.target_kind.labels().unwrap(), ["big", "rare", "some"]);
    place.done("resume cut.deepgp.checkpoint");
    let (whole, cut) = (place.model("whole.deepgp"), place.model("cut.deepgp"));
    assert_same(&whole, &cut);
    assert_eq!(whole.record.class_scores, cut.record.class_scores);
    assert_eq!((whole.record.class_scores.len(), &whole.schema), (4, &cut.schema));
}

#[test]
fn counts_have_whole_quantiles_and_grow_with_their_exposure() {
    let place = Place::new();
    place.write("visits.csv", visits(400));
    let fit = "fit visits.csv --target visits --task counts --test 0.25";
    let summary = place.json(&format!("{fit} --exposure hours --out m.deepgp {SMALL}"));
    let (own, linear) = (["test", "log_score"], ["baselines", "Poisson regression", "log_score"]);
    assert!(number(&summary, &own) > number(&summary, &linear) + 0.1, "{summary}");
    assert!(number(&summary, &linear) > number(&summary, &["baselines", "the mean count", "log_score"]) - 1.0);
    assert!(number(&summary, &["test", "coverage_95"]) > 0.85 && number(&summary, &["test", "deviance"]) < 2.0);
    assert_eq!(summary["inputs"], serde_json::json!(["x"]));
    assert!(summary["settings"]["model"]["likelihood"]["negative-binomial"].is_object(), "{}", summary["settings"]);
    place.write("new.csv", "x,hours\n1.5,1\n1.5,2\n4.7,1\n");
    place.done("predict m.deepgp new.csv --out p.csv --quantiles 0.05,0.5,0.95 --draws 1");
    let text = place.read("p.csv");
    assert_eq!(text.lines().next(), Some("mean,std,p_zero,q0.05,q0.5,q0.95,draw1"));
    let mean = column(&text, "mean");
    assert!((mean[1] / mean[0] - 2.0).abs() < 1e-6 && mean[0] > 2.0 * mean[2], "{text}");
    for name in ["q0.05", "q0.5", "q0.95", "draw1"] {
        assert!(column(&text, name).iter().all(|count| count.fract() == 0.0 && *count >= 0.0), "{text}");
    }
    assert!(column(&text, "p_zero").iter().all(|p| (0.0..=1.0).contains(p)));
    let told = place.done("evaluate m.deepgp visits.csv").stdout;
    assert!(told.contains("log score") && told.contains("deviance"), "{told}");
    let told = place.done("info m.deepgp").stdout;
    assert!(told.contains("a count, for an exposure of `hours`"), "{told}");
    place.done("predict m.deepgp visits.csv --out all.csv --keep visits --quantiles 0.025,0.975");
    let all = place.read("all.csv");
    place.done("report m.deepgp --out r.html");
    let page = place.read("r.html");
    assert!(page.contains("id=\"figure-rootogram\"") && page.contains("id=\"figure-pit\""));
    assert_no_regression(&page);
    for row in cells(&page, "The hardest rows") {
        let at = row[0].parse::<usize>().unwrap() - 1;
        let own = |name: &str| column(&all, name)[at];
        assert_eq!(row[1].parse(), Ok(own("visits")));
        assert!((row[2].parse::<f64>().unwrap() / own("mean") - 1.0).abs() < 6e-3, "{row:?} {}", own("mean"));
        assert_eq!(row[3], format!("{} to {}", own("q0.025"), own("q0.975")));
    }
    // Of another table, all rows are scored.
    place.write("other.csv", visits(130));
    place.done("report m.deepgp other.csv --out o.html");
    let page = place.read("o.html");
    assert!(
        page.contains("<h1>visits from visits.csv, scored on other.csv</h1>") && page.contains("Poisson regression")
    );
    let zeros = column(&visits(130), "visits").into_iter().filter(|count| *count == 0.0).count();
    assert!(page.contains(&format!("Of 0: {zeros} rows, ")), "{zeros}");
    let scores = number(&place.json("evaluate m.deepgp other.csv"), &["test", "log_score"]);
    assert!(page.contains(&format!("<td class=\"best\">−{:.3}</td>", -scores)), "{scores}");
    // Without its exposure a count cannot be predicted.
    place.write("bare.csv", "x\n1.5\n");
    let ended = place.run("predict m.deepgp bare.csv");
    assert!(
        ended.code == Some(1) && ended.stderr.contains("`hours`, which is the exposure of the model"),
        "{}",
        ended.stderr
    );
    place.write("none.csv", "x,hours\n1.5,0\n");
    let ended = place.run("predict m.deepgp none.csv");
    assert!(ended.code == Some(1) && ended.stderr.contains("\"0\" is not a number above 0"), "{}", ended.stderr);
}
