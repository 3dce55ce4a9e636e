//! The text that is compiled: files of CUDA C, with the numbers before them that host and device share.

/// Declares numbers that the CUDA text beside the file needs too: `NAME: type = value;`. `definitions` writes them out.
macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $value:expr;)+) => {
        $($(#[$doc])* pub const $name: $kind = $value;)+

        /// The constants above, for the text beside this file.
        pub fn definitions() -> Vec<$crate::source::Definition> {
            vec![$($crate::source::Definition::new(stringify!($name), $name)),+]
        }
    };
}

pub(crate) use constants;

#[cfg(test)]
mod compile;
#[cfg(test)]
mod cooperation;
pub mod covariance;
pub mod data_term;
#[cfg(test)]
mod data_term_on_host;
#[cfg(test)]
mod host_program;
#[cfg(test)]
mod on_host;
#[cfg(test)]
mod signature;

use std::fmt::{self, Display, Write};
use std::marker::PhantomData;

use crate::device::real::Real;
use crate::kernels::{
    Covariance, DataTerm, General, common, covariance as covariance_kernels, data_term as data_term_kernels, diagonal,
    factor, optimiser, resident, rows, symmetric,
};
use crate::launch::argument::Element;

pub const COMMON: &str = include_str!("../kernels/common.cu");
pub const HOPPER: &str = include_str!("../kernels/hopper.cu");
pub const FACTOR: &str = include_str!("../kernels/factor.cu");
pub const RESIDENT: &str = include_str!("../kernels/resident.cu");
pub const MATRIX: &str = include_str!("../kernels/matrix.cu");
pub const SYMMETRIC: &str = include_str!("../kernels/symmetric.cu");
pub const ROWS: &str = include_str!("../kernels/rows.cu");
pub const DIAGONAL: &str = include_str!("../kernels/diagonal.cu");
pub const OPTIMISER: &str = include_str!("../kernels/optimiser.cu");
pub const EXCHANGE: &str = include_str!("../kernels/exchange.cu");
pub const LIKELIHOODS: &str = include_str!("../kernels/likelihoods.cu");
pub const GAUSSIAN: &str = include_str!("../kernels/likelihood/gaussian.cu");
pub const HETEROSCEDASTIC: &str = include_str!("../kernels/likelihood/heteroscedastic.cu");
pub const STUDENT_T: &str = include_str!("../kernels/likelihood/student_t.cu");
pub const LOG_CONCAVE: &str = include_str!("../kernels/likelihood/log_concave.cu");
pub const BERNOULLI: &str = include_str!("../kernels/likelihood/bernoulli.cu");
pub const SOFTMAX: &str = include_str!("../kernels/likelihood/softmax.cu");
pub const ORDERED: &str = include_str!("../kernels/likelihood/ordered.cu");
pub const POISSON: &str = include_str!("../kernels/likelihood/poisson.cu");
pub const NEGATIVE_BINOMIAL: &str = include_str!("../kernels/likelihood/negative_binomial.cu");
pub const OBJECTIVES: &str = include_str!("../kernels/objectives.cu");
pub const DATA_TERM: &str = include_str!("../kernels/data_term.cu");
pub const PROFILES: &str = include_str!("../kernels/profiles.cu");
pub const COVARIANCE: &str = include_str!("../kernels/covariance.cu");

/// The whole text of a program with the kernels of one group.
#[derive(Clone, Debug)]
pub struct Source<G> {
    pub text: String,
    /// Whether rows are in double.
    pub is_double: bool,
    group: PhantomData<fn() -> G>,
}

impl<G> Source<G> {
    /// A text that starts with what all have in common, for rows of type `T`.
    fn new<T: Real>() -> Self {
        let is_double = T::NAME == <f64 as Element>::NAME;
        let mut source = Self { text: String::new(), is_double, group: PhantomData };
        source.define(&[Definition::new("DOUBLE", usize::from(is_double))]);
        let _ = writeln!(source.text, "#define REAL {}", T::NAME);
        source.with(&common::definitions(), COMMON)
    }

    fn define(&mut self, definitions: &[Definition]) {
        for definition in definitions {
            let _ = writeln!(self.text, "{definition}");
        }
    }

    /// The same with more text after it, and before that the numbers it needs.
    fn with(mut self, definitions: &[Definition], text: &str) -> Self {
        self.define(definitions);
        self.text.push_str(text);
        self
    }
}

impl Source<General> {
    /// The kernels that depend on nothing of a model but the precision of its rows.
    pub fn general<T: Real>() -> Self {
        Self::new::<T>()
            .with(&[], HOPPER)
            .with(&factor::definitions(), FACTOR)
            .with(&resident::definitions(), RESIDENT)
            .with(&[], MATRIX)
            .with(&symmetric::definitions(), SYMMETRIC)
            .with(&rows::definitions(), ROWS)
            .with(&diagonal::definitions(), DIAGONAL)
            .with(&optimiser::definitions(), OPTIMISER)
            .with(&[], EXCHANGE)
    }
}

impl Source<Covariance> {
    /// The kernels of a covariance function; `function` is what was written out for it.
    pub fn covariance<T: Real>(function: &str) -> Self {
        Self::new::<T>().with(&covariance_kernels::definitions(), PROFILES).with(&[], function).with(&[], COVARIANCE)
    }
}

impl Source<DataTerm> {
    /// The kernel of a data term; `sizes` are those of the terms of the likelihood, whose text is `likelihood`, and `choice` says which objective
    /// it is.
    pub fn data_term<T: Real>(sizes: &[Definition], likelihood: &str, choice: &str) -> Self {
        Self::new::<T>()
            .with(&data_term_kernels::definitions(), "")
            .with(sizes, LIKELIHOODS)
            .with(&[], likelihood)
            .with(&[], OBJECTIVES)
            .with(&[], choice)
            .with(&[], DATA_TERM)
    }
}

/// A number under a name, as the CUDA text gets it.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    pub name: &'static str,
    value: Number,
}

