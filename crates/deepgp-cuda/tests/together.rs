//! Proves that processes, here threads that share a GPU, which hold some of the rows each train the model that one process trains there with all rows,
//! but for the rounding of sums: the same bits in each of them, and again in every run. Without a GPU every test says that it was skipped.

mod gpu;
#[path = "../../deepgp/tests/common/processes.rs"]
mod processes;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use deepgp::backend::{Alone, Backend, Communicator};
use deepgp::noise::{Key, Purpose};
use deepgp::{
    Batch, CovarianceForm, Dataset, DeepGp, Fit, FitSettings, InducingSize, Jitter, LikelihoodForm, Mat, MeanForm,
    ModelSettings, Noise, Precision, Shard, Sites, StepOutcome, StepReport, TrainSettings, TrainState, Training,
    simulate,
};
use deepgp_cuda::Cuda;
use processes::processes;

fn go_on(_: &StepReport, _: &TrainState) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn uniform(rows: usize, cols: usize, seed: u64) -> Mat {
    let key = Key::new(seed, Purpose::Simulate);
    Mat::from_fn(rows, cols, |i, j| 2.0 * key.uniform([i as u32, j as u32, 9, 0]) - 1.0)
}

/// The number of the first row of process `rank` of `size`: not as many in each.
fn first_row(rows: usize, rank: usize, size: usize) -> u32 {
    (rows as f64 * (rank as f64 / size as f64).powf(1.3)).round() as u32
}

/// The rows that process `rank` of `size` holds.
fn share(data: &Dataset, rank: usize, size: usize) -> Dataset {
    let upto = |rank| first_row(data.len(), rank, size);
    data.gather(&(upto(rank)..upto(rank + 1)).collect::<Vec<_>>()).unwrap()
}

/// The GPU for a process.
fn seat(gpu: &Cuda, communicator: Arc<dyn Communicator>) -> Arc<dyn Backend> {
    Arc::new(gpu.clone().among(communicator))
}

/// A model whose kernel matrices are well conditioned, so that sums in another order differ in the last digits alone.
fn model(x: &Mat, settings: ModelSettings) -> DeepGp {
    let jitter = Some(Jitter { absolute: 0.05, relative: 0.0 });
    let likelihood = settings.likelihood.start(2);
    let model = DeepGp::with_likelihood(x.view(), likelihood, &ModelSettings { jitter, ..settings }).unwrap();
    let mut moved = model.clone();
    for parameter in model.parameters().into_iter().filter(|own| own.name.ends_with("mean.free")) {
        moved.set_parameter(&parameter.name, &uniform(1, parameter.values.len(), 6).into_vec()).unwrap();
    }
    moved
}

/// Every way in which sums over rows come about.
fn kinds() -> Vec<(String, ModelSettings)> {
    use CovarianceForm::{Diagonal, Dual, Standard, Whitened};
    let plain = ModelSettings { hidden_layers: 2, width: 4, ..ModelSettings::plain() };
    let (nested, apart, tied) = (InducingSize::nested(24, 10), InducingSize::decoupled(24, 10), InducingSize::Tied(16));
    let mut all = Vec::new();
    for (inducing, covariance_form) in
        [(nested, Diagonal), (nested, Whitened), (apart, Standard), (apart, Dual), (tied, Standard)]
    {
        all.push((
            format!("{inducing:?} {covariance_form:?}"),
            ModelSettings { inducing, covariance_form, ..plain.clone() },
        ));
    }
    // From here on `Ḡ` has a kernel of its own.
    let (inducing, covariance_form) = (InducingSize::decoupled(150, 130), Whitened);
    all.push(("many inducing inputs".into(), ModelSettings { inducing, covariance_form, ..plain.clone() }));
    let nested = ModelSettings { inducing: nested, covariance_form: Diagonal, ..plain.clone() };
    all.push(("sites".into(), ModelSettings { sites: Some(Sites::USUAL), ..nested.clone() }));
    all.push(("a dual mean".into(), ModelSettings { mean_form: MeanForm::Dual, ..nested.clone() }));
    all.push((
        "noise that follows the inputs".into(),
        ModelSettings { likelihood: LikelihoodForm::HETEROSCEDASTIC, ..nested },
    ));
    all
}

