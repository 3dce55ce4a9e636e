//! The whole way through the real binary: table, model, predictions, scores, report.

mod common;

use std::io::Write;
use std::process::Command;

use common::{Place, arm, column};
use deepgp::noise::{Key, Purpose};
use serde_json::Value;

/// A model that takes a second.
const SMALL: &str = "--hidden-layers 1 --width 3 --mean-inducing 40 --covariance-inducing 20 --steps 150 --threads 2";

#[test]
fn a_table_becomes_a_model_that_predicts_and_is_scored_as_it_said() {
    let place = Place::new();
    place.write("arm.csv", arm(600, 1));
    place.write("new.csv", arm(200, 2));
    let fit = place.json(&format!("fit arm.csv --target distance --test 0.2 {SMALL} --out arm.deepgp"));
    let test = &fit["test"];
    for key in ["log_likelihood", "rmse", "crps", "coverage_95", "mae", "coverage_50", "coverage_90"] {
        assert!(test[key].is_f64(), "{key}: {test}");
    }
    for key in ["elbo", "steps", "train_seconds", "settings", "version"] {
        assert!(!fit[key].is_null(), "{key}");
    }
    assert_eq!((fit["steps"].as_u64(), test["rows"].as_u64()), (Some(150), Some(120)));
    // It has learnt something: better than a line, and its intervals hold about what they promise.
    let likelihood = |v: &Value| v["log_likelihood"].as_f64().unwrap();
    assert!(likelihood(test) > likelihood(&fit["baselines"]["linear regression"]) + 0.05, "{fit}");
    assert!((0.88..=1.0).contains(&test["coverage_95"].as_f64().unwrap()));

    place.done("predict arm.deepgp new.csv --out predicted.csv --quantiles 0.05,0.5,0.95 --draws 2");
    let predicted = place.read("predicted.csv");
    assert_eq!(predicted.lines().next().unwrap(), "mean,std,f_std,noise_std,q0.05,q0.5,q0.95,draw1,draw2");
    assert_eq!(predicted.lines().count(), 201);
    let [mean, std, f_std, low, high] = ["mean", "std", "f_std", "q0.05", "q0.95"].map(|name| column(&predicted, name));
    for i in 0..200 {
        assert!(std[i] > f_std[i] && f_std[i] > 0.0 && low[i] < mean[i] && mean[i] < high[i], "row {i}");
    }
    // What `evaluate` says is what the predictions amount to.
    let truth = column(&place.read("new.csv"), "distance");
    let rmse = (mean.iter().zip(&truth).map(|(m, y)| (m - y).powi(2)).sum::<f64>() / 200.0).sqrt();
    let evaluated = place.json("evaluate arm.deepgp new.csv");
    assert!((evaluated["test"]["rmse"].as_f64().unwrap() - rmse).abs() < 1e-12);
    let seen = place.done("evaluate arm.deepgp arm.csv");
    assert!(seen.stderr.contains("the scores flatter it"), "{}", seen.stderr);
    let inside = (0..200).filter(|&i| (low[i]..=high[i]).contains(&truth[i])).count() as f64 / 200.0;
    assert_eq!(evaluated["test"]["coverage_90"].as_f64().unwrap(), inside);

    // Without a file the predictions go to standard output, and nothing else does.
    assert_eq!(place.done("predict arm.deepgp new.csv --quantiles 0.05,0.5,0.95 --draws 2").stdout, predicted);
    let info = place.json("info arm.deepgp");
    assert_eq!(info["targets"][0], "distance");
    assert_eq!(info["layers"][0]["sizes"]["mean_inducing"], 40);
    assert!(place.done("info arm.deepgp").stdout.contains("a deep GP with 1 hidden layer of 3"));
    assert_eq!(place.files(), ["arm.csv", "arm.deepgp", "new.csv", "predicted.csv"], "nothing else is left");
}

