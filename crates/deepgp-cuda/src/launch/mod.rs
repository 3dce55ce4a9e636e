//! How a kernel is launched: as a struct of its arguments, which knows its name, its signature and its grid.

/// Declares the kernels of a file of CUDA text.
///
/// ```text
/// kernels! {
///     Group;
///     /// What it computes.
///     "name" => Kernel<T> { from: Span<T>, n: usize } over { count: usize }: |k| Grid::each(k.n);
/// }
/// ```
///
/// `Group` is the program that the kernel is compiled in. Fields in the first braces are its arguments; those after `over` only shape its
/// grid. `requires Hopper` after the name is a [`Needs`].
macro_rules! kernels {
    ($group:ty; $(
        $(#[$doc:meta])*
        $name:literal $(requires $needs:ident)? => $kernel:ident $(<$real:ident>)? { $($field:ident: $kind:ty),+ $(,)? }
        $(over { $($extent:ident: $count:ty),+ $(,)? })? : |$this:ident| $grid:expr;
    )+) => {
        $(
            $(#[$doc])*
            pub struct $kernel $(<$real>)? {
                $(pub $field: $kind,)+
                $($(pub $extent: $count,)+)?
            }

            impl $(<$real: $crate::device::real::Real>)? $crate::launch::Kernel for $kernel $(<$real>)? {
                type Group = $group;
                const NAME: &'static str = $name;
                const NEEDS: $crate::launch::Needs = $crate::launch::needs!($($needs)?);
                const PARAMETERS: &'static [$crate::launch::Parameter] = &[
                    $((stringify!($field), <$kind as $crate::launch::argument::Argument>::KIND)),+
                ];

                fn grid(&self) -> $crate::launch::Grid {
                    let $this = self;
                    $grid
                }

                fn words(&self) -> Vec<u64> {
                    vec![$($crate::launch::argument::Argument::word(self.$field)),+]
                }
            }
        )+

        /// The kernels of this file, with rows in `f32`, so that `REAL` and `double` can be told apart.
        pub const KERNELS: &[$crate::launch::Declaration] = &[$({
            $(type $real = f32;)?
            $crate::launch::Declaration::of::<$kernel $(<$real>)?>()
        }),+];
    };
}

/// What a kernel asks of the device: nothing, where nothing is said.
macro_rules! needs {
    () => {
        $crate::launch::Needs::Nothing
    };
    ($needs:ident) => {
        $crate::launch::Needs::$needs
    };
}

pub(crate) use {kernels, needs};

pub mod argument;

use crate::kernels::common::{BLOCK, WARP};
use argument::Kind;

/// A parameter of a kernel: its name and type in CUDA C.
pub type Parameter = (&'static str, Kind);

/// A kernel and the arguments of one launch.
pub trait Kernel {
    /// The program that it is compiled in.
    type Group: Group;
    /// Its name in the CUDA text.
    const NAME: &'static str;
    /// What it asks of the device.
    const NEEDS: Needs;
    /// Its parameters, in the order of the CUDA signature.
    const PARAMETERS: &'static [Parameter];

    /// How many blocks and threads it runs on.
    fn grid(&self) -> Grid;

    /// Its arguments, in the order of [`Kernel::PARAMETERS`].
    fn words(&self) -> Vec<u64>;
}

/// What a kernel asks of the device beyond what every device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: every device runs it.
    Nothing,
    /// Clusters of blocks and fast matrix units for doubles.
    Hopper,
    /// What [`Needs::Hopper`] asks, and rows in `double`.
    HopperAndDouble,
}

impl Needs {
    /// Whether a device has it; `major` is the major number of its compute capability.
    pub fn met(self, major: i32, rows_are_double: bool) -> bool {
        let hopper = major >= 9;
        match self {
            Self::Nothing => true,
            Self::Hopper => hopper,
            Self::HopperAndDouble => hopper && rows_are_double,
        }
    }
}

/// A kernel's name and signature, without arguments.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    pub name: &'static str,
    pub needs: Needs,
    #[cfg_attr(not(test), allow(dead_code, reason = "tests compare it with the CUDA text"))]
    pub parameters: &'static [Parameter],
}

impl Declaration {
    /// The declaration of a kernel.
    pub const fn of<K: Kernel>() -> Self {
        Self { name: K::NAME, needs: K::NEEDS, parameters: K::PARAMETERS }
    }
}

/// Kernels that are compiled together.
pub trait Group {
    /// The kernels of the group, file by file.
    const KERNELS: &'static [&'static [Declaration]];
}

/// Blocks and threads that a kernel runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    pub blocks: (usize, usize),
    pub threads: usize,
    /// Bytes of memory that each block's threads share, beside what the kernel declares itself.
    pub shared: usize,
}

impl Grid {
    /// So many blocks, in two directions, of so many threads.
    pub fn new(blocks: (usize, usize), threads: usize) -> Self {
        Self { blocks, threads, shared: 0 }
    }

    /// A thread for each of `n` numbers.
    pub fn each(n: usize) -> Self {
        Self::new((n.div_ceil(BLOCK), 1), BLOCK)
    }

    /// A warp for each of `n` sums.
    pub fn warps(n: usize) -> Self {
        Self::each(n * WARP)
    }

    /// The same with so many bytes of shared memory.
    pub fn sharing(self, bytes: usize) -> Self {
        Self { shared: bytes, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_cover_what_they_are_for() {
        assert_eq!(Grid::each(257), Grid::new((2, 1), 256));
        assert_eq!(Grid::each(0).blocks, (0, 1));
        assert_eq!(Grid::warps(9), Grid::new((2, 1), 256));
        assert_eq!(Grid::each(1).sharing(64).shared, 64);
    }
}
