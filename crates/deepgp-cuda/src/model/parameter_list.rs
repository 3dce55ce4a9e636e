//! Where parameters stand in the flat vector: by their names, in the one list that the library keeps of a model's parameters.

use std::ops::Range;

use deepgp::{DeepGp, Error};

use crate::fault::{Fault, Outcome};

/// The places of a model's parameters. Whoever needs one takes it, by name and length; at the end nothing may be left.
#[derive(Debug)]
pub struct ParameterList {
    left: Vec<(String, Range<usize>)>,
    numbers: usize,
}

impl ParameterList {
    /// All parameters of a model.
    pub fn new(model: &DeepGp) -> Self {
        Self::of(model.parameters().into_iter().map(|parameter| (parameter.name, parameter.range)).collect())
    }

    fn of(left: Vec<(String, Range<usize>)>) -> Self {
        let numbers = left.last().map_or(0, |(_, range)| range.end);
        Self { left, numbers }
    }

    /// How many numbers there are in the flat vector.
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// The parameters of a part of a model alone, under the name that the part has.
    #[cfg(test)]
    pub fn of_part(name: &str, part: &mut (impl deepgp::params::Parameters + ?Sized)) -> Self {
        let (mut left, mut at) = (Vec::new(), 0);
        deepgp::params::visit_under(name, part, &mut |leaf| {
            left.push((leaf.name.to_string(), at..at + leaf.values.len()));
            at += leaf.values.len();
        });
        Self::of(left)
    }

    /// Takes the parameter of this name, which must have `len` numbers.
    pub fn take(&mut self, name: &str, len: usize) -> Outcome<Range<usize>> {
        let found = self.left.iter().position(|(listed, _)| listed == name).map(|at| self.left.remove(at).1);
        match found {
            Some(range) if range.len() == len => Ok(range),
            other => {
                let found = other.map_or_else(|| "none".into(), |range| range.len().to_string());
                Err(mismatch(format!("`{name}` of {len} numbers"), found))
            }
        }
    }

    /// Fails if a parameter was not taken: the device would leave it where it is, and its gradient at 0.
    pub fn finish(self) -> Outcome<()> {
        match self.left.first() {
            None => Ok(()),
            Some((name, _)) => Err(Fault::Device(format!(
                "the parameter `{name}` was not written for this device; compute this model on the CPU"
            ))),
        }
    }
}

/// One range of several that follow one another.
pub fn joined(ranges: &[Range<usize>]) -> Outcome<Range<usize>> {
    for pair in ranges.windows(2) {
        if pair[0].end != pair[1].start {
            return Err(mismatch(format!("parameters from {} on", pair[0].end), pair[1].start.to_string()));
        }
    }
    match ranges {
        [] => Ok(0..0),
        [first, ..] => Ok(first.start..ranges[ranges.len() - 1].end),
    }
}

/// The error of a model whose parameters are not those that the device expects.
pub fn mismatch(expected: String, found: String) -> Fault {
    Error::Shape { what: "the model on the device", expected, found }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::kernel::{Kernel, RationalQuadratic};

    fn list() -> ParameterList {
        let mut kernel: Box<dyn Kernel> = Box::new(RationalQuadratic::new(1.0, vec![1.0, 2.0], 0.3));
        ParameterList::of_part("layers.0.kernel", &mut *kernel)
    }

    #[test]
    fn parameters_are_taken_by_name_and_none_may_be_left() {
        let mut all = list();
        assert_eq!(all.take("layers.0.kernel.variance", 1).unwrap(), 2..3);
        assert_eq!(all.take("layers.0.kernel.lengthscales", 2).unwrap(), 0..2);
        let Err(Fault::Device(message)) = all.finish() else { panic!() };
        assert!(message.contains("`layers.0.kernel.alpha` was not written for this device"), "{message}");
    }

    #[test]
    fn another_length_or_an_unknown_name_is_an_error() {
        let message = |outcome: Outcome<_>| outcome.unwrap_err().on("cuda").to_string();
        let found = message(list().take("layers.0.kernel.lengthscales", 3));
        assert!(found.contains("`layers.0.kernel.lengthscales` of 3 numbers") && found.contains('2'), "{found}");
        assert!(message(list().take("noise", 1)).contains("`noise`"));
        let mut twice = list();
        twice.take("layers.0.kernel.alpha", 1).unwrap();
        assert!(twice.take("layers.0.kernel.alpha", 1).is_err());
    }

    #[test]
    fn only_ranges_that_follow_one_another_are_joined() {
        assert_eq!(joined(&[3..5, 5..6, 6..9]).unwrap(), 3..9);
        assert!(joined(&[3..5, 6..9]).is_err());
        assert_eq!(joined(&[]).unwrap(), 0..0);
    }
}
