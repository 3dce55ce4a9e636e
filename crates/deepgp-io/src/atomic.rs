//! Files that are either there whole or not at all.
//!
//! What is written goes to a temporary file beside the destination, reaches the disk, and only then takes the destination's name:
//! a reader, or a machine that stops at any moment, sees the old file or the new one. A file that is given up leaves nothing.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file being written. It appears under its name with [`AtomicFile::commit`], and not at all without.
#[derive(Debug)]
pub struct AtomicFile {
    /// Empty only after [`AtomicFile::commit`].
    writer: Option<BufWriter<File>>,
    temporary: PathBuf,
    path: PathBuf,
}

impl AtomicFile {
    /// Begins to write what is to become `path`. A link is followed; what is neither there nor a file is refused.
    pub fn create(path: &Path) -> io::Result<Self> {
        let path = if path.exists() { path.canonicalize()? } else { path.to_path_buf() };
        if path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        if path.exists() && !path.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file that could be replaced"));
        }
        let temporary = beside(&path, "tmp")?;
        let writer = Some(BufWriter::new(File::create(&temporary)?));
        Ok(Self { writer, temporary, path })
    }

    /// Makes it last, and gives it its name.
    pub fn commit(mut self) -> io::Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let written = self.finish(writer);
        if written.is_err() {
            self.give_up();
        }
        written
    }

    fn finish(&self, writer: BufWriter<File>) -> io::Result<()> {
        let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        fault("written");
        file.sync_all()?;
        fault("synced");
        std::fs::rename(&self.temporary, &self.path)?;
        fault("renamed");
        // The name is in the folder, which has to reach the disk too.
        if let Some(folder) = self.path.parent() {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }

    fn give_up(&self) {
        // There is nothing to be done if this fails too.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        fault("writing");
        match &mut self.writer {
            Some(writer) => writer.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            self.give_up();
        }
    }
}

/// `.name.tmp` beside `name`: always the same place, so that what a process that was killed left there is overwritten by the next.
fn beside(path: &Path, ending: &str) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it has no file name"))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".");
    hidden.push(ending);
    Ok(path.with_file_name(hidden))
}

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

/// Removes a file, and what a process that was killed while it wrote it may have left. It is no error if there is none.
pub fn remove(path: &Path) -> io::Result<()> {
    for own in [path.to_path_buf(), beside(path, "tmp")?] {
        match std::fs::remove_file(&own) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Writes `bytes` to `path`, whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Ends the process where the environment asks for it, as a power cut would: `DEEPGP_ABORT=synced:3` the third time that a file is
/// synced. For tests of what is left then; builds without debug assertions have none of it.
fn fault(place: &str) {
    if cfg!(debug_assertions) {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static PASSED: AtomicUsize = AtomicUsize::new(0);
        let Ok(wanted) = std::env::var("DEEPGP_ABORT") else { return };
        let (at, count) = wanted.split_once(':').unwrap_or((&wanted, "1"));
        if at == place && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == count.parse().unwrap_or(1) {
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_committed_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"one").unwrap();
        assert!(!path.exists());
        file.commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        write(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_given_up_leaves_the_old_one_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write(&path, b"old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        drop(file);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_process_left_goes_with_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write(&path, b"old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        std::mem::forget(file);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

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

    #[test]
    #[cfg(unix)]
    fn a_link_is_followed_and_a_device_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.txt"), folder.path().join("link"));
        write(&path, b"old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert!(link.is_symlink());
        assert!(write(Path::new("/dev/null"), b"x").is_err());
    }

    #[test]
    fn a_folder_or_a_place_that_does_not_exist_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write(folder.path(), b"").is_err());
        assert!(write(&folder.path().join("none").join("a.txt"), b"").is_err());
    }
}
