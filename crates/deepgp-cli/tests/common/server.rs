//! A web server for tests: it answers as it is told, and remembers what it was asked for.

#![allow(dead_code, reason = "every test file uses a part of it")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How to answer.
#[derive(Clone, Debug)]
pub enum Reply {
    /// These bytes.
    Body(Vec<u8>),
    /// These bytes, without saying how many there are.
    Unsized(Vec<u8>),
    /// A number for a mistake, and a page about it.
    Status(u16),
    /// Go to this path instead.
    Moved(String),
    /// The first of twice as many bytes, and then the connection breaks.
    Cut(Vec<u8>),
    /// The same, and then nothing.
    Stall(Vec<u8>),
    /// Nothing.
    Silence,
    /// Bytes without end.
    Endless,
}

/// A server on this machine, for as long as the test runs.
pub struct Server {
    /// `http://127.0.0.1:PORT`
    pub address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers each path with `reply` of it.
    pub fn new(reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (asked, reply) = (Arc::new(Mutex::new(Vec::new())), Arc::new(reply));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (log, reply) = (Arc::clone(&log), Arc::clone(&reply));
                std::thread::spawn(move || {
                    if let Some(path) = request(&stream) {
                        let answer = reply(&path);
                        log.lock().unwrap().push(path);
                        // A client that goes away is none of the server's business.
                        let _ = respond(stream, answer);
                    }
                });
            }
        });
        Self { address, asked }
    }

    /// The paths that were asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// The path of a request, once all of it is here.
fn request(stream: &TcpStream) -> Option<String> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_string();
    lines.find(String::is_empty)?;
    Some(path)
}

fn respond(mut stream: TcpStream, reply: Reply) -> std::io::Result<()> {
    let head =
        |status: &str, more: String| format!("HTTP/1.1 {status}\r\nConnection: close\r\n{more}\r\n").into_bytes();
    let long = |length: usize| format!("Content-Length: {length}\r\n");
    match reply {
        Reply::Body(bytes) => stream.write_all(&[head("200 OK", long(bytes.len())), bytes].concat()),
        Reply::Unsized(bytes) => stream.write_all(&[head("200 OK", String::new()), bytes].concat()),
        Reply::Status(code) => {
            let page = b"<html>Sorry</html>".to_vec();
            stream.write_all(&[head(&format!("{code} Sorry"), long(page.len())), page].concat())
        }
        Reply::Moved(path) => stream.write_all(&head("302 Found", format!("Location: {path}\r\n{}", long(0)))),
        Reply::Cut(bytes) => stream.write_all(&[head("200 OK", long(2 * bytes.len())), bytes].concat()),
        Reply::Stall(bytes) => {
            stream.write_all(&[head("200 OK", long(2 * bytes.len())), bytes].concat())?;
            std::thread::sleep(Duration::from_secs(600));
            Ok(())
        }
        Reply::Silence => {
            std::thread::sleep(Duration::from_secs(600));
            Ok(())
        }
        Reply::Endless => {
            stream.write_all(&head("200 OK", String::new()))?;
            loop {
                stream.write_all(&[b'1'; 1 << 16])?;
            }
        }
    }
}
