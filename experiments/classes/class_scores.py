"""Scores of predicted probabilities and of predicted means of counts."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]

#: Bins of the calibration error, all of one width.
BINS = 15
#: The least probability that the log loss counts.
LEAST = 1e-15


def score_classes(y: "pd.Series[str]", labels: list[str], p: Floats) -> dict[str, float]:
    """Log loss, Brier score, calibration error of the likeliest class, and accuracy."""
    index = np.searchsorted(labels, y)
    p = p / p.sum(1, keepdims=True)
    truth = np.eye(len(labels))[index]
    confidence, right = p.max(1), p.argmax(1) == index
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs((right[bins == b] - confidence[bins == b]).sum()) for b in range(BINS)]
    return {
        "log_loss": float(-np.log(np.maximum(p[np.arange(len(p)), index], LEAST)).mean()),
        "brier": float(((p - truth) ** 2).sum(1).mean()),
        "calibration_error": float(sum(gaps) / len(p)),
        "accuracy": float(right.mean()),
    }


def score_of_means(y: "pd.Series[float]", mean: "Floats | pd.Series[float]") -> dict[str, float]:
    """Poisson deviance and root mean squared error."""
    y, mean = np.asarray(y, float), np.maximum(np.asarray(mean, float), 1e-12)
    ratio = np.where(y > 0, y * np.log(np.maximum(y, 1) / mean), 0.0)
    deviance, rmse = 2 * (ratio - y + mean).mean(), np.sqrt(((y - mean) ** 2).mean())
    return {"deviance": float(deviance), "rmse": float(rmse)}


def score_counts(y: "pd.Series[float]", mean: Floats) -> dict[str, float]:
    """The same, and the mean log probability of counts by Poisson's distribution around the means."""
    rates, counts = np.maximum(mean, 1e-12), np.asarray(y, float)
    log_score = (counts * np.log(rates) - rates - gammaln(counts + 1)).mean()
    return score_of_means(y, mean) | {"log_score": float(log_score)}
