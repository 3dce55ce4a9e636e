//! Proves that a fit whose rows are on disk is that of rows in memory, to the bit, through the real binary: with missing cells, categories,
//! columns that do not vary, transforms; cut short, killed and gone on with; in little memory; and that it leaves no file behind.

mod common;

use std::fmt::Write as _;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Ended, Place, arm, assert_same, signal};
use deepgp_io::note::Note;

const SMALL: &str = "--hidden-layers 1 --width 2 --mean-inducing 20 --covariance-inducing 10 --threads 1 --batch-size 60 --test 0.2 --quiet";

/// A table of numbers with holes, a category, a constant, a skewed target, and one of classes.
fn mixed(rows: usize) -> String {
    let mut text = String::from("size,colour,fixed,price,kind\n");
    for i in 0..rows {
        let size = (i * 37 % 101) as f64 / 10.0;
        let shown = if i % 13 == 5 { String::new() } else { size.to_string() };
        let colour = ["red", "green", "blue"][i % 3];
        let price = (0.3 * size + (i % 3) as f64 + 0.01 * (i % 17) as f64).exp();
        writeln!(text, "{shown},{colour},7,{price},{}", if size > 4.0 { "big" } else { "small" }).unwrap();
    }
    text
}

#[test]
fn rows_on_disk_give_the_model_of_rows_in_memory() {
    let place = Place::new();
    place.write("arm.csv", arm(400, 1));
    place.write("mixed.csv", mixed(400));
    for (case, fit) in [
        ("numbers", "fit arm.csv --target distance"),
        ("missing cells are filled in", "fit mixed.csv --target price --ignore kind,colour --missing indicator"),
        (
            "rows are left out",
            "fit mixed.csv --target price --ignore kind,colour --missing drop --transform-target log",
        ),
        ("constants are kept", "fit mixed.csv --target price --ignore kind,colour --constant keep"),
        ("classes", "fit mixed.csv --target kind --ignore colour --seed 4"),
    ] {
        let both = ["memory", "disk"].map(|kept| {
            place.done(&format!("{fit} {SMALL} --steps 15 --rows-in {kept} --out {kept}.deepgp --report r.html"));
            place.model(&format!("{kept}.deepgp"))
        });
        let [memory, disk] = &both;
        assert_same(memory, disk);
        let told = |file: &deepgp_io::ModelFile| file.record.notes.iter().map(Note::to_string).collect::<Vec<_>>();
        let few = |note: &&String| !note.contains("different values");
        assert_eq!(
            told(memory).iter().filter(few).collect::<Vec<_>>(),
            told(disk).iter().collect::<Vec<_>>(),
            "{case}"
        );
        assert_eq!((memory.record.test_rows, &memory.schema), (disk.record.test_rows, &disk.schema), "{case}");
        assert_eq!(memory.record.class_scores, disk.record.class_scores, "{case}");
    }
    assert_eq!(place.files(), ["arm.csv", "disk.deepgp", "memory.deepgp", "mixed.csv", "r.html"]);
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
#[cfg(unix)]
fn a_fit_that_is_cut_short_leaves_no_rows_and_goes_on_from_the_table() {
    let place = Place::new();
    place.write("arm.csv", arm(300, 1));
    let fit = format!("fit arm.csv --target distance {SMALL} --steps 3000 --patience 1000 --checkpoint-every 10");
    place.done(&format!("{fit} --out whole.deepgp"));
    for (name, then) in [("INT", "disk"), ("KILL", "disk"), ("TERM", "memory")] {
        let mut child = place.start(&format!("{fit} --rows-in disk --out cut.deepgp"));
        let checkpoint = place.path("cut.deepgp.checkpoint");
        let steps = || place.model("cut.deepgp.checkpoint").record.steps;
        wait_until("the first step", || checkpoint.exists() && steps() > 0);
        signal(&child, name);
        child.wait().unwrap();
        let left: Vec<String> = place.files().into_iter().filter(|file| file.contains(".rows")).collect();
        assert!(left.is_empty(), "{name}: {left:?}");
        // By then, something else may have been left by another system.
        place.write(".cut.deepgp.checkpoint.rows.1-0.tmp", "rows");
        place.done(&format!("resume cut.deepgp.checkpoint --rows-in {then} --quiet"));
        assert_same(&place.model("whole.deepgp"), &place.model("cut.deepgp"));
        let left = place.files().iter().any(|file| file.contains(".rows"));
        assert_eq!(left, then == "memory", "{name}");
    }
    // A finished model goes on too.
    for kept in ["memory", "disk"] {
        std::fs::copy(place.path("whole.deepgp"), place.path("more.deepgp")).unwrap();
        place.done(&format!("resume more.deepgp --steps 20 --rows-in {kept} --quiet"));
        std::fs::rename(place.path("more.deepgp"), place.path(&format!("more-{kept}.deepgp"))).unwrap();
    }
    assert_same(&place.model("more-memory.deepgp"), &place.model("more-disk.deepgp"));
}

#[test]
fn what_needs_rows_in_memory_is_named() {
    let place = Place::new();
    place.write("mixed.csv", mixed(60));
    let refused = |options: &str| {
        let ended = place.run(&format!("fit mixed.csv --target price --rows-in disk {options} --json"));
        assert_eq!(ended.code, Some(2), "{options}: {}", ended.stderr);
        ended.stderr
    };
    for (options, named) in [
        ("--weights size --missing drop", "--weights"),
        ("--group colour", "--group"),
        ("--test last:0.2", "--test last:"),
        ("--folds 3", "--folds"),
    ] {
        let told = refused(options);
        assert!(told.contains(&format!("--rows-in disk is not for {named}")), "{told}");
    }
    let told = place.run("fit mixed.csv --target size --missing drop --rows-in disk --transform-target log").stderr;
    assert!(told.contains("needs values of `size` above 0") && told.contains("row 1 has 0"), "{told}");
    assert_eq!(place.files(), ["mixed.csv"]);
}

/// What is too much for the memory that there is goes to disk by itself, and is done in it.
#[test]
#[cfg(target_os = "linux")]
fn a_table_that_does_not_fit_in_memory_is_kept_on_disk() {
    let place = Place::new();
    let mut text = String::from("a,b,c,y\n");
    for i in 0..500_000_u32 {
        let part = |by: u32| i.wrapping_mul(by) % 997;
        writeln!(text, "0.{:03},0.{:03},0.{:03},{}.5", part(7), part(1009), part(613), part(7) + i % 7).unwrap();
    }
    place.write("long.csv", text);
    let fit = "fit long.csv --target y --hidden-layers 1 --width 2 --mean-inducing 20 --covariance-inducing 10 --threads 1 --batch-size 500 \
               --steps 2 --validation 0.01 --transform-target none --out long.deepgp";
    let limited = |options: &str| {
        let mut command = Command::new("sh");
        let line = format!("ulimit -v 180000 && exec {} {fit} {options}", env!("CARGO_BIN_EXE_deepgp"));
        // What an allocator keeps for each thread is no matter of the rows.
        command.args(["-c", &line]).current_dir(place.path("")).env("MALLOC_ARENA_MAX", "1");
        Ended::from(command.output().unwrap())
    };
    let ended = limited("");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("rows are kept on disk: 15 MiB beside long.deepgp.checkpoint"), "{}", ended.stderr);
    let refused = limited("--rows-in memory");
    assert!(refused.stderr.contains("fit to fewer rows"), "{}", refused.stderr);
    assert_eq!(place.files(), ["long.csv", "long.deepgp"]);
}
