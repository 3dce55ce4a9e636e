//! How many threads to use. No result depends on it.

use crate::error::{Error, Result};

/// A pool of threads, or all the machine has.
#[derive(Debug)]
pub(crate) struct Threads(Option<rayon::ThreadPool>);

impl Threads {
    /// `count` threads; 0 stands for all (the pool that the program shares).
    pub fn new(count: usize) -> Result<Self> {
        if count == 0 {
            return Ok(Self(None));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
        let requirement = "a number of threads that the system can start";
        let refused = |_| Error::Setting { name: "threads", value: count.to_string(), requirement };
        Ok(Self(Some(pool.map_err(refused)?)))
    }

    /// Runs `work` with its parallel parts on these threads, and waits for it.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}
