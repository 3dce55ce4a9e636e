//! Every bad input has its message and its exit code, leaves nothing half done, and never a panic.

mod common;

use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;

use common::{Ended, Place, arm};

const SMALL: &str = "--hidden-layers 0 --inducing 10 --steps 20 --threads 1";

/// Fails with code 1, says all of `parts`, and leaves no file but those that were there.
fn refused(place: &Place, arguments: &str, parts: &[&str]) {
    refused_with(1, place, arguments, parts);
}

/// The same with code 2: it is the command line that is wrong.
fn wrong_use(place: &Place, arguments: &str, parts: &[&str]) {
    refused_with(2, place, arguments, parts);
}

/// Runs `deepgp` from a shell, as `script` has it; `"$0"` is the binary.
fn from_shell(place: &Place, script: &str) -> Ended {
    let mut shell = Command::new("bash");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_deepgp")]).current_dir(place.path(""));
    Ended::from(shell.output().unwrap())
}

fn refused_with(code: i32, place: &Place, arguments: &str, parts: &[&str]) {
    let before = place.files();
    let ended = place.run(arguments);
    assert_eq!(ended.code, Some(code), "deepgp {arguments}: {}", ended.stderr);
    // For scripts an error is an object.
    assert_eq!(ended.stdout.is_empty(), !arguments.contains("--json"), "deepgp {arguments}: {}", ended.stdout);
    for part in parts {
        assert!(ended.stderr.contains(part), "deepgp {arguments} should say `{part}`: {}", ended.stderr);
    }
    assert_eq!(place.files(), before, "deepgp {arguments}");
}

