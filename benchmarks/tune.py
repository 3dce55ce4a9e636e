"""A search beside the defaults, on the same rows: `python3 benchmarks/tune.py --data FOLDER --out FILE [--time-limit 10m]`.

For each table (`NAME.csv.gz` with the target `y`) a model is fitted with the defaults and another is searched for; validation rows pick, and the
same test rows judge both. Each line of the file is a table; those that are there are not made again. `--candidates N` searches for so many
settings whatever the time. `--at-once N` has so many tables in work at a time. `--table FILE` prints what was found.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLES = ("energy concrete airfoil skillcraft parkinsons kin8nm elevators pol bike protein molecules").split()


def run(arguments):
    """The JSON object of a command, with the seconds that it took, by the clock and of the processor."""
    started = time.monotonic()
    command = [os.environ.get("DEEPGP", ROOT / "target/release/deepgp"), *arguments, "--json", "--quiet"]
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as wrong:
        child = subprocess.Popen(command, stdout=told, stderr=wrong)
        # Of this child alone, whatever else is in work.
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        told.seek(0)
        wrong.seek(0)
        if status:
            raise RuntimeError(f"{command}: {told.read().decode()}{wrong.read().decode()}")
        return json.load(told), {"seconds": time.monotonic() - started, "processor_seconds": usage.ru_utime}


def compare(table, options, search):
    """One table: scores on test rows of the defaults, and of what was found."""
    with tempfile.TemporaryDirectory() as folder:
        common = [str(table), "--target", "y", "--test", "0.2", *options]
        default, default_time = run(["fit", *common, "--out", f"{folder}/default.deepgp"])
        tuned, tuned_time = run(["tune", *common, *search, "--out", f"{folder}/tuned.deepgp"])
    model = next(score for name, score in tuned["fit"]["scores"].items() if name in ("deep GP", "sparse GP"))
    return {
        "table": table.name.split(".")[0],
        "options": [*options, *search],
        "candidates": tuned["candidates"],
        "winner": tuned["winner"]["flags"],
        "default": {name: default["test"][name] for name in ("crps", "log_likelihood", "rmse")} | default_time,
        "tuned": {name: model[name] for name in ("crps", "log_likelihood", "rmse")} | tuned_time,
    }


def show(path):
    """The lines of a file as a table of Markdown."""
    print("| table | candidates | CRPS, default | tuned | log likelihood, default | tuned | what was found |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for line in map(json.loads, Path(path).read_text().splitlines()):
        default, tuned = line["default"], line["tuned"]
        print(
            f"| {line['table']} | {line['candidates']} | {default['crps']:.4g} | {tuned['crps']:.4g} "
            f"| {default['log_likelihood']:.4g} | {tuned['log_likelihood']:.4g} | `{line['winner']}` |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--time-limit", default="10m")
    parser.add_argument("--candidates")
    parser.add_argument("--steps")
    parser.add_argument("--threads", default="0")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--table", type=Path, help="print this file, and run nothing")
    arguments = parser.parse_args()
    if arguments.table:
        return show(arguments.table)
    options = ["--threads", arguments.threads, "--device", arguments.device]
    options += ["--steps", arguments.steps] if arguments.steps else []
    one = ["--candidates", arguments.candidates] if arguments.candidates else ["--time-limit", arguments.time_limit]
    done = arguments.out.read_text() if arguments.out.exists() else ""
    known = {json.loads(line)["table"] for line in done.splitlines()}
    new = [arguments.data / f"{name}.csv.gz" for name in arguments.tables.split(",") if name not in known]
    with ThreadPoolExecutor(arguments.at_once) as pool, arguments.out.open("a", buffering=1) as out:
        for done in as_completed([pool.submit(compare, table, options, one) for table in new]):
            out.write(json.dumps(done.result()) + "\n")
            print(json.dumps(done.result()), flush=True)


if __name__ == "__main__":
    main()
