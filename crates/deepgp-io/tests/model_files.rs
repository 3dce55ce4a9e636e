//! Model files: everything comes back to the last bit, and nothing that is wrong gets through.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use deepgp::kernel::{Combination, Kernel, Matern32, Profile, RationalQuadratic, SquaredExponential, Stationary};
use deepgp::likelihood::{Gaussian, LikelihoodForm, Quantity};
use deepgp::params::Constraint;
use deepgp::{
    ClassScore, CountScore, CovarianceForm, Dataset, DeepGp, FitSettings, InducingSize, KernelChoice, Mat, MeanForm,
    Precision, PredictSettings, Real, Regressor, Score, SharedParameter, SharedParameters, Sharpness, Spread,
    TrainState, TransformChoice, simulate,
};
use deepgp_io::note::{Note, Number, TrainingEvent};
use deepgp_io::table::{InputColumn, Kind, Missing, Schema, TargetKind};
use deepgp_io::{
    Baseline, ClassWeights, History, HistoryPoint, ModelError, ModelFile, Provenance, Record, RowSample, ScoreRecord,
    StopReason, Subject, TableRecord,
};
use proptest::prelude::*;
use safetensors::SafeTensors;
use sha2::{Digest, Sha256};

fn settings() -> FitSettings {
    let mut settings = FitSettings::plain();
    settings.model.hidden_layers = 1;
    settings.model.width = 2;
    settings.model.inducing = InducingSize::decoupled(12, 7);
    settings.train.steps = 12;
    settings.train.validate_every = 4;
    settings.train.learning_rate = Some(0.012_345_678_901_234_567);
    settings
}

/// A model after a few steps, with the state it was left in.
fn trained(settings: &FitSettings) -> (Regressor, TrainState) {
    let data = simulate::eight_link_arm(60, 1);
    let fit = Regressor::fit(&data, settings, |_, _| ControlFlow::Continue(())).unwrap();
    (fit.regressor, fit.state)
}

fn file(regressor: Regressor, state: Option<TrainState>, settings: FitSettings) -> ModelFile {
    let inputs = (1..=8).map(|i| InputColumn::new(format!("a{i}"), Kind::Number { fill: Some(0.1 + 0.2) }));
    let table = TableRecord { path: "arm.csv".into(), more: Vec::new(), sha256: "00".into(), rows: 60 };
    let mut history = History::default();
    for step in 1..=30 {
        let value = 1.0 / step as f64;
        let likelihood = vec![Quantity { name: "noise".into(), output: Some(0), value }];
        history.push(HistoryPoint { step, seconds: value, elbo: -value, data_term: value, kl: value, likelihood });
    }
    history.push_validation(4, -0.1);
    ModelFile {
        regressor,
        schema: Schema {
            inputs: inputs.collect(),
            targets: vec!["y \"ü\"".into()],
            target_kind: TargetKind::Numbers,
            missing: Missing::Mean,
            positions: None,
            ..Schema::default()
        },
        record: Record {
            test: Some(0.3),
            steps: 12,
            train_seconds: 0.1,
            elbo: Some(-1.0 / 3.0),
            notes: vec![
                Note::Text("a note".into()),
                Note::Training { event: TrainingEvent::StepRolledBack, cause: "\"ü\"".into() },
                Note::ExplainsNothing { model: Number(f64::NAN), mean: Number(1.0 / 3.0) },
            ],
            out: "arm.deepgp".into(),
            checkpoint_every: "60s".into(),
            device: "cpu".into(),
            prediction_samples: Some(7),
            steps_before: 3,
            ..Record::new(Provenance::Table(table), settings)
        },
        history,
        state,
    }
}

fn reload(file: &ModelFile) -> ModelFile {
    ModelFile::from_bytes(&file.to_bytes().unwrap(), Path::new("a.deepgp")).unwrap()
}

#[test]
fn a_checkpoint_comes_back_to_the_last_bit() {
    let settings = settings();
    let (regressor, state) = trained(&settings);
    let mut regressor = regressor;
    regressor.model.freeze("likelihood.noise").unwrap();
    let file = file(regressor, Some(state), settings);
    let again = reload(&file);
    assert_eq!(again.regressor.model.parameters(), file.regressor.model.parameters());
    assert_eq!(again.regressor.standardiser, file.regressor.standardiser);
    assert_eq!(
        (again.state, again.schema, again.record, again.history),
        (file.state, file.schema, file.record, file.history)
    );
}

