"""Labels of classes: as users have them, as numbers from 0 for the engine, and as texts in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays

Labels = NDArray[Any]


def distinct(y: Labels) -> Labels:
    """All labels that there are, in their order: numbers by size, texts by their letters, False before True."""
    try:
        return np.unique(y)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in y.tolist()}))
        raise ValueError(
            f"the classes in `y` are of several kinds ({kinds}): give texts, whole numbers or truth values, and leave "
            "out rows without a class"
        ) from None


def codes(y: Labels, classes: Labels) -> _arrays.Floats:
    """The number of each row's class. Fails where a label is none of `classes`."""
    numbered = {label: float(number) for number, label in enumerate(classes.tolist())}
    found = [numbered.get(label) for label in y.tolist()]
    if None in found:
        row = found.index(None)
        known = ", ".join(map(repr, numbered))
        raise ValueError(
            f"row {row} of `y` is {y.tolist()[row]!r}, which is no class of the model that warm_start goes on with "
            f"(they are {known}): leave such rows out, or build a new model with warm_start=False (rows count from 0)"
        )
    return np.asarray(found, dtype=np.float64)


def texts(classes: Labels) -> list[str]:
    """Labels as files have them, and tables: `true` and `false`, and numbers without a fraction."""

    def text(label: Any) -> str:
        if isinstance(label, bool):
            return "true" if label else "false"
        return str(int(label)) if isinstance(label, float) else str(label)

    return [text(label) for label in classes.tolist()]


def from_texts(labels: Sequence[str]) -> Labels:
    """A file's labels as they are read from a table: truth values and whole numbers are such, others are texts."""
    if list(labels) == ["false", "true"]:
        return np.array([False, True])
    try:
        whole = np.array([int(label) for label in labels], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.asarray(labels)
    # Numbers that were texts are in the order of their letters, or have more digits than they need.
    return whole if texts(whole) == list(labels) and (np.diff(whole) > 0).all() else np.asarray(labels)