/// The norm of a list of numbers.
fn norm<'a>(numbers: impl Iterator<Item = f64> + 'a) -> f64 {
    numbers.map(|v| v * v).sum::<f64>().sqrt()
}

/// The gradient of a batch by each of so many processes, with what the objective is.
fn gradients(gpu: &Cuda, model: &DeepGp, data: &Dataset, rows: &[u32], size: usize) -> Vec<(Vec<f64>, Vec<f64>)> {
    processes(size, |communicator| {
        let rank = communicator.rank();
        let offset = first_row(data.len(), rank, size);
        let held = offset..first_row(data.len(), rank + 1, size);
        let own: Vec<u32> = rows.iter().filter(|row| held.contains(row)).map(|row| row - offset).collect();
        let (share, batch_rows) = (share(data, rank, size), rows.len());
        let shard = Some(Shard { offset, batch_rows });
        let batch = Batch { num_data: data.len(), samples: 2, kl_weight: 0.7, shard, ..Batch::of(&share, &own) };
        let noise = Noise::Rows { key: Key::new(3, Purpose::Train), step: 41 };
        let there = model.clone().computed_on(Some(seat(gpu, communicator)));
        let (found, gradient) = there.objective_gradient(batch, noise).unwrap();
        ([&[found.data_term, found.clamped as f64], &found.kl[..]].concat(), gradient)
    })
}

#[test]
fn several_processes_have_the_gradient_of_one() {
    let Some(gpu) = gpu::open("gradients of several processes") else { return };
    let weights = uniform(150, 1, 5).map(|v| 1.0 + v).into_vec();
    let data = Dataset::new(uniform(150, 3, 100), uniform(150, 2, 101)).unwrap().with_weights(weights).unwrap();
    let all: Vec<u32> = (0..150).collect();
    // Of these the first of three processes has none.
    let some: Vec<u32> = vec![149, 75, 60, 148, 71, 100, 101, 102, 99];
    let mut far = Vec::new();
    for (name, settings) in kinds() {
        let model = model(data.x(), settings);
        for rows in [&all, &some] {
            let (alone_values, alone) = gradients(&gpu, &model, &data, rows, 1).remove(0);
            for size in [2, 3] {
                let found = gradients(&gpu, &model, &data, rows, size);
                assert!(found.iter().all(|own| *own == found[0]), "{name}: {size} processes have different bits");
                let (values, gradient) = &found[0];
                let off =
                    |from: &[f64], to: &[f64]| norm(from.iter().zip(to).map(|(a, b)| a - b)) / norm(to.iter().copied());
                let (of_values, of_all) = (off(values, &alone_values), off(gradient, &alone));
                let of_each = model.parameters().into_iter().map(|parameter| {
                    let (own, one) = (&gradient[parameter.range.clone()], &alone[parameter.range]);
                    (
                        norm(own.iter().zip(one).map(|(a, b)| a - b)) / norm(one.iter().copied()).max(1e-6),
                        parameter.name,
                    )
                });
                let (worst, of) = of_each.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
                println!(
                    "{name}, {} rows, {size} processes: {of_values:.1e}, gradient {of_all:.1e}, {of} {worst:.1e}",
                    rows.len()
                );
                if !(of_values < 1e-12 && of_all < 1e-12 && worst < 1e-10) {
                    far.push(format!("{name}, {size} processes: {of_values:e}, {of_all:e}, {of} {worst:e}"));
                }
            }
        }
    }
    assert!(far.is_empty(), "{far:#?}");
}

