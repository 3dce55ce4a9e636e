//! Whether there was a standard output when the process started.
//!
//! Before `main`, Rust opens `/dev/null` in place of a standard stream that is closed, so that no other file takes its number; all that is
//! written there is lost without an error. Whoever wants to know has to look before that: the loader calls what stands in `.init_array`.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether standard output was closed.
static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether there was a standard output when the process started, as far as that can be told.
pub fn is_open() -> bool {
    !WAS_CLOSED.load(Ordering::Relaxed)
}

#[cfg(target_os = "linux")]
mod before_main {
    use std::fs::symlink_metadata;
    use std::path::Path;
    use std::sync::atomic::Ordering;

    /// Looks whether the stream leads anywhere, if only to what has no name, as a pipe; where there is no `/proc`, nobody can tell.
    extern "C" fn look() {
        let closed = Path::new("/proc/self/fd").is_dir() && symlink_metadata("/proc/self/fd/1").is_err();
        super::WAS_CLOSED.store(closed, Ordering::Relaxed);
    }

    // SAFETY: `.init_array` holds pointers to functions that the loader calls once each, on one thread, before `main`, and this is one of the
    // right type. It uses no part of the standard library that `main` has to set up: paths, system calls and an atomic.
    #[allow(unsafe_code, reason = "see above")]
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;
}
