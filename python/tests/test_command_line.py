"""One file for Python and the command line: what one fits, the other opens, and predicts the same bits."""

import csv
import io
import json
import subprocess
import time

import numpy as np
import pandas as pd
import pytest
from conftest import QUICK
from sklearn.base import clone

from deepgp import DeepGPClassifier, DeepGPRegressor, Model, split_rows

NAMES = [f"joint{i}" for i in range(8)]


def run(command, *arguments):
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def predictions(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0] if name != "class"}


@pytest.fixture
def table(arm, tmp_path):
    X, y = arm
    frame = pd.DataFrame(X, columns=NAMES).assign(distance=y)
    frame.to_csv(tmp_path / "arm.csv", index=False)
    return tmp_path / "arm.csv"


@pytest.mark.parametrize("precision", ["f64", "mixed"])
def test_a_model_of_the_command_line_predicts_the_same_bits_here(command, table, arm, tmp_path, precision):
    X, _ = arm
    model = tmp_path / "model.deepgp"
    size = ["--hidden-layers", 2, "--width", 3, "--mean-inducing", 20, "--covariance-inducing", 10]
    run(command, "fit", table, "--target", "distance", "--out", model, "--steps", 50, "--precision", precision, *size)
    said = predictions(run(command, "predict", model, table, "--quantiles", "0.1,0.9", "--draws", 2))
    frame = pd.DataFrame(X, columns=NAMES)
    regressor = DeepGPRegressor.load(model)
    mean, std = regressor.predict(frame, return_std=True)
    assert np.array_equal(mean, said["mean"])
    assert np.array_equal(std, said["std"])
    assert np.array_equal(regressor.predict_quantiles(frame, [0.1, 0.9]), np.column_stack([said["q0.1"], said["q0.9"]]))
    assert np.array_equal(regressor.sample_y(frame, 2, joint=False), np.column_stack([said["draw1"], said["draw2"]]))
    engine = Model.load(model)
    assert np.array_equal(engine.predict(X).f.std[:, 0], said["f_std"])
    assert list(regressor.feature_names_in_) == NAMES
    assert (regressor.hidden_layers, regressor.width, regressor.mean_inducing) == (2, 3, 20)
    assert (regressor.precision, regressor.stop_, regressor.n_iter_) == (precision, "steps", 50)
    assert np.array_equal(regressor.history_["step"], np.arange(1, 51))
    again = regressor.set_params(warm_start=True, steps=5).fit(frame, arm[1])
    assert again.n_iter_ == 5


def test_a_model_of_python_opens_in_the_command_line(command, table, arm, tmp_path):
    X, y = arm
    frame = pd.DataFrame(X, columns=NAMES)
    regressor = DeepGPRegressor(**QUICK).fit(frame, pd.Series(y, name="distance"))
    regressor.save(tmp_path / "model.deepgp")
    said = predictions(run(command, "predict", tmp_path / "model.deepgp", table))
    assert np.array_equal(said["mean"], regressor.predict(frame))
    info = json.loads(run(command, "info", tmp_path / "model.deepgp", "--json"))
    assert "distance" in json.dumps(info)
    run(command, "evaluate", tmp_path / "model.deepgp", table)
    again = DeepGPRegressor.load(tmp_path / "model.deepgp")
    assert again.get_params() == {**regressor.get_params(), "callbacks": None}
    assert np.array_equal(again.predict(frame), regressor.predict(frame))


def test_a_split_is_of_the_rows_that_the_command_line_tests_on(command, table, arm, tmp_path):
    X, y = arm
    size = ["--hidden-layers", 1, "--mean-inducing", 20, "--covariance-inducing", 10, "--steps", 30]
    where = ["--target", "distance", "--out", tmp_path / "model.deepgp"]
    said = json.loads(run(command, "fit", table, *where, *size, "--test", 0.25, "--seed", 4, "--json"))["test"]
    _, held_out = split_rows(len(y), 0.25, seed=4)
    frame = pd.DataFrame(X[held_out], columns=NAMES)
    found = DeepGPRegressor.load(tmp_path / "model.deepgp").log_density(frame, y[held_out])
    assert len(held_out) == said["rows"] == 30
    assert found.mean() == pytest.approx(said["log_likelihood"], rel=1e-12)


def test_columns_without_names_are_known_by_their_places(command, arm, fitted, tmp_path):
    X, _ = arm
    fitted.save(tmp_path / "model.deepgp")
    np.save(tmp_path / "new.npy", X)
    said = predictions(run(command, "predict", tmp_path / "model.deepgp", tmp_path / "new.npy"))
    assert np.array_equal(said["mean"], fitted.predict(X))
    assert not hasattr(DeepGPRegressor.load(tmp_path / "model.deepgp"), "feature_names_in_")


