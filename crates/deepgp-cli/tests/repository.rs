//! What holds of the repository as a whole: which dependencies there may be, and that all unsafe code is listed with its proofs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use toml::Table;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
}

/// The strings of a list in `deny.toml`, under a section and a key; of tables in it, those under `crate`.
fn listed(deny: &Table, section: &str, key: &str) -> BTreeSet<String> {
    let entries = deny[section][key].as_array().unwrap().iter();
    entries.map(|own| own.as_str().unwrap_or_else(|| own["crate"].as_str().unwrap()).to_string()).collect()
}

/// Whether an expression of licences, with `OR` before `AND` nowhere but in parentheses, is met by those that are allowed.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    // An older way to write a choice.
    let expression = expression.replace('/', " OR ");
    let all = expression.split(" AND ");
    let mut parts = all.map(|part| part.trim_matches(['(', ')', ' ']).split(" OR ").map(str::trim));
    parts.all(|mut choice| choice.any(|licence| allowed.contains(licence)))
}

#[test]
fn licences_are_read_as_choices_and_as_sums() {
    let allowed = BTreeSet::from(["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(String::from));
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(GPL-3.0 OR MIT) AND ISC", true),
        ("(GPL-3.0 OR MIT) AND Unicode-3.0", false),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}

/// The dependencies of this system, as cargo has them on disk.
#[test]
fn every_dependency_has_a_licence_that_is_allowed() {
    let deny: Table = read("deny.toml").parse().unwrap();
    let allowed = listed(&deny, "licenses", "allow");
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let arguments = ["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host];
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{}", packages.len());
    for package in packages {
        let (name, licence) = (package["name"].as_str().unwrap(), package["license"].as_str().unwrap_or("none"));
        let advice = "take another crate, or add the licence to deny.toml";
        assert!(is_allowed(licence, &allowed), "{name} has the licence {licence}: {advice}");
    }
}

#[test]
fn no_dependency_comes_twice_or_from_elsewhere_unless_listed() {
    let deny: Table = read("deny.toml").parse().unwrap();
    let skipped = listed(&deny, "bans", "skip");
    let sources = listed(&deny, "sources", "allow-registry");
    let lock: Table = read("Cargo.lock").parse().unwrap();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in lock["package"].as_array().unwrap() {
        let (name, version) = (package["name"].as_str().unwrap(), package["version"].as_str().unwrap());
        versions.entry(name).or_default().push(version);
        if let Some(source) = package.get("source").and_then(|source| source.as_str()) {
            let known = source.strip_prefix("registry+").is_some_and(|source| sources.contains(source));
            assert!(known, "{name} comes from {source}");
        }
    }
    let is_skipped = |name: &str, version: &str| {
        let of = |skip: &String| {
            let (crate_name, begin) = skip.split_once('@').unwrap();
            crate_name == name && (version == begin || version.starts_with(&format!("{begin}.")))
        };
        skipped.iter().filter(|skip| of(skip)).cloned().collect::<Vec<String>>()
    };
    let mut used = BTreeSet::new();
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        let unlisted: Vec<&&str> = versions.iter().filter(|version| is_skipped(name, version).is_empty()).collect();
        used.extend(versions.iter().flat_map(|version| is_skipped(name, version)));
        assert!(unlisted.len() < 2, "{name} comes as {versions:?}: list all but one in deny.toml, or take one version");
    }
    let unused: Vec<&String> = skipped.difference(&used).collect();
    assert!(unused.is_empty(), "deny.toml lists versions that are not there, or are no seconds: {unused:?}");
}

/// Every Rust file below the crates and the Python package.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The lines on which the keyword stands: not those of lints, comments and texts.
fn unsafe_lines(text: &str) -> Vec<usize> {
    let opens = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        let keywords = ["unsafe {", "unsafe impl ", "unsafe fn ", "unsafe extern "];
        code.trim().starts_with("#[unsafe(") || (!code.contains('"') && keywords.iter().any(|own| code.contains(own)))
    };
    text.lines().enumerate().filter(|(_, line)| opens(line)).map(|(number, _)| number).collect()
}

#[test]
fn all_unsafe_code_is_listed_with_its_proofs() {
    let table = read("docs/unsafe.md");
    let mut listed: BTreeMap<String, usize> = BTreeMap::new();
    for line in table.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let ["", file, count, _, _, ""] = cells[..]
            && let (Some(file), Ok(count)) =
                (file.strip_prefix('`').and_then(|file| file.strip_suffix('`')), count.parse())
        {
            listed.insert(file.into(), count);
        }
    }
    let (mut files, mut found) = (Vec::new(), BTreeMap::new());
    for folder in ["crates", "python/src", "fuzz/src"] {
        sources(&root().join(folder), &mut files);
    }
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let all = unsafe_lines(&text);
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        for &number in &all {
            // The proof stands above, attributes and the rest of its sentence between them.
            let above = lines[number.saturating_sub(8)..number].iter().rev();
            let near: Vec<&str> = above.take_while(|line| !line.trim().is_empty()).map(|line| line.trim()).collect();
            // What `unsafe fn` asks of callers is the trait's to say.
            let declared = lines[number].contains("unsafe fn ");
            assert!(
                declared || near.iter().any(|line| line.starts_with("// SAFETY:")),
                "{name}:{}: no proof",
                number + 1
            );
        }
        if !all.is_empty() {
            found.insert(name, all.len());
        }
    }
    assert_eq!(
        found, listed,
        "docs/unsafe.md lists each file and how often `unsafe` stands in it: bring it up to date"
    );
}
