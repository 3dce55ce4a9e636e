#!/usr/bin/env python3
"""How a training step of deepgp grows: one factor varied at a time, and its memory beside that of two peers.

    python3 benchmarks/scaling.py --out benchmarks/scaling.jsonl

The base is 10,000 rows in one batch, 8 columns, one hidden layer of width 10, decoupled with 500 inducing inputs of
the mean and 100 of the covariance. The values of a factor are measured alternately, round after round. A stopped run goes on where it
was; a run that finds everything in the file only prints the tables.
"""
import argparse
import shlex
import statistics
import sys
from pathlib import Path

from harness import HERE, ROOT, Store, machine, milliseconds, number, print_table, run_json, stop_on_sigterm, \
    wait_until_quiet

BASE = {"rows": 10000, "columns": 8, "hidden_layers": 1, "width": 10, "mean_inducing": 500,
        "covariance_inducing": 100, "threads": 2}


class Factor:
    """One factor: its values, and `units`, by which the time is expected to grow in proportion."""

    def __init__(self, title, values, unit, units=float):
        self.title, self.values, self.unit, self.units = title, values, unit, units


FACTORS = {
    "threads": Factor("Threads", [1, 2], "thread", lambda n: 1 / n),
    "rows": Factor("Rows of a batch", [1000, 3000, 10000, 30000, 100000, 1000000], "1000 rows", lambda n: n / 1000),
    "mean_inducing": Factor("Inducing inputs of the mean, M_a", [100, 200, 500, 1000, 2000], "inducing input"),
    "covariance_inducing": Factor("Inducing inputs of the covariance, M_b", [50, 100, 200, 400], "inducing input"),
    "hidden_layers": Factor("Hidden layers", list(range(9)), "layer", lambda n: n + 1),
    "width": Factor("Outputs of a hidden layer", [5, 10, 20, 40], "output"),
}
MEMORY_PEERS = {"torch-eager": ("torch eager", "peer_torch.py"), "jax": ("JAX", "peer_jax.py")}


# ---------------------------------------------------------------- measuring

def ours_command(options, point, steps):
    flags = [word for name, value in point.items() for word in (f"--{name.replace('_', '-')}", value)]
    return [options.ours, "benchmark", *flags, "--nested=false", "--covariance-form", "whitened",
            "--batch-size", point["rows"], "--precision", options.precision, "--steps", steps, "--json"]


def peer_command(options, program, point):
    dtype = "f64" if options.precision == "f64" else "f32"
    return [options.python, HERE / "peers" / program, "--dataset", f"{point['rows']}x{point['columns']}",
            "--batch", point["rows"], "--hidden", point["hidden_layers"], "--width", point["width"],
            "--model", "decoupled", "--Ma", point["mean_inducing"], "--Mb", point["covariance_inducing"],
            "--dtype", dtype, "--threads", point["threads"], "--warmup", 1, "--iters", 2]


def steps_for(options, point):
    """Few steps where each takes seconds."""
    return options.steps if point["rows"] <= 30000 else 3


def point_of(options, factor=None, value=None):
    point = {**BASE, "threads": options.threads}
    return {**point, factor: value} if factor else point


def key_of(options, table, value):
    """What must agree for a measurement of the file to be taken."""
    return {"table": table, "value": value, "precision": options.precision, "threads": options.threads}


def run_factor(options, store, factor):
    """Rounds over the values of a factor; what the file holds is left out."""
    for turn in range(options.rounds):
        for value in FACTORS[factor].values:
            point = point_of(options, factor, value)
            if value == 1000000 and turn > 0:
                continue                # a minute for each of its measurements: one has to do
            key = {**key_of(options, factor, value), "runner": "ours", "round": turn}
            measure(options, store, key, ours_command(options, point, steps_for(options, point)))


def run_memory(options, store):
    """Peak memory of a step on all rows at once, ours and the peers'.

    The peers run without the allocator settings of compare.py: those trade memory for time.
    """
    for rows in options.memory_rows:
        point = point_of(options, "rows", rows)
        key = {**key_of(options, "memory", rows), "round": 0}
        measure(options, store, {**key, "runner": "ours"}, ours_command(options, point, 1))
        for peer in options.peers:
            command = peer_command(options, MEMORY_PEERS[peer][1], point)
            measure(options, store, {**key, "runner": peer}, command, options.memory_limit * 1024)


def measure(options, store, key, command, memory_limit_mib=None):
    """Runs one program unless the file has it, and keeps seconds and peak memory."""
    if find(store.rows, key):
        return
    wait_until_quiet(options.max_others, 60 * options.quiet_wait)
    outcome = run_json(command, time_limit=options.process_limit, memory_limit_mib=memory_limit_mib)
    found = outcome.row
    row = {**key, "status": outcome.status, "error": outcome.error, "others_share": outcome.others_share,
           "seconds": found.get("seconds_per_step", found.get("sec_per_iter")),
           "peak_memory_mib": found.get("peak_memory_mib") or round(outcome.peak_mib, 1)}
    store.add(row)
    result = f"{milliseconds([row['seconds']])} ms" if outcome.status == "ok" else f"{outcome.status} {outcome.error}"
    print(f"{key['table']} {key['value']}, {key['runner']}, round {key['round'] + 1}: {result}", file=sys.stderr,
          flush=True)


