//! What Python sees of the library: one class, [`engine::Engine`], and functions over it. Arrays, settings and errors are
//! translated here; what a user meets is written in Python, in `python/deepgp`.
//!
//! All work runs without the interpreter, on a thread of its own ([`background`]), so that Ctrl-C is heard.

mod answers;
mod arrays;
mod background;
mod columns;
mod device;
mod engine;
mod errors;
mod exposures;
mod fit;
mod frames;
mod inputs;
mod plan;
mod settings;
mod simulate;
mod split;
mod targets;
mod tune;

/// The compiled part of `deepgp`.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::answers::{
        below, class_probabilities, draws, importance, input_gradient, intervals, joint_draws, joint_moments,
        joint_rows, log_density, moments, quantiles,
    };
    #[pymodule_export]
    use crate::device::check_device;
    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::fit::fit;
    #[pymodule_export]
    use crate::frames::Table;
    #[pymodule_export]
    use crate::settings::{default_settings, limits};
    #[pymodule_export]
    use crate::simulate::{eight_link_arm, step_curve};
    #[pymodule_export]
    use crate::split::split_rows;
    #[pymodule_export]
    use crate::tune::tune;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::background::remember_process();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
