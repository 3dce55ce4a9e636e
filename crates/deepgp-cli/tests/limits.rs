//! Bounds in time and memory, whatever comes: wide tables, wide models, files that hold far more than their size, machines with little memory.
#![cfg(target_os = "linux")]

mod common;

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Ended, Place, arm, signal};
use deepgp::noise::{Key, Purpose};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Rows of so many inputs and a target, at random.
fn wide(rows: usize, columns: usize) -> String {
    let key = Key::new(1, Purpose::Simulate);
    let mut text: String = (0..columns).map(|column| format!("x{column},")).collect();
    text += "y\n";
    for row in 0..rows {
        for column in 0..=columns {
            let value = key.uniform([row as u32, column as u32, 0, 0]);
            write!(text, "{value:.4}{}", if column < columns { "," } else { "\n" }).unwrap();
        }
    }
    text
}

fn gzip(pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    pieces.into_iter().for_each(|piece| encoder.write_all(piece.as_ref()).unwrap());
    encoder.finish().unwrap()
}

/// How a command ended, and the most memory that was seen in its use, in MiB.
fn watched(mut child: Child) -> (Ended, u64) {
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let status = format!("/proc/{}/status", child.id());
    let texts = std::thread::spawn(move || {
        let mut texts = [Vec::new(), Vec::new()];
        err.read_to_end(&mut texts[1]).unwrap();
        out.read_to_end(&mut texts[0]).unwrap();
        texts
    });
    let mut most = 0;
    let code = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
        most = most.max(peak.unwrap_or(0u64) >> 10);
        if let Some(code) = child.try_wait().unwrap() {
            break code.code();
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let [stdout, stderr] = texts.join().unwrap().map(|text| String::from_utf8(text).unwrap());
    assert!(!stderr.contains("panicked"), "{stderr}");
    (Ended { code, stdout, stderr }, most)
}

/// Runs `deepgp` from a shell, as `script` has it; `"$0"` is the binary.
fn from_shell(place: &Place, script: &str) -> Ended {
    let mut shell = Command::new("bash");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_deepgp")]).current_dir(place.path("")).stdin(Stdio::null());
    Ended::from(shell.output().unwrap())
}

#[test]
fn a_table_with_far_more_columns_than_rows_is_fitted_soon() {
    let place = Place::new();
    place.write("wide.csv", wide(30, 20_000));
    let started = Instant::now();
    let (ended, memory) = watched(place.start("fit wide.csv --target y --steps 3 --threads 1"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    // A square matrix of the columns alone would be 3 GB.
    assert!(memory < 1000, "{memory} MiB");
    assert!(started.elapsed() < Duration::from_secs(300), "{:?}", started.elapsed());
    assert_eq!(place.files(), ["model.deepgp", "wide.csv"]);
}

#[test]
fn what_would_need_more_memory_than_there_is_is_refused_with_its_size() {
    let place = Place::new();
    place.write("arm.csv", arm(300, 1));
    for wide in ["--width 100000 --covariance-form whitened", "--hidden-layers 1000 --width 30000"] {
        let ended = place.run(&format!("fit arm.csv --target distance {wide}"));
        assert_eq!(ended.code, Some(1), "{wide}: {}", ended.stderr);
        for part in ["300 rows of 8 inputs", "iB of memory", "are free", "--width"] {
            assert!(ended.stderr.replace("270 rows", "300 rows").contains(part), "{wide}, {part}: {}", ended.stderr);
        }
        assert_eq!(place.files(), ["arm.csv"]);
    }
    // A limit on the address space counts as well.
    let fit = "fit arm.csv --target distance --steps 2 --threads 1 --width 3000";
    place.done(&format!("{fit} --out fits.deepgp"));
    let ended = from_shell(&place, &format!("ulimit -v 600000; exec \"$0\" {fit}"));
    assert!(ended.code == Some(1) && ended.stderr.contains("of memory, but"), "{}", ended.stderr);
    assert_eq!(place.files(), ["arm.csv", "fits.deepgp"]);
}

#[test]
fn no_small_file_takes_much_memory_or_time_whatever_it_claims() {
    let place = Place::new();
    let lines = |count: usize, line: &str| vec![line.repeat(1 << 16); count >> 16];
    let levels = |i: usize| format!("{}{i}\n", format!("{},", (b'a' + (i % 26) as u8) as char).repeat(60));
    let names: String = (0..60).map(|column| format!("x{column},")).collect();
    for (name, bytes) in [
        ("commas.csv.gz", gzip(lines(60 << 20, ","))),
        ("commas.csv", vec![b','; 999_999]),
        ("names.csv", "y,".repeat(499_999).into_bytes()),
        ("rows.csv.gz", gzip([vec!["a,y\n".to_string()], lines(30 << 20, "1,2\n")].concat())),
        ("kept.csv.gz", gzip([vec!["a,y\n".to_string()], lines(4 << 20, "1,2\n")].concat())),
        ("cell.csv.gz", gzip([vec!["a,y\n1,".to_string()], lines(60 << 20, "x")].concat())),
        ("quote.csv.gz", gzip([vec!["a,y\n1,\"".to_string()], lines(60 << 20, "x\n")].concat())),
        (
            "wide.csv",
            [",".repeat(49_000), "y\n".into(), format!("{}2\n", "1,".repeat(49_000)).repeat(8)].concat().into(),
        ),
        ("levels.csv.gz", gzip(std::iter::once(format!("{names}y\n")).chain((0..120_000).map(levels)))),
    ] {
        assert!(bytes.len() < 1_000_000, "{name}: {}", bytes.len());
        place.write(name, bytes);
        let started = Instant::now();
        // What can be read is refused then: nothing varies.
        let (ended, memory) = watched(place.start(&format!("fit {name} --target y --threads 1")));
        let told = format!("{name}: {memory} MiB, {:?}, {}", started.elapsed(), ended.stderr);
        assert_eq!(ended.code, Some(1), "{told}");
        assert!(memory < 256, "{told}");
        // A bound that a busy machine keeps, too.
        assert!(started.elapsed() < Duration::from_secs(60), "{told}");
        let files = place.files();
        assert!(files.iter().all(|file| file.contains(".csv")), "{name}: {files:?}");
    }
}

#[test]
fn limits_are_raised_by_flags_and_in_a_configuration() {
    let place = Place::new();
    let text = arm(200, 1);
    place.write("arm.csv", &text);
    let small = "--target distance --hidden-layers 0 --inducing 5 --steps 2 --threads 1";
    let refused = place.run(&format!("fit arm.csv {small} --max-columns 8"));
    assert!(refused.code == Some(1) && refused.stderr.contains("more than 8 columns"), "{}", refused.stderr);
    place.write("fit.toml", "max-columns = 8\n");
    assert_eq!(place.run(&format!("fit arm.csv {small} --config fit.toml")).code, Some(1));
    place.done(&format!("fit arm.csv {small} --config fit.toml --max-columns 9 --out m.deepgp"));
    for command in [
        "predict m.deepgp arm.csv",
        "evaluate m.deepgp arm.csv",
        "report m.deepgp arm.csv",
        "resume m.deepgp --steps 2",
    ] {
        let refused = place.run(&format!("{command} --max-cell 3"));
        assert!(refused.stderr.contains("longer than 3 bytes"), "{command}: {}", refused.stderr);
    }
    assert_eq!(place.run("predict m.deepgp arm.csv --max-cell 0").code, Some(2));
    // Blank lines say nothing, and take room.
    place.write("arm.csv.gz", gzip([text.into_bytes(), vec![b'\n'; 17 << 20]]));
    let refused = place.run("predict m.deepgp arm.csv.gz --out p.csv");
    assert!(refused.code == Some(1) && refused.stderr.contains("--max-expansion"), "{}", refused.stderr);
    place.done("predict m.deepgp arm.csv.gz --out p.csv --max-expansion 1000");
}

#[test]
fn signals_reach_into_a_start_that_takes_long_however_often_they_are_sent() {
    let place = Place::new();
    // Wide enough, and asked for many directions, that their eigenvectors take a while.
    place.write("wide.csv", wide(1500, 1400));
    for (name, twice) in [("INT", false), ("TERM", true)] {
        let child = place.start("fit wide.csv --target y --width 700 --hidden-layers 1 --threads 1");
        let status = format!("/proc/{}/status", child.id());
        let begun = Instant::now();
        // Past the rows, in memory: the table is there.
        while !place.files().iter().any(|file| file.ends_with(".lock")) && begun.elapsed() < Duration::from_secs(60) {
            assert!(std::path::Path::new(&status).exists());
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_secs(2));
        signal(&child, name);
        if twice {
            // As `timeout` does, to the process and to its group.
            signal(&child, name);
        }
        let sent = Instant::now();
        let ended = Ended::from(child.wait_with_output().unwrap());
        assert!(sent.elapsed() < Duration::from_secs(6), "{name}: {:?}", sent.elapsed());
        assert_eq!(ended.code, Some(130), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains("nothing was written"), "{name}: {}", ended.stderr);
        assert_eq!(place.files(), ["wide.csv"], "{name}");
    }
    let started = Instant::now();
    let ended =
        place.run("fit wide.csv --target y --width 700 --hidden-layers 1 --threads 1 --time-limit 6s --out m.deepgp");
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    // A slow machine has no model soon enough, a fast one just has.
    if ended.code == Some(0) {
        assert!(ended.stderr.contains("the time was up") && place.path("m.deepgp").exists(), "{}", ended.stderr);
    } else {
        assert!(ended.code == Some(1) && ended.stderr.contains("--time-limit 6s: the time was up"), "{}", ended.stderr);
        assert_eq!(place.files(), ["wide.csv"]);
    }
}

#[test]
fn a_standard_output_that_is_closed_or_full_is_an_error() {
    let place = Place::new();
    place.write("arm.csv", arm(60, 1));
    let small = "--target distance --hidden-layers 0 --inducing 5 --steps 2 --threads 1";
    place.done(&format!("fit arm.csv {small} --out m.deepgp"));
    for command in [
        "--help",
        "--version",
        "fit --help",
        "completions bash",
        "info m.deepgp",
        "predict m.deepgp arm.csv",
        "evaluate m.deepgp arm.csv --json",
        "data list",
    ] {
        for (to, part) in [(">&-", "it is closed"), ("> /dev/full", "No space left")] {
            let ended = from_shell(&place, &format!("\"$0\" {command} {to}"));
            assert_eq!(ended.code, Some(1), "{command} {to}: {}", ended.stderr);
            assert!(
                ended.stderr.contains("cannot write to standard output") && ended.stderr.contains(part),
                "{command} {to}: {}",
                ended.stderr
            );
        }
        // Nobody has to read to the end, nor anything at all.
        for to in ["> /dev/null", "1<> /dev/null", "2>&- > /dev/null"] {
            assert_eq!(from_shell(&place, &format!("\"$0\" {command} {to}")).code, Some(0), "{command} {to}");
        }
        let ended = from_shell(&place, &format!("set -o pipefail; \"$0\" {command} | head -c 1 > /dev/null"));
        assert_eq!(ended.code, Some(0), "{command}: {}", ended.stderr);
    }
    // What prints nothing needs no output.
    let ended = from_shell(&place, &format!("\"$0\" fit arm.csv {small} --out other.deepgp >&-"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    // Before the work is done for nobody.
    let ended = from_shell(&place, &format!("\"$0\" fit arm.csv {small} --out third.deepgp --json >&-"));
    assert!(ended.code == Some(1) && !place.path("third.deepgp").exists(), "{}", ended.stderr);
}
