"""What `deepgp export` writes, computed by onnxruntime: the numbers of `deepgp predict` to rounding."""

import csv
import io
import json
import subprocess

import numpy as np
import pytest

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime has no wheel for this Python or machine")

#: Flags of a fit that is soon done, beside which each case has its own.
SOON = ["--steps", "40", "--mean-inducing", "20", "--covariance-inducing", "10", "--validation", "0.2"]
PLAIN = ["--likelihood", "gaussian", "--transform-target", "none"]

#: Every kernel, form and kind of noise that is written, with and without hidden layers, samples and a spread.
CASES = {
    "defaults": ["--transform-target", "none"],
    "one layer": ["--hidden-layers", "0", *PLAIN],
    "sites": [
        "--hidden-layers",
        "2",
        "--width",
        "3",
        "--objective",
        "sites",
        "--sites",
        "8",
        "--transform-target",
        "none",
    ],
    "narrow": ["--hidden-layers", "2", "--width", "2", *PLAIN],
    "wide": ["--hidden-layers", "1", "--width", "7", *PLAIN],
    "student": ["--hidden-layers", "1", "--width", "3", "--likelihood", "student-t", "--transform-target", "none"],
    "matern12": ["--hidden-layers", "1", "--width", "5", "--kernel", "matern12", *PLAIN],
    "matern32": ["--hidden-layers", "1", "--width", "5", "--kernel", "matern32", *PLAIN],
    "matern52": ["--hidden-layers", "0", "--kernel", "matern52", *PLAIN],
    "rational quadratic": ["--hidden-layers", "1", "--width", "5", "--kernel", "rational-quadratic", *PLAIN],
    "whitened": ["--hidden-layers", "1", "--width", "3", "--covariance-form", "whitened", "--nested=false", *PLAIN],
    "dual": ["--hidden-layers", "0", "--mean-form", "dual", "--covariance-form", "dual", "--nested=false", *PLAIN],
}


def run(command, *arguments):
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (150, 5)) * [1, 10, 0.1, 1, 1] + [0, 50, 0, 0, 0]
    y = 30 + 5 * np.sin(X[:, 0]) + X[:, 1] / 10 + rng.standard_normal(150)
    path = tmp_path_factory.mktemp("onnx") / "table.csv"
    names = [*"abcde", "y"]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *np.column_stack([X, y]).tolist()])
    return path, X


def predictions(text, *names):
    rows = list(csv.DictReader(io.StringIO(text)))
    return [np.array([float(row[name]) for row in rows]) for name in names]


@pytest.mark.parametrize("case", CASES)
def test_the_graph_has_the_numbers_of_predict(command, table, tmp_path, case):
    path, X = table
    model, graph = tmp_path / "model.deepgp", tmp_path / "model.onnx"
    run(command, "fit", path, "--target", "y", "--out", model, "--quiet", *SOON, *CASES[case])
    how = ["--samples", "30", "--seed", "3"]
    said = json.loads(run(command, "export", model, "--onnx", graph, "--json", *how))
    assert said["features"] == list("abcde")
    session = onnxruntime.InferenceSession(graph.read_bytes(), providers=["CPUExecutionProvider"])
    mean, std = session.run(["mean", "std"], {"x": X})
    expected_mean, expected_std = predictions(run(command, "predict", model, path, *how), "mean", "std")
    assert mean.shape == std.shape == (150, 1)
    np.testing.assert_allclose(mean[:, 0], expected_mean, rtol=1e-5)
    np.testing.assert_allclose(std[:, 0], expected_std, rtol=1e-5)
    # A row by itself, far from the others, is as good.
    far = [[1e9, 50, 0, 0, 0]]
    alone = session.run(["mean"], {"x": np.array(far)})[0]
    row = tmp_path / "far.csv"
    row.write_text("a,b,c,d,e\n1e9,50,0,0,0\n")
    np.testing.assert_allclose(alone[0], predictions(run(command, "predict", model, row, *how), "mean")[0], rtol=1e-5)
    facts = session.get_modelmeta().custom_metadata_map
    assert json.loads(facts["deepgp.features"]) == list("abcde")
    assert json.loads(facts["deepgp.targets"]) == ["y"]
    exact = case == "sites" or CASES[case][:2] == ["--hidden-layers", "0"]
    assert facts["deepgp.samples"] == ("none: the distribution is exact" if exact else "30")


def test_several_targets_have_a_column_each(command, table, tmp_path):
    path, X = table
    model, graph = tmp_path / "model.deepgp", tmp_path / "model.onnx"
    run(command, "fit", path, "--target", "y,a", "--out", model, "--quiet", "--transform-target", "none", *SOON)
    run(command, "export", model, "--onnx", graph, "--samples", "10")
    session = onnxruntime.InferenceSession(graph.read_bytes(), providers=["CPUExecutionProvider"])
    mean, std = session.run(["mean", "std"], {"x": X[:, 1:]})
    said = run(command, "predict", model, path, "--samples", "10")
    names = [f"{target}_{fact}" for fact in ("mean", "std") for target in "ya"]
    np.testing.assert_allclose(np.column_stack([mean, std]).T, predictions(said, *names), rtol=1e-5)


#: Transforms of targets, with each kind of noise that a quadrature takes.
TRANSFORMS = {
    "log": ["--transform-target", "log"],
    "log1p": ["--transform-target", "log1p", "--likelihood", "gaussian"],
    "yeo-johnson": ["--transform-target", "yeo-johnson", "--hidden-layers", "1", "--width", "4"],
    "without calibration": ["--transform-target", "log", "--calibrate=false"],
}