#[test]
fn mixed_precision_does_too() {
    let Some(gpu) = gpu::open("mixed precision of several processes") else { return };
    let data = Dataset::new(uniform(150, 3, 100), uniform(150, 2, 101)).unwrap();
    let rows: Vec<u32> = (0..150).collect();
    for (name, settings) in kinds().into_iter().take(2) {
        let model = model(data.x(), ModelSettings { precision: Precision::Mixed, ..settings });
        let (_, alone) = gradients(&gpu, &model, &data, &rows, 1).remove(0);
        let found = gradients(&gpu, &model, &data, &rows, 2);
        assert_eq!(found[0], found[1]);
        let off = norm(found[0].1.iter().zip(&alone).map(|(a, b)| a - b)) / norm(alone.iter().copied());
        println!("{name}: {off:.1e}");
        assert!(off < 1e-4, "{name}: {off:e}");
    }
}

/// A model that has all there is to agree on, and its training.
fn settings(steps: u64, batch_size: usize, covariance_form: CovarianceForm) -> FitSettings {
    let inducing = InducingSize::nested(20, 8);
    let model = ModelSettings { hidden_layers: 1, width: 3, inducing, covariance_form, ..ModelSettings::default() };
    let train = TrainSettings { steps, batch_size, validate_every: 7, samples: 2, ..TrainSettings::default() };
    FitSettings { model, train, ..FitSettings::default() }
}

/// The training of one process's share of `data` on the GPU.
fn begun(gpu: &Cuda, communicator: &Arc<dyn Communicator>, data: &Dataset, settings: &FitSettings) -> Training {
    let own = share(data, communicator.rank(), communicator.size());
    let mut training = Training::among(communicator.clone(), &own, settings, |_| ControlFlow::Continue(())).unwrap();
    *training.model_mut() = training.model().clone().computed_on(Some(seat(gpu, communicator.clone())));
    training
}

/// The fit of each of `count` processes.
fn together(gpu: &Cuda, count: usize, data: &Dataset, settings: &FitSettings) -> Vec<Fit> {
    processes(count, |communicator| begun(gpu, &communicator, data, settings).run(go_on).unwrap())
}

