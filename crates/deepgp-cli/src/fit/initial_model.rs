//! `--init`: a fit that starts from a model's parameters, on a table of its own.
//!
//! Columns, sizes, kernels, likelihood and units are the model's, so that its function is where training begins: the table is read as the
//! model reads any table, and targets and inputs are standardised as they were when it was fitted. Options that say otherwise are refused,
//! and so are categories that the model does not know.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use deepgp::{Dataset, FitSettings, LikelihoodChoice, Training, View};
use deepgp_io::table::{ConstantInputs, Kind, RowColumns, Schema};
use deepgp_io::{ModelFile, Note};

use crate::arguments::fit_options::FitOptions;
use crate::arguments::usage::Usage;
use crate::processes::Processes;
use crate::terminal::explain::impossible_in_model;
use crate::terminal::text::count;

/// A model that a fit starts from.
#[derive(Debug)]
pub struct InitialModel {
    file: ModelFile,
    path: PathBuf,
}

impl InitialModel {
    /// The model in this file.
    pub fn load(path: &Path) -> Result<Self> {
        Ok(Self { file: ModelFile::load(path).context("--init")?, path: path.into() })
    }

    /// The options, completed by what the model decides. Fails if some of them contradict it, and names these.
    pub fn complete(&self, options: FitOptions) -> Result<FitOptions> {
        let wrong = contradictions(&options, &self.file);
        if !wrong.is_empty() {
            bail!(Usage(format!(
                "--init {}: the model has its own columns, sizes and units, and others are asked for: {}; leave these out",
                self.path.display(),
                wrong.join(", ")
            )));
        }
        let settings = &self.file.record.settings;
        Ok(FitOptions {
            target: self.file.schema.targets.clone(),
            exposure: self.file.schema.exposure.clone(),
            // Those of the model stay, even if they do not vary here.
            constant: Some(ConstantInputs::Keep),
            likelihood: Some(LikelihoodChoice::of(settings.model.likelihood)),
            transform_target: Some(settings.transform_target),
            trend: Some(settings.trend),
            ..options
        })
    }

    /// How the table is read: as the model reads any, with the columns of groups and weights that this fit has. What many levels say about the
    /// targets is learnt from the rows of this fit.
    pub fn schema(&self, row_columns: RowColumns) -> Schema {
        Schema { row_columns, ..self.file.schema.unsettled() }
    }

    /// Fails if the rows of a table cannot be learnt from by this model: they have categories that it does not know, as these notes say, or targets that
    /// its transform has no number for.
    pub fn check(&self, notes: &[Note], y: View<'_>, positions: &[u64]) -> Result<()> {
        let unseen = notes.iter().filter_map(|note| {
            let Note::CategoriesUnseen { column, cells, example, .. } = note else { return None };
            Some(format!("`{column}` ({}, the first \"{example}\")", count(*cells as usize, "cell")))
        });
        let unseen: Vec<String> = unseen.collect();
        if !unseen.is_empty() {
            bail!(
                "--init {}: the table has categories that the model does not know, in {}: leave these rows out, or fit without --init",
                self.path.display(),
                unseen.join(", ")
            );
        }
        let possible = self.file.regressor.standardiser.check_targets(y);
        possible.map_err(|error| impossible_in_model(&self.file.schema, positions, error))
    }

    /// The settings of the fit: the model's own for the model, and those of `asked` for training.
    pub fn settings(&self, asked: FitSettings, options: &FitOptions) -> FitSettings {
        let own = &self.file.record.settings;
        let mut settings = FitSettings { model: own.model.clone(), ..asked };
        if options.objective.is_none() {
            settings.train.objective = own.train.objective;
        }
        settings
    }

    /// The training on these rows, which starts from the model.
    pub fn training(&self, processes: &Processes, rows: &Dataset, settings: &FitSettings) -> deepgp::Result<Training> {
        Training::of_among(processes.communicator(), self.file.regressor.clone(), rows, settings)
    }

    /// A note that says where the fit started.
    pub fn note(&self) -> Note {
        let steps = self.file.record.steps_before + self.file.record.steps;
        Note::StartedFrom { model: self.path.display().to_string(), steps }
    }
}

/// The flags among the options that ask for something else than the model is.
fn contradictions(options: &FitOptions, file: &ModelFile) -> Vec<String> {
    let (schema, settings) = (&file.schema, &file.record.settings);
    let model = &settings.model;
    let mut wrong = Vec::new();
    let mut compare = |flag: &str, differs: bool| wrong.extend(differs.then(|| format!("--{flag}")));
    let kind = |name: &String| schema.inputs.iter().find(|input| input.name == *name).map(|input| &input.kind);
    let is_category =
        |name: &String| matches!(kind(name), None | Some(Kind::Category { .. } | Kind::ManyLevels { .. }));
    compare("target", !options.target.is_empty() && options.target != schema.targets);
    compare("exposure", options.exposure.is_some() && options.exposure != schema.exposure);
    compare("ignore", options.ignore.iter().any(|name| kind(name).is_some()));
    compare("categorical", !options.categorical.iter().all(is_category));
    compare("keep-column", options.keep_column.iter().any(|name| kind(name).is_none()));
    compare("missing", other(options.missing, schema.missing));
    compare("constant", other(options.constant, ConstantInputs::Keep));
    compare("transform-target", other(options.transform_target, settings.transform_target));
    compare("trend", other(options.trend, settings.trend));
    compare("hidden-layers", other(options.hidden_layers, model.hidden_layers));
    compare("width", other(options.width, model.width));
    let sized = [options.inducing, options.mean_inducing, options.covariance_inducing].iter().any(Option::is_some);
    let sizes = options.settings(1).model.inducing;
    compare("inducing", (sized || options.nested.is_some()) && sizes != model.inducing);
    compare("mean-form", other(options.mean_form, model.mean_form));
    compare("covariance-form", other(options.covariance_form, model.covariance_form));
    compare("kernel", other(options.kernel, model.kernel));
    compare("likelihood", other(options.likelihood, LikelihoodChoice::of(model.likelihood)));
    compare("noise", options.noise.is_some());
    compare("sites", options.sites.is_some() && options.sites != model.sites);
    compare("precision", other(options.precision, model.precision));
    compare("folds", options.folds.is_some());
    wrong
}

/// Whether something else is asked for than there is.
fn other<T: PartialEq + Debug>(asked: Option<T>, own: T) -> bool {
    asked.is_some_and(|asked| asked != own)
}
