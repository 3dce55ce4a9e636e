//! `deepgp info`: tells what is in a model file.

use std::fmt::Write;

use anyhow::Result;
use deepgp::Inducing;
use deepgp::likelihood::Outcomes;
use deepgp_io::table::{Kind, TargetKind};
use deepgp_io::{ModelFile, StopReason};
use serde_json::{Value, json};

use crate::arguments::InfoArgs;
use crate::fit::folds;
use crate::model::description::{describe, inputs_in_words, transforms_in_words};
use crate::model::relevance::relevance_of_columns;
use crate::model::units::Judge;
use crate::model::{fold_scores, json_summary, labels, notes, scores, seeds, units};
use crate::terminal::date::date;
use crate::terminal::output::{self, Outcome};
use crate::terminal::text::{count, duration, number, table as aligned};
use crate::terminal::visible::line;

/// The number of inputs whose lengthscales are shown.
const SHOWN_INPUTS: usize = 10;

/// Prints what is in a model file.
pub fn info(args: &InfoArgs) -> Result<Outcome> {
    let file = ModelFile::load(&args.model)?;
    if args.json {
        output::json(&as_json(&file))?;
    } else {
        output::print_text(&in_words(&file)?)?;
    }
    Ok(Outcome::Done)
}

/// The facts about a model file for scripts.
fn as_json(file: &ModelFile) -> Value {
    let record = &file.record;
    let layers: Vec<Value> = file
        .regressor
        .model
        .layers()
        .iter()
        .map(|layer| {
            let sizes = match &layer.inducing {
                Inducing::Tied(z) => json!({ "inducing": z.nrows() }),
                Inducing::Decoupled { mean, covariance } => {
                    json!({ "mean_inducing": mean.nrows(), "covariance_inducing": covariance.nrows() })
                }
                Inducing::Nested { inputs, covariance } => {
                    json!({ "mean_inducing": inputs.nrows(), "covariance_inducing": covariance, "nested": true })
                }
            };
            json!({
                "inputs": layer.input_width(),
                "outputs": layer.output_width(),
                "kernel": layer.kernel.name(),
                "mean_form": layer.mean.form,
                "covariance_form": layer.covariance.form,
                "sizes": sizes,
            })
        })
        .collect();
    let transform_of = |p: usize| file.regressor.standardiser.transform_of(p).choice();
    let transforms: Vec<_> = (0..file.schema.targets.len()).map(transform_of).collect();
    let table = record.data.table();
    json!({
        "version": record.version,
        "written": date(record.written),
        "checkpoint": file.state.is_some(),
        "summary": describe(&file.regressor),
        "layers": layers,
        "parameters": file.regressor.model.raw().len(),
        "precision": file.regressor.model.precision(),
        "targets": file.schema.targets,
        "target_kind": file.schema.target_kind,
        "exposure": file.schema.exposure,
        "group": file.schema.row_columns.group,
        "weights": file.schema.row_columns.weights,
        "transforms": transforms,
        "sharpness": file.regressor.sharpness.power(),
        "spread": file.regressor.spread.factors(),
        "columns": file.schema.inputs,
        "inputs": file.schema.feature_names(),
        "table": {
            "path": table.map(|table| &table.path),
            "sha256": table.map(|table| &table.sha256),
            "rows": record.data.rows(),
        },
        "steps": record.steps,
        "train_seconds": record.train_seconds,
        "elbo": record.elbo,
        "kept": json_summary::kept(file),
        "stop": record.stop.as_ref().map(StopReason::to_string),
        "settings": record.settings,
        "seeds": seeds::json(file),
        "scores": scores::json_of_fit(file),
        "cross_validation": record.cross_validation.as_ref().map(fold_scores::json),
        "search": record.search,
        "notes": notes::sentences(&notes::all(file)),
    })
}

