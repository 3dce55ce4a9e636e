//! What a fit predicts, numbers, classes or counts, and what follows from it: the likelihood, and options that make no sense.

use anyhow::Result;
use deepgp::{FitSettings, LikelihoodChoice, LikelihoodForm, TransformChoice, TrendChoice, ValidationScore};
use deepgp_io::ClassWeights;
use deepgp_io::table::{Schema, TargetKind, Task};

use super::FitOptions;
use crate::arguments::usage::Usage;
use crate::arguments::value::choice::{LIKELIHOODS, TASKS, VALIDATION_SCORES, name_of};

impl FitOptions {
    /// What is to be predicted: what was asked for, or what the likelihood is for, or what has exposures.
    pub fn task(&self) -> Task {
        match (self.task.unwrap_or_default(), self.likelihood) {
            (Task::Auto, Some(likelihood)) => task_of(likelihood),
            (Task::Auto, None) if self.exposure.is_some() => Task::Counts,
            (Task::Auto, None) => Task::Auto,
            (given @ (Task::Regression | Task::Classification | Task::Counts), _) => given,
        }
    }

    /// How classes weigh in training.
    pub fn class_weights(&self) -> ClassWeights {
        self.class_weights.unwrap_or_default()
    }

    /// Fails if options contradict what is to be predicted.
    pub(super) fn check_task(&self) -> Result<()> {
        let (task, wrong) = (self.task(), |text: String| Err(Usage(text).into()));
        if let Some(likelihood) = self.likelihood.filter(|likelihood| task_of(*likelihood) != task) {
            return wrong(format!(
                "--likelihood {} is for --task {}, and not for --task {}: leave out one of the two",
                name_of(LIKELIHOODS, likelihood),
                name_of(TASKS, task_of(likelihood)),
                name_of(TASKS, task)
            ));
        }
        if let Some(column) = self.exposure.as_ref().filter(|_| task != Task::Counts) {
            return wrong(format!("--exposure {column} is for counts: add --task counts"));
        }
        if self.class_weights() == ClassWeights::Balanced && matches!(task, Task::Regression | Task::Counts) {
            return wrong(
                "--class-weights balanced is for classes: leave it out, or take --task classification".into(),
            );
        }
        Ok(())
    }

    /// The settings of a fit of so many rows of such a table. Fails if options are given that are not for it.
    pub fn settings_of(&self, rows: usize, schema: &Schema) -> Result<FitSettings> {
        let mut settings = self.settings_for(rows, &schema.target_kind)?;
        settings.trend_columns = schema.inputs_of_dates();
        if self.trend == Some(TrendChoice::Linear) && settings.trend_columns.is_empty() {
            let text = "--trend linear is a line in dates, and no input column is one: leave it out";
            return Err(Usage(text.into()).into());
        }
        Ok(settings)
    }

    /// The settings of a fit of so many rows to targets of this kind. Fails if options are given that are not for such targets.
    pub fn settings_for(&self, rows: usize, kind: &TargetKind) -> Result<FitSettings> {
        let wrong = |text: String| Err(Usage(text).into());
        let what = match kind {
            TargetKind::Numbers if self.class_weights() == ClassWeights::Balanced => {
                return wrong("--class-weights balanced is for classes, and the target is a number".into());
            }
            TargetKind::Numbers => return Ok(self.settings(rows)),
            TargetKind::Classes { .. } => "classes",
            TargetKind::Counts => "counts",
        };
        if let Some(noise) = self.noise {
            return wrong(format!("--noise {noise} is for numbers, and the target is one of {what}: leave it out"));
        }
        if self.validation_score == Some(ValidationScore::Crps) {
            let name = name_of(VALIDATION_SCORES, ValidationScore::Crps);
            return wrong(format!(
                "--validation-score {name} is for numbers, and the target is one of {what}: leave it out"
            ));
        }
        let transform = self.transform_target();
        if !matches!(transform, TransformChoice::Auto | TransformChoice::None) {
            let name = transform.name();
            return wrong(format!(
                "--transform-target {name} is for numbers, and the target is one of {what}: leave it out"
            ));
        }
        if self.trend == Some(TrendChoice::Linear) {
            return wrong(format!("--trend linear is for numbers, and the target is one of {what}: leave it out"));
        }
        let classes = kind.labels().map_or(0, <[String]>::len);
        let likelihood = self.likelihood.unwrap_or(match kind {
            TargetKind::Classes { .. } if classes == 2 => LikelihoodChoice::Probit,
            TargetKind::Classes { .. } => LikelihoodChoice::Softmax,
            TargetKind::Counts | TargetKind::Numbers => LikelihoodChoice::NegativeBinomial,
        });
        if matches!(likelihood, LikelihoodChoice::Probit | LikelihoodChoice::Logit) && classes > 2 {
            let name = name_of(LIKELIHOODS, likelihood);
            return wrong(format!(
                "--likelihood {name} is for two classes, and there are {classes}: take softmax, or ordered"
            ));
        }
        let mut settings = Self { likelihood: Some(likelihood), ..self.clone() }.settings(rows);
        settings.model.likelihood = form(likelihood, classes);
        Ok(settings)
    }
}