impl Definition {
    pub fn new(name: &'static str, value: impl Into<Number>) -> Self {
        Self { name, value: value.into() }
    }
}

impl Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Number::Count(count) => write!(f, "#define {} {count}", self.name),
            // With all the digits that tell it from its neighbours, and a point or an exponent.
            Number::Real(value) => write!(f, "#define {} ({value:?})", self.name),
        }
    }
}

/// The value of a [`Definition`].
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// An `int`.
    Count(usize),
    /// A `double`.
    Real(f64),
}

impl From<usize> for Number {
    fn from(count: usize) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `text` has `word` as a whole word.
    fn has_word(text: &str, word: &str) -> bool {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
    }

    #[test]
    fn numbers_are_written_so_that_they_are_read_back() {
        let written = |definition: Definition| definition.to_string();
        assert_eq!(written(Definition::new("STRIP", 8)), "#define STRIP 8");
        assert_eq!(written(Definition::new("EPSILON", 1e-8)), "#define EPSILON (1e-8)");
        assert_eq!(written(Definition::new("ONE", 1.0)), "#define ONE (1.0)");
        assert_eq!(written(Definition::new("LOW", -27.6)), "#define LOW (-27.6)");
    }

    #[test]
    fn every_number_that_is_written_out_is_used_in_the_text_beside_it_and_defined_nowhere_else() {
        for (definitions, text) in [
            (common::definitions(), COMMON.to_string() + MATRIX + ROWS),
            (factor::definitions(), FACTOR.to_string() + RESIDENT),
            (resident::definitions(), RESIDENT.into()),
            (symmetric::definitions(), SYMMETRIC.into()),
            (rows::definitions(), ROWS.into()),
            (diagonal::definitions(), DIAGONAL.into()),
            (optimiser::definitions(), OPTIMISER.into()),
            (
                data_term_kernels::definitions(),
                LIKELIHOODS.to_string() + GAUSSIAN + HETEROSCEDASTIC + STUDENT_T + OBJECTIVES,
            ),
            (covariance_kernels::definitions(), PROFILES.to_string() + COVARIANCE),
        ] {
            for Definition { name, .. } in definitions {
                assert!(has_word(&text, name), "{name} is used nowhere");
                assert!(!text.contains(&format!("#define {name} ")), "{name} is defined in the text too");
            }
        }
    }
}
