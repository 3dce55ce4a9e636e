#!/usr/bin/env python3
"""Kills fits and resumes them, so many times, and compares each finished model with one that was never cut.

    fuzz/kills.py 1000 [--seed 1] [--steps 20000]

The command is `target/debug/deepgp`, or what DEEPGP names. Two of three stops are kill -9, the third is Ctrl-C. After each stop the
checkpoint must be whole and no older than before; at the end of each fit all arrays must be the same bytes, but for times.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fits import DEEPGP, FIT, contents, table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20_000)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    folder = Path(tempfile.mkdtemp(prefix="kills."))
    (folder / "table.csv").write_text(table(200))
    fit = f"{FIT} --checkpoint-every 10 --steps {arguments.steps}"

    def start(command):
        return subprocess.Popen([DEEPGP, *command.split()], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def done(child, what):
        _, told = child.communicate()
        if child.returncode != 0:
            sys.exit(f"{what} ended with {child.returncode}: {told.decode()}")

    began = time.monotonic()
    done(start(f"{fit} --out whole.deepgp"), "the uninterrupted fit")
    # About ten stops a fit, however fast the machine is.
    longest = (time.monotonic() - began) / 5
    whole, _ = contents(folder / "whole.deepgp")
    cut, checkpoint = folder / "cut.deepgp", folder / "cut.deepgp.checkpoint"
    killed = interrupted = compared = early = 0
    furthest, began = 0, time.monotonic()
    while killed + interrupted < arguments.kills or compared == 0 or furthest > 0:
        command = f"resume {checkpoint.name} --checkpoint-every 10" if checkpoint.exists() else f"{fit} --out {cut.name}"
        child = start(command)
        stops = killed + interrupted
        if stops < arguments.kills:
            time.sleep(chance.uniform(0.005, longest))
            ended = child.poll() is not None
            if stops % 3 == 2:
                child.send_signal(signal.SIGINT)
            else:
                child.kill()
            _, told = child.communicate()
            if not ended:
                killed, interrupted = killed + (stops % 3 != 2), interrupted + (stops % 3 == 2)
            # Ctrl-C is 130; before anything listens to it, the signal's own end; 0 if all was done by then.
            if child.returncode not in (0, 130, -signal.SIGKILL, -signal.SIGINT):
                sys.exit(f"stop {stops}: it ended with {child.returncode}: {told.decode()}")
        else:
            done(child, "the last fit")
        if checkpoint.exists():
            _, steps = contents(checkpoint)
            if steps < furthest:
                sys.exit(f"stop {stops}: from step {furthest} back to {steps}")
            furthest = steps
        elif cut.exists():
            arrays, _ = contents(cut)
            if arrays != whole:
                sys.exit(f"stop {stops}: the model is not that of the uninterrupted fit")
            compared, furthest = compared + 1, 0
            cut.unlink()
        else:
            if furthest > 0:
                sys.exit(f"stop {stops}: the checkpoint is gone")
            early += 1
        left = sorted(path.name for path in folder.iterdir())
        known = {"table.csv", "whole.deepgp", "cut.deepgp", "cut.deepgp.checkpoint"}
        strange = [name for name in left if name not in known and not name.startswith(".")]
        if strange:
            sys.exit(f"stop {stops}: it left {strange}")
        if stops % 100 == 99:
            print(f"{stops + 1} stops, {compared} models", flush=True)
    minutes = (time.monotonic() - began) / 60
    print(f"{killed} kills and {interrupted} interruptions in {minutes:.1f} minutes, {early} of them before the first checkpoint; "
          f"{compared} models were finished, each with the bytes of the uninterrupted one")


main()
