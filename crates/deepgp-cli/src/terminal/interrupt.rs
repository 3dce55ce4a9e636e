//! Signals that ask a run to stop, such as Ctrl-C: the first one stops it after its step, one that comes a moment later ends the
//! process. (Not at once: `timeout` sends the same signal twice, to the process and to its group.)
//!
//! The end of the terminal asks for the same, unless whoever started the process had it ignore that: under `nohup` a
//! run goes on.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::output;

/// The exit code of a run that was interrupted.
pub const EXIT_CODE: u8 = 130;

/// How often it is looked for the first signal, and how long after it a second one is meant as such.
const EVERY: Duration = Duration::from_millis(50);
const APART: Duration = Duration::from_millis(200);

/// Whether a signal has asked the run to stop; unset as long as nobody listens.
static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Begins to listen for signals. Commands that do not ask [`asked`] must not call it: they are simply ended.
pub fn listen() {
    ASKED.get_or_init(|| {
        let (asked, waited) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        // Without a handler the process just ends, and the last checkpoint stands.
        if let Err(error) = signals().into_iter().try_for_each(|signal| handle(signal, &asked, &waited)) {
            output::tell(&format!("note: Ctrl-C will end the run at once: {error}"));
        }
        let first = Arc::clone(&asked);
        let wait = move || {
            while !first.load(Ordering::SeqCst) {
                thread::sleep(EVERY);
            }
            thread::sleep(APART);
            waited.store(true, Ordering::SeqCst);
        };
        // Without it, the first signal does all that one can.
        drop(thread::Builder::new().name("second-signal".into()).spawn(wait));
        asked
    });
}

/// Whether a signal has asked the run to stop.
pub fn asked() -> bool {
    ASKED.get().is_some_and(|asked| asked.load(Ordering::SeqCst))
}

/// Makes an error of a write beyond the largest size that a file may have (`ulimit -f`): else the process would be ended in the middle of it.
pub fn outlive_full_files() {
    #[cfg(unix)]
    {
        // Somebody who handles the signal is told by the write; that it came need not be known. Without a handler the process ends, as ever.
        let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
    }
}

/// Registers the handlers of a signal. They run in the order in which they are registered: the one that ends the
/// process sees what earlier signals left.
fn handle(signal: i32, asked: &Arc<AtomicBool>, waited: &Arc<AtomicBool>) -> io::Result<()> {
    flag::register_conditional_shutdown(signal, i32::from(EXIT_CODE), Arc::clone(waited))?;
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
