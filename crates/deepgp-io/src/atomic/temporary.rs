//! Temporary files that tell whether their writer still lives.
//!
//! Each has a name of its own beside the destination, `.name.<process>-<number>.tmp`, so that two writers of one file never share
//! it, and is locked while it is open. A lock ends with its process: what can be locked was left by one that was killed, and goes.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::lock::is_named;
use super::{beside, folder_of};

/// Names that are tried before it is given up. A second one is needed only after a sweep between two system calls, or where another
/// machine's process of the same number writes to the same folder.
const ATTEMPTS: usize = 100;

/// A new temporary file for `path`, locked, and its name. If it is `private`, nobody else may read it, where the system has that.
pub(crate) fn create(path: &Path, private: bool) -> io::Result<(File, PathBuf)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    for _ in 0..ATTEMPTS {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary = beside(path, &format!("{}-{number}.tmp", std::process::id()))?;
        let file = match open_new(&temporary, private) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            created => created?,
        };
        match file.try_lock() {
            Ok(()) if is_named(&file, &temporary) => return Ok((file, temporary)),
            // Somebody's sweep came between: it takes a file that is not locked yet for a dead one.
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            // Where nothing can be locked, nothing is swept.
            Err(TryLockError::Error(_)) => return Ok((file, temporary)),
        }
    }
    Err(io::Error::other("no name for a temporary file beside it is free"))
}

fn open_new(path: &Path, private: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = private;
    options.read(true).write(true).create_new(true).open(path)
}

/// Removes the temporary files for `path` whose writers are dead. What cannot be listed, opened or removed stays.
pub(crate) fn sweep(path: &Path) {
    let Ok(entries) = std::fs::read_dir(folder_of(path)) else { return };
    for entry in entries.flatten() {
        if !is_temporary_of(path, &entry.file_name()) || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let temporary = path.with_file_name(entry.file_name());
        // Some network file systems lock only what is open for writing.
        let opened = OpenOptions::new().write(true).open(&temporary).or_else(|_| File::open(&temporary));
        // It stays locked until it is gone: its writer may be alive, and just about to lock it.
        if let Ok(file) = opened
            && file.try_lock().is_ok()
            && is_named(&file, &temporary)
        {
            let _ = std::fs::remove_file(&temporary);
        }
    }
}

/// Whether `name` is one that [`create`] gives for `path`, and not for a file whose name only begins alike.
fn is_temporary_of(path: &Path, name: &OsStr) -> bool {
    let Ok(start) = beside(path, "") else { return false };
    let start = start.file_name().unwrap_or_default().as_encoded_bytes();
    let middle = name.as_encoded_bytes().strip_prefix(start).and_then(|rest| rest.strip_suffix(b".tmp"));
    middle.is_some_and(|middle| middle.contains(&b'-') && middle.iter().all(|b| b.is_ascii_digit() || *b == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_takes_what_is_dead_and_only_what_is_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let (alive, kept) = create(&path, false).unwrap();
        let (_, dead) = create(&path, false).unwrap();
        let others =
            [".a.tmp", ".a.b.12-3.tmp", ".a.lock", ".a.x-1.tmp", ".b.12-3.tmp"].map(|name| path.with_file_name(name));
        for other in &others {
            std::fs::write(other, "").unwrap();
        }
        sweep(&path);
        assert!(kept.exists() && !dead.exists());
        assert!(others.iter().all(|other| other.exists()));
        drop(alive);
        sweep(&path);
        assert!(!kept.exists());
    }

    #[test]
    fn a_folder_that_cannot_be_listed_is_left_as_it_is() {
        sweep(Path::new("/no such folder/a"));
        sweep(Path::new(".."));
    }
}
