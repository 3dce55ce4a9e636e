//! A newcomer's first hour: messy tables as people have them, each fitted at the first attempt, or refused once with every remedy.
//!
//! The tables are simulated. The numbers before the tests are those of the frictions that were met with version 0.1. What Python users met
//! is tried in `python/tests`, and what a signal or the clock ends in `signals.rs`.

mod common;

use std::fmt::Write as _;

use common::{Place, arm, column};
use deepgp::noise::{Key, Purpose};
use deepgp_io::table::{CellKind, ParquetWriter};
use serde_json::Value;

/// A model that takes a moment.
const SMALL: &str = "--hidden-layers 0 --inducing 20 --threads 1 --steps 40";

/// Uniform numbers between 0 and 1, by row and column.
fn uniform(row: usize, column: u32) -> f64 {
    Key::new(20, Purpose::Simulate).uniform([row as u32, column, 0, 0])
}

/// House prices: an id, 60 neighbourhoods, kinds of heating of which `none` is one, holes, a constant, a boolean and a price in dollars.
fn houses(rows: usize) -> String {
    let mut text = String::from("id,neighbourhood,heating,area,rooms,country,garage,built,price\n");
    for i in 0..rows {
        let u = |column| uniform(i, column);
        let town = (u(0) * 60.0) as usize;
        let heating = ["gas", "oil", "none", "district", "-"][(u(1) * 5.0) as usize];
        let area = 40.0 + 160.0 * u(2);
        let rooms = if u(3) < 0.1 { "NA".into() } else { format!("{}", 1 + (area / 40.0) as usize) };
        let (garage, built) = (u(4) < 0.5, 1900 + (u(5) * 120.0) as usize);
        let price = (1000.0 * area * (1.0 + 0.02 * (town % 20) as f64) * (0.8 + 0.4 * u(6))) as u64;
        let dollars = format!("\"${},{:03}\"", price / 1000, price % 1000);
        writeln!(text, "{},town {town},{heating},{area:.1},{rooms},DE,{garage},{built},{dollars}", 5000 + i).unwrap();
    }
    text
}

