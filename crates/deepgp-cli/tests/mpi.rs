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

    /// A table with quoted line ends, missing cells, dates, numbers with signs, a column that never changes and one that changes once, a category
    /// that only the last lines have, one of many levels, and weights of which some are 0; `last` stands for the target of the last line, if
    /// something does.
    fn messy(last: Option<&str>) -> String {
        let line = |i: usize| {
            let place = if i > 290 { "late" } else { ["\"a\n\"\"b\"\"\"", "none", "\"c,\"", "d"][i % 4] };
            let (x, z) =
                ((i * 37 % 300) as f64 / 50.0, if i % 9 == 4 { String::new() } else { format!("${}", i % 23) });
            let y = format!("{}", x.sin() + (i % 5) as f64 / 9.0 + (i * 7 % 40) as f64 / 30.0);
            let y = last.filter(|_| i == 299).map_or(y, String::from);
            format!(
                "{x},{z},7,{},{place},{:02}/{:02}/2024,s{},{},{y}\n",
                i / 150,
                1 + i % 12,
                1 + i % 28,
                i * 7 % 40,
                i % 3
            )
        };
        "x,z,fixed,half,place,day,site,w,y\n".to_string() + &(0..300).map(line).collect::<String>()
    }

    /// The same bytes, compressed.
    fn gzip(text: &str) -> Vec<u8> {
        use std::io::Write;
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        writer.write_all(text.as_bytes()).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn whoever_reads_the_rows_of_a_table_the_model_is_the_same() {
        let place = Place::new();
        place.write("messy.csv", messy(None));
        // It cannot be cut: one process reads it, and deals the rows out.
        place.write("messy.csv.gz", gzip(&messy(None)));
        let sizes = SMALL.replace("distance", "y").replace("--test 0.2", "");
        let cases = [
            "--test 0.2 --ignore site,w",
            "--test 0.2 --weights w",
            "--test 0.2 --group site --ignore w",
            "--test last:0.2:day --ignore site,w",
            "--test last:0.25 --ignore w",
            "--ignore site,w --missing drop",
            "--target place --test 0.2 --ignore site,w --class-weights balanced",
        ];
        for (case, options) in cases.into_iter().enumerate() {
            let options = match options.contains("--target") {
                true => format!("{} {options} --steps 12", sizes.replace("--target y", "")),
                false => format!("{sizes} {options} --steps 12"),
            };
            let alone = place.run(&format!("fit messy.csv {options} --out alone.deepgp --json"));
            assert_eq!(alone.code, Some(0), "{}", alone.stderr);
            let file = |name: &str| ModelFile::load(&place.path(name)).unwrap();
            let score = |of: &Value| of["test"]["log_likelihood"].as_f64();
            let wanted = (file("alone.deepgp"), serde_json::from_str::<Value>(&alone.stdout).unwrap());
            let count = 2 + case % 2;
            let fit = |table: &str| {
                let mut command = mpirun(&place, count, &format!("fit {table} {options} --out {table}.deepgp --json"))?;
                let ended = command.output().unwrap();
                assert!(ended.status.success(), "{count} {options}: {}", said(&ended));
                Some((file(&format!("{table}.deepgp")), json(&ended)))
            };
            let Some((shared, scores)) = fit("messy.csv") else { return };
            let schema = &wanted.0.schema;
            assert_eq!(shared.schema, *schema, "{count} {options}");
            assert_eq!(shared.record.data, wanted.0.record.data, "{count} {options}");
            assert_eq!(shared.record.notes, wanted.0.record.notes, "{count} {options}");
            assert_eq!(shared.record.test_rows, wanted.0.record.test_rows, "{count} {options}");
            assert!(distance(&place, "alone.deepgp", "messy.csv.deepgp") < 1e-7, "{count} {options}");
            assert_eq!(score(&scores).is_some(), score(&wanted.1).is_some(), "{options}");
            let difference = score(&scores).unwrap_or(0.0) - score(&wanted.1).unwrap_or(0.0);
            assert!(difference.abs() < 1e-6, "{count} {options}: {scores}\n{}", wanted.1);
            let (_, of_one) = fit("messy.csv.gz").unwrap();
            assert!(distance(&place, "messy.csv.deepgp", "messy.csv.gz.deepgp") < 1e-300, "{count} {options}");
            assert_eq!(score(&scores), score(&of_one), "{count} {options}");
            // It goes on from the shares that are read anew, and another fit starts from it.
            let mut command = mpirun(&place, count, "resume messy.csv.deepgp --steps 3").unwrap();
            let ended = command.output().unwrap();
            assert!(ended.status.success(), "{count} {options}: {}", said(&ended));
        }
    }

    #[test]
    fn a_fit_in_shares_starts_from_a_model_and_knows_its_categories() {
        let place = Place::new();
        place.write("messy.csv", messy(None));
        let began = place
            .run("fit messy.csv --target y --ignore site,w --hidden-layers 0 --inducing 10 --steps 3 --out m.deepgp");
        assert_eq!(began.code, Some(0), "{}", began.stderr);
        let alone = place.run("fit messy.csv --init m.deepgp --steps 5 --test 0.2 --out alone.deepgp");
        assert_eq!(alone.code, Some(0), "{}", alone.stderr);
        let Some(mut command) = mpirun(&place, 3, "fit messy.csv --init m.deepgp --steps 5 --test 0.2 --out m3.deepgp")
        else {
            return;
        };
        let ended = command.output().unwrap();
        assert!(ended.status.success(), "{}", said(&ended));
        assert!(distance(&place, "alone.deepgp", "m3.deepgp") < 1e-7);
        // A level that only the last process sees.
        place.write("messy.csv", messy(None).replace("late,12", "new,12"));
        let said = said(&mpirun(&place, 3, "fit messy.csv --init m.deepgp --steps 5").unwrap().output().unwrap());
        assert!(
            said.matches("error: ").count() == 1 && said.contains("categories that the model does not know"),
            "{said}"
        );
    }

    #[test]
    fn what_is_wrong_in_a_share_is_said_once_with_its_line() {
        let place = Place::new();
        for (last, count, expected) in [
            (Some("much"), 1, "error: messy.csv, line 374, column `y`: \"much\" is not a number"),
            (Some("much"), 4, "error: messy.csv, line 374, column `y`: \"much\" is not a number"),
            // What only the process that reads it can say.
            (Some("1,2"), 4, "error: process 3: messy.csv, line 374: expected 9 fields"),
        ] {
            place.write("messy.csv", messy(last));
            let Some(mut command) = mpirun(&place, count, "fit messy.csv --target y") else { return };
            let ended = command.output().unwrap();
            let said = said(&ended);
            assert!(said.matches("error: ").count() == 1 && said.contains(expected), "{said}");
        }
        place.write("few.csv", "x,y\n1,2\n2,3\n4,4\n");
        let Some(mut command) = mpirun(&place, 4, "fit few.csv --target y") else { return };
        let said = said(&command.output().unwrap());
        assert!(said.matches("error: ").count() == 1 && said.contains("use fewer processes"), "{said}");
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
        let mut cases = vec![
            ("fit arm.csv --target z", 1, "z"),
            ("fit arm.csv --target distance --folds 3", 2, "the work of one process"),
            ("fit arm.csv --target distance --steps 0", 2, "--steps 0"),
            ("predict m.deepgp arm.csv", 2, "the work of one process"),
            ("fit arm.csv --no-such-option", 2, "--no-such-option"),
        ];
        if !deepgp_cuda::Cuda::has_driver() {
            cases.push(("fit arm.csv --target distance --device cuda", 1, "--device cpu"));
        }
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
