"""Fits, searches and predictions by Ray, here on two processes of this machine: where `pip install ray` has been."""

import joblib
import numpy as np
import pytest
from conftest import QUICK
from sklearn.model_selection import GridSearchCV

from deepgp import DeepGPRegressor

# A folder of that name, which Ray leaves among temporary files, has no version.
ray = pytest.importorskip("ray", minversion="2")


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_fits_and_predictions_by_ray_are_those_of_one_process(cluster, arm):
    X, y = arm
    fitted = DeepGPRegressor(**QUICK).fit(X, y)
    far = ray.remote(lambda: DeepGPRegressor(**QUICK).fit(X, y))
    assert np.array_equal(ray.get(far.remote()).predict(X), fitted.predict(X))
    predict = ray.remote(lambda model, part: model.predict(part))
    model = ray.put(fitted)
    parts = ray.get([predict.remote(model, part) for part in np.array_split(X, 3)])
    assert np.array_equal(np.concatenate(parts), fitted.predict(X))


def test_joblib_searches_settings_by_ray(cluster, arm):
    pytest.importorskip("ray.util.joblib").register_ray()
    X, y = arm

    def search():
        return GridSearchCV(DeepGPRegressor(**QUICK), {"hidden_layers": [0, 1], "width": [2]}, cv=2).fit(X, y)

    with joblib.parallel_config(backend="ray"):
        far = search()
    assert np.array_equal(far.cv_results_["mean_test_score"], search().cv_results_["mean_test_score"])