#[test]
fn draws_are_of_one_function_where_they_are_joint() {
    let place = Place::new();
    let curve: String = (0..200).map(|i| format!("{i},{}\n", (f64::from(i) / 20.0).sin())).collect();
    place.write("curve.csv", format!("x,y\n{curve}"));
    place.done("fit curve.csv --target y --hidden-layers 0 --inducing 12 --steps 100 --likelihood gaussian --learning-rate 0.01 --schedule constant --validation-score log-density");
    // Far from the data and from one another: nothing that is known of one says anything of the other.
    place.write("far.csv", "x\n-900\n900\n900.001\n");
    let correlation = |flags: &str, one: usize, other: usize| {
        let text = place.done(&format!("predict model.deepgp far.csv --draws 400 {flags}")).stdout;
        let rows: Vec<Vec<f64>> =
            text.lines().skip(1).map(|l| l.split(',').skip(3).map(|v| v.parse().unwrap()).collect()).collect();
        let mean = |v: &[f64]| v.iter().sum::<f64>() / 400.0;
        let product = |a: &[f64], b: &[f64]| {
            let (mean_a, mean_b) = (mean(a), mean(b));
            a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum::<f64>()
        };
        let (a, b) = (&rows[one], &rows[other]);
        product(a, b) / (product(a, a) * product(b, b)).sqrt()
    };
    assert!(correlation("--joint", 0, 1).abs() < 0.2);
    assert!(correlation("--joint", 1, 2) > 0.5);
    assert!(correlation("", 0, 1) > 0.5, "each row by itself, with the same random numbers");
    let refused = place.run("predict model.deepgp far.csv --joint");
    assert!(refused.code == Some(2) && refused.stderr.contains("--draws"), "{}", refused.stderr);
    place.write("long.csv", format!("x\n{}", "1\n".repeat(2001)));
    let refused = place.run("predict model.deepgp long.csv --draws 1 --joint");
    assert!(refused.code == Some(1) && refused.stderr.contains("up to 2000 rows"), "{}", refused.stderr);
    assert_eq!(refused.stdout, "");
}

#[test]
fn a_messy_table_is_read_as_a_person_would() {
    let place = Place::new();
    let mut text = String::from("\u{feff}\"Größe, m²\";Farbe;alt;Preis\r\n");
    for i in 0..240 {
        let (size, old) = (20.0 + f64::from(i % 60), i % 3 == 0);
        let colour = ["rot", "grün", "\"hell;blau\""][i as usize % 3];
        let price = 3.0 * size + f64::from(i % 3) * 20.0;
        let size = if i == 17 { "NA".to_string() } else { format!("{size:.1}").replace('.', ",") };
        text += &format!("{size} ; {colour};{old};{price}\r\n");
        if i == 100 {
            text += "\r\n";
        }
    }
    place.write("homes.csv", &text);
    let refused = place.run("fit homes.csv --target Preis --missing reject");
    assert_eq!(refused.code, Some(1));
    for part in ["homes.csv", "line 19", "Größe, m²", "--missing drop"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    let fit = place.json(&format!("fit homes.csv --target Preis --missing drop --test 0.25 {SMALL} --seed 3"));
    assert_eq!(fit["rows"], 239);
    let inputs: Vec<&str> = fit["inputs"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    assert_eq!(inputs, ["Größe, m²", "Farbe=grün", "Farbe=hell;blau", "Farbe=rot", "alt"]);
    assert!(fit["test"]["rmse"].as_f64().unwrap() < 10.0, "{}", fit["test"]);

    // Another table: other order, other delimiter, one column more, an unknown colour, a gap. No target is needed.
    place.write("new.tsv", "alt\tid\tFarbe\tGröße, m²\ntrue\t1\trot\t50\nfalse\t2\tviolett\t50\nfalse\t3\trot\t\n");
    let ended = place.done("predict model.deepgp new.tsv --out out.csv");
    for part in ["`id`", "violett", "Farbe"] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    let lines: Vec<String> = place.read("out.csv").lines().map(String::from).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[3], ",,,", "the row with the gap has no prediction, but keeps its place");
    place.write("short.csv", "alt,Farbe\ntrue,rot\n");
    let refused = place.run("predict model.deepgp short.csv --out none.csv");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("Größe, m²") && !place.path("none.csv").exists(), "{}", refused.stderr);
}

