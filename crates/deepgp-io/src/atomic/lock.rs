//! The right to write a file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::beside;

/// The right to write a file, which one process has at a time. It ends with the value, or with the process.
#[derive(Debug)]
pub struct Lock {
    /// Locked until it is closed.
    _file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the right to write `path`, or fails with [`io::ErrorKind::WouldBlock`] if another process has it.
    pub fn take(path: &Path) -> io::Result<Self> {
        let path = beside(path, "lock")?;
        let file = File::create(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file, path }),
            Err(std::fs::TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file that stays does no harm: it is the lock on it that counts.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether `path` still names this open file, and not another or none: a lock on what has lost its name keeps nobody out.
#[cfg(unix)]
pub(super) fn is_named(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(own), Ok(named)) => (own.dev(), own.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// The same where files have no numbers to go by: it is enough, because names are not used again there.
#[cfg(not(unix))]
pub(super) fn is_named(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_has_the_right_to_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let first = Lock::take(&path).unwrap();
        assert_eq!(Lock::take(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(first);
        drop(Lock::take(&path).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