#[test]
fn facts_come_back_as_facts() {
    let (regressor, _) = trained(&settings());
    let original = file(regressor, None, settings());
    let score = || {
        let (one, half) = (vec![1.0], vec![0.5]);
        let [coverage_50, coverage_90, coverage_95] = [0.5, 0.9, 0.95].map(|share| vec![share]);
        Score { log_likelihood: -1.5, rmse: one.clone(), mae: one, crps: half, coverage_50, coverage_90, coverage_95 }
    };
    let subjects = [
        Subject::Model { deep: true },
        Subject::Model { deep: false },
        Subject::Uncalibrated { deep: true },
        Subject::Baseline(Baseline::NearestNeighbours { count: 7, among: None }),
        Subject::Baseline(Baseline::NearestNeighbours { count: 7, among: Some(RowSample { rows: 20, of: 60 }) }),
        Subject::Baseline(Baseline::LinearRegression),
        Subject::Baseline(Baseline::Mean),
    ];
    let stops = [
        None,
        Some(StopReason::Steps),
        Some(StopReason::Patience),
        Some(StopReason::TimeLimit),
        Some(StopReason::Interrupted),
        Some(StopReason::Stuck { cause: "no numbers".into() }),
    ];
    let data = [original.record.data.clone(), Provenance::Arrays { rows: 60 }, Provenance::Unfitted];
    for (i, stop) in stops.into_iter().enumerate() {
        let mut file = original.clone();
        file.record.stop = stop;
        file.record.data = data[i % data.len()].clone();
        file.record.scores = subjects.iter().map(|of| ScoreRecord { of: *of, score: score() }).collect();
        assert_eq!(reload(&file).record, file.record);
    }
}

#[test]
fn what_version_1_said_in_english_is_read() {
    let bytes = with_contents(
        |description| {
            let record = &mut description["record"];
            let table = record["data"]["table"].clone();
            record.as_object_mut().unwrap().remove("data");
            record["table"] = table;
            record["stop"] = "the time was up".into();
            record["notes"] = serde_json::json!(["3 of 5 rows were left out: they have missing cells"]);
            let score = serde_json::json!({
                "log_likelihood": -1.5, "rmse": [1.0], "mae": [1.0], "crps": [0.5],
                "coverage_50": [0.5], "coverage_90": [0.9], "coverage_95": [0.95],
            });
            record["scores"] = serde_json::json!([{ "name": "deep GP", "score": score }]);
        },
        |name| if name == "history.likelihood.noise.0" { "history.noise".into() } else { name.into() },
    );
    let (old, new) = (load(&bytes).unwrap(), load(small()).unwrap());
    assert_eq!((old.record.data, old.history), (new.record.data, new.history));
    assert_eq!(old.record.stop, Some(StopReason::TimeLimit));
    assert_eq!(old.record.notes, [Note::Text("3 of 5 rows were left out: they have missing cells".into())]);
    assert_eq!(old.record.scores[0].of, Subject::Model { deep: true });
}

#[test]
fn every_form_kernel_precision_and_size_comes_back() {
    let kernels = [KernelChoice::Matern12, KernelChoice::Matern52, KernelChoice::RationalQuadratic];
    let means = [MeanForm::Whitened, MeanForm::Standard, MeanForm::Dual, MeanForm::ScaledDual];
    let covariances = [CovarianceForm::Whitened, CovarianceForm::Standard, CovarianceForm::Dual];
    for i in 0..12 {
        let mut settings = settings();
        settings.model.mean_form = means[i % 4];
        settings.model.covariance_form = covariances[i % 3];
        settings.model.kernel = kernels[i % 3];
        settings.model.hidden_layers = i % 3;
        // Narrower than the input, as wide, and wider: each has a mean function of its own.
        settings.model.width = [2, 8, 9][i % 3];
        // A dual covariance asks for f64.
        settings.model.precision = if i % 2 == 0 && i % 3 != 2 { Precision::Mixed } else { Precision::F64 };
        if i % 4 == 0 {
            settings.model.inducing = InducingSize::Tied(9);
        }
        settings.train.steps = 2;
        let (regressor, _) = trained(&settings);
        let x = simulate::eight_link_arm(5, 2);
        let before = regressor.predict(x.x().view()).unwrap();
        let again = reload(&file(regressor, None, settings));
        assert_eq!(again.regressor.predict(x.x().view()).unwrap(), before, "{i}");
    }
}

