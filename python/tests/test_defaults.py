"""The constructor's defaults are the library's: written out for whoever reads, and checked here."""

import ast
import inspect
import re

import pytest

from deepgp import DeepGPClassifier, DeepGPRegressor, _settings

#: Where Python differs, and why.
OTHER = {
    # A column that varies in the data may well not in a fold of it; the command line keeps such columns too.
    "constant_columns": ("keep", "reject"),
}
#: What the library has under another name, or not at all.
OF_PYTHON = {"mean_inducing", "covariance_inducing", "time_limit", "warm_start", "callbacks", "verbose", "device"}
OF_PYTHON |= {"keep_columns"}


def test_defaults_agree_with_the_library():
    mine = {name: own.default for name, own in inspect.signature(DeepGPRegressor).parameters.items()}
    library = dict(_settings.DEFAULTS)
    assert mine.pop("random_state") == library.pop("seed")
    assert (mine["mean_inducing"], mine["covariance_inducing"]) == (None, None)
    assert mine.pop("nested") == _settings.NESTED
    for name in OF_PYTHON:
        del mine[name]
    for name, (here, there) in OTHER.items():
        assert (mine.pop(name), library.pop(name)) == (here, there)
    assert mine == library


def test_every_setting_reaches_the_library_under_its_own_name():
    sent = _settings.of_estimator(DeepGPRegressor(), "gaussian")
    assert set(sent) == set(_settings.DEFAULTS) - {"prediction_samples"}
    assert sent["likelihood"] == "gaussian"
    of_numbers = {"noise", "validation_score", "transform_target", "trend"}
    assert set(_settings.of_estimator(DeepGPClassifier(), "probit")) == set(sent) - of_numbers


def test_the_documentation_has_every_argument_with_its_default():
    text = inspect.getdoc(DeepGPRegressor).replace("\\\n", "")
    for name, own in inspect.signature(DeepGPRegressor).parameters.items():
        said = re.search(rf"^{name} : .*?(optional|default=(.*))$", text, re.MULTILINE)
        assert said, name
        default = None if said[1] == "optional" else ast.literal_eval(said[2])
        assert default == own.default, name


def test_a_classifier_has_the_arguments_of_the_regressor_and_its_own():
    of_regressor, of_classifier = (inspect.signature(own).parameters for own in (DeepGPRegressor, DeepGPClassifier))
    other = {name: own.default for name, own in of_classifier.items() if own != of_regressor.get(name)}
    assert other == {"likelihood": "auto", "class_weight": None}
    assert set(of_regressor) - set(of_classifier) == {"noise", "validation_score", "transform_target", "trend"}
    text = inspect.getdoc(DeepGPClassifier).split("Attributes")[0]
    for name in of_classifier:
        assert re.search(rf"^(.*, )?{name}(,.*| : .*)?$", text, re.MULTILINE), name


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("hidden_layers", -1, "`hidden_layers` is -1, but must be an integer of at least 0"),
        ("width", 0, "`width` is 0"),
        ("width", "ten", "`width` is 'ten', but must be an integer"),
        ("width", 2.0, "`width` is 2.0, but must be an integer"),
        ("steps", True, "`steps` is True, but must be an integer"),
        ("calibrate", 1, "`calibrate` is 1, but must be True or False"),
        ("mean_inducing", "many", "`mean_inducing` is 'many'"),
        ("jitter", -1.0, "`jitter` is -1.0"),
        ("time_limit", "1h", "`time_limit` is '1h'"),
        ("schedule", "linear", "`schedule`: unknown variant `linear`"),
        ("mean_form", "diagonal", "`mean_form`: unknown variant `diagonal`, expected one of `dual`"),
        ("kernel", "rbf", "`kernel`: unknown variant `rbf`"),
        ("transform_target", "sqrt", "`transform_target`: unknown variant `sqrt`, expected one of `none`, `log`"),
        ("likelihood", "cauchy", "`likelihood`: unknown variant `cauchy`, expected one of `gaussian`"),
        ("objective", "loss", "`objective`: unknown variant `loss`, expected one of `auto`"),
        ("validation_score", "rmse", "`validation_score`: unknown variant `rmse`"),
        ("power", 0.5, '`power`: 0.5 is that of objective="predictive"'),
        ("kl_weight", 0.0, "`kl_weight` is 0"),
        ("noise", -1.0, "`noise` is -1.0"),
        ("noise", float("nan"), "`noise` is nan"),
        ("steps", 1.5, "`steps` is 1.5"),
        ("batch_size", 0, "`batch_size` is 0"),
        ("learning_rate", 0.0, "`learning_rate` is 0"),
        ("schedule", {"step": {"every": 0, "factor": 0.5}}, "schedule: every"),
        ("validation", 1.5, "`validation` is 1.5"),
        ("inducing", 0, "`inducing` is 0"),
        ("threads", 5000, "`threads` is 5000"),
        ("random_state", -3, "`random_state` is -3"),
        ("device", "tpu", '`device` is "tpu"'),
    ],
)
def test_a_wrong_setting_is_named(arm, setting, value, said):
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        DeepGPRegressor(**{"steps": 2, setting: value}).fit(*arm)


@pytest.mark.parametrize("callbacks", [3, [3], print])
def test_callbacks_must_be_callables(arm, callbacks):
    with pytest.raises(TypeError, match="`callbacks` must be a list of callables"):
        DeepGPRegressor(callbacks=callbacks).fit(*arm)


def test_a_device_that_is_not_there_is_refused_by_name_and_passed_over_by_auto(arm):
    settings = {"hidden_layers": 0, "inducing": 5, "steps": 2, "validation": None}
    fitted = DeepGPRegressor(device="auto", **settings).fit(*arm)
    if fitted.model_.device != "cpu":
        pytest.skip(f"there is a GPU: {fitted.model_.device}")
    with pytest.raises(RuntimeError, match=r"device='cuda'.*(libcuda|GPU|found).*device='cpu'"):
        DeepGPRegressor(device="cuda", **settings).fit(*arm)
    with pytest.raises(RuntimeError, match="device='cuda'"):
        fitted.model_.computed_on("cuda")
    with pytest.raises(ValueError, match="tpu"):
        DeepGPRegressor(device="tpu", **settings).fit(*arm)