/// All that a run leaves, but for what is predicted on the way.
fn bits(fit: &Fit) -> Vec<u64> {
    let all = [&fit.regressor.model.raw()[..], &fit.state.now.raw].concat();
    all.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn several_processes_train_the_model_of_one() {
    let Some(gpu) = gpu::open("training in several processes") else { return };
    let data = simulate::eight_link_arm(500, 1);
    for (batch_size, form) in
        [(1000, CovarianceForm::Diagonal), (100, CovarianceForm::Diagonal), (100, CovarianceForm::Whitened)]
    {
        let settings = settings(60, batch_size, form);
        let mut training = Training::new(&data, &settings).unwrap();
        *training.model_mut() = training.model().clone().computed_on(Some(Arc::new(gpu.clone())));
        let alone = training.run(go_on).unwrap();
        assert_eq!(bits(&together(&gpu, 1, &data, &settings)[0]), bits(&alone), "a group of one");
        *training.model_mut() = training.model().clone().computed_on(Some(seat(&gpu, Arc::new(Alone))));
        assert_eq!(bits(&training.run(go_on).unwrap()), bits(&alone), "nobody else");
        for count in [2, 3] {
            let all = together(&gpu, count, &data, &settings);
            let raws = alone.state.now.raw.iter().zip(&all[0].state.now.raw);
            let far = raws.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            println!(
                "{form:?}, {count} processes, batches of {batch_size}: parameters differ by {far:.1e} after 60 steps"
            );
            assert!(far < 1e-6, "{count}: {far}");
            assert!(all.iter().all(|own| bits(own) == bits(&all[0])), "{count}");
            assert_eq!(bits(&together(&gpu, count, &data, &settings)[0]), bits(&all[0]), "{count}, again");
            let backend = all[0].regressor.model.backend();
            assert!(backend.name().starts_with("cuda") && backend.communicator().size() == 1);
        }
    }
}

#[test]
fn a_run_of_three_goes_on_with_three_and_with_one() {
    let Some(gpu) = gpu::open("going on in several processes") else { return };
    let data = simulate::eight_link_arm(400, 3);
    let whole = settings(60, 100, CovarianceForm::Diagonal);
    let never_cut = together(&gpu, 3, &data, &whole);
    let cut = processes(3, |communicator| {
        let rank = communicator.rank();
        let stop_here = |report: &StepReport, _: &TrainState| match rank {
            1 if report.step == 23 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let training = begun(&gpu, &communicator, &data, &whole);
        (training.regressor().clone(), training.run(stop_here).unwrap().state)
    });
    assert!(cut.iter().all(|(_, state)| state.now == cut[0].1.now && state.step < 60), "{}", cut[0].1.step);
    let (start, state) = &cut[0];
    for count in [3, 1] {
        let all = processes(count, |communicator| {
            let own = share(&data, communicator.rank(), count);
            let mut training = Training::of_among(communicator.clone(), start.clone(), &own, &whole).unwrap();
            *training.model_mut() = training.model().clone().computed_on(Some(seat(&gpu, communicator)));
            training.resume(state.clone()).run(go_on).unwrap()
        });
        assert!(all.iter().all(|own| bits(own) == bits(&all[0])), "{count}");
        let raws = never_cut[0].state.now.raw.iter().zip(&all[0].state.now.raw);
        let far = raws.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("{count} processes go on: parameters differ by {far:.1e}");
        assert!(far < 1e-6, "{count}: {far}");
        assert!(count != 3 || bits(&all[0]) == bits(&never_cut[0]), "three have the bits of three");
    }
}

#[test]
fn steps_that_fail_are_rolled_back_by_all() {
    let Some(gpu) = gpu::open("rolling back in several processes") else { return };
    let data = simulate::eight_link_arm(200, 1);
    let mut wild = settings(30, 1000, CovarianceForm::Whitened);
    (wild.train.learning_rate, wild.validation) = (Some(1e200), None);
    let all = processes(3, |communicator| {
        let mut rolled_back = Vec::new();
        let see = |report: &StepReport, _: &TrainState| {
            if let StepOutcome::RolledBack(_) = report.outcome {
                rolled_back.push(report.step);
            }
            ControlFlow::Continue(())
        };
        let fit = begun(&gpu, &communicator, &data, &wild).run(see).unwrap();
        (rolled_back, bits(&fit))
    });
    assert!(!all[0].0.is_empty() && all.iter().all(|own| *own == all[0]), "{:?}", all[0].0);
}

/// A communicator that takes down how many numbers each sum has.
#[derive(Debug)]
struct Counted {
    inner: Arc<dyn Communicator>,
    lengths: Mutex<Vec<usize>>,
}

impl Communicator for Counted {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn sum(&self, values: &mut [f64]) -> deepgp::Result<()> {
        self.lengths.lock().unwrap().push(values.len());
        self.inner.sum(values)
    }
}

#[test]
fn a_step_is_one_long_sum() {
    let Some(gpu) = gpu::open("sums of a step") else { return };
    let (data, mut settings) = (simulate::eight_link_arm(300, 1), settings(10, 1000, CovarianceForm::Diagonal));
    settings.validation = None;
    let all = processes(2, |communicator| {
        let counted = Arc::new(Counted { inner: communicator, lengths: Mutex::default() });
        let communicator: Arc<dyn Communicator> = counted.clone();
        let training = begun(&gpu, &communicator, &data, &settings);
        counted.lengths.lock().unwrap().clear();
        training.run(go_on).unwrap();
        counted.lengths.lock().unwrap().clone()
    });
    let longest = *all[0].iter().max().unwrap();
    // What a step sums is longer than the parameters' own fingerprints and flags, and comes once a step.
    assert_eq!(all[0].iter().filter(|length| **length == longest).count(), 10, "{:?}", all[0]);
}
