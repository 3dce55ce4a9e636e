"""The half of `DeepGPRegressor` that answers, in the shapes that scikit-learn's users expect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core, _settings
from ._arrays import Floats
from ._estimator import Estimator

# Rows that can be taken jointly, at most.
_JOINT_ROWS = _core.joint_rows()


class Predictions(Estimator):
    """Predictions of a fitted estimator."""

    _one_target: bool

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False, *, exposure: Any = None) -> Any:
        """Predict observations: their mean and, if asked for, their spread.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Whether to return the standard deviation of an observation, noise included.
        return_cov : bool, default=False
            Whether to return the joint covariance of observations, for up to 2000 rows. With hidden layers it is an
            average over joint samples: its diagonal agrees with the squares of the standard deviations up to sampling
            error. Counts have none.
        exposure : float or array-like of shape (n_samples,), optional
            For counts: the exposure of each row, or of all of them, in the unit of that in `fit`.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Only if `return_std`.
        cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_outputs)
            Only if `return_cov`.

        Examples
        --------
        >>> from deepgp import DeepGPRegressor, datasets
        >>> X, y = datasets.step_curve(40)
        >>> regressor = DeepGPRegressor(hidden_layers=0, steps=50).fit(X, y)
        >>> mean, std = regressor.predict(X, return_std=True)
        >>> _, cov = regressor.predict(X, return_cov=True)
        >>> cov.shape
        (40, 40)
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        X = self._check_inputs(X)
        if return_cov:
            _check_joint(X, "return_std")
        locations = self.model_._engine.locations() if return_cov else []
        _, y, noise = self.model_.predict(X, exposure=exposure, **self._mixture())
        if return_cov:
            _, covariance = self.model_.joint_moments(X, **self._mixture())
            covariance = covariance[locations]
            rows = np.arange(len(X))
            covariance[:, rows, rows] += noise.T
            return self._flat(y.mean), self._flat(np.moveaxis(covariance, 0, -1))
        return (self._flat(y.mean), self._flat(y.std)) if return_std else self._flat(y.mean)

    def predict_quantiles(
        self, X: Any, quantiles: Sequence[float] = (0.05, 0.5, 0.95), *, exposure: Any = None
    ) -> Floats:
        """Quantiles of observations; of counts, the smallest that reach a level, which are whole numbers.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Inputs.
        quantiles : sequence of float, default=(0.05, 0.5, 0.95)
            Levels between 0 and 1.
        exposure : float or array-like of shape (n_samples,), optional
            As for `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles) or (n_samples, n_outputs, n_quantiles)

        Examples
        --------
        >>> from deepgp import DeepGPRegressor, datasets
        >>> X, y = datasets.step_curve(40)
        >>> regressor = DeepGPRegressor(hidden_layers=0, steps=50).fit(X, y)
        >>> regressor.predict_quantiles(X, [0.05, 0.95]).shape
        (40, 2)
        """
        X = self._check_inputs(X)
        found = self.model_.quantiles(X, np.atleast_1d(quantiles).tolist(), exposure=exposure, **self._mixture())
        return found[:, 0] if self._one_target else found

    def predict_interval(self, X: Any, level: float = 0.9, *, exposure: Any = None) -> Floats:
        """The central interval that holds an observation with a given probability: as much lies below it as above.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Inputs.
        level : float, default=0.9
            The probability, between 0 and 1. Of counts, whose ends are whole numbers, it is at least that.
        exposure : float or array-like of shape (n_samples,), optional
            As for `predict`.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Where the interval begins, and where it ends.

        Examples
        --------
        >>> from deepgp import DeepGPRegressor, datasets
        >>> X, y = datasets.step_curve(40)
        >>> regressor = DeepGPRegressor(hidden_layers=0, steps=50).fit(X, y)
        >>> lower, upper = regressor.predict_interval(X, 0.9).T
        >>> bool((lower < upper).all())
        True
        """
        X = self._check_inputs(X)
        found = self.model_.intervals(X, [level], exposure=exposure, **self._mixture())[:, :, 0]
        return found[:, 0] if self._one_target else found

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        *,
        joint: bool = True,
        exposure: Any = None,
    ) -> Floats:
        """Draw observations.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples_X, n_features)
            Inputs.
        n_samples : int, default=1
            How many draws.
        random_state : int, RandomState or Generator instance or None, default=0
            Seeds them.
        joint : bool, default=True
            Whether a draw is one function seen at all rows, up to 2000 of them; else each row is drawn by itself.
        exposure : float or array-like of shape (n_samples_X,), optional
            As for `predict`, for rows that are drawn by themselves.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_outputs, n_samples)

        Examples
        --------
        >>> from deepgp import DeepGPRegressor, datasets
        >>> X, y = datasets.step_curve(40)
        >>> regressor = DeepGPRegressor(hidden_layers=0, steps=50).fit(X, y)
        >>> regressor.sample_y(X, 3).shape
        (40, 3)
        """
        X = self._check_inputs(X)
        count = _settings.integer("n_samples", n_samples)
        mixture = {**self._mixture(), "seed": _settings.seed_of(random_state)}
        if joint:
            _check_joint(X, "joint=False")
            if exposure is not None:
                raise ValueError("an `exposure` is for rows that are drawn by themselves: add joint=False")
            draws = self.model_.joint_draws(X, count, **mixture)
        else:
            draws = self.model_.draws(X, count, exposure=exposure, **mixture)
        found = np.moveaxis(draws, 0, -1)
        return found[:, 0] if self._one_target else found

    def log_density(self, X: Any, y: Any, *, exposure: Any = None) -> Floats:
        """The log density of targets, row by row, in the units of the data; of counts, their log probability.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        exposure : float or array-like of shape (n_samples,), optional
            As for `predict`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Jointly over targets.

        Examples
        --------
        >>> from deepgp import DeepGPRegressor, datasets
        >>> X, y = datasets.step_curve(40)
        >>> regressor = DeepGPRegressor(hidden_layers=0, steps=50).fit(X, y)
        >>> regressor.log_density(X, y).shape
        (40,)
        """
        X = self._check_inputs(X)
        if y is None:
            raise ValueError("log_density requires y to be passed, but the target y is None")
        return self.model_.log_density(X, y, exposure=exposure, **self._mixture())

    def _flat(self, values: Floats) -> Floats:
        """Without the axis of the targets, if `y` had none."""
        return values[..., 0] if self._one_target else values


def _check_joint(X: Any, instead: str) -> None:
    """Fails if there are more rows than can be taken jointly."""
    if len(X) > _JOINT_ROWS:
        raise ValueError(
            f"X has {len(X)} rows, but at most {_JOINT_ROWS} can be taken jointly: use {instead}, or fewer rows"
        )
