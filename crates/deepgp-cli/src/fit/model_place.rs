//! Where the model of a resumed run may go. A checkpoint names a file, and may come from anybody: without a person's word its model stays in the
//! checkpoint's folder, and nothing but a model is ever replaced.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use deepgp_io::{ModelFile, Record};

use crate::arguments::usage::Usage;
use crate::terminal::shell;

/// The file that a checkpoint says its model goes to. Fails if that is in another folder than the checkpoint: then somebody must say so.
pub fn named_by(record: &Record, checkpoint: &Path) -> Result<PathBuf> {
    let out = PathBuf::from(&record.out);
    if !is_beside(checkpoint, &out) {
        bail!(Usage(format!(
            "{} says that its model goes to another folder, to {}: say so with --out {}, or name another place with --out",
            checkpoint.display(),
            out.display(),
            shell::word(&out)
        )));
    }
    Ok(out)
}

/// Fails if there is something at `out` that is no model, and so must not be replaced by one.
pub fn check_replaceable(out: &Path) -> Result<()> {
    if out.exists() && ModelFile::load(out).is_err() {
        bail!("{} is there, and is no model file: name another place with --out, or remove it", out.display());
    }
    Ok(())
}

/// The command that goes on with the run of a checkpoint.
pub fn command_to_resume(checkpoint: &Path, record: &Record) -> String {
    let out = Path::new(&record.out);
    let elsewhere = if is_beside(checkpoint, out) { String::new() } else { format!(" --out {}", shell::word(out)) };
    format!("deepgp resume {}{elsewhere}", shell::word(checkpoint))
}

/// Whether two files are in the same folder.
fn is_beside(one: &Path, other: &Path) -> bool {
    let folder = |path: &Path| std::path::absolute(path).ok()?.parent()?.canonicalize().ok();
    other.file_name().is_some() && folder(one).is_some_and(|own| folder(other) == Some(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_folder_are_beside_each_other_however_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::create_dir(place("in")).unwrap();
        assert!(is_beside(&place("a"), &place("b")) && is_beside(&place("a"), &place("in/../b")));
        assert!(is_beside(Path::new("a"), Path::new("./b")));
        for other in ["in/b", "none/b", "in/..", "../b"] {
            assert!(!is_beside(&place("a"), &place(other)), "{other}");
        }
        assert!(!is_beside(&place("a"), Path::new("")));
    }
}
