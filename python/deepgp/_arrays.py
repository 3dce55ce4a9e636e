"""Arrays as the engine wants them: numbers, `float64`, of the right number of axes. It checks their values itself."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def dense(values: Any) -> Any:
    """An array in place of a SciPy sparse matrix, whose zeros the engine finds by itself; anything else as it is."""
    return values.toarray() if hasattr(values, "toarray") and hasattr(values, "nnz") else values


def check_cells(name: str, values: Any) -> None:
    """Fails where cells are dates, durations or masked: the bare numbers underneath are not what is meant."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        cells = int(np.ma.getmaskarray(values).sum())
        raise ValueError(
            f"`{name}` has {cells} masked cells: leave out their rows, or fill them in with .filled(value)"
        )
    if isinstance(values, (list, tuple)):
        try:
            values = np.asarray(values)
        except ValueError:
            return  # of lists of several lengths others tell
    if hasattr(values, "columns") and hasattr(values, "dtypes"):
        for column, dtype in zip(values.columns, values.dtypes, strict=True):
            _check_type(f"column {column!r} of `{name}`", dtype)
    elif hasattr(values, "dtype"):
        _check_type(f"`{name}`", values.dtype)
    if isinstance(values, np.ndarray) and values.dtype == object:
        for own in values.flat:
            _check_type(f"`{name}`", getattr(own, "dtype", None))


def _check_type(what: str, dtype: Any) -> None:
    # Polars has types of its own.
    temporal = getattr(dtype, "is_temporal", None)
    if getattr(dtype, "kind", None) in ("m", "M") or (callable(temporal) and temporal()):
        raise ValueError(
            f"{what} has dates, times or durations ({dtype}), whose numbers depend on a unit: turn them into numbers "
            "yourself, such as days since a date: (dates - start) / np.timedelta64(1, 'D')"
        )


def numbers(name: str, values: Any) -> Floats:
    """`values` as an array of `float64`, copied only if it is not one already, or lies across the machine's words."""
    check_cells(name, values)
    values = dense(values)
    array = np.asarray(values)
    if array is not values:
        check_cells(name, array)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: `{name}` has complex numbers")
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(f"`{name}` must hold numbers: {error}") from None
    array = np.asarray(array, dtype=np.float64)
    # The engine counts strides in numbers: a column of a packed record would be read at the wrong places.
    return array if array.flags.aligned else array.copy()


def matrix(name: str, values: Any, width: int | None = None) -> Floats:
    """A matrix, of `width` columns if that is given."""
    array = numbers(name, values)
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead: `{name}` has the shape {array.shape}; "
            "reshape one column with array.reshape(-1, 1), one row with array.reshape(1, -1)"
        )
    if width is not None and array.shape[1] != width:
        raise ValueError(f"`{name}` has {array.shape[1]} columns, but the model has {width}")
    return array


def columns(name: str, values: Any, width: int | None = None) -> Floats:
    """A matrix; an array of one axis is one column."""
    array = numbers(name, values)
    return matrix(name, array.reshape(-1, 1) if array.ndim == 1 else array, width)


def vector(name: str, values: Any) -> Floats:
    """An array of one axis."""
    array = numbers(name, values)
    if array.ndim != 1:
        raise ValueError(f"`{name}` must have one axis, but has the shape {array.shape}")
    return array


def matrices(name: str, values: Sequence[Any] | None) -> list[Floats] | None:
    """Several matrices, or none."""
    return None if values is None else [matrix(f"{name}[{i}]", own) for i, own in enumerate(values)]


def exposures(values: Any, rows: int) -> Floats | None:
    """An exposure for each row, from one for each or one for all; None if there are none."""
    if values is None:
        return None
    array = numbers("exposure", values)
    return np.full(rows, float(array)) if array.ndim == 0 else vector("exposure", array)


def names_of(values: Any) -> list[str] | None:
    """The names of a frame's columns, or that of a series, if there are any."""
    names = getattr(values, "columns", None)
    if names is None:
        name = getattr(values, "name", None)
        names = None if name is None or name == "" else [name]
    return None if names is None or callable(names) else [str(name) for name in names]
