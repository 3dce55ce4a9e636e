//! The paper's experiments on a small table: every run once, cut and gone on with, told beside the paper's numbers.

mod common;

use common::{Place, arm, signal};
use serde_json::Value;

/// A table under a name of the paper's, with the target's column named as it should be.
fn place() -> Place {
    let place = Place::new();
    place.write("kin8nm.csv", arm(700, 1).replace("distance", "y"));
    place
}

const GRID: &str = "reproduce --data . --out paper --dataset kin8nm --hidden-layers 0,1 --splits 2 --device cpu";

#[test]
fn each_run_is_made_once_and_lands_in_tables_and_figures() {
    let place = place();
    let summary = place.json(&format!("{GRID} --epochs 2 --baselines"));
    assert_eq!((summary["runs"].as_u64(), summary["done"].as_u64()), (Some(8), Some(8)));
    let results = place.read("paper/results.jsonl");
    let lines: Vec<Value> = results.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 8);
    for line in &lines {
        assert_eq!(
            (line["dataset"].as_str(), line["steps"].as_u64(), line["device"].as_str()),
            (Some("kin8nm"), Some(2), Some("cpu"))
        );
        for score in ["test_log_likelihood", "test_rmse", "test_crps", "test_coverage_95", "seconds"] {
            assert!(line[score].as_f64().unwrap().is_finite(), "{score}");
        }
        let form = if line["model"] == "full" { "whitened" } else { "standard" };
        assert_eq!(line["settings"]["model"]["covariance_form"].as_str(), Some(form));
    }
    let tables = place.read("paper/tables.md");
    assert!(tables.contains("| 1 | decoupled | 2 |") && tables.contains("| 1.34 ± 0.02 |"), "{tables}");
    assert_eq!(place.read("paper/baselines.jsonl").lines().count(), 6);
    assert!(tables.contains("| | 10 nearest neighbours | 2 |"), "{tables}");
    assert!(place.read("paper/tables.tex").contains("\\bottomrule"));
    assert!(place.read("paper/rmse.svg").contains("hidden layers"));
    assert!(place.path("paper/log-likelihood.png").exists());
    // The same command finds nothing left to do.
    let again = place.done(&format!("{GRID} --epochs 2"));
    assert!(again.stderr.contains("8 runs, 8 of them done"), "{}", again.stderr);
    assert_eq!(place.read("paper/results.jsonl"), results);
    // And another one only what is new.
    place.done(&format!("{GRID} --epochs 2 --models full,decoupled-whitened"));
    assert_eq!(place.read("paper/results.jsonl").lines().count(), 12);
}

#[test]
fn all_experiments_land_on_one_page() {
    let place = place();
    let all = "--experiments tables,forms,inducing --dataset kin8nm --hidden-layers 1 --splits 1 --epochs 2";
    let summary = place.json(&format!("reproduce --data . --out paper {all} --device cpu"));
    assert_eq!((summary["runs"].as_u64(), summary["done"].as_u64()), (Some(2 + 24 + 6), Some(2 + 24 + 6)));
    let page = place.read("paper/index.html");
    assert!(page.contains("32 runs on cpu, with deepgp"), "what was run");
    let stems = [
        "log-likelihood",
        "rmse",
        "difference",
        "time-kin8nm",
        "forms-kin8nm-1-elbo-steps",
        "forms-kin8nm-1-elbo-seconds",
        "forms-kin8nm-1-log-likelihood-steps",
        "forms-kin8nm-1-log-likelihood-seconds",
        "inducing-1-log-likelihood",
        "inducing-1-gradients-kin8nm",
    ];
    for stem in stems {
        assert!(page.contains(&format!("<figure id=\"figure-{stem}\"><svg")), "{stem} is on the page");
        assert!(place.read(&format!("paper/{stem}.svg")).starts_with("<svg"), "{stem}");
        assert!(std::fs::read(place.path(&format!("paper/{stem}.png"))).unwrap().starts_with(b"\x89PNG"), "{stem}");
    }
    assert_eq!(page.matches("<figure").count(), stems.len(), "nothing else is drawn");
    let tables = place.read("paper/tables.md");
    for part in [
        "| kin8nm | full | 0 of 1 | 0 of 1 | 0 of 1 |",
        "| kin8nm | decoupled | 1 |",
        "### Test log likelihood at rate 0.001",
        "| whitened mean |",
        "| greedy variance | left there | 1 |",
    ] {
        assert!(tables.contains(part), "{part}\n{tables}");
    }
}

