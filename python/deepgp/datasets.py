"""Simulated data on which depth shows."""

import numpy as np
from numpy.typing import NDArray

from . import _core, _settings

__all__ = ["eight_link_arm", "step_curve"]

_MOST_ROWS = 10**7


def eight_link_arm(rows: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Postures of a robot arm and how far its tip is from a point: a stand-in for kin8nm.

    Parameters
    ----------
    rows : int
        How many postures, at most 10⁷.
    seed : int, default=0
        The same seed gives the same numbers.

    Returns
    -------
    X : ndarray of shape (rows, 8)
        Angles of the eight joints, uniform in ±π/2.
    y : ndarray of shape (rows,)
        The distance, with noise of standard deviation 0.05.

    Examples
    --------
    >>> from deepgp import datasets
    >>> X, y = datasets.eight_link_arm(100)
    >>> X.shape, y.shape
    ((100, 8), (100,))
    """
    return _core.eight_link_arm(
        _settings.integer("rows", rows, least=1, most=_MOST_ROWS), _settings.integer("seed", seed)
    )


def step_curve(rows: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A step from -1 to 1 at 0: too sharp for one stationary kernel.

    Parameters
    ----------
    rows : int
        How many points, at most 10⁷.
    seed : int, default=0
        The same seed gives the same numbers.

    Returns
    -------
    X : ndarray of shape (rows, 1)
        Uniform in ±1.
    y : ndarray of shape (rows,)
        The step, with noise of standard deviation 0.05.

    Examples
    --------
    >>> from deepgp import datasets
    >>> X, y = datasets.step_curve(100)
    >>> bool(abs(y[X[:, 0] > 0].mean() - 1) < 0.05)
    True
    """
    return _core.step_curve(_settings.integer("rows", rows, least=1, most=_MOST_ROWS), _settings.integer("seed", seed))
