//! Runs that are cut short, in every way, and go on to the same bits.

mod common;

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Ended, Place, arm, assert_same, signal};
use deepgp_io::StopReason;

/// A fit of a few seconds that saves its state often.
const FIT: &str = "fit arm.csv --target distance --hidden-layers 1 --width 2 --mean-inducing 30 --covariance-inducing 15 \
                   --steps 4000 --validation 0.2 --patience 1000 --test 0.2 --threads 1 --checkpoint-every 10";

/// The same fit from beginning to end.
fn uninterrupted(place: &Place, fit: &str) -> deepgp_io::ModelFile {
    place.write("arm.csv", arm(200, 1));
    place.done(&format!("{fit} --out whole.deepgp --quiet"));
    place.model("whole.deepgp")
}

fn steps_in(place: &Place, checkpoint: &str) -> u64 {
    place.model(checkpoint).record.steps
}

/// Waits until it is so; machines differ in how long that takes.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what} never came");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn ctrl_c_finishes_the_step_saves_and_says_how_to_go_on() {
    let place = Place::new();
    let whole = uninterrupted(&place, FIT);
    for name in ["INT", "TERM"] {
        let child = place.start(&format!("{FIT} --json --out cut.deepgp"));
        let checkpoint = place.path("cut.deepgp.checkpoint");
        // Some steps in, so that it surely listens.
        wait_until("the first step", || checkpoint.exists() && steps_in(&place, "cut.deepgp.checkpoint") > 0);
        signal(&child, name);
        let ended = Ended::from(child.wait_with_output().unwrap());
        assert_eq!(ended.code, Some(130), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains("deepgp resume cut.deepgp.checkpoint"), "{}", ended.stderr);
        let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(summary["interrupted"], true);
        let so_far = steps_in(&place, "cut.deepgp.checkpoint");
        assert!(so_far > 0 && so_far < 4000, "{so_far}");
        assert_eq!(summary["steps"].as_u64(), Some(so_far));
        // What there is can be used already.
        place.done("predict cut.deepgp arm.csv");
        place.done("evaluate cut.deepgp.checkpoint arm.csv");
        place.done("resume cut.deepgp.checkpoint --quiet");
        assert_same(&whole, &place.model("cut.deepgp"));
        assert!(!place.path("cut.deepgp.checkpoint").exists(), "a run that has ended leaves no checkpoint");
    }
}

#[test]
fn ctrl_c_leaves_a_finished_model_as_it_was() {
    let place = Place::new();
    uninterrupted(&place, FIT);
    let before = std::fs::read(place.path("whole.deepgp")).unwrap();
    let long = FIT.replace("--steps 4000", "--steps 100000");
    let child = place.start(&format!("{long} --json --out whole.deepgp"));
    wait_until("the first step", || {
        place.path("whole.deepgp.checkpoint").exists() && steps_in(&place, "whole.deepgp.checkpoint") > 0
    });
    signal(&child, "INT");
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert!(ended.stderr.contains("whole.deepgp stays as it was"), "{}", ended.stderr);
    let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(summary["model"], "whole.deepgp.checkpoint");
    assert!(std::fs::read(place.path("whole.deepgp")).unwrap() == before);
    // A further run of the finished model would lose the other one's state.
    let refused = place.run("resume whole.deepgp --steps 5");
    assert!(refused.code == Some(1) && refused.stderr.contains("has not ended"), "{}", refused.stderr);
}

/// Many test rows and hardly any training: scoring is what takes time.
const SCORING: &str = "fit arm.csv --target distance --test 0.95 --hidden-layers 2 --width 8 --mean-inducing 300 \
                       --covariance-inducing 150 --steps 2 --threads 1 --validation 0";

#[test]
fn ctrl_c_while_a_model_is_scored_leaves_it_without_scores() {
    let place = Place::new();
    place.write("arm.csv", arm(4_000, 1));
    let child = place.start(&format!("{SCORING} --json --out cut.deepgp --report cut.html"));
    wait_until("the model", || place.path("cut.deepgp").exists());
    signal(&child, "INT");
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("the model has no scores"), "{}", ended.stderr);
    let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&summary["interrupted"], summary["steps"].as_u64()), (&serde_json::Value::Bool(true), Some(2)));
    assert!(summary["test"].is_null());
    assert!(place.model("cut.deepgp").record.scores.is_empty());
    assert_eq!(place.files(), ["arm.csv", "cut.deepgp"], "training is done, and a report was not made");
}