#[test]
fn bad_tables() {
    let place = Place::new();
    let fit = |name: &str| format!("fit {name} --target y {SMALL}");
    place.write("empty.csv", "");
    refused(&place, &fit("empty.csv"), &["empty.csv", "empty"]);
    place.write("header.csv", "x,y\n");
    refused(&place, &fit("header.csv"), &["header.csv", "no rows"]);
    let good: String = (0..50).map(|i| format!("{},{}\n", i, (f64::from(i) / 9.0).sin())).collect();
    place.write("good.csv", format!("x,y\n{good}"));
    refused(&place, &format!("fit good.csv --target Y {SMALL}"), &["`Y`", "`y`"]);
    refused(&place, &format!("fit good.csv --target y --ignore z {SMALL}"), &["`z`"]);
    refused(&place, "fit missing.csv --target y", &["missing.csv"]);
    refused(&place, "fit . --target y", &["directory"]);
    refused(&place, "fit /dev/zero --target y", &["/dev/zero", "save the table to a file"]);
    place.write("text.csv", format!("x,y\n{good}seven,1\n"));
    refused(&place, &fit("text.csv"), &["text.csv", "line 52", "`x`", "seven", "number"]);
    place.write("target.csv", format!("x,y\n{good}7,high\n"));
    refused(&place, &fit("target.csv"), &["line 52", "`y`", "high"]);
    place.write("gap.csv", format!("x,y\n{good}NaN,1\n"));
    refused(&place, &format!("{} --missing reject", fit("gap.csv")), &["gap.csv", "line 52", "`x`", "--missing"]);
    let told = place.done(&format!("{} --out filled.deepgp", fit("gap.csv"))).stderr;
    assert!(told.contains("1 missing cell was filled in with the column's mean"), "{told}");
    place.write("infinite.csv", format!("x,y\n{good}inf,1\n"));
    refused(&place, &fit("infinite.csv"), &["line 52", "`x`", "inf"]);
    let varying = |(i, line): (usize, &str)| format!("3,{}.5,{line}\n", i * 7 % 11);
    let with_constant: String = good.lines().enumerate().map(varying).collect();
    place.write("constant.csv", format!("same,z,x,y\n{with_constant}"));
    refused(&place, &format!("{} --constant reject", fit("constant.csv")), &["`same`", "--ignore", "--constant keep"]);
    let varying = |(i, line): (usize, &str)| format!("red,true,{}.5,{line}\n", i * 7 % 11);
    let with_constant: String = good.lines().enumerate().map(varying).collect();
    place.write("words.csv", format!("colour,sold,z,x,y\n{with_constant}"));
    refused(&place, &format!("{} --constant reject", fit("words.csv")), &["`colour` = \"red\", `sold` = true)"]);
    let told = place.done(&format!("{} --out dropped.deepgp", fit("words.csv"))).stderr;
    assert!(told.contains("`colour`, `sold` are the same in every row and left out"), "{told}");
    place.write("nothing.csv", "a,y\n1,2\n1,3\n1,4\n1,5\n");
    refused(&place, &fit("nothing.csv"), &["`a` = 1", "no input is left"]);
    place.done(&format!("{} --constant keep --out kept.deepgp", fit("constant.csv")));
    place.write("flat.csv", "x,y\n1,5\n2,5\n3,5\n4,5\n5,5\n6,5\n7,5\n8,5\n");
    refused(&place, &fit("flat.csv"), &["`y`", "every row"]);
    place.write("one.csv", "x,y\n1,2\n");
    refused(&place, &fit("one.csv"), &["at least", "rows, but there are 1"]);
    place.write("ragged.csv", format!("x,y\n{good}1,2,3\n"));
    refused(&place, &fit("ragged.csv"), &["line 52", "3", "2"]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(format!("x,y\n{}", good.repeat(200)).as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    place.write("cut.csv.gz", &whole[..whole.len() / 2]);
    refused(&place, &fit("cut.csv.gz"), &["cut.csv.gz", "too early"]);
    if deepgp_cuda::Cuda::open(0).is_err() {
        refused(&place, &format!("{} --device cuda", fit("good.csv")), &["cuda", "--device cpu"]);
        refused(&place, "report kept.deepgp --device cuda --out r.html", &["cuda", "--device cpu"]);
    }
    for (text, wanted) in [
        ("hidden-layer = 2\n", "hidden-layer"),
        ("hidden-layers = 'two'\n", "hidden-layers"),
        ("schedule = 'cosin'\n", "cosin"),
        ("steps = \n", "line 1"),
    ] {
        place.write("bad.toml", text);
        wrong_use(&place, &format!("{} --config bad.toml", fit("good.csv")), &["bad.toml", wanted]);
    }
}

#[test]
fn wrong_values_are_wrong_use_and_named_by_their_flag() {
    let place = Place::new();
    place.write("arm.csv", arm(80, 1));
    let fit = "fit arm.csv --target distance";
    wrong_use(&place, "fit arm.csv", &["--target", "a1, a2", "distance"]);
    for wrong in [
        "--test 1.5",
        "--validation -1",
        "--steps 0",
        "--epochs 0",
        "--inducing 0",
        "--mean-inducing 0",
        "--width 0",
        "--learning-rate 0",
        "--learning-rate -1",
        "--batch-size 0",
        "--samples 0",
        "--patience 0",
        "--kernel cubic",
        "--time-limit soon",
        "--checkpoint-every 0",
        "--precision f16",
        "--seed -1",
    ] {
        let flag = wrong.split(' ').next().unwrap();
        wrong_use(&place, &format!("{fit} {wrong}"), &[flag]);
    }
    place.write("two.toml", "steps = 5\nepochs = 5\n");
    wrong_use(&place, &format!("{fit} --config two.toml"), &["--steps or --epochs"]);
    place.done(&format!("{fit} {SMALL}"));
    wrong_use(&place, "predict model.deepgp arm.csv --quantiles 0.5,1.5 --out p.csv", &["--quantiles 1.5"]);
    wrong_use(
        &place,
        "predict model.deepgp arm.csv --quantiles 0.05,0.5,0.050",
        &["--quantiles 0.05: give each level once"],
    );
    wrong_use(&place, "predict model.deepgp arm.csv --keep a1,a2,a1", &["--keep a1: give each column once"]);
    refused(
        &place,
        "predict model.deepgp arm.csv --keep a1,distanec --out p.csv",
        &["`distanec`", "kept", "`distance`?"],
    );
    place.write("mean.csv", arm(10, 1).replacen("distance", "mean", 1));
    wrong_use(&place, "predict model.deepgp mean.csv --keep mean", &["--keep mean", "predictions", "rename"]);
    wrong_use(&place, "predict model.deepgp arm.csv --samples 0 --out p.csv", &["--samples", "give at least 1"]);
    wrong_use(&place, "predict model.deepgp arm.csv --out p.npy", &["CSV"]);
    wrong_use(&place, "predict model.deepgp arm.csv --json", &["--out"]);
}

#[test]
fn what_would_be_ignored_is_wrong_use() {
    let place = Place::new();
    place.write("arm.csv", arm(80, 1));
    let fit = format!("fit arm.csv --target distance {SMALL}");
    wrong_use(&place, &format!("{fit} --patience 3 --validation 0"), &["--patience 3", "--validation 0"]);
    place.write("zero.toml", "validation = 0.0\npatience = 3\n");
    wrong_use(&place, &format!("{fit} --config zero.toml"), &["--patience 3", "--validation 0"]);
    place.done(&fit);
    wrong_use(&place, "report model.deepgp --formats png", &["--pictures"]);
    wrong_use(&place, "benchmark --replicas 2 --predict 50", &["--replicas", "--predict"]);
    // What is not given is not in the way.
    place.done("report model.deepgp --quiet");
    place.done("report model.deepgp --quiet --pictures drawn --formats png");
    let small = "benchmark --rows 30 --columns 2 --hidden-layers 0 --inducing 5 --steps 1 --threads 1";
    place.done(&format!("{small} --predict 5"));
    place.done(&format!("{small} --replicas 2"));
}

#[test]
fn sizes_that_nobody_means_are_wrong_use() {
    let place = Place::new();
    place.write("arm.csv", arm(80, 1));
    let fit = "fit arm.csv --target distance";
    let huge = u64::MAX;
    for (flag, most) in [
        ("--hidden-layers", 1000),
        ("--width", 100_000),
        ("--samples", 1_000_000),
        ("--inducing", 1_000_000),
        ("--mean-inducing", 1_000_000),
        ("--covariance-inducing", 1_000_000),
    ] {
        let said = format!("{flag} {huge}: give at most {most}");
        wrong_use(&place, &format!("{fit} {flag} {huge}"), &[&said]);
        // TOML has no larger number.
        place.write("huge.toml", format!("{} = {}\n", flag.trim_start_matches('-'), i64::MAX));
        wrong_use(&place, &format!("{fit} --config huge.toml"), &[&format!("give at most {most}")]);
    }
    place.done(&format!("{fit} {SMALL} --batch-size {huge}"));
    for arguments in [
        "predict model.deepgp arm.csv --out p.csv --samples",
        "predict model.deepgp arm.csv --out p.csv --draws",
        "evaluate model.deepgp arm.csv --samples",
        "report model.deepgp arm.csv --samples",
        "benchmark --rows",
        "benchmark --columns",
        "benchmark --hidden-layers",
        "benchmark --width",
        "benchmark --inducing",
        "benchmark --mean-inducing",
        "benchmark --covariance-inducing",
        "benchmark --replicas",
        "benchmark --steps",
        "benchmark --predict",
        "reproduce --data . --out paper --hidden-layers",
    ] {
        let flag = arguments.rsplit(' ').next().unwrap();
        for size in [huge, 100_000_000_000] {
            wrong_use(&place, &format!("{arguments} {size}"), &[flag, "give at most 1"]);
        }
    }
    wrong_use(&place, "reproduce --data . --out paper --splits 100000000000", &["--splits", "1..=1000"]);
    for flag in ["--rows", "--columns", "--width", "--inducing", "--mean-inducing", "--covariance-inducing", "--steps"]
    {
        wrong_use(&place, &format!("benchmark {flag} 0"), &[&format!("'{flag} <"), "give at least 1"]);
    }
}

#[test]
fn a_dash_is_no_file() {
    let place = Place::new();
    place.write("arm.csv", arm(80, 1));
    let fit = format!("fit arm.csv --target distance {SMALL}");
    wrong_use(&place, &format!("{fit} --out -"), &["--out", "a model cannot go to standard output"]);
    wrong_use(&place, &format!("{fit} --report -"), &["--report", "a report cannot go to standard output"]);
    wrong_use(&place, &format!("{fit} --checkpoint -"), &["--checkpoint", "a checkpoint cannot go"]);
    wrong_use(&place, "fit - --target distance", &["standard input", "save it to a file first"]);
    place.done(&format!("{fit} --time-limit 0.001s"));
    wrong_use(&place, "resume model.deepgp.checkpoint --out -", &["a model cannot go to standard output"]);
    wrong_use(&place, "resume model.deepgp.checkpoint --table -", &["save it to a file first"]);
    wrong_use(&place, "report model.deepgp --out -", &["a report cannot go to standard output"]);
    for command in ["evaluate", "report"] {
        wrong_use(&place, &format!("{command} model.deepgp -"), &["save it to a file first"]);
    }
    wrong_use(&place, "predict model.deepgp arm.csv --out - --json", &["--json", "--out"]);
    // Predictions can go there.
    let before = place.files();
    let printed = place.done("predict model.deepgp arm.csv --samples 2 --out -").stdout;
    assert_eq!(printed, place.done("predict model.deepgp arm.csv --samples 2").stdout);
    assert_eq!((printed.lines().count(), place.files()), (81, before));
}

#[test]
fn what_is_said_to_go_on_with_can_be_pasted() {
    let place = Place::new();
    place.write("arm.csv", arm(80, 1));
    std::fs::create_dir(place.path("my dir")).unwrap();
    let fit = format!("\"$0\" fit arm.csv --target distance {SMALL}");
    for name in ["my dir/it's mine", "-x"] {
        let cut = format!("{fit} --time-limit 0.001s --checkpoint=\"{name}\"");
        let ended = from_shell(&place, &cut);
        let command = ended.stderr.lines().find_map(|line| line.strip_prefix("to go on: deepgp ")).unwrap().to_string();
        assert_eq!(from_shell(&place, &format!("\"$0\" {command}")).code, Some(0), "{command}");
    }
}

#[test]
fn no_file_is_put_in_the_place_of_another() {
    let place = Place::new();
    place.write("arm.csv", arm(80, 1));
    place.write("other.csv", arm(20, 2));
    let fit = format!("fit arm.csv --target distance {SMALL}");
    place.done(&fit);
    let (table, model) = (place.read("arm.csv"), std::fs::read(place.path("model.deepgp")).unwrap());
    place.done(&format!("{fit} --out other.deepgp --checkpoint cut.checkpoint --time-limit 0.001s"));
    for arguments in [
        format!("{fit} --out arm.csv"),
        format!("{fit} --out ./arm.csv"),
        format!("{fit} --checkpoint arm.csv --overwrite"),
        format!("{fit} --out m.deepgp --checkpoint m.deepgp"),
        format!("{fit} --report arm.csv"),
        format!("{fit} --out m.deepgp --report m.deepgp"),
        "predict model.deepgp arm.csv --out arm.csv".into(),
        "predict model.deepgp arm.csv --out model.deepgp".into(),
        "report model.deepgp arm.csv --out arm.csv".into(),
        "report model.deepgp --out model.deepgp".into(),
        "resume cut.checkpoint --out arm.csv".into(),
        "resume cut.checkpoint --report arm.csv".into(),
        // The table of the fit, which the model file names.
        "report model.deepgp --out arm.csv".into(),
        "report model.deepgp other.csv --out ./arm.csv".into(),
    ] {
        wrong_use(&place, &arguments, &["the same file"]);
    }
    refused(&place, &format!("{fit} --checkpoint model.deepgp --out m.deepgp --overwrite"), &["is no checkpoint"]);
    assert_eq!(place.read("arm.csv"), table);
    assert!(std::fs::read(place.path("model.deepgp")).unwrap() == model);
}

#[test]
fn a_checkpoint_does_not_choose_which_file_is_replaced() {
    let place = Place::new();
    place.write("arm.csv", arm(80, 1));
    place.write("notes.txt", "deepgp is mentioned here");
    std::fs::create_dir(place.path("elsewhere")).unwrap();
    let small = SMALL.replace("--steps 20", "--steps 100000");
    place.done(&format!("fit arm.csv --target distance {small} --time-limit 0.001s"));
    let crafted = |out: &str| {
        let mut file = place.model("model.deepgp.checkpoint");
        file.record.out = place.path(out).display().to_string();
        file.save(&place.path("crafted.checkpoint")).unwrap();
    };
    crafted("notes.txt");
    refused(&place, "resume crafted.checkpoint --steps 1000", &["notes.txt", "no model file", "--out"]);
    refused(&place, "resume model.deepgp.checkpoint --steps 1000 --out notes.txt", &["no model file", "--out"]);
    refused(&place, "resume model.deepgp --steps 1000 --out notes.txt", &["no model file", "--out"]);
    crafted("elsewhere/m.deepgp");
    wrong_use(&place, "resume crafted.checkpoint --steps 1000", &["another folder", "--out", "elsewhere/m.deepgp"]);
    assert!(place.read("notes.txt") == "deepgp is mentioned here" && !place.path("elsewhere/m.deepgp").exists());
    place.done("resume crafted.checkpoint --steps 1000 --out elsewhere/m.deepgp");
    crafted("model.deepgp");
    place.done("resume crafted.checkpoint --steps 1000");
    assert_eq!(place.model("model.deepgp").record.steps, 1000);
    assert_eq!(place.model("elsewhere/m.deepgp").record.steps, 1000);
}

#[test]
fn names_from_files_cannot_act_on_the_terminal() {
    let place = Place::new();
    // A title, a colour, a line that is no line of ours, and a control character of eight bits.
    let (target, group) = ("y\x1b]0;mine\x07\u{9b}31m", "\x1b[2Jred\nnote: all is well");
    let rows: String = (0..60).map(|i| format!("{i},\"{group}{}\",{}\n", i % 3, (i * i) % 17)).collect();
    place.write("odd.csv", format!("x,\"g\x1b[5m\nnote: fine\",\"{target}\"\n{rows}"));
    place.write("lone.csv", "x\n1\n");
    let acts = |c: char| c.is_control() && c != '\n' && c != '\t';
    let clean = |ended: Ended, code: i32| {
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        for text in [&ended.stdout, &ended.stderr] {
            assert!(!text.contains(acts), "{text:?}");
        }
        format!("{}{}", ended.stdout, ended.stderr)
    };
    let run = |words: &[&str]| Ended::from(place.command("").args(words).output().unwrap());
    let mut fit = vec!["fit", "odd.csv", "--target", target, "--test", "0.2", "--out", "m.deepgp"];
    fit.extend(SMALL.split_whitespace());
    clean(run(&fit), 0);
    for arguments in ["evaluate m.deepgp odd.csv", "evaluate m.deepgp odd.csv --json"] {
        clean(place.run(arguments), 0);
    }
    for (arguments, code) in [
        ("info m.deepgp", 0),
        ("info m.deepgp --json", 0),
        ("predict m.deepgp lone.csv", 1),
        ("predict m.deepgp lone.csv --out p.csv --json", 1),
    ] {
        let told = clean(place.run(arguments), code);
        assert!(told.contains(r"\u{1b}[") || told.contains(r"\u001b["), "{arguments}: {told}");
    }
    let told = clean(place.run("info m.deepgp"), 0);
    assert!(!told.lines().any(|line| line.starts_with("note: fine")), "{told}");
    // Other programs are given what is in the table.
    let kept = run(&["predict", "m.deepgp", "odd.csv", "--keep", "g\x1b[5m\nnote: fine"]);
    assert!(kept.code == Some(0) && kept.stdout.contains("\x1b[2Jred"), "{}", kept.stderr);
}

#[test]
fn a_table_that_shrinks_while_it_is_read_is_an_error() {
    let place = Place::new();
    place.write("arm.csv", arm(80, 1));
    let long = place.write("long.csv", arm(20_000, 2));
    place.done(&format!("fit arm.csv --target distance {SMALL}"));
    let mut child = place.start("predict model.deepgp long.csv --samples 1 --threads 1");
    // The first of the rows are there, and the next are read when all of them have gone through the pipe, which is too narrow for that.
    let mut first = [0; 200];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    let text = std::fs::read(&long).unwrap();
    let lines: Vec<usize> =
        text.iter().enumerate().filter_map(|(at, byte)| (*byte == b'\n').then_some(at + 1)).collect();
    File::options().write(true).open(&long).unwrap().set_len(lines[15_000] as u64).unwrap();
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("long.csv") && ended.stderr.contains("changed while it was read"),
        "{}",
        ended.stderr
    );
    // Left alone, it is read to its new end.
    place.done("predict model.deepgp long.csv --samples 1 --out p.csv");
}

#[test]
fn a_prediction_that_is_no_number_is_an_error_with_its_row_and_its_cause() {
    let place = Place::new();
    place.write("arm.csv", arm(80, 1));
    place.done(&format!("fit arm.csv --target distance {SMALL}"));
    let mut file = place.model("model.deepgp");
    assert!(file.implausible_numbers().is_empty() && !place.done("info model.deepgp").stdout.contains("no training"));
    let model = &mut file.regressor.model;
    let free = model.parameters().into_iter().find(|own| own.name.ends_with("mean.free")).unwrap();
    let mut raw = model.raw();
    raw[free.range.clone()].fill(1e308);
    model.set_raw(&raw);
    file.save(&place.path("absurd.deepgp")).unwrap();
    let parts = ["arm.csv, row 1 ", "`mean` would be", &free.name, "1.000e308", "fit the model anew"];
    assert_eq!(place.run("predict absurd.deepgp arm.csv").code, Some(1));
    refused(&place, "predict absurd.deepgp arm.csv --out p.csv", &parts);
    let told = place.done("info absurd.deepgp").stdout;
    assert!(told.contains(&free.name) && told.contains("no training leads to, such as 1.000e308"), "{told}");
    let notes = place.json("info absurd.deepgp")["notes"].to_string();
    assert!(notes.contains("1.000e308"), "{notes}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::new();
    place.write("arm.csv", arm(3000, 1));
    place.done(&format!("fit arm.csv --target distance {SMALL}"));
    for arguments in [
        "info model.deepgp",
        "evaluate model.deepgp arm.csv --samples 2",
        "predict model.deepgp arm.csv --samples 2",
        "completions bash",
    ] {
        let ended = from_shell(&place, &format!("set -o pipefail; \"$0\" {arguments} | true"));
        assert_eq!((ended.code, ended.stderr.contains("error")), (Some(0), false), "{arguments}: {}", ended.stderr);
    }
    // Nobody hears how it goes: it goes all the same.
    let fit = format!("fit arm.csv --target distance {SMALL} --out unheard.deepgp");
    for arguments in [fit.as_str(), "predict model.deepgp arm.csv --samples 2 --out unheard.csv"] {
        let ended = from_shell(&place, &format!("set -o pipefail; {{ sleep 0.1; \"$0\" {arguments}; }} 2>&1 | true"));
        assert_eq!(ended.code, Some(0), "{arguments}: {}", ended.stderr);
    }
    assert!(place.path("unheard.deepgp").exists() && place.path("unheard.csv").exists());
}

#[test]
fn bad_model_files() {
    let place = Place::new();
    place.write("arm.csv", arm(80, 1));
    place.done(&format!("fit arm.csv --target distance {SMALL}"));
    let whole = std::fs::read(place.path("model.deepgp")).unwrap();
    place.write("cut.deepgp", &whole[..whole.len() - 100]);
    refused(&place, "predict cut.deepgp arm.csv --out p.csv", &["cut.deepgp", "damaged"]);
    place.write("stub.deepgp", &whole[..20]);
    refused(&place, "info stub.deepgp", &["stub.deepgp", "not a deepgp model"]);
    place.write("empty.deepgp", "");
    refused(&place, "info empty.deepgp", &["empty"]);
    refused(&place, "info arm.csv", &["arm.csv", "not a deepgp model"]);
    refused(&place, "info nothing.deepgp", &["nothing.deepgp"]);
    // A flipped bit anywhere: in the length of the header, in its words, in the numbers.
    let mut chance = 7u64;
    for trial in 0..60 {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = if trial < 8 { trial } else { (chance >> 33) as usize % whole.len() };
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (chance % 8);
        place.write("flipped.deepgp", &flipped);
        refused(&place, "predict flipped.deepgp arm.csv --out p.csv", &["flipped.deepgp"]);
    }
    let words = b"format_version\\\":";
    let at = whole.windows(words.len()).position(|window| window == words).expect("the header says its version")
        + words.len();
    let mut newer = whole.clone();
    newer[at] = b'9';
    place.write("newer.deepgp", newer);
    refused(&place, "info newer.deepgp", &["version 9", "update deepgp"]);
}

#[test]
fn bad_places_to_write() {
    let place = Place::new();
    place.write("arm.csv", arm(80, 1));
    let fit = format!("fit arm.csv --target distance {SMALL}");
    refused(&place, &format!("{fit} --out nowhere/model.deepgp"), &["nowhere/model.deepgp"]);
    std::fs::create_dir(place.path("folder")).unwrap();
    refused(&place, &format!("{fit} --out folder"), &["folder"]);
    place.done(&format!("{fit} --out model.deepgp"));
    refused(&place, "predict model.deepgp arm.csv --out nowhere/p.csv", &["nowhere/p.csv"]);
    refused(&place, "report model.deepgp --out nowhere/r.html", &["nowhere/r.html"]);
    // Before the work: not even the table has been looked for.
    refused(&place, "report model.deepgp missing.csv --out nowhere/r.html", &["cannot write nowhere/r.html"]);
    refused(&place, &format!("{fit} --report nowhere/r.html --out other.deepgp"), &["nowhere/r.html"]);
    refused(&place, "predict model.deepgp arm.csv --out /dev/null", &["/dev/null"]);

    // A disk that is full after a few blocks, as a limit on the size of files.
    let before = place.files();
    for (arguments, wanted) in [
        ("fit arm.csv --target distance --hidden-layers 1 --inducing 30 --steps 5 --out large.deepgp", "large.deepgp"),
        ("report model.deepgp --out large.html", "large.html"),
        ("predict model.deepgp arm.csv --draws 50 --out large.csv", "large.csv"),
    ] {
        let ended = from_shell(&place, &format!("ulimit -f 16; exec \"$0\" {arguments}"));
        assert_eq!(ended.code, Some(1), "{arguments}: {}", ended.stderr);
        assert!(ended.stderr.contains(wanted), "{arguments}: {}", ended.stderr);
        assert_eq!(place.files(), before, "{arguments}");
    }
}

/// Sizes are the most there can be: a table with fewer distinct rows is fitted all the same, and told of.
#[test]
fn more_inducing_inputs_than_rows_are_as_many_as_rows() {
    let place = Place::new();
    place.write("arm.csv", arm(50, 1));
    let sizes_of = |place: &Place| {
        let file = place.model("model.deepgp");
        let inducing = &file.regressor.model.layers()[0].inducing;
        (inducing.mean().nrows(), inducing.covariance().nrows())
    };
    let few = "fit arm.csv --target distance --hidden-layers 0 --steps 5 --threads 1 --overwrite";
    for (sizes, said, found) in [
        ("--inducing 60", "60 inducing inputs were asked for", (45, 45)),
        ("--mean-inducing 500 --covariance-inducing 7", "500 inducing inputs were asked for", (45, 7)),
    ] {
        let ended = place.done(&format!("{few} {sizes}"));
        assert!(ended.stderr.contains(said) && ended.stderr.contains("only 45"), "{}", ended.stderr);
        assert_eq!(sizes_of(&place), found, "{sizes}");
    }
    // Of two sizes, one that was not asked for follows the rows without a word.
    for (nested, found) in [("", (9, 9)), ("--nested=false", (9, 45))] {
        let ended = place.done(&format!("{few} --mean-inducing 9 {nested}"));
        assert!(!ended.stderr.contains("asked for"), "{}", ended.stderr);
        assert_eq!(sizes_of(&place), found);
    }
    let ended = place.run(&format!("{few} --nested --mean-inducing 9 --covariance-inducing 10"));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("take fewer, or --nested=false for two sets"), "{}", ended.stderr);
}

#[test]
fn errors_are_objects_for_scripts() {
    let place = Place::new();
    place.write("good.csv", "x,y\n1,2\n2,3\n");
    for (arguments, code, kind, said) in [
        ("fit gone.csv --target y", 1, "failure", "gone.csv: the file cannot be read"),
        ("fit good.csv --target y --test 2", 2, "usage", "--test 2: give a share of the rows"),
        ("fit good.csv --target y --transform log", 2, "usage", "exists: '--transform-target'"),
        ("info gone.deepgp", 1, "failure", "gone.deepgp"),
        ("evaluate gone.deepgp good.csv", 1, "failure", "gone.deepgp"),
        ("data list --name x", 2, "usage", "--name"),
    ] {
        let ended = place.run(&format!("{arguments} --json"));
        assert_eq!(ended.code, Some(code), "{arguments}: {}", ended.stderr);
        assert_eq!(ended.stdout.lines().count(), 1, "{arguments}: {}", ended.stdout);
        let object: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!((&object["exit_code"], &object["error"]["kind"]), (&code.into(), &kind.into()), "{arguments}");
        let message = object["error"]["message"].as_str().unwrap();
        assert!(message.contains(said) && !message.starts_with("error"), "{arguments}: {message}");
        // People are told as ever, and without the flag nobody else is.
        assert!(ended.stderr.contains(said), "{arguments}: {}", ended.stderr);
        assert_eq!(place.run(arguments).stdout, "");
    }
    assert!(place.done("fit --help").stdout.contains("--json"));
}

#[test]
fn a_configuration_says_where_files_go() {
    let place = Place::new();
    let rows: String = (0..40).map(|i| format!("{i},{}\n", (f64::from(i) / 9.0).sin())).collect();
    place.write("good.csv", format!("x,y\n{rows}"));
    place.write(
        "fit.toml",
        "target = 'y'\nout = 'own.deepgp'\nreport = 'own.html'\nhidden-layers = 0\ninducing = 5\nsteps = 5\n",
    );
    place.done("fit good.csv --config fit.toml");
    assert_eq!(place.files(), ["fit.toml", "good.csv", "own.deepgp", "own.html"]);
    place.done("fit good.csv --config fit.toml --out other.deepgp");
    assert!(place.path("other.deepgp").exists());
    place.write("fit.toml", "target = 'y'\nout = '-'\n");
    wrong_use(&place, "fit good.csv --config fit.toml", &["--out -", "name a file"]);
    place.write("fit.toml", "target = 'y'\nout = 'good.csv'\n");
    wrong_use(&place, "fit good.csv --config fit.toml", &["the table and --out are the same file"]);
}
