//! What the driver and the libraries say when something goes wrong.

use deepgp::Error;

/// What a call to the device returns.
pub type Outcome<T> = Result<T, Fault>;

/// A call that failed.
#[derive(Debug)]
pub enum Fault {
    /// The device, its driver or one of its libraries failed.
    Device(String),
    /// The work is too much at once for the device; less may do.
    TooLarge(String),
    /// The model, not the device, is at fault.
    Model(Error),
}

impl Fault {
    /// As an error of the library, from a device of this name.
    pub fn on(self, device: &str) -> Error {
        match self {
            Self::Device(what) | Self::TooLarge(what) => Error::Device { device: device.to_string(), what },
            Self::Model(error) => error,
        }
    }
}

impl From<cudarc::driver::DriverError> for Fault {
    fn from(error: cudarc::driver::DriverError) -> Self {
        Self::Device(format!("the driver reports {error}"))
    }
}

impl From<cudarc::cublas::result::CublasError> for Fault {
    fn from(error: cudarc::cublas::result::CublasError) -> Self {
        Self::Device(format!("cuBLAS reports {:?}", error.0))
    }
}

impl From<cudarc::cusolver::result::CusolverError> for Fault {
    fn from(error: cudarc::cusolver::result::CusolverError) -> Self {
        Self::Device(format!("cuSOLVER reports {:?}", error.0))
    }
}

impl From<cudarc::nvrtc::CompileError> for Fault {
    fn from(error: cudarc::nvrtc::CompileError) -> Self {
        let log = match &error {
            cudarc::nvrtc::CompileError::CompileError { log, .. } => log.to_string_lossy().into_owned(),
            other => other.to_string(),
        };
        Self::Device(format!("its kernels could not be compiled: {log}"))
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Model(error)
    }
}
