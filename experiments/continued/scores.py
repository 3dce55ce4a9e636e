"""The scores of predictions that are a mixture of Gaussians for each row, as lines of `peers.jsonl` have them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr

Floats = NDArray[np.float64]

#: The most pairs of components that are worked on at once, over all rows.
PAIRS = 10_000_000


class Mixture(NamedTuple):
    """A mixture of Gaussians for each row: all three are [components, rows]."""

    weight: Floats
    mean: Floats
    variance: Floats

    @classmethod
    def even(cls, mean: Floats, variance: Floats) -> "Mixture":
        """A mixture whose components weigh the same; `variance` is broadcast to the shape of `mean`."""
        return cls(np.full(mean.shape, 1.0 / len(mean)), mean, np.broadcast_to(variance, mean.shape))

    def in_units(self, centre: float, scale: float) -> "Mixture":
        """The mixture of `centre + scale * y`."""
        return Mixture(self.weight, centre + scale * self.mean, scale**2 * self.variance)


def expected_distance(mean: Floats, variance: Floats) -> Floats:
    """`E |z|` of `z ~ N(mean, variance)`."""
    deviation = np.sqrt(variance)
    ratio = mean / deviation
    density = np.exp(-0.5 * ratio**2) / np.sqrt(2 * np.pi)
    distance: Floats = mean * (2 * ndtr(ratio) - 1) + 2 * deviation * density
    return distance


def log_density(mixture: Mixture, y: Floats) -> Floats:
    """The log density of each row's target."""
    weight, mean, variance = mixture
    each = -0.5 * (np.log(2 * np.pi * variance) + (y - mean) ** 2 / variance)
    whole: Floats = logsumexp(each, axis=0, b=weight)
    return whole


def chunks(mixture: Mixture) -> Iterator[slice]:
    """Rows that are few enough for all pairs of their components."""
    components, rows = mixture.mean.shape
    step = max(1, PAIRS // components**2)
    return (slice(start, start + step) for start in range(0, rows, step))


def crps(mixture: Mixture, y: Floats) -> Floats:
    """The continuous ranked probability score of each row, `E |Y - y| - E |Y - Y'| / 2`, in closed form."""
    scores = np.empty(len(y))
    for rows in chunks(mixture):
        weight, mean, variance = (part[:, rows] for part in mixture)
        to_target = (weight * expected_distance(mean - y[rows], variance)).sum(axis=0)
        pairs = expected_distance(mean[:, None] - mean, variance[:, None] + variance)
        scores[rows] = to_target - 0.5 * (weight[:, None] * weight * pairs).sum(axis=(0, 1))
    return scores


def score(mixture: Mixture, y: Floats) -> dict[str, float]:
    """All scores of the rows, in the units of the mixture and the targets."""
    weight, mean, variance = mixture
    place = (weight * ndtr((y - mean) / np.sqrt(variance))).sum(axis=0)
    errors = y - (weight * mean).sum(axis=0)
    return {
        "test_log_likelihood": float(log_density(mixture, y).mean()),
        "test_rmse": float(np.sqrt(np.mean(errors**2))),
        "test_crps": float(crps(mixture, y).mean()),
        "test_coverage_95": float(np.mean((place >= 0.025) & (place <= 0.975))),
    }
