//! Proves that rows which are not in memory train the model of the same rows in memory, to the bit: of numbers, classes and counts with exposures;
//! held out alike, gone on with, and told of where they cannot be read.

mod common;

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use deepgp::{
    Dataset, Error, Fit, FitSettings, InducingSize, LikelihoodForm, Mat, ModelSettings, RowStore, StepReport,
    StoredRows, Stratify, TrainSettings, TrainState, Training, TransformChoice, simulate,
};

/// Rows that are read so many times at most.
#[derive(Debug)]
struct Store {
    data: Dataset,
    reads: AtomicUsize,
    most: usize,
}

impl RowStore for Store {
    fn rows(&self) -> usize {
        self.data.len()
    }

    fn inputs(&self) -> usize {
        self.data.x().ncols()
    }

    fn targets(&self) -> usize {
        self.data.y().ncols()
    }

    fn has_offsets(&self) -> bool {
        self.data.offsets().is_some()
    }

    fn read(&self, rows: &[u32], numbers: &mut [f64]) -> io::Result<()> {
        assert!(rows.is_sorted(), "rows are asked for in ascending order");
        if self.reads.fetch_add(1, Ordering::Relaxed) >= self.most {
            return Err(io::Error::other("the disk has gone"));
        }
        let mut to = numbers.iter_mut();
        for row in rows.iter().map(|row| *row as usize) {
            let offset = self.data.offsets().map(|all| &all[row]);
            let own = self.data.x().row(row).iter().chain(self.data.y().row(row)).chain(offset);
            own.zip(&mut to).for_each(|(from, to)| *to = *from);
        }
        assert!(to.next().is_none());
        Ok(())
    }
}

fn stored(data: &Dataset, most: usize) -> StoredRows {
    StoredRows::new(Arc::new(Store { data: data.clone(), reads: AtomicUsize::new(0), most })).unwrap()
}

fn go_on(_: &StepReport, _: &TrainState) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn settings(steps: u64) -> FitSettings {
    let inducing = InducingSize::decoupled(20, 8);
    let model = ModelSettings { hidden_layers: 1, width: 2, inducing, ..ModelSettings::default() };
    let train = TrainSettings { steps, batch_size: 100, validate_every: 7, ..TrainSettings::default() };
    FitSettings { model, train, ..FitSettings::default() }
}

/// All numbers that training leaves, to the bit.
fn bits(fit: &Fit) -> Vec<u64> {
    let units = &fit.regressor.standardiser;
    let units = [&units.x, &units.y].into_iter().flat_map(|own| own.shift.iter().chain(&own.scale));
    let all = [fit.regressor.model.raw(), fit.state.now.raw.clone(), fit.regressor.spread.factors().to_vec()].concat();
    all.iter().chain(units).map(|v| v.to_bits()).collect()
}

fn in_memory(data: &Dataset, settings: &FitSettings) -> Fit {
    Training::new(data, settings).unwrap().run(go_on).unwrap()
}

