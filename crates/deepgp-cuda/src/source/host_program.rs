//! C++ programs that tests make of CUDA text, compile and run. Where there is no C++ compiler, they say that they were skipped.
//! `CXXFLAGS` are given to it too: with `-fsanitize=address,undefined` nothing may be read or written beside its array.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// What a program prints that is made of `text` and the statements `main`, or `None` after saying that `test` is skipped.
#[allow(clippy::explicit_write, reason = "the test harness would swallow `eprintln`")]
pub fn run_program(test: &str, text: &str, main: &str) -> Option<Vec<f64>> {
    let folder = std::env::temp_dir().join(format!("deepgp-cuda-{}-{}", std::process::id(), test.replace(' ', "-")));
    std::fs::create_dir_all(&folder).unwrap();
    let compile = |name: &str, text: &str| -> Option<PathBuf> {
        let (from, to) = (folder.join(format!("{name}.cpp")), folder.join(name));
        std::fs::write(&from, text).unwrap();
        let flags = std::env::var("CXXFLAGS").unwrap_or_default();
        let mut compiler = Command::new("c++");
        compiler.args(["-std=c++17", "-O1", "-w", "-o"]).arg(&to).arg(&from).args(flags.split_whitespace());
        let output = compiler.output().ok()?;
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(name == "empty" || output.status.success(), "{complaints}");
        output.status.success().then_some(to)
    };
    let compiler_is_there = compile("empty", "#include <cmath>\nint main() { return 0; }\n").is_some();
    let program = compiler_is_there.then(|| compile("program", &format!("{text}int main() {{\n{main}}}\n")));
    let Some(program) = program.flatten() else {
        writeln!(std::io::stderr(), "SKIPPED: {test}: there is no C++ compiler").unwrap();
        let _ = std::fs::remove_dir_all(&folder);
        return None;
    };
    let output = Command::new(program).output().unwrap();
    let _ = std::fs::remove_dir_all(&folder);
    assert!(output.status.success(), "{test}: {:?}", output.status);
    Some(String::from_utf8(output.stdout).unwrap().split_whitespace().map(|word| word.parse().unwrap()).collect())
}

/// The C++ text of an array of numbers.
pub fn array(kind: &str, name: &str, numbers: &[f64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(|number| format!("{number:?}")).collect();
    format!("    static {kind} {name}[] = {{{}}};\n", numbers.join(", "))
}

/// Fails unless numbers agree to 12 digits.
pub fn near(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        let close = (a - b).abs() <= 1e-12 * b.abs().max(1.0);
        assert!(close, "{what}: {a} is not {b} in {found:?} and {expected:?}");
    }
}

/// Numbers between −1 and 1 that follow no pattern.
pub fn scattered(n: usize, seed: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 37 + seed * 101 + 13) as f64 * 0.7).sin()).collect()
}
