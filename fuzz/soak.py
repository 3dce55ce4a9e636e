#!/usr/bin/env python3
"""Watches one long fit, which saves its state every second, while its checkpoint is read again and again.

    fuzz/soak.py 60m

Memory and open files of the fit are sampled every second: after the first fifth of the time neither may grow by more than a tenth. Whoever
reads the checkpoint meanwhile must find a whole one each time. The command is `target/debug/deepgp`, or what DEEPGP names.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fits import DEEPGP, FIT, table

UNITS = {"s": 1, "m": 60, "h": 3600}
# Growth that is none: what an allocator keeps back, in KiB, and a file that is being written.
SLACK = {"memory": 4096, "files": 2}


def sample(process):
    """Resident memory in KiB, and the number of open files."""
    status = Path(f"/proc/{process}/status").read_text()
    memory = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
    return memory, len(os.listdir(f"/proc/{process}/fd"))


def main():
    if len(sys.argv) != 2 or sys.argv[1][-1:] not in UNITS or not sys.argv[1][:-1].isdigit():
        sys.exit(__doc__)
    seconds = int(sys.argv[1][:-1]) * UNITS[sys.argv[1][-1]]
    folder = Path(tempfile.mkdtemp(prefix="soak."))
    (folder / "table.csv").write_text(table(2000))
    checkpoint = folder / "long.deepgp.checkpoint"
    fit = f"{FIT} --steps 1000000000 --checkpoint-every 1s --out long.deepgp"
    long = subprocess.Popen([DEEPGP, *fit.split()], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    samples, reads, began = [], 0, time.monotonic()
    while time.monotonic() - began < seconds:
        time.sleep(1)
        if long.poll() is not None:
            sys.exit(f"the fit ended by itself, with {long.returncode}")
        samples.append(sample(long.pid))
        if checkpoint.exists() and len(samples) % 5 == 0:
            read = ["predict", checkpoint.name, "table.csv", "--out", "predictions.csv", "--threads", "1", "--quiet"]
            done = subprocess.run([DEEPGP, *read], cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"the checkpoint could not be read: {done.stderr}")
            reads += 1
    long.send_signal(signal.SIGINT)
    if long.wait(60) != 130:
        sys.exit(f"the fit ended with {long.returncode} after Ctrl-C")
    early, late = samples[:max(1, len(samples) // 5)], samples[len(samples) // 5:]
    for index, what in enumerate(SLACK):
        first, last = max(own[index] for own in early), max(own[index] for own in late)
        print(f"{what}: at most {first} in the first fifth, {last} after it")
        if last > 1.1 * first + SLACK[what]:
            sys.exit(f"{what} grew")
    print(f"{len(samples)} samples in {sys.argv[1]}, and {reads} predictions from the checkpoint meanwhile")


main()
