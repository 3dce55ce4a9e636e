"""What the engine says, under names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._arrays import Floats


class Elbo(NamedTuple):
    """The bound on the log evidence, in its parts.

    Attributes
    ----------
    total : float
        The bound itself: `data_term - kl.sum()`.
    data_term : float
        `num_data / N` times the sum over rows of `weight · E[log p(y | f)]`.
    kl : ndarray of shape (layers,)
        The KL divergence from the prior of each layer.
    clamped : int
        How many variances were raised to the floor; their gradient is zero.
    jitter : tuple of str
        Kernel matrices that needed more jitter than asked for, in words.
    """

    total: float
    data_term: float
    kl: Floats
    clamped: int
    jitter: tuple[str, ...]


class Moments(NamedTuple):
    """Means and variances, one row for each row of the inputs."""

    mean: Floats
    variance: Floats

    @property
    def std(self) -> Floats:
        """Standard deviations."""
        return np.sqrt(self.variance)


class Prediction(NamedTuple):
    """Moments of the function, `f`, and of an observation of it, `y`, and the noise's part of the variance of `y`."""

    f: Moments
    y: Moments
    noise: Floats


class Importance(NamedTuple):
    """How much each column matters to a model's predictions.

    Attributes
    ----------
    columns : tuple of str
        The columns, as they were in `fit`: a category is one, however many levels it has.
    share : ndarray of shape (n_columns,) or (n_outputs, n_columns)
        The share of the variance of predictions in which a column has a part, by itself or together with others.
    error : ndarray of shape (n_columns,) or (n_outputs, n_columns)
        The standard error of the share.
    """

    columns: tuple[str, ...]
    share: Floats
    error: Floats


class StepReport(NamedTuple):
    """A step of training, as a callback sees it.

    Attributes
    ----------
    step : int
        Its number, from 1.
    epoch : float
        Passes over the data so far.
    elbo, data_term, kl : float or None
        The bound before the step, and its parts; None if the step was rolled back.
    noise : float
        Standard deviation of the noise, in the first target's units; not a number for classes and counts.
    learning_rate : float
        The one that was used.
    validation : float or None
        Score of the rows held out (standardised; more is better), at steps that looked.
    seconds : float
        Since training began.
    rolled_back : str or None
        Why the step was rolled back, if it was.
    """

    step: int
    epoch: float
    elbo: float | None
    data_term: float | None
    kl: float | None
    noise: float
    learning_rate: float
    validation: float | None
    seconds: float
    rolled_back: str | None
