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
