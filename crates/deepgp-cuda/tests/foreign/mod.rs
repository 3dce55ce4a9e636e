//! A kernel of a user's own: the squared exponential under another name, which says nothing of its form.

use deepgp::kernel::{CrossBars, Evaluate, Kernel, KernelForm, Scratch, SquaredExponential};
use deepgp::params::{Leaf, Parameters};
use deepgp::{Real, View, ViewMut};

/// A kernel that the device knows nothing of.
#[derive(Clone, Debug)]
pub struct Foreign(pub SquaredExponential);

impl Parameters for Foreign {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        self.0.visit(leaf);
    }
}

impl<T: Real> Evaluate<T> for Foreign {
    fn cross(&self, x: View<'_, T>, z: View<'_, T>, k: ViewMut<'_, T>, scratch: &mut Scratch<T>) {
        self.0.cross(x, z, k, scratch);
    }

    fn cross_pullback(
        &self,
        x: View<'_, T>,
        z: View<'_, T>,
        k: View<'_, T>,
        k_bar: ViewMut<'_, T>,
        bars: CrossBars<'_, T>,
        scratch: &mut Scratch<T>,
    ) {
        self.0.cross_pullback(x, z, k, k_bar, bars, scratch);
    }

    fn diagonal(&self, x: View<'_, T>, out: &mut [T]) {
        Evaluate::diagonal(&self.0, x, out);
    }

    fn diagonal_pullback(&self, x: View<'_, T>, bar: &[T], x_bar: Option<ViewMut<'_, T>>, theta: &mut [f64]) {
        Evaluate::diagonal_pullback(&self.0, x, bar, x_bar, theta);
    }
}

impl Kernel for Foreign {
    fn name(&self) -> String {
        "foreign".into()
    }

    fn input_width(&self) -> usize {
        self.0.input_width()
    }

    fn form(&self) -> Option<KernelForm> {
        None
    }

    fn clone_box(&self) -> Box<dyn Kernel> {
        Box::new(self.clone())
    }
}
