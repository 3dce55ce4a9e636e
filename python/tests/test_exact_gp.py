"""With one layer and Z = X, the model is exact GP regression: scikit-learn's, with the same hyperparameters."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from deepgp import Model

VARIANCE, LENGTHSCALE, NOISE = 1.3, 0.4, 0.05


@pytest.fixture
def problem(rng):
    X = np.sort(rng.uniform(-1, 1, (25, 1)), axis=0)
    y = np.sin(5 * X) + 0.2 * rng.standard_normal(X.shape)
    exact = GaussianProcessRegressor(ConstantKernel(VARIANCE) * RBF(LENGTHSCALE), alpha=NOISE, optimizer=None)
    return X, y, exact.fit(X, y[:, 0])


def one_layer(X, form):
    model = Model({"layers": [{"width": 1, "inducing": X, "mean_form": form, "covariance_form": form}], "jitter": 1e-9})
    model.set_parameters(
        {
            "layers.0.kernel.variance": VARIANCE,
            "layers.0.kernel.lengthscales": [LENGTHSCALE],
            "likelihood.noise": [NOISE],
        }
    )
    return model


def test_the_optimal_posterior_is_exact(problem):
    X, y, exact = problem
    k = VARIANCE * np.exp(-0.5 * ((X - X.T) / LENGTHSCALE) ** 2) + 1e-9 * np.eye(len(X))
    gain = k @ np.linalg.inv(k + NOISE * np.eye(len(X)))
    model = one_layer(X, "standard")
    factor = np.linalg.cholesky(k - gain @ k + 1e-13 * np.eye(len(X)))
    model.set_parameters({"layers.0.mean.free": gain @ y, "layers.0.covariance.factor": factor[None]})

    at = np.linspace(-1.5, 1.5, 40).reshape(-1, 1)
    mean, std = exact.predict(at, return_std=True)
    found = model.predict(at).f
    np.testing.assert_allclose(found.mean[:, 0], mean, atol=1e-6)
    np.testing.assert_allclose(found.std[:, 0], std, atol=1e-6)
    np.testing.assert_allclose(model.elbo(X, y).total, exact.log_marginal_likelihood(), atol=1e-4)

    _, covariance = model.joint_moments(at)
    _, expected = exact.predict(at, return_cov=True)
    np.testing.assert_allclose(covariance[0], expected, atol=1e-5)


def test_training_finds_it(problem):
    X, y, exact = problem
    model = one_layer(X, "whitened")
    for name in ("layers.0.kernel", "layers.0.inducing", "likelihood"):
        model.freeze(name)
    for rate in (0.05, 0.01, 0.001):
        for _ in range(700):
            elbo = model.train_step(X, y, learning_rate=rate)
    gap = exact.log_marginal_likelihood() - elbo.total
    assert 0 < gap + 1e-6 < 0.01
    np.testing.assert_allclose(model.predict(X).f.mean[:, 0], exact.predict(X), atol=0.01)
