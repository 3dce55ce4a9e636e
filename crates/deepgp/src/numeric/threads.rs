//! The threads that parallel work runs on. No result depends on their number.

use crate::error::{Error, Result};

/// The largest number of threads; more is a mistake, and would take minutes to start.
const MAX_THREADS: usize = 1024;

/// A pool of threads of its own, or all that the machine has.
#[derive(Debug)]
pub(crate) struct Threads(Option<rayon::ThreadPool>);

impl Threads {
    /// A pool of `count` threads; 0 stands for all (the pool that the program shares).
    pub fn new(count: usize) -> Result<Self> {
        if count == 0 {
            return Ok(Self(None));
        }
        let requirement = "0 for all threads, or at most 1024 and as many as the system can start";
        let refused = || Error::Setting { name: "threads", value: count.to_string(), requirement };
        if count > MAX_THREADS {
            return Err(refused());
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
        Ok(Self(Some(pool.map_err(|_| refused())?)))
    }

    /// Runs `work` with its parallel parts on these threads, and waits for it.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}