#[test]
fn several_targets_a_configuration_and_other_formats() {
    let place = Place::new();
    // y2 = −y1, in an NPY array without names.
    let data = deepgp::simulate::uneven_curve(120, 1);
    let mut numbers = Vec::new();
    for i in 0..120 {
        let (x, y) = (data.x()[(i, 0)], data.y()[(i, 0)]);
        numbers.extend([x, y, -y].map(f64::to_le_bytes).concat());
    }
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (120, 3), }";
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(numbers);
    place.write("curve.npy", bytes);
    place.write("fit.toml", "target = ['c2', 'c3']\nhidden-layers = 0\ninducing = 20\nsteps = 50\nvalidation = 0\n");
    let fit = place.json("fit curve.npy --config fit.toml --test 0.2 --steps 120 --report report.html");
    assert_eq!(fit["steps"], 120, "the command line comes first");
    assert_eq!(fit["settings"]["model"]["inducing"]["tied"], 20);
    let rmse = &fit["test"]["rmse"];
    let (one, two) = (rmse["c2"].as_f64().unwrap(), rmse["c3"].as_f64().unwrap());
    assert!((one / two - 1.0).abs() < 0.05, "mirror images are learnt alike: {one} {two}");
    let predicted = place.done("predict model.deepgp curve.npy --quantiles 0.1").stdout;
    assert_eq!(
        predicted.lines().next().unwrap(),
        "c2_mean,c2_std,c2_f_std,c2_noise_std,c2_q0.1,c3_mean,c3_std,c3_f_std,c3_noise_std,c3_q0.1"
    );
    assert!(place.read("report.html").contains("c3"));
}

#[test]
fn predictions_keep_their_places_over_many_chunks_and_left_out_rows() {
    let place = Place::new();
    place.write("arm.csv", arm(200, 1));
    place.done("fit arm.csv --target distance --hidden-layers 0 --inducing 10 --steps 30 --missing drop --threads 1");
    // 200 different rows over and over, with a gap here and there; more than two chunks.
    let table = arm(200, 1);
    let lines: Vec<&str> = table.lines().collect();
    let mut text = format!("{}\n", lines[0]);
    for i in 0..20_000 {
        let line = lines[1 + i % 200];
        if i % 777 == 5 {
            text += &format!(",{}\n", line.split_once(',').unwrap().1);
        } else {
            text += &format!("{line}\n");
        }
    }
    place.write("long.csv", text);
    let few = place.done("predict model.deepgp arm.csv").stdout;
    let many = place.done("predict model.deepgp long.csv").stdout;
    let few: Vec<&str> = few.lines().collect();
    let mut count = 0;
    for (i, line) in many.lines().skip(1).enumerate() {
        let expected = if i % 777 == 5 { ",,," } else { few[1 + i % 200] };
        assert_eq!(line, expected, "row {i}");
        count += 1;
    }
    assert_eq!(count, 20_000);
}

#[test]
fn columns_of_the_table_are_kept_beside_the_predictions() {
    let place = Place::new();
    let rows =
        |i: u32| format!("{:03},\"Bad {}, Ort\",2024-01-{:02},{},{}\n", i, i % 3, i % 28 + 1, i % 7, i % 7 + i % 3);
    let table = String::from("id,place,day,x,y\n") + &(0..60).map(rows).collect::<String>();
    place.write("towns.csv", table.replace("004,\"Bad 1, Ort\"", "NA,"));
    place.done("fit towns.csv --target y --ignore id,day --hidden-layers 0 --inducing 5 --steps 5 --missing mean");
    let plain = place.done("predict model.deepgp towns.csv");
    assert!(plain.stderr.contains("does not use: `id`, `day` (--keep COLUMN carries one along)"), "{}", plain.stderr);
    let kept = place.done("predict model.deepgp towns.csv --keep day --keep id,place --missing drop");
    assert!(!kept.stderr.contains("does not use"), "{}", kept.stderr);
    let (plain, kept): (Vec<_>, Vec<_>) = (plain.stdout.lines().collect(), kept.stdout.lines().collect());
    assert_eq!((kept[0], kept.len()), ("day,id,place,mean,std,f_std,noise_std", 61));
    for i in [1, 2, 59] {
        let beside = format!("2024-01-{:02},{i:03},\"Bad {}, Ort\",{}", i % 28 + 1, i % 3, plain[i + 1]);
        assert_eq!(kept[i + 1], beside);
    }
    assert_eq!(kept[5], "2024-01-05,NA,,,,,", "a row without a prediction has its columns, too");
    let json = place.json("predict model.deepgp towns.csv --keep place --out p.TSV");
    assert_eq!(json["columns"][0], "place");
    assert_eq!(place.read("p.TSV").lines().nth(1), Some(&*format!("Bad 0, Ort\t{}", plain[1].replace(',', "\t"))));
}

