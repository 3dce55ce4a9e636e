//! Kernels whose threads work together, run on the host: their threads are fibers (`fibers.h`), which wait for one another as on the device, and
//! run in a random order otherwise. So they are compared with what they should compute where there is no GPU.

use std::fmt::Write as _;

use deepgp::KernelChoice;
use deepgp::kernel::KernelForm;

use super::covariance::CovarianceText;
use super::host_program::{array, near, run_program, scattered};
use super::{COMMON, DIAGONAL, Definition, EXCHANGE, FACTOR, MATRIX, OPTIMISER, RESIDENT, ROWS, Source};
use crate::kernels::resident::{self, resident_bytes};
use crate::kernels::{common, diagonal, factor, optimiser, rows};
use crate::launch::Group;

const FIBERS: &str = include_str!("fibers.h");
/// What texts need beside CUDA's words: functions that are CUDA's own.
const FUNCTIONS: &str = "
static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
static int __syncthreads_and(int v) {
    static int all;
    if (threadIdx.x == 0) all = 1;
    __syncthreads();
    all = all && v;
    __syncthreads();
    return all;
}
static void sincospi(double x, double *s, double *c) { *s = std::sin(M_PI * x), *c = std::cos(M_PI * x); }
";

/// Texts with the numbers before them that they need, for rows in double.
fn program(parts: &[(Vec<Definition>, &str)]) -> String {
    let mut text = format!("{FIBERS}{FUNCTIONS}#define REAL double\n");
    for (definitions, part) in parts {
        for definition in definitions {
            let _ = writeln!(text, "{definition}");
        }
        // Each block has shared memory of its own.
        for line in part.lines() {
            match line.trim().strip_prefix("extern __shared__ double ").and_then(|rest| rest.split_once("[];")) {
                Some((name, _)) => _ = writeln!(text, "double *{name} = own_shared();"),
                None => _ = writeln!(text, "{line}"),
            }
        }
    }
    text
}

/// A matrix of Gaussian bumps of order `n` with something on the diagonal, as C++ text.
fn matrix(n: usize) -> String {
    format!(
        "    const int n = {n};
    static double k[n * n], l[n * n];
    for (int i = 0; i < n * n; i++) l[i] = k[i] = std::exp(-0.02 * (i / n - i % n) * (i / n - i % n)) + (i / n == i % n) / 8.;
"
    )
}

fn factors() -> String {
    program(&[(common::definitions(), COMMON), (factor::definitions(), FACTOR), (resident::definitions(), RESIDENT)])
}

#[test]
fn a_factor_made_in_shared_memory_gives_the_matrix_and_its_solve_the_right_hand_side() {
    for (n, width) in [(1, 1), (31, 2), (33, 0), (100, 10), (290, 16)] {
        let shared = resident_bytes(n, width).unwrap() / 8;
        let main = matrix(n)
            + &array("double", "sides", &scattered(n * width.max(1), 3))
            + &format!(
                "    static double w[n * {width} + 1];
    int info = -1;
    launch_cluster(8, 512, {shared}, [&] {{ factor_resident(l, n, {sides}, {width}, w, &info); }});
    double errors[4] = {{(double)info}};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {{
            double sum = 0;
            for (int c = 0; c <= std::min(i, j); c++) sum += l[i * n + c] * l[j * n + c];
            errors[1] = std::fmax(errors[1], std::fabs(sum - k[i * n + j]));
            if (j > i) errors[2] = std::fmax(errors[2], std::fabs(l[i * n + j] - k[i * n + j]));
        }}
    for (int i = 0; i < n; i++)
        for (int p = 0; p < {width}; p++) {{
            double sum = 0;
            for (int j = i; j < n; j++) sum += l[j * n + i] * w[j * {width} + p];
            errors[3] = std::fmax(errors[3], std::fabs(sum - sides[i * {width} + p]));
        }}
    print(errors, 4);
",
                sides = if width > 0 { "sides" } else { "nullptr" },
            );
        let Some(found) = run_program("a factor in shared memory", &factors(), &main) else { return };
        near(&format!("info, L, above it, and w of {n} x {width}"), &found, &[0.0; 4]);
    }
}

