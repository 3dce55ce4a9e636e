//! Files that version 0.1 wrote: they open, say what they said, predict what they predicted, and go on where they stopped.
//!
//! `version_0_1/` holds small models and checkpoints, and the tables they were fitted to. The command line of version 0.1 (commit
//! 68ab374) wrote most of them (`version_0_1/made.sh`); a program against its library wrote what the command line cannot ask for:
//! `combined.deepgp` (sums and products of kernels, frozen parameters), `jitter.deepgp` (a note on jitter), `stuck.deepgp` (the last way to
//! end), and `arrays.deepgp`, trained further, with the record that its Python package makes.
//!
//! `version_0_1/files.txt` is what version 0.1 read in them and made of it. How it is held against this version, and when it
//! may be recorded anew, stands in `version_0_1.rs` of the crate `deepgp`.

#[path = "../../deepgp/tests/version_0_1/fixture.rs"]
mod fixture;
#[path = "../../deepgp/tests/version_0_1/machine.rs"]
mod machine;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use deepgp::{
    Dataset, Draws, FitSettings, InducingSize, LikelihoodForm, Mat, Precision, PredictSettings, Score, Snapshot,
    TrainSettings, TrainState, Training, TransformChoice, TrendChoice,
};
use deepgp_io::table::{Source, Targets};
use deepgp_io::{ModelFile, Note, Provenance, Record, StopReason, TableRecord, noise_of_first_target};
use fixture::Case;
use serde::Serialize;

/// Every file, and the table it was fitted to.
const FILES: [(&str, Option<&str>); 18] = [
    ("array.deepgp", Some("array.npy")),
    ("arrays.deepgp", None),
    ("combined.deepgp", Some("plain.csv")),
    ("default.deepgp", Some("plain.csv")),
    ("dual.deepgp", Some("plain.csv")),
    ("flats.deepgp", Some("flats.csv")),
    ("interrupted.deepgp", Some("plain.csv")),
    ("interrupted.deepgp.checkpoint", Some("plain.csv")),
    ("jitter.deepgp", Some("plain.csv")),
    ("mixed.deepgp", Some("plain.csv")),
    ("pair.deepgp", Some("pair.csv")),
    ("patience.deepgp", Some("plain.csv")),
    ("rolled-back.deepgp", Some("plain.csv")),
    ("stuck.deepgp", Some("plain.csv")),
    ("tied.deepgp", Some("plain.csv")),
    ("time.deepgp", Some("plain.csv")),
    ("time.deepgp.checkpoint", Some("plain.csv")),
    ("whole.deepgp", Some("plain.csv")),
];

/// What is read from a file is the same on every machine.
const READ: f64 = 0.0;
/// A prediction rounds by 1e-16, and solving with a kernel matrix magnifies that by up to the inverse of its jitter, 1e6, or 1e10 where
/// there is next to none.
const PREDICTED: f64 = 1e-6;
/// The same in single precision, 6e-8, with a jitter of 1e-4 of the variance.
const PREDICTED_MIXED: f64 = 1e-2;
/// As for the fits of the crate `deepgp`, of which this would be a long one: 108 steps.
const TRAINED: f64 = 1e-2;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/version_0_1").join(name)
}

fn load(name: &str) -> ModelFile {
    ModelFile::load(&path(name)).unwrap()
}

/// The file as this version writes it.
fn written_anew(file: &ModelFile) -> ModelFile {
    ModelFile::from_bytes(&file.to_bytes().unwrap(), Path::new("anew.deepgp")).unwrap()
}

