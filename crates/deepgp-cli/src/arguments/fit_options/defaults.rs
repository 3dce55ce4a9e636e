//! The defaults of a fit's options, as `--help` shows them: made from the library's settings, so that they cannot differ.

use clap::Arg;
use deepgp::{LikelihoodChoice, SMALL_TABLE, Schedule, Sites, inducing_for, learning_rate_for};

use super::{FitOptions, RateSchedule, SCHEDULES};
use crate::arguments::value::choice::{
    CLASS_WEIGHTS, CONSTANT_INPUTS, COVARIANCE_FORMS, DATE_ORDERS, HEADERS, KERNELS, LIKELIHOODS, MEAN_FORMS, MISSING,
    OBJECTIVES, PRECISIONS, TASKS, TRENDS, VALIDATION_SCORES, name_of,
};

/// An argument of `deepgp fit` whose help ends with `[default: …]`, if the option has one.
///
/// clap would write the same for a `default_value`, but then an option that nobody gave could not be told from one that a
/// configuration file may fill.
pub fn with_default(arg: Arg) -> Arg {
    match (default_of(arg.get_id().as_str()), arg.get_help()) {
        (Some(default), Some(help)) => {
            let help = format!("{help} [default: {default}]");
            arg.help(help)
        }
        _ => arg,
    }
}

/// What an option is where nobody gives it; `None` for those that are then left out, and for all other arguments.
fn default_of(option: &str) -> Option<String> {
    let nothing = FitOptions::default();
    // No default but the sizes hangs on the number of rows.
    let settings = nothing.settings(1);
    let (model, train) = (&settings.model, &settings.train);
    Some(match option {
        "out" => nothing.out().display().to_string(),
        "task" => name_of(TASKS, nothing.task.unwrap_or_default()).into(),
        "class_weights" => name_of(CLASS_WEIGHTS, nothing.class_weights.unwrap_or_default()).into(),
        "dates" => name_of(DATE_ORDERS, nothing.dates.unwrap_or_default()).into(),
        "header" => name_of(HEADERS, nothing.header()).into(),
        "missing" => name_of(MISSING, nothing.missing()).into(),
        "constant" => name_of(CONSTANT_INPUTS, nothing.constant()).into(),
        "calibrate" => settings.calibrate.to_string(),
        "trend" => name_of(TRENDS, settings.trend).into(),
        "transform_target" => settings.transform_target.name().into(),
        "hidden_layers" => model.hidden_layers.to_string(),
        "width" => model.width.to_string(),
        "mean_inducing" => SizeRule::of(|rows| inducing_for(rows).0).in_words(),
        "covariance_inducing" => SizeRule::of(|rows| inducing_for(rows).1).in_words(),
        "nested" => nothing.nested().to_string(),
        "mean_form" => name_of(MEAN_FORMS, model.mean_form).into(),
        "covariance_form" => name_of(COVARIANCE_FORMS, model.covariance_form).into(),
        "kernel" => name_of(KERNELS, model.kernel).into(),
        "likelihood" => name_of(LIKELIHOODS, LikelihoodChoice::of(model.likelihood)).into(),
        "noise" => model.likelihood.noise()?.to_string(),
        "objective" => name_of(OBJECTIVES, nothing.objective()).into(),
        "sites" => model.sites.unwrap_or(Sites::USUAL).to_string(),
        "kl_weight" => train.kl_weight.to_string(),
        "validation_score" => name_of(VALIDATION_SCORES, train.validation_score).into(),
        "steps" => train.steps.to_string(),
        "batch_size" => train.batch_size.to_string(),
        "learning_rate" => train.learning_rate.map_or_else(usual_rate, |rate| rate.to_string()),
        "schedule" => match train.schedule {
            Schedule::Constant => name_of(SCHEDULES, RateSchedule::Constant).into(),
            Schedule::Cosine { .. } => name_of(SCHEDULES, RateSchedule::Cosine).into(),
            Schedule::Step { every, factor } => format!("times {factor} every {every} steps"),
        },
        "samples" => train.samples.to_string(),
        "seed" => train.seed.to_string(),
        "threads" => train.threads.to_string(),
        "precision" => name_of(PRECISIONS, model.precision).into(),
        "rows_in" => nothing.rows_in.unwrap_or_default().name().into(),
        "device" => nothing.device.unwrap_or_default().name().into(),
        "validation" => settings.validation.unwrap_or(0.0).to_string(),
        "patience" => train.patience.to_string(),
        "checkpoint_every" => nothing.checkpoint_every.unwrap_or_default().to_string(),
        _ => return None,
    })
}

