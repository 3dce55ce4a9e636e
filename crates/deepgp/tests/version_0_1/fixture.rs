//! A fixture: what a version of the library computed, as lines of text that a later version is held against.
//!
//! A case has a name and, under it, *facts* (texts that must be the same everywhere) and *numbers*, each number the 64 bits of an
//! `f64` in hexadecimal, so that nothing is lost:
//!
//! ```text
//! case whitened mean, standard covariance
//! fact stop steps
//! numbers likelihood.noise 1 d1b54a32d192ed03 bfe62e42fefa39ef
//! ```
//!
//! After a quantity's name stand how many numbers it has, a digest of the bits of all of them, and the numbers; of long quantities
//! only every so many-th, which is enough where bits need not be equal. The first case of a file is the machine that recorded it.

use std::fmt::Write as _;
use std::path::Path;

/// The environment variable that makes tests write their fixtures instead of reading them.
const RECORD: &str = "DEEPGP_RECORD";
/// How many numbers are kept of a quantity, at most, and of one in a brief case.
const KEPT: usize = 6;
const KEPT_BRIEFLY: usize = 2;
/// How many differences a failing test lists.
const LISTED: usize = 25;

/// One quantity of a case.
#[derive(Clone, Debug)]
enum Entry {
    /// A text.
    Fact(String),
    /// Numbers: how many, the digest of all, and those that are kept. The largest is not written.
    Numbers { count: usize, digest: u64, kept: Vec<u64>, largest: f64 },
}

/// What was computed under one name.
#[derive(Clone, Debug)]
pub struct Case {
    name: String,
    /// How far numbers may be off on another machine, in units of the quantity's largest.
    tolerance: f64,
    /// How many numbers of a quantity are kept, at most.
    most: usize,
    entries: Vec<(String, Entry)>,
}

/// How numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Every bit of every number.
    EqualBits,
    /// Each kept number to the case's tolerance.
    Tolerance,
}

impl Case {
    /// A case without quantities. Where equal bits cannot be demanded, its numbers may be off by `tolerance` times the largest number of
    /// their quantity.
    pub fn new(name: impl Into<String>, tolerance: f64) -> Self {
        Self { name: name.into(), tolerance, most: KEPT, entries: Vec::new() }
    }

    /// A case like many others, of whose numbers fewer are kept. On the machine that recorded it, it proves as much.
    pub fn brief(name: impl Into<String>, tolerance: f64) -> Self {
        Self { most: KEPT_BRIEFLY, ..Self::new(name, tolerance) }
    }

    /// Adds a text.
    pub fn fact(&mut self, name: &str, value: impl ToString) {
        self.entries.push((name.into(), Entry::Fact(value.to_string())));
    }

    /// Adds numbers.
    pub fn numbers(&mut self, name: &str, values: &[f64]) {
        let bits: Vec<u64> = values.iter().map(|v| v.to_bits()).collect();
        let kept = bits.iter().copied().step_by(every(bits.len(), self.most)).collect();
        let largest = values.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()));
        let entry = Entry::Numbers { count: bits.len(), digest: digest(&bits), kept, largest };
        self.entries.push((name.into(), entry));
    }

    fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|(own, _)| own == name).map(|(_, entry)| entry)
    }
}

/// Every how many-th of `count` numbers is kept, so that they are `most` at most.
fn every(count: usize, most: usize) -> usize {
    count.div_ceil(most).max(1)
}