#[test]
fn a_time_limit_leaves_room_for_scoring() {
    let place = Place::new();
    place.write("arm.csv", arm(4_000, 1));
    let scored = |fit: &str| {
        let started = Instant::now();
        let ended = place.done(&format!("{fit} --out all.deepgp --overwrite"));
        (ended.stderr, started.elapsed().as_secs_f64())
    };
    let (_, alone) = scored(SCORING);
    let limit = (3.0 * alone).ceil();
    let endless = SCORING.replace("--steps 2", "--steps 1000000");
    let (told, seconds) = scored(&format!("{endless} --time-limit {limit}s"));
    assert!(told.contains("the time was up") && told.contains("deep GP"), "{told}");
    let record = place.model("all.deepgp").record;
    assert!(record.train_seconds < 0.9 * limit, "{} of {limit}", record.train_seconds);
    assert!(record.train_seconds > 0.3 * limit, "{} of {limit}", record.train_seconds);
    // Other programs may be at work.
    assert!(seconds < 1.5 * limit, "{seconds} of {limit}");
    // Without a terminal, what takes more than a moment is told of in lines.
    assert!(alone < 4.0 || told.lines().any(|line| line.starts_with("scoring: ")), "{told}");
}

#[test]
fn a_limit_that_is_over_while_inducing_inputs_are_chosen_still_gives_a_model() {
    let place = Place::new();
    place.write("arm.csv", arm(20_000, 1));
    let fit = SCORING.replace("0.95", "0.1").replace("--mean-inducing 300", "--mean-inducing 2000");
    let fit = fit.replace("--steps 2 ", "--steps 1000 ");
    let ended = place.done(&format!("{fit} --time-limit 1s --out cut.deepgp"));
    assert!(ended.stderr.contains("rows at random stand in for some of them"), "{}", ended.stderr);
    let steps = steps_in(&place, "cut.deepgp");
    assert!((1..1000).contains(&steps), "{steps}");
    place.done(&format!("resume cut.deepgp.checkpoint --steps {} --quiet", steps + 1));
    assert_eq!(steps_in(&place, "cut.deepgp"), steps + 1);
}

/// As under `nohup`.
#[test]
#[cfg(target_os = "linux")]
fn a_signal_that_was_to_be_ignored_is() {
    let place = Place::new();
    place.write("arm.csv", arm(200, 1));
    let binary = env!("CARGO_BIN_EXE_deepgp");
    let script = format!("trap '' HUP; exec {binary} {FIT} --out deaf.deepgp");
    let mut shell = std::process::Command::new("sh");
    let child = shell.args(["-c", &script]).current_dir(place.path("")).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the first step", || {
        place.path("deaf.deepgp.checkpoint").exists() && steps_in(&place, "deaf.deepgp.checkpoint") > 0
    });
    signal(&child, "HUP");
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[test]
fn stopped_fifty_times_it_still_ends_with_the_same_bits() {
    let place = Place::new();
    // Long enough for fifty stops on a fast machine.
    let long = FIT.replace("--steps 4000", "--steps 15000");
    let whole = uninterrupted(&place, &long);
    let checkpoint = place.path("cut.deepgp.checkpoint");
    let mut child = place.command(&format!("{long} --out cut.deepgp")).stderr(Stdio::null()).spawn().unwrap();
    let (mut furthest, mut chance) = (0, 12345u64);
    for stop in 0..50 {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        sleep(Duration::from_millis(5 + (chance >> 33) % 60));
        // Two kills, then an interruption.
        if stop % 3 == 2 {
            signal(&child, "INT");
        } else {
            child.kill().unwrap();
        }
        child.wait().unwrap();
        let again = if checkpoint.exists() {
            // Never half a checkpoint, and never an older one than before.
            let steps = steps_in(&place, "cut.deepgp.checkpoint");
            assert!(steps >= furthest, "from step {furthest} back to {steps}");
            furthest = steps;
            "resume cut.deepgp.checkpoint --checkpoint-every 10".to_string()
        } else {
            assert!(!place.path("cut.deepgp").exists(), "the fit was over after {stop} stops: make it longer");
            assert_eq!(furthest, 0, "the checkpoint is gone");
            format!("{long} --out cut.deepgp")
        };
        child = place.command(&again).stderr(Stdio::null()).spawn().unwrap();
    }
    assert!(furthest > 0, "no run ever came to a checkpoint: make the stops rarer");
    assert!(child.wait().unwrap().success());
    assert_same(&whole, &place.model("cut.deepgp"));
    assert_eq!(place.files(), ["arm.csv", "cut.deepgp", "whole.deepgp"]);
}

