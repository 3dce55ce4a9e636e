//! Paths of files that commands read and write: which belong together, and which must not be the same.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use deepgp_io::atomic::AtomicFile;

use super::usage::Usage;

/// The path of a file that belongs to another: `model.deepgp` and `checkpoint` give `model.deepgp.checkpoint`.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// The path from the root, which means the same in every folder.
pub fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string()
}

/// The last part of a path, as people call a file.
pub fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// The files of a table beside others, each with the name of its argument.
pub fn with_tables<'a>(
    tables: &'a [PathBuf],
    others: &[(&'a str, Option<&'a PathBuf>)],
) -> Vec<(&'a str, Option<&'a PathBuf>)> {
    tables.iter().map(|table| ("the table", Some(table))).chain(others.iter().copied()).collect()
}

/// Fails if two of these files, each with the name of its argument, are one and the same.
pub fn check_distinct(named: &[(&str, Option<&PathBuf>)]) -> Result<()> {
    let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.into());
    let known: Vec<(&str, PathBuf)> =
        named.iter().filter_map(|(name, path)| Some((*name, real(path.as_ref()?)))).collect();
    for (i, (name, path)) in known.iter().enumerate() {
        if let Some((other, _)) = known[..i].iter().find(|(_, before)| before == path) {
            bail!(Usage(format!("{other} and {name} are the same file, {}: name another", path.display())));
        }
    }
    Ok(())
}

/// Fails if a file cannot be written: better before the work than after it.
pub fn check_writable(path: &Path) -> Result<()> {
    drop(AtomicFile::create(path).with_context(|| format!("cannot write {}", path.display()))?);
    Ok(())
}
