//! The settings that are compared as defaults: version 0.1's, and one change after the other.

use deepgp::objective::Faithful;
use deepgp::{CovarianceForm, FitSettings, InducingSize, LikelihoodForm, ObjectiveForm, Precision, Schedule, Sites};
use serde::{Deserialize, Serialize};

/// A set of defaults. From [`Candidate::Decoupled`] to [`Candidate::Cosine`] each has one change more than the one before it; those
/// up to [`Candidate::SmallMean`] change one thing of [`Candidate::Cosine`], and those of the density one or two of [`Candidate::Diagonal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Candidate {
    /// The defaults of version 0.1: two sets, a whitened covariance, `f64`, a constant rate.
    Decoupled,
    /// The covariance's set is the head of the mean's.
    Nested,
    /// The covariance is diagonal.
    Diagonal,
    /// The covariance has up to 200 inducing inputs in place of 100.
    LargeHead,
    /// Rows are worked on in `f32`.
    Mixed,
    /// The learning rate falls along half a cosine.
    Cosine,
    /// [`Candidate::Cosine`] with 2000 steps in place of 3000.
    Short,
    /// [`Candidate::Cosine`] with a head of up to 100.
    SmallHead,
    /// [`Candidate::Cosine`] whose noise starts at 0.1 of the target's variance in place of 0.5.
    LowNoise,
    /// [`Candidate::Cosine`] with hidden layers of 5 in place of 10.
    Narrow,
    /// [`Candidate::Cosine`] with up to 300 inducing inputs for the mean in place of 500.
    SmallMean,
    /// [`Candidate::Diagonal`] with noise that follows the inputs.
    Heteroscedastic,
    /// [`Candidate::Diagonal`] by the predictive objective.
    Predictive,
    /// [`Candidate::Diagonal`] with noise that follows the inputs, by the predictive objective.
    HeteroscedasticPredictive,
    /// [`Candidate::Predictive`] with the power ½.
    HalfPower,
    /// [`Candidate::HeteroscedasticPredictive`] with the power ½.
    HeteroscedasticHalfPower,
    /// [`Candidate::Diagonal`] with noise that follows the inputs, by the faithful objective.
    Faithful,
    /// [`Candidate::Diagonal`] with eight learned sites.
    Sites,
    /// [`Candidate::Sites`] with noise that follows the inputs.
    HeteroscedasticSites,
    /// [`Candidate::Diagonal`] with Student's t.
    StudentT,
    /// [`Candidate::Predictive`] with Student's t.
    StudentTPredictive,
    /// The defaults as they are.
    Default,
}

/// The names of [`Candidate`]'s variants on the command line.
pub const CANDIDATES: &[&str] = &[
    "decoupled",
    "nested",
    "diagonal",
    "large-head",
    "mixed",
    "cosine",
    "short",
    "small-head",
    "low-noise",
    "narrow",
    "small-mean",
    "heteroscedastic",
    "predictive",
    "heteroscedastic-predictive",
    "half-power",
    "heteroscedastic-half-power",
    "faithful",
    "sites",
    "heteroscedastic-sites",
    "student-t",
    "student-t-predictive",
    "default",
];

/// The most inducing inputs of a large head.
const LARGE_HEAD: usize = 200;
/// The most inducing inputs of a small mean.
const SMALL_MEAN: usize = 300;

impl Candidate {
    /// All candidates, in the order of the tables.
    pub const ALL: [Self; 22] = [
        Self::Decoupled,
        Self::Nested,
        Self::Diagonal,
        Self::LargeHead,
        Self::Mixed,
        Self::Cosine,
        Self::Short,
        Self::SmallHead,
        Self::LowNoise,
        Self::Narrow,
        Self::SmallMean,
        Self::Heteroscedastic,
        Self::Predictive,
        Self::HeteroscedasticPredictive,
        Self::HalfPower,
        Self::HeteroscedasticHalfPower,
        Self::Faithful,
        Self::Sites,
        Self::HeteroscedasticSites,
        Self::StudentT,
        Self::StudentTPredictive,
        Self::Default,
    ];

