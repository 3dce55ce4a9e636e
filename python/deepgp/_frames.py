"""Frames as tables: columns of texts, categories, dates, truth values and missing cells, as the engine takes them.

What becomes of them is decided where the command line decides it, and the same way.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import Floats

#: How many of each unit of NumPy's moments are a second.
_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def is_frame(X: Any) -> bool:
    """Whether `X` is a pandas or polars frame."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and (hasattr(X, "iloc") or hasattr(X, "get_column"))


def is_table(X: Any) -> bool:
    """Whether `X` is a frame of more than numbers, or has cells that are missing."""
    return is_frame(X) and not all(_is_plain(column) for _, column in _columns(X))


def names_of(X: Any) -> list[str]:
    """The names of a frame's columns, which must be different ones."""
    names = [str(name) for name in X.columns]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"X has several columns of the name {', '.join(map(repr, repeated))}: rename them")
    return names


def table_of(X: Any, keep: Any = None) -> _core.Table:
    """The cells of a frame; `keep` has the names of columns that are inputs though they only tell rows apart."""
    if keep is not None and (isinstance(keep, str) or not isinstance(keep, Sequence)):
        raise ValueError(f"`keep_columns` is {keep!r}, but must be a list of names, or None")
    names_of(X)
    columns, categorical = [], []
    for name, column in _columns(X):
        dates, cells = _cells(column)
        columns.append((name, dates, cells))
        if _is_category(column.dtype):
            categorical.append(name)
    return _core.Table(columns, categorical, [str(name) for name in keep or ()])


def encoded(engine: _core.Engine, X: Any) -> Floats:
    """The rows of a frame as the numbers that a model of a table takes; warns of cells that no row of the fit had."""
    found, odd = engine.encode(table_of(X))
    for note in odd:
        warnings.warn(note, UserWarning, stacklevel=4)
    return found


def _columns(X: Any) -> list[tuple[str, Any]]:
    """The names and columns of a frame."""
    if hasattr(X, "iloc"):
        return [(str(name), X.iloc[:, position]) for position, name in enumerate(X.columns)]
    return [(str(column.name), column) for column in X.get_columns()]


def _kind(dtype: Any) -> str:
    """One letter for what a column holds, as NumPy has it: a number, a truth value, a date, or else an object."""
    kind = getattr(dtype, "kind", None)
    if isinstance(kind, str):
        return kind
    # Polars has types of its own.
    if dtype.is_numeric():
        return "f"
    name = str(dtype)
    if name.startswith(("Datetime", "Date")):
        return "M"
    return "m" if name.startswith("Duration") else "b" if name == "Boolean" else "O"


def _is_category(dtype: Any) -> bool:
    return str(dtype).startswith(("category", "Categorical", "Enum"))


def _is_plain(column: Any) -> bool:
    """Whether a column has numbers and nothing else. Complex ones are refused where numbers are read."""
    if _is_category(column.dtype) or _kind(column.dtype) not in "fiuc":
        return False
    return not _missing(column).any()


def _missing(column: Any) -> NDArray[np.bool_]:
    """Which cells are missing."""
    if hasattr(column, "isna"):
        return np.asarray(column.isna(), dtype=bool)
    missing = column.is_null()
    return np.asarray(missing | column.is_nan() if column.dtype.is_float() else missing, dtype=bool)


def _cells(column: Any) -> tuple[bool, Floats | list[Any]]:
    """Whether a column's numbers are dates, in seconds since 1970, and its cells: numbers, or an object for each."""
    kind = "O" if _is_category(column.dtype) else _kind(column.dtype)
    missing = _missing(column)
    if kind in "fiu":
        return False, _filled(column, missing)
    if kind in "mM":
        return kind == "M", _seconds(column, missing)
    values = column.astype(object).tolist() if hasattr(column, "astype") else column.to_list()
    return False, [None if gone else _cell(value) for value, gone in zip(values, missing, strict=True)]


def _filled(column: Any, missing: NDArray[np.bool_]) -> Floats:
    """Numbers, with NaN where there is none."""
    found: Floats = np.full(len(missing), np.nan)
    present = column[~missing] if hasattr(column, "iloc") else column.filter(~missing)
    found[~missing] = np.asarray(present.to_numpy(), dtype=np.float64)
    return found


def _seconds(column: Any, missing: NDArray[np.bool_]) -> Floats:
    """Moments or durations in seconds, rounded once, with NaN where there is none."""
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    values = np.asarray(column.to_numpy())
    unit = np.datetime_data(values.dtype)[0]
    if unit not in _A_SECOND:
        unit = "s"
        values = values.astype(f"{values.dtype.kind}8[s]")
    units, a_second = values.view(np.int64), _A_SECOND[unit]
    found: Floats = (units // a_second).astype(np.float64)
    # Python divides whole numbers as exactly as can be.
    for row in np.flatnonzero(units % a_second):
        found[row] = int(units[row]) / a_second
    found[missing] = np.nan
    return found


def _cell(value: Any) -> Any:
    """A cell as a truth value, a number or a text."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (numbers.Real, decimal.Decimal)):
        return float(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    return str(value)
