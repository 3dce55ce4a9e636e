//! Plain loops, compiled for the widest vectors the machine has.

/// Runs `work` compiled for this machine's vector instructions. Write the closure as `#[inline(always)] || …`: only what is
/// inlined is compiled so.
#[inline(always)]
pub(crate) fn vectorised(work: impl FnMut()) {
    pulp::Arch::new().dispatch(Work(work));
}

/// `FnMut`, because calling a closure as `FnOnce` goes through a shim that is not inlined.
struct Work<F>(F);

impl<F: FnMut()> pulp::NullaryFnOnce for Work<F> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        (self.0)();
    }
}
