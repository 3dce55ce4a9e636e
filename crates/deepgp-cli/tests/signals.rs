//! Ctrl-C and SIGTERM at any moment: while a table is read, a model is built, rows are scored or predicted, or a report is drawn.
#![cfg(target_os = "linux")]

mod common;

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Ended, Place, arm, signal};
use deepgp_io::ModelFile;

/// The most seconds from a signal to the end; on a busy machine, that is: two on an idle one.
const SOON: Duration = Duration::from_secs(6);

/// A model that is slow to choose inducing inputs for, to score and to report on.
const SLOW: &str = "--target distance --hidden-layers 2 --width 8 --mean-inducing 300 --covariance-inducing 150 --steps 2 --threads 1 \
                    --validation 0";

/// Waits until it is so; machines differ in how long that takes.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what} never came");
        sleep(Duration::from_millis(2));
    }
}

/// Whether a process has a handler for Ctrl-C.
fn listens(child: &Child) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    u64::from_str_radix(caught.trim(), 16).unwrap() >> 1 & 1 == 1
}

/// Sends a signal, and waits for the end, which comes soon and is that of an interrupted command.
fn interrupt(child: Child, name: &str) -> Ended {
    let at = Instant::now();
    signal(&child, name);
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert!(at.elapsed() < SOON, "{name}: {:?}", at.elapsed());
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    ended
}

/// A table that takes a while to read.
fn long(place: &Place, name: &str) {
    let mut text = arm(20_000, 1);
    let rows = text[text.find('\n').unwrap() + 1..].to_string();
    (0..9).for_each(|_| text.push_str(&rows));
    place.write(name, text);
}

/// A model of the arm, small enough to be there in a moment.
fn model(place: &Place, rows: usize, settings: &str) {
    place.write("arm.csv", arm(rows, 1));
    place.done(&format!("fit arm.csv --out arm.deepgp --quiet {settings}"));
}

#[test]
fn while_a_table_is_read_nothing_is_written() {
    let place = Place::new();
    model(&place, 60, "--target distance --hidden-layers 0 --inducing 5 --steps 2");
    long(&place, "long.csv");
    let files = place.files();
    for (command, name) in [
        ("fit long.csv --target distance --json", "INT"),
        ("fit long.csv --target distance", "TERM"),
        ("evaluate arm.deepgp long.csv", "INT"),
        ("report arm.deepgp long.csv --out page.html", "TERM"),
        ("predict arm.deepgp long.csv --out out.csv", "INT"),
    ] {
        let child = place.start(command);
        wait_until(command, || listens(&child));
        let ended = interrupt(child, name);
        assert!(ended.stderr.contains("interrupted"), "{command}: {}", ended.stderr);
        if command.contains("--json") {
            let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
            assert_eq!(summary["interrupted"], true);
        }
        assert_eq!(place.files(), files, "{command}");
    }
}

#[test]
fn a_table_that_is_not_read_in_time_is_an_error() {
    let place = Place::new();
    long(&place, "long.csv");
    let started = Instant::now();
    let ended = place.run("fit long.csv --target distance --time-limit 0.05s");
    assert!(started.elapsed() < SOON && ended.code == Some(1), "{:?}", ended.code);
    assert!(ended.stderr.contains("--time-limit 0.05s: the time was up while the table was read"), "{}", ended.stderr);
    assert_eq!(place.files(), ["long.csv"]);
}

#[test]
fn while_inducing_inputs_are_chosen_nothing_is_written() {
    let place = Place::new();
    place.write("arm.csv", arm(6_000, 1));
    let slow = SLOW.replace("--mean-inducing 300", "--mean-inducing 3000");
    let mut child = place.start(&format!("fit arm.csv {slow}"));
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    // Said when the rows are there.
    assert!(lines.map_while(Result::ok).any(|line| line.contains("inputs:")));
    interrupt(child, "INT");
    assert_eq!(place.files(), ["arm.csv"]);
}

#[test]
fn while_a_report_is_drawn_model_and_scores_are_there() {
    let place = Place::new();
    place.write("arm.csv", arm(4_000, 1));
    let child = place.start(&format!("fit arm.csv {SLOW} --test 0.5 --json --out arm.deepgp --report arm.html"));
    let scored = || ModelFile::load(&place.path("arm.deepgp")).is_ok_and(|file| !file.record.scores.is_empty());
    wait_until("the scores", scored);
    let ended = interrupt(child, "TERM");
    assert!(ended.stderr.contains("there is no report"), "{}", ended.stderr);
    let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(summary["interrupted"] == true && summary["test"]["rows"] == 2000, "{summary}");
    assert_eq!(place.files(), ["arm.csv", "arm.deepgp"]);
}

#[test]
fn predictions_are_all_there_or_none() {
    let place = Place::new();
    model(&place, 3_000, SLOW);
    let files = place.files();
    let child = place.start("predict arm.deepgp arm.csv --out out.csv --threads 1");
    wait_until("the first rows", || place.files().len() > files.len());
    let ended = interrupt(child, "INT");
    assert!(
        ended.stderr.contains("interrupted after") && ended.stderr.contains("nothing was written"),
        "{}",
        ended.stderr
    );
    assert_eq!(place.files(), files);
}
