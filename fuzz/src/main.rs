//! The fuzzer's program: one of the targets, which `DEEPGP_FUZZ_TARGET` names, under libFuzzer. `run.sh` builds and calls it.

#![no_main]

#[allow(dead_code, reason = "a part of the command line, taken as it is")]
#[path = "../../crates/deepgp-cli/src/data/arff.rs"]
mod arff;
mod targets;

use std::sync::OnceLock;

use targets::{TARGETS, Target};

/// The head of an ARFF file, whose reader belongs to the command line.
const ARFF: Target = Target {
    name: "arff",
    run: |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let is_arff = arff::is_arff(&text);
        if let (Ok((_, before)), true) = (arff::head(&text), is_arff) {
            assert!(before <= text.lines().count(), "rows begin within the text");
        }
    },
};

static CHOSEN: OnceLock<Target> = OnceLock::new();

/// Finds the target, has all work done on this thread, and lets panics pass that a reader makes errors of: libFuzzer ends at any other.
fn choose() {
    let name = std::env::var("DEEPGP_FUZZ_TARGET").unwrap_or_default();
    let mut all = TARGETS.iter().chain([&ARFF]);
    let Some(target) = all.find(|target| target.name == name) else {
        let names: Vec<&str> = TARGETS.iter().chain([&ARFF]).map(|target| target.name).collect();
        eprintln!("DEEPGP_FUZZ_TARGET is `{name}`, and should be one of {}", names.join(", "));
        std::process::exit(2);
    };
    CHOSEN.get_or_init(|| *target);
    let here = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    here.build_global().expect("nothing has begun to work yet");
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !deepgp_io::table::panic_is_expected() {
            usual(panic);
        }
    }));
}

libfuzzer_sys::fuzz_target!(init: choose(), |bytes: &[u8]| {
    (CHOSEN.get().expect("chosen before the first input").run)(bytes);
});