#[test]
fn likelihoods_of_classes_and_counts_come_back() {
    let arm = simulate::eight_link_arm(60, 1);
    let classes = arm.y().map(|y: f64| (3.0 * (y + 1.0)).floor().clamp(0.0, 3.0));
    let two = classes.map(|class: f64| class.min(1.0));
    for (form, y) in [
        (LikelihoodForm::PROBIT, &two),
        (LikelihoodForm::LOGIT, &two),
        (LikelihoodForm::SOFTMAX, &classes),
        (LikelihoodForm::Softmax { classes: Some(6) }, &classes),
        (LikelihoodForm::ORDERED, &classes),
        (LikelihoodForm::ORDERED, &two),
        (LikelihoodForm::Poisson, &classes),
        (LikelihoodForm::NEGATIVE_BINOMIAL, &classes),
    ] {
        let mut settings = settings();
        settings.model.likelihood = form;
        settings.train.steps = 3;
        let data = Dataset::new(arm.x().clone(), y.clone()).unwrap();
        let fit = Regressor::fit(&data, &settings, |_, _| ControlFlow::Continue(())).unwrap();
        let before = fit.regressor.predict(data.x().view()).unwrap();
        let parameters = fit.regressor.model.parameters();
        let again = reload(&file(fit.regressor, Some(fit.state.clone()), settings.clone()));
        assert_eq!(again.regressor.model.parameters(), parameters, "{form:?}");
        assert_eq!(again.regressor.predict(data.x().view()).unwrap(), before, "{form:?}");
        assert_eq!((again.record.settings, again.state), (settings, Some(fit.state)), "{form:?}");
    }
}

#[test]
fn labels_exposures_and_scores_of_classes_and_counts_come_back() {
    let arm = simulate::eight_link_arm(60, 1);
    let mut settings = settings();
    settings.model.likelihood = LikelihoodForm::Softmax { classes: Some(3) };
    settings.train.steps = 2;
    let y = arm.y().map(|y: f64| (3.0 * (y + 1.0)).floor().clamp(0.0, 2.0));
    let data = Dataset::new(arm.x().clone(), y).unwrap();
    let fit = Regressor::fit(&data, &settings, |_, _| ControlFlow::Continue(())).unwrap();
    let mut own = file(fit.regressor, None, settings);
    own.schema.target_kind = TargetKind::Classes { labels: ["near", "ü", "far"].map(String::from).into() };
    own.schema.exposure = Some("hours".into());
    own.record.class_weights = ClassWeights::Balanced;
    let p = Mat::from_fn(60, 3, |_, _| 1.0 / 3.0);
    let score = ClassScore::new(data.y().view(), &p, None).unwrap();
    own.record.class_scores = vec![ScoreRecord { of: Subject::Baseline(Baseline::ClassShares), score }];
    let among = Some(RowSample { rows: 5, of: 60 });
    let counts = CountScore {
        log_score: -1.0 / 3.0,
        deviance: 1.0,
        rmse: 2.0,
        mae: 0.1 + 0.2,
        coverage_50: 0.5,
        coverage_90: 0.9,
        coverage_95: 1.0,
    };
    let of = Subject::Baseline(Baseline::PoissonRegression { among });
    own.record.count_scores = vec![ScoreRecord { of, score: counts }];
    own.regressor.sharpness = Sharpness::new(1.0 + 1.0 / 3.0).unwrap();
    let again = reload(&own);
    assert_eq!((again.schema, &again.record), (own.schema.clone(), &own.record));
    assert_eq!(again.regressor.sharpness, own.regressor.sharpness);
    // Labels that are not those of the likelihood are damage.
    own.schema.target_kind = TargetKind::Classes { labels: vec!["one".into(), "two".into()] };
    let error = load(&own.to_bytes().unwrap()).unwrap_err().to_string();
    assert!(error.contains("it has labels for 2 classes, which its likelihood has not"), "{error}");
}

