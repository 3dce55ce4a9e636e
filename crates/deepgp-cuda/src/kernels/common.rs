//! What every program starts with: the sizes of warps and blocks, and the structs that host and device share.

use crate::launch::argument::Element;
#[cfg(test)]
use crate::launch::argument::{Argument, Kind};

crate::source::constants! {
    /// Threads that run in lockstep.
    WARP: usize = 32;
    /// Threads of a block where each has one number to compute.
    BLOCK: usize = 256;
}

/// Declares a struct that the host writes and the device reads; `common.cu` has the same fields in the same order, and both sides lay
/// them out by the rules of C.
macro_rules! shared_struct {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $kind:ty,)+ }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name {
            $($(#[$of])* pub $field: $kind,)+
        }

        impl Element for $name {
            const NAME: &'static str = stringify!($name);
        }

        #[cfg(test)]
        impl $name {
            /// Names and types of the fields.
            pub const FIELDS: &'static [(&'static str, Kind)] =
                &[$((stringify!($field), <$kind as Argument>::KIND)),+];
        }
    };
}

shared_struct! {
    /// What the host says of one step.
    Step {
        /// Adam's learning rate, corrected for its short memory.
        rate: f64,
        /// The factor on the KL.
        kl_weight: f64,
        /// Rows of the data that one row of the batch stands for: `num_data / rows`.
        scale: f64,
        /// The faithfulness of the faithful objective.
        faithfulness: f64,
        /// The step's number, which the noise hangs on.
        number: u32,
        /// Rows that count; those after them fill up the batch.
        live: u32,
        /// The number of this process's first row among those of all, which the noise hangs on.
        offset: u64,
    }
}

shared_struct! {
    /// What goes on from step to step on the device.
    Control {
        /// Which of the steps that were given out is next.
        cursor: u32,
        /// Whether this step may update.
        go: i32,
        /// A step failed: nothing moves until the host has seen it.
        halted: i32,
        /// The gradient has a number that is not finite.
        bad: i32,
        /// Variances at the floor.
        clamped: i32,
        /// Blocks of the update that have ended.
        done: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_structs_have_no_gaps() {
        assert_eq!((size_of::<Step>(), size_of::<Control>()), (48, 24));
    }
}
