#!/usr/bin/env python3
"""Times deepgp against itself: the cheap layers beside a decoupled layer with a full covariance, alternately.

    python3 benchmarks/layers.py --out benchmarks/layers.jsonl
    python3 benchmarks/layers.py --table benchmarks/layers.jsonl

A round times every model once, the decoupled one first, each in a process of its own: what slows the machine for a
minute slows all of them alike. A ratio is the median over rounds of the ratio within a round. A stopped run goes on
where it was.
"""
import argparse
import shlex
import statistics
import sys
from pathlib import Path

from compare import DATASETS, SAMPLES, Cell, can_predict, measure_in_quiet, measured, measuring_arguments, not_finite, \
    read_measurements
from harness import HERE, Store, milliseconds, number, print_table, stop_on_sigterm

BASE = "decoupled"
COMPARED = ["nested", "nested-diagonal", "nested-diagonal-300"]
MOST_OVER_FLOOR = 1.5
PRECISIONS = {"f64": "f64", "mixed": "f32"}     # ours, and what compare.py calls it


def target(model, hidden):
    """The largest ratio to the decoupled layer that is wanted, of a step and of a prediction."""
    return {"nested": 0.92, "nested-diagonal": 0.50 if hidden < 4 else 0.45, "nested-diagonal-300": 1.0}[model]


# ---------------------------------------------------------------- measuring

def run(options):
    store = Store(options.out)
    store.start_run(options.ours, shlex.join(["python3", *sys.argv]))
    for precision in options.precisions:
        for hidden in options.hidden:
            cells = [Cell(options.dataset, hidden, model, PRECISIONS[precision]) for model in [BASE, *COMPARED]]
            for turn in range(options.rounds):
                if not all(has_round(options, store, cell, turn) for cell in cells):
                    for cell in cells:      # all of them, so that none is set against an older time
                        measure_in_quiet(options, store, cell, "ours", turn)


def has_round(options, store, cell, turn):
    return any(row["round"] == turn for row in measured(options, store.rows, cell))


# ---------------------------------------------------------------- tables

def print_report(path):
    """The machine, then for each precision the table of steps and, if measured, of predictions."""
    rows = read_measurements(path)
    for precision, stored in PRECISIONS.items():
        some = [row for row in rows if row["precision"] == stored and row["status"] == "ok"]
        if not some:
            continue
        words = f"{some[0]['dataset']}, {precision}, {some[0]['threads']} threads"
        print(f"\n### Training step, {words}\n")
        ratio_table(some, "seconds", floor_columns)
        if any(row.get("predict_seconds") for row in some):
            print(f"\n### Prediction of {some[0]['predict']} rows with {SAMPLES} samples, {words}\n")
            ratio_table(some, "predict_seconds", lambda found: {})


def ratio_table(rows, quantity, extra):
    """One line a depth and model: its time, its ratio to the decoupled layer, and what is wanted of it."""
    lines, header, met = [], [], []
    for hidden in dict.fromkeys(row["hidden"] for row in rows):
        for model in [BASE, *COMPARED]:
            found = [row for row in rows if (row["hidden"], row["model"]) == (hidden, model) and row.get(quantity)]
            base = {row["round"]: row[quantity] for row in rows
                    if (row["hidden"], row["model"]) == (hidden, BASE) and row.get(quantity)}
            ratios = [row[quantity] / base[row["round"]] for row in found if row["round"] in base]
            verdict = {"ratio (min..max)": "–", "target": "–", "met": "–"}
            if ratios and model != BASE:
                met.append(statistics.median(ratios) <= target(model, hidden))
                verdict = {"ratio (min..max)": f"{statistics.median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f})",
                           "target": target(model, hidden), "met": "yes" if met[-1] else "no"}
            line = {"hidden": hidden, "model": model,
                    "ms (min..max)": milliseconds([row[quantity] for row in found]) + not_finite(found), **verdict,
                    **extra(found)}
            header = list(line)
            lines.append(list(line.values()))
    print_table(header, lines, left=2)
    print(f"\n{sum(met)} of {len(met)} ratios meet their target.")


def floor_columns(found):
    """The floor that the program measured for itself in the same runs, the step over it, and peak memory."""
    floors = [row["details"]["floor_seconds"] for row in found if row["details"].get("floor_seconds")]
    columns = {"floor ms": "–", f"step / floor (at most {MOST_OVER_FLOOR})": "–", "peak MiB": "–"}
    if floors:
        over = statistics.median(row["seconds"] for row in found) / statistics.median(floors)
        columns["floor ms"] = milliseconds([statistics.median(floors)])
        columns[f"step / floor (at most {MOST_OVER_FLOOR})"] = f"{over:.2f}"
    if found:
        columns["peak MiB"] = number(max(row["peak_memory_mib"] for row in found))
    return columns


# ---------------------------------------------------------------- arguments

def parse():
    words = lambda text: [word for word in text.split(",") if word]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--table", metavar="FILE", help="print the tables of a file and end")
    add("--out", default=str(HERE / "layers.jsonl"), help="the file of measurements; continued if it is there")
    add("--dataset", default="protein", help=f"one of {','.join(DATASETS)} or ROWSxCOLUMNS")
    add("--hidden", type=lambda text: [int(word) for word in words(text)], default=[1, 4])
    add("--precisions", type=words, default=list(PRECISIONS))
    add("--predict", type=int, default=1000, metavar="ROWS",
        help=f"time a prediction with {SAMPLES} samples too; 0: none")
    measuring_arguments(add)
    options = parser.parse_args()
    for name in set(options.precisions) - set(PRECISIONS):
        parser.error(f"there is no precision `{name}`; there are {', '.join(PRECISIONS)}")
    if not options.table:
        if not Path(options.ours).exists():
            parser.error(f"{options.ours} is not there: cargo build --release")
        options.ours_predicts = bool(options.predict) and can_predict(options.ours)
    return options


def main():
    options = parse()
    if not options.table:
        stop_on_sigterm()
        try:
            run(options)
        except KeyboardInterrupt:
            sys.exit("stopped: the same command goes on from here")
    print_report(options.table or options.out)


if __name__ == "__main__":
    main()