/// How a number of inducing inputs follows the number of rows: one for each `rows_each`, between `least` and `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SizeRule {
    rows_each: usize,
    least: usize,
    most: usize,
}

impl SizeRule {
    /// The rule that `size` follows, read off its values: where it first falls behind the rows, and where it stops growing.
    fn of(size: impl Fn(usize) -> usize) -> Self {
        let most = size(usize::MAX);
        let least = (1..most).take_while(|&rows| size(rows) == rows).count();
        let full = (1..).find(|&rows| size(rows) == most).unwrap_or(most);
        Self { rows_each: full / most, least, most }
    }

    /// `one for 5 rows, at least 100 and at most 500`.
    fn in_words(self) -> String {
        let Self { rows_each, least, most } = self;
        format!("one for {rows_each} rows, at least {least} and at most {most}")
    }
}

/// The learning rate by the number of rows, in words.
fn usual_rate() -> String {
    let [small, large] = [0, SMALL_TABLE].map(learning_rate_for);
    format!("{small} below {SMALL_TABLE} training rows, else {large}")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use deepgp::{Draws, FitSettings, InducingSize, JOINT_ROWS, ModelSettings, PredictSettings, TrainSettings};

    use super::*;
    use crate::arguments::Cli;

    /// The help of an argument of a command, with the default that clap or [`with_default`] shows.
    fn help(command: &str, argument: &str) -> String {
        let mut cli = Cli::command();
        cli.build();
        let command = cli.find_subcommand(command).unwrap();
        let found = command.get_arguments().find(|arg| arg.get_id() == argument);
        let found = found.unwrap_or_else(|| panic!("{} has no {argument}", command.get_name()));
        let own: String = found.get_default_values().iter().map(|v| format!(" [default: {}]", v.display())).collect();
        found.get_help().unwrap().to_string() + &own
    }

    fn assert_default(command: &str, argument: &str, default: impl ToString) {
        let (help, expected) = (help(command, argument), format!("[default: {}]", default.to_string()));
        assert!(help.ends_with(&expected), "{command} --{argument}: {help}, not {expected}");
    }

    #[test]
    fn the_help_of_fit_shows_the_defaults_of_the_settings() {
        let FitSettings {
            model,
            train,
            validation,
            constant_columns: _,
            transform_target,
            trend,
            trend_columns: _,
            calibrate,
        } = FitSettings::default();
        // Written out, so that the compiler asks here whether a new setting is an option. Those without a name are none.
        let ModelSettings {
            hidden_layers,
            width,
            inducing,
            mean_form,
            covariance_form,
            kernel,
            inducing_start: _,
            likelihood,
            sites,
            precision,
            jitter: _,
            seed: _,
        } = model;
        let TrainSettings {
            steps,
            batch_size,
            samples,
            learning_rate,
            schedule,
            kl_weight,
            kl_warm_up: _,
            validate_every,
            patience,
            validation_rows: _,
            validation_samples: _,
            validation_score,
            seed,
            threads,
            objective,
            optimiser: _,
        } = train;
        fn name(value: impl serde::Serialize) -> String {
            serde_json::to_value(value).unwrap().as_str().unwrap().into()
        }
        assert_default("fit", "hidden_layers", hidden_layers);
        assert_default("fit", "width", width);
        assert_eq!(inducing, InducingSize::default(), "sizes follow the rule below");
        assert_default("fit", "mean_form", name(mean_form));
        assert_default("fit", "covariance_form", name(covariance_form));
        assert_default("fit", "kernel", name(kernel));
        assert_default("fit", "likelihood", likelihood.start(1).name());
        assert_default("fit", "noise", likelihood.noise().unwrap());
        assert_eq!((objective, sites), (None, None));
        assert_default("fit", "objective", "auto");
        assert_default("fit", "sites", 8);
        assert_default("fit", "kl_weight", kl_weight);
        assert_default("fit", "validation_score", name(validation_score));
        assert_default("fit", "precision", name(precision));
        assert_default("fit", "steps", steps);
        assert_default("fit", "batch_size", batch_size);
        assert_default("fit", "samples", samples);
        assert_eq!(learning_rate, None);
        assert_default("fit", "learning_rate", "0.015 below 3000 training rows, else 0.02");
        assert_eq!(schedule, Schedule::COSINE);
        assert_default("fit", "schedule", "cosine");
        assert_default("fit", "patience", patience);
        assert_default("fit", "seed", seed);
        assert_default("fit", "threads", threads);
        assert_default("fit", "validation", validation.unwrap());
        assert_default("fit", "constant", "drop");
        assert_default("fit", "transform_target", name(transform_target));
        assert_default("fit", "trend", name(trend));
        assert_default("fit", "calibrate", calibrate);
        assert!(help("fit", "patience").contains(&format!("one every {} steps", validate_every)));
    }

    #[test]
    fn predictions_and_benchmarks_start_from_the_settings_too() {
        let (model, train) = (ModelSettings::default(), TrainSettings::default());
        let PredictSettings { samples, seed, threads, draws } = PredictSettings::default();
        for command in ["predict", "evaluate", "report"] {
            assert_default(command, "samples", samples);
            assert_default(command, "seed", seed);
            assert_default(command, "threads", threads);
            assert_default(command, "balanced", draws == Draws::Balanced);
        }
        assert!(help("predict", "joint").contains(&format!("up to {JOINT_ROWS} rows")));
        assert_default("benchmark", "batch_size", train.batch_size);
        assert_default("benchmark", "width", model.width);
        assert_default("benchmark", "threads", train.threads);
        assert_default("benchmark", "covariance_form", name_of(COVARIANCE_FORMS, model.covariance_form));
        assert_default("benchmark", "precision", name_of(PRECISIONS, model.precision));
        let (mean, covariance) = inducing_for(usize::MAX);
        assert_default("benchmark", "mean_inducing", mean);
        assert_default("benchmark", "covariance_inducing", covariance);
    }

    #[test]
    fn the_rule_in_words_is_the_rule_of_the_library() {
        let rules = [SizeRule::of(|rows| inducing_for(rows).0), SizeRule::of(|rows| inducing_for(rows).1)];
        for rows in (1..4000).chain([1_000_000]) {
            let said = rules.map(|rule| (rows / rule.rows_each).clamp(rule.least, rule.most).min(rows));
            assert_eq!((said[0], said[1]), inducing_for(rows), "{rows} rows");
        }
        assert_default("fit", "mean_inducing", rules[0].in_words());
        assert_default("fit", "covariance_inducing", rules[1].in_words());
    }

    #[test]
    fn an_option_has_a_default_or_is_known_to_have_none() {
        let without = [
            "checkpoint",
            "report",
            "target",
            "exposure",
            "weights",
            "group",
            "ignore",
            "categorical",
            "keep_column",
            "na",
            "inducing",
            "power",
            "epochs",
            "test",
            "folds",
            "time_limit",
            // Told where they stand, for all commands that read tables.
            "max_columns",
            "max_cell",
            "max_expansion",
        ];
        let options = <FitOptions as clap::Args>::augment_args(clap::Command::new("options"));
        for argument in options.get_arguments() {
            let id = argument.get_id().as_str();
            assert_eq!(default_of(id).is_none(), without.contains(&id), "{id}");
        }
    }
}
