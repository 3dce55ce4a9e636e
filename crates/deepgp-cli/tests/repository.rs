//! What holds of the repository as a whole: which dependencies there may be, that all unsafe code is listed with its proofs, that documents name what
//! there is and say it once, and that crates can be published.

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

/// The paths of all files but those that git ignores, from the root of the repository.
fn tracked() -> Vec<String> {
    fn walk(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            let ignored = ["target", ".git", ".cache", "__pycache__"].contains(&name.as_ref());
            if ignored || name.starts_with(".venv") || path == root().join("data") {
                continue;
            }
            if path.is_dir() && !path.is_symlink() {
                walk(&path, found);
            } else {
                found.push(path.strip_prefix(root()).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), &mut found);
    found
}

/// The documents that are written by hand; what programs write repeats itself.
fn documents() -> Vec<String> {
    let all = tracked().into_iter().filter(|path| path.ends_with(".md") && !root().join(path).is_symlink());
    all.filter(|path| !path.ends_with("/tables.md") || path.starts_with("docs/")).collect()
}

#[test]
fn the_tree_of_the_architecture_names_files_that_exist() {
    let files = tracked();
    let names: BTreeSet<&str> = files.iter().map(|path| path.rsplit('/').next().unwrap()).collect();
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = read(document);
        let words = text.split(|letter: char| !(letter.is_alphanumeric() || "._-/".contains(letter)));
        let endings = [".rs", ".py", ".cu", ".h", ".sh", ".toml", ".ipynb"];
        let mut found = 0;
        // An ending alone, as in `.cu`, is none of a file's.
        let is_file = |word: &&str| endings.iter().any(|ending| word.ends_with(ending) && *word != *ending);
        for word in words.filter(is_file) {
            found += 1;
            assert!(names.contains(word.rsplit('/').next().unwrap()), "{document} names `{word}`, which is nowhere");
        }
        assert!(found > 20, "{document}: {found}");
    }
}

/// What a merge leaves behind if both sides changed a line, or begins like a line that was to be replaced.
#[test]
fn documents_say_nothing_twice() {
    const BEGIN: usize = 40;
    for document in documents() {
        let text = read(&document);
        let mut fenced = false;
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            assert!(
                !line.starts_with("<<<<<<<") && !line.starts_with(">>>>>>> "),
                "{document}:{}: a merge",
                number + 1
            );
            let line = line.trim();
            fenced ^= line.starts_with("```");
            // A block of code may repeat itself, and so may the heads of tables; the tree of the architecture may not.
            let prose = (!fenced || document == "ARCHITECTURE.md") && !line.starts_with(['|', '<', '>']);
            if prose && line.chars().count() >= BEGIN {
                let begin: String = line.chars().take(BEGIN).collect();
                if let Some(before) = seen.insert(begin, number + 1) {
                    panic!("{document}: lines {before} and {} begin alike: {line}", number + 1);
                }
            }
        }
    }
}

#[test]
fn links_of_documents_lead_somewhere() {
    for document in documents() {
        let (text, folder) = (read(&document), root().join(&document).parent().unwrap().to_path_buf());
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        for target in targets.filter(|target| !target.contains("://") && !target.contains(' ')) {
            let path = target.split('#').next().unwrap();
            assert!(path.is_empty() || folder.join(path).exists(), "{document} links to `{target}`, which is nowhere");
        }
    }
}

/// What `cargo` says of the packages of this workspace that are to be published.
fn published() -> Vec<serde_json::Value> {
    let arguments = ["metadata", "--format-version", "1", "--locked", "--offline", "--no-deps"];
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let serde_json::Value::Array(packages) = metadata["packages"].take() else { panic!("there are no packages") };
    // `publish = false` is an empty list of registries.
    packages.into_iter().filter(|package| package["publish"].is_null()).collect()
}

#[test]
fn crates_say_what_a_registry_asks() {
    let packages = published();
    assert_eq!(packages.len(), 5);
    let names: Vec<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        for field in ["description", "license", "readme", "rust_version"] {
            assert!(package[field].as_str().is_some_and(|text| !text.is_empty()), "{name} has no {field}");
        }
        let keywords = package["keywords"].as_array().unwrap();
        assert!((1..=5).contains(&keywords.len()), "{name}: a registry takes up to five keywords");
        assert!(keywords.iter().all(|word| word.as_str().unwrap().len() <= 20), "{name}: {keywords:?}");
        assert!(!package["categories"].as_array().unwrap().is_empty(), "{name} has no category");
        let dependencies = package["dependencies"].as_array().unwrap();
        for own in dependencies.iter().filter(|own| names.contains(&own["name"].as_str().unwrap())) {
            let wanted = format!("^{}", package["version"].as_str().unwrap());
            assert_eq!(own["req"].as_str().unwrap(), wanted, "{name} asks for another {}", own["name"]);
        }
    }
}

#[test]
fn packages_hold_sources_licences_and_no_tests() {
    for package in published() {
        let name = package["name"].as_str().unwrap();
        let arguments = ["package", "--list", "--offline", "--allow-dirty", "--package", name];
        let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let list = String::from_utf8(output.stdout).unwrap();
        let files: BTreeSet<&str> = list.lines().collect();
        let main = if name == "deepgp-cli" { "src/main.rs" } else { "src/lib.rs" };
        for file in ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md", main] {
            assert!(files.contains(file), "the package {name} has no {file}");
        }
        let foreign = files.iter().find(|file| file.starts_with("tests/") || file.starts_with("benches/"));
        assert_eq!(foreign, None, "the package {name}");
        // Kernels of CUDA are sources too.
        assert!(name != "deepgp-cuda" || files.contains("src/kernels/common.cu"), "the package {name}");
    }
}

/// The promise of docs/model-file.md: a version that is released leaves model files behind, and a test that opens them.
#[test]
fn every_older_version_has_model_files_that_a_test_opens() {
    let changes = read("CHANGELOG.md");
    let versions = changes.lines().filter_map(|line| line.strip_prefix("## [")?.split_once(']')).map(|(own, _)| own);
    let minor = |version: &str| version.split('.').take(2).collect::<Vec<&str>>().join("_");
    let older: BTreeSet<String> = versions.map(minor).filter(|own| *own != minor(env!("CARGO_PKG_VERSION"))).collect();
    assert!(older.contains("0_1"), "{older:?}");
    for version in older {
        let tests = root().join("crates/deepgp-io/tests");
        assert!(tests.join(format!("version_{version}.rs")).is_file(), "no test opens files of {version}");
        let folder = fs::read_dir(tests.join(format!("version_{version}"))).unwrap();
        let files: Vec<PathBuf> = folder.map(|file| file.unwrap().path()).collect();
        let has = |ending: &str| files.iter().any(|file| file.extension().is_some_and(|own| own == ending));
        assert!(has("deepgp") && has("checkpoint"), "there are no files of {version}");
    }
}
