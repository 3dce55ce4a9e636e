"""What the tests share: small data, and settings that are soon done."""

import os
import pathlib
import shutil

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
    """The command `deepgp`: where DEEPGP says, or a build of this tree."""
    built = [ROOT / "target" / profile / "deepgp" for profile in ("release", "debug")]
    found = [os.environ.get("DEEPGP"), *(str(path) for path in built if path.exists()), shutil.which("deepgp")]
    found = [path for path in found if path]
    if not found:
        pytest.fail("the command `deepgp` is not built: run `cargo build -p deepgp-cli`, or name it in DEEPGP")
    return found[0]
