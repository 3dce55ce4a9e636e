"""Transformed targets: predictions of observations come back in the units of the data."""

import numpy as np
import pytest

from deepgp import DeepGPRegressor

QUICK = {"hidden_layers": 1, "width": 2, "inducing": 20, "steps": 150, "learning_rate": 0.03}


@pytest.fixture(scope="module")
def prices():
    """Inputs, and positive targets that scatter by factors."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (400, 2))
    return X, np.exp(2 * np.sin(3 * X[:, 0]) + X[:, 1] + 0.5 * rng.standard_normal(400))


@pytest.mark.parametrize("transform", ["none", "log", "log1p", "yeo-johnson", "quantile"])
def test_what_is_said_of_a_row_agrees(prices, transform, tmp_path):
    X, y = prices
    regressor = DeepGPRegressor(transform_target=transform, **QUICK).fit(X[:300], y[:300])
    assert regressor.model_.transforms == [transform]
    levels = [0.025, 0.5, 0.975]
    low, middle, high = regressor.predict_quantiles(X[300:], levels).T
    assert 0.85 < ((low < y[300:]) & (y[300:] < high)).mean() <= 1
    draws = regressor.sample_y(X[300:305], 2000, joint=False)
    np.testing.assert_allclose((draws <= middle[:5, None]).mean(axis=1), 0.5, atol=0.05)
    if transform == "log":
        assert min(low.min(), draws.min(), regressor.sample_y(X[:20], 5).min()) > 0
    # The density is the slope of the distribution function, whatever the units: it integrates to what quantiles say.
    grid = np.linspace(low[0], high[0], 2001)
    density = np.exp(regressor.log_density(np.repeat(X[300:301], len(grid), axis=0), grid))
    assert np.trapezoid(density, grid) == pytest.approx(0.95, abs=2e-3)
    regressor.save(tmp_path / "model.deepgp")
    again = DeepGPRegressor.load(tmp_path / "model.deepgp")
    assert again.transform_target == transform
    assert np.array_equal(again.predict(X), regressor.predict(X))


def test_the_mean_of_a_logarithm_is_that_of_the_log_normal(prices):
    X, y = prices
    regressor = DeepGPRegressor(
        hidden_layers=0, inducing=20, steps=100, transform_target="log", likelihood="gaussian"
    ).fit(X, y)
    mean, std = regressor.predict(X, return_std=True)
    low, middle, high = regressor.predict_quantiles(X, [0.15865525393145707, 0.5, 0.8413447460685429]).T
    spread = np.log(high / low) / 2
    np.testing.assert_allclose(mean, middle * np.exp(spread**2 / 2), rtol=1e-6)
    np.testing.assert_allclose(std, mean * np.sqrt(np.expm1(spread**2)), rtol=1e-6)


def test_what_cannot_be_is_refused(prices):
    X, y = prices
    wrong = y.copy()
    wrong[[7, 30]] = 0, -2
    with pytest.raises(
        ValueError, match=r"`log` needs targets above 0, but 2 rows have others: row 7 has 0, row 30 has -2"
    ):
        DeepGPRegressor(transform_target="log").fit(X, wrong)
    with pytest.raises(ValueError, match=r"distinct values, and the transform `quantile` needs at least 100"):
        DeepGPRegressor(transform_target="quantile").fit(X, np.round(y))
    regressor = DeepGPRegressor(transform_target="log", **QUICK).fit(X, y)
    assert regressor.log_density(X[:2], [-1.0, 1.0])[0] == -np.inf
    with pytest.raises(ValueError, match="joint covariance"):
        regressor.predict(X[:5], return_cov=True)
    with pytest.raises(ValueError, match=r"warm_start.*`transform_target` is 'log', not 'none'"):
        regressor.set_params(warm_start=True, transform_target="none").fit(X, y)


def test_the_choice_can_be_left_to_the_library(prices):
    X, y = prices
    regressor = DeepGPRegressor(transform_target="auto", **QUICK).fit(X, y)
    assert regressor.model_.transforms == ["log"]
    assert any("`y` is transformed by `log`" in note for note in regressor.notes_)
    plain = DeepGPRegressor(transform_target="auto", **QUICK).fit(X, np.log(y))
    assert plain.model_.transforms == ["none"]
    assert plain.notes_ == []
