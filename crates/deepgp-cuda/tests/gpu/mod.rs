//! The GPU that tests compute on, if there is one.

use std::io::Write as _;
use std::sync::OnceLock;

use deepgp::Error;
use deepgp_cuda::Cuda;

/// The GPU, or `None` after saying that `test` is skipped.
#[allow(clippy::explicit_write, reason = "the test harness would swallow `eprintln`")]
pub fn open(test: &str) -> Option<Cuda> {
    static GPU: OnceLock<Result<Cuda, Error>> = OnceLock::new();
    match GPU.get_or_init(|| Cuda::open(0)) {
        Ok(cuda) => Some(cuda.clone()),
        Err(error) => {
            writeln!(std::io::stderr(), "SKIPPED: {test}: {error}").unwrap();
            None
        }
    }
}
