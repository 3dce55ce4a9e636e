"""Frames of texts, categories, dates, truth values and missing cells: they go in as tables do on the command line."""

import datetime
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import QUICK
from sklearn.model_selection import cross_val_score
from test_command_line import predictions, run, said_of_classes

from deepgp import DeepGPClassifier, DeepGPRegressor, Model, _frames

SIZE = ["--hidden-layers", 1, "--width", 2, "--mean-inducing", 20, "--covariance-inducing", 10, "--steps", 60]
PARISHES = [f"parish {letter}{other}" for letter in "abcdefgh" for other in "stuvwxyz"]


def houses(rows=240, seed=3):
    """A table of houses with cells of all kinds, some of which are missing, and their prices."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "area": rng.uniform(40, 200, rows),
            "heating": rng.choice(["gas", "oil", "none", "district"], rows),
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), "D"),
            "garage": rng.random(rows) < 0.4,
            "parish": rng.choice(PARISHES, rows),
            "rooms": rng.integers(1, 7, rows).astype(float),
        }
    )
    frame.loc[rng.random(rows) < 0.1, "rooms"] = np.nan
    frame.loc[rng.random(rows) < 0.1, "heating"] = None
    effect = frame["parish"].map({parish: rng.normal() for parish in PARISHES})
    price = 2 * frame["area"] + 30 * frame["garage"] + 20 * effect + rng.normal(0, 5, rows)
    return frame, price.rename("price")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A frame, its target, the file that has both, and the model that the command fits to it."""
    folder = tmp_path_factory.mktemp("houses")
    frame, price = houses()
    frame.assign(price=price).to_csv(folder / "houses.csv", index=False)
    return frame, price, folder / "houses.csv", folder / "houses.deepgp"


@pytest.fixture(scope="module")
def of_command(command, table):
    _, _, path, model = table
    run(command, "fit", path, "--target", "price", "--out", model, *SIZE)
    return DeepGPRegressor.load(model)


