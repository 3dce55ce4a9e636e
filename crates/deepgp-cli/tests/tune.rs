//! Searches for settings through the real binary: cut short in every way, and to the same end; within a time; without a look at test rows.

mod common;

use std::time::{Duration, Instant};

use common::{Ended, Place, arm, assert_same, signal};
use serde_json::Value;

/// A search of a few seconds, whose end does not depend on the clock.
const TUNE: &str = "tune arm.csv --target distance --test 0.2 --candidates 6 --steps 300 --hidden-layers 1 --width 2 --mean-inducing 20 \
                    --covariance-inducing 10 --threads 1 --seed 3";

/// The lines of a search's journal, but for how long things took.
fn journal(place: &Place, model: &str) -> Vec<Value> {
    let text = place.read(&format!("{model}.search/journal.jsonl"));
    let line = |text: &str| {
        let mut line: Value = serde_json::from_str(text).unwrap();
        if let Some(trial) = line.get_mut("trial") {
            trial["seconds"] = Value::Null;
        }
        line
    };
    text.lines().map(line).collect()
}

/// The number of candidates that a search has judged, as far as its journal says.
fn judged(place: &Place, model: &str) -> usize {
    let path = place.path(&format!("{model}.search/journal.jsonl"));
    std::fs::read_to_string(path).map_or(0, |text| text.matches("{\"trial\"").count())
}

