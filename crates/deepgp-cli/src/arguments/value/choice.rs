//! Names of the library's enums on the command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use deepgp::Draws;
use serde::de::DeserializeOwned;

/// Names of the ways to treat missing values, [`Missing`](deepgp_io::table::Missing).
pub const MISSING: &[&str] = &["reject", "drop", "mean", "indicator"];
/// The same where a model is there already, which has indicators or has none.
pub const MISSING_IN_NEW_TABLES: &[&str] = &["reject", "drop", "mean"];
/// Names of what to do with columns that have one value, [`ConstantInputs`](deepgp_io::table::ConstantInputs).
pub const CONSTANT_INPUTS: &[&str] = &["drop", "keep", "reject"];
/// Names of the orders of day and month, [`DateOrder`](deepgp_io::table::DateOrder).
pub const DATE_ORDERS: &[&str] = &["auto", "month-first", "day-first"];
/// Names of what the first record of a text is, [`Header`](deepgp_io::table::Header).
pub const HEADERS: &[&str] = &["auto", "first", "none"];
/// Names of the forms of the mean, [`MeanForm`](deepgp::MeanForm).
pub const MEAN_FORMS: &[&str] = &["whitened", "standard", "dual", "scaled-dual"];
/// Names of the forms of the covariance, [`CovarianceForm`](deepgp::CovarianceForm).
pub const COVARIANCE_FORMS: &[&str] = &["whitened", "diagonal", "standard", "dual"];
/// Names of the kernels, [`KernelChoice`](deepgp::KernelChoice).
pub const KERNELS: &[&str] = &["squared-exponential", "matern12", "matern32", "matern52", "rational-quadratic"];
/// Names of the precisions, [`Precision`](deepgp::Precision).
pub const PRECISIONS: &[&str] = &["f64", "mixed"];
/// Names of the likelihoods, [`LikelihoodChoice`](deepgp::LikelihoodChoice).
pub const LIKELIHOODS: &[&str] = &[
    "gaussian",
    "heteroscedastic",
    "student-t",
    "probit",
    "logit",
    "softmax",
    "ordered",
    "poisson",
    "negative-binomial",
];
/// Names of what may be predicted, [`Task`](deepgp_io::table::Task).
pub const TASKS: &[&str] = &["auto", "regression", "classification", "counts"];
/// Names of how classes may weigh, [`ClassWeights`](deepgp_io::ClassWeights).
pub const CLASS_WEIGHTS: &[&str] = &["none", "balanced"];
/// Names of the objectives, [`ObjectiveChoice`](deepgp::ObjectiveChoice).
pub const OBJECTIVES: &[&str] = &["auto", "elbo", "tighter", "predictive", "faithful", "sites"];
/// Names of the scores by which validation rows judge, [`ValidationScore`](deepgp::ValidationScore).
pub const VALIDATION_SCORES: &[&str] = &["log-density", "crps"];

/// Names of the transforms of targets, [`TransformChoice`](deepgp::TransformChoice).
pub const TRANSFORMS: &[&str] = &["none", "log", "log1p", "yeo-johnson", "quantile", "auto"];

/// Names of the trends of targets, [`TrendChoice`](deepgp::TrendChoice).
pub const TRENDS: &[&str] = &["none", "linear", "auto"];

/// How samples are drawn that are balanced, or are not.
pub fn draws_of(balanced: bool) -> Draws {
    if balanced { Draws::Balanced } else { Draws::Independent }
}

/// A parser of the enum `T` that knows its values by `names`, those that serde gives them.
pub fn choice<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    names: &'static [&'static str],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(|name| serde_json::from_value::<T>(serde_json::Value::String(name)))
}

/// The one of `names` that means `value`, as `--help` shows a default of the library.
pub fn name_of<T: DeserializeOwned + PartialEq>(names: &'static [&'static str], value: T) -> &'static str {
    let means = |name: &&&str| serde_json::from_value::<T>((**name).into()).is_ok_and(|named| named == value);
    names.iter().find(means).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::{
        CovarianceForm, KernelChoice, LikelihoodChoice, MeanForm, ObjectiveChoice, Precision, TransformChoice,
        TrendChoice, ValidationScore,
    };
    use deepgp_io::ClassWeights;
    use deepgp_io::table::{ConstantInputs, DateOrder, Header, Missing, Task};

    #[test]
    fn every_name_is_one_that_the_library_knows() {
        fn assert_known<T: DeserializeOwned>(names: &[&str]) {
            for name in names {
                assert!(serde_json::from_value::<T>((*name).into()).is_ok(), "{name}");
            }
        }
        assert_known::<Missing>(MISSING);
        assert_known::<Missing>(MISSING_IN_NEW_TABLES);
        assert_known::<Task>(TASKS);
        assert_known::<ClassWeights>(CLASS_WEIGHTS);
        assert_known::<ConstantInputs>(CONSTANT_INPUTS);
        assert_known::<DateOrder>(DATE_ORDERS);
        assert_known::<Header>(HEADERS);
        assert_known::<MeanForm>(MEAN_FORMS);
        assert_known::<CovarianceForm>(COVARIANCE_FORMS);
        assert_known::<KernelChoice>(KERNELS);
        assert_known::<Precision>(PRECISIONS);
        assert_known::<TransformChoice>(TRANSFORMS);
        assert_known::<TrendChoice>(TRENDS);
        assert_known::<LikelihoodChoice>(LIKELIHOODS);
        assert_known::<ObjectiveChoice>(OBJECTIVES);
        assert_known::<ValidationScore>(VALIDATION_SCORES);
        assert_eq!(name_of(MEAN_FORMS, MeanForm::ScaledDual), "scaled-dual");
    }
}
