"""Value, moments and every gradient against an independent implementation, through `Model`."""

import pathlib

import numpy as np
import pytest

from deepgp import Model

FILES = sorted((pathlib.Path(__file__).parents[2] / "crates" / "deepgp" / "tests" / "oracle").glob("*.npz"))

#: Its names for ours, and whether its gradient is in the logarithm.
THEIRS = {
    "kernel.lengthscales": ("log_ls", True),
    "kernel.variance": ("log_var", True),
    "inducing": ("Z", False),
    "mean_inducing": ("Za", False),
    "covariance_inducing": ("Zb", False),
    "mean.free": ("m", False),
    "covariance.factor": ("Ls", False),
}


def theirs(name):
    if name == "likelihood.noise":
        return "log_noise", True
    _, layer, part = name.split(".", 2)
    own, log = THEIRS[part]
    return f"layer{layer}.{own}", log


def build(oracle):
    """The oracle's model: the full ones are whitened, the decoupled ones have the standard covariance."""
    layers = []
    for i in range(int(oracle["hidden"]) + 1):
        own = f"layer{i}."
        tied = own + "Z" in oracle
        sets = {"inducing": "Z"} if tied else {"mean_inducing": "Za", "covariance_inducing": "Zb"}
        layers.append(
            {
                "width": oracle[own + "m"].shape[-1],
                "covariance_form": "whitened" if tied else "standard",
                "mean_function": oracle.get(f"skip{i}", "zero"),
                **{name: oracle[own + key] for name, key in sets.items()},
            }
        )
    model = Model({"layers": layers, "jitter": float(oracle["jitter"])})
    values = {}
    for name, start in model.parameters().items():
        key, log = theirs(name)
        value = np.exp(oracle[key]) if log else oracle[key]
        values[name] = np.reshape(value, start.shape)
    model.set_parameters(values)
    return model, [oracle[f"eps{i}"].T for i in range(int(oracle["hidden"]))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_bound_and_its_gradient(path):
    oracle = np.load(path)
    model, noise = build(oracle)
    X, y, rows = oracle["X"], oracle["y"], int(oracle["n_total"])
    elbo, gradient = model.elbo_gradient(X, y, noise, num_data=rows)
    assert elbo.total == model.elbo(X, y, noise, num_data=rows).total
    np.testing.assert_allclose(elbo.total, oracle["elbo"], rtol=1e-10)
    np.testing.assert_allclose(elbo.data_term, oracle["ell"], rtol=1e-10)
    np.testing.assert_allclose(elbo.kl.sum(), oracle["kl"], rtol=1e-10)
    mean, variance = model.propagate(X, noise)
    np.testing.assert_allclose(mean.ravel(), oracle["mean"].ravel(), rtol=1e-10)
    np.testing.assert_allclose(variance.ravel(), oracle["var"].ravel(), rtol=1e-10)
    parameters = model.parameters()
    assert list(gradient) == list(parameters)
    for name, found in gradient.items():
        key, log = theirs(name)
        found = found * parameters[name] if log else found
        expected = np.reshape(oracle[f"grad.{key}"], found.shape)
        assert np.linalg.norm(found - expected) < 1e-8 * np.linalg.norm(expected), name


def test_there_are_oracle_files():
    assert len(FILES) == 6
