"""A small table and a fit of it, for programs that cut fits short or watch them."""

import json
import math
import os
from pathlib import Path

DEEPGP = os.environ.get("DEEPGP", str(Path(__file__).resolve().parent.parent / "target/debug/deepgp"))
FIT = ("fit table.csv --target y --hidden-layers 1 --width 2 --mean-inducing 30 --covariance-inducing 15 --validation 0.2 "
       "--patience 100000000 --test 0.2 --threads 1")


def table(rows):
    """Two inputs and a target that depends on both."""
    lines = ["a,b,y"]
    for i in range(rows):
        a, b = math.sin(1.7 * i), math.cos(0.9 * i)
        lines.append(f"{a!r},{b!r},{math.sin(3 * a) + b * b + 0.1 * math.sin(37.1 * i)!r}")
    return "\n".join(lines) + "\n"


def contents(path, device="cpu"):
    """The arrays of a model file, but for those that hang on time; and the steps that were made.

    On a GPU the history of the noise hangs on it too: it is of the parameters that were fetched last, up to a second before.
    """
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    description = json.loads(header.pop("__metadata__")["deepgp"])["description"]
    arrays = {}
    for name, about in header.items():
        begin, end = about["data_offsets"]
        if name != "history.seconds" and (device == "cpu" or not name.startswith("history.likelihood.")):
            arrays[name] = data[8 + length + begin:8 + length + end]
    return arrays, description["record"]["steps"]
