//! Descriptions of a model and of the columns that it reads, for people.

use deepgp::{Inducing, Regressor, TargetTransform};
use deepgp_io::ModelFile;
use deepgp_io::table::{Kind, Schema, TargetKind};

use crate::terminal::text::count;

/// A model in a phrase: its depth and width, its inducing inputs, its kernel.
pub fn describe(regressor: &Regressor) -> String {
    let layers = regressor.model.layers();
    let hidden = layers.len() - 1;
    let sizes = match &layers[0].inducing {
        Inducing::Tied(z) => format!("{} inducing inputs", z.nrows()),
        Inducing::Decoupled { mean, covariance } => {
            format!("{} inducing inputs for the mean and {} for the covariance", mean.nrows(), covariance.nrows())
        }
        Inducing::Nested { inputs, covariance } => {
            format!("{} inducing inputs for the mean, the first {covariance} also for the covariance", inputs.nrows())
        }
    };
    let shape = match hidden {
        0 => "a sparse GP".to_string(),
        1 => format!("a deep GP with 1 hidden layer of {}", layers[0].output_width()),
        _ => format!("a deep GP with {hidden} hidden layers of {}", layers[0].output_width()),
    };
    format!("{shape}, {sizes} a layer, {} kernel", layers[0].kernel.name())
}

/// The kinds of a table's input columns: `inputs: 9 numbers, 1 boolean, 2 categories (colour of 3, city of 12)`.
pub fn columns_in_words(schema: &Schema) -> String {
    let count = |wanted: fn(&Kind) -> bool| schema.inputs.iter().filter(|column| wanted(&column.kind)).count();
    let levels: Vec<String> = schema
        .inputs
        .iter()
        .filter_map(|column| match &column.kind {
            Kind::Category { levels } | Kind::ManyLevels { levels, .. } => {
                Some(format!("{} of {}", column.name, levels.len()))
            }
            Kind::Number { .. } | Kind::Date { .. } | Kind::Boolean { .. } => None,
        })
        .collect();
    let plural = |n: usize, one: &str, many: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {many}") };
    let mut parts = vec![plural(count(|kind| matches!(kind, Kind::Number { .. })), "number", "numbers")];
    let dates = count(|kind| matches!(kind, Kind::Date { .. }));
    if dates > 0 {
        parts.push(plural(dates, "date", "dates"));
    }
    let booleans = count(|kind| matches!(kind, Kind::Boolean { .. }));
    if booleans > 0 {
        parts.push(plural(booleans, "boolean", "booleans"));
    }
    if !levels.is_empty() {
        parts.push(format!("{} ({})", plural(levels.len(), "category", "categories"), levels.join(", ")));
    }
    format!("inputs: {}", parts.join(", "))
}

/// The number of labels that are shown.
const SHOWN_LABELS: usize = 10;

/// What a target of classes or counts is: `predicting which of 3 classes species is: setosa, versicolor, virginica`; `None` for numbers.
pub fn target_in_words(schema: &Schema) -> Option<String> {
    let target = schema.targets.join(", ");
    match &schema.target_kind {
        TargetKind::Numbers => None,
        TargetKind::Classes { labels } => {
            let more = if labels.len() > SHOWN_LABELS { ", …" } else { "" };
            let shown = labels[..labels.len().min(SHOWN_LABELS)].join(", ");
            Some(format!("predicting which of {} classes `{target}` is: {shown}{more}", labels.len()))
        }
        TargetKind::Counts => {
            let exposure =
                schema.exposure.as_ref().map_or(String::new(), |own| format!(", for an exposure of `{own}`"));
            Some(format!("predicting `{target}` as a count{exposure}"))
        }
    }
}

/// What each transformed target is transformed to: `ln price`, `the Yeo-Johnson transform of price (power 0.21)`.
pub fn transforms_in_words(file: &ModelFile) -> Vec<String> {
    let targets = file.schema.targets.iter().enumerate();
    let each = targets.filter_map(|(p, name)| {
        let own = file.regressor.standardiser.transform_of(p);
        let detail = match own {
            TargetTransform::Identity => return None,
            TargetTransform::Log | TargetTransform::Log1p => String::new(),
            TargetTransform::YeoJohnson(power) => format!(" (power {:.2})", power.parameters()[0]),
            TargetTransform::Quantile(spline) => format!(" (a spline of {})", count(spline.knots().0.len(), "knot")),
        };
        Some(own.of_name(name) + &detail)
    });
    each.collect()
}

/// The number of a model's input columns, and of the inputs that they become: `3 columns, 5 inputs`, if `name` is
/// `input`.
pub fn inputs_in_words(file: &ModelFile, name: &str) -> String {
    format!("{}, {}", count(file.schema.inputs.len(), "column"), count(file.schema.width(), name))
}
