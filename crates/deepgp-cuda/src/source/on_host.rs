//! Device functions run on the host: CUDA text without clusters or matrix units is C++ but for a few words, so a C++ compiler makes a
//! program of it, in which every block has one thread. So formulas are compared with the library's where there is no GPU; where there is
//! no C++ compiler either, the tests say that they were skipped. Those of the data term are in `data_term_on_host.rs`.

use std::fmt::Write as _;

use deepgp::KernelChoice;
use deepgp::kernel::{Evaluate, KernelForm, Scratch};
use deepgp::{Mat, View};

use super::covariance::CovarianceText;
use super::host_program::{array, run_program};

/// CUDA's words for C++, with one thread in each block: sums over a warp or a block are the thread's own number.
const CUDA_WORDS: &str = r#"
#include <cmath>
#include <cstddef>
#include <cstdio>
using std::isfinite;
#define __device__
#define __constant__ static const
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
struct Place { unsigned x, y; };
static Place threadIdx, blockIdx, blockDim = {1, 1}, gridDim = {1, 1};
static void __syncthreads() {}
template <class T> static T __shfl_down_sync(unsigned, T, int) { return 0; }
static void print(const double *numbers, int n) { for (int i = 0; i < n; i++) printf(" %.17g", numbers[i]); }
"#;

/// What a program prints that is made of `text` and the statements `main`, or `None` after saying that `test` is skipped.
pub fn run(test: &str, text: &str, main: &str) -> Option<Vec<f64>> {
    run_program(test, &format!("{CUDA_WORDS}{text}"), main)
}

#[test]
fn stationary_kernels_are_the_librarys_and_their_slopes_are_slopes() {
    let choices = [
        KernelChoice::SquaredExponential,
        KernelChoice::Matern12,
        KernelChoice::Matern32,
        KernelChoice::Matern52,
        KernelChoice::RationalQuadratic,
    ];
    // All at once, as the leaves of a sum.
    let form = KernelForm::Sum(choices.map(KernelForm::One).to_vec());
    let source = CovarianceText::alone(&form, 1).source::<f64>();
    let squares = [0.01, 0.3, 1.0, 4.0, 30.0, 90.0, 8000.0];
    let mut main = array("double", "squares", &squares);
    let _ = write!(
        main,
        "    const double shape = 1, h = 1e-6;
    for (int leaf = 0; leaf < LEAVES; leaf++)
        for (int i = 0; i < {}; i++) {{
            const double r2 = squares[i], g = profile<double>(leaf, r2, shape);
            const double up = profile<double>(leaf, r2 * (1 + h), shape), down = profile<double>(leaf, r2 * (1 - h), shape);
            const double more = profile<double>(leaf, r2, shape + h), less = profile<double>(leaf, r2, shape - h);
            const double out[] = {{g, slope<double>(leaf, r2, g, shape), (up - down) / (2 * h * r2),
                                  shape_slope<double>(leaf, r2, g, shape), (more - less) / (2 * h)}};
            print(out, 5);
        }}
",
        squares.len()
    );
    // Only the functions that were written out, not the kernels, which work together in blocks.
    let functions = source.text.split("// Kernel matrices and their pullbacks").next().unwrap();
    let Some(found) = run("stationary kernels", functions, &main) else { return };
    let mut found = found.chunks_exact(5);
    for choice in choices {
        let kernel = choice.start(1);
        let (variance, lengthscale) = {
            let mut parameters = std::collections::HashMap::new();
            kernel.clone_box().visit(&mut |leaf| _ = parameters.insert(leaf.name.to_string(), leaf.values[0]));
            assert!(parameters.get("alpha").is_none_or(|alpha| *alpha == 1.0), "the shape above is the starting one");
            (parameters["variance"], parameters["lengthscales"])
        };
        for r2 in squares {
            let x = Mat::from_vec(1, 1, vec![lengthscale * r2.sqrt()]).unwrap();
            let (z, mut k) = (Mat::zeros(1, 1), Mat::zeros(1, 1));
            let (x, z): (View<'_>, View<'_>) = (x.view(), z.view());
            Evaluate::<f64>::cross(&*kernel, x, z, k.view_mut(), &mut Scratch::default());
            let own = found.next().unwrap();
            let expected = k[(0, 0)] / variance;
            assert!((own[0] - expected).abs() <= 1e-13 * expected, "{choice:?} at {r2}: {} and {expected}", own[0]);
            for pair in own[1..].chunks_exact(2) {
                assert!((pair[0] - pair[1]).abs() <= 1e-7 * pair[0].abs().max(1e-3), "{choice:?} at {r2}: {pair:?}");
            }
        }
    }
}