#[test]
fn the_first_bad_pivot_is_told_whichever_block_has_it() {
    for (n, bad) in [(70, 5), (290, 40), (290, 270)] {
        let main = matrix(n)
            + &format!(
                "    int info = -1;
    l[{bad} * (n + 1)] = -1, l[(n - 1) * (n + 1)] = -1;
    launch_cluster(8, 512, {}, [&] {{ factor_resident(l, n, nullptr, 0, nullptr, &info); }});
    const double found = info;
    print(&found, 1);
",
                resident_bytes(n, 0).unwrap() / 8
            );
        let Some(found) = run_program("a bad pivot", &factors(), &main) else { return };
        assert_eq!(found, [(bad + 1) as f64]);
    }
}

#[test]
fn the_head_of_a_factor_is_inverted_by_itself() {
    let main = matrix(70)
        + "    const int m = 37;
    static double r[m * m];
    double log_det, errors[2] = {};
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = k[i * n + j];
            for (int c = 0; c < j; c++) sum -= l[i * n + c] * l[j * n + c];
            l[i * n + j] = i == j ? std::sqrt(sum) : sum / l[j * n + j];
        }
    launch((m + STRIP - 1) / STRIP, 1, 32 * STRIP, m * STRIP, [&] { invert_lower(l, n, r, m, &log_det); });
    for (int i = 0; i < m; i++) {
        log_det -= 2 * std::log(l[i * n + i]);
        for (int j = 0; j < m; j++) {
            double sum = 0;
            for (int c = 0; c <= i; c++) sum += l[i * n + c] * r[c * m + j];
            errors[0] = std::fmax(errors[0], std::fabs(sum - (i == j)));
        }
    }
    errors[1] = log_det;
    print(errors, 2);
";
    let Some(found) = run_program("the head of an inverse", &factors(), &main) else { return };
    near("R and log |K|", &found, &[0.0; 2]);
}

#[test]
fn a_whitened_mean_is_pulled_back_to_half_of_a_mirrored_matrix() {
    let (n, p, m) = (45, 18, 12);
    let (r, from, free) = (scattered(n * n, 1), scattered(n * p, 2), scattered(n * p, 3));
    let inner = scattered(m * m, 4);
    let mut main = String::new();
    for (name, numbers) in [("r", &r), ("from", &from), ("free", &free), ("inner", &inner)] {
        main.push_str(&array("double", name, numbers));
    }
    let _ = write!(
        main,
        "    static double to[{n} * {p}], free_bar[{n} * {p}], psi[{n} * {n}];
    const Step steps[] = {{{{}}, {{0, 0.7}}}};
    const Control control = {{1}};
    launch(({n} + 7) / 8, 1, 256, 0, [&] {{ whiten(r, from, free, {n}, {p}, steps, &control, to, free_bar); }});
    launch(2, 2, 256, 0, [&] {{ mirror_half(free, to, {p}, inner, {m}, 3, {n}, steps, &control, psi); }});
    print(to, {n} * {p}), print(free_bar, {n} * {p}), print(psi, {n} * {n});
"
    );
    let text = program(&[(common::definitions(), COMMON), (vec![], MATRIX)]);
    let Some(found) = run_program("a whitened mean", &text, &main) else { return };
    let (mut to, mut free_bar, mut psi) = (vec![0.0; n * p], vec![0.0; n * p], vec![0.0; n * n]);
    for i in 0..n {
        for q in 0..p {
            to[i * p + q] = (0..=i).map(|k| r[i * n + k] * from[k * p + q]).sum();
            free_bar[i * p + q] = to[i * p + q] - 0.7 * free[i * p + q];
        }
    }
    for i in 0..n {
        for j in 0..=i {
            let outer: f64 = (0..p).map(|q| free[i * p + q] * to[j * p + q]).sum();
            let in_head = if i < m { inner[i * m + j] - if i == j { 3.0 * 0.7 } else { 0.0 } } else { 0.0 };
            psi[i * n + j] = 0.5 * (in_head - outer);
            psi[j * n + i] = psi[i * n + j];
        }
    }
    near("R w̄", &found[..n * p], &to);
    near("the gradient at m'", &found[n * p..2 * n * p], &free_bar);
    near("Ψ", &found[2 * n * p..], &psi);
}

