"""In the company of scikit-learn's own: pipelines, searches, copies, other processes."""

import pickle

import joblib
import numpy as np
import pytest
import sklearn
from conftest import QUICK
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import deepgp
from deepgp import DeepGPRegressor


def test_a_pipeline(arm, fitted):
    X, y = arm
    pipeline = make_pipeline(StandardScaler(), DeepGPRegressor(**QUICK)).fit(X, y)
    mean, std = pipeline.predict(X, return_std=True)
    np.testing.assert_allclose(mean, fitted.predict(X), rtol=1e-6)
    assert (std > 0).all()
    pipeline.fit(X, y, deepgpregressor__sample_weight=np.arange(120) % 2)


def test_a_search_in_two_processes(arm):
    grid = {"hidden_layers": [0, 1], "kernel": ["squared-exponential", "matern52"]}
    search = GridSearchCV(DeepGPRegressor(**QUICK, threads=1), grid, n_jobs=2, cv=2, error_score="raise").fit(*arm)
    assert set(search.best_params_) == set(grid)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    alone = GridSearchCV(DeepGPRegressor(**QUICK), grid, cv=2).fit(*arm)
    assert np.array_equal(alone.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])


def test_cross_validation(arm):
    scores = cross_val_score(DeepGPRegressor(**QUICK), *arm, cv=3)
    assert scores.shape == (3,)
    assert cross_val_predict(DeepGPRegressor(**QUICK), *arm, cv=2).shape == (120,)


def test_a_clone_has_the_settings_and_nothing_else(fitted):
    watch = print
    copy = clone(DeepGPRegressor(**QUICK, callbacks=[watch], schedule={"cosine": {"last": 0.1}}))
    assert copy.get_params()["callbacks"] == [watch]
    assert copy.get_params()["schedule"] == {"cosine": {"last": 0.1}}
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "model_")
    assert repr(DeepGPRegressor(width=3)) == "DeepGPRegressor(width=3)"


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickles_predict_the_same_bits(arm, fitted, protocol):
    again = pickle.loads(pickle.dumps(fitted, protocol))
    assert np.array_equal(again.predict(arm[0]), fitted.predict(arm[0]))
    assert again.get_params() == fitted.get_params()
    assert (again.n_iter_, again.stop_) == (fitted.n_iter_, fitted.stop_)


def test_joblib(arm, fitted, tmp_path):
    joblib.dump(fitted, tmp_path / "fitted.joblib", compress=3)
    again = joblib.load(tmp_path / "fitted.joblib")
    assert np.array_equal(again.predict(arm[0]), fitted.predict(arm[0]))
    parts = joblib.Parallel(n_jobs=2)(joblib.delayed(fitted.predict)(part) for part in np.array_split(arm[0], 4))
    assert np.array_equal(np.concatenate(parts), fitted.predict(arm[0]))
    threads = joblib.Parallel(n_jobs=2, prefer="threads")(
        joblib.delayed(fitted.predict)(part) for part in np.array_split(arm[0], 4)
    )
    assert np.array_equal(np.concatenate(threads), fitted.predict(arm[0]))


def test_other_tools(arm, fitted):
    importance = permutation_importance(fitted, *arm, n_repeats=2, random_state=0)
    assert importance.importances_mean.shape == (8,)
    squared = TransformedTargetRegressor(DeepGPRegressor(**QUICK), func=np.sqrt, inverse_func=np.square).fit(*arm)
    assert squared.predict(arm[0]).shape == (120,)


def test_metadata_is_routed(arm):
    with sklearn.config_context(enable_metadata_routing=True):
        regressor = DeepGPRegressor(**QUICK).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(regressor, {"hidden_layers": [0]}, cv=2)
        search.fit(*arm, sample_weight=np.ones(120))


def test_exposures_are_routed(visits):
    X, hours, y = visits
    with sklearn.config_context(enable_metadata_routing=True):
        regressor = DeepGPRegressor(**QUICK, likelihood="poisson").set_fit_request(exposure=True)
        regressor.set_score_request(exposure=True)
        search = GridSearchCV(regressor, {"hidden_layers": [0]}, cv=2, error_score="raise")
        search.fit(X, y, exposure=hours)
    assert 0.3 < search.best_score_ < 1


def test_everything_that_is_promised_is_there():
    assert set(deepgp.__all__) <= set(dir(deepgp))
    for name in deepgp.__all__:
        assert getattr(deepgp, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'DeepGPClusterer'"):
        deepgp.DeepGPClusterer  # noqa: B018
