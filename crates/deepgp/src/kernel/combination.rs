//! Sums and products of kernels. Both are kernels again, so they nest.

use super::{CrossBars, Evaluate, Kernel, KernelForm, Scratch};
use crate::error::{Error, Result};
use crate::model::params::{self, Leaf, Parameters, visit_under};
use crate::numeric::mat::{View, ViewMut};
use crate::numeric::real::Real;

/// A sum `k_1 + k_2 + …` or a product `k_1 · k_2 · …` of kernels over the same inputs.
#[derive(Clone, Debug)]
pub struct Combination {
    /// Whether the parts are added or multiplied.
    rule: Rule,
    /// The kernels `k_1, k_2, …`.
    parts: Vec<Box<dyn Kernel>>,
    /// The number of parameters of each part.
    counts: Vec<usize>,
}

/// How the values of the parts become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// `k = Σ_i k_i`.
    Sum,
    /// `k = Π_i k_i`.
    Product,
}

impl Combination {
    /// Adds kernels. Fails if there is none, or if their inputs differ in width.
    pub fn sum(parts: Vec<Box<dyn Kernel>>) -> Result<Self> {
        Self::new(Rule::Sum, parts)
    }

    /// Multiplies kernels. Fails if there is none, or if their inputs differ in width.
    pub fn product(parts: Vec<Box<dyn Kernel>>) -> Result<Self> {
        Self::new(Rule::Product, parts)
    }

    /// The combination by `rule`, with the checks that sums and products share.
    fn new(rule: Rule, mut parts: Vec<Box<dyn Kernel>>) -> Result<Self> {
        let widths: Vec<usize> = parts.iter().map(|k| k.input_width()).collect();
        if widths.is_empty() || widths.iter().any(|w| *w != widths[0]) {
            return Err(Error::Shape {
                what: "kernels to combine",
                expected: "at least one, all over inputs of one width".into(),
                found: format!("widths {widths:?}"),
            });
        }
        let counts = parts.iter_mut().map(|k| params::count(&mut **k)).collect();
        Ok(Self { rule, parts, counts })
    }

    /// Writes `Σ_i k_i` or `Π_i k_i`, entry by entry; `all` holds the parts' values, one array after the other.
    fn join<T: Real>(&self, all: &[T], out: &mut [T]) {
        let mut parts = all.chunks_exact(out.len().max(1));
        if let Some(first) = parts.next() {
            out.copy_from_slice(first);
        }
        for part in parts {
            for (to, &from) in out.iter_mut().zip(part) {
                *to = if self.rule == Rule::Sum { *to + from } else { *to * from };
            }
        }
    }

    /// Writes to `own_bar` the gradient that reaches part `own` of a gradient `bar`: `k̄_i = k̄` in a sum, `k̄_i = k̄ Π_{j ≠ i} k_j` in a
    /// product.
    fn join_pullback<T: Real>(&self, bar: &[T], all: &[T], own: usize, own_bar: &mut [T]) {
        own_bar.copy_from_slice(bar);
        if self.rule == Rule::Product {
            for (i, part) in all.chunks_exact(bar.len().max(1)).enumerate() {
                if i != own {
                    for (to, &factor) in own_bar.iter_mut().zip(part) {
                        *to *= factor;
                    }
                }
            }
        }
    }

    /// Each part with its number and its own range of `theta`.
    fn split<'a>(&'a self, mut theta: &'a mut [f64]) -> impl Iterator<Item = (usize, &'a dyn Kernel, &'a mut [f64])> {
        self.parts.iter().zip(&self.counts).enumerate().map(move |(i, (part, count))| {
            let (own, rest) = std::mem::take(&mut theta).split_at_mut(*count);
            theta = rest;
            (i, &**part, own)
        })
    }

    /// Every part's kernel matrix `k_i(x, z)`, one after the other.
    fn each_cross<T: Real>(&self, x: View<'_, T>, z: View<'_, T>, scratch: &mut Scratch<T>) -> Vec<T> {
        let (n, m) = (x.nrows(), z.nrows());
        let mut all = scratch.take(n * m * self.parts.len());
        for (part, k) in self.parts.iter().zip(all.chunks_exact_mut((n * m).max(1))) {
            T::evaluator(&**part).cross(x, z, ViewMut::new(k, n, m), scratch);
        }
        all
    }

    /// Every part's prior variances `k_i(x_n, x_n)`, one array after the other.
    fn each_diagonal<T: Real>(&self, x: View<'_, T>) -> Vec<T> {
        let mut all = vec![T::ZERO; x.nrows() * self.parts.len()];
        for (part, own) in self.parts.iter().zip(all.chunks_exact_mut(x.nrows().max(1))) {
            T::evaluator(&**part).diagonal(x, own);
        }
        all
    }

    /// Every part's Gram matrix `k_i(z, z)`, one after the other.
    fn each_gram(&self, z: View<'_>, scratch: &mut Scratch<f64>) -> Vec<f64> {
        let m = z.nrows();
        let mut all = scratch.take(m * m * self.parts.len());
        for (part, k) in self.parts.iter().zip(all.chunks_exact_mut((m * m).max(1))) {
            part.gram(z, ViewMut::new(k, m, m), scratch);
        }
        all
    }
}

