//! Plain loops, compiled for the widest vectors the machine has.

/// Runs `work` compiled for this machine's vector instructions. Write the closure as `#[inline(always)] || …`: only what is
/// inlined is compiled so.
#[inline(always)]
pub(crate) fn vectorised(work: impl FnMut()) {
    #[cfg(test)]
    if baseline::IS_ON.load(std::sync::atomic::Ordering::Relaxed) {
        return pulp::NullaryFnOnce::call(Work(work));
    }
    pulp::Arch::new().dispatch(Work(work));
}

/// A closure to be compiled for vectors. It is `FnMut`, because calling a closure as `FnOnce` goes through a shim that is not inlined.
struct Work<F>(F);

impl<F: FnMut()> pulp::NullaryFnOnce for Work<F> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        (self.0)();
    }
}

/// The loops as a machine without vectors of its own runs them, for tests.
#[cfg(test)]
pub(crate) mod baseline {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    /// Whether loops run as compiled for the baseline.
    pub(super) static IS_ON: AtomicBool = AtomicBool::new(false);

    /// Runs `work` with loops compiled for the baseline, on all threads (which changes no bit of what other tests see).
    pub(crate) fn run<T>(work: impl FnOnce() -> T) -> T {
        IS_ON.store(true, Relaxed);
        let result = work();
        IS_ON.store(false, Relaxed);
        result
    }
}
