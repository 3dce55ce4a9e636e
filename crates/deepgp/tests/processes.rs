//! Proves that processes, here threads, that hold some of the rows each train one model: that of one process with all rows, but for the
//! rounding of sums; the same bits in each of them, and again in every run; gone on with by any number of them.

mod common;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::processes::processes;
use deepgp::backend::{Alone, Backend, Communicator, Cpu, Mixtures, Run, StepPlan, TrainingTask};
use deepgp::{
    Batch, Dataset, DeepGp, Error, Evaluation, Fit, FitSettings, InducingSize, LikelihoodForm, Mat, ModelSettings,
    Noise, PredictSettings, Regressor, Result, SharedRows, SplitBy, Spread, StepOutcome, StepReport, Stop,
    TrainSettings, TrainState, Trainer, Training, TransformChoice, simulate,
};

fn go_on(_: &StepReport, _: &TrainState) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A model that has all there is to agree on: a hidden layer, two sets of k-means, noise that follows the inputs, a validation, calibration.
fn settings(steps: u64) -> FitSettings {
    let inducing = InducingSize::decoupled(20, 8);
    let model = ModelSettings { hidden_layers: 1, width: 3, inducing, ..ModelSettings::default() };
    let train = TrainSettings { steps, batch_size: 100, validate_every: 7, samples: 2, ..TrainSettings::default() };
    FitSettings { model, train, ..FitSettings::default() }
}

/// The rows that process `rank` of `size` holds: not as many in each.
fn share(data: &Dataset, rank: usize, size: usize) -> Dataset {
    let upto = |rank: usize| (data.len() as f64 * (rank as f64 / size as f64).powf(1.3)).round() as u32;
    data.gather(&(upto(rank)..upto(rank + 1)).collect::<Vec<_>>()).unwrap()
}

/// The training of one process's share of `data`.
fn begun(communicator: &Arc<dyn Communicator>, data: &Dataset, settings: &FitSettings) -> Training {
    let own = share(data, communicator.rank(), communicator.size());
    let watch = |_| ControlFlow::Continue(());
    Training::among(communicator.clone(), &own, settings, watch).unwrap()
}

/// The fit of each of `count` processes.
fn together(count: usize, data: &Dataset, settings: &FitSettings) -> Vec<Fit> {
    processes(count, |communicator| begun(&communicator, data, settings).run(go_on).unwrap())
}

/// All numbers of a trained model, to the bit.
fn bits(fit: &Fit) -> Vec<u64> {
    let Regressor { model, standardiser, spread, sharpness } = &fit.regressor;
    let units = [&standardiser.x, &standardiser.y].into_iter().flat_map(|own| own.shift.iter().chain(&own.scale));
    let all = [&model.raw()[..], &fit.state.now.raw, spread.factors(), &[sharpness.power()]].concat();
    all.iter().chain(units).map(|v| v.to_bits()).collect()
}

