"""scikit-learn's own checks, on the default settings."""

import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

from deepgp import DeepGPClassifier, DeepGPRegressor

#: It asks for an environment variable, and is skipped for scikit-learn's own estimators too.
SKIPPED = {"check_array_api_input"}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", [DeepGPRegressor(), DeepGPClassifier()], ids=["regressor", "classifier"])
def test_the_default_settings_pass_every_check(estimator):
    with pytest.warns(SkipTestWarning):
        results = check_estimator(estimator, on_fail=None)
    failed = {own["check_name"]: own["exception"] for own in results if own["status"] not in ("passed", "skipped")}
    assert not failed
    assert {own["check_name"] for own in results if own["status"] == "skipped"} <= SKIPPED
    assert len(results) > 50
