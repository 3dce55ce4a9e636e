"""What may come in: any numbers in any layout; and what may not, with scikit-learn's errors."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import QUICK
from sklearn.exceptions import NotFittedError

from deepgp import DeepGPRegressor, Model, _core, datasets, split_rows

LAYOUTS = {
    "fortran": np.asfortranarray,
    "every second of twice as many": lambda a: np.repeat(a, 2, axis=0)[::2],
    "columns of a wider one": lambda a: np.hstack([a, a])[:, : a.shape[1]],
    "backwards twice": lambda a: a[::-1].copy()[::-1],
    "transposed": lambda a: a.T.copy().T,
    "read-only": lambda a: (own := a.copy(), own.setflags(write=False))[0],
    "foreign bytes": lambda a: a.astype(">f8"),
    "lists": lambda a: a.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_gives_the_same_bits(arm, fitted, layout):
    X, y = arm
    again = DeepGPRegressor(**QUICK).fit(layout(X), layout(y.reshape(-1, 1)))
    assert np.array_equal(again.predict(layout(X))[:, 0], fitted.predict(X))
    model = fitted.model_
    assert model.elbo(layout(X), layout(y.reshape(-1, 1))).total == model.elbo(X, y).total
    noise = [np.random.default_rng(1).standard_normal((120, 2))]
    assert model.elbo(X, y, [layout(noise[0])]).total == model.elbo(X, y, noise).total


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint8, bool, object])
def test_every_type_of_number_is_taken_for_what_it_is(arm, dtype):
    X, y = arm
    X = np.abs(10 * X).astype(dtype)
    wide = X.astype(np.float64)
    settings = {**QUICK, "mean_inducing": 5, "covariance_inducing": 5}
    one, other = DeepGPRegressor(**settings).fit(X, y), DeepGPRegressor(**settings).fit(wide, y)
    assert np.array_equal(one.predict(X), other.predict(wide))
    assert one.predict(X).dtype == np.float64
    assert one.model_.elbo(X, y).total == one.model_.elbo(wide, y).total


def test_nothing_is_written_into_what_came_in(arm):
    X, y = arm
    before = X.copy(), y.copy()
    DeepGPRegressor(**QUICK).fit(X, y).predict(X)
    assert np.array_equal(X, before[0])
    assert np.array_equal(y, before[1])


def test_later_changes_of_what_came_in_do_not_matter(arm):
    X, y = arm[0].copy(), arm[1].copy()
    regressor = DeepGPRegressor(**QUICK).fit(X, y)
    expected = regressor.predict(arm[0])
    X[:] = 0
    assert np.array_equal(regressor.predict(arm[0]), expected)


@pytest.mark.parametrize("method", ["predict", "predict_quantiles", "predict_interval", "sample_y", "save"])
def test_an_estimator_that_is_not_fitted_says_so(arm, method, tmp_path):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(DeepGPRegressor(), method)(tmp_path / "m" if method == "save" else arm[0])
    with pytest.raises(NotFittedError):
        DeepGPRegressor().score(*arm)
    with pytest.raises(NotFittedError):
        DeepGPRegressor().log_density(*arm)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(arm, fitted, value):
    X, y = arm[0].copy(), arm[1].copy()
    X[3, 2] = value
    for call in (lambda: DeepGPRegressor(**QUICK).fit(X, y), lambda: fitted.predict(X)):
        with pytest.raises(ValueError, match="Input X contains"):
            call()
    with pytest.raises(ValueError, match="x: row 3, column 2 is"):
        fitted.model_.predict(X)
    y[5] = value
    with pytest.raises(ValueError, match=r"Input y contains|y contains"):
        DeepGPRegressor(**QUICK).fit(arm[0], y)
    with pytest.raises(ValueError, match="y: row 5, column 0 is"):
        fitted.log_density(arm[0], y)


def test_shapes_that_do_not_fit_are_refused(arm, fitted):
    X, y = arm
    model = fitted.model_
    for call, said in [
        (lambda: DeepGPRegressor().fit(X, y[:-1]), "inconsistent numbers of samples"),
        (lambda: DeepGPRegressor().fit(X[:, 0], y), "Expected 2D array, got 1D array"),
        (lambda: DeepGPRegressor().fit(X[None], y), "Found array with dim 3"),
        (lambda: DeepGPRegressor().fit(X[:2], y[:2]), "2 sample"),
        (lambda: DeepGPRegressor().fit(X[:0], y[:0]), "0 sample"),
        (lambda: fitted.predict(X[:, :3]), "X has 3 features, but DeepGPRegressor is expecting 8"),
        (lambda: fitted.predict(X[0]), "Expected 2D array, got 1D array"),
        (lambda: fitted.log_density(X, y[:-1]), "expected 120 rows"),
        (lambda: fitted.log_density(X, np.column_stack([y, y])), "2 columns, but the model has 1"),
        (lambda: model.predict(X[:, :3]), "3 columns, but the model has 8"),
        (lambda: model.predict(X[0]), "Expected 2D array, got 1D array"),
        (lambda: model.elbo(X, y[:-1]), "expected 120 rows"),
        (lambda: model.elbo(X, y, sample_weight=[1.0]), "expected 120, found 1"),
        (lambda: DeepGPRegressor().fit(X + 1j, y), "Complex data not supported"),
        (lambda: model.predict(X + 1j), "Complex data not supported"),
        (lambda: DeepGPRegressor().fit(np.full((9, 2), "a"), np.arange(9)), "could not convert string"),
        (lambda: model.predict([["a"] * 8]), "must hold numbers"),
        (lambda: DeepGPRegressor().fit(X, np.full(120, 3.0)), "y: column 0 has the value 3 in every row"),
        (lambda: DeepGPRegressor(constant_columns="reject").fit(X * 0, y), r'every row.*`constant_columns="keep"`'),
    ]:
        with pytest.raises(ValueError, match=said):
            call()


DAYS = np.datetime64("2020-01-01") + np.arange(120)
DATES = {
    "array": DAYS.reshape(-1, 1).astype("M8[ns]"),
    "durations": (DAYS - DAYS[0]).reshape(-1, 1),
    "objects": np.array([[day, 1.0] for day in DAYS], dtype=object),
    "list": [[day] for day in DAYS],
}
DATED_FRAMES = {
    "pandas": pd.DataFrame({"x": np.arange(120.0), "day": DAYS}),
    "pandas alone": pd.DataFrame({"day": DAYS}),
    "zone": pd.DataFrame({"day": pd.to_datetime(DAYS).tz_localize("UTC")}),
    "polars": pl.DataFrame({"x": np.arange(120.0), "day": [datetime.date(2020, 1, 1)] * 120}),
}


@pytest.mark.parametrize("dates", DATES.values(), ids=DATES)
def test_dates_are_refused_in_arrays_with_a_way_out(arm, dates):
    with pytest.raises(ValueError, match=r"`X` has dates.*turn them into numbers.*days since"):
        DeepGPRegressor(**QUICK).fit(dates, arm[1])


@pytest.mark.parametrize("dates", (DATES | DATED_FRAMES).values(), ids=DATES | DATED_FRAMES)
def test_dates_are_refused_by_models_of_numbers_with_a_way_out(fitted, dates):
    said = r"(column 'day' of )?`.*` has dates.*turn them into numbers.*days since"
    for call in (
        lambda: fitted.predict(dates),
        lambda: fitted.model_.predict(dates),
        lambda: Model({"hidden_layers": 0, "inducing": 5}, dates),
    ):
        with pytest.raises(ValueError, match=said):
            call()


def test_targets_and_weights_that_are_dates_are_refused(arm, fitted):
    X, _ = arm
    for own in (DAYS, pd.Series(DAYS), pl.Series([datetime.timedelta(1)] * 120)):
        for call in (
            lambda own=own: DeepGPRegressor(**QUICK).fit(X, own),
            lambda own=own: DeepGPRegressor(**QUICK).fit(*arm, sample_weight=own),
            lambda own=own: fitted.log_density(X, own),
        ):
            with pytest.raises(ValueError, match=r"`(y|sample_weight)` has dates"):
                call()


def test_masked_cells_are_refused(arm, fitted):
    X, y = arm
    masked = np.ma.masked_array(X, np.zeros_like(X, dtype=bool))
    assert np.array_equal(DeepGPRegressor(**QUICK).fit(masked, y).predict(masked), fitted.predict(X))
    masked[3, 2] = np.ma.masked
    target = np.ma.masked_greater(y, np.sort(y)[-3])
    for call, said in [
        (lambda: DeepGPRegressor(**QUICK).fit(masked, y), "`X` has 1 masked"),
        (lambda: DeepGPRegressor(**QUICK).fit(X, target), "`y` has 2 masked"),
        (lambda: DeepGPRegressor(**QUICK).fit(X, y, sample_weight=target), "`sample_weight` has 2 masked"),
        (lambda: fitted.predict(masked), "`X` has 1 masked"),
        (lambda: fitted.log_density(X, target), "`y` has 2 masked"),
        (lambda: fitted.model_.elbo(masked, y), "`X` has 1 masked"),
    ]:
        with pytest.raises(ValueError, match=said + r" cells.*filled"):
            call()


def test_a_fit_that_failed_leaves_the_estimator_as_it_was(arm, fitted):
    X, y = arm
    regressor = DeepGPRegressor(**QUICK).fit(X, y)
    with pytest.raises(ValueError, match="every row"):
        regressor.fit(X[:, :3], np.zeros(120))
    assert regressor.n_features_in_ == 8
    assert np.array_equal(regressor.predict(X), fitted.predict(X))
    unfitted = DeepGPRegressor(**QUICK)
    with pytest.raises(ValueError, match="every row"):
        unfitted.fit(X, np.zeros(120))
    with pytest.raises(NotFittedError):
        unfitted.predict(X)


def test_a_column_that_does_not_vary_is_kept(arm):
    X, y = arm
    flat = np.column_stack([X, np.ones(120)])
    assert np.isfinite(DeepGPRegressor(**QUICK).fit(flat, y).predict(flat)).all()


def test_files_that_are_no_models_say_so(tmp_path):
    (tmp_path / "empty").touch()
    for path, error, said in [
        ("nowhere/model.deepgp", FileNotFoundError, "check the path"),
        ("empty", ValueError, "it is empty"),
        (".", OSError, "cannot read"),
    ]:
        with pytest.raises(error, match=said):
            Model.load(tmp_path / path)
        with pytest.raises(error, match=said):
            DeepGPRegressor.load(str(tmp_path / path))


def test_numbers_across_the_machines_words_are_read_where_they_are(arm):
    X, y = arm
    packed = np.zeros(len(X), [("id", "u1"), ("x", "f8", (X.shape[1],)), ("y", "f8"), ("w", "f8")])
    packed["x"], packed["y"], packed["w"] = X, y, 1.0
    assert not packed["x"].flags.aligned
    settings = {"hidden_layers": 0, "inducing": 10, "steps": 20}
    expected = DeepGPRegressor(**settings).fit(X, y, sample_weight=np.ones(len(X)))
    found = DeepGPRegressor(**settings).fit(packed["x"], packed["y"], sample_weight=packed["w"])
    np.testing.assert_array_equal(found.predict(packed["x"]), expected.predict(X))


def test_more_rows_than_can_be_taken_jointly_are_refused_with_a_way_out(arm):
    X, y = arm
    regressor = DeepGPRegressor(hidden_layers=0, inducing=10, steps=5).fit(X, y)
    many = np.zeros((2001, X.shape[1]))
    with pytest.raises(ValueError, match=r"2001 rows.*joint=False"):
        regressor.sample_y(many)
    with pytest.raises(ValueError, match=r"2001 rows.*return_std"):
        regressor.predict(many, return_cov=True)
    assert regressor.sample_y(many, joint=False).shape == (2001, 1)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("device", None, "`device` is None"),
        ("random_state", 2**70, "`random_state` is .* below"),
        ("prediction_samples", 0, "`prediction_samples` is 0"),
        ("time_limit", -1, "`time_limit` is -1"),
        ("prediction_samples", 10**9, "`prediction_samples` is 1000000000, but must be at most 1000000"),
        ("validation_samples", 10**12, "`validation_samples` is .* at most"),
        ("samples", 10**12, "`samples` is .* at most"),
        ("width", 10**9, "`width` is .* at most"),
        ("hidden_layers", 10**9, "`hidden_layers` is .* at most"),
    ],
)
def test_settings_that_cannot_be_meant_are_named(arm, setting, value, message):
    with pytest.raises(ValueError, match=message):
        DeepGPRegressor(**{"hidden_layers": 0, "inducing": 10, "steps": 5, setting: value}).fit(*arm)


def test_numbers_that_no_memory_has_room_for_are_refused(arm, fitted):
    X, y = arm
    model = fitted.model_
    for call, said in [
        (lambda: datasets.eight_link_arm(2**60), "`rows` is"),
        (lambda: datasets.step_curve(2**60), "`rows` is"),
        (lambda: split_rows(2**31, 0.5), "`rows` is"),
        (lambda: fitted.sample_y(X, 2**60), "`n_samples` is"),
        (lambda: model.draws(X, 2**60), "`count` is"),
        (lambda: model.predict(X, samples=2**60), "`samples` is"),
        (lambda: model.elbo(X, y, samples=2**60), "`samples` is"),
        (lambda: Model({"layers": [{"width": 2**60}]}, X), "`width` is"),
        (lambda: Model({"width": 2**60}, X), "`width` is"),
        (lambda: Model({}, X, outputs=2**60), "`outputs` is"),
    ]:
        with pytest.raises(ValueError, match=rf"{said} \d+, but must be at most"):
            call()


@pytest.mark.parametrize("draw", ["draws", "joint_draws"])
def test_draws_that_no_memory_has_room_for_are_a_memory_error(fitted, draw):
    many = np.broadcast_to(0.0, (10**8, 8))
    with pytest.raises(MemoryError, match="no memory for 10000000 draws at 100000000 rows"):
        getattr(fitted.model_, draw)(many, 10**7)


def test_a_panic_is_an_error_that_can_be_caught():
    # Past all checks: no vector can have so many entries.
    with pytest.raises(RuntimeError, match="capacity overflow"):
        _core.step_curve(2**62, 0)
