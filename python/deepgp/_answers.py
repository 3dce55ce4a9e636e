"""What a model answers at rows: the mixture over samples of its hidden layers, in the units of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _arrays, _core, _frames, _settings
from ._arrays import Floats
from ._results import Importance, Moments, Prediction


class Answers:
    """Questions to a fixed model."""

    _engine: _core.Engine

    def predict(
        self,
        X: Any,
        *,
        exposure: Any = None,
        samples: int = 32,
        seed: int = 0,
        threads: int = 0,
        balanced: bool = True,
    ) -> Prediction:
        """Moments of the function and of observations at each row.

        They are those of the mixture over `samples` samples of the hidden layers, which all rows share: a row's
        answer does not depend on the other rows.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Inputs.
        exposure : float or array-like of shape (N,), optional
            For counts: the exposure of each row, or of all of them.
        samples : int, default=32
            The size of the mixture.
        seed : int, default=0
            Seeds it.
        threads : int, default=0
            Threads to work with; 0 for all. No result depends on it.
        balanced : bool, default=True
            Whether samples are balanced against each other; deepgp 0.1 had 100 that were not.

        Returns
        -------
        Prediction
            `f` and `y`, each with `mean`, `variance` and `std` of shape (N, P), and `noise`, (N, P), the part of the
            variance of `y` that no knowledge of `f` would take away.
        """
        found = _core.moments(self._question(X, exposure, samples, seed, threads, balanced))
        return Prediction(Moments(*found[:2]), Moments(*found[2:4]), found[4])

    def quantiles(
        self,
        X: Any,
        levels: Sequence[float],
        *,
        exposure: Any = None,
        samples: int = 32,
        seed: int = 0,
        threads: int = 0,
        balanced: bool = True,
    ) -> Floats:
        """Quantiles of observations at each row.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Inputs.
        levels : sequence of float
            Between 0 and 1.
        exposure, samples, seed, threads, balanced
            As for `predict`.

        Returns
        -------
        ndarray of shape (N, P, levels)
        """
        wanted = np.atleast_1d(np.asarray(levels, dtype=np.float64)).ravel().tolist()
        flat = _core.quantiles(self._question(X, exposure, samples, seed, threads, balanced), wanted)
        return flat.reshape(len(flat), self.n_outputs, len(wanted))

    def intervals(
        self,
        X: Any,
        levels: Sequence[float],
        *,
        exposure: Any = None,
        samples: int = 32,
        seed: int = 0,
        threads: int = 0,
        balanced: bool = True,
    ) -> Floats:
        """Central intervals of observations at each row, which leave as much below as above.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Inputs.
        levels : sequence of float
            Between 0 and 1: the probability of an observation between the two ends.
        exposure, samples, seed, threads, balanced
            As for `predict`.

        Returns
        -------
        ndarray of shape (N, P, levels, 2)
        """
        wanted = np.atleast_1d(np.asarray(levels, dtype=np.float64)).ravel().tolist()
        flat = _core.intervals(self._question(X, exposure, samples, seed, threads, balanced), wanted)
        return flat.reshape(len(flat), self.n_outputs, len(wanted), 2)

    def importance(
        self, X: Any, *, samples: int = 20, seed: int = 0, threads: int = 0, balanced: bool = True
    ) -> Importance:
        """How much each column matters: the share of the variance of predictions in which it has a part.

        What is lost when a column's cells are those of other rows: its total Sobol index, where columns are independent
        of each other. Shares add up to more than 1 where columns act together. Of targets that are transformed it is
        that of the transformed ones; of classes, that of all their probabilities together.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Inputs, of which up to 1000 are taken.
        samples, seed, threads, balanced
            As for `predict`; few samples do.

        Returns
        -------
        Importance
            With arrays of shape (P, columns); of classes, (1, columns).
        """
        names, share, error = _core.importance(self._question(X, None, samples, seed, threads, balanced))
        return Importance(tuple(names), share, error)

    def class_probabilities(
        self, X: Any, *, samples: int = 32, seed: int = 0, threads: int = 0, balanced: bool = True
    ) -> Floats:
        """The probability of each class at each row, for a model of classes.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Inputs.
        samples, seed, threads, balanced
            As for `predict`.

        Returns
        -------
        ndarray of shape (N, C)
            Classes in the order of `labels`.
        """
        return _core.class_probabilities(self._question(X, None, samples, seed, threads, balanced))

    def log_density(
        self,
        X: Any,
        y: Any,
        *,
        exposure: Any = None,
        samples: int = 32,
        seed: int = 0,
        threads: int = 0,
        balanced: bool = True,
    ) -> Floats:
        """The log density of each row's targets, jointly over targets.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Inputs.
        y : array-like of shape (N,) or (N, P)
            Targets; of classes their numbers, from 0.
        exposure, samples, seed, threads, balanced
            As for `predict`.

        Returns
        -------
        ndarray of shape (N,)
        """
        return _core.log_density(self._question(X, exposure, samples, seed, threads, balanced), self._targets(y))

    def below(
        self,
        X: Any,
        y: Any,
        *,
        exposure: Any = None,
        samples: int = 32,
        seed: int = 0,
        threads: int = 0,
        balanced: bool = True,
    ) -> Floats:
        """The probability that an observation is at most `y`: uniform over (0, 1) if the model is calibrated.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Inputs.
        y : array-like of shape (N,) or (N, P)
            Targets; of classes their numbers, from 0.
        exposure, samples, seed, threads, balanced
            As for `predict`.

        Returns
        -------
        ndarray of shape (N, P)
        """
        return _core.below(self._question(X, exposure, samples, seed, threads, balanced), self._targets(y))

    def draws(
        self,
        X: Any,
        count: int,
        *,
        exposure: Any = None,
        samples: int = 32,
        seed: int = 0,
        threads: int = 0,
        balanced: bool = True,
    ) -> Floats:
        """Draws of observations, right for each row by itself.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Inputs.
        count : int
            How many draws.
        exposure, samples, seed, threads, balanced
            As for `predict`.

        Returns
        -------
        ndarray of shape (count, N, P)
        """
        question = self._question(X, exposure, samples, seed, threads, balanced)
        return _core.draws(question, _settings.integer("count", count))

    def joint_draws(
        self, X: Any, count: int, *, samples: int = 32, seed: int = 0, threads: int = 0, balanced: bool = True
    ) -> Floats:
        """Draws of observations of whole functions, over up to 2000 rows.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Inputs.
        count : int
            How many draws.
        samples : int, default=32
            Has no effect: every draw has a sample of the hidden layers of its own. It is here so that all questions can
            be asked in the same words.
        seed, threads, balanced
            As for `predict`.

        Returns
        -------
        ndarray of shape (count, N, P)
        """
        question = self._question(X, None, samples, seed, threads, balanced)
        return _core.joint_draws(question, _settings.integer("count", count))

    def joint_moments(
        self, X: Any, *, samples: int = 32, seed: int = 0, threads: int = 0, balanced: bool = True
    ) -> tuple[Floats, Floats]:
        """Mean and covariance of the function over up to 2000 rows.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Inputs.
        samples, seed, threads, balanced
            As for `predict`, but samples are independent here; there are three for each that is balanced.

        Returns
        -------
        mean : ndarray of shape (N, P)
        covariance : ndarray of shape (P, N, N)
        """
        return _core.joint_moments(self._question(X, None, samples, seed, threads, balanced))

    def input_gradient(
        self, X: Any, *, samples: int = 32, seed: int = 0, threads: int = 0, balanced: bool = True
    ) -> tuple[Floats, Floats]:
        """Slopes of the function's mean and variance in the inputs.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Inputs.
        samples, seed, threads, balanced
            As for `predict`.

        Returns
        -------
        mean, variance : ndarray of shape (N, P, D)
            For each latent function: where noise follows the inputs, a target has two, the second for the noise.
        """
        mean, variance = _core.input_gradient(self._question(X, None, samples, seed, threads, balanced))
        shape = (len(mean), -1, self.n_inputs)
        return mean.reshape(shape), variance.reshape(shape)

    @property
    def n_inputs(self) -> int:
        """D, the number of input columns."""
        return self._engine.widths()[0]

    @property
    def n_outputs(self) -> int:
        """P, the number of targets."""
        return self._engine.widths()[1]

    @property
    def labels(self) -> list[str] | None:
        """The labels of all classes, in the order of their numbers; None if targets are no classes."""
        return self._engine.labels()

    def _question(self, X: Any, exposure: Any, samples: int, seed: int, threads: int, balanced: bool) -> _core.Question:
        inputs = self._inputs(X)
        return (
            self._engine,
            inputs,
            _arrays.exposures(exposure, len(inputs)),
            _sampling(samples, seed, threads, balanced),
        )

    def _inputs(self, X: Any) -> Floats:
        if _frames.is_frame(X) and self._engine.is_of_table():
            return _frames.encoded(self._engine, X)
        return _arrays.matrix("X", X, self.n_inputs)

    def _targets(self, y: Any) -> Floats:
        return _arrays.columns("y", y, self.n_outputs)


def _sampling(samples: int, seed: int, threads: int, balanced: bool) -> tuple[int, int, int, bool]:
    return (
        _settings.integer("samples", samples, least=1),
        _settings.integer("seed", seed),
        _settings.integer("threads", threads),
        _settings.truth("balanced", balanced),
    )
