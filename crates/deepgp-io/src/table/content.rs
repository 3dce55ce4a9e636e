//! The bytes of a table's file: in memory, or on disk and read anew by each pass.
//!
//! A table is gone through several times: its format and columns are found out, each column's kind is decided, its rows
//! are encoded, its digest is taken. Each of these passes asks the [`Content`] for a [`Reader`] and never for the file.
//!
//! ```text
//! file ──┬─ at most LARGEST_KEPT bytes ─→ memory: read from disk once, when it is opened
//!        └─ more, or for a single pass ─→ disk: opened anew by each pass, in bounded memory
//! ```
//!
//! What is in memory cannot change: the digest is that of the very bytes that were encoded, even if the file has been
//! replaced or removed in the meantime. What stays on disk may change, within a pass or between two; whoever comes to the end of
//! the rows therefore asks whether size and time of the file are still what they were, and fails with [`Error::Changed`].

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;

use super::limits::{self, TableLimits};
use crate::error::{Error, Result};

/// The largest file whose bytes are kept in memory.
///
/// Whoever makes several passes also holds all numbers of the table, at eight bytes a cell, which is about what a cell
/// takes in a file: so keeping the bytes about doubles what reading needs, and by no more than a quarter of a GiB, which a
/// machine that trains models has.
pub(super) const LARGEST_KEPT: u64 = 256 << 20;

/// Bytes that are read from disk at once.
const BUFFER: usize = 1 << 16;

/// The bytes of a file, as often as they are asked for.
#[derive(Clone)]
pub(super) struct Content {
    path: PathBuf,
    storage: Storage,
    /// How large the table may be.
    limits: TableLimits,
}

/// Where the bytes are between two passes.
#[derive(Clone)]
enum Storage {
    Memory(Bytes),
    Disk(Stamp),
}

/// What tells that a file has changed, without reading it: its length, and when it was last written to, where the system knows.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    written: Option<SystemTime>,
}

impl Stamp {
    fn of(file: &fs::Metadata) -> Self {
        Self { bytes: file.len(), written: file.modified().ok() }
    }
}

impl Content {
    /// Opens a file, and reads all of it if it has at most `largest_kept` bytes.
    ///
    /// Fails if it is a pipe or a device, which could be read but once.
    pub(super) fn open(path: &Path, largest_kept: u64) -> Result<Self> {
        let io = |cause| Error::from_io(path, cause);
        // Asked before it is opened: opening a pipe would wait until somebody writes to it.
        let kind = fs::metadata(path).map_err(io)?.file_type();
        // Reading a directory fails by itself, in the words of the operating system.
        if !kind.is_file() && !kind.is_dir() {
            let (what, advice) = ("it is a pipe or a device".to_string(), "save the table to a file first".to_string());
            return Err(Error::Unsupported { path: path.into(), what, advice });
        }
        let file = File::open(path).map_err(io)?;
        let stamp = Stamp::of(&file.metadata().map_err(io)?);
        let storage = whole(file, largest_kept).map_err(io)?.map_or(Storage::Disk(stamp), Storage::Memory);
        Ok(Self { path: path.into(), storage, limits: TableLimits::default() })
    }

    /// No bytes at all, under a name: of a table whose cells are in memory.
    pub(super) fn nowhere(name: &str) -> Self {
        Self { path: name.into(), storage: Storage::Memory(Bytes::new()), limits: TableLimits::default() }
    }

    /// The bytes that a reader gives, all of which are kept; `name` is for messages.
    pub(super) fn read(name: &Path, reader: &mut dyn Read) -> Result<Self> {
        let storage = Storage::Memory(limits::read_all(name, reader)?.into());
        Ok(Self { path: name.into(), storage, limits: TableLimits::default() })
    }

    /// The same bytes, of a table of these limits.
    pub(super) fn within(self, limits: TableLimits) -> Self {
        Self { limits, ..self }
    }

    /// How large the table may be.
    pub(super) fn limits(&self) -> TableLimits {
        self.limits
    }

    /// How many bytes there are.
    pub(super) fn length(&self) -> u64 {
        match &self.storage {
            Storage::Memory(bytes) => bytes.len() as u64,
            Storage::Disk(stamp) => stamp.bytes,
        }
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes from the first one on.
    pub(super) fn reader(&self) -> Result<Reader> {
        Ok(match &self.storage {
            Storage::Memory(bytes) => Reader::Memory(Cursor::new(bytes.clone())),
            Storage::Disk(_) => {
                let file = File::open(&self.path).map_err(|cause| Error::from_io(&self.path, cause))?;
                Reader::Disk(BufReader::with_capacity(BUFFER, file))
            }
        })
    }

    /// Fails if the file is no longer the one that was opened. Bytes that are kept are; so is a file without a name, which whoever has it
    /// open reads to its end.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        let Storage::Disk(before) = &self.storage else { return Ok(()) };
        let now = match fs::metadata(&self.path) {
            Ok(found) => Stamp::of(&found),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(cause) => return Err(Error::from_io(&self.path, cause)),
        };
        if now == *before {
            return Ok(());
        }
        let what = if now.bytes == before.bytes {
            "it was written to".to_string()
        } else {
            format!("it had {} bytes, and now has {}", before.bytes, now.bytes)
        };
        Err(Error::Changed { path: self.path.clone(), what })
    }
}