def test_several_targets(command, arm, tmp_path):
    X, y = arm
    regressor = DeepGPRegressor(**QUICK).fit(X, pd.DataFrame({"near": y, "far": 3 * y}))
    regressor.save(tmp_path / "model.deepgp")
    np.save(tmp_path / "new.npy", X)
    said = predictions(run(command, "predict", tmp_path / "model.deepgp", tmp_path / "new.npy"))
    assert np.array_equal(np.column_stack([said["near_mean"], said["far_mean"]]), regressor.predict(X))
    assert np.array_equal(DeepGPRegressor.load(tmp_path / "model.deepgp").predict(X), regressor.predict(X))


def test_a_warm_start_keeps_the_columns_of_the_command_line(command, arm, tmp_path):
    X, y = arm
    levels = np.where(np.arange(120) % 3, "left", "right")
    frame = pd.DataFrame(X[:, :2], columns=NAMES[:2]).assign(side=levels, distance=y)
    frame.to_csv(tmp_path / "arm.csv", index=False)
    size = ["--hidden-layers", 0, "--mean-inducing", 20, "--covariance-inducing", 10, "--steps", 20]
    model = tmp_path / "model.deepgp"
    run(command, "fit", tmp_path / "arm.csv", "--target", "distance", "--out", model, *size)
    regressor = DeepGPRegressor.load(model).set_params(warm_start=True, steps=5)
    regressor.fit(frame, y).save(tmp_path / "further.deepgp")
    said = predictions(run(command, "predict", tmp_path / "further.deepgp", tmp_path / "arm.csv"))
    assert np.array_equal(said["mean"], regressor.predict(frame))
    regressor.fit(frame, pd.Series(y, name="metres")).save(tmp_path / "further.deepgp")
    info = json.loads(run(command, "info", tmp_path / "further.deepgp", "--json"))
    assert "metres" in json.dumps(info)


LABELS = {
    "two texts": ["down", "up"],
    "three texts": ["big", "rare", "some"],
    "numbers": [9, 10],
    "truth values": [False, True],
}


@pytest.fixture(params=LABELS.values(), ids=LABELS)
def labelled(request, clouds, tmp_path):
    """Inputs, labels, and a file that has them."""
    X, cloud = clouds
    labels = np.array(request.param)
    frame = pd.DataFrame(X, columns=["a", "b"])
    y = labels[cloud % len(labels)]
    frame.assign(cloud=y).to_csv(tmp_path / "clouds.csv", index=False)
    return frame, y, tmp_path / "clouds.csv"


def said_of_classes(text):
    """The class that the command said of each row, and its probabilities in the order of the labels."""
    names = [name for name in text.splitlines()[0].split(",") if name.startswith("p_")]
    found = predictions(text)
    return [line.split(",")[0] for line in text.splitlines()[1:]], np.column_stack([found[name] for name in names])


def test_classes_of_the_command_line_have_the_same_probabilities_here(command, labelled, tmp_path):
    frame, y, table = labelled
    model = tmp_path / "model.deepgp"
    size = ["--hidden-layers", 1, "--width", 2, "--inducing", 20, "--steps", 60, "--class-weights", "balanced"]
    run(command, "fit", table, "--target", "cloud", "--task", "classification", "--out", model, *size)
    classifier = DeepGPClassifier.load(model)
    assert classifier.classes_.tolist() == np.unique(y).tolist()
    assert classifier.class_weight == "balanced"
    classes, p = said_of_classes(run(command, "predict", model, table))
    assert np.array_equal(classifier.predict_proba(frame), p)
    assert [str(own).lower() for own in classifier.predict(frame)] == classes
    assert classifier.score(frame, y) > 0.8
    # The same fit here ends with the same bits.
    alike = clone(classifier).fit(frame, y)
    assert np.array_equal(alike.predict_proba(frame), p)
    with pytest.raises(ValueError, match=r"open it with DeepGPClassifier\.load"):
        DeepGPRegressor.load(model)


