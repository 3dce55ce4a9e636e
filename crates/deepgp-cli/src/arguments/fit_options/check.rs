//! Checks of a fit's options: which contradict each other, or make no sense whatever the table.

use anyhow::Result;

use deepgp::{CovarianceForm, LikelihoodChoice, ObjectiveChoice, ObjectiveForm};

use super::FitOptions;
use crate::arguments::usage::Usage;
use crate::arguments::value::{limits, stdio_path};

impl FitOptions {
    /// Fails if the options contradict each other, or make no sense whatever the table.
    pub fn check(&self) -> Result<()> {
        let wrong = |text: String| Err(Usage(text).into());
        if self.target.is_empty() {
            return wrong("name the column to predict with --target COLUMN".into());
        }
        for (name, path) in [("out", &self.out), ("checkpoint", &self.checkpoint), ("report", &self.report)] {
            // As the flag says, a configuration must not say otherwise.
            if path.as_deref().is_some_and(stdio_path::is_meant) {
                return wrong(format!("--{name} -: it cannot go to standard output: name a file"));
            }
        }
        self.check_task()?;
        if self.inducing.is_some() && (self.mean_inducing.is_some() || self.covariance_inducing.is_some()) {
            return wrong(
                "--inducing is for mean and covariance alike: leave out --mean-inducing and --covariance-inducing"
                    .into(),
            );
        }
        if self.inducing.is_some() && self.nested.is_some() {
            return wrong("--inducing is one set, in which nothing is nested: leave out --nested".into());
        }
        if let (true, Some(mean), Some(covariance)) = (self.nested(), self.mean_inducing, self.covariance_inducing)
            && covariance > mean
        {
            return wrong(format!(
                "--covariance-inducing {covariance} is more than --mean-inducing {mean}, whose first they are: \
                 take fewer, or --nested=false for two sets"
            ));
        }
        if self.steps.is_some() && self.epochs.is_some() {
            return wrong("give either --steps or --epochs".into());
        }
        let objective = self.objective();
        if let (Some(power), None) = (self.power, self.settings(1).train.objective.and_then(ObjectiveForm::power)) {
            return wrong(format!(
                "--power {power} is that of --objective predictive, faithful or sites: add one of these"
            ));
        }
        let likelihood = LikelihoodChoice::of(self.settings(1).model.likelihood);
        if objective == ObjectiveChoice::Faithful && likelihood != LikelihoodChoice::Heteroscedastic {
            return wrong(
                "--objective faithful is for noise that follows the inputs: add --likelihood heteroscedastic".into(),
            );
        }
        if let (Some(sites), false) = (self.sites, objective == ObjectiveChoice::Sites) {
            return wrong(format!("--sites {sites} are for --objective sites: add it"));
        }
        if objective == ObjectiveChoice::Tighter
            && (likelihood != LikelihoodChoice::Gaussian || self.covariance_form == Some(CovarianceForm::Dual))
        {
            return wrong(
                "--objective tighter is for one Gaussian noise (--likelihood gaussian) and a covariance that is not dual"
                    .into(),
            );
        }
        self.check_split()?;
        if let (Some(patience), Some(0.0)) = (self.patience, self.validation) {
            return wrong(format!(
                "--patience {patience} is for validation rows, of which --validation 0 leaves none: leave out one of the two"
            ));
        }
        for (name, size, sizes) in [
            ("hidden-layers", self.hidden_layers, limits::HIDDEN_LAYERS),
            ("width", self.width, limits::WIDTH),
            ("inducing", self.inducing, limits::INDUCING),
            ("mean-inducing", self.mean_inducing, limits::INDUCING),
            ("covariance-inducing", self.covariance_inducing, limits::INDUCING),
            ("samples", self.samples, limits::SAMPLES),
            ("sites", self.sites, limits::SAMPLES),
            ("max-columns", self.max_columns, limits::TABLE_SIZE),
            ("max-cell", self.max_cell, limits::TABLE_SIZE),
            ("max-expansion", self.max_expansion, limits::TABLE_SIZE),
        ] {
            if let Some(size) = size
                && let Err(advice) = limits::allowed(size, &sizes)
            {
                return wrong(format!("--{name} {size}: {advice}"));
            }
        }
        if let Some(noise) = self.noise.filter(|noise| !(1e-6..=1.0).contains(noise)) {
            return wrong(format!("--noise {noise}: give a share of the target's variance, from 1e-6 to 1"));
        }
        for (name, count) in [("steps", self.steps), ("epochs", self.epochs)] {
            if count == Some(0) {
                return wrong(format!("--{name} 0: give at least 1"));
            }
        }
        Ok(self.settings(1).train.check()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_contradicts_itself_is_wrong_use() {
        let target = || FitOptions { target: vec!["y".into()], ..FitOptions::default() };
        target().check().unwrap();
        let wrong = |options: FitOptions| {
            let error = crate::arguments::usage::in_words_of_flags(options.check().unwrap_err());
            assert!(error.is::<Usage>(), "{error}");
            error.to_string()
        };
        assert!(wrong(FitOptions::default()).contains("--target"));
        assert!(wrong(FitOptions { inducing: Some(5), mean_inducing: Some(5), ..target() }).contains("alike"));
        assert!(wrong(FitOptions { steps: Some(5), epochs: Some(5), ..target() }).contains("--epochs"));
        let testing = |rows: &str| FitOptions { test: Some(rows.parse().unwrap()), ..target() };
        assert!(wrong(testing("1.5")).contains("--test 1.5"));
        assert!(wrong(testing("last:-1:day")).contains("--test last:-1:day: give a share of the rows"));
        let folded = |folds, test: &str| FitOptions { folds: Some(folds), ..testing(test) };
        assert!(wrong(folded(5, "last:0.2")).contains("--folds 5 and --test last:0.2 contradict each other"));
        assert_eq!(wrong(FitOptions { folds: Some(1), ..target() }), "--folds 1: give at least 2");
        let grouped = FitOptions { group: Some("patient".into()), ..testing("last:0.2") };
        assert!(wrong(grouped).contains("--group patient and --test last:0.2 contradict each other"));
        FitOptions { group: Some("patient".into()), ..testing("0.2") }.check().unwrap();
        assert!(wrong(FitOptions { validation: Some(-0.1), ..target() }).contains("--validation"));
        assert!(wrong(FitOptions { covariance_inducing: Some(0), ..target() }).contains("at least 1"));
        assert_eq!(wrong(FitOptions { samples: Some(0), ..target() }), "--samples 0: give at least 1");
        let hasty = FitOptions { patience: Some(3), validation: Some(0.0), ..target() };
        assert!(wrong(hasty).contains("leave out one of the two"));
        let deep: FitOptions = toml::from_str("target = 'y'\nhidden-layers = 1001").unwrap();
        assert_eq!(wrong(deep), "--hidden-layers 1001: give at most 1000");
        assert!(wrong(FitOptions { learning_rate: Some(-1.0), ..target() }).contains("--learning-rate -1"));
        assert!(wrong(FitOptions { noise: Some(0.0), ..target() }).contains("--noise 0"));
        assert!(wrong(FitOptions { batch_size: Some(0), ..target() }).contains("--batch-size 0: give at least 1"));
        let cosin = toml::from_str::<FitOptions>("schedule = 'cosin'").unwrap_err().to_string();
        assert!(cosin.contains("cosin") && cosin.contains("constant"), "{cosin}");
    }
}
