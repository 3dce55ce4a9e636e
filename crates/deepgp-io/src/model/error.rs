//! What can be wrong with a model file.

use std::path::PathBuf;

/// Why a model file could not be read or written. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The operating system refused.
    #[error("cannot {action} {}: {cause}{}", path.display(), advice(cause))]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Its reason.
        cause: std::io::Error,
    },

    /// It is some other kind of file.
    #[error("{} is not a deepgp model: {reason}; give a file that `deepgp fit` wrote", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// How that shows.
        reason: String,
    },

    /// It was a model once.
    #[error("{} is damaged: {reason}; copy it again, or fit the model anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How that shows.
        reason: String,
    },

    /// A later deepgp wrote it.
    #[error(
        "{} has format version {found}, but this deepgp ({}) reads up to version {known}; update deepgp",
        path.display(),
        env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The last one known here.
        known: u64,
    },

    /// The model holds something that has no place in a file.
    #[error("the model cannot be saved: {what} is not one that comes with deepgp, so it could not be loaded again")]
    Unknown {
        /// What it holds.
        what: String,
    },
}

fn advice(cause: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::{FileTooLarge, NotFound, PermissionDenied, StorageFull};
    match cause.kind() {
        NotFound => "; check the path",
        PermissionDenied => "; choose another place, or change its permissions",
        StorageFull | FileTooLarge => "; make room, or choose another place",
        _ => "",
    }
}
