"""A search through Python: the engine's, to the same end whatever is trained at once; and Optuna over estimators."""

import numpy as np
import pytest

from deepgp import DeepGPClassifier, DeepGPRegressor, datasets, tune

SMALL = {"hidden_layers": 1, "width": 2, "mean_inducing": 15, "covariance_inducing": 10, "steps": 90, "threads": 1}


def data(rows=90):
    return datasets.step_curve(rows, seed=1)


def findings(found):
    return sorted((own["candidate"], own["step"], own["score"]) for own in found.trials)


def test_a_search_finds_the_same_again_and_fits_the_best():
    X, y = data()
    search = {"estimator": DeepGPRegressor(**SMALL), "candidates": 6}
    one, other = tune(X, y, **search), tune(X, y, **search, jobs=3)
    assert findings(one) == findings(other)
    assert one.settings == other.settings
    assert one.score <= one.default_score
    assert {own["candidate"] for own in one.trials} == set(range(6))
    # The estimator is one with these settings, fitted to all rows.
    again = DeepGPRegressor(**SMALL | one.settings).fit(X, y)
    np.testing.assert_array_equal(one.estimator.predict(X), again.predict(X))
    # What was given stays.
    assert all("width" not in own["settings"] for own in one.trials)


def test_space_metric_folds_groups_and_weights():
    X, y = data(60)
    near = np.where(y > np.median(y), "far", "near")
    estimator = DeepGPClassifier(**SMALL)
    found = tune(
        X,
        near,
        estimator=estimator,
        candidates=3,
        metric="brier",
        folds=2,
        groups=np.arange(60) // 5,
        sample_weight=np.ones(60),
        space={"learning_rate": [0.005, 0.05]},
    )
    rates = {own["candidate"]: own["settings"].get("learning_rate") for own in found.trials}
    assert rates.pop(0) is None
    assert set(rates.values()) <= {0.005, 0.05}, "values that were named are taken"
    assert list(found.estimator.classes_) == ["far", "near"]


def test_a_search_within_a_time():
    X, y = data(60)
    found = tune(X, y, estimator=DeepGPRegressor(**SMALL), time_limit=2.0)
    assert found.estimator.predict(X).shape == (60,)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "give either `time_limit`"),
        ({"candidates": 2, "time_limit": 3}, "give either `time_limit`"),
        ({"candidates": 0}, "`candidates` is 0"),
        ({"candidates": 2, "metric": "brier"}, '`metric` is "brier", but must be one of crps'),
        ({"candidates": 2, "space": {"depth": [1]}}, "no such setting to search; there are hidden_layers"),
        ({"candidates": 2, "space": {"kernel": ["rbf"]}}, "rbf"),
        ({"candidates": 2, "space": {"kernel": "rbf"}}, "must be a list of values"),
        ({"candidates": 2, "selection": 2.0}, "2"),
        ({"candidates": 2, "estimator": 3}, "must be a DeepGPRegressor"),
    ],
)
def test_what_is_wrong_is_told(arguments, said):
    X, y = data(30)
    with pytest.raises((ValueError, TypeError), match=said):
        tune(X, y, **arguments)


def test_optuna_finds_a_learning_rate():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    X, y = data()
    train, judge = slice(0, 60), slice(60, None)

    def objective(trial):
        rate = trial.suggest_float("learning_rate", 1e-4, 0.1, log=True)
        estimator = DeepGPRegressor(**SMALL | {"learning_rate": rate}).fit(X[train], y[train])
        return float(np.mean((estimator.predict(X[judge]) - y[judge]) ** 2))

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    study.enqueue_trial({"learning_rate": 1e-4})
    study.optimize(objective, n_trials=6)
    assert study.best_value < study.trials[0].value, "hardly any learning is not the best"