/// All bytes of a file, unless there are more than `largest`, or more than memory can be had for.
fn whole(file: File, largest: u64) -> io::Result<Option<Bytes>> {
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length > largest || bytes.try_reserve_exact(length as usize).is_err() {
        return Ok(None);
    }
    // The file may have grown since, and some files have more in them than they say.
    let read = file.take(largest.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((read as u64 <= largest).then(|| bytes.into()))
}

/// The bytes themselves may be many.
impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = match &self.storage {
            Storage::Memory(bytes) => Some(bytes.len()),
            Storage::Disk(_) => None,
        };
        f.debug_struct("Content").field("path", &self.path).field("bytes_kept", &kept).finish()
    }
}

/// One pass over the bytes of a file.
pub(super) enum Reader {
    /// Over bytes that are kept.
    Memory(Cursor<Bytes>),
    /// Over the file.
    Disk(BufReader<File>),
}

impl Reader {
    /// The same from the first byte on, of which so many are read from disk at once.
    pub(super) fn with_buffer(self, bytes: usize) -> Self {
        match self {
            Self::Memory(all) => Self::Memory(all),
            Self::Disk(file) => Self::Disk(BufReader::with_capacity(bytes, file.into_inner())),
        }
    }

    /// How many bytes there are, those included that have been read.
    pub(super) fn length(&self) -> io::Result<u64> {
        match self {
            Self::Memory(bytes) => Ok(bytes.get_ref().len() as u64),
            Self::Disk(file) => Ok(file.get_ref().metadata()?.len()),
        }
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Memory(bytes) => bytes.read(buffer),
            Self::Disk(file) => file.read(buffer),
        }
    }
}

impl BufRead for Reader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self {
            Self::Memory(bytes) => bytes.fill_buf(),
            Self::Disk(file) => file.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        match self {
            Self::Memory(bytes) => bytes.consume(amount),
            Self::Disk(file) => file.consume(amount),
        }
    }
}

impl Seek for Reader {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Memory(bytes) => bytes.seek(position),
            Self::Disk(file) => file.seek(position),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with these bytes, in a folder that goes with it.
    fn file(bytes: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    fn text(content: &Content) -> String {
        let mut text = String::new();
        content.reader().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn bytes_are_kept_up_to_the_limit_and_read_anew_beyond_it() {
        for (limit, kept) in [(9, true), (8, true), (7, false), (0, false)] {
            let (folder, path) = file("a,b\n1,2\n");
            let content = Content::open(&path, limit).unwrap();
            assert_eq!((text(&content), text(&content.clone())), ("a,b\n1,2\n".into(), "a,b\n1,2\n".into()));
            fs::write(&path, "c,d\n").unwrap();
            assert_eq!(text(&content), if kept { "a,b\n1,2\n" } else { "c,d\n" }, "{limit}");
            drop(folder);
            assert_eq!(content.reader().is_ok(), kept, "{limit}");
        }
    }

    #[test]
    fn an_empty_file_is_empty_wherever_it_is_kept() {
        for limit in [0, 1] {
            let (_folder, path) = file("");
            assert_eq!(text(&Content::open(&path, limit).unwrap()), "");
        }
    }

    #[test]
    fn readers_know_their_length_and_go_where_they_are_sent() {
        let (_folder, path) = file("0123456789");
        for limit in [10, 9] {
            let mut reader = Content::open(&path, limit).unwrap().reader().unwrap();
            let mut last = String::new();
            assert_eq!((reader.fill_buf().unwrap()[0], reader.seek(SeekFrom::End(-2)).unwrap()), (b'0', 8));
            reader.read_to_string(&mut last).unwrap();
            assert_eq!((last.as_str(), reader.length().unwrap()), ("89", 10));
            assert!(reader.seek(SeekFrom::End(-11)).is_err());
        }
    }

    /// Of such files the operating system says that they are empty, as of one that grows while it is read.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_with_more_in_it_than_it_said_is_kept_whole_or_not_at_all() {
        let path = Path::new("/proc/self/status");
        assert_eq!(fs::metadata(path).unwrap().len(), 0);
        let kept = |limit| whole(File::open(path).unwrap(), limit).unwrap().map(|bytes| bytes.ends_with(b"\n"));
        assert_eq!((kept(1 << 20), kept(10)), (Some(true), None));
    }

    #[test]
    fn a_file_on_disk_that_changes_is_noticed_and_kept_bytes_cannot_change() {
        for (limit, kept) in [(100, true), (0, false)] {
            let (_folder, path) = file("a,b\n1,2\n");
            let content = Content::open(&path, limit).unwrap();
            content.check_unchanged().unwrap();
            fs::write(&path, "a,b\n").unwrap();
            let shrunk = content.check_unchanged().map_err(|error| error.to_string());
            assert_eq!(shrunk.is_ok(), kept, "{limit}");
            assert!(kept || shrunk.unwrap_err().contains("8 bytes, and now has 4"));
            // The same number of bytes, at another time.
            let content = Content::open(&path, limit).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
            assert_eq!(content.check_unchanged().is_ok(), kept, "{limit}");
            fs::remove_file(&path).unwrap();
            content.check_unchanged().unwrap();
        }
    }

    #[test]
    fn bytes_are_not_printed() {
        let (_folder, path) = file("secret");
        let shown = format!("{:?}", Content::open(&path, 100).unwrap());
        assert!(shown.contains("table.csv") && shown.contains("Some(6)") && !shown.contains("secret"), "{shown}");
    }
}