@pytest.mark.parametrize("case", TRANSFORMS)
def test_transformed_targets_come_back_in_their_units(command, table, tmp_path, case):
    path, X = table
    model, graph = tmp_path / "model.deepgp", tmp_path / "model.onnx"
    run(command, "fit", path, "--target", "y", "--out", model, "--quiet", *SOON, *TRANSFORMS[case])
    run(command, "export", model, "--onnx", graph, "--samples", "20")
    session = onnxruntime.InferenceSession(graph.read_bytes(), providers=["CPUExecutionProvider"])
    mean, std = session.run(["mean", "std"], {"x": X})
    expected = predictions(run(command, "predict", model, path, "--samples", "20"), "mean", "std")
    np.testing.assert_allclose(np.column_stack([mean, std]).T, expected, rtol=1e-5)


#: Likelihoods of classes, how many there are, and what else the fit is told.
CLASSES = {
    "probit": (2, []),
    "logit": (2, ["--likelihood", "logit", "--calibrate=false"]),
    "two by softmax": (2, ["--likelihood", "softmax"]),
    "three": (3, []),
    "five by sites": (5, ["--objective", "sites", "--sites", "6"]),
    "three, whitened": (3, ["--covariance-form", "whitened", "--nested=false", "--hidden-layers", "0"]),
}


@pytest.mark.parametrize("case", CLASSES)
def test_classes_have_their_probabilities(command, table, tmp_path, case):
    path, X = table
    count, flags = CLASSES[case]
    labels = np.array(list("abcde"))[:count][(np.argsort(np.argsort(X[:, 0] + 0.02 * X[:, 1])) * count) // len(X)]
    rows, other = path.read_text().splitlines(), tmp_path / "classes.csv"
    lines = [f"{line.rsplit(',', 1)[0]},{label}" for line, label in zip(rows, ["y", *labels], strict=True)]
    other.write_text("\n".join(lines) + "\n")
    model, graph = tmp_path / "model.deepgp", tmp_path / "model.onnx"
    small = ["--hidden-layers", "1", "--width", "3"] if "--hidden-layers" not in flags else []
    run(command, "fit", other, "--target", "y", "--out", model, "--quiet", *SOON, *small, *flags)
    run(command, "export", model, "--onnx", graph, "--samples", "10")
    session = onnxruntime.InferenceSession(graph.read_bytes(), providers=["CPUExecutionProvider"])
    facts = session.get_modelmeta().custom_metadata_map
    names = json.loads(facts["deepgp.labels"])
    assert names == list("abcde")[:count]
    (found,) = session.run(["probabilities"], {"x": X})
    expected = predictions(run(command, "predict", model, other, "--samples", "10"), *(f"p_{name}" for name in names))
    assert found.shape == (150, count)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(found.T, expected, atol=1e-5)


def test_a_trend_goes_on_in_the_graph(command, tmp_path):
    days = np.arange("2021-01-01", "2022-03-01", dtype="datetime64[D]")
    rng = np.random.default_rng(2)
    y = 0.1 * np.arange(len(days)) + rng.standard_normal(len(days))
    path = tmp_path / "days.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["day", "y"], *zip(days.astype(str), y, strict=True)])
    model, graph = tmp_path / "model.deepgp", tmp_path / "model.onnx"
    run(
        command,
        "fit",
        path,
        "--target",
        "y",
        "--out",
        model,
        "--quiet",
        *SOON,
        "--transform-target",
        "none",
        "--trend",
        "linear",
    )
    run(command, "export", model, "--onnx", graph, "--samples", "10")
    session = onnxruntime.InferenceSession(graph.read_bytes(), providers=["CPUExecutionProvider"])
    features = json.loads(session.get_modelmeta().custom_metadata_map["deepgp.features"])
    assert features[0] == "day"
    later = np.array(["2021-05-05", "2024-01-01"], dtype="datetime64[s]")
    seconds = later.astype("int64").astype(float)
    (tmp_path / "later.csv").write_text("day\n" + "\n".join(map(str, later)) + "\n")
    mean, std = predictions(run(command, "predict", model, tmp_path / "later.csv", "--samples", "10"), "mean", "std")
    week = 2 * np.pi * ((seconds / 86400 + 3) / 7 % 1)
    x = np.column_stack([seconds, np.sin(week), np.cos(week)])[:, : len(features)]
    found = session.run(["mean", "std"], {"x": x})
    np.testing.assert_allclose(np.column_stack(found).T, [mean, std], rtol=1e-5)
    assert mean[1] - mean[0] > 50


def test_what_is_not_written_is_told(command, table, tmp_path):
    path, _ = table
    model, graph = tmp_path / "model.deepgp", tmp_path / "model.onnx"
    for flags, said in (
        (["--task", "counts"], "the likelihood"),
        (["--transform-target", "log", "--likelihood", "student-t"], "another --transform-target"),
    ):
        rows = path.read_text().splitlines()
        whole = [f"{line.rsplit(',', 1)[0]},{'y' if i == 0 else 1 + i % 3}" for i, line in enumerate(rows)]
        other = tmp_path / "other.csv"
        other.write_text("\n".join(whole) + "\n")
        run(command, "fit", other, "--target", "y", "--out", model, "--quiet", *SOON, *flags)
        done = subprocess.run([command, "export", model, "--onnx", graph], capture_output=True, text=True)
        assert done.returncode == 1
        assert said in done.stderr
        assert not graph.exists()