#[test]
fn rows_go_through_the_diagonal_covariance_and_back() {
    let (rows, outputs, m, width) = (40, 18, 70, 5);
    // The later an output, the more it is left with.
    let left = |(i, u): (usize, &f64)| 0.05 + 0.04 * (i / m) as f64 * u.abs();
    let (a, s) = (scattered(rows * m, 1), scattered(outputs * m, 2).iter().enumerate().map(left).collect::<Vec<_>>());
    let (mean, x1) = (scattered(rows * outputs, 3), scattered(rows * (width + 1), 4));
    let (given, x_bar) = (scattered(rows * outputs, 5), scattered(rows * outputs, 6));
    let mut main = String::new();
    for (name, numbers) in [("a", &a), ("s", &s), ("mean", &mean), ("x1", &x1), ("given", &given), ("x_bar", &x_bar)] {
        main.push_str(&array("double", name, numbers));
    }
    // Some of the variances that come of this are below the floor.
    let (prior, floor, live) = (34.0, 1.5, 30);
    let all = rows * outputs;
    let _ = write!(
        main,
        "    static double variance[{all}], noise[{all}], above[{rows} * ({outputs} + 1)], mean_bar[{all}], e[{all}], a_bar[{rows} * {m}];
    static double diagonal_bar[{rows}], partial[3 * {outputs} * {m}], s_bar[{outputs} * {m}], kl[{outputs}], g_bar[{outputs} * {m}], again[{outputs} * {m}];
    const Step steps[] = {{{{}}, {{0, 0.7, 1, 0, 5, {live}}}}};
    Control control = {{1}};
    const double prior = {prior:?};
    launch(2, 1, 256, 0, [&] {{
        diagonal_moments(a, {m}, s, &prior, {floor:?}, 0, x1, {width}, 1, {rows}, {outputs}, {m}, 1, given, {rows}, nullptr, 0, 0, 0, 1, steps,
                         &control, mean, variance, noise, above);
    }});
    launch(2, 1, 256, 32 * {outputs}, [&] {{
        through_diagonal(a, {m}, s, x_bar, noise, 1, variance, &prior, {floor:?}, 0, {rows}, {outputs}, {m}, 32, mean_bar, nullptr, e, a_bar,
                         diagonal_bar);
    }});
    launch(1, 3, 128, 0, [&] {{ diagonal_sums(a, {m}, e, {rows}, 15, {outputs}, {m}, partial); }});
    launch(5, 1, 256, 0, [&] {{ diagonal_gradient(partial, 3, s, {outputs} * {m}, steps, &control, s_bar); }});
    for (int i = 0; i < {outputs} * {m}; i++)
        for (int c = 0; c < 3; c++) g_bar[i] += partial[c * {outputs} * {m} + i];
    launch(5, 1, 256, 0, [&] {{ summed_diagonal_gradient(g_bar, s, {outputs} * {m}, steps, &control, again); }});
    launch({outputs}, 1, 128, 0, [&] {{ diagonal_kl(s, {m}, kl); }});
    const double clamped = control.clamped;
    print(variance, {all}), print(mean, {all}), print(above, {rows} * ({outputs} + 1)), print(&clamped, 1), print(mean_bar, {all});
    print(a_bar, {rows} * {m}), print(diagonal_bar, {rows}), print(s_bar, {outputs} * {m}), print(again, {outputs} * {m});
    print(kl, {outputs});
"
    );
    let text =
        program(&[(common::definitions(), COMMON), (rows::definitions(), ROWS), (diagonal::definitions(), DIAGONAL)]);
    let Some(found) = run_program("the diagonal covariance", &text, &main) else { return };
    let g = |p: usize, j: usize| 1.0 - s[p * m + j] * s[p * m + j];
    let (mut variance, mut moved, mut above, mut clamped) = (vec![], vec![], vec![], 0.0);
    let (mut mean_bar, mut e, mut a_bar, mut diagonal_bar) = (vec![], vec![], vec![], vec![]);
    for n in 0..rows {
        above.push(1.0);
        for p in 0..outputs {
            let explained: f64 = (0..m).map(|j| g(p, j) * a[n * m + j] * a[n * m + j]).sum();
            let (at, below) = (n * outputs + p, prior - explained < floor);
            clamped += f64::from(u8::from(below && n < live));
            let v = f64::max(prior - explained, floor);
            let mu = mean[at] + if p < width { x1[n * (width + 1) + 1 + p] } else { 0.0 };
            variance.push(v);
            moved.push(mu);
            above.push(mu + v.sqrt() * given[at]);
            mean_bar.push(x_bar[at]);
            e.push(if below { 0.0 } else { -0.5 * x_bar[at] * given[at] / v.sqrt() });
        }
        let own = &e[n * outputs..];
        diagonal_bar.push(-own.iter().sum::<f64>());
        a_bar.extend((0..m).map(|j| 2.0 * a[n * m + j] * (0..outputs).map(|p| own[p] * g(p, j)).sum::<f64>()));
    }
    assert!(clamped > 0.0 && clamped < 0.9 * (live * outputs) as f64, "{clamped}");
    let of_s = |at: usize| {
        let (p, j, own) = (at / m, at % m, s[at]);
        let sum: f64 = (0..rows).map(|n| e[n * outputs + p] * a[n * m + j] * a[n * m + j]).sum();
        -0.7 * (own - 1.0 / own) - 2.0 * own * sum
    };
    let of_output =
        |p: usize| -> f64 { s[p * m..(p + 1) * m].iter().map(|own| 0.5 * (own * own - (own * own).ln() - 1.0)).sum() };
    let s_bar: Vec<f64> = (0..outputs * m).map(of_s).collect();
    let kl: Vec<f64> = (0..outputs).map(of_output).collect();
    let mut rest = &found[..];
    for (what, expected) in [
        ("variances", variance),
        ("means", moved),
        ("samples", above),
        ("clamped", vec![clamped]),
        ("the means' gradient", mean_bar),
        ("Ā", a_bar),
        ("the diagonal's gradient", diagonal_bar),
        ("the gradient at s", s_bar.clone()),
        ("the gradient at s, from a sum", s_bar),
        ("the KL", kl),
    ] {
        let (own, after) = rest.split_at(expected.len());
        near(what, own, &expected);
        rest = after;
    }
    assert!(rest.is_empty());
}

