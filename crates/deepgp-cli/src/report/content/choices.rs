//! The choices behind a model, from its file.

use deepgp::ObjectiveForm;
use deepgp::likelihood::Quantity;
use deepgp_io::ModelFile;

use crate::model::units;
use crate::report::Choices;

/// The choices behind a model: the likelihood that it has, and the settings that it was trained with.
pub fn choices(file: &ModelFile) -> Choices {
    let (model, train) = (&file.regressor.model, &file.record.settings.train);
    let targets = file.schema.targets.len();
    let learnt = file.regressor.likelihood_summary();
    let degrees = |target| Quantity::find(&learnt, "degrees", Some(target));
    Choices {
        likelihood: model.likelihood().description(),
        degrees: (0..targets).map_while(degrees).collect(),
        transform_asked: file.record.settings.transform_target,
        transforms: (0..targets).map(|target| file.regressor.standardiser.transform_of(target).choice()).collect(),
        objective: train.objective.unwrap_or_else(|| ObjectiveForm::suiting(model.likelihood())),
        objective_by_default: train.objective.is_none(),
        sites: model.sites().map(|sites| sites.count()),
        kl_weight: (train.kl_weight != 1.0).then_some(train.kl_weight),
        judge: units::judge(file),
    }
}