/// The largest difference between the parameters of two fits.
fn distance(a: &Fit, b: &Fit) -> f64 {
    let (a, b) = (a.regressor.model.raw(), b.regressor.model.raw());
    a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn one_process_has_the_bits_of_none_and_several_train_the_model_of_one() {
    let data = simulate::eight_link_arm(500, 1);
    let settings = settings(20);
    let alone = Training::new(&data, &settings).unwrap().run(go_on).unwrap();
    assert_eq!(bits(&together(1, &data, &settings)[0]), bits(&alone));
    for count in [2, 3, 5] {
        let all = together(count, &data, &settings);
        // Twenty steps of rounding.
        assert!(distance(&all[0], &alone) < 1e-9, "{count}: {}", distance(&all[0], &alone));
        assert_eq!((all[0].stop.clone(), all[0].state.num_data), (Stop::Steps, 450));
        let (ours, theirs) = (all[0].state.best.as_ref().unwrap(), alone.state.best.as_ref().unwrap());
        assert!(ours.step == theirs.step && (ours.score - theirs.score).abs() < 1e-9);
        let factor = |spread: &Spread| spread.factors()[0];
        assert!((factor(&all[0].regressor.spread) / factor(&alone.regressor.spread) - 1.0).abs() < 1e-3);
        assert!(all.iter().all(|own| bits(own) == bits(&all[0]) && own.state == all[0].state), "{count}");
        assert_eq!(bits(&together(count, &data, &settings)[0]), bits(&all[0]), "{count}, again");
    }
}

#[test]
fn a_first_step_is_that_of_one_process_to_the_last_digits() {
    let data = simulate::eight_link_arm(300, 2);
    for batch_size in [1000, 40] {
        let mut settings = settings(1);
        settings.train.batch_size = batch_size;
        let alone = Training::new(&data, &settings).unwrap().run(go_on).unwrap();
        for fit in together(4, &data, &settings) {
            assert!(distance(&fit, &alone) < 1e-12, "{}", distance(&fit, &alone));
        }
    }
}

#[test]
fn what_decides_about_rows_is_that_of_one_process() {
    let (x, rows) = (common::uniform(420, 34, 3), 420);
    let key = |i: usize| (i * 37 % rows) as f64;
    let weights: Vec<f64> = (0..rows).map(|i| (i % 4) as f64).collect();
    // Sparse as one table, which the processes' shares need not be; groups, times, classes, weights that count copies, exposures.
    let sparse = x.map(|v: f64| if v > 0.8 { v } else { 0.0 });
    let smooth = Mat::from_fn(rows, 1, |i, _| (2.0 * x[(i, 0)]).sin() + 0.1 * x[(i, 1)]);
    let of = |x: &Mat, y: Mat| Dataset::new(x.clone(), y).unwrap();
    let grouped = SplitBy::Groups((0..rows as u32).map(|i| i * 7 % 40).collect());
    let cases = [
        (of(&sparse, smooth.clone()), LikelihoodForm::GAUSSIAN, TransformChoice::None),
        (of(&x, smooth.map(|v: f64| (3.0 * v).exp())), LikelihoodForm::GAUSSIAN, TransformChoice::Auto),
        (of(&x, smooth.clone()).with_split_by(grouped).unwrap(), LikelihoodForm::GAUSSIAN, TransformChoice::Quantile),
        (
            of(&x, smooth.map(|v: f64| (2.0 + 1.4 * v).floor())).with_weights(weights).unwrap(),
            LikelihoodForm::SOFTMAX,
            TransformChoice::None,
        ),
        (
            of(&x, smooth.map(|v: f64| (4.0 * v.abs()).round()))
                .with_offsets((0..rows).map(|i| 1e-3 * key(i)).collect())
                .unwrap()
                .with_split_by(SplitBy::Times((0..rows).map(key).collect()))
                .unwrap(),
            LikelihoodForm::Poisson,
            TransformChoice::None,
        ),
    ];
    for (case, (data, likelihood, transform)) in cases.iter().enumerate() {
        let mut settings = settings(4);
        (settings.model.likelihood, settings.transform_target) = (*likelihood, *transform);
        let whole = Training::new(data, &settings).unwrap();
        let alone = whole.run(go_on).unwrap();
        let all = processes(3, |communicator| {
            let training = begun(&communicator, data, &settings);
            assert_eq!(training.transform_findings(), whole.transform_findings(), "{case}");
            assert_eq!(training.standardiser().y, whole.standardiser().y, "{case}");
            assert_eq!(training.held_out().unwrap().y(), whole.held_out().unwrap().y(), "{case}");
            (training.rows().y().as_slice().to_vec(), training.run(go_on).unwrap())
        });
        let targets: Vec<f64> = all.iter().flat_map(|(targets, _)| targets.clone()).collect();
        assert_eq!(targets, whole.rows().y().as_slice(), "{case}");
        for (_, fit) in &all {
            assert!(distance(fit, &alone) < 1e-9, "{case}: {}", distance(fit, &alone));
            assert_eq!(bits(fit), bits(&all[0].1), "{case}");
        }
    }
}

#[test]
fn a_run_of_four_goes_on_with_two_and_with_one() {
    let data = simulate::eight_link_arm(400, 3);
    let (whole, half) = (settings(24), 11);
    let never_cut = together(4, &data, &whole);
    // All but one would go on.
    let cut = processes(4, |communicator| {
        let rank = communicator.rank();
        let stop_here = |report: &StepReport, _: &TrainState| match rank {
            2 if report.step == half => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let training = begun(&communicator, &data, &whole);
        (training.regressor().clone(), training.run(stop_here).unwrap())
    });
    assert!(cut.iter().all(|(_, fit)| fit.stop == Stop::Callback && fit.state == cut[0].1.state));
    let (start, Fit { state, .. }) = &cut[0];
    assert_eq!(state.step, half);
    for count in [4, 2, 1] {
        let all = processes(count, |communicator| {
            let own = share(&data, communicator.rank(), count);
            let training = Training::of_among(communicator, start.clone(), &own, &whole).unwrap();
            training.resume(state.clone()).run(go_on).unwrap()
        });
        assert!(all.iter().all(|own| bits(own) == bits(&all[0])), "{count}");
        match count {
            4 => assert_eq!(bits(&all[0]), bits(&never_cut[0])),
            _ => assert!(distance(&all[0], &never_cut[0]) < 1e-9, "{count}: {}", distance(&all[0], &never_cut[0])),
        }
    }
    let alone = Training::of(start.clone().computed_alone(), &data, &whole).unwrap().resume(state.clone());
    assert!(distance(&alone.run(go_on).unwrap(), &never_cut[0]) < 1e-9);
}

/// A regressor whose model is computed by this process alone.
trait ComputedAlone {
    fn computed_alone(self) -> Self;
}

impl ComputedAlone for Regressor {
    fn computed_alone(self) -> Self {
        Self { model: self.model.clone().computed_on(None), ..self }
    }
}

#[test]
fn more_rows_than_a_model_starts_from_are_trained_on_too() {
    let rows = deepgp::SUBSAMPLE + 3000;
    let x = common::uniform(rows, 2, 5);
    let y = Mat::from_fn(rows, 1, |i, _| (3.0 * x[(i, 0)]).sin() * x[(i, 1)]);
    let mut settings = settings(3);
    (settings.train.batch_size, settings.transform_target) = (2000, TransformChoice::None);
    let data = Dataset::new(x, y).unwrap();
    let all = together(3, &data, &settings);
    let alone = Training::new(&data, &settings).unwrap().run(go_on).unwrap();
    assert!(distance(&all[0], &alone) < 1e-9, "{}", distance(&all[0], &alone));
    assert!(all.iter().all(|own| bits(own) == bits(&all[0])));
    let found = |fit: &Fit| fit.state.best.as_ref().unwrap().score;
    assert_eq!(found(&all[0]), found(&all[2]));
}

#[test]
fn failures_are_told_to_all() {
    let data = simulate::eight_link_arm(60, 1);
    // One process has other columns.
    let wide = processes(3, |communicator| {
        let mut own = share(&data, communicator.rank(), 3);
        if communicator.rank() == 1 {
            own = own.with_inputs(Mat::zeros(own.len(), 3)).unwrap();
        }
        Training::among(communicator, &own, &settings(3), |_| ControlFlow::Continue(())).unwrap_err()
    });
    assert!(wide.iter().all(|own| own.to_string().contains("the columns of process 1 differ")), "{wide:?}");
    // All rows of one process are held out, being the last ones.
    let times = (0..60).map(f64::from).collect();
    let timed = data.clone().with_split_by(SplitBy::Times(times)).unwrap();
    let mut late = settings(3);
    late.validation = Some(0.5);
    let none = processes(2, |communicator| {
        let own: Vec<u32> = if communicator.rank() == 0 { (0..40).collect() } else { (40..60).collect() };
        let own = timed.gather(&own).unwrap();
        Training::among(communicator, &own, &late, |_| ControlFlow::Continue(())).unwrap_err()
    });
    assert_eq!(none[0], Error::OtherProcess { process: 1 });
    assert!(none[1].to_string().contains("use fewer processes"), "{}", none[1]);
    // A state that only one process loaded.
    let apart = processes(2, |communicator| {
        let training = begun(&communicator, &data, &settings(5));
        let mut state = training.state();
        if communicator.rank() == 1 {
            state.now.raw[3] += 1e-15 * state.now.raw[3].abs().max(1.0);
        }
        training.resume(state).run(go_on).unwrap_err()
    });
    assert!(apart[0].to_string().contains("the parameters of process 1 differ") && apart[0] == apart[1], "{apart:?}");
}

#[test]
fn steps_that_fail_are_rolled_back_by_all() {
    let data = simulate::eight_link_arm(120, 1);
    let mut wild = settings(30);
    (wild.train.learning_rate, wild.train.schedule) = (Some(400.0), deepgp::Schedule::Constant);
    let all = processes(3, |communicator| {
        let mut rolled_back = Vec::new();
        let see = |report: &StepReport, _: &TrainState| {
            if let StepOutcome::RolledBack(_) = report.outcome {
                rolled_back.push(report.step);
            }
            ControlFlow::Continue(())
        };
        let fit = begun(&communicator, &data, &wild).run(see).unwrap();
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
fn a_step_is_two_messages() {
    let (data, mut settings) = (simulate::eight_link_arm(300, 1), settings(4));
    settings.validation = None;
    let all = processes(2, |communicator| {
        let counted = Arc::new(Counted { inner: communicator, lengths: Mutex::default() });
        let communicator: Arc<dyn Communicator> = counted.clone();
        let training = begun(&communicator, &data, &settings);
        counted.lengths.lock().unwrap().clear();
        training.run(go_on).unwrap();
        (counted.lengths.lock().unwrap().clone(), training.model().clone())
    });
    let (lengths, model) = &all[0];
    // Who has which rows, at first, and whether all have the same parameters, at last.
    let (steps, last) = lengths[2..].split_at(8);
    let gradient = steps[0];
    assert_eq!(steps, [gradient, 1, gradient, 1, gradient, 1, gradient, 1]);
    assert_eq!((&lengths[..2], last), (&[2, 2][..], &[2, 4][..]));
    // What rows leave of a layer: at w, R and G, at the inducing inputs and at the kernel's parameters.
    let of_layers: usize = model
        .layers()
        .iter()
        .map(|layer| {
            let (d, p) = (layer.kernel.input_width(), layer.output_width());
            let (m_a, m_b) = (layer.inducing.mean().nrows(), layer.inducing.covariance().nrows());
            m_a * p + m_b * m_b + m_b * p + (m_a + m_b) * d + (1 + d)
        })
        .sum();
    let parameters = model.parameters();
    let of_likelihood = parameters.iter().filter(|own| own.name.starts_with("likelihood")).map(|own| own.values.len());
    assert_eq!(gradient, 2 + of_layers + of_likelihood.sum::<usize>(), "{lengths:?}");
}

#[test]
fn a_trainer_takes_its_processes_from_the_backend() {
    let data = simulate::step_curve(90, 1);
    let model = |size: Arc<dyn Communicator>| {
        let settings = ModelSettings { hidden_layers: 0, inducing: InducingSize::Tied(5), ..ModelSettings::plain() };
        let model = deepgp::DeepGp::for_regression(data.x().view(), 1, &settings).unwrap();
        model.computed_on(Some(Arc::new(Cpu::among(size))))
    };
    let settings = TrainSettings { steps: 8, batch_size: 20, ..TrainSettings::plain() };
    let train = |communicator: Arc<dyn Communicator>, own: &Dataset| {
        let mut trainer = Trainer::new(model(communicator), own, None, settings).unwrap();
        trainer.run(go_on).unwrap();
        trainer.finish().raw()
    };
    let alone = train(Arc::new(Alone), &data);
    let all = processes(2, |communicator| {
        let own = share(&data, communicator.rank(), 2);
        train(communicator, &own)
    });
    common::all_close("parameters", &alone, &all[0], 1e-11);
    assert_eq!(all[0], all[1]);
}

/// A backend that computes on the CPU, but holds parameters itself as a device does. Every process fetches them at times of its own.
#[derive(Debug)]
struct Device(Cpu);

/// A training run of [`Device`].
#[derive(Debug)]
struct DeviceRun<'d> {
    inner: Box<dyn Run + 'd>,
    held: Option<(DeepGp, TrainState)>,
    fetch_every: Duration,
}

impl Backend for Device {
    fn name(&self) -> String {
        "device".into()
    }

    fn communicator(&self) -> Arc<dyn Communicator> {
        self.0.communicator()
    }

    fn alone(&self) -> Option<Arc<dyn Backend>> {
        Some(Arc::new(Self(Cpu::default())))
    }

    fn evaluate(
        &self,
        model: &DeepGp,
        batch: Batch<'_>,
        noise: Noise<'_>,
        gradient: bool,
    ) -> Result<(Evaluation, Vec<f64>)> {
        self.0.evaluate(model, batch, noise, gradient)
    }

    fn train<'d>(&self, model: &DeepGp, task: TrainingTask<'d>) -> Result<Box<dyn Run + 'd>> {
        // The first process all the time, the others never.
        let fetch_every = if self.communicator().rank() == 0 { Duration::from_nanos(1) } else { Duration::MAX };
        Ok(Box::new(DeviceRun { inner: self.0.train(model, task)?, held: None, fetch_every }))
    }

    fn mixtures<'m>(&self, model: &'m DeepGp, settings: PredictSettings) -> Result<Box<dyn Mixtures + 'm>> {
        self.0.mixtures(model, settings)
    }
}

