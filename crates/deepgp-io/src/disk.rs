//! The room that a disk has: what would need more is refused before it is begun.

use std::path::Path;

use crate::words::bytes as in_words;

/// What is left free for others, such as the checkpoint.
const SPARED: u64 = 256 << 20;

/// Something that would need more room than there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} would take {} in {folder}, where {} are free; {advice}", in_words(*needed), in_words(*free))]
pub struct NoRoom {
    /// What needs it.
    pub what: String,
    /// How many bytes it would need.
    pub needed: u64,
    /// How many bytes there are.
    pub free: u64,
    /// The folder on the disk.
    pub folder: String,
    /// What to do.
    pub advice: String,
}

/// Fails if `what` would need more bytes than the disk of `folder` has, but for some that are left to others.
pub fn check(what: &str, needed: u64, folder: &Path, advice: &str) -> Result<(), NoRoom> {
    match free(folder) {
        Some(free) if needed.saturating_add(SPARED) > free => {
            Err(NoRoom { what: what.into(), needed, free, folder: folder.display().to_string(), advice: advice.into() })
        }
        Some(_) | None => Ok(()),
    }
}

/// The bytes that this user can still write to the disk of a folder, where the system tells.
pub fn free(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    return rustix::fs::statvfs(folder).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn what_is_larger_than_the_disk_is_refused_with_sizes() {
        let folder = tempfile::tempdir().unwrap();
        check("a file", 0, folder.path(), "make room").unwrap();
        let error = check("a file", u64::MAX, folder.path(), "make room").unwrap_err();
        assert!(
            error.to_string().starts_with("a file would take 16.0 EiB in ") && error.to_string().ends_with("make room")
        );
        assert_eq!(free(&folder.path().join("none")), None);
    }
}