def find(rows, key):
    return [row for row in rows if all(row.get(name) == value for name, value in key.items())]


# ---------------------------------------------------------------- tables

def print_factor(options, store, factor):
    """Time, time per unit, and what each added unit cost: equal numbers in a column mean linear growth."""
    kind, lines, before = FACTORS[factor], [], None
    for value in kind.values:
        found = find(store.rows, {**key_of(options, factor, value), "runner": "ours"})
        times = [row["seconds"] for row in found if row["seconds"]]
        if not times:
            lines.append([value, found[-1]["status"] if found else "–", "–", "–", "–"])
            continue
        ms, units = 1e3 * statistics.median(times), kind.units(value)
        added = number_or_dash(before and (ms - before[0]) / (units - before[1]))
        lines.append([value, milliseconds(times), number(ms / units), added,
                      number(max(row["peak_memory_mib"] for row in found))])
        before = ms, units
    per = "ms × threads" if factor == "threads" else f"ms per {kind.unit}"
    header = [kind.title, "ms a step (min..max)", per, f"ms per added {kind.unit}", "peak MiB"]
    if factor == "threads":             # an added thread takes time away: the column would say nothing
        header, lines = drop_column(header, 3), [drop_column(line, 3) for line in lines]
    print(f"\n### {kind.title}\n")
    print_table(header, lines, left=0)


def drop_column(line, index):
    return line[:index] + line[index + 1:]


def number_or_dash(value):
    return "–" if value is None else f"-{number(-value)}" if value < 0 else number(value)


def print_memory(options, store):
    header = ["Rows, one batch", "program", "peak MiB", "KiB a row", "ms a step", "outcome"]
    lines = []
    for rows in options.memory_rows:
        for runner in ["ours", *options.peers]:
            found = find(store.rows, {**key_of(options, "memory", rows), "runner": runner})
            if found:
                row, peak = found[-1], found[-1]["peak_memory_mib"]
                name = "deepgp" if runner == "ours" else MEMORY_PEERS[runner][0]
                least = "" if row["status"] == "ok" else "over "
                lines.append([rows, name, least + number(peak), least + number(1024 * peak / rows),
                              milliseconds([row["seconds"]]) if row["seconds"] else "–", outcome_words(options, row)])
    print("\n### Memory of a training step\n")
    print_table(header, lines, left=0)


def outcome_words(options, row):
    """How it ended, as a reader would say it."""
    return {"ok": "done", "memory": f"stopped at {options.memory_limit:g} GiB",
            "timeout": f"stopped after {options.process_limit:g} s"}.get(row["status"], row["error"][:80])


# ---------------------------------------------------------------- arguments

def parse():
    words = lambda text: [word for word in text.split(",") if word]
    numbers = lambda text: [int(word) for word in words(text)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    tables = [*FACTORS, "memory"]
    add("--tables", type=words, default=tables, help=f"of {','.join(tables)}")
    add("--out", default=str(HERE / "scaling.jsonl"), help="the file of measurements; continued if it is there")
    add("--precision", choices=["f64", "mixed"], default="f64")
    add("--threads", type=int, default=2)
    add("--rounds", type=int, default=3)
    add("--steps", type=int, default=10, help="timed steps of a process; 3 above 30,000 rows")
    add("--peers", type=words, default=list(MEMORY_PEERS), help="of the memory table: torch-eager,jax")
    add("--memory-rows", type=numbers, default=[100000, 1000000])
    add("--memory-limit", type=float, default=18, metavar="GIB", help="at which a peer is stopped")
    add("--max-others", type=float, default=0.1, metavar="SHARE",
        help="of the machine that other programs may use when a process starts; 1: never mind")
    add("--quiet-wait", type=float, default=5, metavar="MINUTES", help="at most, before a process")
    add("--process-limit", type=float, default=600, metavar="SECONDS", help="for each process")
    add("--ours", default=str(ROOT / "target/release/deepgp"))
    add("--python", default=str(HERE / ".venv/bin/python"), help="with torch and jax")
    options = parser.parse_args()
    for names, known, what in [(options.tables, tables, "table"), (options.peers, MEMORY_PEERS, "peer")]:
        for name in set(names) - set(known):
            parser.error(f"there is no {what} `{name}`; there are {', '.join(known)}")
    if not Path(options.ours).exists():
        parser.error(f"{options.ours} is not there: cargo build --release")
    if "memory" in options.tables and options.peers and not Path(options.python).exists():
        parser.error(f"{options.python} is not there: run benchmarks/setup.sh or give --python")
    return options


def main():
    options = parse()
    store = Store(options.out)
    store.start_run(options.ours, shlex.join(["python3", *sys.argv]))
    stop_on_sigterm()
    try:
        for table in options.tables:
            run_memory(options, store) if table == "memory" else run_factor(options, store, table)
    except KeyboardInterrupt:
        sys.exit("stopped: the same command goes on from here")
    print(f"Machine: {machine()}. {options.precision}, {options.threads} threads where they are not the factor.")
    for table in options.tables:
        print_memory(options, store) if table == "memory" else print_factor(options, store, table)


if __name__ == "__main__":
    main()