/// FNV-1a over the bytes.
fn digest(bits: &[u64]) -> u64 {
    bits.iter()
        .flat_map(|b| b.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Whether fixtures are to be written, and there is nothing yet to hold anything against.
pub fn recording() -> bool {
    std::env::var_os(RECORD).is_some()
}

/// Holds `cases` against the fixture at `path`, or writes it if `DEEPGP_RECORD` is set. If `machine` is what the fixture has for its
/// machine, all bits must be equal. Says which of the three it did; panics with a list of the differences, if there are any.
pub fn check(path: &Path, machine: Case, cases: &[Case]) {
    if recording() {
        std::fs::write(path, text(&machine, cases)).expect("fixtures can be written");
        println!("{}: recorded {} cases", path.display(), cases.len());
        return;
    }
    let recorded = read(path);
    let same_machine = differences(&recorded[..1], std::slice::from_ref(&machine), Demand::EqualBits).is_empty();
    hold(path, cases, if same_machine { Demand::EqualBits } else { Demand::Tolerance });
}

/// Holds `cases` against the fixture at `path`, whatever machine recorded it.
pub fn hold(path: &Path, cases: &[Case], demand: Demand) {
    let recorded = read(path);
    let found = differences(&recorded[1..], cases, demand);
    let rule = match demand {
        Demand::EqualBits => "equal bits demanded: this machine computes like the one that recorded them",
        Demand::Tolerance => {
            "agreement within a tolerance demanded: this machine rounds unlike the one that recorded them"
        }
    };
    println!("{}: {} cases, {rule}", path.display(), cases.len());
    assert!(
        found.is_empty(),
        "{} quantities are not what version 0.1 computed ({rule}):\n{}{}",
        found.len(),
        found[..found.len().min(LISTED)].join("\n"),
        if found.len() > LISTED { "\n…" } else { "" },
    );
}

/// One line for each quantity that differs, naming case and quantity.
fn differences(recorded: &[Case], found: &[Case], demand: Demand) -> Vec<String> {
    let mut out = Vec::new();
    for case in recorded {
        if !found.iter().any(|other| other.name == case.name) {
            out.push(format!("{}: this case was not computed", case.name));
        }
    }
    for case in found {
        let Some(before) = recorded.iter().find(|other| other.name == case.name) else {
            out.push(format!("{}: this case was not recorded", case.name));
            continue;
        };
        for (name, _) in &before.entries {
            if case.get(name).is_none() {
                out.push(format!("{}: `{name}` was not computed", case.name));
            }
        }
        for (name, entry) in &case.entries {
            let difference = match before.get(name) {
                None => Some("was not recorded".into()),
                Some(before) => difference(before, entry, demand, case.tolerance),
            };
            out.extend(difference.map(|difference| format!("{}: `{name}` {difference}", case.name)));
        }
    }
    out
}

fn difference(recorded: &Entry, found: &Entry, demand: Demand, tolerance: f64) -> Option<String> {
    match (recorded, found) {
        (Entry::Fact(recorded), Entry::Fact(found)) => {
            (recorded != found).then(|| format!("is `{found}`, but was `{recorded}`"))
        }
        (
            Entry::Numbers { count: old_count, digest: old_digest, kept: old, .. },
            Entry::Numbers { count, digest, kept: new, largest },
        ) => {
            if old_count != count {
                return Some(format!("has {count} numbers, but had {old_count}"));
            }
            let agrees = |(old, new): (&u64, &u64)| match demand {
                Demand::EqualBits => old == new,
                Demand::Tolerance => {
                    let (old, new) = (f64::from_bits(*old), f64::from_bits(*new));
                    // Infinity agrees with itself, and NaN with NaN, alone.
                    old == new || (old - new).abs() <= tolerance * largest || (old.is_nan() && new.is_nan())
                }
            };
            match old.iter().zip(new).position(|pair| !agrees(pair)) {
                Some(at) => {
                    let (old, new, at) = (old[at], new[at], at * every(*count, old.len()));
                    let (was, is) = (f64::from_bits(old), f64::from_bits(new));
                    Some(format!("has number {at} = {is:e} ({new:016x}), but had {was:e} ({old:016x})"))
                }
                None if demand == Demand::EqualBits && old_digest != digest => {
                    Some("differs in a number that is not kept: its digest is another".into())
                }
                None => None,
            }
        }
        (Entry::Fact(_), Entry::Numbers { .. }) => Some("has numbers, but was a fact".into()),
        (Entry::Numbers { .. }, Entry::Fact(_)) => Some("is a fact, but had numbers".into()),
    }
}

fn text(machine: &Case, cases: &[Case]) -> String {
    let mut out = String::new();
    for case in std::iter::once(machine).chain(cases) {
        let _ = writeln!(out, "case {}", case.name);
        for (name, entry) in &case.entries {
            assert!(!name.contains(' '), "`{name}` would not be read back: a space ends a name");
            let _ = match entry {
                Entry::Fact(value) => writeln!(out, "fact {name} {value}"),
                Entry::Numbers { count, digest, kept, .. } => {
                    let kept: String = kept.iter().map(|b| format!(" {b:x}")).collect();
                    writeln!(out, "numbers {name} {count} {digest:x}{kept}")
                }
            };
        }
    }
    out
}

/// The machine, then the cases.
fn read(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path)
        .unwrap_or_else(|e| panic!("{}: {e}; {RECORD}=1 writes it, with version 0.1 only", path.display()));
    let mut cases: Vec<Case> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let broken = || format!("{}:{}: not a line of a fixture", path.display(), number + 1);
        if let Some(name) = line.strip_prefix("case ") {
            cases.push(Case::new(name, 0.0));
            continue;
        }
        let parsed = parse(line).unwrap_or_else(|| panic!("{}", broken()));
        cases.last_mut().unwrap_or_else(|| panic!("{}", broken())).entries.push(parsed);
    }
    assert!(!cases.is_empty(), "{} is empty", path.display());
    cases
}

fn parse(line: &str) -> Option<(String, Entry)> {
    let (kind, rest) = line.split_once(' ')?;
    let (name, rest) = rest.split_once(' ')?;
    let entry = match kind {
        "fact" => Entry::Fact(rest.into()),
        "numbers" => {
            let mut words = rest.split(' ');
            let hexadecimal = |word: &str| u64::from_str_radix(word, 16).ok();
            let count = words.next()?.parse().ok()?;
            let digest = hexadecimal(words.next()?)?;
            Entry::Numbers { count, digest, kept: words.map(hexadecimal).collect::<Option<_>>()?, largest: f64::NAN }
        }
        _ => return None,
    };
    Some((name.into(), entry))
}
