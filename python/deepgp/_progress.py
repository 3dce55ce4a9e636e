"""A line that shows how training goes: in a terminal, in a notebook, and now and then in a log."""

from __future__ import annotations

import math
import shutil
import sys
from typing import Any

_BAR = 16
_FULL, _EMPTY = "█", "·"
_PLAIN = str.maketrans({_FULL: "#", _EMPTY: "."})
_LOG_LINES = 10


class Progress:
    """One line, written anew; where that cannot be, as in a file, ten lines in all."""

    def __init__(self, steps: int) -> None:
        self._steps = max(steps, 1)
        self._out = sys.stdout
        self._terminal = bool(getattr(self._out, "isatty", bool)())
        self._live = self._terminal or _in_notebook()
        self._plain = not _can_show(self._out)
        self._shown = 0
        self._logged = -1

    def __call__(self, report: dict[str, Any]) -> None:
        if self._out is None:
            return
        line = self._line(report)
        if self._plain:
            line = line.translate(_PLAIN)
        if self._terminal:
            # A line that wraps cannot be written anew.
            line = line[: shutil.get_terminal_size().columns - 1]
        if self._live:
            # Blanks cover what a longer line has left.
            print("\r" + line.ljust(self._shown), end="", flush=True, file=self._out)
            self._shown = len(line)
        elif (tenth := report["step"] * _LOG_LINES // self._steps) > self._logged:
            self._logged = tenth
            print(line, flush=True, file=self._out)

    def finish(self) -> None:
        """Leaves the line where it is."""
        if self._live and self._shown:
            print(flush=True, file=self._out)

    def _line(self, report: dict[str, Any]) -> str:
        step, seconds = report["step"], report["seconds"]
        done = step / self._steps
        bar = (_FULL * round(_BAR * done)).ljust(_BAR, _EMPTY)
        elbo = "rolled back" if report["elbo"] is None else f"ELBO {report['elbo']:.1f}"
        left = _duration(seconds / step * (self._steps - step))
        time = f"{_duration(seconds)}, at most {left} left"
        # Classes and counts have no noise.
        noise = "" if math.isnan(report["noise"]) else f"noise {report['noise']:.3g}  "
        return f"{bar} {step}/{self._steps}  {elbo}  {noise}{time}"


def _can_show(out: Any) -> bool:
    """Whether the bar's characters can be written."""
    try:
        (_FULL + _EMPTY).encode(getattr(out, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _in_notebook() -> bool:
    """Whether what is printed goes to a cell, where a line can be written anew."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return getattr(shell, "kernel", None) is not None


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes / 60:.1f} h"
