//! Everything that runs on the device: its CUDA text, and how each kernel of it is launched.
//!
//! Beside a file of CUDA text stands a Rust file of the same name. There [`kernels!`] declares, for each kernel, a struct of its
//! arguments under the names and in the order of the CUDA signature, and the grid that it runs on; [`constants!`] holds the numbers that
//! both sides must agree on, which are written out into the text. `signature.rs` parses the text and fails where the two have drifted
//! apart, without a GPU. `compile.rs` gives all text to NVIDIA's compiler, where there is one.

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

            impl $(<$real: $crate::device::real::Real>)? $crate::kernels::Kernel for $kernel $(<$real>)? {
                type Group = $group;
                const NAME: &'static str = $name;
                const NEEDS: $crate::kernels::Needs = $crate::kernels::needs!($($needs)?);
                const PARAMETERS: &'static [$crate::kernels::Parameter] = &[
                    $(($crate::kernels::field_name!($field), <$kind as $crate::kernels::argument::Argument>::KIND)),+
                ];

                fn grid(&self) -> $crate::kernels::Grid {
                    let $this = self;
                    $grid
                }

                fn words(&self) -> Vec<u64> {
                    vec![$($crate::kernels::argument::Argument::word(self.$field)),+]
                }
            }
        )+

        /// The kernels of this file, with rows in `f32`, so that `REAL` and `double` can be told apart.
        pub const KERNELS: &[$crate::kernels::Declaration] = &[$({
            $(type $real = f32;)?
            $crate::kernels::Declaration::of::<$kernel $(<$real>)?>()
        }),+];
    };
}

/// What a kernel asks of the device: nothing, where nothing is said.
macro_rules! needs {
    () => {
        $crate::kernels::Needs::Nothing
    };
    ($needs:ident) => {
        $crate::kernels::Needs::$needs
    };
}

/// The name of a field.
macro_rules! field_name {
    ($field:ident) => {
        stringify!($field)
    };
}

/// Declares numbers that the CUDA text beside the file needs too: `NAME: type = value;`. `definitions` writes them out.
macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $value:expr;)+) => {
        $($(#[$doc])* pub const $name: $kind = $value;)+

        /// The constants above, for the text beside this file.
        pub fn definitions() -> Vec<$crate::kernels::source::Definition> {
            vec![$($crate::kernels::source::Definition::new(stringify!($name), $name)),+]
        }
    };
}

pub(crate) use {constants, field_name, kernels, needs};

pub mod argument;
pub mod common;
#[cfg(test)]
mod compile;
pub mod covariance;
pub mod covariance_text;
pub mod data_term;
pub mod data_term_text;
pub mod matrix;
pub mod optimiser;
pub mod rows;
#[cfg(test)]
mod signature;
pub mod source;
pub mod symmetric;

use argument::Kind;
pub use source::Source;

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
    /// The same, and rows in `double`.
    HopperAndDouble,
}

impl Needs {
    /// The first compute capability, by its major number, that is enough for [`Needs::Hopper`].
    pub const HOPPER: i32 = 9;
}

/// What a program must know of a kernel to find it, and a test to compare it.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    pub name: &'static str,
    pub needs: Needs,
    #[cfg_attr(not(test), allow(dead_code, reason = "tests compare it with the CUDA text"))]
    pub parameters: &'static [Parameter],
}

impl Declaration {
    /// That of a kernel.
    pub const fn of<K: Kernel>() -> Self {
        Self { name: K::NAME, needs: K::NEEDS, parameters: K::PARAMETERS }
    }
}

/// Kernels that are compiled together.
pub trait Group {
    /// What it holds, file by file.
    const KERNELS: &'static [&'static [Declaration]];
}

/// Kernels that depend on nothing of a model but the precision of its rows.
#[derive(Debug)]
pub struct General;

impl Group for General {
    const KERNELS: &'static [&'static [Declaration]] =
        &[matrix::KERNELS, symmetric::KERNELS, rows::KERNELS, optimiser::KERNELS];
}

/// Kernels that are written out for one covariance function and one input width.
#[derive(Debug)]
pub struct Covariance;

impl Group for Covariance {
    const KERNELS: &'static [&'static [Declaration]] = &[covariance::KERNELS];
}

/// The kernel that is written out for one objective and one likelihood.
#[derive(Debug)]
pub struct DataTerm;

impl Group for DataTerm {
    const KERNELS: &'static [&'static [Declaration]] = &[data_term::KERNELS];
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
        Self::new((n.div_ceil(common::BLOCK), 1), common::BLOCK)
    }

    /// A warp for each of `n` sums.
    pub fn warps(n: usize) -> Self {
        Self::each(n * common::WARP)
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
