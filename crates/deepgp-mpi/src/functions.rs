//! The functions of MPI that are called, for one kind of handle.

use std::ffi::{c_int, c_void};
use std::time::Duration;

use libloading::os::unix::Library as File;

use crate::Error;

/// A handle of an MPI library: what it gives a program for a communicator, a type or a request.
pub(crate) trait Handle: Copy + Send + std::fmt::Debug {
    /// `MPI_COMM_WORLD` and `MPI_DOUBLE` of this library.
    fn world_and_double(file: &File) -> Result<(Self, Self), libloading::Error>;
}

/// A handle of Open MPI: the address of an object in the library.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Address(*mut c_void);

// SAFETY: it is an address that the library takes from any thread; nothing here reads what is there.
#[allow(unsafe_code, reason = "see above")]
unsafe impl Send for Address {}

impl Handle for Address {
    fn world_and_double(file: &File) -> Result<(Self, Self), libloading::Error> {
        // SAFETY: Open MPI defines `MPI_COMM_WORLD` and `MPI_DOUBLE` as the addresses of these objects, which are only pointed at.
        #[allow(unsafe_code, reason = "see above")]
        let object = |name: &[u8]| unsafe { file.get::<*mut c_void>(name).map(|own| Self(own.as_raw_ptr())) };
        Ok((object(b"ompi_mpi_comm_world\0")?, object(b"ompi_mpi_double\0")?))
    }
}

/// A handle of MPICH and of what has its ABI: a number.
impl Handle for c_int {
    fn world_and_double(_: &File) -> Result<(Self, Self), libloading::Error> {
        // `MPI_COMM_WORLD` and `MPI_DOUBLE` of mpi.h, which the common ABI fixes.
        Ok((0x4400_0000, 0x4C00_080B))
    }
}

/// How long a process sleeps between two looks whether all others have come.
const NAP: Duration = Duration::from_millis(10);
/// More bytes than the `MPI_Status` of any library has, 20 or 24.
type Status = [u64; 16];

/// The arguments of `MPI_Alltoallv`, without which its type cannot be read.
type Exchange<H> = unsafe extern "C" fn(
    send: *const c_void,
    send_counts: *const c_int,
    send_starts: *const c_int,
    send_type: H,
    receive: *mut c_void,
    receive_counts: *const c_int,
    receive_starts: *const c_int,
    receive_type: H,
    communicator: H,
) -> c_int;

/// The arguments of `MPI_Allgatherv`.
type Gather<H> = unsafe extern "C" fn(
    send: *const c_void,
    send_count: c_int,
    send_type: H,
    receive: *mut c_void,
    receive_counts: *const c_int,
    receive_starts: *const c_int,
    receive_type: H,
    communicator: H,
) -> c_int;

/// The functions of a library with handles `H`, and the handles of its world and of its type of numbers.
#[derive(Debug)]
pub(crate) struct Functions<H> {
    world: H,
    double: H,
    init: unsafe extern "C" fn(*mut c_int, *mut *mut *mut i8, c_int, *mut c_int) -> c_int,
    rank: unsafe extern "C" fn(H, *mut c_int) -> c_int,
    size: unsafe extern "C" fn(H, *mut c_int) -> c_int,
    exchange: Exchange<H>,
    gather: Gather<H>,
    broadcast: unsafe extern "C" fn(*mut c_void, c_int, H, c_int, H) -> c_int,
    barrier: unsafe extern "C" fn(H) -> c_int,
    begin_barrier: unsafe extern "C" fn(H, *mut H) -> c_int,
    test: unsafe extern "C" fn(*mut H, *mut c_int, *mut Status) -> c_int,
    abort: unsafe extern "C" fn(H, c_int) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
}

/// `MPI_THREAD_SERIALIZED` of all libraries: any thread may call, one at a time.
const SERIALIZED: c_int = 2;

impl<H: Handle> Functions<H> {
    /// The functions of a library that is loaded and has handles `H`.
    pub fn of(file: &File) -> Result<Self, libloading::Error> {
        let (world, double) = H::world_and_double(file)?;
        // SAFETY: each symbol has the type that the MPI standard gives the function of its name, with `H` for `MPI_Comm`, `MPI_Datatype` and `MPI_Request`;
        // that the library's handles are `H` the caller has found out. The library is never unloaded, so pointers stay good.
        #[allow(unsafe_code, reason = "see above")]
        unsafe {
            Ok(Self {
                world,
                double,
                init: *file.get(b"MPI_Init_thread\0")?,
                rank: *file.get(b"MPI_Comm_rank\0")?,
                size: *file.get(b"MPI_Comm_size\0")?,
                exchange: *file.get(b"MPI_Alltoallv\0")?,
                gather: *file.get(b"MPI_Allgatherv\0")?,
                broadcast: *file.get(b"MPI_Bcast\0")?,
                barrier: *file.get(b"MPI_Barrier\0")?,
                begin_barrier: *file.get(b"MPI_Ibarrier\0")?,
                test: *file.get(b"MPI_Test\0")?,
                abort: *file.get(b"MPI_Abort\0")?,
                finalize: *file.get(b"MPI_Finalize\0")?,
            })
        }
    }

    /// Begins, for threads that call one at a time.
    pub fn init(&self) -> Result<(), Error> {
        let mut provided = 0;
        // SAFETY: both lists of arguments may be null; `provided` is written.
        #[allow(unsafe_code, reason = "see above")]
        let code = unsafe { (self.init)(std::ptr::null_mut(), std::ptr::null_mut(), SERIALIZED, &mut provided) };
        check("MPI_Init_thread", code)
    }

