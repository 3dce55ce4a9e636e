//! `deepgp serve`: the numbers of `deepgp predict` over HTTP, whatever clients do.
#![cfg(target_os = "linux")]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{Ended, Place, arm, signal};
use serde_json::{Map, Value, json};

/// A server of a model, which is ended when the test is over.
struct Serving {
    child: Option<Child>,
    /// Kept open, or the server would find nobody to print to.
    _stdout: BufReader<ChildStdout>,
    url: String,
}

impl Serving {
    fn new(place: &Place, arguments: &str) -> Self {
        let mut child = place.start(&format!("serve {arguments} --address 127.0.0.1:0 --json"));
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        Self { child: Some(child), _stdout: stdout, url: ready["url"].as_str().unwrap().into() }
    }

    fn address(&self) -> SocketAddr {
        self.url.strip_prefix("http://").unwrap().parse().unwrap()
    }

    fn get(&self, path: &str) -> (u16, String) {
        text(agent().get(format!("{}{path}", self.url)).call().unwrap())
    }

    fn post(&self, body: &str) -> (u16, Value) {
        let (status, text) = text(agent().post(format!("{}/predict", self.url)).send(body).unwrap());
        (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}")))
    }

    /// What is told of rows.
    fn predict(&self, request: &Value) -> Vec<Value> {
        let (status, answer) = self.post(&request.to_string());
        assert_eq!(status, 200, "{answer}");
        answer["predictions"].as_array().unwrap().clone()
    }

    /// Why a request is refused.
    fn refused(&self, body: &str) -> (u16, String) {
        let (status, answer) = self.post(body);
        assert_eq!(answer["error"]["status"], status);
        (status, answer["error"]["message"].as_str().unwrap().into())
    }

    /// What comes back for these bytes, until the connection is closed.
    fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
        stream.write_all(bytes).unwrap();
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    }

    /// Sends a signal, and waits for the end.
    fn end(mut self, name: &str) -> Ended {
        let child = self.child.take().unwrap();
        signal(&child, name);
        Ended::from(child.wait_with_output().unwrap())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into()
}