/// Starts a search, and waits until it has judged so many candidates.
fn started(place: &Place, arguments: &str, model: &str, count: usize) -> std::process::Child {
    let child = place.start(arguments);
    let started = Instant::now();
    while judged(place, model) < count {
        assert!(started.elapsed() < Duration::from_secs(120), "{count} trials never came");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

#[test]
fn a_search_that_is_killed_goes_on_to_the_same_end_and_its_model_is_that_of_fit() {
    let place = Place::new();
    place.write("arm.csv", arm(200, 1));
    let whole = place.json(&format!("{TUNE} --out whole.deepgp"));
    assert_eq!(whole["candidates"], 6);
    let winner = &whole["winner"];
    assert!(winner["candidate"].as_u64().unwrap() > 0 && winner["steps"] == 300, "{winner}");
    assert!(winner["score"].as_f64().unwrap() < whole["default"]["score"].as_f64().unwrap(), "{whole}");
    assert!(whole["comparison"]["winner"]["crps"].is_number() && whole["fit"]["scores"]["deep GP"]["crps"].is_number());

    // On the top rung there are models of whole fits.
    for candidate in [0, winner["candidate"].as_u64().unwrap()] {
        let own = place.model(&format!("whole.deepgp.search/candidate-{candidate}.rung-2.part-0.deepgp"));
        assert_eq!((own.record.steps, own.state.unwrap().step), (300, 300));
    }

    // Killed again and again; what is judged is not judged again.
    for count in [2, 5] {
        let mut child = started(&place, &format!("{TUNE} --out cut.deepgp"), "cut.deepgp", count);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!place.path("cut.deepgp").exists());
    }
    let before = judged(&place, "cut.deepgp");
    let text = place.read("cut.deepgp.search/journal.jsonl");
    place.write("cut.deepgp.search/journal.jsonl", format!("{text}{{\"trial\":{{\"cand"));
    let ended = place.done(&format!("{TUNE} --out cut.deepgp"));
    assert!(before >= 5 && ended.stderr.contains("going on with cut.deepgp.search"), "{}", ended.stderr);
    assert_eq!(journal(&place, "cut.deepgp"), journal(&place, "whole.deepgp"));
    assert_same(&place.model("whole.deepgp"), &place.model("cut.deepgp"));
    assert_eq!(place.model("cut.deepgp").record.search, place.model("whole.deepgp").record.search);

    // Several at once, on all threads: the journal's order may differ, what it says does not.
    place.done(&format!("{} --jobs 3 --out many.deepgp --quiet", TUNE.replace("--threads 1", "--threads 0")));
    let sorted = |model: &str| {
        let mut all: Vec<String> = journal(&place, model).iter().map(Value::to_string).collect();
        all.sort();
        all
    };
    assert_eq!(sorted("many.deepgp"), sorted("whole.deepgp"));
    assert_same(&place.model("whole.deepgp"), &place.model("many.deepgp"));

    // The model is that of `fit` with the winner's flags, which replace those that they name.
    let fit = TUNE.replace("tune", "fit").replace("--candidates 6 ", "");
    place.done(&format!("{fit} {} --out fit.deepgp --quiet", winner["flags"].as_str().unwrap()));
    assert_same(&place.model("whole.deepgp"), &place.model("fit.deepgp"));
    assert!(place.model("fit.deepgp").record.search.is_none());

    // A search that is done is only told of again, and its model is used as any other.
    let again = place.json(&format!("{TUNE} --out whole.deepgp"));
    assert_eq!((&again["winner"], &again["trials"]), (&whole["winner"], &whole["trials"]));
    place.done("predict whole.deepgp arm.csv --out p.csv");
    let page = place.read("whole.deepgp.search/index.html");
    assert!(page.contains("<svg") && !page.contains("<script") && !page.contains("http"), "{page}");
    let info: Value = serde_json::from_str(&place.done("info whole.deepgp --json").stdout).unwrap();
    assert_eq!(info["search"]["best"], winner["candidate"]);
}

#[test]
fn ctrl_c_keeps_what_is_judged_and_the_same_command_goes_on() {
    let place = Place::new();
    place.write("arm.csv", arm(200, 1));
    let long = TUNE.replace("--steps 300", "--steps 3000").replace("--candidates 6", "--candidates 3");
    let child = started(&place, &format!("{long} --json --out cut.deepgp"), "cut.deepgp", 1);
    signal(&child, "INT");
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("the same command goes on"), "{}", ended.stderr);
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&told["interrupted"], &told["model"]), (&Value::Bool(true), &Value::Null));
    assert!(!place.path("cut.deepgp").exists() && place.path("cut.deepgp.search/index.html").exists());
    assert!(!place.files().iter().any(|name| name.ends_with(".lock")), "{:?}", place.files());
    // Others than those that were begun with cannot be asked for in the middle.
    let other = place.run(&format!("{long} --out cut.deepgp --metric rmse"));
    assert!(other.code == Some(1) && other.stderr.contains("is of a search with --metric crps"), "{}", other.stderr);
    let table = arm(201, 1);
    place.write("arm.csv", table);
    let other = place.run(&format!("{long} --out cut.deepgp"));
    assert!(other.stderr.contains("another table: start over with --overwrite"), "{}", other.stderr);
    place.done(&format!("{} --out cut.deepgp --overwrite --quiet", TUNE.replace("--candidates 6", "--candidates 1")));
    assert_eq!(judged(&place, "cut.deepgp"), 3, "the settings of fit alone, on three rungs");
}

#[test]
fn test_rows_are_not_looked_at() {
    let place = Place::new();
    let whole = arm(150, 1);
    let mut lines: Vec<String> = whole.lines().map(String::from).collect();
    for line in &mut lines[121..] {
        let (inputs, _) = line.rsplit_once(',').unwrap();
        *line = format!("{inputs},{}", 0.1);
    }
    place.write("arm.csv", whole);
    place.write("other.csv", lines.join("\n"));
    let tune = TUNE.replace("--test 0.2", "--test last:0.2").replace("--steps 300", "--steps 60");
    let one = place.json(&format!("{tune} --out one.deepgp"));
    let other = place.json(&format!("{} --out other.deepgp", tune.replace("arm.csv", "other.csv")));
    assert_eq!(one["winner"], other["winner"]);
    let scores = |told: &Value| -> Vec<Value> {
        told["trials"].as_array().unwrap().iter().map(|own| own["score"].clone()).collect()
    };
    assert_eq!(scores(&one), scores(&other));
    assert_ne!(one["fit"]["scores"]["deep GP"]["rmse"], other["fit"]["scores"]["deep GP"]["rmse"], "they are scored");
}

