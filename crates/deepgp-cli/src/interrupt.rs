//! Ctrl-C and termination: the first one asks the run to end after its step, the second one ends the process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The exit code of a run that was interrupted.
pub const EXIT_CODE: u8 = 130;

static ASKED: AtomicUsize = AtomicUsize::new(0);
static LISTENING: OnceLock<()> = OnceLock::new();

/// Begins to listen. Commands that do not ask [`asked`] must not call it: they are simply ended.
pub fn listen() {
    LISTENING.get_or_init(|| {
        let on_signal = || {
            if ASKED.fetch_add(1, Ordering::SeqCst) > 0 {
                std::process::exit(i32::from(EXIT_CODE));
            }
        };
        // Without a handler the process just ends, and the last checkpoint stands.
        if let Err(error) = ctrlc::set_handler(on_signal) {
            eprintln!("note: Ctrl-C will end the run at once: {error}");
        }
    });
}

/// Whether the run should end.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst) > 0
}
