"""The boosted trees beside the paper's experiments: lines that `deepgp reproduce` reads, each made once."""

import gzip
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import deepgp

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "experiments" / "paper" / "boosted_trees.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="experiments/paper is not beside this package")


def write(path, x, y):
    header = ",".join([*(f"x{i}" for i in range(x.shape[1])), "y"])
    with gzip.open(path, "wt") as file:
        np.savetxt(file, np.column_stack([x, y]), delimiter=",", header=header, comments="", fmt="%.17g")


def run(data, out, *more):
    command = [sys.executable, SCRIPT, "--data", data, "--out", out, *more]
    # Threads of it wait for one another in busy loops: beside another busy program ten seconds became ten minutes.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("boosted_trees", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_boosted_trees_are_measured_once_a_split_and_beat_the_mean(tmp_path):
    x, y = deepgp.datasets.eight_link_arm(600, seed=1)
    write(tmp_path / "kin8nm.csv.gz", x, y)
    out = tmp_path / "results" / "baselines.jsonl"
    out.parent.mkdir()
    other = {"dataset": "kin8nm", "model": "the mean", "split": 0, "test_log_likelihood": 0.0, "test_rmse": 1.0}
    # The second line is what a cut leaves.
    out.write_text(json.dumps(other) + "\n" + '{"dataset": "kin8nm", "mod')
    said = run(tmp_path, out, "--splits", 2)
    assert said.returncode == 0, said.stderr
    assert [" s" in line for line in said.stdout.splitlines()] == [True, True]
    first, *made = lines(out)
    assert first == other
    models = ["gradient-boosted trees", "gradient-boosted trees, one variance"]
    assert [(line["model"], line["split"]) for line in made] == [(model, split) for split in (0, 1) for model in models]
    assert made[0]["test_rmse"] == made[1]["test_rmse"]
    assert made[0]["test_log_likelihood"] != made[1]["test_log_likelihood"]
    for line in made:
        assert list(line) == list(other)
        train, test = deepgp.split_rows(600, 0.2, seed=line["split"])
        mean, variance = y[train].mean(), y[train].var()
        squares = np.mean((y[test] - mean) ** 2)
        assert line["test_rmse"] < 0.8 * math.sqrt(squares)
        assert line["test_log_likelihood"] > -0.5 * (math.log(2 * math.pi * variance) + squares / variance)

    before = out.read_text()
    again = run(tmp_path, out, "--splits", 2)
    assert (again.returncode, again.stdout, out.read_text()) == (0, "", before)
    # A split that is missing is made again as it was, whatever is there of the others.
    kept = before.splitlines(keepends=True)
    out.write_text("".join(kept[:3]))
    assert run(tmp_path, out, "--splits", 2).returncode == 0
    assert out.read_text() == before
    # A whole line counts though nobody ended it, and a line alone brings the other.
    out.write_text("".join(kept[:4]).rstrip("\n"))
    assert run(tmp_path, out, "--splits", 2).returncode == 0
    assert out.read_text() == before


def test_boosted_trees_know_protein_without_its_copies(tmp_path, script, rng):
    x = rng.standard_normal((200, 9))
    x = np.vstack([x, x[:50]])
    order = rng.permutation(250)
    x, y = x[order], np.sin(x[order, 0]) + np.arange(250)
    rows = script.first_of_each(x)
    naive = [i for i in range(250) if not any((x[i] == x[j]).all() for j in range(i))]
    assert rows.tolist() == naive
    assert len(rows) == 200

    write(tmp_path / "protein.csv.gz", x, y)
    said = run(tmp_path, tmp_path / "baselines.jsonl", "--splits", 1)
    assert said.returncode == 0, said.stderr
    made = [line["dataset"] for line in lines(tmp_path / "baselines.jsonl")]
    assert made == ["protein", "protein", "protein-distinct", "protein-distinct"]
    assert [line.split(",")[0] for line in said.stdout.splitlines()] == [
        "protein (250 rows)",
        "protein-distinct (200 rows)",
    ]


def test_boosted_trees_score_as_the_gaussian_says(script):
    squares = np.array([0.0, 4.0])
    variance = np.array([1.0, 2.0])
    expected = np.mean([-0.5 * math.log(2 * math.pi), -0.5 * math.log(4 * math.pi) - 1.0])
    assert script.log_likelihood(squares, variance) == pytest.approx(expected, rel=1e-14)


def test_boosted_trees_without_a_table_say_which_they_look_for(tmp_path):
    said = run(tmp_path, tmp_path / "baselines.jsonl")
    assert said.returncode == 2
    assert "kin8nm, molecules, protein" in said.stderr
    assert not (tmp_path / "baselines.jsonl").exists()
