//! Kernels between rows and inducing inputs: `k(x, Z)` as products and functions of distances.

use deepgp::kernel::{Kernel, KernelForm};
use deepgp::{KernelChoice, Mat};

use super::OnnxError;
use super::graph::{Graph, Tensor};

/// `k(x, Z)`, `[N, M]`, for rows `x` `[N, D]`.
pub fn cross(graph: &mut Graph, kernel: &dyn Kernel, x: &Tensor, z: &Mat) -> Result<Tensor, OnnxError> {
    let Some(form) = kernel.form() else {
        return Err(OnnxError::Unsupported {
            what: format!("the kernel {}", kernel.name()),
            advice: "only the library's own kernels are; fit a model with one of them",
        });
    };
    let mut arrays = Vec::new();
    kernel.clone_box().visit(&mut |leaf| arrays.push((leaf.name.to_string(), leaf.values.to_vec())));
    Ok(of_form(graph, &form, &mut arrays.into_iter(), x, z))
}

/// The arrays of a kernel's parameters, in their order.
type Arrays = std::vec::IntoIter<(String, Vec<f64>)>;

/// The kernel of a form, which takes its parameters from `arrays`.
fn of_form(graph: &mut Graph, form: &KernelForm, arrays: &mut Arrays, x: &Tensor, z: &Mat) -> Tensor {
    match form {
        KernelForm::One(choice) => {
            let count = if *choice == KernelChoice::RationalQuadratic { 3 } else { 2 };
            let own: Vec<(String, Vec<f64>)> = arrays.take(count).collect();
            let find = |name: &str| {
                let named = own.iter().find(|(full, _)| full.rsplit('.').next() == Some(name));
                named.map_or(&[][..], |(_, values)| values)
            };
            let squared = squared_distances(graph, find("lengthscales"), x, z);
            let shape = profile(graph, *choice, find("alpha"), &squared);
            graph.scale(&shape, find("variance")[0])
        }
        KernelForm::Sum(parts) => {
            let all: Vec<Tensor> = parts.iter().map(|part| of_form(graph, part, arrays, x, z)).collect();
            joined(all, |a, b| graph.add(&a, &b))
        }
        KernelForm::Product(parts) => {
            let all: Vec<Tensor> = parts.iter().map(|part| of_form(graph, part, arrays, x, z)).collect();
            joined(all, |a, b| graph.multiply(&a, &b))
        }
    }
}

/// The parts joined one after the other.
fn joined(parts: Vec<Tensor>, join: impl FnMut(Tensor, Tensor) -> Tensor) -> Tensor {
    parts.into_iter().reduce(join).expect("a combination has parts")
}

/// `r² = Σ_d ((x_d − z_d) / ℓ_d)²` as `|x/ℓ|² + |z/ℓ|² − 2 (x/ℓ)·(z/ℓ)`, and no less than 0.
fn squared_distances(graph: &mut Graph, lengthscales: &[f64], x: &Tensor, z: &Mat) -> Tensor {
    let scaled = Mat::from_fn(z.nrows(), z.ncols(), |i, d| z[(i, d)] / lengthscales[d]);
    let lengths: Vec<f64> = (0..z.nrows()).map(|i| scaled.row(i).iter().map(|v| v * v).sum()).collect();
    let lengthscales = graph.row(lengthscales);
    let x = graph.divide(x, &lengthscales);
    let squares = graph.multiply(&x, &x);
    let of_rows = graph.sum(&squares, 1);
    let of_inducing = graph.row(&lengths);
    let minus_twice = graph.matrix(&scaled.transposed().map(|v: f64| -2.0 * v));
    let mixed = graph.product(&x, &minus_twice);
    let with_rows = graph.add(&mixed, &of_rows);
    let all = graph.add(&with_rows, &of_inducing);
    graph.at_least(&all, 0.0)
}

/// The kernel as a function of `r²`, 1 at 0.
fn profile(graph: &mut Graph, choice: KernelChoice, alpha: &[f64], squared: &Tensor) -> Tensor {
    // exp(−√ν r), and √ν r.
    let decay = |graph: &mut Graph, nu: f64| {
        let scaled = graph.scale(squared, nu);
        let r = graph.root(&scaled);
        let minus = graph.scale(&r, -1.0);
        (graph.exp(&minus), r)
    };
    match choice {
        KernelChoice::SquaredExponential => {
            let exponent = graph.scale(squared, -0.5);
            graph.exp(&exponent)
        }
        KernelChoice::Matern12 => decay(graph, 1.0).0,
        KernelChoice::Matern32 => {
            let (decay, r) = decay(graph, 3.0);
            let factor = graph.shift(&r, 1.0);
            graph.multiply(&factor, &decay)
        }
        KernelChoice::Matern52 => {
            let (decay, r) = decay(graph, 5.0);
            let square = graph.scale(squared, 5.0 / 3.0);
            let linear = graph.shift(&r, 1.0);
            let factor = graph.add(&linear, &square);
            graph.multiply(&factor, &decay)
        }
        KernelChoice::RationalQuadratic => {
            let over = graph.scale(squared, 0.5 / alpha[0]);
            let one_more = graph.shift(&over, 1.0);
            let logarithm = graph.ln(&one_more);
            let exponent = graph.scale(&logarithm, -alpha[0]);
            graph.exp(&exponent)
        }
    }
}
