"""Which rows are held out: the same in Python, on the command line and in the paper's experiments."""

import numpy as np
from numpy.typing import NDArray

from . import _core, _settings


def split_rows(rows: int, fraction: float, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of so many rows a random split holds out.

    They are the rows that `deepgp fit --test FRACTION --seed SEED` tests on. `deepgp reproduce` holds out a fraction of
    0.2, and the number of a split is its seed. So other models can be measured on the same rows.

    Parameters
    ----------
    rows : int
        How many there are: at least 2, and at most 10⁸.
    fraction : float
        Which share of them to hold out, above 0 and below 1; rounded to some rows, and not all.
    seed : int, default=0
        The same seed gives the same rows.

    Returns
    -------
    rest : ndarray of int64
        The rows that are left, in ascending order.
    held_out : ndarray of int64
        The rows that are held out, in ascending order.

    Examples
    --------
    >>> from deepgp import split_rows
    >>> train, test = split_rows(10, 0.3, seed=1)
    >>> train, test
    (array([0, 1, 2, 4, 6, 7, 8]), array([3, 5, 9]))
    """
    rows, seed = _settings.integer("rows", rows, least=2, most=10**8), _settings.integer("seed", seed)
    return _core.split_rows(rows, _settings.number("fraction", fraction), seed)