fn notes(summary: &Value) -> String {
    summary["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap().to_string() + "\n").collect()
}

/// 4, 5, 8, 20: one attempt for houses. What was done is told, and the level of a neighbourhood is one input.
#[test]
fn house_prices_take_one_attempt() {
    let place = Place::new();
    place.write("houses.csv", houses(400));
    let fit = place.json(&format!("fit houses.csv --target price --test 0.2 --out houses.deepgp {SMALL}"));
    let told = notes(&fit);
    for part in [
        "column `id` is left out: it counts the rows",
        "`country` is the same in every row",
        "column `heating`: \"-\", \"none\" are words like the others",
        "`neighbourhood` has 60 different texts: each becomes one number",
        "missing cells were filled in",
        "is read as",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let schema = place.model("houses.deepgp").schema;
    let names = schema.feature_names();
    assert_eq!(names.iter().filter(|name| name.starts_with("neighbourhood")).count(), 1, "{names:?}");
    assert_eq!(names.iter().filter(|name| name.starts_with("heating=")).count(), 5, "{names:?}");
    // 6: prices are positive, and so are their intervals.
    let rows: Vec<String> =
        houses(460).lines().enumerate().filter(|(i, _)| *i == 0 || *i > 400).map(|(_, line)| line.into()).collect();
    place.write("new.csv", rows.join("\n"));
    let predicted = place.done("predict houses.deepgp new.csv --quantiles 0.05,0.95").stdout;
    let low = column(&predicted, "q0.05");
    assert!(low.len() == 60 && low.iter().all(|price| *price > 0.0), "{low:?}");
    // 7: evaluate says what a report says.
    let evaluated = place.done("evaluate houses.deepgp new.csv");
    assert!(evaluated.stdout.contains("the mean") || evaluated.stdout.contains("linear"), "{}", evaluated.stdout);
    // What a resumed or reported model needs of the table is found again.
    place.done("report houses.deepgp --out houses.html");
}

/// 5: what cannot be mended is told at once, each with its remedy.
#[test]
fn all_that_is_wrong_is_told_in_one_error() {
    let place = Place::new();
    let mut text = String::from("size,when,noise,y\n");
    for i in 0..60 {
        let size = if i == 7 { "big".into() } else { format!("{}", uniform(i, 0)) };
        let when = if i == 9 { "soon".into() } else { format!("2024-01-{:02}", 1 + i % 28) };
        let noise = if i == 3 { "inf".into() } else { format!("{}", uniform(i, 1)) };
        writeln!(text, "{size},{when},{noise},{}", uniform(i, 2)).unwrap();
    }
    place.write("bad.csv", text);
    let ended = place.run(&format!("fit bad.csv --target y {SMALL}"));
    assert_eq!(ended.code, Some(1));
    for part in
        ["3 problems:", "\"big\" is not a number", "\"soon\" is not a date", "\"inf\" is not finite", "--categorical"]
    {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    let wrong = place.run("fit bad.csv --target z --ignore sizes --ignore whn");
    assert!(
        wrong.stderr.contains("did you mean `size`?") && wrong.stderr.contains("did you mean `when`?"),
        "{}",
        wrong.stderr
    );
}

/// 4: the words that stand for nothing can be said.
#[test]
fn words_for_nothing_are_settable() {
    let place = Place::new();
    let mut text = String::from("heat,area,y\n");
    for i in 0..80 {
        let heat = ["gas", "none", "unknown", "oil"][i % 4];
        let area = if i % 9 == 0 { "-999".into() } else { format!("{}", uniform(i, 0)) };
        writeln!(text, "{heat},{area},{}", uniform(i, 1)).unwrap();
    }
    place.write("t.csv", text);
    place.done(&format!("fit t.csv --target y --na unknown,-999 {SMALL}"));
    let names = place.model("model.deepgp").schema.feature_names();
    assert_eq!(names, ["heat=gas", "heat=none", "heat=oil", "area", "area is missing"]);
    // A new table is read in the same way.
    place.write("new.csv", "heat,area\nunknown,-999\nnone,0.5\n");
    let predicted = place.done("predict model.deepgp new.csv");
    assert!(predicted.stderr.contains("1 missing cell was filled in"), "{}", predicted.stderr);
    assert_eq!(predicted.stdout.lines().count(), 3);
}

/// 20, 21: eight kinds of dirty text.
#[test]
fn dirty_texts_are_read() {
    let place = Place::new();
    let table = |head: &str, row: &dyn Fn(usize) -> String| {
        let rows: Vec<String> = (0..60).map(row).collect();
        format!("{head}\n{}\n", rows.join("\n"))
    };
    let y = |i: usize| uniform(i, 9);
    let texts: [(&str, Vec<u8>, &str); 8] = [
        (
            "percent",
            table("rate,x,y", &|i| format!("{:.1}%,{},{}", 100.0 * uniform(i, 0), uniform(i, 1), y(i))).into(),
            "is read as",
        ),
        (
            "euro",
            table("price;y", &|i| format!("{:.2} €;{}", 10.0 * uniform(i, 0), y(i))).replace('.', ",").into(),
            "is read as",
        ),
        (
            "us",
            table("day,x,y", &|i| format!("{}/{}/2024,{},{}", 1 + i % 12, 1 + i % 28, uniform(i, 1), y(i))).into(),
            "the month first",
        ),
        (
            "german",
            table("day,x,y", &|i| format!("{}.{}.2024,{},{}", 1 + i % 28, 1 + i % 12, uniform(i, 1), y(i))).into(),
            "the day first",
        ),
        (
            "twice",
            table("x,x,y", &|i| format!("{},{},{}", uniform(i, 0), uniform(i, 1), y(i))).into(),
            "`x.1` is numbered",
        ),
        (
            "windows",
            b"city,x,y\r\n"
                .iter()
                .copied()
                .chain((0..60).flat_map(|i| {
                    let mut line = if i % 2 == 0 { b"K\xf6ln".to_vec() } else { b"Brno".to_vec() };
                    line.extend(format!(",{},{}\r\n", uniform(i, 0), y(i)).bytes());
                    line
                }))
                .collect(),
            "read as Windows-1252",
        ),
        (
            "index",
            table(",x,y", &|i| format!("{i},{},{}", uniform(i, 0), y(i))).into(),
            "`c1` is left out: it counts the rows",
        ),
        (
            "hole",
            table("x,empty,y", &|i| format!("{},,{}", uniform(i, 0), y(i))).into(),
            "`empty` is left out: there is nothing in it",
        ),
    ];
    for (name, text, note) in texts {
        place.write(&format!("{name}.csv"), text);
        let fit = place.json(&format!("fit {name}.csv --target y --out {name}.deepgp {SMALL}"));
        assert!(notes(&fit).contains(note), "{name}: {}", notes(&fit));
    }
    // 21: a column by its position.
    place.write("bare.csv", table("1,2,3", &|i| format!("{},{},{}", uniform(i, 0), uniform(i, 1), y(i))));
    place.done(&format!("fit bare.csv --header none --target c3 --ignore c2 --out bare.deepgp {SMALL}"));
    assert_eq!(place.model("bare.deepgp").schema.feature_names(), ["c1"]);
}

/// 22: one missing or odd cell in `predict` is a matter of its row.
#[test]
fn one_odd_cell_does_not_refuse_a_table() {
    let place = Place::new();
    place.write("arm.csv", arm(120, 1));
    place.done(&format!("fit arm.csv --target distance {SMALL}"));
    let mut lines: Vec<String> = arm(10, 2).lines().map(String::from).collect();
    lines[2] = lines[2].replacen(|c| c != ',', "", 1).replacen(|c: char| c != ',', "x", 1);
    let (first, rest) = lines[4].split_once(',').map(|(a, b)| (a.to_string(), b.to_string())).unwrap();
    assert!(first.parse::<f64>().is_ok());
    lines[4] = format!(",{rest}");
    place.write("new.csv", lines.join("\n"));
    let predicted = place.done("predict model.deepgp new.csv");
    assert_eq!(column(&predicted.stdout, "mean").iter().filter(|mean| mean.is_finite()).count(), 10);
    assert!(
        predicted.stderr.contains("taken for missing") && predicted.stderr.contains("filled in"),
        "{}",
        predicted.stderr
    );
}

/// 23: a daily series has a season, weekdays and a trend, and is scored on its last fifth.
#[test]
fn a_daily_series_has_cycles_and_goes_on_along_its_trend() {
    let place = Place::new();
    let mut text = String::from("day,sales\n");
    for i in 0..1095usize {
        let (year, of_year) = (2022 + i / 365, i % 365);
        let (month, day) = (1 + of_year * 12 / 365, 1 + of_year * 12 % 365 / 13);
        let season = (std::f64::consts::TAU * of_year as f64 / 365.0).sin();
        let sales = 20.0 + 0.03 * i as f64 + 8.0 * season + 3.0 * uniform(i, 0);
        writeln!(text, "{year}-{month:02}-{:02},{sales}", day.clamp(1, 28)).unwrap();
    }
    place.write("daily.csv", text);
    let command = "fit daily.csv --target sales --test last:0.2 --hidden-layers 0 --inducing 40 --threads 1 --steps 300 --learning-rate 0.05";
    let fit = place.json(command);
    assert!(
        notes(&fit).contains("dates are a trend, in seconds since 1970, and season, weekday, each as a circle"),
        "{}",
        notes(&fit)
    );
    assert!(notes(&fit).contains("`sales` follows `day` along a line"), "{}", notes(&fit));
    // No worse than a line through the days and their circles, however far from the last training row.
    let rmse = fit["test"]["rmse"].as_f64().unwrap();
    let line = fit["baselines"]["linear regression"]["rmse"].as_f64().unwrap();
    assert!(rmse < 1.05 * line, "{rmse}, and a line has {line}");
    let without = place.json(&format!("{command} --trend none --out without.deepgp"));
    assert!(without["test"]["rmse"].as_f64().unwrap() > 1.5 * rmse, "{without}");
    // The same in the file: predictions go on along the line, and the report is drawn.
    place.write("later.csv", "day\n2025-06-01\n2027-06-01\n");
    let later = column(&place.done("predict model.deepgp later.csv").stdout, "mean");
    assert!((later[1] - later[0] - 0.03 * 730.0).abs() < 6.0, "{later:?}");
    place.done("report model.deepgp --out report.html");
}

/// Customers who leave, with ids that come again: classes, groups, weights and folds in one attempt each.
#[test]
fn churn_is_classes_by_customers() {
    let place = Place::new();
    let mut text = String::from("customer_id,plan,months,calls,w,churn\n");
    for i in 0..240 {
        let (plan, months) = (["basic", "plus", "none"][i % 3], (uniform(i, 0) * 60.0) as u32);
        let churn = if uniform(i, 1) < 0.2 + 0.01 * f64::from(months) { "yes" } else { "no" };
        writeln!(text, "C{:03},{plan},{months},{:.2},{},{churn}", i / 4, 9.0 * uniform(i, 2), 1 + i % 3).unwrap();
    }
    place.write("churn.csv", text);
    let random = place.json(&format!("fit churn.csv --target churn --ignore w --test 0.25 {SMALL}"));
    assert!(notes(&random).contains("--group customer_id"), "{}", notes(&random));
    let grouped =
        place.json(&format!("fit churn.csv --target churn --group customer_id --weights w --test 0.25 {SMALL}"));
    assert!(notes(&grouped).contains("rows of one `customer_id` stay together"), "{}", notes(&grouped));
    let schema = place.model("model.deepgp").schema;
    assert_eq!(schema.target_kind.labels().unwrap(), ["no", "yes"]);
    assert_eq!(schema.feature_names(), ["plan=basic", "plan=none", "plan=plus", "months", "calls"]);
    let folds = place.json(&format!("fit churn.csv --target churn --group customer_id --weights w --folds 3 {SMALL}"));
    assert!(folds["cross_validation"].is_object(), "{folds}");
}

/// 6: counts have no negative quantiles, and no negative draws.
#[test]
fn counts_are_never_negative() {
    let place = Place::new();
    let mut text = String::from("age,exposure,visits\n");
    for i in 0..200 {
        let visits = (4.0 * uniform(i, 0) * uniform(i, 1)) as u32;
        writeln!(text, "{:.1},{:.2},{visits}", 20.0 + 60.0 * uniform(i, 2), 0.5 + uniform(i, 3)).unwrap();
    }
    place.write("visits.csv", text);
    place.done(&format!("fit visits.csv --target visits --task counts --exposure exposure --test 0.2 {SMALL}"));
    let predicted = place.done("predict model.deepgp visits.csv --quantiles 0.05,0.95 --draws 2").stdout;
    for name in ["q0.05", "q0.95", "draw1", "draw2"] {
        let values = column(&predicted, name);
        assert!(values.iter().all(|value| *value >= 0.0 && value.fract() == 0.0), "{name}: {values:?}");
    }
}

/// 1: sensors as Parquet, within a time limit, and twice.
#[test]
fn sensors_in_parquet_end_by_their_limit() {
    let place = Place::new();
    let names: Vec<String> = (1..=12).map(|sensor| format!("s{sensor}")).chain(["y".into()]).collect();
    let columns: Vec<(String, CellKind)> = names.into_iter().map(|name| (name, CellKind::Number)).collect();
    let mut writer = ParquetWriter::new(Vec::new(), &columns).unwrap();
    for i in 0..20_000 {
        let mut row: Vec<f64> = (0..12).map(|sensor| uniform(i, sensor)).collect();
        row.push((5.0 * row[0]).sin() + row[1] * row[2] + 0.1 * uniform(i, 12));
        writer.write_row(&row.iter().map(f64::to_string).collect::<Vec<_>>()).unwrap();
    }
    place.write("sensors.parquet", writer.finish().unwrap());
    for _ in 0..2 {
        let fit = place.json("fit sensors.parquet --target y --test 0.2 --time-limit 4s --hidden-layers 1 --threads 2");
        assert_eq!(fit["rows"], 20_000, "{fit}");
        assert!(fit["test"]["rmse"].as_f64().is_some_and(f64::is_finite), "{fit}");
    }
}

/// 3, 17, 18: a fit that its time ended is finished, and goes on when asked; too many inducing inputs are capped.
#[test]
fn a_finished_fit_stays_out_of_the_way() {
    let place = Place::new();
    place.write("arm.csv", arm(60, 1));
    let command = "fit arm.csv --target distance --hidden-layers 0 --inducing 500 --threads 1 --time-limit 2s";
    let first = place.json(command);
    assert!(notes(&first).contains("500 inducing inputs were asked for"), "{}", notes(&first));
    place.done(command);
    place.done("resume model.deepgp --steps 100000 --time-limit 2s");
    let refused = place.run("resume model.deepgp.none");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
}

/// 14, 15, 16: errors for scripts, tips, and a configuration that says where files go.
#[test]
fn scripts_and_typing_errors_are_helped() {
    let place = Place::new();
    place.write("arm.csv", arm(60, 1));
    let ended = place.run("fit arm.csv --target nothing --json");
    let error: Value = serde_json::from_str(
        ended.stdout.lines().chain(ended.stderr.lines()).find(|line| line.starts_with('{')).unwrap(),
    )
    .unwrap();
    assert!(error.to_string().contains("there is no column `nothing`"), "{error}");
    let tip = place.run("fit arm.csv --target distance --transform log");
    assert!(tip.stderr.contains("--transform-target"), "{}", tip.stderr);
    place.write("fit.toml", "target = 'distance'\nout = 'arm.deepgp'\nsteps = 5\nhidden-layers = 0\ninducing = 10\n");
    place.done("fit arm.csv --config fit.toml");
    assert!(place.files().contains(&"arm.deepgp".into()));
}
