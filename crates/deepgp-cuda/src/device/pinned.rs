//! Host memory that the device reaches by itself, and so without waiting for the host.

use std::sync::Arc;

use cudarc::driver::{CudaContext, result};

use crate::fault::Outcome;

/// Some numbers in such memory; freed when dropped, after the work that uses them.
#[derive(Debug)]
pub struct Pinned {
    context: Arc<CudaContext>,
    address: *mut f64,
    len: usize,
}

impl Pinned {
    /// So many numbers, all 0.
    #[allow(unsafe_code)]
    pub fn zeroed(context: &Arc<CudaContext>, len: usize) -> Outcome<Self> {
        context.bind_to_thread()?;
        // SAFETY: the address is used only up to `len`, and freed once, in `drop`.
        let address = unsafe { result::malloc_host(len.max(1) * size_of::<f64>(), 0) }?.cast::<f64>();
        // SAFETY: the memory was allocated a moment ago, aligned to pages; nobody else knows of it.
        unsafe { address.write_bytes(0, len) };
        Ok(Self { context: context.clone(), address, len })
    }

    /// Where they start.
    pub fn address(&self) -> *mut f64 {
        self.address
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The numbers, for a host that has waited for whatever the device was to do with them.
    #[allow(unsafe_code)]
    pub fn numbers(&mut self) -> &mut [f64] {
        // SAFETY: the memory is live and holds so many numbers; the caller keeps the device from it meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.len) }
    }
}

impl Drop for Pinned {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let _ = self.context.bind_to_thread();
        // SAFETY: it was allocated by `zeroed` and is not freed anywhere else.
        let _ = unsafe { result::free_host(self.address.cast()) };
    }
}

// SAFETY: it is memory that any thread may use, and it has one owner.
#[allow(unsafe_code)]
unsafe impl Send for Pinned {}