impl Parameters for Combination {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        for (i, part) in self.parts.iter_mut().enumerate() {
            visit_under(&i.to_string(), &mut **part, leaf);
        }
    }
}

impl<T: Real> Evaluate<T> for Combination {
    fn cross(&self, x: View<'_, T>, z: View<'_, T>, mut k: ViewMut<'_, T>, scratch: &mut Scratch<T>) {
        let all = self.each_cross(x, z, scratch);
        self.join(&all, k.as_mut_slice());
        scratch.give(all);
    }

    fn cross_pullback(
        &self,
        x: View<'_, T>,
        z: View<'_, T>,
        _k: View<'_, T>,
        k_bar: ViewMut<'_, T>,
        mut bars: CrossBars<'_, T>,
        scratch: &mut Scratch<T>,
    ) {
        let (n, m) = (x.nrows(), z.nrows());
        let all = self.each_cross(x, z, scratch);
        let mut own_bar = scratch.take(n * m);
        for (i, part, theta) in self.split(bars.theta) {
            self.join_pullback(k_bar.as_view().as_slice(), &all, i, &mut own_bar);
            let own = CrossBars { x: bars.x.as_mut().map(ViewMut::reborrow), z: bars.z.reborrow(), theta };
            let k = View::new(&all[i * n * m..(i + 1) * n * m], n, m);
            T::evaluator(part).cross_pullback(x, z, k, ViewMut::new(&mut own_bar, n, m), own, scratch);
        }
        scratch.give(own_bar);
        scratch.give(all);
    }

    fn diagonal(&self, x: View<'_, T>, out: &mut [T]) {
        self.join(&self.each_diagonal(x), out);
    }

    fn diagonal_pullback(
        &self,
        x: View<'_, T>,
        diagonal_bar: &[T],
        mut x_bar: Option<ViewMut<'_, T>>,
        theta_bar: &mut [f64],
    ) {
        let all = self.each_diagonal(x);
        let mut own_bar = diagonal_bar.to_vec();
        for (i, part, theta) in self.split(theta_bar) {
            self.join_pullback(diagonal_bar, &all, i, &mut own_bar);
            T::evaluator(part).diagonal_pullback(x, &own_bar, x_bar.as_mut().map(ViewMut::reborrow), theta);
        }
    }
}

impl Kernel for Combination {
    fn name(&self) -> String {
        let names: Vec<String> = self.parts.iter().map(|k| k.name()).collect();
        format!("({})", names.join(if self.rule == Rule::Sum { " + " } else { " * " }))
    }

    fn input_width(&self) -> usize {
        self.parts[0].input_width()
    }

    fn form(&self) -> Option<KernelForm> {
        let parts = self.parts.iter().map(|part| part.form()).collect::<Option<Vec<_>>>()?;
        Some(if self.rule == Rule::Sum { KernelForm::Sum(parts) } else { KernelForm::Product(parts) })
    }

    fn clone_box(&self) -> Box<dyn Kernel> {
        Box::new(self.clone())
    }

    /// The sum or product of the parts' own Gram matrices, which take more care with close points than `cross` does.
    fn gram(&self, z: View<'_>, mut k: ViewMut<'_>, scratch: &mut Scratch<f64>) {
        let all = self.each_gram(z, scratch);
        self.join(&all, k.as_mut_slice());
        scratch.give(all);
    }

    fn gram_pullback(
        &self,
        z: View<'_>,
        _k: View<'_>,
        k_bar: ViewMut<'_>,
        mut z_bar: ViewMut<'_>,
        theta_bar: &mut [f64],
        scratch: &mut Scratch<f64>,
    ) {
        let m = z.nrows();
        let all = self.each_gram(z, scratch);
        let mut own_bar = scratch.take(m * m);
        for (i, part, theta) in self.split(theta_bar) {
            self.join_pullback(k_bar.as_view().as_slice(), &all, i, &mut own_bar);
            let k = View::new(&all[i * m * m..(i + 1) * m * m], m, m);
            part.gram_pullback(z, k, ViewMut::new(&mut own_bar, m, m), z_bar.reborrow(), theta, scratch);
        }
        scratch.give(own_bar);
        scratch.give(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::SquaredExponential;

    #[test]
    fn kernels_over_different_inputs_cannot_be_combined() {
        let message = Combination::sum(vec![
            Box::new(SquaredExponential::new(1.0, vec![1.0])),
            Box::new(SquaredExponential::new(1.0, vec![1.0, 1.0])),
        ])
        .unwrap_err()
        .to_string();
        assert!(message.contains("[1, 2]"), "{message}");
        assert!(Combination::product(vec![]).is_err());
    }
}