def quietly(call):
    """What `call` returns, if it warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


def test_a_model_of_the_command_takes_raw_frames(command, table, of_command):
    frame, price, path, model = table
    said = predictions(run(command, "predict", model, path, "--quantiles", "0.1,0.9", "--draws", 2))
    assert list(of_command.feature_names_in_) == list(frame.columns)
    assert of_command.n_features_in_ == 6 < of_command.model_.n_inputs
    mean, std = quietly(lambda: of_command.predict(frame, return_std=True))
    assert np.array_equal(mean, said["mean"])
    assert np.array_equal(std, said["std"])
    shuffled = frame.assign(price=price, other="x")[["other", "price", *reversed(frame.columns)]]
    assert np.array_equal(of_command.predict(shuffled), said["mean"])
    quantiles = of_command.predict_quantiles(frame, [0.1, 0.9])
    assert np.array_equal(quantiles, np.column_stack([said["q0.1"], said["q0.9"]]))
    draws = of_command.sample_y(frame, 2, joint=False)
    assert np.array_equal(draws, np.column_stack([said["draw1"], said["draw2"]]))
    assert of_command.log_density(frame, price).shape == (240,)
    assert np.array_equal(Model.load(model).predict(frame).y.mean[:, 0], said["mean"])


def test_importance_is_of_columns_and_that_of_the_command(command, table, of_command):
    frame, _, path, model = table
    said = json.loads(run(command, "explain", model, path, "--json"))["importance"]["price"]
    found = of_command.importance(frame)
    assert set(found.columns) == set(frame.columns)
    assert found.share.shape == found.error.shape == (len(found.columns),)
    shares = dict(zip(found.columns, found.share, strict=True))
    assert {own["column"]: own["share"] for own in said} == shares
    assert (found.share >= 0).all()


def test_a_fit_here_ends_with_the_bits_of_the_command(command, table, of_command, tmp_path):
    frame, price, path, _ = table
    regressor = quietly(lambda: DeepGPRegressor(**QUICK).fit(frame, price))
    assert np.array_equal(regressor.predict(frame), of_command.predict(frame))
    assert list(regressor.feature_names_in_) == list(frame.columns)
    assert any("parish" in note and "mean of the target" in note for note in regressor.notes_)
    regressor.save(tmp_path / "model.deepgp")
    said = predictions(run(command, "predict", tmp_path / "model.deepgp", path))
    assert np.array_equal(said["mean"], regressor.predict(frame))
    for again in (DeepGPRegressor.load(tmp_path / "model.deepgp"), pickle.loads(pickle.dumps(regressor))):
        assert np.array_equal(again.predict(frame), regressor.predict(frame))


def test_classes_of_a_frame_are_those_of_the_command(command, table, tmp_path):
    frame, price, _, _ = table
    dear = pd.Series(np.where(price > price.median(), "dear", "cheap"), name="label")
    frame.assign(label=dear).to_csv(tmp_path / "houses.csv", index=False)
    model = tmp_path / "model.deepgp"
    run(command, "fit", tmp_path / "houses.csv", "--target", "label", "--out", model, *SIZE)
    classes, p = said_of_classes(run(command, "predict", model, tmp_path / "houses.csv"))
    classifier = quietly(lambda: DeepGPClassifier(**QUICK).fit(frame, dear))
    for own in (classifier, DeepGPClassifier.load(model)):
        assert np.array_equal(own.predict_proba(frame), p)
        assert own.predict(frame).tolist() == classes
    assert classifier.score(frame, dear) > 0.8


def test_counts_of_a_frame_grow_with_exposures(visits):
    X, hours, y = visits
    frame = pd.DataFrame({"x": X[:, 0], "door": np.where(np.arange(300) % 3, "front", "back")})
    regressor = DeepGPRegressor(**QUICK, likelihood="poisson").fit(frame, y, exposure=hours)
    mean = regressor.predict(frame, exposure=hours)
    np.testing.assert_allclose(regressor.predict(frame, exposure=2 * hours), 2 * mean)


def test_numbers_alone_go_as_they_went_before(arm):
    X, y = arm
    # An id is a number like others where there is nothing but numbers.
    plain = pd.DataFrame(X, columns=list("abcdefgh")).assign(id=np.arange(120))
    regressor = DeepGPRegressor(**QUICK).fit(plain, y)
    assert np.array_equal(
        regressor.predict(plain), DeepGPRegressor(**QUICK).fit(plain.to_numpy(), y).predict(plain.to_numpy())
    )
    with pytest.raises(ValueError, match="Input X contains NaN"):
        regressor.predict(plain.assign(a=np.nan))


@pytest.mark.parametrize("library", ["pandas", "nullable", "polars"])
def test_missing_numbers_have_an_input_that_tells_of_them(arm, library):
    X, y = arm
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame.loc[::7, "b"] = np.nan
    expected = DeepGPRegressor(**QUICK).fit(frame, y)
    assert expected.model_.n_inputs == 4
    given = {"pandas": frame, "nullable": frame.convert_dtypes(), "polars": pl.from_dict(frame.to_dict("list"))}[
        library
    ]
    regressor = DeepGPRegressor(**QUICK).fit(given, y)
    assert np.array_equal(regressor.predict(given), expected.predict(frame))
    # One that was there in every row of the fit is filled in.
    filled = quietly(lambda: regressor.predict(frame.assign(a=np.nan)))
    assert np.array_equal(filled, regressor.predict(frame.assign(a=frame["a"].mean())))


def test_polars_and_pandas_say_the_same(table):
    frame, price, _, _ = table
    columns = {name: frame[name].replace({np.nan: None}).tolist() for name in ("heating", "parish", "rooms")}
    days = [day.date() for day in frame["sold"]]
    own = pl.DataFrame(
        {"area": frame["area"].to_numpy(), "sold": days, "garage": frame["garage"].to_numpy(), **columns}
    )
    expected = DeepGPRegressor(**QUICK).fit(frame, price)
    regressor = DeepGPRegressor(**QUICK).fit(own.select(frame.columns), price.to_numpy())
    assert np.array_equal(regressor.predict(own), expected.predict(frame))


def test_a_level_that_was_not_seen_is_warned_of(table, of_command):
    frame, _, _, _ = table
    odd = frame.copy()
    odd.loc[3, "heating"] = "solar"
    odd.loc[4, "heating"] = "solar"
    with pytest.warns(UserWarning, match=r"column `heating`: 2 .*\"solar\" in row 4"):
        found = of_command.predict(odd)
    assert np.isfinite(found).all()
    rest = [row for row in range(240) if row not in (3, 4)]
    assert np.array_equal(found[rest], of_command.predict(frame)[rest])
    missing = frame.copy()
    missing.loc[[3, 4], "heating"] = None
    assert np.array_equal(found, of_command.predict(missing))


def test_a_category_may_have_levels_that_no_row_has(arm):
    X, y = arm
    levels = np.array(["low", "high"])[np.arange(120) % 2]
    frame = pd.DataFrame({"x": X[:, 0], "level": levels})
    category = frame.assign(level=pd.Categorical(levels, categories=["low", "middle", "high"]))
    expected = DeepGPRegressor(**QUICK).fit(frame, y)
    regressor = DeepGPRegressor(**QUICK).fit(category, y)
    assert regressor.model_.n_inputs == 3
    assert np.array_equal(regressor.predict(category), expected.predict(frame))
    # Of numbers a category makes names.
    numbered = frame.assign(level=pd.Categorical(np.arange(120) % 4))
    assert DeepGPRegressor(**QUICK).fit(numbered, y).model_.n_inputs == 5
    assert DeepGPRegressor(**QUICK).fit(frame.assign(level=np.arange(120) % 4), y).model_.n_inputs == 2


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_date_is_the_same_in_every_unit_and_as_a_text(arm, unit):
    X, y = arm
    # Parts of a second, so that no unit is but whole ones.
    part = {"s": "5s", "ms": "5ms", "us": "5us", "ns": "5ns"}[unit]
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(120) % 50, "D") + pd.Timedelta(part)
    frame = pd.DataFrame({"x": X[:, 0], "day": days.astype(f"datetime64[{unit}]")})
    expected = DeepGPRegressor(**QUICK).fit(frame.assign(day=[day.isoformat(sep=" ") for day in days]), y)
    for day in (frame["day"], frame["day"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")):
        own = frame.assign(day=day)
        assert np.array_equal(DeepGPRegressor(**QUICK).fit(own, y).predict(own), expected.predict(frame))


def test_objects_are_cells_of_their_own_kind(arm):
    X, y = arm
    numbers = [None if row % 9 == 0 else int(row % 5) for row in range(120)]
    truth = [None if row % 8 == 0 else row % 3 == 0 for row in range(120)]
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(row % 40) for row in range(120)]
    frame = pd.DataFrame({"x": X[:, 0]})
    objects = frame.assign(n=pd.Series(numbers, dtype=object), t=pd.Series(truth, dtype=object), d=days)
    typed = frame.assign(n=np.array(numbers, dtype=float), t=pd.Series(truth, dtype="boolean"), d=pd.to_datetime(days))
    expected = DeepGPRegressor(**QUICK).fit(typed, y)
    assert np.array_equal(DeepGPRegressor(**QUICK).fit(objects, y).predict(objects), expected.predict(typed))


def test_what_says_nothing_is_left_out_with_a_warning(table):
    frame, price, _, _ = table
    more = frame.assign(id=[f"house {row}" for row in range(240)], country="Iceland")
    with pytest.warns(UserWarning, match="left out") as told:
        regressor = DeepGPRegressor(**QUICK).fit(more, price)
    told = [str(own.message) for own in told]
    assert any("column `id` is left out: its 240 different texts" in own and "keep_columns" in own for own in told)
    assert any("`country` is the same in every row" in own for own in told)
    assert not any("--" in own for own in told)
    assert set(told) <= set(regressor.notes_)
    assert regressor.n_features_in_ == 8
    assert np.array_equal(regressor.predict(frame), DeepGPRegressor(**QUICK).fit(frame, price).predict(frame))
    with pytest.raises(ValueError, match=r"`country` = \"Iceland\".*constant_columns=\"keep\""):
        DeepGPRegressor(**QUICK, constant_columns="reject").fit(more, price)


def test_what_tells_rows_apart_is_taken_if_asked_for(table):
    frame, price, _, _ = table
    counted = frame[["area", "heating"]].assign(hour=np.arange(240))
    with pytest.warns(UserWarning, match=r"`hour` is left out: it counts the rows; keep_columns=\[\"hour\"\] takes it"):
        left_out = DeepGPRegressor(**QUICK).fit(counted, price)
    kept = quietly(lambda: DeepGPRegressor(**QUICK, keep_columns=["hour"]).fit(counted, price))
    assert kept.model_.n_inputs == left_out.model_.n_inputs + 1
    for wrong, said in [("hour", "must be a list of names"), (["day"], "no column `day`, which is asked to be kept")]:
        with pytest.raises(ValueError, match=said):
            DeepGPRegressor(**QUICK, keep_columns=wrong).fit(counted, price)


def test_frames_that_do_not_fit_are_refused(arm, table, of_command):
    frame, price, _, _ = table
    X, y = arm
    mixed = pd.DataFrame({"x": X[:, 0], "word": ["a", *["1"] * 119]})
    for call, said in [
        (
            lambda: of_command.predict(frame.drop(columns="heating")),
            "no column `heating`, which is an input of the model",
        ),
        (lambda: of_command.predict(frame.rename(columns={"heating": "Heating"})), "did you mean `Heating`"),
        (lambda: of_command.predict(np.zeros((3, 6))), "fitted to a table: give a DataFrame, with the columns 'area'"),
        (lambda: DeepGPRegressor(**QUICK).fit(mixed, y), r"\"a\" is not a number, but 119 .*astype\(\"category\"\)"),
        (lambda: DeepGPRegressor(**QUICK).fit(frame, price[:-1]), "inconsistent numbers of samples"),
        (lambda: DeepGPRegressor(**QUICK).fit(frame, price.where(price > 100)), "y contains NaN"),
        (
            lambda: DeepGPRegressor(**QUICK).fit(frame[["area", "heating", "area"]], price),
            "several columns of the name",
        ),
        (lambda: DeepGPRegressor(**QUICK).fit(frame.assign(area=np.inf), price), 'column `area`: "inf" is not finite'),
        (lambda: DeepGPRegressor(**QUICK).fit(frame[:0], price[:0]), "0 sample"),
    ]:
        with pytest.raises(ValueError, match=said):
            call()


def test_a_fit_to_a_frame_that_failed_leaves_the_estimator_as_it_was(table):
    frame, price, _, _ = table
    regressor = DeepGPRegressor(**QUICK).fit(frame, price)
    expected = regressor.predict(frame)
    with pytest.raises(ValueError, match="every row"):
        regressor.fit(frame[["heating", "area"]], np.zeros(240))
    assert list(regressor.feature_names_in_) == list(frame.columns)
    assert np.array_equal(regressor.predict(frame), expected)


def test_a_model_of_frames_goes_on_with_frames(command, table, of_command, tmp_path):
    frame, price, path, model = table
    regressor = DeepGPRegressor.load(model).set_params(warm_start=True, steps=5).fit(frame, price)
    assert list(regressor.feature_names_in_) == list(frame.columns)
    regressor.save(tmp_path / "further.deepgp")
    said = predictions(run(command, "predict", tmp_path / "further.deepgp", path))
    assert np.array_equal(said["mean"], regressor.predict(frame))
    assert not np.array_equal(regressor.predict(frame), of_command.predict(frame))
    # What levels say about the target is learnt from the rows at hand.
    raised = DeepGPRegressor.load(model).set_params(warm_start=True, steps=1).fit(frame, price + 100)
    before, after = (own.model_._engine.encode(_frames.table_of(frame))[0] for own in (of_command, raised))
    np.testing.assert_allclose((after - before).max(axis=0).max(), 100)


def test_frames_go_through_scikit_learn(table):
    frame, price, _, _ = table
    scores = cross_val_score(DeepGPRegressor(**QUICK | {"steps": 200}), frame, price, cv=3)
    assert scores.min() > 0.5


def test_what_stands_in_a_file_names_raw_columns(command, table, tmp_path):
    frame, price, _, _ = table
    DeepGPRegressor(**QUICK).fit(frame, price).save(tmp_path / "model.deepgp")
    info = json.loads(run(command, "info", tmp_path / "model.deepgp", "--json"))
    assert "heating=gas" in json.dumps(info)
