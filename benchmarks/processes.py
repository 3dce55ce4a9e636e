"""Where several processes stop paying: measures sums over processes and steps, fits a small model to them, and prints what it says.

    cargo build --release --workspace --examples && cargo build --release -p deepgp-cli --features mpi
    python3 benchmarks/processes.py                                   # messages and steps of this machine, and the table
    python3 benchmarks/processes.py --latency 2e-6 --bandwidth 12e9   # the same for another network, with this machine's steps
    python3 benchmarks/processes.py --pairs 5 --batch-size 80000      # 2 processes x 1 thread beside 1 process x 2 threads

A step of `B` rows on `R` processes of one thread each is taken to last

    T(R, B) = a + c B / R + 2 (R - 1) l + 16 n (R - 1) / R / w

where `a` is what each process computes by itself (everything of size M x M) and `c` what a row costs, fitted to the processor time of steps of two
sizes; `n` are the numbers that are summed (docs/clusters.md); `l` and `w` are the latency of a message and the bandwidth out of a process, fitted to
sums of many lengths. A sum is two exchanges of each process with each other one. The efficiency is T(1, B) / (R T(R, B)).
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

INPUTS, WIDTH, HIDDEN, MEAN, COVARIANCE = 8, 10, 2, 500, 200
RANKS = (8, 16, 32, 64, 128, 256, 512, 1024)
BATCHES = (10**4, 10**5, 10**6, 10**7)


def numbers_in_a_sum():
    """The numbers that the processes sum in a step, as docs/clusters.md has them."""
    total, shapes = 2 + 1, [(INPUTS, WIDTH)] + [(WIDTH, WIDTH)] * (HIDDEN - 1) + [(WIDTH, 1)]
    for d, p in shapes:
        total += MEAN * p + COVARIANCE**2 + p * COVARIANCE + MEAN * d + d + 1
    return total


def mpirun(count, program, *arguments):
    """A command that starts so many processes."""
    command = ["mpirun", "-n", str(count)]
    if "Open MPI" in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout:
        command += ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
    return command + [str(program), *arguments]


def least_squares(points):
    """The line `y = a + b x` with the least sum of squares of relative residuals."""
    weights = [1 / y**2 for _, y in points]
    total = sum(weights)
    mean_x = sum(w * x for w, (x, _) in zip(weights, points)) / total
    mean_y = sum(w * y for w, (_, y) in zip(weights, points)) / total
    slope = sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points))
    slope /= sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points))
    return mean_y - slope * mean_x, slope


def measured_messages(folder):
    """Latency and bandwidth of this machine, from the least times of sums over two processes."""
    lines = subprocess.run(mpirun(2, folder / "examples" / "sum_times"), capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in lines.splitlines() if line.startswith("2 ")]
    print("sums over 2 processes    least     median")
    for _, length, least, median in rows:
        print(f"{int(length):>12} numbers {1e6 * float(least):>8.1f} {1e6 * float(median):>10.1f} us")
    # Few numbers go another way.
    points = [(8 * int(length), float(least)) for _, length, least, _ in rows if int(length) > 4096]
    start, per_byte = least_squares(points)
    return max(start, 1e-7) / 2, 1 / per_byte


def processor_seconds(command):
    """The processor time of a command, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured_steps(folder):
    """What a step costs without its rows, and what a row costs, on one thread."""

    def step(rows, few, many):
        def run(steps):
            shape = ["--rows", rows, "--batch-size", rows, "--columns", INPUTS, "--width", WIDTH, "--hidden-layers", HIDDEN]
            shape += ["--mean-inducing", MEAN, "--covariance-inducing", COVARIANCE, "--threads", 1, "--steps", steps]
            return processor_seconds([str(folder / "deepgp"), "benchmark", "--json", *map(str, shape)])

        return (run(many) - run(few)) / (many - few)

    small, large = step(1000, 2, 22), step(8000, 2, 8)
    print(f"a step on one thread: {small:.3f} s of 1000 rows, {large:.3f} s of 8000")
    per_row = (large - small) / 7000
    return max(small - 1000 * per_row, 0.0), per_row