/// Builds without debug assertions have no fault points.
#[test]
#[cfg(debug_assertions)]
fn a_power_cut_around_a_write_leaves_the_old_file_or_the_new_one() {
    let place = Place::new();
    let whole = uninterrupted(&place, FIT);
    // The first file is the check that the model can be written; then come checkpoints.
    for point in ["writing:2", "written:1", "written:3", "synced:1", "synced:3", "renamed:1", "renamed:3"] {
        let ended = place.command(&format!("{FIT} --out cut.deepgp")).env("DEEPGP_ABORT", point).output().unwrap();
        assert_eq!(ended.status.code(), None, "{point}: it should have been cut off");
        assert!(!place.path("cut.deepgp").exists());
        if place.path("cut.deepgp.checkpoint").exists() {
            steps_in(&place, "cut.deepgp.checkpoint");
            place.done("resume cut.deepgp.checkpoint --quiet");
        } else {
            let first = ["writing:2", "written:1", "synced:1"];
            assert!(first.contains(&point), "{point}: the checkpoint is gone");
            place.done(&format!("{FIT} --out cut.deepgp --quiet"));
        }
        assert_same(&whole, &place.model("cut.deepgp"));
        assert_eq!(place.files(), ["arm.csv", "cut.deepgp", "whole.deepgp"], "{point}");
        std::fs::remove_file(place.path("cut.deepgp")).unwrap();
    }
}

#[test]
#[cfg(debug_assertions)]
fn a_disk_that_is_full_at_any_write_leaves_a_whole_model_or_none() {
    let place = Place::new();
    place.write("arm.csv", arm(200, 1));
    let fit = "fit arm.csv --target distance --test 0.2 --hidden-layers 0 --inducing 10 --steps 20 --threads 1 --out m.deepgp";
    let mut outcomes = Vec::new();
    for write in 1.. {
        let ended = place.command(fit).env("DEEPGP_FULL", format!("written:{write}")).output().unwrap();
        let ended = Ended::from(ended);
        let has_scores = place.path("m.deepgp").exists().then(|| !place.model("m.deepgp").record.scores.is_empty());
        // Whoever is told of a failure has no model, and goes on with the checkpoint, if it came to one.
        assert_eq!(ended.code, Some(i32::from(has_scores.is_none())), "{write}: {}", ended.stderr);
        let told = ended.stderr.contains("scores could not be written into it");
        assert_eq!(told, has_scores == Some(false), "{write}: {}", ended.stderr);
        outcomes.push(has_scores);
        if place.path("m.deepgp.checkpoint").exists() {
            place.done("resume m.deepgp.checkpoint --quiet");
        }
        let left = if place.path("m.deepgp").exists() { &["arm.csv", "m.deepgp"][..] } else { &["arm.csv"] };
        assert_eq!(place.files(), left, "{write}");
        let _ = std::fs::remove_file(place.path("m.deepgp"));
        if has_scores == Some(true) {
            break;
        }
    }
    assert!(outcomes.contains(&None) && outcomes.contains(&Some(false)), "{outcomes:?}");
}