fn text(mut response: ureq::http::Response<ureq::Body>) -> (u16, String) {
    (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
}

/// A table with every kind of column, and with missing cells.
fn houses(rows: usize) -> String {
    let mut text = String::from("area,town,built,garden,price\n");
    for i in 0..rows {
        let town = ["York", "Leeds", "Hull", ""][i % 4];
        let area = if i % 11 == 5 { String::new() } else { format!("{}", 40.0 + (i * 37 % 97) as f64 * 1.37) };
        let built = format!("19{:02}-0{}-11", 50 + i % 47, 1 + i % 9);
        let garden = i % 3 == 0;
        text += &format!("{area},{town},{built},{garden},{}\n", 100 + 2 * (i * 37 % 97) + 15 * (i % 4) + (i * 53) % 7);
    }
    text
}

/// A model of houses, and their rows as JSON: once with its own types, and once with the texts of the table.
fn houses_place() -> (Place, Vec<Value>, Vec<Value>) {
    let place = Place::new();
    let table = houses(240);
    place.write("houses.csv", &table);
    place.done(
        "fit houses.csv --target price --hidden-layers 1 --width 2 --inducing 15 --steps 25 --threads 1 --out m.deepgp --quiet",
    );
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let typed = |name: &str, cell: &str| match (name, cell) {
        (_, "") => Value::Null,
        ("area", number) => json!(number.parse::<f64>().unwrap()),
        ("garden", truth) => json!(truth == "true"),
        (_, text) => json!(text),
    };
    let row = |line: &str, cell: &dyn Fn(&str, &str) -> Value| {
        let cells = names.iter().zip(line.split(',')).filter(|(name, _)| **name != "price");
        Value::Object(cells.map(|(name, text)| (name.to_string(), cell(name, text))).collect::<Map<_, _>>())
    };
    let lines: Vec<&str> = lines.collect();
    let typed = lines.iter().map(|line| row(line, &typed)).collect();
    let texts = lines.iter().map(|line| row(line, &|_, text| json!(text))).collect();
    (place, typed, texts)
}

/// The predictions of a command as JSON, by the names of columns.
fn of_command(place: &Place, arguments: &str) -> Vec<Value> {
    let table = place.done(&format!("predict {arguments}")).stdout;
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let cell = |text: &str| text.parse::<f64>().map_or_else(|_| json!(text), |number| json!(number));
    let row = |line: &str| {
        let cells = names.iter().zip(line.split(',')).map(|(name, text)| (name.to_string(), cell(text)));
        Value::Object(cells.collect::<Map<_, _>>())
    };
    lines.map(|line| if line.starts_with(',') { Value::Null } else { row(line) }).collect()
}

#[test]
fn the_numbers_are_those_of_predict_to_the_last_bit() {
    let (place, typed, texts) = houses_place();
    let serving = Serving::new(&place, "m.deepgp --threads 1");
    let expected = of_command(&place, "m.deepgp houses.csv --quantiles 0.05,0.5 --draws 2");
    for rows in [&typed, &texts] {
        let told = serving.predict(&json!({ "rows": rows, "quantiles": [0.05, 0.5], "draws": 2 }));
        assert_eq!(told, expected);
    }
    // Each row alone, from a bare list, and with another seed.
    for (row, expected) in typed.iter().zip(of_command(&place, "m.deepgp houses.csv")).take(12) {
        assert_eq!(serving.predict(&json!([row])), [expected]);
    }
    let seeded = serving.predict(&json!({ "rows": typed, "draws": 1, "seed": 7 }));
    assert_eq!(seeded, of_command(&place, "m.deepgp houses.csv --draws 1 --seed 7"));
    assert_ne!(seeded[0]["draw1"], expected[0]["draw1"]);
    assert_ne!(expected[0]["mean"], expected[1]["mean"]);
    let told = serving.predict(&json!({ "rows": typed, "interval": 0.9 }));
    assert_eq!(told, of_command(&place, "m.deepgp houses.csv --interval 0.9"));
    assert!(told[0]["lower0.9"].as_f64() < told[0]["upper0.9"].as_f64());
}

#[test]
fn classes_have_labels_and_rows_that_cannot_be_used_have_nothing() {
    let place = Place::new();
    let table = houses(200).replace(",price", ",kind").lines().enumerate().fold(String::new(), |text, (i, line)| {
        let cut = line.rfind(',').unwrap();
        text + &line[..cut] + if i == 0 { ",kind" } else { [",flat", ",house", ",boat"][i * i % 3] } + "\n"
    });
    place.write("kinds.csv", &table);
    place.done(
        "fit kinds.csv --target kind --hidden-layers 0 --inducing 10 --steps 20 --threads 1 --out m.deepgp --quiet",
    );
    let serving = Serving::new(&place, "m.deepgp --missing drop");
    let row = json!({ "area": 70, "town": "York", "built": "1960-01-01", "garden": true });
    let lacking = json!({ "area": null, "town": "York", "built": "1960-01-01", "garden": true, "id": 3 });
    place.write("new.csv", "area,town,built,garden\n70,York,1960-01-01,true\n,York,1960-01-01,true\n");
    let (_, answer) = serving.post(&json!({ "rows": [row, lacking], "draws": 1 }).to_string());
    let expected = of_command(&place, "m.deepgp new.csv --missing drop --draws 1");
    assert_eq!(answer["predictions"], json!(expected));
    assert!(answer["predictions"][0]["class"].is_string() && answer["predictions"][1].is_null());
    let notes = answer["notes"].to_string();
    assert!(notes.contains("`id`") && !notes.contains("--keep") && notes.contains("has no prediction"), "{notes}");
    let (status, message) = serving.refused(&json!({ "rows": [row], "interval": 0.5 }).to_string());
    assert!(status == 422 && message.contains("classes"), "{message}");
}

#[test]
fn the_schema_says_what_a_row_is() {
    let (place, ..) = houses_place();
    let serving = Serving::new(&place, "m.deepgp");
    let (status, schema) = serving.get("/schema");
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!((status, &schema["required"]), (200, &json!(["area", "town", "built", "garden"])));
    let columns = &schema["properties"];
    assert_eq!(columns["area"]["type"], json!(["number", "null"]));
    assert_eq!(columns["garden"]["type"], json!(["boolean", "null"]));
    assert_eq!(columns["built"]["type"], json!(["string", "number", "null"]));
    assert_eq!(columns["town"]["enum"], json!(["Hull", "Leeds", "York", null]));
    assert!(columns["area"]["x-typical"]["mean"].as_f64().unwrap() > 40.0);
    assert_eq!(schema["x-target"], json!({ "columns": ["price"], "kind": "numbers", "labels": null }));
    assert_eq!(schema["x-answers"], json!(["mean", "std", "f_std", "noise_std"]));
    let strict = Serving::new(&place, "m.deepgp --missing reject");
    let schema: Value = serde_json::from_str(&strict.get("/schema").1).unwrap();
    assert_eq!(schema["properties"]["area"]["type"], json!(["number"]));
}

#[test]
fn what_is_wrong_is_told_with_the_right_status_and_what_to_do() {
    let (place, typed, _) = houses_place();
    let serving = Serving::new(&place, "m.deepgp --max-rows 100 --max-body 1");
    let row = &typed[0];
    let with = |name: &str, value: Value| {
        let mut row = row.clone();
        row[name] = value;
        json!([row]).to_string()
    };
    for (body, status, said) in [
        ("{\"rows\": [".to_string(), 400, "no JSON"),
        ("{\"rows\": 3}".into(), 422, "GET /schema"),
        ("[]".into(), 422, "no rows"),
        (with("area", json!([1])), 422, "row 1, column `area`: the cell is a list"),
        (
            json!([row, { "Area": 1, "town": null, "built": null, "garden": null }]).to_string(),
            422,
            "did you mean `Area`?",
        ),
        (json!({ "rows": [row], "quantile": [0.5] }).to_string(), 422, "unknown field `quantile`"),
        (json!({ "rows": [row], "quantiles": [1.5] }).to_string(), 422, "between 1e-10 and 1 - 1e-10"),
        (json!({ "rows": [row], "interval": 90 }).to_string(), 422, "such as 0.9"),
        (json!({ "rows": [row], "draws": 5_000_000 }).to_string(), 422, "at most"),
        (json!({ "rows": typed[..100], "draws": 50_000 }).to_string(), 413, "fewer draws"),
        (json!(typed[..101]).to_string(), 413, "--max-rows"),
        (" ".repeat(1_100_000), 413, "--max-body"),
    ] {
        let (found, message) = serving.refused(&body);
        assert!(found == status && message.contains(said), "{found} {message}");
    }
    for (path, status, said) in
        [("/", 404, "POST /predict"), ("/predict", 405, "ask with POST"), ("/healthy", 404, "GET /health")]
    {
        let (found, message) = serving.get(path);
        assert!(found == status && message.contains(said), "{path}: {found} {message}");
    }
    let deleted = serving.raw(b"DELETE /schema HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(deleted.starts_with("HTTP/1.1 405") && deleted.to_lowercase().contains("allow: get, head"), "{deleted}");
    let zipped = serving.raw(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    assert!(zipped.starts_with("HTTP/1.1 415") && zipped.contains("compressed"), "{zipped}");
    let nonsense = serving.raw(b"\x16\x03\x01 no http at all\r\n\r\n");
    assert!(nonsense.starts_with("HTTP/1.1 400"), "{nonsense}");
    // A body that is too long and that says so before it comes.
    let long =
        serving.raw(b"POST /predict HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n");
    assert!(long.starts_with("HTTP/1.1 413") && long.contains("--max-body"), "{long}");
    // And all of that has cost nobody anything.
    let (status, health) = serving.get("/health");
    assert!(status == 200 && health.contains("\"status\":\"ok\"") && health.contains("m.deepgp"), "{health}");
    let (_, metrics) = serving.get("/metrics");
    assert!(metrics.contains("deepgp_requests_total{route=\"/predict\",status=\"413\"} 4"), "{metrics}");
    assert!(metrics.contains("deepgp_rows_predicted_total 0"), "{metrics}");
}

#[test]
fn under_load_all_answers_are_right() {
    let (place, typed, _) = houses_place();
    let serving = Serving::new(&place, "m.deepgp");
    let expected = of_command(&place, "m.deepgp houses.csv");
    let right = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for client in 0..8 {
            let (serving, typed, expected, right) = (&serving, &typed, &expected, &right);
            scope.spawn(move || {
                let agent = agent();
                for request in 0..50 {
                    let first = (client * 31 + request * 7) % 200;
                    let part = first..first + 1 + (client + request) % 40;
                    let body = json!({ "rows": typed[part.clone()] }).to_string();
                    let response = agent.post(format!("{}/predict", serving.url)).send(&body).unwrap();
                    let (status, answer) = text(response);
                    let answer: Value = serde_json::from_str(&answer).unwrap();
                    assert_eq!((status, &answer["predictions"]), (200, &json!(expected[part])));
                    right.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(right.into_inner(), 400);
    let (_, metrics) = serving.get("/metrics");
    assert!(metrics.contains("deepgp_requests_total{route=\"/predict\",status=\"200\"} 400"), "{metrics}");
}

#[test]
fn slow_clients_block_nobody_and_hear_why_they_are_refused() {
    let (place, typed, _) = houses_place();
    let serving = Serving::new(&place, "m.deepgp --request-time 2s --connections 50");
    // More than there may be connections: half of them in the middle of a head, half in that of a body.
    let parts = [&b"POST /predict HT"[..], b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{"];
    let slow: Vec<TcpStream> = (0..120)
        .map(|i| {
            let mut stream = TcpStream::connect(serving.address()).unwrap();
            stream.write_all(parts[i % 2]).unwrap();
            stream
        })
        .collect();
    let started = Instant::now();
    (0..5).for_each(|_| assert_eq!(serving.predict(&json!([typed[0]])).len(), 1));
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    // The last ones are still there, and are told; the first ones had to go.
    let answers: Vec<String> = slow
        .into_iter()
        .map(|mut stream| {
            stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            let mut text = String::new();
            let _ = stream.read_to_string(&mut text);
            text
        })
        .collect();
    let closed = answers.iter().filter(|text| text.is_empty()).count();
    assert!((70..=75).contains(&closed), "{closed}: {answers:?}");
    let last = &answers[115..];
    assert!(last.iter().all(|text| text.starts_with("HTTP/1.1 408") && text.contains("\"status\":408")), "{last:?}");
    assert!(last.iter().any(|text| text.contains("the head")) && last.iter().any(|text| text.contains("the body")));
}

#[test]
fn a_request_that_takes_too_long_is_told_so_and_leaves_the_server_alone() {
    let (place, typed, _) = houses_place();
    let serving = Serving::new(&place, "m.deepgp --samples 2000 --threads 1 --request-time 0.2s");
    let rows: Vec<&Value> = typed.iter().cycle().take(5000).collect();
    let (status, message) = serving.refused(&json!(rows).to_string());
    assert!(status == 503 && message.contains("--request-time"), "{status} {message}");
    assert_eq!(serving.get("/health").0, 200);
}

#[test]
fn what_is_being_answered_is_answered_before_the_end() {
    let (place, typed, _) = houses_place();
    for name in ["TERM", "INT"] {
        let serving = Serving::new(&place, "m.deepgp");
        let body = json!(typed).to_string();
        let (begin, rest) = body.split_at(body.len() / 2);
        // One whose body is on its way, one that is idle, and one in the middle of a head.
        let mut asking = TcpStream::connect(serving.address()).unwrap();
        write!(asking, "POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{begin}", body.len()).unwrap();
        let _idle = TcpStream::connect(serving.address()).unwrap();
        let mut begun = TcpStream::connect(serving.address()).unwrap();
        begun.write_all(b"GET /hea").unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let rest = rest.to_string();
        let answer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            asking.write_all(rest.as_bytes()).unwrap();
            let mut text = String::new();
            asking.read_to_string(&mut text).unwrap();
            text
        });
        let ended = serving.end(name);
        let answer = answer.join().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.matches("\"mean\"").count() == 240, "{answer:.300}");
        assert_eq!(ended.code, Some(130), "{}", ended.stderr);
        assert!(ended.stderr.contains("ended after 1 request"), "{}", ended.stderr);
    }
}

#[test]
fn an_address_that_cannot_be_had_and_a_limit_that_cannot_be_are_told() {
    let place = Place::new();
    place.write("arm.csv", arm(60, 1));
    place.done("fit arm.csv --target distance --hidden-layers 0 --inducing 5 --steps 2 --out m.deepgp --quiet");
    let serving = Serving::new(&place, "m.deepgp");
    let taken = place.run(&format!("serve m.deepgp --address {}", serving.address()));
    assert!(taken.code == Some(1) && taken.stderr.contains("--address"), "{}", taken.stderr);
    let nowhere = place.run("serve m.deepgp --address nowhere --json");
    assert!(nowhere.code == Some(1) && nowhere.stdout.contains("\"kind\":\"failure\""), "{}", nowhere.stdout);
    for (flag, said) in [("--max-rows 0", "at least 1"), ("--request-time soon", "90s"), ("--samples 0", "at least 1")]
    {
        let ended = place.run(&format!("serve m.deepgp {flag}"));
        assert!(ended.code == Some(2) && ended.stderr.contains(said), "{}", ended.stderr);
    }
    assert!(place.run("serve missing.deepgp").stderr.contains("missing.deepgp"));
}