def test_classes_of_python_have_the_same_probabilities_in_the_command_line(command, labelled, tmp_path):
    frame, y, table = labelled
    classifier = DeepGPClassifier(**QUICK).fit(frame, pd.Series(y, name="cloud"))
    classifier.save(tmp_path / "model.deepgp")
    classes, p = said_of_classes(run(command, "predict", tmp_path / "model.deepgp", table))
    assert np.array_equal(classifier.predict_proba(frame), p)
    assert [str(own).lower() for own in classifier.predict(frame)] == classes
    said = json.loads(run(command, "evaluate", tmp_path / "model.deepgp", table, "--json"))
    assert said["test"]["accuracy"] == pytest.approx(classifier.score(frame, y))


@pytest.mark.parametrize("name", ["hours", None])
def test_counts_and_their_exposures_go_to_the_command_line_and_back(command, visits, tmp_path, name):
    X, hours, y = visits
    frame = pd.DataFrame(X, columns=["x"])
    table, model = tmp_path / "visits.csv", tmp_path / "model.deepgp"
    frame.assign(**{name or "exposure": hours, "visits": y}).to_csv(table, index=False)
    regressor = DeepGPRegressor(**QUICK, likelihood="negative-binomial")
    regressor.fit(frame, pd.Series(y, name="visits"), exposure=hours if name is None else pd.Series(hours, name=name))
    regressor.save(model)
    for _ in range(2):
        said = predictions(run(command, "predict", model, table, "--quantiles", "0.1,0.9"))
        mean, std = regressor.predict(frame, return_std=True, exposure=hours)
        assert np.array_equal(mean, said["mean"])
        assert np.array_equal(std, said["std"])
        quantiles = regressor.predict_quantiles(frame, [0.1, 0.9], exposure=hours)
        assert np.array_equal(quantiles, np.column_stack([said["q0.1"], said["q0.9"]]))
        zero = np.exp(regressor.log_density(frame, np.zeros(300), exposure=hours))
        np.testing.assert_allclose(zero, said["p_zero"], rtol=1e-6)
        size = ["--hidden-layers", 1, "--width", 2, "--inducing", 20, "--steps", 40, "--exposure", name or "exposure"]
        run(command, "fit", table, "--target", "visits", "--task", "counts", "--out", model, *size)
        regressor = DeepGPRegressor.load(model)


def test_a_checkpoint_was_interrupted(command, table, tmp_path):
    checkpoint = tmp_path / "model.deepgp.checkpoint"
    size = ["--hidden-layers", 0, "--mean-inducing", 20, "--covariance-inducing", 10, "--steps", 10**7]
    where = [
        "--target",
        "distance",
        "--out",
        tmp_path / "model.deepgp",
        "--checkpoint-every",
        "1s",
        "--patience",
        10**6,
    ]
    with subprocess.Popen(list(map(str, [command, "fit", table, *where, *size])), stderr=subprocess.DEVNULL) as run:
        while not checkpoint.exists() and run.poll() is None:
            time.sleep(0.05)
        run.kill()
    assert DeepGPRegressor.load(checkpoint).stop_ == "interrupted"


def test_no_validation_is_said_alike(command, table, arm, tmp_path):
    X, y = arm
    frame, bits = pd.DataFrame(X, columns=NAMES), []
    size = ["--hidden-layers", 1, "--width", 2, "--mean-inducing", 20, "--covariance-inducing", 10, "--steps", 60]
    for none in ("none", "0"):
        model = tmp_path / f"{none}.deepgp"
        run(command, "fit", table, "--target", "distance", "--out", model, "--validation", none, *size)
        bits.append(DeepGPRegressor.load(model).predict(frame))
    bits.extend(DeepGPRegressor(**QUICK, validation=none).fit(frame, y).predict(frame) for none in (None, 0, 0.0))
    assert all(np.array_equal(own, bits[0]) for own in bits)


def test_a_fit_tells_scripts_which_columns_it_left_out(command, table, tmp_path):
    frame = pd.read_csv(table).assign(country="Iceland", id=[f"arm {row}" for row in range(120)])
    frame.to_csv(tmp_path / "more.csv", index=False)
    where = ["--target", "distance", "--out", tmp_path / "model.deepgp", "--hidden-layers", 0, "--steps", 5]
    said = json.loads(run(command, "fit", tmp_path / "more.csv", *where, "--json"))
    assert sorted(said["left_out"]) == ["country", "id"]
    assert "constant_columns" not in said["settings"]


def test_a_model_of_python_has_a_report(command, table, fitted, tmp_path):
    model, page = tmp_path / "model.deepgp", tmp_path / "report.html"
    fitted.save(model)
    done = subprocess.run([command, "report", model, "--out", page], capture_output=True, text=True)
    assert done.returncode == 0
    assert "fitted to arrays in Python, which no file keeps" in done.stderr
    assert "inducing inputs" in page.read_text()
