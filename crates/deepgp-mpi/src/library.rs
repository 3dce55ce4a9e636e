//! The MPI library that is loaded: which file, and of which kind.

use std::ffi::{OsString, c_char, c_int};

use libloading::os::unix::{Library as File, RTLD_GLOBAL, RTLD_NOW};

use crate::Error;
use crate::functions::{Address, Functions};

/// The environment variable that names the library's file.
pub(crate) const VARIABLE: &str = "DEEPGP_MPI_LIBRARY";
/// Open MPI's files, those of versions first.
const OPEN_MPI: [&str; 2] = ["libmpi.so.40", "libmpi.so"];
/// The files of MPICH and of what has its ABI.
const MPICH: [&str; 4] = ["libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12", "libmpich.so"];
/// The most characters of a version, of all libraries.
const LONGEST_VERSION: usize = 8192;

/// An MPI library of a kind that is known.
#[derive(Debug)]
pub(crate) enum Library {
    /// Open MPI.
    OpenMpi(Functions<Address>),
    /// MPICH, or another library of its ABI.
    Mpich(Functions<c_int>),
}

impl Library {
    /// Loads the library that the environment names, or that belongs to whoever started the program, or any; with what it says of itself.
    pub fn open() -> Result<(Self, String), Error> {
        let names = match std::env::var_os(VARIABLE) {
            Some(named) => vec![named],
            None => names(std::env::var_os("PMI_SIZE").is_some() && std::env::var_os("OMPI_COMM_WORLD_SIZE").is_none()),
        };
        let mut tried = Vec::new();
        for name in &names {
            // SAFETY: an MPI library may be loaded at any time before `MPI_Init`. Its symbols are for all, because its parts look for them.
            #[allow(unsafe_code, reason = "see above")]
            match unsafe { File::open(Some(name), RTLD_NOW | RTLD_GLOBAL) } {
                Ok(file) => return Self::of(&name.to_string_lossy(), file),
                Err(error) => tried.push(error.to_string()),
            }
        }
        Err(Error::NoLibrary { tried: tried.join("; ") })
    }

    /// The functions of a library that is loaded, by its kind.
    fn of(path: &str, file: File) -> Result<(Self, String), Error> {
        // Never unloaded: MPI leaves threads and handlers behind.
        let file: &'static File = Box::leak(Box::new(file));
        let version = version(file);
        let incomplete =
            |error: libloading::Error| Error::UnknownLibrary { path: path.into(), version: error.to_string() };
        let version = version.map_err(incomplete)?;
        let library = if version.contains("Open MPI") {
            Self::OpenMpi(Functions::of(file).map_err(incomplete)?)
        } else if ["MPICH", "Intel(R) MPI", "MVAPICH"].iter().any(|known| version.contains(known)) {
            Self::Mpich(Functions::of(file).map_err(incomplete)?)
        } else {
            return Err(Error::UnknownLibrary { path: path.into(), version });
        };
        Ok((library, version))
    }
}

/// The files to look for: of both kinds, that of whoever started the program first.
fn names(mpich_first: bool) -> Vec<OsString> {
    let both = if mpich_first { [&MPICH[..], &OPEN_MPI] } else { [&OPEN_MPI[..], &MPICH] };
    both.concat().into_iter().map(OsString::from).collect()
}

/// What a library says of itself, the first line of it.
fn version(file: &File) -> Result<String, libloading::Error> {
    let mut text = vec![0u8; LONGEST_VERSION];
    let mut length: c_int = 0;
    // SAFETY: the function has this type in all libraries, may be called before `MPI_Init`, and writes at most as many characters.
    #[allow(unsafe_code, reason = "see above")]
    unsafe {
        let function =
            file.get::<unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int>(b"MPI_Get_library_version\0")?;
        function(text.as_mut_ptr().cast(), &mut length);
    }
    text.truncate(usize::try_from(length).unwrap_or(0).min(LONGEST_VERSION));
    let text = String::from_utf8_lossy(&text);
    let first = text.split(['\n', '\0']).next().unwrap_or_default();
    Ok(first.split(", package").next().unwrap_or(first).replace('\t', " ").trim().to_owned())
}

/// Writes each function of a library as a call of it, whatever its kind.
macro_rules! by_kind {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl Library {
            $($(#[$doc])* pub fn $name(&self, $($argument: $type),*) -> $result {
                match self {
                    Self::OpenMpi(functions) => functions.$name($($argument),*),
                    Self::Mpich(functions) => functions.$name($($argument),*),
                }
            })*
        }
    };
}

by_kind! {
    /// [`Functions::init`].
    fn init() -> Result<(), Error>;
    /// [`Functions::rank`].
    fn rank() -> Result<usize, Error>;
    /// [`Functions::size`].
    fn size() -> Result<usize, Error>;
    /// [`Functions::exchange`].
    fn exchange(send: &[f64], to: &[usize], received: &mut [f64], from: &[usize]) -> Result<(), Error>;
    /// [`Functions::gather`].
    fn gather(own: &[f64], all: &mut [f64], counts: &[usize]) -> Result<(), Error>;
    /// [`Functions::broadcast`].
    fn broadcast(values: &mut [f64]) -> Result<(), Error>;
    /// [`Functions::barrier`].
    fn barrier() -> Result<(), Error>;
    /// [`Functions::wait_asleep`].
    fn wait_asleep() -> Result<(), Error>;
    /// [`Functions::abort`].
    fn abort(code: c_int) -> ();
    /// [`Functions::finalize`].
    fn finalize() -> Result<(), Error>;
}
