#!/usr/bin/env python3
"""Times a training step (and a prediction) of deepgp and of its Python peers, alternately, and prints the ratios.

    python3 benchmarks/compare.py --out benchmarks/grid.jsonl
    python3 benchmarks/compare.py --table benchmarks/grid.jsonl

A cell is one data shape, depth, model and precision. Within a cell, rounds of [ours, peer, peer, ...] follow each
other, each a process of its own: what slows the machine for a minute slows all of them alike, and the ratio stays.
A run that was stopped goes on where it was: what the file holds is not measured again.
"""
import argparse
import contextlib
import itertools
import math
import shlex
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from harness import HERE, KEEP_MEMORY, ROOT, Store, milliseconds, number, print_table, read_rows, run_json, \
    stop_on_sigterm, wait_until_quiet
from models import MODELS

DATASETS = {"kin8nm": (6554, 8), "protein": (10000, 9), "molecules": (10000, 512)}
NAMES = {"ours": "deepgp", "torch-eager": "torch eager", "torch-compile": "torch.compile", "jax": "JAX",
         "gpytorch": "GPyTorch", "gpflux": "GPflux"}
PEERS = [name for name in NAMES if name != "ours"]
FULL_ONLY = {"gpytorch", "gpflux"}      # neither package has a decoupled or nested layer
SAMPLES = 100                           # of a prediction, ours and theirs


@dataclass(frozen=True)
class Cell:
    """One comparison. `precision` is f64 or f32; ours answers f32 with its mixed precision."""

    dataset: str
    hidden: int
    model: str
    precision: str

    def shape(self):
        """Rows (all of them one batch) and columns."""
        return DATASETS.get(self.dataset) or tuple(int(n) for n in self.dataset.split("x"))

    def target(self):
        """The largest ratio to the best peer that is wanted."""
        if MODELS[self.model].covariance_form == "diagonal":
            return 0.45
        if self.hidden == 0:
            return 0.8
        if (self.dataset, self.hidden, self.model) == ("molecules", 1, "decoupled"):
            return 0.35                 # nine tenths of its inputs are zeros, which the peers multiply
        return 0.7 if self.model == "full" else 0.5

    def label(self):
        return f"{self.dataset}, {self.hidden} hidden, {self.model}, {self.precision}"


# ---------------------------------------------------------------- commands

def ours_command(options, cell):
    rows, columns = cell.shape()
    predict = ["--predict", options.predict] if options.predict and options.ours_predicts else []
    return [options.ours, "benchmark", "--rows", rows, "--columns", columns, "--batch-size", rows,
            "--hidden-layers", cell.hidden, *MODELS[cell.model].ours(options),
            "--precision", "mixed" if cell.precision == "f32" else "f64",
            "--threads", options.threads, "--steps", options.steps, *predict, "--json"]


def peer_command(options, peer, cell):
    rows, columns = cell.shape()
    python = options.gpflux_python if peer == "gpflux" else options.python
    program, _, mode = peer.partition("-")
    return [python, HERE / "peers" / f"peer_{program}.py", *(["--mode", mode] if mode else []),
            "--dataset", f"{rows}x{columns}", "--batch", rows, "--hidden", cell.hidden,
            *MODELS[cell.model].peer(options), "--dtype", cell.precision, "--threads", options.threads,
            "--iters", options.steps, "--predict", options.predict, "--S", SAMPLES]


