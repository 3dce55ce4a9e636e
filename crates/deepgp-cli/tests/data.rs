//! `deepgp data` against a server on this machine: every way in which a download can fail has its message, and leaves nothing behind.
//! (What is served here is never the right table, so that success is tested beside the code, with a recipe of its own.)

mod common;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use common::server::{Reply, Server};
use common::{Ended, Place};

/// Fails with code 1, says all of `parts` and what to do, and leaves no file.
fn refused(place: &Place, arguments: &str, parts: &[&str]) -> Ended {
    let ended = place.run(&format!("data fetch kin8nm {arguments}"));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{arguments}: {}", ended.stderr);
    let advice = ["kin8nm could not be fetched", "dataset_2175_kin8nm.arff by hand", "--from FOLDER"];
    for part in parts.iter().chain(&advice) {
        assert!(ended.stderr.contains(part), "{arguments} should say `{part}`: {}", ended.stderr);
    }
    assert_eq!(place.files(), Vec::<String>::new(), "{arguments}");
    ended
}

/// The same from a server that always answers so.
fn refused_reply(reply: Reply, parts: &[&str]) -> Server {
    let (place, server) = (Place::new(), Server::new(move |_| reply.clone()));
    refused(&place, &format!("--from {} --timeout 0.5s", server.address), parts);
    server
}

/// An ARFF file of the right columns, with so many rows.
fn arff(rows: usize) -> Vec<u8> {
    let names = (1..=8).map(|i| format!("theta{i}")).chain(["y".into()]);
    let head: String = names.map(|name| format!("@attribute {name} real\n")).collect();
    let rows = "1.0e-01, 2, 3, 4, 5, 6, 7, 8, 9\n".repeat(rows);
    format!("@relation kin8nm\n{head}@data\n{rows}").into_bytes()
}

#[test]
fn servers_that_do_not_give_the_file() {
    let server = refused_reply(Reply::Status(404), &["there is no such file (HTTP 404)"]);
    assert_eq!(server.asked(), ["/dataset_2175_kin8nm.arff", "/kin8nm.csv"]);
    refused_reply(Reply::Status(500), &["the server is in trouble (HTTP 500)"]);
    refused_reply(Reply::Status(403), &["the server refuses it (HTTP 403)"]);
    // Nobody listens where somebody did.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    refused(&Place::new(), &format!("--from http://{address}"), &["the server refuses connections"]);
    refused(&Place::new(), "--from http://nowhere.invalid", &["http://nowhere.invalid/kin8nm.csv: no connection: "]);
}

#[test]
fn answers_that_are_late_or_cut_short() {
    let started = Instant::now();
    refused_reply(Reply::Silence, &["nothing came for 0.5 s; --timeout gives it longer"]);
    refused_reply(Reply::Stall(arff(100)), &["nothing came for 0.5 s"]);
    assert!(started.elapsed() < Duration::from_secs(20), "it waited as long as it was told");
    refused_reply(Reply::Cut(arff(100)), &["the connection broke off"]);
    refused_reply(
        Reply::Unsized(arff(100)),
        &["what came is not the table: it has 100 rows, where 8192 were expected"],
    );
}

#[test]
fn answers_that_are_not_the_table() {
    let page = b"<!DOCTYPE html>\n<html>We are down for maintenance</html>".to_vec();
    refused_reply(Reply::Body(page), &["a web page came instead of the table"]);
    refused_reply(Reply::Body(Vec::new()), &["nothing came, where a table was expected"]);
    refused_reply(Reply::Body(b"a,b\n1,2\n".to_vec()), &["what came is not the table: no column `theta1` among a, b"]);
    refused_reply(Reply::Body(b"theta1\nred\n".to_vec()), &["line 2: \"red\" is no number"]);
    let digest = "8ba62ad199288a9513137a8d6e69a544518ff7b307e497bbeacc73b810869352";
    refused_reply(Reply::Body(arff(8192)), &["its numbers are other ones", &format!("where {digest} was expected")]);
    refused_reply(Reply::Endless, &["more than 64 MiB came, so it is not the table"]);
}

#[test]
fn folders_in_place_of_a_server() {
    let (place, files) = (Place::new(), Place::new());
    let from = files.path("");
    refused(&place, &format!("--from {}", from.display()), &["kin8nm.csv: there is no such file"]);
    files.write("kin8nm.csv", arff(3));
    refused(&place, &format!("--from {}", from.display()), &["it has 3 rows"]);
}