impl Run for DeviceRun<'_> {
    fn fetch_every(&self) -> Duration {
        self.fetch_every
    }

    fn load(&mut self, model: &DeepGp, state: &TrainState) -> Result<()> {
        self.held = Some((model.clone(), state.clone()));
        Ok(())
    }

    fn steps(&mut self, plans: &[StepPlan<'_>], _: &mut DeepGp, _: &mut TrainState) -> Result<Vec<Result<Evaluation>>> {
        let (model, state) = self.held.as_mut().unwrap();
        self.inner.steps(plans, model, state)
    }

    fn roll_back(&mut self, _: &mut DeepGp, _: &mut TrainState) -> Result<()> {
        let (model, state) = self.held.as_mut().unwrap();
        self.inner.roll_back(model, state)
    }

    fn store_raw(&mut self, state: &mut TrainState) -> Result<()> {
        state.now.raw.clone_from(&self.held.as_ref().unwrap().1.now.raw);
        Ok(())
    }

    fn store(&mut self, state: &mut TrainState) -> Result<()> {
        let (_, held) = self.held.as_ref().unwrap();
        (state.now, state.before) = (held.now.clone(), held.before.clone());
        Ok(())
    }
}

#[test]
fn devices_that_are_asked_at_different_times_train_the_model_of_processors() {
    let (data, settings) = (simulate::eight_link_arm(400, 1), settings(110));
    let here = together(3, &data, &settings);
    let there = processes(3, |communicator| {
        let mut training = begun(&communicator, &data, &settings);
        let device = Arc::new(Device(Cpu::among(communicator)));
        *training.model_mut() = training.model().clone().computed_on(Some(device));
        training.run(go_on).unwrap()
    });
    for (ours, theirs) in here.iter().zip(&there) {
        assert_eq!((&ours.state.now, bits(ours)), (&theirs.state.now, bits(theirs)));
        let backend = theirs.regressor.model.backend();
        assert_eq!((backend.name(), backend.communicator().size()), ("device".into(), 1));
    }
}