#[test]
fn a_search_ends_in_its_time_with_a_model() {
    let place = Place::new();
    place.write("arm.csv", arm(300, 1));
    let started = Instant::now();
    let told = place.json(
        "tune arm.csv --target distance --test 0.2 --hidden-layers 1 --width 2 --mean-inducing 20 --covariance-inducing 10 --time-limit 6s",
    );
    // Machines that do other work besides are slower at times.
    let seconds = started.elapsed().as_secs_f64();
    assert!(seconds < 12.0, "{seconds}");
    assert!(told["candidates"].as_u64().unwrap() > 0 && told["fit"]["scores"]["deep GP"]["crps"].is_number(), "{told}");
    assert!(place.path("model.deepgp").exists());
    // There is no time for anything but a fit.
    let told = place.json("tune arm.csv --target distance --time-limit 0.5s --out hasty.deepgp --hidden-layers 0");
    assert_eq!(told["winner"]["candidate"], 0);
}

#[test]
fn folds_classes_weights_and_groups_are_searched_as_they_are_fitted() {
    let place = Place::new();
    let table: String = arm(120, 2)
        .lines()
        .enumerate()
        .map(|(i, line)| match i {
            0 => format!("{line},near,w,person\n"),
            _ => {
                let distance: f64 = line.rsplit_once(',').unwrap().1.parse().unwrap();
                format!("{line},{},{},{}\n", if distance < 0.9 { "yes" } else { "no" }, 1 + i % 3, i % 12)
            }
        })
        .collect();
    place.write("arm.csv", table);
    let told = place.json(
        "tune arm.csv --target near --ignore distance --weights w --group person --test 0.2 --folds 3 --candidates 4 --steps 30 --hidden-layers 1 \
         --width 2 --mean-inducing 15 --covariance-inducing 10 --class-weights balanced --metric brier",
    );
    assert_eq!((&told["metric"], &told["candidates"]), (&"brier".into(), &4.into()));
    let each = journal(&place, "model.deepgp")
        .iter()
        .find_map(|line| line["trial"]["outcome"]["scored"]["each"].as_array().cloned());
    assert_eq!(each.unwrap().len(), 3, "a score for each fold");
    assert!(told["comparison"].is_null() || told["comparison"]["winner"]["log_loss"].is_number(), "{told}");
    assert!(told["fit"]["scores"]["deep GP"]["brier"].is_number(), "{told}");
}

#[test]
fn wrong_options_say_what_to_do() {
    let place = Place::new();
    place.write("arm.csv", arm(60, 1));
    for (options, said) in [
        ("", "say how long to search: --time-limit 10m, or --candidates 27"),
        ("--candidates 3 --time-limit 1m", "contradict each other"),
        ("--candidates 0", "--candidates"),
        (
            "--candidates 3 --metric brier",
            "--metric brier is not for such a target: take crps, log-likelihood, rmse, mae",
        ),
        ("--candidates 3 --search depth=3", "there is no setting `depth` to search; there are hidden-layers"),
        ("--candidates 3 --search width", "give a setting and its values"),
        ("--candidates 3 --search kernel=rbf", "`rbf`"),
        (
            "--candidates 3 --kernel matern12 --search kernel=matern32",
            "--kernel and --search kernel=matern32 contradict",
        ),
        ("--candidates 3 --selection 1", "--selection 1: give a share of the rows above 0 and below 1"),
        ("--candidates 3 --folds 1", "--folds: give at least 2"),
    ] {
        let ended = place.run(&format!("tune arm.csv --target distance {options}"));
        assert_eq!(ended.code, Some(2), "{options}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{options}: {}", ended.stderr);
    }
    assert_eq!(place.files(), ["arm.csv"], "nothing is left behind");
    // What somebody else's fit has left is not lost.
    place.write("model.deepgp.checkpoint", "mine");
    let ended = place.run("tune arm.csv --target distance --candidates 3");
    assert!(ended.code == Some(1) && ended.stderr.contains("is no checkpoint"), "{}", ended.stderr);
}