    /// The candidate's name on the command line and in results.
    pub fn name(self) -> &'static str {
        CANDIDATES[self as usize]
    }

    /// What the candidate changes, for tables.
    pub fn change(self) -> &'static str {
        match self {
            Self::Decoupled => "version 0.1: two sets, whitened covariance, f64, constant rate",
            Self::Nested => "+ nested sets",
            Self::Diagonal => "+ diagonal covariance",
            Self::LargeHead => "+ up to 200 for the covariance, not 100",
            Self::Mixed => "+ mixed precision",
            Self::Cosine => "+ cosine schedule",
            Self::Short => "cosine, 2000 steps, not 3000",
            Self::SmallHead => "cosine, up to 100 for the covariance",
            Self::LowNoise => "cosine, noise from 0.1, not 0.5",
            Self::Narrow => "cosine, width 5, not 10",
            Self::SmallMean => "cosine, up to 300 for the mean, not 500",
            Self::Heteroscedastic => "diagonal, noise that follows the inputs",
            Self::Predictive => "diagonal, predictive objective",
            Self::HeteroscedasticPredictive => "diagonal, noise that follows the inputs, predictive objective",
            Self::HalfPower => "diagonal, predictive objective of power ½",
            Self::HeteroscedasticHalfPower => "diagonal, noise that follows the inputs, predictive of power ½",
            Self::Faithful => "diagonal, noise that follows the inputs, faithful objective",
            Self::Sites => "diagonal, eight learned sites",
            Self::HeteroscedasticSites => "diagonal, noise that follows the inputs, eight learned sites",
            Self::StudentT => "diagonal, Student's t",
            Self::StudentTPredictive => "diagonal, Student's t, predictive objective",
            Self::Default => "the defaults",
        }
    }

    /// The likelihood of the candidate.
    fn likelihood(self) -> LikelihoodForm {
        match self {
            Self::LowNoise => LikelihoodForm::Gaussian { noise: 0.1 },
            Self::Default => LikelihoodForm::default(),
            Self::Heteroscedastic
            | Self::HeteroscedasticPredictive
            | Self::HeteroscedasticHalfPower
            | Self::Faithful
            | Self::HeteroscedasticSites => LikelihoodForm::HETEROSCEDASTIC,
            Self::StudentT | Self::StudentTPredictive => LikelihoodForm::STUDENT_T,
            Self::Decoupled | Self::Nested | Self::Diagonal | Self::LargeHead | Self::Mixed | Self::Cosine => {
                LikelihoodForm::GAUSSIAN
            }
            Self::Short | Self::SmallHead | Self::Narrow | Self::SmallMean => LikelihoodForm::GAUSSIAN,
            Self::Predictive | Self::HalfPower | Self::Sites => LikelihoodForm::GAUSSIAN,
        }
    }

    /// The objective of the candidate.
    fn objective(self) -> ObjectiveForm {
        match self {
            Self::Predictive
            | Self::HeteroscedasticPredictive
            | Self::Sites
            | Self::HeteroscedasticSites
            | Self::StudentTPredictive => ObjectiveForm::PREDICTIVE,
            Self::Faithful => ObjectiveForm::Faithful { power: 1.0, hold: Faithful::HOLD, release: Faithful::RELEASE },
            Self::HalfPower | Self::HeteroscedasticHalfPower => ObjectiveForm::Predictive { power: 0.5 },
            Self::Decoupled | Self::Nested | Self::Diagonal | Self::LargeHead | Self::Mixed | Self::Cosine => {
                ObjectiveForm::Elbo
            }
            Self::Short | Self::SmallHead | Self::LowNoise | Self::Narrow | Self::SmallMean => ObjectiveForm::Elbo,
            Self::Heteroscedastic | Self::StudentT | Self::Default => ObjectiveForm::Elbo,
        }
    }

    /// Changes `settings` to the candidate's for so many rows.
    pub fn apply(self, settings: &mut FitSettings, rows: usize) {
        if self == Self::Default {
            return;
        }
        let seeds = (settings.model.seed, settings.train.seed);
        *settings = FitSettings { constant_columns: settings.constant_columns, ..FitSettings::plain() };
        (settings.model.seed, settings.train.seed) = seeds;
        let (mean, covariance) = inducing_for_0_1(rows);
        let large = LARGE_HEAD.min(mean);
        let nested = self >= Self::Nested;
        let head = match self {
            Self::LargeHead | Self::Mixed | Self::Cosine | Self::Short | Self::LowNoise | Self::Narrow => large,
            Self::SmallMean => large.min(SMALL_MEAN),
            _ => covariance,
        };
        // Those of the density change one thing of the diagonal candidate.
        let faster = |from: Self| (from..=Self::SmallMean).contains(&self);
        let mean = if self == Self::SmallMean { mean.min(SMALL_MEAN) } else { mean };
        let model = &mut settings.model;
        model.inducing = match nested {
            true => InducingSize::nested(mean, head.min(mean)),
            false => InducingSize::decoupled(mean, head),
        };
        let diagonal = self >= Self::Diagonal;
        model.covariance_form = if diagonal { CovarianceForm::Diagonal } else { CovarianceForm::Whitened };
        model.precision = if faster(Self::Mixed) { Precision::Mixed } else { Precision::F64 };
        model.likelihood = self.likelihood();
        model.sites = matches!(self, Self::Sites | Self::HeteroscedasticSites).then_some(Sites::USUAL);
        model.width = if self == Self::Narrow { 5 } else { 10 };
        let train = &mut settings.train;
        train.objective = Some(self.objective());
        train.schedule = if faster(Self::Cosine) { Schedule::COSINE } else { Schedule::Constant };
        train.steps = if self == Self::Short { 2000 } else { 3000 };
        (train.batch_size, train.learning_rate) = (10_000, Some(0.01));
    }
}

/// The sizes that version 0.1 chose for so many rows: one for each five and each eight, at least 100 and 60, at most 500 and 100.
fn inducing_for_0_1(rows: usize) -> (usize, usize) {
    ((rows / 5).clamp(100, 500).min(rows), (rows / 8).clamp(60, 100).min(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_serde_and_settings_are_those_said() {
        for (candidate, name) in Candidate::ALL.into_iter().zip(CANDIDATES) {
            assert_eq!(serde_json::to_value(candidate).unwrap(), *name);
            assert_eq!(candidate.name(), *name);
        }
        let of = |candidate: Candidate, rows: usize| {
            let mut settings = FitSettings::default();
            candidate.apply(&mut settings, rows);
            settings
        };
        assert_eq!(of(Candidate::Decoupled, 9000).model.inducing, InducingSize::decoupled(500, 100));
        assert_eq!(of(Candidate::Cosine, 9000).model.inducing, InducingSize::nested(500, 200));
        assert_eq!(of(Candidate::Cosine, 600).model.inducing, InducingSize::nested(120, 120));
        assert_eq!(of(Candidate::SmallMean, 9000).model.inducing, InducingSize::nested(300, 200));
        assert_eq!(of(Candidate::Short, 9000).train.steps, 2000);
        assert_eq!(of(Candidate::LargeHead, 9000).model.precision, Precision::F64);
    }
}
