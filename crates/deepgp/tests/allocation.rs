//! Proves that a training step in its steady state allocates next to nothing, however many rows it sees.
#![allow(unsafe_code, reason = "counting allocations takes an allocator, which is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use deepgp::noise::{Key, Purpose};
use deepgp::{
    CovarianceForm, Dataset, DeepGp, InducingSize, LikelihoodForm, Mat, ModelSettings, ObjectiveForm, Precision,
    TrainSettings, Trainer, simulate,
};

/// Counts allocations and their bytes, on all threads.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator with the caller's own arguments; the counters are beside the point.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        BYTES.fetch_add(layout.size(), Relaxed);
        // SAFETY: as the caller of `alloc` promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller of `dealloc` promised; the pointer came from `System` above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        BYTES.fetch_add(size.saturating_sub(layout.size()), Relaxed);
        // SAFETY: as the caller of `realloc` promised; the pointer came from `System` above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The medians over steps of the allocations and of their bytes, after five steps to warm up. (Medians, because a thread that the
/// system kept waiting until then makes its working memory on its first block.)
fn steady(model: DeepGp, data: &Dataset, objective: Option<ObjectiveForm>) -> (usize, usize) {
    let settings = TrainSettings { threads: 2, batch_size: data.len(), objective, ..TrainSettings::plain() };
    let mut trainer = Trainer::new(model, data, None, settings).unwrap();
    for _ in 0..5 {
        trainer.step().unwrap();
    }
    let mut all = Vec::new();
    for _ in 0..11 {
        let before = (ALLOCATIONS.load(Relaxed), BYTES.load(Relaxed));
        trainer.step().unwrap();
        all.push((ALLOCATIONS.load(Relaxed) - before.0, BYTES.load(Relaxed) - before.1));
    }
    let median = |of: fn(&(usize, usize)) -> usize| {
        let mut values: Vec<usize> = all.iter().map(of).collect();
        values.sort_unstable();
        values[values.len() / 2]
    };
    (median(|step| step.0), median(|step| step.1))
}

/// The allocations of steps with likelihoods of classes and counts, by the bound and by the predictive objective: none for a row.
fn classes_and_counts() {
    for form in [
        LikelihoodForm::PROBIT,
        LikelihoodForm::LOGIT,
        LikelihoodForm::Softmax { classes: Some(10) },
        LikelihoodForm::Ordered { classes: Some(5) },
        LikelihoodForm::Poisson,
        LikelihoodForm::NEGATIVE_BINOMIAL,
    ] {
        for objective in [ObjectiveForm::Elbo, ObjectiveForm::PREDICTIVE] {
            let arm = simulate::eight_link_arm(1000, 1);
            let data = Dataset::new(arm.x().clone(), Mat::from_fn(1000, 1, |i, _| (i % 2) as f64)).unwrap();
            let inducing = InducingSize::nested(60, 40);
            let settings = ModelSettings { hidden_layers: 1, inducing, likelihood: form, ..ModelSettings::default() };
            let model = DeepGp::for_regression(data.x().view(), 1, &settings).unwrap();
            let (allocations, bytes) = steady(model, &data, Some(objective));
            assert!(allocations <= 64, "{form:?}, {objective:?}: {allocations} allocations");
            assert!(bytes <= 64 << 10, "{form:?}, {objective:?}: {bytes} bytes");
        }
    }
}

/// One test, because the counters are the whole program's.
#[test]
fn a_step_makes_at_most_64_allocations_of_64_kib_in_all() {
    classes_and_counts();
    let bits = |rows: usize| {
        let key = Key::new(2, Purpose::Simulate);
        let x = Mat::from_fn(rows, 40, |i, j| f64::from(u8::from(key.uniform([i as u32, j as u32, 0, 0]) < 0.09)));
        Dataset::new(x, Mat::from_fn(rows, 1, |i, _| (i as f64).sin())).unwrap()
    };
    for (what, dataset) in
        [("dense", &simulate::eight_link_arm as &dyn Fn(usize, u64) -> Dataset), ("sparse", &|n, _| bits(n))]
    {
        for size in [InducingSize::Tied(60), InducingSize::decoupled(90, 40), InducingSize::nested(90, 40)] {
            for precision in [Precision::F64, Precision::Mixed] {
                for rows in [400, 3000] {
                    let data = dataset(rows, 1);
                    let covariance_form = match size {
                        InducingSize::Nested { .. } => CovarianceForm::Diagonal,
                        InducingSize::Tied(_) | InducingSize::Decoupled { .. } => CovarianceForm::Whitened,
                    };
                    let usual = ModelSettings::plain();
                    let settings =
                        ModelSettings { hidden_layers: 2, inducing: size, covariance_form, precision, ..usual };
                    let model = DeepGp::for_regression(data.x().view(), 1, &settings).unwrap();
                    let (allocations, bytes) = steady(model, &data, TrainSettings::plain().objective);
                    let place = format!("{what}, {size:?}, {precision:?}, {rows} rows");
                    assert!(allocations <= 64, "{place}: {allocations} allocations");
                    assert!(bytes <= 64 << 10, "{place}: {bytes} bytes");
                }
            }
        }
    }
}