#[test]
fn what_inducing_inputs_leave_is_a_conditional_variance_with_a_pullback() {
    let (rows, m, stride) = (40, 70, 75);
    let (a, bars) = (scattered(rows * stride, 1), scattered(rows, 2));
    let (a_bar, diagonal_bar) = (scattered(rows * m, 3), scattered(rows, 4));
    let mut main = String::new();
    for (name, numbers) in [("a", &a), ("bars", &bars), ("a_bar", &a_bar), ("diagonal_bar", &diagonal_bar)] {
        main.push_str(&array("double", name, numbers));
    }
    // Some of the variances that come of this are below the floor.
    let (prior, floor) = (36.5, 1.5);
    let _ = write!(
        main,
        "    static double conditional[{rows}];
    const double prior = {prior:?};
    launch(5, 1, 256, 0, [&] {{ conditional_variance(a, {stride}, &prior, {floor:?}, 0, {rows}, {m}, conditional); }});
    launch(5, 1, 256, 0, [&] {{
        through_conditional(a, {stride}, conditional, bars, &prior, {floor:?}, 0, {rows}, {m}, a_bar, diagonal_bar);
    }});
    print(conditional, {rows}), print(a_bar, {rows} * {m}), print(diagonal_bar, {rows});
"
    );
    let text = program(&[(common::definitions(), COMMON), (rows::definitions(), ROWS)]);
    let Some(found) = run_program("conditional variances", &text, &main) else { return };
    let (mut conditional, mut of_a, mut of_diagonal) = (vec![], a_bar.clone(), diagonal_bar.clone());
    for n in 0..rows {
        let own = &a[n * stride..n * stride + m];
        let left = prior - own.iter().map(|v| v * v).sum::<f64>();
        conditional.push(left.max(floor));
        if left > floor {
            of_diagonal[n] += bars[n];
            for (to, v) in of_a[n * m..(n + 1) * m].iter_mut().zip(own) {
                *to -= 2.0 * bars[n] * v;
            }
        }
    }
    let raised = conditional.iter().filter(|own| **own == floor).count();
    assert!((1..rows).contains(&raised), "{raised}");
    near("conditional variances", &found[..rows], &conditional);
    near("Ā", &found[rows..rows + rows * m], &of_a);
    near("the diagonal's gradient", &found[rows + rows * m..], &of_diagonal);
}

#[test]
fn noise_knows_rows_by_their_numbers_among_those_of_all_processes() {
    let main = "    static double noise[2][15], x1[20];
    const double mean[15] = {}, variance[15] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const unsigned ids[2][6] = {{0, 0, 0, 7, 9, 8}, {0, 0, 0, 2, 4, 3}};
    const Step steps[2][2] = {{{}, {0, 1, 1, 0, 41, 3}}, {{}, {0, 1, 1, 0, 41, 3, 5}}};
    const Control control = {1};
    for (int i = 0; i < 2; i++)
        launch(1, 1, 256, 0, [&] { sample(mean, variance, nullptr, 0, ids[i], 11, 12, 0, 3, 1, 1, 5, steps[i], &control, noise[i], x1); });
    print(noise[0], 15), print(noise[1], 15);
";
    let text = program(&[(common::definitions(), COMMON), (rows::definitions(), ROWS)]);
    let Some(found) = run_program("noise of a share of the rows", &text, main) else { return };
    assert_eq!(found[..15], found[15..]);
    assert!(found.iter().all(|v| *v != 0.0));
}

