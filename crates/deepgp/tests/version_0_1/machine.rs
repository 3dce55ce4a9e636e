//! The probe of the machine: what a result depends on beside the library, vector instructions and the C library's elementary functions.
//!
//! Nothing here calls `deepgp`. So a change of the library cannot pass for a change of the machine, which would be forgiven.

/// Names and bits of what differs from machine to machine.
pub fn machine() -> Vec<(&'static str, Vec<f64>)> {
    let grid: Vec<f64> = (1..=400).map(|i| f64::from(i) * 0.0371).collect();
    let each = |f: &dyn Fn(f64) -> f64| grid.iter().map(|x| f(*x)).collect::<Vec<f64>>();
    let each_single = |f: &dyn Fn(f32) -> f32| grid.iter().map(|x| f64::from(f(*x as f32))).collect::<Vec<f64>>();
    vec![
        ("vectors", vectors()),
        ("exp", each(&|x| (-x).exp())),
        ("ln", each(&f64::ln)),
        ("ln_1p", each(&f64::ln_1p)),
        ("ln_1p.single", each_single(&f32::ln_1p)),
        ("sin", each(&f64::sin)),
        ("cos", each(&f64::cos)),
        ("powf", each(&|x| 0.999f64.powf(x.ceil()))),
    ]
}

/// Which vectors matrix products can choose from.
#[cfg(target_arch = "x86_64")]
fn vectors() -> Vec<f64> {
    let found = [
        std::arch::is_x86_feature_detected!("fma"),
        std::arch::is_x86_feature_detected!("avx2"),
        std::arch::is_x86_feature_detected!("avx512f"),
        std::arch::is_x86_feature_detected!("avx512dq"),
        std::arch::is_x86_feature_detected!("avx512vl"),
    ];
    found.into_iter().map(|found| f64::from(u8::from(found))).collect()
}

/// Which vectors matrix products can choose from: on another architecture, others than those that are asked for above.
#[cfg(not(target_arch = "x86_64"))]
fn vectors() -> Vec<f64> {
    Vec::new()
}