#[test]
fn a_spread_comes_back_to_the_last_bit_and_one_that_does_not_suit_is_damage() {
    let (regressor, _) = trained(&settings());
    let mut own = file(regressor, None, settings());
    own.regressor.spread = Spread::new(vec![1.0 / 3.0]).unwrap();
    let again = reload(&own);
    assert_eq!(again.regressor.spread, own.regressor.spread);
    let x = Mat::from_fn(5, 8, |i, d| 0.1 * (i + d) as f64);
    let bits = |own: &ModelFile| -> Vec<u64> {
        let predictor = own.regressor.predictor(PredictSettings::default()).unwrap();
        predictor.quantiles(x.view(), &[0.05, 0.5, 0.95]).unwrap().as_slice().iter().map(|v| v.to_bits()).collect()
    };
    assert_eq!(bits(&again), bits(&own));
    own.regressor.spread = Spread::default();
    assert_ne!(bits(&again), bits(&own));
    // Two factors for one target, and one that is no width.
    for (spread, said) in [(vec![1.0, 2.0], "not one of 1 targets"), (vec![-0.5], "spread is not above 0")] {
        let damaged = with_description(|description| description["spread"] = serde_json::json!(spread));
        let error = load(&damaged).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn combined_kernels_come_back() {
    let (regressor, _) = trained(&settings());
    let mut layers = regressor.model.layers().to_vec();
    let scales = || vec![0.7; 8];
    let parts: Vec<Box<dyn Kernel>> = vec![
        Box::new(
            Combination::product(vec![
                Box::new(Matern32::new(0.3, scales())) as Box<dyn Kernel>,
                Box::new(SquaredExponential::new(2.0, scales())),
            ])
            .unwrap(),
        ),
        Box::new(RationalQuadratic::new(0.9, scales(), 0.4)),
    ];
    layers[0].kernel = Box::new(Combination::sum(parts).unwrap());
    let model = DeepGp::new(layers, Box::new(Gaussian::new(0.1, 1))).unwrap();
    let combined = Regressor::new(model, regressor.standardiser);
    let again = reload(&file(combined.clone(), None, settings()));
    assert_eq!(again.regressor.model.parameters(), combined.model.parameters());
    assert_eq!(again.regressor.model.layers()[0].kernel.name(), combined.model.layers()[0].kernel.name());
}

/// A kernel that a user might add.
#[derive(Clone, Debug)]
struct Cauchy;

impl Profile for Cauchy {
    const NAME: &'static str = "cauchy";

    fn value<T: Real>(&self, r2: T) -> T {
        T::ONE / (T::ONE + r2)
    }

    fn slope<T: Real>(&self, _r2: T, value: T) -> T {
        -value * value
    }
}

#[test]
fn a_kernel_that_could_not_be_loaded_again_is_not_saved() {
    let (regressor, _) = trained(&settings());
    let mut layers = regressor.model.layers().to_vec();
    layers[0].kernel = Box::new(Stationary { variance: 1.0, lengthscales: vec![1.0; 8], profile: Cauchy });
    let model = DeepGp::new(layers, Box::new(Gaussian::new(0.1, 1))).unwrap();
    let file = file(Regressor::new(model, regressor.standardiser), None, settings());
    let message = file.to_bytes().unwrap_err().to_string();
    assert!(message.contains("`cauchy` of layer 0"), "{message}");
}

/// The bytes of a small file, made once.
fn small() -> &'static [u8] {
    static BYTES: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    BYTES.get_or_init(|| {
        let settings = settings();
        let (regressor, state) = trained(&settings);
        file(regressor, Some(state), settings).to_bytes().unwrap()
    })
}

/// Puts other words into a file's description, with the right checksum: what a wrong program might write. This is also the
/// checksum of `docs/model-file.md`, written a second time.
fn with_description(change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
    with_contents(change, str::to_string)
}

/// The same with other names for some arrays.
fn with_contents(change: impl FnOnce(&mut serde_json::Value), name: impl Fn(&str) -> String) -> Vec<u8> {
    contents_of(small(), change, name)
}

/// Any file with another description, and a checksum that fits.
fn changed(bytes: &[u8], change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
    contents_of(bytes, change, str::to_string)
}

fn contents_of(bytes: &[u8], change: impl FnOnce(&mut serde_json::Value), name: impl Fn(&str) -> String) -> Vec<u8> {
    let tensors = SafeTensors::deserialize(bytes).unwrap();
    let (_, metadata) = SafeTensors::read_metadata(bytes).unwrap();
    let header = &metadata.metadata().as_ref().unwrap()["deepgp"];
    let header: serde_json::Value = serde_json::from_str(header).unwrap();
    let mut description = header["description"].clone();
    change(&mut description);
    // In an order and with blanks of its own: it is the text that counts.
    let description = serde_json::to_string_pretty(&description).unwrap();
    let mut arrays: Vec<_> = tensors.tensors().into_iter().map(|(own, array)| (name(&own), array)).collect();
    arrays.sort_by(|a, b| a.0.cmp(&b.0));
    let mut hash = Sha256::new();
    hash.update(&description);
    for (name, array) in &arrays {
        let shape: Vec<String> = array.shape().iter().map(usize::to_string).collect();
        hash.update(format!("\n{name} [{}]\n", shape.join(", ")));
        hash.update(array.data());
    }
    let checksum: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let header = format!("{{\"format_version\":1,\"checksum\":\"{checksum}\",\"description\":{description}}}");
    safetensors::serialize(arrays, Some(HashMap::from([("deepgp".into(), header)]))).unwrap()
}

fn load(bytes: &[u8]) -> Result<ModelFile, ModelError> {
    ModelFile::from_bytes(bytes, Path::new("a.deepgp"))
}

#[test]
fn a_description_that_does_not_fit_the_arrays_is_damage() {
    load(&with_description(|_| ())).unwrap();
    let wrong = |change: fn(&mut serde_json::Value)| load(&with_description(change)).unwrap_err().to_string();
    let message = wrong(|d| d["model"]["layers"][0]["inducing"] = "tied".into());
    assert!(message.contains("a.deepgp is damaged") && message.contains("`layers.0.inducing` is missing"), "{message}");
    assert!(
        wrong(|d| d["model"]["layers"][1]["kernel"] = serde_json::json!({"one": "rational-quadratic"}))
            .contains("alpha")
    );
    assert!(wrong(|d| d["model"]["layers"][0]["mean_function"] = "identity".into()).contains("mean function"));
    let likelihood =
        wrong(|d| d["model"]["likelihood"] = serde_json::json!({"gaussian": {"outputs": 3_000_000_000_000u64}}));
    assert!(likelihood.contains("reads 3000000000000 functions, but its last layer has"), "{likelihood}");
    let ordered = wrong(|d| d["model"]["likelihood"] = serde_json::json!({"ordered": {"classes": u64::MAX}}));
    assert!(ordered.contains("`likelihood.first_cutpoint` is missing"), "{ordered}");
    let softmax = wrong(|d| d["model"]["likelihood"] = serde_json::json!({"softmax": {"classes": 1}}));
    assert!(softmax.contains("width"), "{softmax}");
    let twice = serde_json::json!([{"name": "a", "constraint": "real"}, {"name": "a", "constraint": "real"}]);
    let shared = load(&with_description(move |d| d["model"]["shared"] = twice)).unwrap_err().to_string();
    assert!(shared.contains("`shared.a` is missing") || shared.contains("described twice"), "{shared}");
    assert!(wrong(|d| d["schema"]["targets"] = serde_json::json!(["a", "b"])).contains("2 targets"));
    assert!(wrong(|d| d["model"]["frozen"] = serde_json::json!(["nothing"])).contains("nothing"));
    assert!(wrong(|d| d["model"]["jitter"]["absolute"] = serde_json::json!(-1.0)).contains("jitter"));
    assert!(wrong(|d| d["model"]["layers"] = serde_json::json!([])).contains("layers"));
    assert!(wrong(|d| d["record"] = serde_json::Value::Null).contains("header"));
}

/// Arrays without numbers cost a file little, and whoever reads it much.
#[test]
fn more_arrays_than_a_model_can_have_are_not_read() {
    let entries: Vec<String> =
        (0..100_001).map(|i| format!("\"a{i}\":{{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[0,0]}}")).collect();
    let header = format!("{{\"__metadata__\":{{\"deepgp\":\"x\"}},{}}}", entries.join(","));
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
    let error = load(&bytes).unwrap_err().to_string();
    assert!(error.contains("lists 100001 arrays, and no model has more than 100000"), "{error}");
}

#[test]
fn units_that_cannot_be_are_damage() {
    let (mut regressor, _) = trained(&settings());
    regressor.standardiser.y.scale[0] = 0.0;
    let bytes = file(regressor, None, settings()).to_bytes().unwrap();
    assert!(load(&bytes).unwrap_err().to_string().contains("units"));
}

/// A checkpoint of a model of `exp y` under one transform, and its settings.
fn transformed(transform_target: TransformChoice) -> (ModelFile, Dataset) {
    let settings = FitSettings { transform_target, ..settings() };
    let arm = simulate::eight_link_arm(200, 1);
    let data = Dataset::new(arm.x().clone(), arm.y().map(f64::exp)).unwrap();
    let fit = Regressor::fit(&data, &settings, |_, _| ControlFlow::Continue(())).unwrap();
    (file(fit.regressor, Some(fit.state), settings), data)
}

const TRANSFORMS: [TransformChoice; 4] =
    [TransformChoice::Log, TransformChoice::Log1p, TransformChoice::YeoJohnson, TransformChoice::Quantile];

#[test]
fn transforms_come_back_to_the_last_bit() {
    for choice in TRANSFORMS {
        let (mut file, data) = transformed(choice);
        file.record.validation_log_volume = Some(1.0 / 3.0);
        let again = reload(&file);
        assert_eq!(again.regressor.standardiser, file.regressor.standardiser);
        assert_eq!(again.regressor.standardiser.transform_of(0).choice(), choice);
        assert_eq!((&again.record, &again.state), (&file.record, &file.state));
        let answer = |file: &ModelFile| {
            let predictor = file.regressor.predictor(PredictSettings { samples: 5, ..Default::default() }).unwrap();
            (predictor.assess(&data).unwrap(), predictor.quantiles(data.x().view(), &[0.1, 0.9]).unwrap())
        };
        assert_eq!(answer(&again), answer(&file), "{choice:?}");
    }
}

#[test]
fn transforms_that_cannot_be_are_damage() {
    let damaged = |choice: TransformChoice, change: &dyn Fn(&mut serde_json::Value)| {
        let bytes = changed(&transformed(choice).0.to_bytes().unwrap(), |d| change(&mut d["transform"]));
        load(&bytes).unwrap_err().to_string()
    };
    let (power, scores) = (TransformChoice::YeoJohnson, TransformChoice::Quantile);
    let told = damaged(power, &|t| t["each"][0]["yeo-johnson"]["lambda"] = 2.5.into());
    assert!(told.contains("from 0 to 2"), "{told}");
    for (name, value) in [("y", serde_json::json!([0.0, 2.0, 1.0])), ("z", serde_json::json!([])), ("y", 3.into())] {
        let told = damaged(scores, &|t| t["each"][0]["quantile"][name] = value.clone());
        assert!(told.contains("damaged"), "{name} {value}: {told}");
    }
    assert!(damaged(power, &|t| t["each"] = serde_json::json!([])).contains("not those of 1 targets"));
    assert!(damaged(power, &|t| t["original"]["scale"][0] = 0.0.into()).contains("not those of 1 targets"));
    assert!(damaged(power, &|t| t["each"][0] = "cube-root".into()).contains("cube-root"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_flipped_bit_goes_unnoticed(at in 0..small().len(), bit in 0..8u32) {
        let mut bytes = small().to_vec();
        bytes[at] ^= 1 << bit;
        prop_assert!(load(&bytes).is_err());
    }

    #[test]
    fn no_cut_goes_unnoticed(keep in 0..small().len()) {
        prop_assert!(load(&small()[..keep]).is_err());
    }

    #[test]
    fn any_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(load(&bytes).is_err());
    }

    #[test]
    fn any_number_in_the_description_is_survived(which in 0..60usize, value in prop_oneof![
        Just(serde_json::json!(-1)), Just(serde_json::json!(0)), Just(serde_json::json!(1e300)),
        Just(serde_json::json!(u64::MAX)), Just(serde_json::json!("x")), Just(serde_json::Value::Null),
    ]) {
        // Whatever it says, it is a model or an error, and never a panic.
        let _ = load(&with_description(|description| {
            let mut left = which;
            replace(description, &mut left, &value);
        }));
    }
}

/// Replaces leaf number `left`, counted down on the way.
fn replace(value: &mut serde_json::Value, left: &mut usize, by: &serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, left, by)),
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| replace(item, left, by)),
        leaf => {
            if *left == 0 {
                *leaf = by.clone();
            }
            *left = left.wrapping_sub(1);
        }
    }
}

#[test]
fn parameters_that_belong_to_no_layer_come_back() {
    let (regressor, _) = trained(&settings());
    let sites = SharedParameter { name: "sites".into(), constraint: Constraint::Real, shape: vec![2, 3] };
    let scale =
        SharedParameter { name: "scale".into(), constraint: Constraint::Positive { floor: 1e-3 }, shape: vec![] };
    let numbers = [0.1, -0.2, 1.0 / 3.0, 4.0, 5e-9, -6.0];
    let shared = SharedParameters::default().with(sites, &numbers).with(scale, &[0.7]);
    let mut model = regressor.model.clone().with_shared(shared).unwrap();
    model.freeze("shared.scale").unwrap();
    let before = file(Regressor { model, ..regressor }, None, settings());
    let after = load(&before.to_bytes().unwrap()).unwrap();
    assert_eq!(after.regressor.model.shared(), before.regressor.model.shared());
    assert_eq!(after.regressor.model.parameters(), before.regressor.model.parameters());
}