#[test]
fn a_file_of_somebody_else_is_left_alone() {
    let place = Place::new();
    std::fs::create_dir(place.path("data")).unwrap();
    place.write("data/kin8nm.csv.gz", "x,y\n1,2\n");
    let server = Server::new(|_| Reply::Body(arff(3)));
    let ended = place.run(&format!("data fetch kin8nm --from {}", server.address));
    assert_eq!(ended.code, Some(1));
    for part in ["data/kin8nm.csv.gz is there, but is not the table kin8nm", "--force", "--out", "its columns are x, y"]
    {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    assert_eq!(server.asked().len(), 0);
    // Even where it may be replaced, a wrong table does not take its place.
    let forced = place.run(&format!("data fetch kin8nm --force --from {}", server.address));
    assert!(forced.stderr.contains("it has 3 rows"), "{}", forced.stderr);
    assert_eq!((server.asked().len(), place.read("data/kin8nm.csv.gz").as_str()), (2, "x,y\n1,2\n"));
    assert_eq!(std::fs::read_dir(place.path("data")).unwrap().count(), 1);
}

#[test]
fn places_that_cannot_be_written_are_told_before_the_download() {
    let place = Place::new();
    place.write("file", "");
    let server = Server::new(|_| Reply::Body(arff(3)));
    let ended = place.run(&format!("data fetch kin8nm --out file --from {}", server.address));
    assert!(ended.code == Some(1) && ended.stderr.contains("cannot write file/kin8nm.csv.gz"), "{}", ended.stderr);
    let ended = place.run(&format!("data fetch kin8nm --out file/deeper --from {}", server.address));
    assert!(ended.code == Some(1) && ended.stderr.contains("cannot make the folder file/deeper"), "{}", ended.stderr);
    assert_eq!(server.asked().len(), 0);
    // A folder that could be made is there only with something in it.
    place.run(&format!("data fetch kin8nm --out new/folder --from {}", server.address));
    assert_eq!((server.asked().is_empty(), place.files()), (false, vec!["file".to_string()]));
}

#[test]
fn a_table_that_cannot_be_had_does_not_keep_the_others_away() {
    let (place, server) = (Place::new(), Server::new(|_| Reply::Status(404)));
    let ended = place.run(&format!("data fetch kin8nm protein --from {} --json", server.address));
    assert_eq!(ended.code, Some(1));
    assert!(
        ["kin8nm could not be fetched", "protein could not be fetched"].iter().all(|part| ended.stderr.contains(part))
    );
    assert!(ended.stdout.contains("\"tables\":[]"), "{}", ended.stdout);
}

#[test]
fn a_download_that_is_interrupted_leaves_nothing() {
    let (place, server) = (Place::new(), Server::new(|_| Reply::Stall(arff(4000))));
    let mut child = place.start(&format!("data fetch kin8nm --from {}", server.address));
    let started = Instant::now();
    while server.asked().is_empty() {
        assert!(started.elapsed() < Duration::from_secs(60), "it asks for nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(200));
    common::signal(&child, "INT");
    assert!(!child.wait().unwrap().success());
    assert_eq!(place.files(), Vec::<String>::new());
}

#[test]
fn wrong_use_is_named() {
    let place = Place::new();
    for (arguments, part) in [
        ("data fetch", "<NAME>"),
        ("data fetch iris", "kin8nm, protein"),
        ("data fetch kin8nm --from ftp://example.org", "http:// or https://"),
        ("data fetch kin8nm --timeout soon", "--timeout"),
        ("data", "list"),
    ] {
        let ended = place.run(arguments);
        assert!(ended.code == Some(2) && ended.stderr.contains(part), "{arguments}: {}", ended.stderr);
    }
}

#[test]
fn the_list_tells_where_from_and_under_what_terms() {
    let place = Place::new();
    let shown = place.done("data list").stdout;
    for part in ["kin8nm", "8192", "protein", "45730", "CC BY 4.0", "https://archive.ics.uci.edu/dataset/265"] {
        assert!(shown.contains(part), "{shown}");
    }
    let told = place.json("data list");
    let names: Vec<&str> = told["tables"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["kin8nm", "protein"]);
    assert!(told["tables"][0]["addresses"][0].as_str().unwrap().contains("openml.org"));
}

#[test]
fn reproduce_says_how_to_get_what_it_lacks() {
    let place = Place::new();
    let ended = place.run("reproduce --data tables --out paper --dataset protein");
    assert!(ended.stderr.contains("deepgp data fetch protein --out tables"), "{}", ended.stderr);
    let other = place.run("reproduce --data tables --out paper --dataset molecules");
    assert!(other.code == Some(1) && !other.stderr.contains("data fetch"), "{}", other.stderr);
}
