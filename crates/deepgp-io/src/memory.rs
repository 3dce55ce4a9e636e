//! The memory that this process can still have: what would need more is refused before it is tried, as running out of memory ends a process
//! without a word.
//!
//! It is the least of what the machine has (free memory, what its caches would give back, and swap), what each control group above the
//! process leaves it (a container's limit is one), and what is left of its own address space (`ulimit -v`). Where the system tells none of
//! these, nothing is refused.

use std::fs;
use std::path::{Path, PathBuf};

use crate::words::bytes as in_words;

/// Something that would need more memory than there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} would need about {} of memory, but {} are free; {advice}", in_words(*needed), in_words(*free))]
pub struct TooLarge {
    /// What needs it.
    pub what: String,
    /// How many bytes it would need.
    pub needed: u64,
    /// How many bytes there are.
    pub free: u64,
    /// What to do.
    pub advice: String,
}

/// Fails if `what` would need more bytes than this process can have.
pub fn check(what: &str, needed: u64, advice: &str) -> Result<(), TooLarge> {
    Machine::this().check(what, needed, advice)
}

/// The bytes that this process can still have, as far as the system tells.
pub fn free() -> Option<u64> {
    Machine::this().free()
}

/// A machine, by the folders in which Linux tells of it.
struct Machine {
    proc: PathBuf,
    cgroup: PathBuf,
}

impl Machine {
    fn this() -> Self {
        Self { proc: "/proc".into(), cgroup: "/sys/fs/cgroup".into() }
    }

    fn check(&self, what: &str, needed: u64, advice: &str) -> Result<(), TooLarge> {
        match self.free() {
            Some(free) if needed > free => Err(TooLarge { what: what.into(), needed, free, advice: advice.into() }),
            Some(_) | None => Ok(()),
        }
    }

    fn free(&self) -> Option<u64> {
        [self.of_machine(), self.of_groups(), self.of_address_space()].into_iter().flatten().min()
    }

    /// Memory that programs can have without swapping, and swap.
    fn of_machine(&self) -> Option<u64> {
        let text = fs::read_to_string(self.proc.join("meminfo")).ok()?;
        let available = kilobytes(&text, "MemAvailable:")?;
        Some(available + kilobytes(&text, "SwapFree:").unwrap_or(0))
    }

    /// What the control group of the process, and those above it, leave.
    fn of_groups(&self) -> Option<u64> {
        let text = fs::read_to_string(self.proc.join("self/cgroup")).ok()?;
        let mut least: Option<u64> = None;
        for line in text.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            let (root, files) = match controllers {
                "" => (self.cgroup.clone(), VERSION_2),
                own if own.split(',').any(|own| own == "memory") => (self.cgroup.join("memory"), VERSION_1),
                _ => continue,
            };
            for group in Path::new(path.trim_start_matches('/')).ancestors() {
                let left = files.left(&root.join(group));
                least = least.into_iter().chain(left).min();
            }
        }
        least
    }

    /// What is left of the address space, where that is limited.
    fn of_address_space(&self) -> Option<u64> {
        let limits = fs::read_to_string(self.proc.join("self/limits")).ok()?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
        let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
        let status = fs::read_to_string(self.proc.join("self/status")).ok()?;
        Some(limit.saturating_sub(kilobytes(&status, "VmSize:")?))
    }
}

/// The names of a control group's files: its limit, what it uses, and, in its statistics, what of that is a cache that would be given back.
#[derive(Clone, Copy)]
struct GroupFiles {
    limit: &'static str,
    used: &'static str,
    cache: &'static str,
}

const VERSION_1: GroupFiles =
    GroupFiles { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", cache: "total_inactive_file " };
const VERSION_2: GroupFiles = GroupFiles { limit: "memory.max", used: "memory.current", cache: "inactive_file " };

impl GroupFiles {
    /// What a group leaves; `None` if it has no limit.
    fn left(self, group: &Path) -> Option<u64> {
        let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let (limit, used) = (number(self.limit)?, number(self.used)?);
        let statistics = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cache = statistics.lines().find_map(|line| line.strip_prefix(self.cache)?.trim().parse().ok());
        Some((limit + cache.unwrap_or(0)).saturating_sub(used))
    }
}

/// The bytes in the line that begins with `key`, which tells them in kilobytes.
fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of these files.
    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let machine = Machine { proc: folder.path().join("proc"), cgroup: folder.path().join("cgroup") };
        (folder, machine)
    }

    const MEMINFO: (&str, &str) =
        ("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    3000 kB\nSwapFree:        1000 kB\n");

    #[test]
    fn a_machine_without_limits_has_what_is_free_and_swap() {
        let (_folder, all) = machine(&[MEMINFO, ("proc/self/cgroup", "0::/a/b\n")]);
        assert_eq!(all.free(), Some(4000 << 10));
        assert_eq!(machine(&[]).1.free(), None);
        assert!(machine(&[]).1.check("x", u64::MAX, "").is_ok(), "nobody knows");
    }

    #[test]
    fn the_least_limit_counts_of_a_group_or_one_above_it_and_caches_are_given_back() {
        let (_folder, second) = machine(&[
            MEMINFO,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("cgroup/a/b/memory.max", "max\n"),
            ("cgroup/a/b/memory.current", "5\n"),
            ("cgroup/a/memory.max", "1000000\n"),
            ("cgroup/a/memory.current", "900000\n"),
            ("cgroup/a/memory.stat", "anon 1\ninactive_file 300000\n"),
        ]);
        assert_eq!(second.free(), Some(400_000));
        let (_folder, first) = machine(&[
            MEMINFO,
            ("proc/self/cgroup", "7:cpu:/x\n4:memory,other:/c\n0::/\n"),
            ("cgroup/memory/c/memory.limit_in_bytes", "800000\n"),
            ("cgroup/memory/c/memory.usage_in_bytes", "900000\n"),
        ]);
        assert_eq!(first.free(), Some(0));
    }

    #[test]
    fn an_address_space_that_is_limited_counts_too_and_the_message_names_sizes() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space         2048000   unlimited  bytes\n";
        let (_folder, limited) =
            machine(&[MEMINFO, ("proc/self/limits", limits), ("proc/self/status", "VmSize:\t1000 kB\n")]);
        assert_eq!(limited.free(), Some(1000 << 10));
        limited.check("the model", 1000 << 10, "take less").unwrap();
        let error = limited.check("the model", 5 << 30, "take less").unwrap_err();
        assert_eq!(error.to_string(), "the model would need about 5.0 GiB of memory, but 1000 KiB are free; take less");
        let unlimited = "Max address space     unlimited            unlimited            bytes\n";
        let (_folder, free) = machine(&[MEMINFO, ("proc/self/limits", unlimited)]);
        assert_eq!(free.free(), Some(4000 << 10));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_tells() {
        assert!(free().is_some_and(|bytes| bytes > 1 << 20));
    }
}