    /// The number of this process among all.
    pub fn rank(&self) -> Result<usize, Error> {
        let mut rank = 0;
        // SAFETY: the world is this library's, `rank` is written.
        #[allow(unsafe_code, reason = "see above")]
        let code = unsafe { (self.rank)(self.world, &mut rank) };
        check("MPI_Comm_rank", code).map(|()| rank as usize)
    }

    /// The number of processes.
    pub fn size(&self) -> Result<usize, Error> {
        let mut size = 0;
        // SAFETY: the world is this library's, `size` is written.
        #[allow(unsafe_code, reason = "see above")]
        let code = unsafe { (self.size)(self.world, &mut size) };
        check("MPI_Comm_size", code).map(|()| size as usize)
    }

    /// Sends `to[r]` of the numbers `send` to each process `r`, in order, and writes the `from[r]` numbers that come from each to `received`.
    pub fn exchange(&self, send: &[f64], to: &[usize], received: &mut [f64], from: &[usize]) -> Result<(), Error> {
        let ((to, to_starts), (from, from_starts)) = (places(to, send.len()), places(from, received.len()));
        // SAFETY: `places` asserts that counts and starts stay within both lists; there is one of each for every process.
        #[allow(unsafe_code, reason = "see above")]
        let code = unsafe {
            (self.exchange)(
                send.as_ptr().cast(),
                to.as_ptr(),
                to_starts.as_ptr(),
                self.double,
                received.as_mut_ptr().cast(),
                from.as_ptr(),
                from_starts.as_ptr(),
                self.double,
                self.world,
            )
        };
        check("MPI_Alltoallv", code)
    }

    /// Sends the numbers `own` to all processes, and writes the `counts[r]` numbers of each process `r` to `all`, in order.
    pub fn gather(&self, own: &[f64], all: &mut [f64], counts: &[usize]) -> Result<(), Error> {
        let (counts, starts) = places(counts, all.len());
        // SAFETY: `places` asserts that counts and starts stay within `all`; there is one of each for every process.
        #[allow(unsafe_code, reason = "see above")]
        let code = unsafe {
            (self.gather)(
                own.as_ptr().cast(),
                number(own.len()),
                self.double,
                all.as_mut_ptr().cast(),
                counts.as_ptr(),
                starts.as_ptr(),
                self.double,
                self.world,
            )
        };
        check("MPI_Allgatherv", code)
    }

    /// Replaces the numbers by those of process 0.
    pub fn broadcast(&self, values: &mut [f64]) -> Result<(), Error> {
        // SAFETY: the list has as many numbers as are said to be there.
        #[allow(unsafe_code, reason = "see above")]
        let code =
            unsafe { (self.broadcast)(values.as_mut_ptr().cast(), number(values.len()), self.double, 0, self.world) };
        check("MPI_Bcast", code)
    }

    /// Waits for all processes.
    pub fn barrier(&self) -> Result<(), Error> {
        // SAFETY: the world is this library's.
        #[allow(unsafe_code, reason = "see above")]
        let code = unsafe { (self.barrier)(self.world) };
        check("MPI_Barrier", code)
    }

    /// Waits for all processes, asleep: for a wait that may be long, in which others need the processors.
    pub fn wait_asleep(&self) -> Result<(), Error> {
        let (mut request, mut status, mut done) = (self.world, Status::default(), 0);
        // SAFETY: the world is this library's; a request has the size of its other handles, and is written.
        #[allow(unsafe_code, reason = "see above")]
        let code = unsafe { (self.begin_barrier)(self.world, &mut request) };
        check("MPI_Ibarrier", code)?;
        loop {
            // SAFETY: the request is the one that was just made; there is more room than a status needs.
            #[allow(unsafe_code, reason = "see above")]
            let code = unsafe { (self.test)(&mut request, &mut done, &mut status) };
            check("MPI_Test", code)?;
            if done != 0 {
                return Ok(());
            }
            std::thread::sleep(NAP);
        }
    }

    /// Ends all processes.
    pub fn abort(&self, code: c_int) {
        // SAFETY: the world is this library's; whatever is under way may be lost.
        #[allow(unsafe_code, reason = "see above")]
        let _ = unsafe { (self.abort)(self.world, code) };
    }

    /// Ends MPI, once all processes do.
    pub fn finalize(&self) -> Result<(), Error> {
        // SAFETY: it is called once, by the owner of these functions when it is dropped.
        #[allow(unsafe_code, reason = "see above")]
        let code = unsafe { (self.finalize)() };
        check("MPI_Finalize", code)
    }
}

/// Fails unless a function has said that it succeeded. By default MPI does not return from a failure, but ends all processes.
fn check(function: &'static str, code: c_int) -> Result<(), Error> {
    if code == 0 { Ok(()) } else { Err(Error::Failed { function, code }) }
}

/// A count for C.
fn number(count: usize) -> c_int {
    c_int::try_from(count).expect("sums are cut into parts that C can count")
}

/// The numbers and places of lists of these lengths one behind the other, for C. They fill `length` exactly.
fn places(lengths: &[usize], length: usize) -> (Vec<c_int>, Vec<c_int>) {
    assert_eq!(lengths.iter().sum::<usize>(), length, "lists that stand one behind the other fill their place");
    let mut start = 0;
    let starts = lengths.iter().map(|own| {
        start += own;
        number(start - own)
    });
    let starts = starts.collect();
    (lengths.iter().map(|own| number(*own)).collect(), starts)
}
