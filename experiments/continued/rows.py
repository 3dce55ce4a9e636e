"""Which rows are trained on, set aside and tested on, and the tables that they are rows of.

Test rows are those of `deepgp reproduce`, by `deepgp.split_rows`. Where the package deepgp is not installed, they come
from a file that `peers.py --write-rows` has written where it is.
"""

import pathlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

#: The share of rows that `deepgp reproduce` tests on, and that of the others which are set aside here.
TEST, ASIDE = 0.2, 0.1


class Rows(NamedTuple):
    """Row numbers of a table, each in ascending order."""

    train: Indices
    aside: Indices
    test: Indices


class Part(NamedTuple):
    """Inputs and targets of some rows."""

    x: Floats
    y: Floats


class Split(NamedTuple):
    """A table, split."""

    train: Part
    aside: Part
    test: Part


def draw(rows: int, split: int) -> Rows:
    """The rows of one split of a table."""
    import deepgp

    others, test = deepgp.split_rows(rows, TEST, split)
    # A seed of its own: which rows are set aside shall not hang on which are tested.
    train, aside = deepgp.split_rows(len(others), ASIDE, seed=1000 + split)
    return Rows(others[train], others[aside], test)


def write(path: pathlib.Path, sizes: dict[str, int], splits: int) -> None:
    """Writes the rows of all splits of tables of these sizes."""
    parts = {}
    for dataset, rows in sizes.items():
        for split in range(splits):
            drawn = draw(rows, split)
            parts.update({f"{dataset}-{split}-{name}": part.astype(np.int32) for name, part in drawn._asdict().items()})
    np.savez_compressed(path, **parts)


def read(path: pathlib.Path, dataset: str, split: int) -> Rows:
    """The rows of one split from a file."""
    with np.load(path) as file:
        return Rows(*(file[f"{dataset}-{split}-{name}"].astype(np.int64) for name in Rows._fields))


def take(x: Floats, y: Floats, rows: Rows) -> Split:
    """The parts of a table."""
    if len(y) != sum(len(part) for part in rows):
        raise ValueError(f"the rows are those of a table of {sum(map(len, rows))}, this one has {len(y)}")
    return Split(*(Part(x[part], y[part]) for part in rows))


def standardised(split: Split) -> tuple[Split, float, float]:
    """The split in units in which its training rows have mean 0 and variance 1; a target is `centre + scale *` that."""
    x, y = split.train
    shift, spread = x.mean(axis=0), x.std(axis=0)
    # Inputs that do not vary stay where they are.
    spread = np.where(spread > 0, spread, 1.0)
    centre, scale = float(y.mean()), float(y.std())
    parts = (Part((part.x - shift) / spread, (part.y - centre) / scale) for part in split)
    return Split(*parts), centre, scale