#[test]
fn two_that_predict_into_one_file_at_once_leave_one_of_two_whole_files() {
    let place = Place::new();
    place.write("arm.csv", arm(4000, 1));
    place.done("fit arm.csv --target distance --hidden-layers 0 --inducing 10 --steps 5 --threads 1");
    let predict = |draws: usize| format!("predict model.deepgp arm.csv --out p.csv --samples 2 --draws {draws}");
    let whole = [3, 5].map(|draws| {
        place.done(&predict(draws));
        place.read("p.csv")
    });
    for _ in 0..3 {
        for child in [3, 5].map(|draws| place.start(&predict(draws))) {
            assert!(child.wait_with_output().unwrap().status.success());
        }
        assert!(whole.contains(&place.read("p.csv")), "the file is a mixture");
        assert_eq!(place.files(), ["arm.csv", "model.deepgp", "p.csv"]);
    }
}

#[test]
fn a_model_file_gives_the_same_bits_as_the_model_in_memory_and_on_any_number_of_threads() {
    let place = Place::new();
    place.write("arm.csv", arm(300, 1));
    place.done(&format!("fit arm.csv --target distance {SMALL} --out two.deepgp"));
    place.done(&format!("fit arm.csv --target distance {SMALL} --threads 1 --out one.deepgp").replacen(
        "--threads 2 ",
        "",
        1,
    ));
    let (one, two) = (place.model("one.deepgp"), place.model("two.deepgp"));
    assert_eq!(one.regressor.model.raw(), two.regressor.model.raw());
    assert_eq!(
        place.done("predict one.deepgp arm.csv --threads 1").stdout,
        place.done("predict two.deepgp arm.csv --threads 2").stdout
    );
}

#[test]
fn the_report_opens_without_a_console_error_in_light_and_dark() {
    let place = Place::new();
    place.write("arm.csv", arm(300, 1));
    place.done(&format!("fit arm.csv --target distance --test 0.3 {SMALL}"));
    place.done("report model.deepgp --out report.html --pictures pictures");
    let page = place.read("report.html");
    for part in ["<svg", "linear regression", "Calibration", "the function bends", "a8", "prefers-color-scheme"] {
        assert!(page.contains(part), "{part}");
    }
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!outside.contains("http://") && !outside.contains("https://"), "the page must need no network");
    let pictures = std::fs::read_dir(place.path("pictures")).unwrap().count();
    assert!(pictures >= 16, "{pictures} pictures");
    // On rows that training has seen the page says so, as standard error does.
    let seen = place.done("report model.deepgp arm.csv --out seen.html");
    for text in [&seen.stderr, &place.read("seen.html")] {
        assert!(text.contains("the scores flatter it"), "{text}");
    }
    assert!(!page.contains("the scores flatter it"));
    // With a table of its own, and without the table of the fit.
    place.write("new.csv", arm(100, 5));
    std::fs::remove_file(place.path("arm.csv")).unwrap();
    let ended = place.done("report model.deepgp new.csv --out second.html");
    assert!(ended.stderr.contains("no baselines"), "{}", ended.stderr);
    assert!(place.read("second.html").contains("100 rows of new.csv"));

    let Some(chromium) = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| works(name)) else {
        // Not `eprintln!`, which is hidden where a test passes.
        writeln!(std::io::stderr(), "SKIPPED: the report was not opened, there is no Chromium").unwrap();
        return;
    };
    for (scheme, width) in [("0", "400"), ("1", "1400")] {
        let output = Command::new(chromium)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--enable-logging=stderr",
            ])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync", "--dump-dom"])
            .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
            .arg(format!("--window-size={width},900"))
            .arg(format!("--user-data-dir={}", place.path(&format!("profile{scheme}")).display()))
            .arg(format!("file://{}", place.path("report.html").display()))
            .output()
            .unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(!log.contains("CONSOLE"), "{log}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("</svg>"), "the page was not rendered: {log}");
    }
}

