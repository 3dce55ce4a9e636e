"""Fits, searches and predictions on a cluster, here one of two processes on this machine: Dask, and joblib on it."""

import joblib
import numpy as np
import pandas as pd
import pytest
from conftest import QUICK
from dask.distributed import Client, LocalCluster
from sklearn.model_selection import GridSearchCV, cross_val_score

from deepgp import DeepGPRegressor


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_fits_and_predictions_are_those_of_one_process(client, arm):
    X, y = arm
    fitted = DeepGPRegressor(**QUICK).fit(X, y)
    far = client.submit(lambda: DeepGPRegressor(**QUICK).fit(X, y), pure=False)
    assert np.array_equal(far.result().predict(X), fitted.predict(X))
    parts = client.map(fitted.predict, np.array_split(X, 3))
    assert np.array_equal(np.concatenate(client.gather(parts)), fitted.predict(X))


def test_joblib_searches_settings_on_the_cluster(client, arm):
    X, y = arm
    with joblib.parallel_config(backend="dask"):
        scores = cross_val_score(DeepGPRegressor(**QUICK), X, y, cv=2)
        search = GridSearchCV(DeepGPRegressor(**QUICK), {"hidden_layers": [0, 1], "width": [2]}, cv=2).fit(X, y)
    assert np.array_equal(scores, cross_val_score(DeepGPRegressor(**QUICK), X, y, cv=2))
    alone = GridSearchCV(DeepGPRegressor(**QUICK), {"hidden_layers": [0, 1], "width": [2]}, cv=2).fit(X, y)
    assert search.best_params_ == alone.best_params_
    assert np.array_equal(search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])


def test_a_frame_of_many_parts_is_predicted_where_its_parts_are(client, arm):
    frames = pytest.importorskip("dask.dataframe", reason="Dask frames need pyarrow", exc_type=ImportError)
    X, y = arm
    table = pd.DataFrame(X, columns=[f"a{i}" for i in range(X.shape[1])])
    fitted = DeepGPRegressor(**QUICK).fit(table, y)

    def predict(part):
        mean, std = fitted.predict(part, return_std=True)
        return pd.DataFrame({"mean": mean, "std": std}, index=part.index)

    parts = frames.from_pandas(table, npartitions=4)
    far = parts.map_partitions(predict, meta={"mean": float, "std": float}).compute()
    here = predict(table)
    assert far.index.equals(here.index)
    assert np.array_equal(far.to_numpy(), here.to_numpy())