#[test]
fn a_grid_that_is_cut_goes_on() {
    let place = place();
    let cut = place.done(&format!("{GRID} --epochs 1000000 --time-limit 1s"));
    assert!(cut.stderr.contains("the time is up: 8 runs are left; the same command goes on"), "{}", cut.stderr);
    assert!(cut.stderr.contains("no run was finished in this time"), "{}", cut.stderr);
    assert!(!place.path("paper/results.jsonl").exists());
    // Half of the grid, then all of it.
    let half = place.done(&format!("{GRID} --epochs 2 --models full"));
    assert!(
        half.stderr.contains("4 runs, 0 of them done") && half.stderr.contains("1 run left, about"),
        "{}",
        half.stderr
    );
    let kept = place.read("paper/results.jsonl");
    let on = place.done(&format!("{GRID} --epochs 2"));
    assert!(on.stderr.contains("8 runs, 4 of them done") && on.stderr.contains("3 runs left"), "{}", on.stderr);
    let all = place.read("paper/results.jsonl");
    assert!(all.starts_with(&kept) && all.lines().count() == 8);
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_what_is_done_and_says_what_is_left() {
    let place = place();
    place.done(&format!("{GRID} --epochs 2 --models full").replace("0,1 ", "0 "));
    let arguments =
        format!("{} --epochs 1000000 --experiments tables,forms --jobs 2 --json", GRID.replace("0,1 ", "1 "));
    let child = place.start(&arguments);
    std::thread::sleep(std::time::Duration::from_secs(2));
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Two models and two splits of the tables; the forms, which were not begun, count too.
    let counts = ["runs", "done", "stuck"].map(|name| told[name].as_u64().unwrap());
    assert_eq!((counts, told["ended"].as_str()), ([4 + 48, 0, 0], Some("interrupted")));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted: 52 runs are left"), "{:?}", output.stderr);
    assert_eq!(place.read("paper/results.jsonl").lines().count(), 2, "what was there stays");
}

#[cfg(unix)]
#[test]
fn two_processes_do_not_work_on_one_folder() {
    let place = place();
    std::fs::create_dir(place.path("paper")).unwrap();
    let other = std::fs::File::open(place.path("paper")).unwrap();
    other.lock().unwrap();
    let ended = place.run(&format!("{GRID} --epochs 1"));
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("another process works on paper: wait for it"), "{}", ended.stderr);
    drop(other);
    place.done(&format!("{GRID} --epochs 1 --models full").replace("0,1 ", "0 "));
}

#[test]
fn what_is_asked_for_twice_is_made_once() {
    let place = place();
    let twice = "--experiments tables,tables --dataset kin8nm,kin8nm --hidden-layers 0,0 --models full,full";
    let told = place.json(&format!("reproduce --data . --out paper {twice} --splits 1 --epochs 1 --device cpu"));
    assert_eq!((told["runs"].as_u64(), told["ended"].as_str()), (Some(1), Some("done")));
    assert_eq!(place.read("paper/results.jsonl").lines().count(), 1);
}

#[test]
fn baselines_need_no_tables() {
    let place = place();
    place.done("reproduce --data . --out paper --experiments inducing --baselines --dataset kin8nm --splits 1 --epochs 1 --device cpu");
    assert_eq!(place.read("paper/baselines.jsonl").lines().count(), 3);
}

/// What a run's line says that does not depend on the clock.
fn scores(results: &str) -> Vec<String> {
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let names = ["dataset", "model", "hidden", "split", "test_log_likelihood", "test_rmse", "test_crps", "steps"];
        names.map(|name| line[name].to_string()).join(" ")
    };
    let mut all: Vec<String> = results.lines().map(line).collect();
    all.sort();
    all
}

const CONTINUED: &str = "reproduce --experiments continued --data . --out paper --dataset kin8nm --device cpu";