def table(alone, per_row, latency, bandwidth):
    """Prints efficiencies, and up to how many processes each batch pays."""
    numbers = numbers_in_a_sum()

    def seconds(ranks, rows):
        return alone + per_row * rows / ranks + 2 * (ranks - 1) * latency + 16 * numbers * (ranks - 1) / ranks / bandwidth

    print(
        f"\na = {1e3 * alone:.1f} ms, c = {1e6 * per_row:.1f} us a row, l = {1e6 * latency:.1f} us, w = {bandwidth / 1e9:.2f} GB/s, "
        f"n = {numbers}\n\nefficiency of R processes of one thread, by the rows of a minibatch\n"
    )
    print("       B " + "".join(f"{f'R = {ranks}':>10}" for ranks in RANKS) + "   half of it up to R =   fastest at R =")
    for rows in BATCHES:
        efficiency = {ranks: seconds(1, rows) / (ranks * seconds(ranks, rows)) for ranks in RANKS}
        half = max((ranks for ranks in range(1, 4097) if seconds(1, rows) / (ranks * seconds(ranks, rows)) >= 0.5))
        best = min(range(1, 4097), key=lambda ranks: seconds(ranks, rows))
        print(f"{rows:>8} " + "".join(f"{own:>10.2f}" for own in efficiency.values()) + f"{half:>24}{best:>17}")


def pairs(folder, rounds, batch_size):
    """Steps of 2 processes x 1 thread beside those of 1 process x 2 threads, by the clock, alternately."""
    fit = f"--target y --hidden-layers {HIDDEN} --width {WIDTH} --batch-size {batch_size} --quiet --overwrite --validation 0 --device cpu --json"

    def seconds(place, command, threads):
        def run(steps):
            arguments = ["fit", "table.csv", *fit.split(), "--threads", str(threads), "--steps", str(steps), "--out", "m.deepgp"]
            done = subprocess.run([*command, *arguments], cwd=place, check=True, capture_output=True, text=True).stdout
            return json.loads(done)["train_seconds"]

        few, many = 3, 3 + max(160_000 // batch_size, 5)
        return (run(many) - run(few)) / (many - few)

    import random

    with tempfile.TemporaryDirectory() as place:
        draw = random.Random(1).random
        with open(pathlib.Path(place) / "table.csv", "w") as out:
            out.write(",".join(f"x{i}" for i in range(INPUTS)) + ",y\n")
            for _ in range(2 * batch_size):
                x = [draw() for _ in range(INPUTS)]
                out.write(",".join(f"{v:.5f}" for v in x) + f",{x[0] * x[1] + 0.1 * draw():.5f}\n")
        program, ratios = str((folder / "deepgp").resolve()), []
        for number in range(rounds):
            two, one = seconds(place, mpirun(2, program), 1), seconds(place, [program], 2)
            ratios.append(one / two)
            print(f"round {number + 1}: 2 x 1 {two:.3f} s, 1 x 2 {one:.3f} s, {one / two:.3f}; load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"1 x 2 over 2 x 1: {statistics.median(ratios):.3f}")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("target/release"))
    arguments.add_argument("--latency", type=float, help="seconds of a message, in place of what is measured")
    arguments.add_argument("--bandwidth", type=float, help="bytes a second out of a process, in place of what is measured")
    arguments.add_argument("--pairs", type=int, default=0, metavar="ROUNDS")
    arguments.add_argument("--batch-size", type=int, default=8000, help="of the pairs")
    options = arguments.parse_args()
    print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    if options.pairs:
        return pairs(options.folder, options.pairs, options.batch_size)
    latency, bandwidth = options.latency, options.bandwidth
    if latency is None or bandwidth is None:
        found = measured_messages(options.folder)
        latency, bandwidth = latency or found[0], bandwidth or found[1]
    table(*measured_steps(options.folder), latency, bandwidth)


if __name__ == "__main__":
    main()