#[test]
fn a_checkpoint_is_not_overwritten_and_belongs_to_its_table() {
    let place = Place::new();
    place.write("arm.csv", arm(200, 1));
    let child = place.start(&format!("{FIT} --out cut.deepgp"));
    wait_until("the first step", || {
        place.path("cut.deepgp.checkpoint").exists() && steps_in(&place, "cut.deepgp.checkpoint") > 0
    });
    signal(&child, "INT");
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert!(ended.stderr.contains("interrupted") && ended.stderr.contains("deepgp resume"), "{}", ended.stderr);
    let refused = place.run(&format!("{FIT} --out cut.deepgp"));
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("deepgp resume") && refused.stderr.contains("--overwrite"), "{}", refused.stderr);

    std::fs::rename(place.path("arm.csv"), place.path("moved.csv")).unwrap();
    let refused = place.run("resume cut.deepgp.checkpoint");
    assert!(refused.code == Some(1) && refused.stderr.contains("--table"), "{}", refused.stderr);
    place.write("arm.csv", arm(200, 2));
    let refused = place.run("resume cut.deepgp.checkpoint");
    assert!(refused.code == Some(1) && refused.stderr.contains("has changed"), "{}", refused.stderr);
    let refused = place.run("resume cut.deepgp.checkpoint --table moved.csv --steps 1");
    assert!(refused.code == Some(2) && refused.stderr.contains("steps are made already"), "{}", refused.stderr);
    // Only one at a time.
    let before = steps_in(&place, "cut.deepgp.checkpoint");
    let child = place.start("resume cut.deepgp.checkpoint --table moved.csv --steps 100000000");
    wait_until("a further step", || steps_in(&place, "cut.deepgp.checkpoint") > before);
    let refused = place.run("resume cut.deepgp.checkpoint --table moved.csv");
    assert!(refused.code == Some(1) && refused.stderr.contains("another deepgp"), "{}", refused.stderr);
    signal(&child, "INT");
    assert_eq!(Ended::from(child.wait_with_output().unwrap()).code, Some(130));
    let steps = steps_in(&place, "cut.deepgp.checkpoint") + 10;
    place.done(&format!("resume cut.deepgp.checkpoint --quiet --steps {steps}"));
    assert_eq!(place.model("cut.deepgp").record.steps, steps, "it remembers where the table went");
}

#[test]
fn a_fit_that_its_time_limit_ended_is_finished_and_goes_on_to_the_same_bits() {
    let place = Place::new();
    let whole = uninterrupted(&place, FIT);
    let limited = format!("{FIT} --time-limit 0.3s --out cut.deepgp");
    // The same command again, without a word about the checkpoint.
    for _ in 0..2 {
        let ended = place.done(&limited);
        assert!(ended.stderr.contains("the time was up") && ended.stderr.contains("deepgp resume"), "{}", ended.stderr);
    }
    let before = place.model("cut.deepgp");
    assert!(before.record.steps < 4000 && before.record.stop == Some(StopReason::TimeLimit));
    for left in ["cut.deepgp", "cut.deepgp.checkpoint"] {
        place.done(&limited);
        place.done(&format!("resume {left} --quiet"));
        assert_same(&whole, &place.model("cut.deepgp"));
        assert_eq!(place.files(), ["arm.csv", "cut.deepgp", "whole.deepgp"]);
    }
}

#[test]
fn a_finished_model_goes_on_with_a_run_of_its_own() {
    let place = Place::new();
    let whole = uninterrupted(&place, FIT);
    let refused = place.run("resume whole.deepgp");
    let advised = refused.stderr.contains("--steps") && refused.stderr.contains("--time-limit");
    assert!(refused.code == Some(2) && advised, "{}", refused.stderr);
    assert_eq!(place.run("resume whole.deepgp --steps 0").code, Some(2));

    let ended = place.done("resume whole.deepgp --steps 2000 --out further.deepgp");
    assert!(ended.stderr.contains("begin anew, from its parameters"), "{}", ended.stderr);
    assert!(ended.stderr.contains("going on after 4000 steps with 2000 further"), "{}", ended.stderr);
    let further = place.model("further.deepgp");
    assert_eq!((further.record.steps, further.record.steps_before), (2000, whole.record.steps));
    // It starts from what was learnt, on the same rows, and keeps the best.
    let score = |file: &deepgp_io::ModelFile| file.history.kept().unwrap().1;
    let start = further.history.validation()[0];
    assert!(start.0 == 0 && (start.1 - score(&whole)).abs() < 0.1, "{start:?}, {}", score(&whole));
    assert!(score(&further) >= start.1);
    assert_eq!(further.record.test_rows, whole.record.test_rows);

    // Cut short, it ends with the same bits.
    let cut = "resume whole.deepgp --steps 2000 --time-limit 0.2s --out cut.deepgp --quiet";
    place.done(cut);
    assert!(place.model("cut.deepgp").record.steps < 2000);
    place.done("resume cut.deepgp --quiet");
    assert_same(&further, &place.model("cut.deepgp"));
    // In its own place.
    place.done("resume whole.deepgp --steps 3 --quiet");
    assert_eq!(place.model("whole.deepgp").record.steps, 3);
    assert_eq!(place.files(), ["arm.csv", "cut.deepgp", "further.deepgp", "whole.deepgp"]);
}