fn table(file: &ModelFile, name: &str) -> Dataset {
    let source = Source::open(&path(name)).unwrap();
    assert_eq!(source.sha256().unwrap(), file.record.data.table().unwrap().sha256, "{name}");
    let (chunk, _) = file.schema.encoder(&source, Targets::Needed).unwrap().read_all().unwrap();
    Dataset::new(chunk.x, chunk.y.unwrap()).unwrap()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

/// The table, or what version 0.1 had in place of one.
fn table_of(data: &Provenance) -> TableRecord {
    let arrays =
        |rows| TableRecord { path: "(arrays in Python)".into(), more: Vec::new(), sha256: String::new(), rows };
    match data {
        Provenance::Table(table) => table.clone(),
        Provenance::Arrays { rows } => arrays(*rows),
        Provenance::Unfitted => arrays(0),
    }
}

/// Why training ended, in the words of version 0.1.
fn stop(record: &Record) -> String {
    record.stop.as_ref().map_or("nothing".into(), StopReason::to_string)
}

/// The notes, in the words of version 0.1.
fn notes(record: &Record) -> Vec<String> {
    record.notes.iter().map(Note::to_string).collect()
}

/// Whose scores there are, in the words of version 0.1, and the scores.
fn scores(record: &Record) -> Vec<(String, Score)> {
    record.scores.iter().map(|own| (own.of.to_string(), own.score.clone())).collect()
}

fn record_settings(case: &mut Case, settings: &FitSettings) {
    let FitSettings { model, train, validation, constant_columns, transform_target, trend, trend_columns, calibrate } =
        settings;
    assert_eq!((*trend, &trend_columns[..]), (TrendChoice::None, &[][..]), "0.1 had no trends");
    assert_eq!(*transform_target, TransformChoice::None, "0.1 had no transforms");
    assert!(!calibrate, "0.1 took predictions as they were");
    case.fact("settings.hidden_layers", model.hidden_layers);
    case.fact("settings.width", model.width);
    // What was not told is no longer nothing.
    let told = Some(model.inducing).filter(|size| *size != InducingSize::Decoupled { mean: None, covariance: None });
    case.fact("settings.inducing", json(&told));
    case.fact("settings.mean_form", json(&model.mean_form));
    case.fact("settings.covariance_form", json(&model.covariance_form));
    case.fact("settings.kernel", json(&model.kernel));
    case.fact("settings.inducing_start", json(&model.inducing_start));
    let LikelihoodForm::Gaussian { noise } = model.likelihood else { panic!("0.1 had Gaussian noise") };
    case.fact("settings.noise", noise);
    case.fact("settings.precision", json(&model.precision));
    case.fact("settings.jitter", json(&model.jitter));
    case.fact("settings.seed", model.seed);
    case.fact("settings.train", train_settings(train));
    case.fact("settings.validation", format!("{validation:?}"));
    case.fact("settings.constant_columns", json(constant_columns));
}

fn train_settings(train: &TrainSettings) -> String {
    let TrainSettings { steps, batch_size, samples, learning_rate, schedule, kl_warm_up, .. } = train;
    let TrainSettings { validate_every, patience, validation_samples, seed, threads, .. } = train;
    let (schedule, learning_rate) = (json(schedule), learning_rate.expect("files of 0.1 say the rate"));
    format!(
        "steps {steps}, batch_size {batch_size}, samples {samples}, learning_rate {learning_rate}, schedule {schedule}, \
         kl_warm_up {kl_warm_up}, validate_every {validate_every}, patience {patience}, \
         validation_samples {validation_samples}, seed {seed}, threads {threads}"
    )
}

/// Everything that a file says.
fn read(name: &str, file: &ModelFile) -> Case {
    let case = &mut Case::brief(name, READ);
    let Record { data, test, steps, train_seconds, elbo, written, version, test_rows, .. } = &file.record;
    let Record { out, checkpoint_every, device, prediction_samples, steps_before, .. } = &file.record;
    case.fact("schema", json(&file.schema));
    case.fact("record.table", json(&table_of(data)));
    case.fact("record.test", format!("{test:?}"));
    case.fact("record.steps", steps);
    case.fact("record.train_seconds", train_seconds);
    case.fact("record.elbo", format!("{elbo:?}"));
    case.fact("record.stop", stop(&file.record));
    case.fact("record.written", written);
    case.fact("record.version", version);
    case.fact("record.test_rows", test_rows);
    case.fact("record.notes", json(&notes(&file.record)));
    case.fact("record.scores", json(&scores(&file.record)));
    case.fact("record.out", out);
    case.fact("record.checkpoint_every", checkpoint_every);
    case.fact("record.device", device);
    case.fact("record.prediction_samples", format!("{prediction_samples:?}"));
    case.fact("record.steps_before", steps_before);
    record_settings(case, &file.record.settings);
    let points = file.history.points();
    let numbers = |p: &deepgp_io::HistoryPoint| {
        [p.step as f64, p.seconds, p.elbo, p.data_term, p.kl, noise_of_first_target(&p.likelihood)]
    };
    case.numbers("history", &points.iter().flat_map(numbers).collect::<Vec<f64>>());
    let looks = file.history.validation().iter().flat_map(|(step, score)| [*step as f64, *score]);
    case.numbers("history.validation", &looks.collect::<Vec<f64>>());
    record_model(case, file);
    if let Some(state) = &file.state {
        record_state(case, state);
    }
    case.clone()
}

fn record_model(case: &mut Case, file: &ModelFile) {
    let (model, units) = (&file.regressor.model, &file.regressor.standardiser);
    case.fact("model.precision", json(&model.precision()));
    case.fact("model.jitter", json(&model.jitter()));
    for (i, layer) in model.layers().iter().enumerate() {
        let forms = (layer.kernel.name(), json(&layer.mean.form), json(&layer.covariance.form));
        case.fact(&format!("model.layers.{i}"), format!("{} {} {}", forms.0, forms.1, forms.2));
    }
    for parameter in model.parameters() {
        let name = format!("model.{}", parameter.name);
        case.fact(&format!("{name}.shape"), format!("{:?}, frozen: {}", parameter.shape, parameter.frozen));
        case.numbers(&name, &parameter.values);
    }
    case.numbers("standardiser.x", &[&units.x.shift[..], &units.x.scale].concat());
    case.numbers("standardiser.y", &[&units.y.shift[..], &units.y.scale].concat());
}

fn record_state(case: &mut Case, state: &TrainState) {
    let TrainState { step, epoch, batches_used, rate_factor, failures, rolled_back, .. } = state;
    let TrainState { now, before, best, looks_since_best, num_data, settings, .. } = state;
    case.fact("state.place", format!("step {step}, epoch {epoch}, {batches_used} batches of {num_data} rows"));
    case.fact("state.failures", format!("{failures}, {rolled_back} in all, rate times {rate_factor}"));
    case.fact("state.settings", train_settings(settings));
    for (name, snapshot) in [("now", Some(now)), ("before", before.as_ref())] {
        if let Some(Snapshot { raw, optimiser }) = snapshot {
            case.fact(&format!("state.{name}.updates"), optimiser.updates);
            let all = [&raw[..], &optimiser.slots[0], &optimiser.slots[1]].concat();
            case.numbers(&format!("state.{name}"), &all);
        }
    }
    if let Some(best) = best {
        case.fact("state.best", format!("{} at step {}, {looks_since_best} looks ago", best.score, best.step));
        case.numbers("state.best.raw", &best.raw);
    }
}

/// What the model answers at four rows about the middle of its data.
fn predicted(name: &str, file: &ModelFile) -> Case {
    let model = &file.regressor.model;
    let mut case = Case::new(
        format!("{name}, predictions"),
        match model.precision() {
            Precision::F64 => PREDICTED,
            Precision::Mixed => PREDICTED_MIXED,
        },
    );
    let units = &file.regressor.standardiser;
    let place = |i: usize, d: usize| units.x.shift[d] + units.x.scale[d] * 0.5 * ((i + 2 * d) % 5) as f64;
    let x = Mat::from_fn(4, model.input_width(), place);
    let y = Mat::from_fn(4, units.y.shift.len(), |i, p| units.y.shift[p] + units.y.scale[p] * (i as f64 - 1.5));
    let predictor = file
        .regressor
        .predictor(PredictSettings { samples: 9, seed: 2, draws: Draws::Independent, threads: 0 })
        .unwrap();
    let moments = predictor.moments(x.view()).unwrap();
    case.numbers("f.mean", moments.f.mean.as_slice());
    case.numbers("f.variance", moments.f.variance.as_slice());
    case.numbers("y.mean", moments.y.mean.as_slice());
    case.numbers("y.variance", moments.y.variance.as_slice());
    case.numbers("quantiles", predictor.quantiles(x.view(), &[0.05, 0.95]).unwrap().as_slice());
    case.numbers("log_density", &predictor.log_density(x.view(), y.view()).unwrap());
    case.numbers("draws_of_y", predictor.draws_of_y(x.view(), 1).unwrap()[0].as_slice());
    case
}

/// What the schema in the file makes of its table.
fn encoded(name: &str, file: &ModelFile, of: &str) -> Case {
    let mut case = Case::brief(format!("{name}, its table"), READ);
    let data = table(file, of);
    case.fact("rows", data.len());
    case.fact("features", json(&file.schema.feature_names()));
    case.numbers("x", data.x().as_slice());
    case.numbers("y", data.y().as_slice());
    case
}

/// The run of a checkpoint, gone on with up to `steps` steps.
fn resumed(name: &str, steps: u64) -> (Case, ModelFile) {
    let mut file = load(name);
    let data = table(&file, "plain.csv");
    let mut settings = file.record.settings.clone();
    settings.train.steps = steps;
    let state = file.state.take().unwrap();
    let mut elbo = Vec::new();
    let fit = Training::of(file.regressor.clone(), &data, &settings)
        .unwrap()
        .resume(state)
        .run(|report, state| {
            file.log(report, state, Vec::new(), 0.0);
            elbo.extend(file.record.elbo);
            ControlFlow::Continue(())
        })
        .unwrap();
    file.record.stop = Some(StopReason::new(&fit.stop, false));
    file.regressor = fit.regressor;
    let mut case = Case::new(format!("{name}, resumed"), TRAINED);
    case.fact("stop", stop(&file.record));
    case.fact("steps", fit.state.step);
    case.numbers("elbo", &elbo);
    for parameter in file.regressor.model.parameters() {
        case.numbers(&parameter.name, &parameter.values);
    }
    (case, file)
}

fn machine_case() -> Case {
    let mut case = Case::brief("machine", READ);
    for (name, values) in machine::machine() {
        case.numbers(name, &values);
    }
    case
}

#[test]
fn files_say_and_predict_what_they_did_in_version_0_1() {
    let mut cases = Vec::new();
    let mut anew = Vec::new();
    for (name, table) in FILES {
        let file = load(name);
        let again = written_anew(&file);
        for (file, cases) in [(&file, &mut cases), (&again, &mut anew)] {
            cases.push(read(name, file));
            cases.push(predicted(name, file));
            cases.extend(table.map(|table| encoded(name, file, table)));
        }
    }
    fixture::check(&path("files.txt"), machine_case(), &cases);
    if !fixture::recording() {
        fixture::check(&path("files.txt"), machine_case(), &anew);
    }
}

#[test]
fn checkpoints_go_on_as_they_did_in_version_0_1() {
    let (by_time, resumed_file) = resumed("time.deepgp.checkpoint", 150);
    let (by_hand, _) = resumed("interrupted.deepgp.checkpoint", 70);
    fixture::check(&path("resumed.txt"), machine_case(), &[by_time, by_hand]);
    // Bits or not: the run that was never interrupted, on whatever machine, ended in about the same place.
    let whole = load("whole.deepgp").regressor.model.parameters();
    for (own, whole) in resumed_file.regressor.model.parameters().iter().zip(&whole) {
        let largest = whole.values.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()));
        for (own, whole) in own.values.iter().zip(&whole.values) {
            assert!((own - whole).abs() <= TRAINED * largest, "{own} and {whole}");
        }
    }
}

#[test]
fn every_file_of_the_folder_is_opened() {
    let mut found: Vec<String> = std::fs::read_dir(path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".deepgp"))
        .collect();
    found.sort_unstable();
    assert_eq!(found, FILES.map(|(name, _)| name.to_string()));
}
