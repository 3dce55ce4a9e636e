"""Other models beside the paper continued: lines that `deepgp reproduce` reads, on its splits, each made once."""

import gzip
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import deepgp

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "experiments" / "continued"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="experiments/continued is not beside this package")
SCORES = ["test_log_likelihood", "test_rmse", "test_crps", "test_coverage_95"]


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import neighbours
    import rows
    import scores

    return scores, rows, neighbours


def run(*arguments):
    command = [sys.executable, FOLDER / "peers.py", *arguments]
    # Threads of it wait for one another in busy loops: beside another busy program ten seconds became ten minutes.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    x, y = deepgp.datasets.eight_link_arm(500, seed=1)
    with gzip.open(folder / "kin8nm.csv.gz", "wt") as file:
        header = ",".join([*(f"x{i}" for i in range(x.shape[1])), "y"])
        np.savetxt(file, np.column_stack([x, y]), delimiter=",", header=header, comments="", fmt="%.17g")
    return folder


def test_mixtures_are_scored_as_their_definitions_say(modules):
    scores, _, _ = modules
    mean = np.array([[-1.0, 0.3], [2.0, 0.4]])
    mixture = scores.Mixture(np.array([[0.25, 0.5], [0.75, 0.5]]), mean, np.array([[0.5, 1.0], [0.1, 2.0]]))
    y = np.array([1.5, -0.2])
    for row in range(2):
        weight, centre, variance = (part[:, row] for part in mixture)

        def below(at, weight=weight, centre=centre, variance=variance):
            return weight @ norm.cdf(at, centre, np.sqrt(variance))

        # CRPS = ∫ (F(t) − [y ≤ t])² dt.
        left = quad(lambda t: below(t) ** 2, -30, y[row], limit=200)[0]
        right = quad(lambda t: (1 - below(t)) ** 2, y[row], 30, limit=200)[0]
        assert scores.crps(mixture, y)[row] == pytest.approx(left + right, rel=1e-6)
        density = weight @ norm.pdf(y[row], centre, np.sqrt(variance))
        assert scores.log_density(mixture, y)[row] == pytest.approx(np.log(density), rel=1e-12)
    # Scores of a bent line are those of its units.
    whole, moved = scores.score(mixture, y), scores.score(mixture.in_units(3.0, 2.0), 3.0 + 2.0 * y)
    assert moved["test_crps"] == pytest.approx(2 * whole["test_crps"])
    assert moved["test_rmse"] == pytest.approx(2 * whole["test_rmse"])
    assert moved["test_log_likelihood"] == pytest.approx(whole["test_log_likelihood"] - np.log(2))
    # Rows are worked on in pieces, with the same result.
    scores.PAIRS, before = 4, scores.PAIRS
    assert scores.crps(mixture, y).mean() == pytest.approx(whole["test_crps"], rel=1e-14)
    scores.PAIRS = before


def test_mixtures_cover_what_they_say(modules, rng):
    scores, _, _ = modules
    mean, variance = rng.standard_normal((3, 4000)), np.exp(rng.standard_normal((3, 4000)))
    chosen = rng.integers(3, size=4000)
    rows = np.arange(4000)
    y = mean[chosen, rows] + np.sqrt(variance[chosen, rows]) * rng.standard_normal(4000)
    coverage = scores.score(scores.Mixture.even(mean, variance), y)["test_coverage_95"]
    assert coverage == pytest.approx(0.95, abs=0.015)


def test_neighbours_are_the_nearest(modules, rng):
    _, _, neighbours = modules
    x, new = rng.standard_normal((50, 3)), rng.standard_normal((7, 3))
    found = neighbours.nearest(x, new, 4)
    for row, point in zip(found, new, strict=True):
        assert row.tolist() == np.argsort(((x - point) ** 2).sum(axis=1))[:4].tolist()


def test_rows_are_those_that_reproduce_tests_on(modules, tmp_path):
    _, rows, _ = modules
    rows.write(tmp_path / "rows.npz", {"kin8nm": 500}, splits=2)
    for split in range(2):
        drawn = rows.read(tmp_path / "rows.npz", "kin8nm", split)
        assert drawn.test.tolist() == deepgp.split_rows(500, 0.2, split)[1].tolist()
        assert sorted(np.concatenate(drawn)) == list(range(500))
        assert len(drawn.aside) == 40
    with pytest.raises(ValueError, match="a table of 500, this one has 400"):
        rows.take(np.zeros((400, 2)), np.zeros(400), drawn)


def test_peers_are_measured_once_a_split_and_beat_the_mean(data, tmp_path):
    out = tmp_path / "peers.jsonl"
    said = run("--data", data, "--out", out, "--splits", 2)
    assert said.returncode == 0, said.stderr
    made = [json.loads(line) for line in out.read_text().splitlines()]
    names = ["k-NN mixture", "gradient-boosted trees, with a variance"]
    assert [(line["split"], line["model"]) for line in made] == [(split, name) for split in range(2) for name in names]
    _, y = deepgp.datasets.eight_link_arm(500, seed=1)
    for line in made:
        _, test = deepgp.split_rows(500, 0.2, line["split"])
        assert all(np.isfinite(line[score]) for score in SCORES)
        assert line["test_rmse"] < y[test].std()
        assert 0.8 < line["test_coverage_95"] <= 1
        assert "seconds" not in line, "nothing is timed on a processor that others use"
    before = out.read_text()
    again = run("--data", data, "--out", out, "--splits", 2)
    assert (again.returncode, again.stdout, out.read_text()) == (0, "", before)
    # The splits from a file are the same.
    assert run("--data", data, "--write-rows", tmp_path / "rows.npz").returncode == 0
    other = tmp_path / "other.jsonl"
    assert run("--data", data, "--out", other, "--splits", 2, "--rows", tmp_path / "rows.npz").returncode == 0
    assert other.read_text() == before


def test_what_makes_no_sense_is_said(data, tmp_path):
    for arguments, told in [
        (["--data", data], "one of --out and --write-rows"),
        (["--data", data, "--out", "x", "--models", "forest"], "forest is none of knn, trees"),
        (["--data", tmp_path, "--out", "x"], "has none of kin8nm, protein, molecules"),
    ]:
        said = run(*arguments)
        assert (said.returncode, told in said.stderr) == (2, True), said.stderr


def test_gpytorch_learns_and_keeps_the_best_step(data, tmp_path):
    pytest.importorskip("gpytorch")
    out = tmp_path / "peers.jsonl"
    said = run("--data", data, "--out", out, "--splits", 1, "--models", "deep-gp,dspp", "--steps", 20, "--batch", 100)
    assert said.returncode == 0, said.stderr
    made = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["model"] for line in made] == ["GPyTorch deep GP, 2 hidden", "GPyTorch DSPP, 2 hidden"]
    assert all(np.isfinite(line[score]) for line in made for score in SCORES)
