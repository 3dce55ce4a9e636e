//! The right to write a file.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::beside;

/// How often a file that has just lost its name is opened again. Each time another process has had the right and given it back.
const ATTEMPTS: usize = 1000;

/// The right to write a file, which one process has at a time. It ends with the value, or with the process.
#[derive(Debug)]
pub struct Lock {
    /// Locked until it is closed.
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the right to write `path`, or fails with [`io::ErrorKind::WouldBlock`] if another process has it.
    pub fn take(path: &Path) -> io::Result<Self> {
        let path = beside(path, "lock")?;
        for _ in 0..ATTEMPTS {
            let file = File::create(&path)?;
            match file.try_lock() {
                Ok(()) if is_named(&file, &path) => return Ok(Self { file, path }),
                // Whoever had it removed the file after it was opened here.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => break,
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Removes the file beside the one that is locked, while the right to write that one lasts: for a process that is about to end without
    /// giving it back.
    pub fn remove_file(&self) {
        // While it is still locked, and only where others notice. A file that stays does no harm: it is the lock on it that counts.
        if cfg!(unix) && is_named(&self.file, &self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.remove_file();
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn only_one_has_the_right_to_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let first = Lock::take(&path).unwrap();
        assert_eq!(Lock::take(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(first);
        drop(Lock::take(&path).unwrap());
        #[cfg(unix)]
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn nor_have_two_it_while_others_give_it_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let (inside, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while taken.load(Ordering::Relaxed) < 300 {
                        if let Ok(lock) = Lock::take(&path) {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two have the right");
                            std::thread::yield_now();
                            inside.fetch_sub(1, Ordering::SeqCst);
                            drop(lock);
                            taken.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
    }

    #[test]
    #[cfg(unix)]
    fn a_file_of_another_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let first = Lock::take(&path).unwrap();
        std::fs::remove_file(&first.path).unwrap();
        let second = Lock::take(&path).unwrap();
        drop(first);
        assert!(second.path.exists());
        assert_eq!(Lock::take(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
