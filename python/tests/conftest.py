"""What the tests share: small data, and settings that are soon done."""

import os
import pathlib

import numpy as np
import pytest

from deepgp import DeepGPRegressor, datasets

ROOT = pathlib.Path(__file__).resolve().parents[2]

#: Enough to see that something is learnt, and done in a moment.
QUICK = {"hidden_layers": 1, "width": 2, "mean_inducing": 20, "covariance_inducing": 10, "steps": 60}


@pytest.fixture(scope="session")
def arm():
    """Postures of an arm: X and y."""
    return datasets.eight_link_arm(120, seed=3)


@pytest.fixture(scope="session")
def fitted(arm):
    """A quick fit; not to be changed."""
    return DeepGPRegressor(**QUICK).fit(*arm)


@pytest.fixture(scope="session")
def moons():
    """Points of two half-circles that hold each other, and which of the two: X and 0 or 1."""
    rng = np.random.default_rng(5)
    side, angle = np.arange(240) % 2, rng.uniform(0, np.pi, 240)
    X = np.column_stack([side + np.cos(angle) * (1 - 2 * side), side / 2 + np.sin(angle) * (1 - 2 * side)])
    return X + 0.15 * rng.standard_normal(X.shape), side


@pytest.fixture(scope="session")
def clouds():
    """Three clouds of points, the first of which has two rows in three, and the second one in nine: X and 0, 1 or 2."""
    rng = np.random.default_rng(6)
    cloud = np.array([0, 0, 0, 0, 0, 0, 1, 2, 2])[np.arange(270) % 9]
    return np.array([[-1, -1], [0, 2], [2, 0]])[cloud] + 0.8 * rng.standard_normal((270, 2)), cloud


@pytest.fixture(scope="session")
def visits():
    """An input, hours that were watched, and the number of visits in these: X, hours and counts."""
    rng = np.random.default_rng(8)
    X, hours = rng.uniform(0, 6, (300, 1)), rng.uniform(0.5, 3.5, 300)
    return X, hours, rng.poisson(hours * np.exp(1 + np.sin(X[:, 0])))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture(scope="session")
def command():
    """The command `deepgp`: where DEEPGP says, or the latest build of this tree."""
    if named := os.environ.get("DEEPGP"):
        return named
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    # Not the folder of the documentation, which has the name too.
    built = sorted(filter(pathlib.Path.is_file, target.glob("*/deepgp")), key=lambda path: path.stat().st_mtime)
    if not built:
        pytest.fail("the command `deepgp` is not built: run `cargo build -p deepgp-cli`, or name it in DEEPGP")
    return str(built[-1])
