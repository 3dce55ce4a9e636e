"""SciPy's sparse matrices, such as those of scikit-learn's encoders."""

import numpy as np
import pandas as pd
import pytest
from conftest import QUICK
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from deepgp import DeepGPClassifier, DeepGPRegressor


@pytest.fixture(scope="module")
def rooms():
    """The room that each of 200 rows is about, of 12, and something that depends on it."""
    rng = np.random.default_rng(4)
    room = rng.integers(0, 12, 200)
    return pd.DataFrame({"room": [f"room {number}" for number in room]}), np.sin(room) + rng.normal(0, 0.1, 200)


def test_the_default_encoder_of_scikit_learn_is_followed(rooms):
    frame, y = rooms
    coded = make_pipeline(OneHotEncoder(), DeepGPRegressor(**QUICK)).fit(frame, y)
    dense = make_pipeline(OneHotEncoder(sparse_output=False), DeepGPRegressor(**QUICK)).fit(frame, y)
    assert sparse.issparse(coded[0].transform(frame))
    assert np.array_equal(coded.predict(frame), dense.predict(frame))
    assert coded[-1].n_features_in_ == 12
    mean, std = coded.predict(frame, return_std=True)
    assert mean.shape == std.shape == (200,)
    columns = make_column_transformer((OneHotEncoder(), ["room"]), sparse_threshold=1.0)
    classifier = make_pipeline(columns, DeepGPClassifier(**QUICK)).fit(frame, y > 0)
    assert classifier.score(frame, y > 0) > 0.8


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_every_layout_is_the_same_numbers(arm, fitted, layout, kind):
    X, y = arm
    own = getattr(sparse, f"{layout}_{kind}")(X)
    assert np.array_equal(DeepGPRegressor(**QUICK).fit(own, y).predict(own), fitted.predict(X))
    assert np.array_equal(fitted.model_.predict(own).y.mean[:, 0], fitted.predict(X))
    with pytest.raises(ValueError, match="X has 3 features"):
        fitted.predict(own.tocsr()[:, :3])
    holed = X.copy()
    holed[3, 2] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        fitted.predict(getattr(sparse, f"{layout}_{kind}")(holed))
