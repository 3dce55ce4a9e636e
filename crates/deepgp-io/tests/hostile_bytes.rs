//! Whatever the bytes, every reader and a training step end soon, in bounded memory, with a result or with an error.
//!
//! The targets are those of the fuzzer in `fuzz`, which looks for bad bytes for hours; here they take its corpus, and seeded mutations of it,
//! for a few seconds. `DEEPGP_MUTATIONS` asks for more mutations of each target than the usual number.

#[path = "../../../fuzz/src/mutation.rs"]
mod mutation;
#[path = "../../../fuzz/src/targets/mod.rs"]
mod targets;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mutation::Mutator;
use targets::{TARGETS, Target};

/// No input takes longer, on however busy a machine.
const LONGEST: Duration = Duration::from_secs(5);
/// Everything together takes less memory, in KiB, beyond what the process had.
#[cfg(target_os = "linux")]
const MOST_MEMORY: u64 = 256 << 10;
/// Mutations of each target.
const MUTATIONS: u64 = 2000;

/// The inputs that the repository keeps of a target, in the order of their names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|cause| panic!("{}: {cause}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Runs a target on bytes; one that takes too long is told with what led to it.
fn survive(target: Target, bytes: &[u8], what: &dyn Fn() -> String) {
    let started = Instant::now();
    let ended = std::panic::catch_unwind(|| (target.run)(bytes));
    if let Err(panic) = ended {
        eprintln!("{}, {}: {} bytes {:?}", target.name, what(), bytes.len(), bytes.escape_ascii().to_string());
        std::panic::resume_unwind(panic);
    }
    let took = started.elapsed();
    assert!(took < LONGEST, "{}, {}: {} bytes took {took:?}", target.name, what(), bytes.len());
}

/// The most memory that this process has had so far, in KiB.
#[cfg(target_os = "linux")]
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// One test for all targets, so that the memory is theirs.
#[test]
fn the_corpus_and_mutations_of_it_do_no_harm() {
    let mutations = std::env::var("DEEPGP_MUTATIONS").map_or(MUTATIONS, |text| text.parse().expect("a number"));
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !deepgp_io::table::panic_is_expected() {
            usual(panic);
        }
    }));
    for target in TARGETS {
        #[cfg(target_os = "linux")]
        let before = peak_memory();
        let started = Instant::now();
        let corpus = corpus(target.name);
        assert!(!corpus.is_empty(), "{} has a corpus", target.name);
        for (index, bytes) in corpus.iter().enumerate() {
            survive(target, bytes, &|| format!("input {index}"));
        }
        for seed in 0..mutations {
            let mut mutator = Mutator::new(seed);
            let (one, other) = (mutator.below(corpus.len()), mutator.below(corpus.len()));
            let bytes = mutator.mutate(&corpus[one], &corpus[other]);
            survive(target, &bytes, &|| format!("mutation {seed}"));
        }
        println!("{}: {} inputs, {mutations} mutations, {:?}", target.name, corpus.len(), started.elapsed());
        #[cfg(target_os = "linux")]
        {
            // What the kernel says is a little behind, and may fall.
            let more = peak_memory().saturating_sub(before);
            assert!(more < MOST_MEMORY, "{}: {more} KiB", target.name);
        }
    }
}
