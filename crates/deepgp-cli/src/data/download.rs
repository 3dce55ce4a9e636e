//! Downloads: bytes from the web, or from a folder that has them already.

use std::fmt;
use std::io::{ErrorKind, IsTerminal, Read};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::recipe::Recipe;
use crate::arguments::value::duration::Seconds;
use crate::terminal::text::duration;

/// The largest size of a download, in bytes: no table that is fetched is larger.
pub const LIMIT: u64 = 64 << 20;
/// The number of bytes that are read at a time.
const PIECE: usize = 1 << 16;

/// A mirror, where files are looked for in place of their own addresses.
#[derive(Clone, Debug, PartialEq)]
pub enum Mirror {
    /// An address that is followed by a file's name.
    Web(String),
    /// A folder with the files.
    Folder(PathBuf),
}

impl FromStr for Mirror {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once("://") {
            Some(("http" | "https", _)) => Ok(Self::Web(text.trim_end_matches('/').into())),
            Some(_) => Err("give an address that begins with http:// or https://, or a folder".into()),
            None => Ok(Self::Folder(text.into())),
        }
    }
}

/// A place where a file may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Location {
    /// An address on the web.
    Address(String),
    /// A file on this machine.
    File(PathBuf),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => f.write_str(address),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// The places to look for a table, in the order in which they are tried.
pub fn locations(recipe: &Recipe, mirror: Option<&Mirror>) -> Vec<Location> {
    let name = |address: &str| address.rsplit('/').next().unwrap_or_default().to_string();
    let place = |address: &&str| match mirror {
        None => Location::Address((*address).into()),
        Some(Mirror::Web(base)) => Location::Address(format!("{base}/{}", name(address))),
        Some(Mirror::Folder(folder)) => Location::File(folder.join(name(address))),
    };
    recipe.addresses.iter().map(place).collect()
}

/// A client that gets files from the web or from a folder.
#[derive(Debug)]
pub struct Downloader {
    agent: ureq::Agent,
    patience: Seconds,
    quiet: bool,
}

impl Downloader {
    /// A client that gives up when nothing has come for so long.
    pub fn new(patience: Seconds, quiet: bool) -> Self {
        let wait = Duration::try_from_secs_f64(patience.0).ok();
        let config = ureq::Agent::config_builder()
            .timeout_resolve(wait)
            .timeout_connect(wait)
            .timeout_per_read(wait)
            .timeout_per_write(wait)
            .user_agent(concat!("deepgp/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: config.into(), patience, quiet }
    }

    /// Gets the bytes of a file.
    pub fn get(&self, location: &Location) -> Result<Vec<u8>> {
        match location {
            Location::Address(address) => self.download(address),
            Location::File(path) => std::fs::read(path).map_err(|error| match error.kind() {
                ErrorKind::NotFound => anyhow!("there is no such file"),
                _ => anyhow!("the file cannot be read: {error}"),
            }),
        }
    }

    /// Downloads the bytes at an address.
    fn download(&self, address: &str) -> Result<Vec<u8>> {
        let mut response = self.agent.get(address).call().map_err(|error| self.explain(error))?;
        let bar = DownloadProgress::new(response.body().content_length(), self.quiet);
        let (mut reader, mut bytes) = (response.body_mut().as_reader().take(LIMIT + 1), Vec::new());
        let mut piece = vec![0; PIECE];
        loop {
            let count = reader.read(&mut piece).map_err(|error| self.explain(error.into()))?;
            if count == 0 {
                break;
            }
            bytes.extend_from_slice(&piece[..count]);
            bar.show(bytes.len());
        }
        drop(bar);
        ensure!(bytes.len() as u64 <= LIMIT, "more than {} MiB came, so it is not the table", LIMIT >> 20);
        Ok(bytes)
    }

    /// An error of the web client in words of people.
    fn explain(&self, error: ureq::Error) -> anyhow::Error {
        use ureq::Error::{HostNotFound, Io, StatusCode, Timeout};
        match error {
            StatusCode(code @ (404 | 410)) => anyhow!("there is no such file (HTTP {code})"),
            StatusCode(code @ 500..) => anyhow!("the server is in trouble (HTTP {code})"),
            StatusCode(code) => anyhow!("the server refuses it (HTTP {code})"),
            Timeout(_) => anyhow!("nothing came for {}; --timeout gives it longer", duration(self.patience.0)),
            HostNotFound => anyhow!("no connection: the host is not found"),
            Io(error) => match error.kind() {
                ErrorKind::ConnectionRefused => anyhow!("the server refuses connections"),
                ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => anyhow!("the connection broke off"),
                _ => anyhow!("no connection: {error}"),
            },
            other => anyhow!("{other}"),
        }
    }
}

/// The progress bar of a download, on a terminal.
struct DownloadProgress(Option<ProgressBar>);

impl DownloadProgress {
    fn new(length: Option<u64>, quiet: bool) -> Self {
        let shown = std::io::stderr().is_terminal() && !quiet;
        Self(shown.then(|| {
            let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(8));
            let template = match length {
                Some(_) => "{bar:16.cyan/dim} {bytes}/{total_bytes}  {eta} left",
                None => "{spinner} {bytes}",
            };
            let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style.progress_chars("━╸─"));
            bar
        }))
    }

    fn show(&self, bytes: usize) {
        if let Some(bar) = &self.0 {
            bar.set_position(bytes as u64);
        }
    }
}

impl Drop for DownloadProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