#[test]
fn a_report_is_made_with_the_settings_it_is_given() {
    let place = Place::new();
    place.write("arm.csv", arm(200, 1));
    place.done("fit arm.csv --target distance --hidden-layers 2 --width 2 --inducing 10 --steps 20 --threads 1");
    // What enters the third layer is a mean over samples of the second; what enters the second is exact.
    let drawn = |seed: u32, layer: u32| {
        let folder = format!("seed{seed}");
        place.done(&format!("report model.deepgp --seed {seed} --threads 1 --pictures {folder} --formats svg"));
        place.read(&format!("{folder}/inducing-{layer}.svg"))
    };
    assert!(drawn(0, 3) != drawn(1, 3), "the seed does not reach the hidden layers");
    assert!(drawn(0, 2) == drawn(1, 2));
}

fn works(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// A straight line has a long lengthscale, though it may be most of what there is.
#[test]
fn inputs_that_act_as_straight_lines_are_not_said_to_matter_little() {
    let place = Place::new();
    let row = |i: u32| {
        let (big, small) = (f64::from(i % 17) / 8.0 - 1.0, f64::from(i % 23) / 11.0 - 1.0);
        format!("{big},{small},{}\n", 5.0 * big + 0.5 * (4.0 * small).sin())
    };
    place.write("line.csv", String::from("big,small,y\n") + &(0..391).map(row).collect::<String>());
    place.done("fit line.csv --target y --hidden-layers 0 --inducing 30 --steps 2000 --validation 0 --report r.html");
    let info = place.done("info model.deepgp").stdout;
    let order = ["bends ", "small ", ", big ", "straight line", "however much that input matters"];
    let found: Vec<_> = order.iter().map(|part| info.find(part)).collect();
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{found:?}: {info}");
    let page = place.read("r.html");
    assert!(page.contains("such an input may matter much"));
    assert!(!page.contains("inputs matter") && !page.contains("hardly matters"));
}

/// A table of prices, which are positive and scatter by factors; `price` of row 3 (from 1) is `third`, and row 2 has no area.
fn prices(rows: u32, seed: u64, third: &str) -> String {
    let key = Key::new(seed, Purpose::Simulate);
    let line = |i: u32| {
        let [area, age] = [0, 1].map(|column| key.uniform([i, column, 0, 0]));
        let price = (3.0 * (2.0 * area).sin() - age + 0.5 * key.normals([i, 2, 0, 0])[0]).exp();
        let (area, price) = (
            if i == 1 { String::new() } else { area.to_string() },
            if i == 2 { third.to_string() } else { price.to_string() },
        );
        format!("{area},{age},{price}\n")
    };
    format!("area,age,price\n{}", (0..rows).map(line).collect::<String>())
}

#[test]
fn a_transformed_target_is_predicted_and_scored_in_its_own_units() {
    let place = Place::new();
    place.write("prices.csv", prices(500, 1, "0.02"));
    place.write("new.csv", prices(200, 2, "0.03"));
    let fit = |transform: &str, out: &str| {
        let flags = format!(
            "--missing drop --test 0.2 {SMALL} --transform-target {transform} --validation-score log-density --out {out}"
        );
        place.json(&format!("fit prices.csv --target price {flags}"))
    };
    let fitted = fit("log", "log.deepgp");
    assert_eq!(fitted["settings"]["transform_target"], "log");
    place.done("predict log.deepgp new.csv --missing drop --out predicted.csv --quantiles 0.001,0.025,0.975 --draws 3");
    let predicted = place.read("predicted.csv");
    for name in ["mean", "q0.001", "q0.025", "draw1", "draw2", "draw3"] {
        let all = column(&predicted, name);
        assert!(all.iter().filter(|v| v.is_finite()).all(|v| *v > 0.0), "{name}");
    }
    let evaluated = place.json("evaluate log.deepgp new.csv --missing drop");
    let (mean, truth) = (column(&predicted, "mean"), column(&place.read("new.csv"), "price"));
    let errors: Vec<f64> = mean.iter().zip(&truth).map(|(m, y)| (m - y).powi(2)).filter(|e| e.is_finite()).collect();
    let rmse = (errors.iter().sum::<f64>() / errors.len() as f64).sqrt();
    assert_eq!(errors.len(), 199);
    assert!((evaluated["test"]["rmse"].as_f64().unwrap() / rmse - 1.0).abs() < 1e-9, "{evaluated}");
    let info = place.done("info log.deepgp").stdout;
    assert!(info.contains("through   ln price") && info.contains("in units of ln price"), "{info}");
    assert_eq!(place.json("info log.deepgp")["transforms"][0], "log");
    // The score by which the step was chosen is in the units of the others.
    let plain = fit("none", "plain.deepgp");
    let kept = |json: &Value| json["kept"]["validation_log_likelihood"].as_f64().unwrap();
    let test = |json: &Value| json["test"]["log_likelihood"].as_f64().unwrap();
    assert!(test(&fitted) > test(&plain), "{} {}", test(&fitted), test(&plain));
    for json in [&fitted, &plain] {
        assert!((kept(json) - test(json)).abs() < 0.6, "{} {}", kept(json), test(json));
    }
    place.done("report log.deepgp --out page.html");
    assert!(place.read("page.html").contains("It learned ln price."));
    let auto = fit("auto", "auto.deepgp");
    assert!(auto["notes"].to_string().contains("`price` is transformed by `log"), "{}", auto["notes"]);
}

#[test]
fn targets_that_a_transform_cannot_have_are_named_by_their_rows() {
    let place = Place::new();
    place.write("prices.csv", prices(60, 1, "-0.5"));
    place.write("zero.csv", prices(60, 1, "0"));
    place.write("right.csv", prices(60, 1, "3"));
    let fit = |table: &str, transform: &str| {
        place.run(&format!("fit {table} --target price --missing drop --transform-target {transform} {SMALL}"))
    };
    let ended = fit("prices.csv", "log");
    assert_eq!(ended.code, Some(1));
    let expected = "--transform-target log needs values of `price` above 0, but 1 row has another: row 3 has -0.5 (counted from \
                    1, without a header); remove these rows, or take --transform-target log1p (for values above -1) or yeo-johnson";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    let ended = fit("right.csv", "quantile");
    assert!(ended.stderr.contains("`price` has 53 distinct values among the rows to train on"), "{}", ended.stderr);
    assert_eq!(fit("right.csv", "log").code, Some(0));
    let ended = place.run("evaluate model.deepgp zero.csv --missing drop");
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("fitted with --transform-target log") && ended.stderr.contains("row 3 has 0"),
        "{}",
        ended.stderr
    );
}

#[test]
fn help_and_completions_are_there() {
    let place = Place::new();
    for command in
        ["demo", "fit", "resume", "predict", "evaluate", "compare", "explain", "info", "report", "completions"]
    {
        let help = place.done(&format!("{command} --help")).stdout;
        assert!(help.contains("Example"), "{command}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(place.done(&format!("completions {shell}")).stdout.contains("checkpoint-every"), "{shell}");
    }
    assert_eq!(place.run("fit").code, Some(2));
    assert_eq!(place.run("fit x.csv --hidden-layers many").code, Some(2));
    assert_eq!(place.run("fit x.csv --inducing 3 --mean-inducing 4").code, Some(2));
}
