//! The commands, a file each: arguments in, calls to the rooms below, an [`Outcome`](crate::terminal::output::Outcome)
//! out. No command uses another one.

mod benchmark;
mod compare;
mod data;
mod demo;
mod evaluate;
mod explain;
mod export;
mod fit;
mod info;
mod predict;
mod report;
mod reproduce;
mod resume;
mod serve;
mod tune;

pub use benchmark::benchmark;
pub use compare::compare;
pub use data::data;
pub use demo::demo;
pub use evaluate::evaluate;
pub use explain::explain;
pub use export::export;
pub use fit::fit;
pub use info::info;
pub use predict::predict;
pub use report::report;
pub use reproduce::reproduce;
pub use resume::resume;
pub use serve::serve;
pub use tune::tune;

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    /// Every Rust source of the crate, with its path from `src`.
    fn sources() -> Vec<(PathBuf, String)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let (mut folders, mut found) = (vec![root.clone()], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    found.push((path.strip_prefix(&root).unwrap().to_path_buf(), text));
                }
            }
        }
        found
    }

    #[test]
    fn commands_call_libraries_and_never_one_another() {
        let all = sources();
        assert!(all.iter().any(|(path, _)| path == Path::new("command/fit.rs")), "the sources were found");
        for (path, text) in all {
            let code = text.split("mod tests {").next().unwrap_or_default();
            assert!(!code.contains("crate::command"), "{} uses a command", path.display());
            let is_command = path.starts_with("command") && !path.ends_with("mod.rs");
            assert!(!(is_command && code.contains("super::")), "{} uses its neighbours", path.display());
        }
    }

    #[test]
    fn the_terminal_knows_of_no_other_room() {
        for (path, text) in sources().into_iter().filter(|(path, _)| path.starts_with("terminal")) {
            let others = text.split("crate::").skip(1).filter(|rest| !rest.starts_with("terminal"));
            assert_eq!(others.count(), 0, "{}", path.display());
        }
    }
}