#[test]
fn samples_take_the_points_of_their_sites_and_give_them_gradients() {
    let (batch, sites, outputs) = (37, 3, 5);
    let points = scattered(sites * outputs, 1);
    let positive = |numbers: Vec<f64>| numbers.into_iter().map(|v: f64| 0.1 + v * v).collect::<Vec<_>>();
    // All samples of the first layer share a row, those of the next have each their own.
    for fan in [sites, 1] {
        let rows = batch * sites / fan;
        let (mean, variance) = (scattered(rows * outputs, 2), positive(scattered(rows * outputs, 3)));
        let above = batch * sites;
        let x_bar = scattered(above * outputs, 4);
        let mut main = String::new();
        for (name, numbers) in [("points", &points), ("mean", &mean), ("variance", &variance), ("x_bar", &x_bar)] {
            main.push_str(&array("double", name, numbers));
        }
        let numbers = above * outputs;
        let _ = write!(
            main,
            "    static double noise[{numbers}], x1[{above} * ({outputs} + 1)], points_bar[{sites} * {outputs}], bad;
    const Step steps[1] = {{}};
    Control control = {{}};
    launch(({numbers} + 255) / 256, 1, 256, 0, [&] {{
        sample(mean, variance, points, {sites}, nullptr, 0, 0, 0, {rows}, {fan}, {sites}, {outputs}, steps, &control, noise, x1);
    }});
    launch({sites} * {outputs}, 1, 256, 0, [&] {{
        point_gradient(x_bar, variance, {batch}, {fan}, {sites}, {outputs}, &control, points_bar);
    }});
    print(x1, {above} * ({outputs} + 1)), print(points_bar, {sites} * {outputs});
    x_bar[{numbers} - 1] = NAN;
    bad = control.bad;
    launch({sites} * {outputs}, 1, 256, 0, [&] {{
        point_gradient(x_bar, variance, {batch}, {fan}, {sites}, {outputs}, &control, points_bar);
    }});
    bad += 10 * control.bad;
    print(&bad, 1);
"
        );
        let text = program(&[(common::definitions(), COMMON), (rows::definitions(), ROWS)]);
        let Some(found) = run_program("learned sites", &text, &main) else { return };
        let (mut x1, mut points_bar) = (vec![], vec![0.0; sites * outputs]);
        for row in 0..above {
            x1.push(1.0);
            for p in 0..outputs {
                let (below, site) = (row / fan * outputs + p, row % sites * outputs + p);
                x1.push(mean[below] + variance[below].sqrt() * points[site]);
                points_bar[site] += x_bar[row * outputs + p] * variance[below].sqrt();
            }
        }
        near("samples", &found[..x1.len()], &x1);
        near("the gradient at the points", &found[x1.len()..x1.len() + points_bar.len()], &points_bar);
        near("whether it is finite", &found[x1.len() + points_bar.len()..], &[10.0]);
    }
}

