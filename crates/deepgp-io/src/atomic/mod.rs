//! Files that are either there whole or not at all.
//!
//! What is written goes to a temporary file beside the destination, reaches the disk, and only then takes the destination's name:
//! a reader, or a machine that stops at any moment, sees the old file or the new one. A file that is given up leaves nothing. Of two
//! that are written to one name at once, each is whole, and the last to be committed stays.

mod lock;
pub(crate) mod temporary;

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub use lock::Lock;

/// Links one after the other; Linux follows as many.
const MOST_LINKS: usize = 40;

/// A file being written. It appears under its name with [`AtomicFile::commit`], and not at all without.
#[derive(Debug)]
pub struct AtomicFile {
    /// Empty only after [`AtomicFile::commit`].
    writer: Option<BufWriter<File>>,
    temporary: PathBuf,
    path: PathBuf,
    /// Of the file that is replaced, if there is one.
    permissions: Option<Permissions>,
}

impl AtomicFile {
    /// Begins to write what is to become `path`. A link is followed, also to where there is nothing yet; what is there and not a
    /// file is refused. A file that is replaced keeps its permissions.
    pub fn create(path: &Path) -> io::Result<Self> {
        let path = followed(path)?;
        if path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        if path.exists() && !path.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file that could be replaced"));
        }
        temporary::sweep(&path);
        let permissions = std::fs::metadata(&path).ok().map(|found| found.permissions());
        // What others may read of it is settled when it is whole.
        let (file, temporary) = temporary::create(&path, permissions.is_some())?;
        Ok(Self { writer: Some(BufWriter::new(file)), temporary, path, permissions })
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
        fault("written")?;
        #[cfg(unix)]
        if let Some(permissions) = &self.permissions {
            // Where the file system has none to set, there are none to keep.
            let _ = file.set_permissions(permissions.clone());
        }
        file.sync_all()?;
        fault("synced")?;
        std::fs::rename(&self.temporary, &self.path)?;
        fault("renamed")?;
        sync_folder(folder_of(&self.path))
    }

    fn give_up(&self) {
        // There is nothing to be done if this fails too.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        fault("writing")?;
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

/// A file's name is in its folder, which has to reach the disk too, if it may be opened.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder).map_or(Ok(()), |folder| folder.sync_all())
}

/// Other systems do not open folders, and see to their names themselves.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The place that `path` leads to over links, whether there is something or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&place) {
            Ok(target) => place = folder_of(&place).join(target),
            Err(_) => return Ok(place),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "its links lead in a circle"))
}

/// `.name.ending` beside `name`.
fn beside(path: &Path, ending: &str) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it has no file name"))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".");
    hidden.push(ending);
    Ok(path.with_file_name(hidden))
}

/// The folder that a file is in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Removes a file, and what processes that were killed while they wrote it may have left. It is no error if there is none.
pub fn remove(path: &Path) -> io::Result<()> {
    temporary::sweep(&followed(path)?);
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes `bytes` to `path`, whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Goes wrong where the environment asks for it: `DEEPGP_ABORT=synced:3` ends the process, as a power cut would, the third time that a file is
/// synced, and `DEEPGP_FULL=written:2` finds the disk full the second time that one is written. For tests of what is left then; builds
/// without debug assertions have none of it.
fn fault(place: &str) -> io::Result<()> {
    if cfg!(debug_assertions) {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static PASSED: AtomicUsize = AtomicUsize::new(0);
        let is_now = |variable: &str| {
            let Ok(wanted) = std::env::var(variable) else { return false };
            let (at, count) = wanted.split_once(':').unwrap_or((&wanted, "1"));
            at == place && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == count.parse().unwrap_or(1)
        };
        if is_now("DEEPGP_ABORT") {
            std::process::abort();
        }
        if is_now("DEEPGP_FULL") {
            return Err(io::ErrorKind::StorageFull.into());
        }
    }
    Ok(())
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

    /// Begins a file and leaves it as a process does that is killed: closed, but neither committed nor given up.
    fn begun_and_killed(path: &Path) {
        let mut file = AtomicFile::create(path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file.writer.take());
    }

    #[test]
    fn what_a_killed_process_left_goes_with_the_file_or_with_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let count = || std::fs::read_dir(folder.path()).unwrap().count();
        let path = folder.path().join("a.txt");
        write(&path, b"old").unwrap();
        begun_and_killed(&path);
        assert_eq!(count(), 2);
        write(&path, b"new").unwrap();
        assert_eq!((count(), std::fs::read(&path).unwrap()), (1, b"new".to_vec()));
        begun_and_killed(&path);
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert_eq!(count(), 0);
    }

    #[test]
    fn of_two_at_once_each_is_whole_and_the_last_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let (mut first, mut second) = (AtomicFile::create(&path).unwrap(), AtomicFile::create(&path).unwrap());
        first.write_all(&[b'1'; 30_000]).unwrap();
        second.write_all(&[b'2'; 20_000]).unwrap();
        first.write_all(&[b'1'; 30_000]).unwrap();
        remove(&path).unwrap();
        first.commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [b'1'; 60_000]);
        second.commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [b'2'; 20_000]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_that_cannot_be_listed_can_be_written_to() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let allow = |mode| std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
        allow(0o300);
        let written = write(&folder.path().join("a.txt"), b"x");
        allow(0o700);
        written.unwrap();
    }

    #[test]
    fn many_writers_at_once_leave_one_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::thread::scope(|scope| {
            for writer in 0..4u8 {
                let path = &path;
                scope.spawn(move || (0..25).for_each(|_| write(path, &[writer; 9000]).unwrap()));
            }
        });
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() == 9000 && bytes.iter().all(|byte| *byte == bytes[0]));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
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
    #[cfg(unix)]
    fn a_link_to_what_is_not_there_yet_is_followed_and_a_circle_refused() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::create_dir(place("far")).unwrap();
        symlink("far/a.txt", place("near")).unwrap();
        symlink(place("near"), place("nearer")).unwrap();
        write(&place("nearer"), b"new").unwrap();
        assert_eq!(std::fs::read(place("far/a.txt")).unwrap(), b"new");
        assert!(place("near").is_symlink() && place("nearer").is_symlink());
        assert_eq!(std::fs::read_dir(place("far")).unwrap().count(), 1);
        symlink("two", place("one")).unwrap();
        symlink("one", place("two")).unwrap();
        assert!(write(&place("one"), b"x").unwrap_err().to_string().contains("circle"));
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_is_replaced_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        File::create(folder.path().join("usual")).unwrap();
        write(&path, b"old").unwrap();
        assert_eq!(mode(&path), mode(&folder.path().join("usual")));
        for wanted in [0o600, 0o444, 0o660] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(wanted)).unwrap();
            let mut file = AtomicFile::create(&path).unwrap();
            file.write_all(b"new").unwrap();
            assert_eq!(mode(&file.temporary), 0o600);
            file.commit().unwrap();
            assert_eq!((mode(&path), std::fs::read(&path).unwrap()), (wanted, b"new".to_vec()));
        }
    }

    #[test]
    fn a_folder_or_a_place_that_does_not_exist_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write(folder.path(), b"").is_err());
        assert!(write(&folder.path().join("none").join("a.txt"), b"").is_err());
    }
}
