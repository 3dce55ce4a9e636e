"""What a training step costs with rows on disk, beside the same step with rows in memory: in processor time, alternately.

    python3 benchmarks/rows_on_disk.py [--binary target/release/deepgp] [--rows 200000] [--rounds 3]

The processor time of a step is that of a fit of many steps less that of a fit of few, over the steps between, threads of their own that read rows
included. Prints a line for each round and the ratio of the medians.
"""

import argparse
import pathlib
import random
import resource
import statistics
import subprocess
import tempfile

FEW, MANY = 5, 45
FIT = "--target y --hidden-layers 2 --width 10 --threads 1 --patience 1000 --overwrite --quiet --transform-target none"


def write_table(path, rows):
    """Writes eleven uniform inputs and a target of three of them."""
    draw = random.Random(1).random
    with open(path, "w") as out:
        out.write(",".join([f"x{i}" for i in range(11)] + ["y"]) + "\n")
        for _ in range(rows):
            x = [round(draw(), 5) for _ in range(11)]
            out.write(",".join(map(str, x)) + f",{x[0] * x[1] + x[2] ** 2 + 0.1 * draw():.5f}\n")


def processor_seconds(binary, folder, kept, steps):
    """The processor time of a fit, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [binary, "fit", "table.csv", *FIT.split(), "--steps", str(steps), "--rows-in", kept, "--out", f"{kept}.deepgp"]
    subprocess.run(command, cwd=folder, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--binary", default="target/release/deepgp")
    arguments.add_argument("--rows", type=int, default=200_000)
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    binary = str(pathlib.Path(options.binary).resolve())
    steps = {"memory": [], "disk": []}
    with tempfile.TemporaryDirectory() as folder:
        write_table(pathlib.Path(folder) / "table.csv", options.rows)
        for number in range(options.rounds):
            for kept, seconds in steps.items():
                few = processor_seconds(binary, folder, kept, FEW)
                many = processor_seconds(binary, folder, kept, MANY)
                seconds.append((many - few) / (MANY - FEW))
            print(f"round {number + 1}: " + ", ".join(f"{kept} {own[-1]:.3f} s a step" for kept, own in steps.items()), flush=True)
    medians = {kept: statistics.median(own) for kept, own in steps.items()}
    print(f"disk over memory: {medians['disk'] / medians['memory']:.3f}")


if __name__ == "__main__":
    main()