/// What a likelihood is for.
fn task_of(likelihood: LikelihoodChoice) -> Task {
    match likelihood {
        LikelihoodChoice::Gaussian | LikelihoodChoice::Heteroscedastic | LikelihoodChoice::StudentT => Task::Regression,
        LikelihoodChoice::Probit | LikelihoodChoice::Logit | LikelihoodChoice::Softmax | LikelihoodChoice::Ordered => {
            Task::Classification
        }
        LikelihoodChoice::Poisson | LikelihoodChoice::NegativeBinomial => Task::Counts,
    }
}

/// The library's form of a likelihood, which knows the number of classes: training rows need not have all of them.
fn form(likelihood: LikelihoodChoice, classes: usize) -> LikelihoodForm {
    match likelihood {
        LikelihoodChoice::Softmax => LikelihoodForm::Softmax { classes: Some(classes) },
        LikelihoodChoice::Ordered => LikelihoodForm::Ordered { classes: Some(classes) },
        LikelihoodChoice::Gaussian
        | LikelihoodChoice::Heteroscedastic
        | LikelihoodChoice::StudentT
        | LikelihoodChoice::Probit
        | LikelihoodChoice::Logit
        | LikelihoodChoice::Poisson
        | LikelihoodChoice::NegativeBinomial => likelihood.form(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(count: usize) -> TargetKind {
        TargetKind::Classes { labels: (0..count).map(|label| label.to_string()).collect() }
    }

    #[test]
    fn the_likelihood_follows_the_target_and_the_task_follows_the_likelihood() {
        let likelihood =
            |options: FitOptions, kind: &TargetKind| options.settings_for(50, kind).unwrap().model.likelihood;
        assert_eq!(likelihood(FitOptions::default(), &classes(2)), LikelihoodForm::PROBIT);
        assert_eq!(likelihood(FitOptions::default(), &classes(3)), LikelihoodForm::Softmax { classes: Some(3) });
        assert_eq!(likelihood(FitOptions::default(), &TargetKind::Counts), LikelihoodForm::NEGATIVE_BINOMIAL);
        assert_eq!(likelihood(FitOptions::default(), &TargetKind::Numbers), LikelihoodForm::default());
        let asked = |likelihood| FitOptions { likelihood: Some(likelihood), ..FitOptions::default() };
        let ordered = likelihood(asked(LikelihoodChoice::Ordered), &classes(4));
        assert_eq!(ordered, LikelihoodForm::Ordered { classes: Some(4) });
        assert_eq!(asked(LikelihoodChoice::Logit).task(), Task::Classification);
        assert_eq!(asked(LikelihoodChoice::Poisson).task(), Task::Counts);
        assert_eq!(asked(LikelihoodChoice::Gaussian).task(), Task::Regression);
        assert_eq!(FitOptions { exposure: Some("t".into()), ..FitOptions::default() }.task(), Task::Counts);
        assert_eq!(FitOptions::default().task(), Task::Auto);
    }

    #[test]
    fn options_that_are_not_for_the_target_are_wrong_use() {
        let options = || FitOptions { target: vec!["y".into()], ..FitOptions::default() };
        let wrong = |result: Result<()>| {
            let error = result.unwrap_err();
            assert!(error.is::<Usage>(), "{error}");
            error.to_string()
        };
        let contradiction =
            FitOptions { task: Some(Task::Classification), likelihood: Some(LikelihoodChoice::Poisson), ..options() };
        assert_eq!(
            wrong(contradiction.check()),
            "--likelihood poisson is for --task counts, and not for --task classification: leave out one of the two"
        );
        let exposed = FitOptions { task: Some(Task::Regression), exposure: Some("t".into()), ..options() };
        assert!(wrong(exposed.check()).contains("--exposure t is for counts"));
        let weighted = FitOptions { class_weights: Some(ClassWeights::Balanced), ..options() };
        assert!(wrong(FitOptions { task: Some(Task::Counts), ..weighted.clone() }.check()).contains("--class-weights"));
        weighted.check().unwrap();
        let later = |options: FitOptions, kind: &TargetKind| wrong(options.settings_for(50, kind).map(|_| ()));
        assert!(later(weighted, &TargetKind::Numbers).contains("the target is a number"));
        assert!(
            later(FitOptions { noise: Some(0.1), ..options() }, &classes(2)).contains("--noise 0.1 is for numbers")
        );
        let crps = FitOptions { validation_score: Some(ValidationScore::Crps), ..options() };
        assert!(later(crps, &TargetKind::Counts).contains("--validation-score crps"));
        let log = FitOptions { transform_target: Some(TransformChoice::Log), ..options() };
        assert!(later(log, &TargetKind::Counts).contains("--transform-target log is for numbers"));
        let probit = FitOptions { likelihood: Some(LikelihoodChoice::Probit), ..options() };
        assert!(later(probit, &classes(3)).contains("for two classes, and there are 3"));
    }
}
