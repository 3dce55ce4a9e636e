"""Counts: `DeepGPRegressor` with the likelihoods "poisson" and "negative-binomial", and exposures."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from deepgp import DeepGPRegressor

LIKELIHOODS = ["poisson", "negative-binomial"]
SMALL = {"hidden_layers": 1, "width": 2, "inducing": 20, "steps": 120}
#: Enough to see that something is learnt, and done in a moment.
SHALLOW = {"hidden_layers": 0, "inducing": 12, "steps": 60}


@pytest.fixture(scope="module", params=LIKELIHOODS)
def fitted(request, visits):
    """A fit with exposures; not to be changed."""
    X, hours, y = visits
    return DeepGPRegressor(**SMALL, likelihood=request.param).fit(X, y, exposure=hours)


def test_counts_grow_with_their_exposure(visits, fitted):
    X, hours, y = visits
    one, two = fitted.predict(X, exposure=1), fitted.predict(X, exposure=np.full(300, 2.0))
    np.testing.assert_allclose(two, 2 * one, rtol=1e-9)
    np.testing.assert_allclose(fitted.predict(X, exposure=hours), hours * one, rtol=1e-9)
    # The rate is that of the simulation.
    assert np.abs(np.log(one) - (1 + np.sin(X[:, 0]))).mean() < 0.12
    score = fitted.score(X, y, exposure=hours)
    assert score == r2_score(y, fitted.predict(X, exposure=hours))
    assert score > 0.6
    assert fitted.score(X, y, exposure=1) < score


def test_what_is_said_of_a_row_agrees(visits, fitted):
    X, hours, _ = visits
    X, hours = X[:6], hours[:6]
    mean, std = fitted.predict(X, return_std=True, exposure=hours)
    counts = np.arange(400)
    for row in range(6):
        mass = np.exp(fitted.log_density(np.repeat(X[row : row + 1], 400, axis=0), counts, exposure=hours[row]))
        assert mass.sum() == pytest.approx(1, abs=1e-6)
        assert (mass * counts).sum() == pytest.approx(mean[row], rel=1e-4)
        assert (mass * (counts - mean[row]) ** 2).sum() == pytest.approx(std[row] ** 2, rel=1e-3)
        levels = [0.1, 0.5, 0.975]
        reached = np.searchsorted(np.cumsum(mass), levels)
        assert fitted.predict_quantiles(X, levels, exposure=hours)[row].tolist() == reached.tolist()
    assert (std**2 > mean).all()
    draws = fitted.sample_y(X, 4000, joint=False, exposure=hours)
    assert np.array_equal(draws, np.round(draws))
    np.testing.assert_allclose(draws.mean(axis=1), mean, rtol=0.1)


def test_intervals_hold_what_they_promise(visits, fitted):
    X, hours, y = visits
    low, high = fitted.predict_interval(X, 0.95, exposure=hours).T
    assert np.array_equal(low, np.round(low))
    assert low.min() >= 0
    assert 0.92 < ((low <= y) & (y <= high)).mean() <= 1


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_counts_without_an_exposure(visits, likelihood):
    X, _, y = visits
    regressor = DeepGPRegressor(**SHALLOW, likelihood=likelihood).fit(X, y)
    assert 0.3 < regressor.score(X, y) < 1
    assert regressor.sample_y(X[:5], 3).shape == (5, 3)
    np.testing.assert_allclose(regressor.predict(X, exposure=3), 3 * regressor.predict(X), rtol=1e-9)


def test_an_exposure_has_any_unit(visits):
    X, hours, y = visits
    settings = {**SHALLOW, "likelihood": "poisson"}
    in_hours = DeepGPRegressor(**settings).fit(X, y, exposure=hours)
    in_minutes = DeepGPRegressor(**settings).fit(X, y, exposure=60 * hours)
    expected = in_hours.predict(X, exposure=hours)
    np.testing.assert_allclose(in_minutes.predict(X, exposure=60 * hours), expected, rtol=1e-6)


def test_a_weight_of_three_is_three_rows(visits, rng):
    X, hours, y = visits
    counts = rng.integers(0, 4, 300)
    settings = {**SHALLOW, "likelihood": "negative-binomial"}
    weighted = DeepGPRegressor(**settings).fit(X, y, sample_weight=counts, exposure=hours)
    X3, y3, hours3 = (np.repeat(own, counts, axis=0) for own in (X, y, hours))
    repeated = DeepGPRegressor(**settings).fit(X3, y3, exposure=hours3)
    assert np.array_equal(weighted.predict(X, exposure=1), repeated.predict(X, exposure=1))


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("wrong", [-1.0, 2.5])
def test_targets_that_are_no_counts_are_refused_by_their_row(visits, likelihood, wrong):
    X, _, y = visits
    # Rows that are merged, and so sorted, are still called by their numbers.
    X, y = np.vstack([X, X]), np.concatenate([y, y]).astype(float)
    y[417] = wrong
    said = rf"target of row 417 is {wrong:g}, but for the likelihood `{likelihood}` it must be a count: 0, 1, 2"
    with pytest.raises(ValueError, match=said):
        DeepGPRegressor(likelihood=likelihood).fit(X, y)


def test_what_cannot_be_is_refused(visits, arm, fitted):
    X, hours, y = visits
    negative = np.where(np.arange(300) == 7, -1.0, hours)
    counts = DeepGPRegressor(**SHALLOW, likelihood="poisson")
    for call, said in [
        (lambda: fitted.predict(X), r"fitted with exposures \(`exposure`\).*exposure=1 for counts per unit"),
        (lambda: fitted.predict_quantiles(X), "give `exposure`"),
        (lambda: fitted.log_density(X, y), "give `exposure`"),
        (lambda: fitted.score(X, y), "give `exposure`"),
        (lambda: fitted.sample_y(X, joint=False), "give `exposure`"),
        (lambda: fitted.model_.elbo(X, y), "give `exposure`"),
        (lambda: fitted.sample_y(X[:5]), "not drawn jointly: .*`joint=False`"),
        (lambda: fitted.sample_y(X[:5], exposure=2), "add joint=False"),
        (lambda: fitted.predict(X[:5], return_cov=True, exposure=1), "no joint covariance: take `return_std=True`"),
        (lambda: fitted.predict(X, exposure=negative), r"`exposure`: row 7 is -1\.0, but must be a positive number"),
        (lambda: fitted.predict(X, exposure=0), r"row 0 is 0\.0, but must be a positive"),
        (lambda: fitted.predict(X, exposure=np.nan), "row 0 is NaN"),
        (lambda: fitted.predict(X, exposure=hours[:9]), "`exposure`: expected 300 rows, as many as X has, found 9"),
        (lambda: fitted.predict(X, exposure=[hours]), "`exposure` must have one axis"),
        (lambda: fitted.predict(X, exposure="long"), "`exposure` must hold numbers"),
        (lambda: counts.fit(X, y, exposure=negative), "row 7 is -1"),
        (lambda: counts.fit(X, y, exposure=hours[:9]), "expected 300 rows"),
        (lambda: counts.fit(X, np.column_stack([y, y])), "1 column for the likelihood `poisson`"),
        (lambda: counts.fit(X, hours), "must be a count"),
        (lambda: counts.set_params(transform_target="log").fit(X, y + 1), "`transform_target` is log"),
        (lambda: DeepGPRegressor(**SHALLOW).fit(*arm, exposure=1), "`exposure` is for counts: leave it out, or"),
    ]:
        with pytest.raises(ValueError, match=said):
            call()


def test_files_and_pickles_keep_counts_and_exposures(visits, fitted, tmp_path):
    X, hours, y = visits
    fitted.save(tmp_path / "model.deepgp")
    expected = fitted.predict(X, exposure=hours)
    for again in (DeepGPRegressor.load(tmp_path / "model.deepgp"), pickle.loads(pickle.dumps(fitted))):
        assert np.array_equal(again.predict(X, exposure=hours), expected)
        assert again.get_params() == fitted.get_params()
        with pytest.raises(ValueError, match="give `exposure`"):
            again.predict(X)
        assert again.set_params(warm_start=True, steps=3).fit(X, y, exposure=hours).n_iter_ == 3
        with pytest.raises(ValueError, match="give `exposure`"):
            again.fit(X, y)


def test_the_bound_counts_exposures(visits):
    X, hours, y = visits
    regressor = DeepGPRegressor(**SHALLOW, likelihood="poisson").fit(X, y, exposure=pd.Series(hours, name="hours"))
    engine = regressor.model_
    start = engine.elbo(X, y, exposure=hours).total
    assert start > engine.elbo(X, y, exposure=1).total + 10
    assert start > engine.elbo_gradient(X, y, exposure=20 * hours)[0].total
    engine.train_step(X, y, exposure=hours)
    assert engine._engine.exposure() == "hours"