fn begun(rows: &StoredRows, settings: &FitSettings) -> Training {
    Training::stored(rows, settings, |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn rows_elsewhere_train_the_model_of_rows_in_memory() {
    let numbers = simulate::eight_link_arm(500, 1);
    let skewed = Mat::from_fn(500, 1, |i, _| (2.0 * numbers.y()[(i, 0)]).exp());
    let skewed = Dataset::new(numbers.x().clone(), skewed).unwrap();
    let count = |i: usize, of: f64| (numbers.y()[(i, 0)].abs() * of).floor();
    let classes = Mat::from_fn(500, 1, |i, _| count(i, 0.9).min(2.0));
    let classes = Dataset::new(numbers.x().clone(), classes).unwrap();
    let counts = Dataset::new(numbers.x().clone(), Mat::from_fn(500, 1, |i, _| count(i, 3.0))).unwrap();
    let counts = counts.with_offsets((0..500).map(|i| f64::from(i % 7)).collect()).unwrap();
    let of = |likelihood: LikelihoodForm, transform_target: TransformChoice| {
        let mut own = FitSettings { transform_target, ..settings(9) };
        own.model.likelihood = likelihood;
        own
    };
    let gaussian = settings(1).model.likelihood;
    for (case, data, own) in [
        ("numbers", &numbers, of(gaussian, TransformChoice::None)),
        ("a transform that is found", &skewed, of(gaussian, TransformChoice::Auto)),
        ("a transform that is given", &skewed, of(gaussian, TransformChoice::Quantile)),
        ("no validation", &numbers, FitSettings { validation: None, ..settings(9) }),
        ("classes", &classes, of(LikelihoodForm::Softmax { classes: None }, TransformChoice::Auto)),
        ("counts", &counts, of(LikelihoodForm::Poisson, TransformChoice::Auto)),
        (
            "one batch",
            &numbers,
            FitSettings { train: TrainSettings { batch_size: 1000, ..settings(9).train }, ..settings(9) },
        ),
    ] {
        let rows = stored(data, usize::MAX);
        let fit = begun(&rows, &own).run(go_on).unwrap();
        assert_eq!(bits(&fit), bits(&in_memory(data, &own)), "{case}");
        // Gone on with from the middle of an epoch.
        let training = begun(&rows, &own);
        let until = |report: &StepReport, _: &TrainState| match report.step {
            5 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let part = training.run(until).unwrap();
        let other = Training::of_stored(training.regressor().clone(), &rows, &own).unwrap().resume(part.state);
        assert_eq!(bits(&other.run(go_on).unwrap()), bits(&fit), "{case}, gone on with");
    }
}

#[test]
fn more_rows_than_a_model_starts_from_and_than_are_looked_at_are_no_other_matter() {
    let rows = 2 * deepgp::SUBSAMPLE + 1234;
    let x = common::uniform(rows, 3, 5);
    let y = Mat::from_fn(rows, 1, |i, _| (3.0 * x[(i, 0)]).sin() * x[(i, 1)]);
    let data = Dataset::new(x, y).unwrap();
    let mut own = settings(4);
    (own.train.batch_size, own.validation, own.transform_target) = (2000, Some(0.3), TransformChoice::None);
    let fit = begun(&stored(&data, usize::MAX), &own).run(go_on).unwrap();
    assert_eq!(bits(&fit), bits(&in_memory(&data, &own)));
}

#[test]
fn splits_are_those_of_a_dataset() {
    let data = simulate::eight_link_arm(300, 1);
    let classes = Mat::from_fn(300, 1, |i, _| f64::from(u8::from(i % 11 == 0)));
    let data = Dataset::new(data.x().clone(), classes).unwrap();
    let all = |rows: &StoredRows| rows.gather(&(0..rows.len() as u32).collect::<Vec<_>>()).unwrap();
    for stratify in [Stratify::Rows, Stratify::Classes] {
        let (rest, out) = stored(&data, usize::MAX).split(0.3, stratify, 7).unwrap();
        let (a, b) = data.row_split(0.3, stratify, 7).unwrap();
        assert_eq!((all(&rest), all(&out)), (data.gather(&a).unwrap(), data.gather(&b).unwrap()));
        assert!(out.numbers().eq(b.iter().copied()));
        // Of what is left, some more.
        let (train, _) = rest.split(0.2, stratify, 8).unwrap();
        let (c, _) = data.gather(&a).unwrap().row_split(0.2, stratify, 8).unwrap();
        assert_eq!(all(&train), data.gather(&a).unwrap().gather(&c).unwrap());
        assert_eq!(train.gather(&[5, 2, 9]).unwrap(), all(&train).gather(&[5, 2, 9]).unwrap());
    }
    assert!(stored(&data, usize::MAX).split(1.5, Stratify::Rows, 0).is_err());
}

#[test]
fn what_cannot_be_read_is_an_error_with_its_reason() {
    let data = simulate::eight_link_arm(300, 1);
    let needed = {
        let store = Arc::new(Store { data: data.clone(), reads: AtomicUsize::new(0), most: usize::MAX });
        begun(&StoredRows::new(store.clone()).unwrap(), &settings(20));
        store.reads.load(Ordering::Relaxed)
    };
    for most in [0, 3, needed - 1] {
        let failed = Training::stored(&stored(&data, most), &settings(20), |_| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(&failed, Error::StoredRows { reason } if reason == "the disk has gone"), "{most}: {failed}");
    }
    let failed = begun(&stored(&data, needed + 4), &settings(20)).run(go_on).unwrap_err();
    assert!(failed.to_string().contains("cannot be read: the disk has gone"), "{failed}");
    let whole = stored(&data, usize::MAX);
    assert!(whole.gather(&[300]).is_err() && whole.gather(&[]).is_err());
}
