//! Proves that `deepgp` is not one of several processes by mistake and, with the feature `mpi` and where there is a `mpirun`, that several
//! fit one model: that of one process but for rounding, with one voice and one set of files, interrupted, gone on with and failing together.

mod common;

use common::{Place, arm};

/// The variables by which launchers tell a process that it is one of two.
#[cfg(not(feature = "mpi"))]
const TOLD: [(&str, &str); 3] = [("OMPI_COMM_WORLD_SIZE", "2"), ("PMI_SIZE", "2"), ("SLURM_STEP_NUM_TASKS", "2")];

#[cfg(not(feature = "mpi"))]
#[test]
fn a_program_without_mpi_refuses_to_be_one_of_several() {
    let place = Place::new();
    place.write("arm.csv", arm(60, 1));
    for (variable, value) in TOLD {
        for arguments in ["fit arm.csv --target distance --json", "resume x.checkpoint --json"] {
            let ended = place.command(arguments).env(variable, value).output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(1), "{said}");
            assert!(said.contains("started 2 processes") && said.contains("--features mpi"), "{said}");
            assert!(String::from_utf8_lossy(&ended.stdout).contains("\"kind\":\"failure\""));
        }
        assert_eq!(place.files(), ["arm.csv"]);
        // One process is no group.
        let one = place.command("fit --help").env(variable, "1").output().unwrap();
        assert!(one.status.success());
    }
}

#[cfg(feature = "mpi")]
mod together {
    use std::process::{Command, Output, Stdio};
    use std::time::{Duration, Instant};

    use deepgp_io::ModelFile;
    use serde_json::Value;

    use super::{Place, arm};

    /// What all fits are asked for.
    const SMALL: &str = "--target distance --test 0.2 --hidden-layers 1 --width 3 --mean-inducing 20 --covariance-inducing 10 --threads 1 \
                         --seed 3";

    /// `deepgp` in so many processes; `None`, with a word on it, if there is no `mpirun`.
    fn mpirun(place: &Place, count: usize, arguments: &str) -> Option<Command> {
        let Ok(version) = Command::new("mpirun").arg("--version").output() else {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "SKIPPED: there is no mpirun (install Open MPI or MPICH)");
            return None;
        };
        let mut command = Command::new("mpirun");
        if String::from_utf8_lossy(&version.stdout).contains("Open MPI") {
            command.args(["--oversubscribe", "--allow-run-as-root", "--bind-to", "none"]);
        }
        command.args(["-n", &count.to_string(), env!("CARGO_BIN_EXE_deepgp")]).args(arguments.split_whitespace());
        command.current_dir(place.path("")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Some(command)
    }

    fn said(ended: &Output) -> String {
        String::from_utf8_lossy(&ended.stderr).into_owned()
    }

