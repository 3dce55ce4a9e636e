//! The probe of the linear-algebra library: products of fixed matrices in both precisions, and factorisations, on this machine.

use faer::linalg::{matmul::matmul, triangular_inverse::invert_lower_triangular};
use faer::traits::RealField;
use faer::{Accum, Mat, Par, Side};

/// Shapes `[m, k] × [k, n]` of the products: those of small layers, and a block of rows.
const SHAPES: [[usize; 3]; 6] = [[1, 5, 1], [3, 7, 2], [9, 9, 5], [15, 15, 15], [30, 41, 12], [128, 10, 24]];

/// Names and numbers of the results.
pub fn products() -> Vec<(&'static str, Vec<f64>)> {
    let square = matrix(15, 15, 3);
    let positive = &square * square.transpose() + Mat::<f64>::identity(15, 15);
    let factor = positive.llt(Side::Lower).expect("squares and the identity add up to a positive definite matrix");
    let mut inverse = Mat::zeros(15, 15);
    invert_lower_triangular(inverse.as_mut(), factor.L(), Par::Seq);
    let axes = positive.self_adjoint_eigen(Side::Lower).expect("a symmetric matrix has eigenvectors");
    vec![
        ("product", SHAPES.into_iter().flat_map(|shape| product(shape, |v| v, |v| v)).collect()),
        ("product.single", SHAPES.into_iter().flat_map(|shape| product(shape, |v| v as f32, f64::from)).collect()),
        ("factor", flat(&factor.L().to_owned(), |v| v)),
        ("inverse", flat(&inverse, |v| v)),
        ("axes", flat(&axes.U().to_owned(), |v| v)),
    ]
}

fn product<T: RealField + Copy>([m, k, n]: [usize; 3], of: fn(f64) -> T, back: fn(T) -> f64) -> Vec<f64> {
    let narrow = |from: Mat<f64>| Mat::from_fn(from.nrows(), from.ncols(), |i, j| of(from[(i, j)]));
    let (a, b, mut out) = (narrow(matrix(m, k, 1)), narrow(matrix(n, k, 2)), narrow(Mat::zeros(m, n)));
    matmul(out.as_mut(), Accum::Replace, a.as_ref(), b.transpose(), of(1.0), Par::Seq);
    flat(&out, back)
}

/// Numbers in (−1, 1) without a pattern, by a linear congruential generator.
fn matrix(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
    let mut state = seed;
    Mat::from_fn(rows, columns, |_, _| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}

fn flat<T: Copy>(m: &Mat<T>, back: fn(T) -> f64) -> Vec<f64> {
    (0..m.ncols()).flat_map(|j| (0..m.nrows()).map(move |i| back(m[(i, j)]))).collect()
}
