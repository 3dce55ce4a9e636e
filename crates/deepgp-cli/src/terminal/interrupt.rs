//! Signals that ask a run to stop, such as Ctrl-C: the first one stops it after its step, the second one ends the
//! process.
//!
//! The end of the terminal asks for the same, unless whoever started the process had it ignore that: under `nohup` a
//! run goes on.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::output;

/// The exit code of a run that was interrupted.
pub const EXIT_CODE: u8 = 130;

/// Whether a signal has asked the run to stop; unset as long as nobody listens.
static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Begins to listen for signals. Commands that do not ask [`asked`] must not call it: they are simply ended.
pub fn listen() {
    ASKED.get_or_init(|| {
        let asked = Arc::new(AtomicBool::new(false));
        // Without a handler the process just ends, and the last checkpoint stands.
        if let Err(error) = signals().into_iter().try_for_each(|signal| handle(signal, &asked)) {
            output::tell(&format!("note: Ctrl-C will end the run at once: {error}"));
        }
        asked
    });
}

/// Whether a signal has asked the run to stop.
pub fn asked() -> bool {
    ASKED.get().is_some_and(|asked| asked.load(Ordering::SeqCst))
}

/// Registers the handlers of a signal. They run in the order in which they are registered: the one that ends the
/// process sees what earlier signals left.
fn handle(signal: i32, asked: &Arc<AtomicBool>) -> io::Result<()> {
    flag::register_conditional_shutdown(signal, i32::from(EXIT_CODE), Arc::clone(asked))?;
    flag::register(signal, Arc::clone(asked))?;
    Ok(())
}

/// The signals that ask a run to stop: Ctrl-C, `kill`, and the end of its terminal where that can be told from `nohup`.
fn signals() -> Vec<i32> {
    let mut all = vec![SIGINT, SIGTERM];
    #[cfg(unix)]
    {
        use signal_hook::consts::SIGHUP;
        all.extend(ignored().filter(|ignored| ignored >> (SIGHUP - 1) & 1 == 0).map(|_| SIGHUP));
    }
    all
}

/// The set of signals that the process ignores, as a mask whose lowest bit is signal 1; `None` where the system does
/// not say.
#[cfg(unix)]
fn ignored() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
