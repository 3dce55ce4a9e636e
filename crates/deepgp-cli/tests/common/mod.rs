//! What the end-to-end tests share: a folder, tables, and the real binary.

#![allow(dead_code, reason = "every test file uses a part of it")]

pub mod server;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use deepgp::simulate;
use deepgp_io::ModelFile;
use serde_json::Value;
use tempfile::TempDir;

/// A folder of its own, gone when the test ends.
pub struct Place {
    folder: TempDir,
}

/// How a command ended.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Names of all files, hidden ones included.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deepgp"));
        command.current_dir(self.folder.path()).args(arguments.split_whitespace()).stdin(Stdio::null());
        command
    }

    /// Runs `deepgp` with these arguments, split at blanks. It must never panic.
    pub fn run(&self, arguments: &str) -> Ended {
        Ended::from(self.command(arguments).output().unwrap())
    }

    /// The same, and it must succeed.
    pub fn done(&self, arguments: &str) -> Ended {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "deepgp {arguments}: {}", ended.stderr);
        ended
    }

    /// The same, and it must print one JSON object.
    pub fn json(&self, arguments: &str) -> Value {
        let ended = self.done(&format!("{arguments} --json"));
        assert_eq!(ended.stdout.trim_end().lines().count(), 1, "{}", ended.stdout);
        serde_json::from_str(&ended.stdout).unwrap()
    }

    /// Starts it, and leaves it running.
    pub fn start(&self, arguments: &str) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub fn model(&self, name: &str) -> ModelFile {
        ModelFile::load(&self.path(name)).unwrap()
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let ended = Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        ended
    }
}

/// The simulated arm as a table.
pub fn arm(rows: usize, seed: u64) -> String {
    let data = simulate::eight_link_arm(rows, seed);
    let mut text = String::from("a1,a2,a3,a4,a5,a6,a7,a8,distance\n");
    for i in 0..rows {
        for angle in data.x().row(i) {
            write!(text, "{angle},").unwrap();
        }
        writeln!(text, "{}", data.y()[(i, 0)]).unwrap();
    }
    text
}

/// Sends a signal by name.
pub fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status().unwrap();
    assert!(status.success());
}

/// A column of a CSV file.
pub fn column(text: &str, name: &str) -> Vec<f64> {
    let mut lines = text.lines();
    let at = lines.next().unwrap().split(',').position(|own| own == name).unwrap_or_else(|| panic!("no column {name}"));
    lines.map(|line| line.split(',').nth(at).unwrap().parse().unwrap_or(f64::NAN)).collect()
}

/// Whether two models are the same to the last bit, and were trained alike.
pub fn assert_same(one: &ModelFile, other: &ModelFile) {
    let bits = |file: &ModelFile| file.regressor.model.raw().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert!(bits(one) == bits(other), "the parameters differ");
    assert_eq!(one.regressor.standardiser, other.regressor.standardiser);
    assert_eq!((&one.regressor.spread, one.regressor.sharpness), (&other.regressor.spread, other.regressor.sharpness));
    assert_eq!((one.record.steps, &one.record.stop), (other.record.steps, &other.record.stop));
    assert_eq!(one.record.elbo.map(f64::to_bits), other.record.elbo.map(f64::to_bits));
    let course =
        |file: &ModelFile| file.history.points().iter().map(|p| (p.step, p.elbo.to_bits())).collect::<Vec<_>>();
    assert!(course(one) == course(other), "the histories differ");
    assert_eq!(one.history.validation(), other.history.validation());
    assert_eq!(one.record.scores, other.record.scores);
}
