//! Device memory: one allocation a task, cut into spans.
//!
//! A task's arrays are laid out twice by the same code: once to measure, once in real memory. So the need is known to the byte
//! before anything is taken, and what would fit can be said where it does not.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{CudaContext, result};

use crate::fault::Outcome;

/// Every span starts at a multiple of this: the driver's own alignment.
const ALIGNMENT: usize = 256;

/// While one thread records a graph, no other may allocate, free, compile or make handles: that would spoil the recording.
static GATE: Mutex<()> = Mutex::new(());

/// Held while a graph is recorded, and while a task is made or taken apart.
pub fn gate() -> MutexGuard<'static, ()> {
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Some numbers on the device. A plain address and a length: whoever holds it also holds the [`Memory`] it lies in.
#[derive(Debug)]
pub struct Span<T> {
    address: u64,
    len: usize,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Span<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Span<T> {}

impl<T> Span<T> {
    /// Nothing, for kernels that take a null pointer.
    pub const NONE: Self = Self { address: 0, len: 0, of: PhantomData };

    /// Where it starts.
    pub fn address(self) -> u64 {
        self.address
    }

    /// How many numbers it holds.
    pub fn len(self) -> usize {
        self.len
    }

    /// The part from `first` on.
    pub fn from(self, first: usize) -> Self {
        assert!(first <= self.len, "a part of a span lies inside it");
        Self { address: self.address + (first * size_of::<T>()) as u64, len: self.len - first, of: PhantomData }
    }

    /// The part that a range of numbers takes.
    pub fn part(self, range: &Range<usize>) -> Self {
        self.from(range.start).first(range.len())
    }

    /// The first `at` numbers, and the rest.
    pub fn split_at(self, at: usize) -> (Self, Self) {
        (self.first(at), self.from(at))
    }

    /// The first `len` numbers.
    pub fn first(self, len: usize) -> Self {
        assert!(len <= self.len, "a part of a span lies inside it");
        Self { len, ..self }
    }
}

/// Hands out spans one after the other.
#[derive(Debug)]
pub struct Arena {
    base: u64,
    used: usize,
}

impl Arena {
    /// An arena in memory that starts at `base`; for measuring, any number will do.
    pub fn new(base: u64) -> Self {
        Self { base, used: 0 }
    }

    /// Room for `len` numbers.
    pub fn take<T>(&mut self, len: usize) -> Span<T> {
        let address = self.base + self.used as u64;
        self.used += (len * size_of::<T>()).next_multiple_of(ALIGNMENT);
        Span { address, len, of: PhantomData }
    }

    /// All that was handed out since so many bytes had been, as one span.
    pub fn taken_since<T>(&self, start: usize) -> Span<T> {
        Span { address: self.base + start as u64, len: (self.used - start) / size_of::<T>(), of: PhantomData }
    }

    /// Bytes handed out.
    pub fn used(&self) -> usize {
        self.used
    }
}

/// One allocation; freed when dropped.
#[derive(Debug)]
pub struct Memory {
    context: Arc<CudaContext>,
    address: u64,
}

impl Memory {
    /// So many bytes, all zero.
    #[allow(unsafe_code)]
    pub fn zeroed(context: &Arc<CudaContext>, bytes: usize) -> Outcome<Self> {
        context.bind_to_thread()?;
        let bytes = bytes.max(ALIGNMENT);
        // SAFETY: the address is used only through spans inside `bytes`, and freed once, in `drop`.
        let address = unsafe { result::malloc_sync(bytes) }?;
        let memory = Self { context: context.clone(), address };
        // SAFETY: the bytes were allocated a moment ago.
        unsafe { result::memset_d8_sync(address, 0, bytes) }?;
        context.synchronize()?;
        Ok(memory)
    }

    /// Where it starts.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Memory {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // Work that still uses it must end first; errors have been reported by whoever asked for that work.
        let _ = self.context.bind_to_thread().and_then(|()| self.context.synchronize());
        // SAFETY: it was allocated by `zeroed` and is not freed anywhere else.
        let _ = unsafe { result::free_sync(self.address) };
    }
}
