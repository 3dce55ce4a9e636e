#!/usr/bin/env python3
"""Fits, and goes on with fits, on a disk that fails at the n-th call that changes a file, for n = 1 to so many.

    fuzz/disk.py 200

The disk is `disk.c`, which a C compiler makes a library to be preloaded of. It is full from the n-th call on, or that call alone fails. After
each run model and checkpoint must be whole or absent, a model that is said to be there must be, nothing else may be left, and whatever
checkpoint is left must lead to the bytes of the fit that no disk failed. The command is `target/debug/deepgp`, or what DEEPGP names.
"""

import collections
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fits import DEEPGP, FIT, contents, table

STEPS = 60
FAULTS = ("full", "broken")


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    calls = int(sys.argv[1])
    place = Path(tempfile.mkdtemp(prefix="disk."))
    library = place / "disk.so"
    source = Path(__file__).resolve().parent / "disk.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    (place / "table.csv").write_text(table(60))
    fit = f"{FIT.replace('table.csv', '../table.csv')} --steps {STEPS} --checkpoint-every 1"
    resume = "resume cut.deepgp.checkpoint --checkpoint-every 1"

    def run(command, folder, **disk):
        environment = {**os.environ, **disk, **({"LD_PRELOAD": str(library)} if disk else {})}
        return subprocess.run([DEEPGP, *command.split()], cwd=folder, env=environment, capture_output=True, text=True)

    whole = place / "whole"
    whole.mkdir()
    done = run(f"{fit} --out cut.deepgp", whole, DISK_COUNT=str(place / "count"))
    if done.returncode != 0:
        sys.exit(f"the fit on a sound disk ended with {done.returncode}: {done.stderr}")
    expected, _ = contents(whole / "cut.deepgp")
    made = int((place / "count").read_text())
    print(f"a fit makes {made} calls", flush=True)
    endings, began = collections.Counter(), time.monotonic()
    for number in range(1, calls + 1):
        for fault in FAULTS:
            folder = place / f"{fault}{number}"
            folder.mkdir()
            for command in (f"{fit} --out cut.deepgp", resume):
                model, checkpoint = folder / "cut.deepgp", folder / "cut.deepgp.checkpoint"
                if command == resume and not checkpoint.exists():
                    continue
                what = f"{fault} at call {number} of `{command.split()[0]}`"
                done = run(command, folder, DISK_FAILS_AT=str(number), DISK_FAULT=fault)
                endings[command.split()[0], fault, done.returncode] += 1
                if done.returncode not in (0, 1) or "panicked" in done.stderr:
                    sys.exit(f"{what}: it ended with {done.returncode}: {done.stderr}")
                if done.returncode == 0 and not model.exists():
                    sys.exit(f"{what}: it said that all is well, and there is no model")
                if done.returncode == 1 and "rror" not in done.stderr:
                    sys.exit(f"{what}: it did not say what went wrong: {done.stderr}")
                for path in (model, checkpoint):
                    if path.exists() and run(f"info {path.name}", folder).returncode != 0:
                        sys.exit(f"{what}: half of {path.name} is left")
                if model.exists() and contents(model)[0] != expected:
                    sys.exit(f"{what}: the model is another one")
                strange = {path.name for path in folder.iterdir()} - {model.name, checkpoint.name}
                if strange:
                    sys.exit(f"{what}: it left {sorted(strange)}")
            if checkpoint.exists():
                done = run(resume, folder)
                if done.returncode != 0 or contents(model)[0] != expected:
                    sys.exit(f"{fault} at call {number}: the checkpoint leads elsewhere: {done.stderr}")
                endings["gone on with on a sound disk"] += 1
    print(f"n = 1 to {calls} in {(time.monotonic() - began) / 60:.1f} minutes: all was whole or absent, and nothing else was left")
    for ending, count in sorted(endings.items(), key=str):
        print(f"{count:5} {ending if isinstance(ending, str) else '%s, %s, exit code %d' % ending}")


main()