    /// The only object on standard output.
    fn json(ended: &Output) -> Value {
        let text = String::from_utf8_lossy(&ended.stdout);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}\n{}", said(ended)))
    }

    /// The largest difference between the parameters of two models.
    fn distance(place: &Place, a: &str, b: &str) -> f64 {
        let raw = |name: &str| ModelFile::load(&place.path(name)).unwrap().regressor.model.raw();
        raw(a).iter().zip(raw(b)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn several_processes_fit_the_model_of_one_and_go_on_in_another_number() {
        let place = Place::new();
        place.write("arm.csv", arm(400, 1));
        let alone = place.run(&format!("fit arm.csv {SMALL} --steps 30 --out alone.deepgp --json"));
        assert_eq!(alone.code, Some(0), "{}", alone.stderr);
        let scores: Value = serde_json::from_str(&alone.stdout).unwrap();
        for count in [1, 2, 4] {
            let arguments =
                format!("fit arm.csv {SMALL} --steps 30 --out m{count}.deepgp --json --report r{count}.html");
            let Some(mut command) = mpirun(&place, count, &arguments) else { return };
            let ended = command.output().unwrap();
            assert!(ended.status.success(), "{count}: {}", said(&ended));
            let found = json(&ended);
            let log_likelihood = |of: &Value| of["test"]["log_likelihood"].as_f64().unwrap_or(f64::NAN);
            assert!((log_likelihood(&found) - log_likelihood(&scores)).abs() < 1e-6, "{found}\n{scores}");
            let distance = distance(&place, "alone.deepgp", &format!("m{count}.deepgp"));
            assert!(distance < if count == 1 { 1e-300 } else { 1e-8 }, "{count}: {distance}");
            // One voice.
            assert_eq!(said(&ended).matches("400 rows").count(), 1, "{}", said(&ended));
        }
        let names = place.files();
        assert!(!names.iter().any(|name| name.contains("checkpoint") || name.contains("lock")), "{names:?}");
        // Several files are one table there too.
        let (header, rows) = arm(400, 1).split_once('\n').map(|(a, b)| (a.to_string(), b.to_string())).unwrap();
        let rows: Vec<&str> = rows.lines().collect();
        for (name, part) in [("a.csv", &rows[..150]), ("b.csv", &rows[150..])] {
            place.write(name, format!("{header}\n{}\n", part.join("\n")));
        }
        let arguments = format!("fit a.csv b.csv {SMALL} --steps 30 --out parts.deepgp");
        let Some(mut command) = mpirun(&place, 2, &arguments) else { return };
        let ended = command.output().unwrap();
        assert!(ended.status.success(), "{}", said(&ended));
        assert!(distance(&place, "m2.deepgp", "parts.deepgp") < 1e-300, "the files of a table make no difference");
        // A finished model, gone on with by two.
        let Some(mut command) = mpirun(&place, 2, "resume m4.deepgp --steps 5 --json") else { return };
        let ended = command.output().unwrap();
        assert!(ended.status.success(), "{}", said(&ended));
        assert!(distance(&place, "alone.deepgp", "m4.deepgp") > 0.0);
    }

    /// A table with quoted line ends, missing cells, dates, numbers with signs, a category that only the last lines have, and a column of ones; a
    /// line says what is wrong with it, if something is.
    fn messy(wrong: &str) -> String {
        let line = |i: usize| {
            let place = if i > 290 { "late" } else { ["\"a\n\"\"b\"\"\"", "none", "c,", "d"][i % 4] };
            let place = if place == "c," { "\"c,\"" } else { place };
            let (x, z) =
                ((i * 37 % 300) as f64 / 50.0, if i % 9 == 4 { String::new() } else { format!("${}", i % 23) });
            let y = if i == 299 && !wrong.is_empty() {
                wrong.into()
            } else {
                format!("{}", x.sin() + (i % 5) as f64 / 9.0)
            };
            format!("{x},{z},{place},{:02}/{:02}/2024,1,{y}\n", 1 + i % 12, 1 + i % 28)
        };
        "x,z,place,day,w,y\n".to_string() + &(0..300).map(line).collect::<String>()
    }

    #[test]
    fn a_table_that_is_read_in_shares_gives_the_model_of_one_that_all_read() {
        let place = Place::new();
        place.write("messy.csv", messy(""));
        let sizes = SMALL.replace("distance", "y");
        let fit = |count: usize, options: &str, out: &str| {
            let mut command =
                mpirun(&place, count, &format!("fit messy.csv {sizes} --steps 20 {options} --out {out} --json"))?;
            let ended = command.output().unwrap();
            assert!(ended.status.success(), "{count} {options}: {}", said(&ended));
            Some(json(&ended))
        };
        for count in [1, 2, 4] {
            let Some(scores) = fit(count, "--ignore w", "shared.deepgp") else { return };
            // With weights every process reads all rows; weights of 1 change nothing.
            let all = fit(count, "--weights w", "all.deepgp").unwrap();
            assert!(distance(&place, "shared.deepgp", "all.deepgp") < 1e-300, "{count}");
            assert_eq!(scores["test"]["log_likelihood"], all["test"]["log_likelihood"], "{count}");
            let file = |name: &str| ModelFile::load(&place.path(name)).unwrap();
            let (shared, all) = (file("shared.deepgp"), file("all.deepgp"));
            assert_eq!((&shared.schema.inputs, &shared.schema.writing), (&all.schema.inputs, &all.schema.writing));
            assert_eq!(shared.record.data, all.record.data, "{count}");
            assert_eq!((shared.record.test_rows, shared.schema.inputs.len()), (60, 4), "{count}");
            // It goes on from the share that it reads anew.
            let mut command = mpirun(&place, count, "resume shared.deepgp --steps 5").unwrap();
            let ended = command.output().unwrap();
            assert!(ended.status.success(), "{count}: {}", said(&ended));
        }
        place.write("messy.csv", messy("much"));
        for count in [1, 4] {
            let mut command = mpirun(&place, count, &format!("fit messy.csv {sizes}")).unwrap();
            let ended = command.output().unwrap();
            let said = said(&ended);
            assert!(
                said.matches("error: ").count() == 1 && said.contains("line 374, column `y`: \"much\" is not"),
                "{said}"
            );
        }
        // What only the process that reads it can say.
        place.write("messy.csv", messy("1,2"));
        let ended = mpirun(&place, 4, &format!("fit messy.csv {sizes}")).unwrap().output().unwrap();
        let said = said(&ended);
        assert!(said.matches("error: ").count() == 1 && said.contains("line 374"), "{said}");
        assert!(said.contains("process 3: "), "{said}");
    }

    #[test]
    fn an_interrupted_fit_leaves_one_whole_checkpoint() {
        let place = Place::new();
        place.write("arm.csv", arm(400, 1));
        let arguments =
            format!("fit arm.csv {SMALL} --steps 100000 --patience 100000000 --out m.deepgp --checkpoint-every 5");
        let Some(mut command) = mpirun(&place, 2, &arguments) else { return };
        let started = command.env("OMPI_MCA_odls_base_sigkill_timeout", "3").spawn().unwrap();
        let step = || ModelFile::load(&place.path("m.deepgp.checkpoint")).map_or(0, |file| file.state.unwrap().step);
        let since = Instant::now();
        while step() < 5 {
            assert!(since.elapsed() < Duration::from_secs(60), "no checkpoint");
            std::thread::sleep(Duration::from_millis(50));
        }
        Command::new("kill").args(["-INT", &started.id().to_string()]).status().unwrap();
        let ended = started.wait_with_output().unwrap();
        assert!(!ended.status.success());
        let reached = step();
        assert!(reached >= 5, "{}", said(&ended));
        let names = place.files();
        assert!(!names.iter().any(|name| name.ends_with(".tmp")), "{names:?}");
        for count in [4, 1] {
            let arguments = format!("resume m.deepgp.checkpoint --steps {} --out m{count}.deepgp", reached + 6);
            std::fs::copy(place.path("m.deepgp.checkpoint"), place.path("kept")).unwrap();
            let Some(mut command) = mpirun(&place, count, &arguments) else { return };
            let ended = command.output().unwrap();
            assert!(ended.status.success(), "{count}: {}", said(&ended));
            std::fs::copy(place.path("kept"), place.path("m.deepgp.checkpoint")).unwrap();
        }
        assert!(distance(&place, "m1.deepgp", "m4.deepgp") < 1e-6);
    }

    #[test]
    fn what_goes_wrong_is_said_once_and_ends_all() {
        let place = Place::new();
        place.write("arm.csv", arm(60, 1));
        let cases = [
            ("fit arm.csv --target z", 1, "z"),
            ("fit arm.csv --target distance --folds 3", 2, "the work of one process"),
            ("fit arm.csv --target distance --device cuda", 2, "--device cuda"),
            ("fit arm.csv --target distance --steps 0", 2, "--steps 0"),
            ("predict m.deepgp arm.csv", 2, "the work of one process"),
            ("fit arm.csv --no-such-option", 2, "--no-such-option"),
        ];
        for (arguments, code, expected) in cases {
            let Some(mut command) = mpirun(&place, 2, arguments) else { return };
            let ended = command.output().unwrap();
            let said = said(&ended);
            assert_eq!(ended.status.code(), Some(code), "{arguments}: {said}");
            assert_eq!(said.matches("error: ").count(), 1, "{arguments}: {said}");
            assert!(said.contains(expected), "{arguments}: {said}");
        }
        assert_eq!(place.files(), ["arm.csv"]);
    }
}
