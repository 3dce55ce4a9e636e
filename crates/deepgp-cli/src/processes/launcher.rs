//! Who started this process, if it is one of several: launchers tell their processes by environment variables.

use std::env;

/// The launchers that are known: how to recognise their processes, and how many there are.
const LAUNCHERS: [(&str, &str); 3] = [
    ("Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE"),
    ("MPICH's mpiexec, or another of PMI", "PMI_SIZE"),
    // Set for the processes of a step alone: a batch script that runs by itself is one process, whatever it has asked for.
    ("Slurm's srun", "SLURM_STEP_NUM_TASKS"),
];

/// The launch that this process is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The launcher in words.
    pub by: &'static str,
    /// The number of processes.
    pub size: usize,
}

impl Launch {
    /// The launch of several processes that this one is part of.
    pub fn of_several() -> Option<Self> {
        Self::among(|name| env::var(name).ok())
    }

    /// [`Launch::of_several`] in an environment.
    fn among(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        // Slurm's number is that of the step; a step's shell that runs mpirun is one process of its own.
        let found = LAUNCHERS.iter().find_map(|(by, name)| Some((by, variable(name)?.trim().parse().ok()?)));
        found.map(|(by, size)| Self { by, size }).filter(|launch| launch.size > 1)
    }
}

/// The number that the launcher gave this process; 0 if it gave none.
pub fn rank() -> usize {
    let names = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"];
    let found = names.iter().find_map(|name| env::var(name).ok());
    found.and_then(|rank| rank.trim().parse().ok()).unwrap_or(0)
}

/// The number that the launcher gave this process among those on its machine; where it gave none, that among all.
pub fn local_rank() -> usize {
    local_rank_in(|name| env::var(name).ok())
}

/// [`local_rank`] in an environment.
fn local_rank_in(variable: impl Fn(&str) -> Option<String>) -> usize {
    let names = ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "PMIX_LOCAL_RANK", "SLURM_LOCALID"];
    let found = names.iter().find_map(|name| variable(name)?.trim().parse().ok());
    found.unwrap_or_else(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_know_their_number_on_their_machine() {
        let local = |all: &[(&str, &str)]| {
            local_rank_in(|name| all.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(local(&[("OMPI_COMM_WORLD_LOCAL_RANK", "3"), ("SLURM_LOCALID", "0")]), 3);
        assert_eq!((local(&[("MPI_LOCALRANKID", "2")]), local(&[("SLURM_LOCALID", " 1 ")])), (2, 1));
        assert_eq!(local(&[]), rank());
    }

    #[test]
    fn launches_of_several_processes_are_recognised() {
        let launch = |all: &[(&str, &str)]| {
            Launch::among(|name| all.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(launch(&[]), None);
        assert_eq!(launch(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")]), None, "a batch script");
        assert_eq!(launch(&[("OMPI_COMM_WORLD_SIZE", "1"), ("SLURM_STEP_NUM_TASKS", "4")]), None);
        for (name, size) in [("OMPI_COMM_WORLD_SIZE", 4), ("PMI_SIZE", 2), ("SLURM_STEP_NUM_TASKS", 64)] {
            assert_eq!(launch(&[(name, &size.to_string())]).map(|launch| launch.size), Some(size), "{name}");
        }
    }
}
