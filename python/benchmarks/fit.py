"""The same fit through Python and through the Rust library, alternately: the ratio of the times.

    cargo build --release --example fit_time
    python benchmarks/fit.py                    # in the environment of check.sh, with the wheel installed

Every fit has a process of its own, and only the call itself is timed. What counts is the ratio of the medians.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUST = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples" / "fit_time"
PYTHON = """
import time
from deepgp import DeepGPRegressor, datasets
X, y = datasets.eight_link_arm({rows}, seed=1)
regressor = DeepGPRegressor(hidden_layers={hidden}, steps={steps}, validation=None)
started = time.perf_counter()
regressor.fit(X, y)
print(time.perf_counter() - started, regressor.n_iter_)
"""


def seconds(command: list[str]) -> float:
    took, steps = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert int(steps) == arguments.steps
    return float(took)


parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--rows", type=int, default=2000)
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--hidden", type=int, default=2)
parser.add_argument("--repeats", type=int, default=9)
arguments = parser.parse_args()
rust = [str(RUST), f"rows={arguments.rows}", f"steps={arguments.steps}", f"hidden={arguments.hidden}"]
python = [sys.executable, "-c", PYTHON.format(**vars(arguments))]
times: dict[str, list[float]] = {"rust": [], "python": []}
for _ in range(arguments.repeats):
    times["rust"].append(seconds(rust))
    times["python"].append(seconds(python))
for name, own in times.items():
    print(f"{name:6}  median {statistics.median(own):.3f} s   fastest {min(own):.3f} s   of {len(own)}")
ratio = statistics.median(times["python"]) / statistics.median(times["rust"])
fastest = min(times["python"]) / min(times["rust"])
print(f"Python takes {ratio:.3f} of Rust's time by medians, {fastest:.3f} by the fastest")