#[test]
fn a_step_is_decided_by_its_sums_and_weights_of_sites_get_theirs() {
    let (blocks, parameters, sites, kls, factors) = (300, 3, 4, 5, 2);
    let length = 1 + parameters + sites;
    let (partial, kl) = (scattered(blocks * length, 1), scattered(kls, 2));
    let logits = [700.0, 701.0, 699.5, 700.2];
    let mut main = String::new();
    for (name, numbers) in [("partial", &partial[..]), ("kl", &kl), ("logits", &logits)] {
        main.push_str(&array("double", name, numbers));
    }
    let _ = write!(
        main,
        "    static double records[2][3 + {factors} + {kls}], bars[{parameters} + {sites}], went[3], sums[{length}], clamped;
    int infos[{factors}] = {{}};
    Control control = {{1}};
    control.clamped = 7;
    auto decided = [&](const double *own, int blocks, const double *all_clamped) {{
        launch(1, 1, 256, 0, [&] {{
            decide(own, blocks, {parameters}, logits, {sites}, kl, {kls}, infos, {factors}, 3 + {factors} + {kls}, all_clamped,
                   &control, records[0], bars, bars + {parameters});
        }});
        return control.go;
    }};
    went[0] = decided(partial, {blocks}, nullptr);
    print(records[1], 2), print(bars, {parameters} + {sites});
    // What several processes exchange.
    launch({length}, 1, 512, 0, [&] {{ sum_blocks(partial, {blocks}, {length}, sums); }});
    launch(1, 1, 1, 0, [&] {{ count_clamped(&control, &clamped); }});
    clamped += 5;
    went[0] = went[0] && decided(sums, 1, &clamped);
    print(records[1], 2), print(bars, {parameters} + {sites});
    partial[{length} * 7 + 1 + {parameters}] = NAN;
    went[1] = decided(partial, {blocks}, nullptr);
    partial[{length} * 7 + 1 + {parameters}] = 0, infos[1] = 3;
    went[2] = decided(partial, {blocks}, nullptr);
    print(went, 3);
"
    );
    let text = program(&[(common::definitions(), COMMON), (optimiser::definitions(), OPTIMISER), (vec![], EXCHANGE)]);
    let Some(found) = run_program("a decision", &text, &main) else { return };
    let sum = |i: usize| -> f64 { (0..blocks).map(|b| partial[b * length + i]).sum() };
    let whole: f64 = (0..sites).map(|s| sum(1 + parameters + s)).sum();
    let total: f64 = logits.iter().map(|own| (own - 700.0f64).exp()).sum();
    let mut expected = vec![sum(0), 7.0];
    expected.extend((1..1 + parameters).map(sum));
    expected.extend((0..sites).map(|s| sum(1 + parameters + s) - (logits[s] - 700.0).exp() / total * whole));
    let (alone, rest) = found.split_at(length + 1);
    let (together, went) = rest.split_at(length + 1);
    near("the data term, what was clamped, the likelihood's gradient and the logits'", alone, &expected);
    expected[1] = 12.0;
    near("the same of several processes", together, &expected);
    near("whether steps go", went, &[1.0, 0.0, 0.0]);
}

/// What is written out for a covariance function, and the kernels on it, for fibers.
fn covariance_program<G: Group>(source: &Source<G>) -> String {
    let own = source.text.lines().filter(|line| !line.starts_with("#define REAL")).collect::<Vec<_>>().join("\n");
    program(&[(vec![], &own)])
}

#[test]
fn a_kernel_matrix_is_pulled_back_and_summed_at_once() {
    let (n, d) = (70, 3);
    let text = CovarianceText::alone(&KernelForm::One(KernelChoice::SquaredExponential), d);
    assert!(text.sums_at_once);
    let (z, k, k_bar) = (scattered(n * (d + 1), 1), scattered(n * n, 2), scattered(n * n, 3));
    let mut main = String::new();
    for (name, numbers) in [("z1", &z), ("k", &k), ("k_bar", &k_bar)] {
        main.push_str(&array("double", name, numbers));
    }
    let size = n * (d + 1);
    let _ = write!(
        main,
        "    static double w[{n} * {n}], partial[100], t[{size}], sums[2], found[2];
    const double theta[] = {{1.1, 0.9, 1.3, 0.8}}, jitter[] = {{0.1, 0.01}};
    launch(2, 3, 256, 0, [&] {{ weigh_gram(k, z1, theta, jitter, k_bar, {n}, w, partial); }});
    for (int i = 0; i < 6; i++) sums[0] += partial[2 * i];
    for (int i = 0; i < {n}; i++)
        for (int c = 0; c < D + 1; c++)
            for (int j = 0; j < {n}; j++) t[i * (D + 1) + c] += w[i * {n} + j] * z1[j * (D + 1) + c];
    print(t, {size}), print(sums, 2);
    for (int i = 0; i < {size}; i++) t[i] = NAN;
    launch(({n} + 7) / 8, 1, 256, 0, [&] {{ gram_sums(k, z1, theta, jitter, k_bar, {n}, t, partial); }});
    for (int i = 0; i < ({n} + 7) / 8; i++) found[0] += partial[2 * i], found[1] += partial[2 * i + 1];
    print(t, {size}), print(found, 2);
"
    );
    let source = covariance_program(&text.source::<f64>());
    let Some(found) = run_program("a kernel matrix at once", &source, &main) else { return };
    let (expected, at_once) = found.split_at(size + 2);
    near("W [1 | z] and the variance's gradient", at_once, expected);
}