#[test]
fn rows_are_dealt_out_evenly_whoever_holds_them() {
    for counts in [vec![0, 7, 1, 0, 13], vec![21, 0], vec![1, 20], vec![10, 11], vec![0, 0, 3]] {
        let (size, all) = (counts.len(), counts.iter().sum::<usize>());
        let upto = |rank: usize| rank * all / size;
        let due =
            |rank: usize| (upto(rank)..upto(rank + 1)).map(|i| [i as f64, 0.5 - i as f64]).collect::<Vec<_>>().concat();
        let dealt = processes(size, |communicator| {
            let begin: usize = counts[..communicator.rank()].iter().sum();
            let own =
                Mat::from_fn(counts[communicator.rank()], 2, |i, j| [(begin + i) as f64, 0.5 - (begin + i) as f64][j]);
            deepgp::evenly(&*communicator, own).unwrap()
        });
        assert!(dealt.iter().enumerate().all(|(rank, own)| own.as_slice() == due(rank)), "{counts:?}: {dealt:?}");
    }
    let few = processes(3, |communicator| {
        deepgp::evenly(&*communicator, Mat::zeros(communicator.rank() % 2, 1)).unwrap_err()
    });
    assert!(few.iter().all(|error| error.to_string().contains("use fewer processes")), "{few:?}");
    // Some rows of those that processes hold, and those alone.
    let data = simulate::eight_link_arm(50, 3);
    let some: Vec<u32> = (0..50).filter(|row| row % 7 != 2 && *row > 11).collect();
    let parts = processes(4, |communicator| {
        let own = share(&data, communicator.rank(), 4);
        let shared = SharedRows::new(&*communicator, &own).unwrap();
        shared.evenly(&shared.outline().gather(&some).unwrap()).unwrap()
    });
    let rows: Vec<f64> = parts.iter().flat_map(|part| part.x().as_slice().to_vec()).collect();
    assert_eq!(rows, data.x().gather(&some).as_slice());
    assert!(parts.iter().all(|part| part.len().abs_diff(some.len() / 4) <= 1));
}

#[test]
fn processes_tell_each_other_bytes_and_the_first_that_fails_says_why() {
    let told = processes(3, |communicator| {
        let own = (0..=255).cycle().take(communicator.rank() * 500).collect::<Vec<u8>>();
        let failed = if communicator.rank() > 0 { Err(Error::OtherProcess { process: 7 }) } else { Ok(()) };
        (communicator.gather_bytes(&own).unwrap(), communicator.all_fine(failed).unwrap_err())
    });
    for (rank, (bytes, error)) in told.into_iter().enumerate() {
        assert!((0..3).all(|other| bytes[other] == (0..=255).cycle().take(other * 500).collect::<Vec<u8>>()));
        assert_eq!(error, Error::OtherProcess { process: if rank == 1 { 7 } else { 1 } });
    }
}