#[test]
fn the_paper_is_continued_and_journals_of_several_machines_are_joined() {
    let place = place();
    // Two machines with half of the depths each, and the splits of a third program.
    let all = "--hidden-layers 0,1 --splits 2 --steps 3";
    place.done(&format!("{CONTINUED} {all}").replace("paper", "one").replace("0,1", "0"));
    place.done(&format!("{CONTINUED} {all}").replace("paper", "two").replace("0,1", "1"));
    let joined = place.read("one/continued.jsonl") + &place.read("two/continued.jsonl");
    std::fs::create_dir(place.path("paper")).unwrap();
    place.write("paper/continued.jsonl", &joined);
    let peer = r#"{"dataset":"kin8nm","model":"k-NN mixture","split":0,"test_log_likelihood":0.5,"test_rmse":0.2,"#;
    place.write("paper/peers.jsonl", format!(r#"{peer}"test_crps":0.1,"test_coverage_95":0.9}}"#));
    let summary = place.json(&format!("{CONTINUED} {all}"));
    assert_eq!((summary["runs"].as_u64(), summary["done"].as_u64()), (Some(16), Some(16)));
    assert_eq!(place.read("paper/continued.jsonl"), joined, "nothing is made again");
    for line in joined.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let scores = ["test_log_likelihood", "test_rmse", "test_crps", "test_coverage_95", "seconds", "step_seconds"];
        assert!(scores.iter().all(|score| line[score].as_f64().unwrap().is_finite()), "{line}");
        assert!(line["step_seconds"].as_f64() < line["seconds"].as_f64(), "{line}");
        let (model, train) = (&line["settings"]["model"], &line["settings"]["train"]);
        let (form, sizes) = if line["model"] == "full" { ("whitened", "tied") } else { ("diagonal", "nested") };
        assert_eq!(model["covariance_form"].as_str(), Some(form));
        assert!(model["inducing"].get(sizes).is_some(), "{model}");
        let one = line["density"] == "one-noise";
        assert_eq!(train["objective"].as_str(), one.then_some("elbo"));
        assert!(model["likelihood"].get(if one { "gaussian" } else { "heteroscedastic" }).is_some(), "{model}");
    }
    let tables = place.read("paper/tables.md");
    for part in [
        "| kin8nm | nested-diagonal | one-noise | 0 |",
        "| kin8nm | nested-diagonal | input-dependent | 1 |",
        "| 1 | full | input-dependent | 2 |",
        "| | k-NN mixture | its own | 1 | 0.500 |",
    ] {
        assert!(tables.contains(part), "{part}\n{tables}");
    }
    let page = place.read("paper/index.html");
    for stem in ["continued-nested-diagonal-log-likelihood", "continued-nested-diagonal-crps"] {
        assert!(page.contains(&format!("<figure id=\"figure-{stem}\"><svg")), "{stem}");
        assert!(place.read(&format!("paper/{stem}.svg")).contains("noise by inputs"), "{stem}");
    }
    // Another one only makes what is new, and other lengths are not taken for these.
    place.done(&format!("{CONTINUED} {all} --models nested --densities one-noise").replace("0,1", "0"));
    let ended = place.run(&format!("{CONTINUED} {all}").replace("--steps 3", "--steps 4"));
    assert!(ended.stderr.contains("of 3 steps instead of 4: choose another --out"), "{}", ended.stderr);
}

#[test]
fn runs_that_share_the_machine_have_the_bits_of_those_that_do_not() {
    let place = place();
    place.done(&format!("{GRID} --epochs 2 --jobs 1"));
    let together = place.done(&format!("{} --epochs 2 --jobs 3", GRID.replace("paper", "together")));
    assert!(together.stderr.contains("3 at a time"), "{}", together.stderr);
    let (alone, together) = (place.read("paper/results.jsonl"), place.read("together/results.jsonl"));
    assert_eq!(scores(&alone).len(), 8);
    assert_eq!(scores(&alone), scores(&together));
    // Curves against time are taken where seconds mean something.
    assert!(alone.lines().all(|line| line.contains("\"curve\":[{\"step\":1,") && line.contains("\"sharing\":1,")));
    assert!(together.lines().all(|line| !line.contains("curve") && line.contains("\"sharing\":3,")));
}

#[test]
fn runs_of_another_length_are_not_taken_for_these() {
    let place = place();
    place.done(&format!("{GRID} --epochs 1 --models full").replace("0,1 ", "0 "));
    let ended = place.run(&format!("{GRID} --epochs 2").replace("0,1 ", "0 "));
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("of 1 steps instead of 2: choose another --out"), "{}", ended.stderr);
    assert_eq!(place.read("paper/results.jsonl").lines().count(), 2, "nothing is lost");
}

#[test]
fn rows_with_equal_inputs_can_be_left_out() {
    let place = place();
    let table = place.read("kin8nm.csv");
    let (head, rows) = table.split_once('\n').unwrap();
    place.write("protein.csv", format!("{head}\n{rows}{rows}"));
    for name in ["protein", "protein-distinct"] {
        place.done(&format!(
            "reproduce --data . --out {name} --dataset {name} --hidden-layers 0 --models full --splits 1 --epochs 1 --device cpu"
        ));
    }
    let likelihood = |name: &str| {
        let line: Value = serde_json::from_str(&place.read(&format!("{name}/results.jsonl"))).unwrap();
        assert_eq!(line["dataset"].as_str(), Some(name));
        line["test_log_likelihood"].as_f64().unwrap()
    };
    place.done("reproduce --data . --out kin8nm --dataset kin8nm --hidden-layers 0 --models full --splits 1 --epochs 1 --device cpu");
    assert_eq!(likelihood("protein-distinct"), likelihood("kin8nm"), "the table without its copies is the table");
    assert_ne!(likelihood("protein"), likelihood("kin8nm"));
}

#[test]
fn what_is_missing_is_named() {
    let place = place();
    for (arguments, code, parts) in [
        ("reproduce --data . --out paper --dataset protein", 1, ["protein was not found", "protein.csv.gz"]),
        ("reproduce --data . --out paper --dataset molecules", 1, ["leave it out with --dataset", "molecules.csv.gz"]),
        ("reproduce --data . --out paper --dataset iris", 2, ["iris", "molecules"]),
        ("reproduce --data . --out paper --models fuller", 2, ["fuller", "decoupled-whitened"]),
        ("reproduce --data . --out paper --epochs 0", 2, ["--epochs", "1.."]),
        ("reproduce --data . --out paper --splits 0", 2, ["--splits", "1.."]),
    ] {
        let ended = place.run(arguments);
        assert_eq!(ended.code, Some(code));
        assert!(!place.path("paper").exists(), "{arguments}: nothing is made");
        assert!(parts.iter().all(|part| ended.stderr.contains(part)), "{arguments}: {}", ended.stderr);
    }
}
