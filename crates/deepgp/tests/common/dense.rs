//! Naive dense algebra, written for clarity and sharing nothing with the library's.

use deepgp::Mat;

pub fn mul(a: &Mat, b: &Mat) -> Mat {
    assert_eq!(a.ncols(), b.nrows());
    Mat::from_fn(a.nrows(), b.ncols(), |i, j| (0..a.ncols()).map(|k| a[(i, k)] * b[(k, j)]).sum())
}

pub fn t(a: &Mat) -> Mat {
    Mat::from_fn(a.ncols(), a.nrows(), |i, j| a[(j, i)])
}

pub fn add(a: &Mat, scale: f64, b: &Mat) -> Mat {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)] + scale * b[(i, j)])
}

pub fn trace(a: &Mat) -> f64 {
    (0..a.nrows()).map(|i| a[(i, i)]).sum()
}

/// Gauss and Jordan with pivoting; the determinant's logarithm comes with it.
pub fn inverse_and_log_det(a: &Mat) -> (Mat, f64) {
    let n = a.nrows();
    let (mut left, mut right, mut log_det) = (a.clone(), Mat::identity(n), 0.0);
    for column in 0..n {
        let pivot = (column..n).max_by(|&i, &j| left[(i, column)].abs().total_cmp(&left[(j, column)].abs())).unwrap();
        for k in 0..n {
            let swap = |m: &mut Mat| (m[(column, k)], m[(pivot, k)]) = (m[(pivot, k)], m[(column, k)]);
            swap(&mut left);
            swap(&mut right);
        }
        let by = left[(column, column)];
        log_det += by.abs().ln();
        for k in 0..n {
            left[(column, k)] /= by;
            right[(column, k)] /= by;
        }
        for i in (0..n).filter(|i| *i != column) {
            let factor = left[(i, column)];
            for k in 0..n {
                left[(i, k)] -= factor * left[(column, k)];
                right[(i, k)] -= factor * right[(column, k)];
            }
        }
    }
    (right, log_det)
}

pub fn inverse(a: &Mat) -> Mat {
    inverse_and_log_det(a).0
}

pub fn log_det(a: &Mat) -> f64 {
    inverse_and_log_det(a).1
}

/// Cholesky, entry by entry.
pub fn cholesky(a: &Mat) -> Mat {
    let n = a.nrows();
    let mut l = Mat::zeros(n, n);
    for i in 0..n {
        for j in 0..=i {
            let rest: f64 = a[(i, j)] - (0..j).map(|k| l[(i, k)] * l[(j, k)]).sum::<f64>();
            l[(i, j)] = if i == j { rest.sqrt() } else { rest / l[(j, j)] };
        }
    }
    l
}

/// `σ² exp(−½ Σ_d ((x_d − z_d) / ℓ_d)²)`.
pub fn squared_exponential(x: &Mat, z: &Mat, variance: f64, lengthscales: &[f64]) -> Mat {
    Mat::from_fn(x.nrows(), z.nrows(), |i, j| {
        let r2: f64 = (0..x.ncols()).map(|d| ((x[(i, d)] - z[(j, d)]) / lengthscales[d]).powi(2)).sum();
        variance * (-0.5 * r2).exp()
    })
}

/// `KL[N(mean, covariance) ‖ N(0, prior)]`.
pub fn gaussian_kl(mean: &Mat, covariance: &Mat, prior: &Mat) -> f64 {
    let (inverse, log_det_prior) = inverse_and_log_det(prior);
    let quadratic = mul(&mul(&t(mean), &inverse), mean)[(0, 0)];
    0.5 * (trace(&mul(&inverse, covariance)) + quadratic - mean.nrows() as f64 + log_det_prior - log_det(covariance))
}

/// Column `j` as a matrix.
pub fn column(a: &Mat, j: usize) -> Mat {
    Mat::from_fn(a.nrows(), 1, |i, _| a[(i, j)])
}

/// Block `p` of square matrices that stand one below the other.
pub fn block(stack: &Mat, p: usize) -> Mat {
    let m = stack.ncols();
    Mat::from_fn(m, m, |i, j| stack[(p * m + i, j)])
}
