"""How much the rows of each class weigh."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _settings
from ._arrays import Floats
from ._labels import Labels


def row_weights(class_weight: Any, classes: Labels, codes: Floats, sample_weight: Floats | None) -> Floats | None:
    """The weight of each row, that of its class included; `codes` has the numbers of their classes."""
    factors = _factors(class_weight, classes, codes, sample_weight)
    if factors is None:
        return sample_weight
    of_class = factors[codes.astype(np.intp)]
    return of_class if sample_weight is None else of_class * sample_weight


def _factors(class_weight: Any, classes: Labels, codes: Floats, sample_weight: Floats | None) -> Floats | None:
    """The factor on the rows of each class; None where they weigh what they weigh."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        # A class weighs `total / (C · its own)`: all classes the same, and the mean over all rows is 1.
        own = np.bincount(codes.astype(np.intp), weights=sample_weight, minlength=len(classes))
        with np.errstate(divide="ignore"):
            return np.where(own > 0, own.sum() / (np.count_nonzero(own) * own), 0.0)
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"`class_weight` is {class_weight!r}, but must be None, 'balanced' or a dictionary")
    labels = classes.tolist()
    without = [label for label in labels if label not in class_weight]
    unknown = [label for label in class_weight if label not in labels]
    # Either alone may be meant: a class that weighs 1, or one that is not in these rows.
    if without and unknown:
        raise ValueError(
            f"`class_weight` has {unknown[0]!r}, which is no class, and lacks {without[0]!r}: give labels of `y`"
        )
    factors = np.array([_settings.number(f"class_weight[{own!r}]", class_weight.get(own, 1.0)) for own in labels])
    if (factors < 0).any():
        negative = labels[int(factors.argmin())]
        raise ValueError(f"`class_weight[{negative!r}]` is {class_weight[negative]!r}, but must be 0 or more")
    return factors
