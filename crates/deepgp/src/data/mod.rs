//! Rows before a model sees them: checked ([`Dataset`]), split ([`split_rows`], or [`split_rows_by_class`] for classes, or as [`SplitBy`] says), brought to the model's units ([`Standardiser`]), targets
//! through a transform if one is asked for ([`TargetTransform`]), and without their [`Trend`].

pub(crate) mod column_moments;
pub(crate) mod compressed;
pub(crate) mod copies;
mod dataset;
mod folds;
mod groups;
mod inputs;
mod last;
mod merge;
mod row_set;
mod scaling;
pub mod simulate;
pub(crate) mod sparse;
mod split;
mod split_by;
mod stored;
mod stratified;
mod transform;
mod transformed_targets;
mod trend;

pub use dataset::Dataset;
pub(crate) use dataset::check_finite;
pub use folds::Stratify;
pub use groups::split_rows_by_group;
pub(crate) use inputs::{InputLayout, Inputs};
pub use last::split_last_rows;
pub use scaling::{ConstantColumns, Scaling, Standardiser};
pub use split::split_rows;
pub(crate) use split::{held_out, sample, sample_in_memory};
pub use split_by::SplitBy;
pub use stored::{RowStore, StoredRows};
pub use stratified::split_rows_by_class;
pub(crate) use transform::{FEWEST_VALUES, distinct_values};
pub use transform::{MOST_KNOTS, MonotoneSpline, TargetTransform, TransformChoice, YeoJohnson};
pub use transformed_targets::TargetTransforms;
pub use trend::{Trend, TrendChoice};