def peer_environment(options):
    """The compiled kernels of torch.compile are kept beside this file: only the first round of a cell compiles."""
    threads = str(options.threads)
    return {**KEEP_MEMORY, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "MKL_NUM_THREADS": threads,
            "TORCHINDUCTOR_CACHE_DIR": str(HERE / ".cache" / "inductor"), "TORCHINDUCTOR_FX_GRAPH_CACHE": "1",
            "TORCHINDUCTOR_AUTOGRAD_CACHE": "1", "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}


def can_predict(ours):
    """Whether this build of ours knows --predict."""
    return run_json([ours, "benchmark", "--rows", 50, "--columns", 2, "--inducing", 5, "--steps", 1, "--predict", 5, "--json"],
                    time_limit=60).status == "ok"


# ---------------------------------------------------------------- measuring

def measure(options, cell, runner, turn):
    """Runs one program once; returns its row for the file."""
    command = ours_command(options, cell) if runner == "ours" else peer_command(options, runner, cell)
    started = time.monotonic()
    outcome = run_json(command, None if runner == "ours" else peer_environment(options), options.process_limit)
    found, row = outcome.row, {"kind": "measurement", **asdict(cell), **settings(options), "runner": runner,
                               "round": turn, "status": outcome.status}
    if outcome.status != "ok":
        row["error"] = outcome.error
    elif runner == "ours":
        row.update(seconds=found["seconds_per_step"], predict_seconds=found.get("predict_seconds"), details=found)
    else:
        row.update(seconds=found["sec_per_iter"], predict_seconds=found.get("predict_s"), details=found)
    row["peak_memory_mib"] = found.get("peak_memory_mib") or round(outcome.peak_mib, 1)
    row["others_share"] = (found.get("others_share") or 0.0) if runner != "ours" else outcome.others_share
    row["process_seconds"] = round(time.monotonic() - started, 1)
    return row


def settings(options):
    """What must agree for two measurements of a cell to belong together."""
    return {"threads": options.threads, "steps": options.steps, "predict": options.predict,
            "inducing": [options.inducing, options.mean_inducing, options.covariance_inducing]}


def measured(options, rows, cell):
    """The measurements of a cell under these settings."""
    wanted = {**asdict(cell), **settings(options)}
    return [row for row in rows if row.get("kind") == "measurement" and all(row.get(k) == v for k, v in wanted.items())]


def contenders(options, rows, turn):
    """The peers of this round: all in the first; then those not far behind the best, and none that failed.

    A peer that is half as slow again as the best does not decide the ratio; its one measurement is for the table.
    """
    if turn == 0:
        return set(options.peers)
    first = [row for row in rows if row["round"] == 0 and row["runner"] != "ours"]
    kept = set()
    for quantity in ("seconds", "predict_seconds"):
        times = {row["runner"]: row[quantity] for row in first if row.get(quantity)}
        most = (options.drop_above or math.inf) * min(times.values(), default=0.0)
        kept |= {peer for peer, seconds in times.items() if seconds <= most}
    return kept


def run_cell(options, store, cell):
    """All rounds of a cell that the file does not hold yet.

    Ours goes first in every round, again where only a peer is missing, so that no peer is set against an older time.
    """
    peers = [peer for peer in options.peers if cell.model == "full" or peer not in FULL_ONLY]
    for turn in range(options.rounds):
        rows = measured(options, store.rows, cell)
        done = {row["runner"] for row in rows
                if row["round"] == turn and (row["status"] == "ok" or not options.retry)}
        missing = [peer for peer in peers if peer in contenders(options, rows, turn) and peer not in done]
        if "ours" in done and not missing:
            continue
        for runner in ["ours", *missing]:
            measure_in_quiet(options, store, cell, runner, turn)


def measure_in_quiet(options, store, cell, runner, turn):
    """One measurement, made again where other programs disturbed it."""
    for _ in range(options.attempts):
        wait_until_quiet(options.max_others, 60 * options.quiet_wait)
        row = measure(options, cell, runner, turn)
        store.add(row)
        tell(cell, row)
        if row["status"] != "ok" or row["others_share"] <= options.max_others:
            break


def tell(cell, row):
    result = milliseconds([row["seconds"]]) + " ms" if row["status"] == "ok" else f"{row['status']} {row['error']}"
    print(f"{cell.label()}, round {row['round'] + 1}: {NAMES[row['runner']]} {result} (process "
          f"{row['process_seconds']:.0f} s, others {row['others_share']:.0%})", file=sys.stderr, flush=True)


def run_grid(options):
    """All selected cells; the file says first on what machine and with which program."""
    store = Store(options.out)
    store.start_run(options.ours, shlex.join(["python3", *sys.argv]))
    end = time.monotonic() + 60 * options.time_limit if options.time_limit else math.inf
    for cell in cells(options):
        if time.monotonic() > end:
            print("time limit: the same command measures the other cells", file=sys.stderr)
            break
        run_cell(options, store, cell)


def cells(options):
    grid = itertools.product(options.precisions, options.datasets, options.hidden, options.models)
    return [Cell(dataset, hidden, model, precision) for precision, dataset, hidden, model in grid]


# ---------------------------------------------------------------- the table

def print_report(path):
    """The machine and versions, then for each precision the table of steps and, if measured, of predictions."""
    rows = read_measurements(path)
    for precision in dict.fromkeys(row["precision"] for row in rows):
        some = [row for row in rows if row["precision"] == precision]
        title = "f64" if precision == "f64" else "deepgp mixed, peers f32"
        print(f"\n### Training step, {title}, {some[0]['threads']} threads\n")
        step_table(some)
        if any(row.get("predict_seconds") for row in some):
            print(f"\n### Prediction of {some[0]['predict']} rows with {SAMPLES} samples, {title}\n")
            comparison_table(some, "predict_seconds")


def read_measurements(path):
    """The least disturbed measurements of a file, after its machine, versions and command are printed."""
    rows = read_rows(path)
    runs = [row for row in rows if row.get("kind") == "run"]
    rows = least_disturbed([row for row in rows if row.get("kind") == "measurement"])
    if runs:
        found = f" Versions: {'; '.join(versions(rows))}." if versions(rows) else ""
        print(f"Machine: {runs[-1]['machine']}; {runs[-1]['time']}.{found}  ")
        print(f"Command: `{runs[-1]['command']}`.  ")
    shares = [row["others_share"] for row in rows] or [0.0]
    print(f"Other programs used {statistics.median(shares):.0%} of the machine at the median measurement, "
          f"{max(shares):.0%} at the worst.")
    return rows


def least_disturbed(rows):
    """Of the attempts at one measurement, the one with the least of other programs beside it, else the newest."""
    worth = lambda row: (row["status"] == "ok", -round(row["others_share"], 1))
    kept = {}
    for row in rows:
        key = tuple(str(row[name]) for name in ("dataset", "hidden", "model", "precision", "runner", "round",
                                                "threads", "steps", "predict", "inducing"))
        if key not in kept or worth(row) >= worth(kept[key]):
            kept[key] = row
    return list(kept.values())


def versions(rows):
    found = {NAMES[row["runner"]].split()[0].split(".")[0]: row["details"]["version"]
             for row in rows if row["runner"] != "ours" and row.get("details", {}).get("version")}
    return [f"{name} {version}" for name, version in found.items()]


def step_table(rows):
    """The step's table, with floor and memory, and the two sums that the grid is for."""
    comparison_table(rows, "seconds", extra_columns)
    both = [statistics.median(found) for model in ("full", "decoupled")
            if (found := [row["seconds"] for row in rows if row["runner"] == "ours" and row["status"] == "ok" and
                          (row["dataset"], row["hidden"], row["model"]) == ("protein", 4, model)])]
    if len(both) == 2:
        print(f"\nprotein, 4 hidden layers: the decoupled step is {both[1] / both[0]:.2f} of the full one "
              "(wanted: at most 0.55).")


def comparison_table(rows, quantity, extra=lambda group, best: {}):
    """One line a cell: ours, the best peer, their ratio against the target, and the other peers."""
    lines, header, met = [], [], []
    for cell, group in by_cell(rows).items():
        times = {runner: [row[quantity] for row in found if row.get(quantity)] for runner, found in group.items()}
        peers = {runner: statistics.median(found) for runner, found in times.items() if found and runner != "ours"}
        best = min(peers, key=peers.get) if peers else None
        ratio = statistics.median(times["ours"]) / peers[best] if best and times.get("ours") else None
        if ratio is not None:
            met.append(ratio <= cell.target())
        line = {"data": cell.dataset, "hidden": cell.hidden, "model": cell.model,
                "ours ms (min..max)": milliseconds(times.get("ours")) + not_finite(group.get("ours", [])),
                "best peer": NAMES[best] if best else "–",
                "its ms (min..max)": milliseconds(times[best]) + not_finite(group[best]) if best else "–",
                "ratio": f"{ratio:.2f}" if ratio is not None else "–", "target": cell.target(),
                "met": "–" if ratio is None else "yes" if met[-1] else "no",
                "other peers ms": ", ".join(other_peers(group, times, best)) or "–", **extra(group, best)}
        header = list(line)
        lines.append(list(line.values()))
    print_table(header, lines, left=3)
    print(f"\n{sum(met)} of {len(met)} cells meet their target.")


def by_cell(rows):
    """Cell -> runner -> rows, in the order of the file."""
    groups = {}
    for row in rows:
        cell = Cell(*(row[name] for name in ("dataset", "hidden", "model", "precision")))
        groups.setdefault(cell, {}).setdefault(row["runner"], []).append(row)
    return groups


def other_peers(group, times, best):
    """`name ms` of the peers that are not the best; for one that never came through, how it failed."""
    for runner, found in group.items():
        if runner not in ("ours", best):
            median = [statistics.median(times[runner])] if times[runner] else []
            if median or any(row["status"] != "ok" for row in found):
                yield f"{NAMES[runner]} {milliseconds(median) if median else found[-1]['status']}{not_finite(found)}"


def not_finite(rows):
    """A star where a program's bound was not a number at the end: it has timed a broken model."""
    bounds = [row["details"].get("elbo", 0.0) for row in rows if row.get("details")]
    return "" if all(bound is not None and math.isfinite(bound) for bound in bounds) else "*"


def extra_columns(group, best):
    """The lean floor that ours measured for itself in the same runs, and peak memory."""
    ours = [row for row in group.get("ours", []) if row["status"] == "ok"]
    floors = [row["details"]["floor_seconds"] for row in ours if row["details"].get("floor_seconds")]
    columns = {"floor ms": "–", "ours / floor": "–"}
    if floors:
        floor = statistics.median(floors)
        ratio = statistics.median(row["seconds"] for row in ours) / floor
        columns = {"floor ms": milliseconds([floor]), "ours / floor": f"{ratio:.2f}"}
    peaks = [number(max(row["peak_memory_mib"] for row in rows)) if rows else "–"
             for rows in (ours, group.get(best, []))]
    return {**columns, "peak MiB, ours / best peer": " / ".join(peaks)}


# ---------------------------------------------------------------- arguments

def parse():
    words = lambda text: [word for word in text.split(",") if word]
    numbers = lambda text: [int(word) for word in words(text)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--table", metavar="FILE", help="print the tables of a file and end")
    add("--out", default=str(HERE / "grid.jsonl"), help="the file of measurements; continued if it is there")
    add("--datasets", type=words, default=list(DATASETS), help="of kin8nm,protein,molecules or ROWSxCOLUMNS")
    add("--hidden", type=numbers, default=[0, 1, 2, 4])
    add("--models", type=words, default=["full", "decoupled"], help=f"of {','.join(MODELS)}")
    add("--precisions", type=words, default=["f64", "f32"], help="f32: ours in mixed precision")
    add("--peers", type=words, default=PEERS, help=f"of {','.join(PEERS)}")
    add("--predict", type=int, default=0, metavar="ROWS", help=f"also time a prediction with {SAMPLES} samples")
    add("--drop-above", type=float, default=1.5, metavar="FACTOR",
        help="after the first round leave out peers slower than FACTOR times the best peer; 0: never")
    add("--time-limit", type=float, default=0, metavar="MINUTES", help="then no new cell is started; 0: none")
    add("--retry", action="store_true", help="measure again what failed or ran out of time")
    add("--python", default=str(HERE / ".venv/bin/python"), help="with torch, jax and gpytorch")
    add("--gpflux-python", default=str(HERE / ".venv-gpflux/bin/python"))
    measuring_arguments(add)
    return check(parser, parser.parse_args())


def measuring_arguments(add):
    """Arguments of how `measure_in_quiet` measures, and of what sizes."""
    add("--rounds", type=int, default=3)
    add("--steps", type=int, default=10, help="timed steps of a process")
    add("--threads", type=int, default=2)
    add("--max-others", type=float, default=0.1, metavar="SHARE",
        help="of the machine that other programs may use: before a process it is waited for, and a process that had "
             "more beside it is run again; 1: never mind")
    add("--attempts", type=int, default=3, help="at one measurement, where other programs disturb it")
    add("--quiet-wait", type=float, default=5, metavar="MINUTES", help="at most, before a process")
    add("--process-limit", type=float, default=300, metavar="SECONDS", help="for each process")
    add("--inducing", type=int, default=200, help="M of the full model")
    add("--mean-inducing", type=int, default=500)
    add("--covariance-inducing", type=int, default=100)
    add("--ours", default=str(ROOT / "target/release/deepgp"))


def check(parser, options):
    """Refuses what cannot be run before an hour has gone; GPflux alone may be missing."""
    for names, known, what in [(options.peers, PEERS, "peer"), (options.models, list(MODELS), "model"),
                               (options.precisions, ["f64", "f32"], "precision")]:
        for name in set(names) - set(known):
            parser.error(f"there is no {what} `{name}`; there are {', '.join(known)}")
    if options.table:
        return options
    for cell in cells(options):
        with contextlib.suppress(ValueError):
            if len(cell.shape()) == 2:
                continue
        parser.error(f"--datasets: `{cell.dataset}` is none of {', '.join(DATASETS)}, nor ROWSxCOLUMNS")
    if not Path(options.ours).exists():
        parser.error(f"{options.ours} is not there: cargo build --release")
    if set(options.peers) - {"gpflux"} and not Path(options.python).exists():
        parser.error(f"{options.python} is not there: run benchmarks/setup.sh or give --python")
    if "gpflux" in options.peers and not Path(options.gpflux_python).exists():
        print(f"GPflux is left out: {options.gpflux_python} is not there (benchmarks/setup.sh --gpflux)",
              file=sys.stderr)
        options.peers = [peer for peer in options.peers if peer != "gpflux"]
    options.ours_predicts = bool(options.predict) and can_predict(options.ours)
    if options.predict and not options.ours_predicts:
        print(f"{options.ours} has no --predict: only the peers' predictions are timed", file=sys.stderr)
    return options


def main():
    options = parse()
    if options.table:
        return print_report(options.table)
    stop_on_sigterm()
    try:
        run_grid(options)
    except KeyboardInterrupt:
        sys.exit("stopped: the same command goes on from here")
    print_report(options.out)


if __name__ == "__main__":
    main()