/// The facts about a model file for people.
fn in_words(file: &ModelFile) -> Result<String, std::fmt::Error> {
    let (record, model) = (&file.record, &file.regressor.model);
    let mut out = String::new();
    let kind = if file.state.is_some() { "a checkpoint of " } else { "" };
    writeln!(out, "{kind}{}", describe(&file.regressor))?;
    writeln!(
        out,
        "{}, written {} by deepgp {}\n",
        count(model.raw().len(), "parameter"),
        date(record.written),
        line(&record.version)
    )?;
    writeln!(out, "predicts  {}", line(&file.schema.targets.join(", ")))?;
    match &file.schema.target_kind {
        TargetKind::Numbers if file.regressor.model.likelihood().outcomes() == Outcomes::Real => {}
        TargetKind::Classes { .. } | TargetKind::Numbers if !labels::of(file).is_empty() => {
            let labels = labels::of(file);
            let more = if labels.len() > SHOWN_INPUTS { ", …" } else { "" };
            let shown = labels[..labels.len().min(SHOWN_INPUTS)].join(", ");
            writeln!(out, "          one of {} classes: {}{more}", labels.len(), line(&shown))?;
        }
        TargetKind::Classes { .. } | TargetKind::Numbers | TargetKind::Counts => {
            let exposure =
                file.schema.exposure.as_ref().map_or(String::new(), |own| format!(", for an exposure of `{own}`"));
            writeln!(out, "          a count{}", line(&exposure))?;
        }
    }
    for transform in transforms_in_words(file) {
        writeln!(out, "through   {}", line(&transform))?;
    }
    writeln!(out, "from      {}", line(&inputs_in_words(file, "input")))?;
    for column in &file.schema.inputs {
        match &column.kind {
            Kind::Category { levels } => {
                writeln!(out, "          `{}` is one of {} categories", line(&column.name), levels.len())?;
            }
            Kind::ManyLevels { levels, .. } => writeln!(
                out,
                "          `{}` is one of {} categories, each as what it says about the target",
                line(&column.name),
                levels.len()
            )?,
            Kind::Date { cycles, .. } => {
                let cycles: String = cycles.iter().map(|cycle| format!(", {}", cycle.name())).collect();
                writeln!(out, "          `{}` is a date: a trend, in seconds since 1970{cycles}", line(&column.name))?;
            }
            Kind::Number { .. } | Kind::Boolean { .. } => {}
        }
    }
    writeln!(out, "table     {}, {}", line(&record.data.to_string()), count(record.data.rows(), "row"))?;
    let stop = record.stop.as_ref().map_or("to be continued".into(), StopReason::to_string);
    let steps = count(record.steps as usize, "step");
    writeln!(out, "training  {steps} in {}; {stop}", duration(record.train_seconds))?;
    if record.data.is_fitted() {
        writeln!(out, "seeds     {}", seeds::in_words(file))?;
    }
    if let Some((step, score)) = units::kept(file) {
        let name = match units::judge(file) {
            Judge::LogDensity => "log likelihood",
            Judge::LogLoss => "log loss",
            Judge::Crps => "CRPS",
        };
        writeln!(out, "kept      step {step}, the best by the validation rows ({name} {})", number(score))?;
    }
    let sharpness = file.regressor.sharpness;
    if !sharpness.is_neutral() {
        let power = number(sharpness.power());
        writeln!(out, "sharpened probabilities to the power {power}, as the validation rows have it")?;
    }
    let spread = &file.regressor.spread;
    if !spread.is_neutral() {
        let factors: Vec<String> = spread.factors().iter().map(|own| number(*own)).collect();
        let factors = factors.join(", ");
        writeln!(
            out,
            "spread    distributions {factors} times as wide as the model's, as the validation rows have it"
        )?;
    }
    if let Some(elbo) = record.elbo {
        writeln!(out, "ELBO      {} (at the last step)", number(elbo))?;
    }
    for (unit, noise) in units::noise_units(file).iter().zip(units::noise(file)) {
        writeln!(out, "noise     {} (standard deviation, in units of {})", number(noise), line(unit))?;
    }
    let bends = relevance_of_columns(file, 0);
    if !bends.is_empty() {
        let shown: Vec<String> = bends.iter().take(SHOWN_INPUTS).map(|(name, r)| format!("{name} {r:.2}")).collect();
        writeln!(out, "bends     {}", line(&shown.join(", ")))?;
        writeln!(out, "          (1 / lengthscale in the first layer: how fast the function bends along an input;")?;
        writeln!(out, "          it is near 0 along a straight line, too, however much that input matters)")?;
    }
    if let Some(table) = scores::table_of_fit(file) {
        let weights = file.schema.row_columns.weights.as_ref();
        let weighted = weights.map_or(String::new(), |column| format!(", weighted by `{column}`"));
        writeln!(out, "\nOn {}{weighted}:\n{table}", count(record.test_rows, "test row"))?;
    }
    if let Some(folds) = &record.cross_validation {
        writeln!(out, "\n{}", folds::in_words(folds, &file.schema))?;
    }
    let mut rows = vec![["parameter", "shape"].map(String::from).to_vec()];
    rows.extend(model.parameters().iter().map(|p| {
        let shape: Vec<String> = p.shape.iter().map(usize::to_string).collect();
        vec![p.name.clone(), shape.join(" x ")]
    }));
    writeln!(out, "\n{}", aligned(&rows).trim_end())?;
    for note in notes::all(file) {
        writeln!(out, "note: {}", line(&note.to_string()))?;
    }
    Ok(out)
}
