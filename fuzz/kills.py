#!/usr/bin/env python3
"""Kills fits or searches and goes on with them, so many times, and compares each finished model with one that was never cut.

    fuzz/kills.py 1000 [--command fit|tune] [--device cpu|cuda] [--seed 1] [--steps 20000]

The program is `target/debug/deepgp`, or what DEEPGP names. Two of three stops are kill -9, the third is Ctrl-C. After each stop what was
kept, a fit's checkpoint or a search's journal, must be whole and no older than before; at the end of each run all arrays of its model must
be the same bytes, but for those that hang on time.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fits import DEEPGP, FIT, contents, table


class Fits:
    """A fit, which `resume` goes on with from its checkpoint."""

    leaves = {"cut.deepgp.checkpoint"}

    def __init__(self, folder, options, steps):
        self.fit = f"{FIT} --checkpoint-every 10 --steps {steps} {options}"
        self.checkpoint = folder / "cut.deepgp.checkpoint"

    def whole(self):
        return f"{self.fit} --out whole.deepgp"

    def next(self):
        """The command that goes on with what is there, or begins."""
        return f"resume {self.checkpoint.name} --checkpoint-every 10" if self.checkpoint.exists() else f"{self.fit} --out cut.deepgp"

    def progress(self):
        """How far the run has come by what it has kept; nothing if it has kept nothing."""
        return contents(self.checkpoint)[1] if self.checkpoint.exists() else None

    def forget(self):
        """Removes what a finished run has left beside its model."""


class Searches:
    """A search for settings, with which the same command goes on by its journal."""

    leaves = {"cut.deepgp.checkpoint", "cut.deepgp.search", "whole.deepgp.search"}

    def __init__(self, folder, options, steps):
        search = FIT.replace("fit ", "tune ", 1)
        self.tune = f"{search} --candidates 6 --checkpoint-every 10 --steps {steps} {options}"
        self.search = folder / "cut.deepgp.search"
        self.checkpoint = folder / "cut.deepgp.checkpoint"

    def whole(self):
        return f"{self.tune} --out whole.deepgp"

    def next(self):
        return f"{self.tune} --out cut.deepgp"

    def progress(self):
        """The number of lines of the journal, of which the last may be torn, and the steps of the fit at its end."""
        journal = self.search / "journal.jsonl"
        if not journal.exists():
            return None
        lines = journal.read_text().split("\n")[:-1]
        for line in lines:
            json.loads(line)
        return len(lines), contents(self.checkpoint)[1] if self.checkpoint.exists() else 0

    def forget(self):
        shutil.rmtree(self.search)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", type=int)
    parser.add_argument("--command", choices=["fit", "tune"], default="fit")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20_000)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    folder = Path(tempfile.mkdtemp(prefix="kills."))
    (folder / "table.csv").write_text(table(200))
    runs = {"fit": Fits, "tune": Searches}[arguments.command](folder, f"--device {arguments.device}", arguments.steps)

    def start(command):
        return subprocess.Popen([DEEPGP, *command.split()], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def done(child, what):
        _, told = child.communicate()
        if child.returncode != 0:
            sys.exit(f"{what} ended with {child.returncode}: {told.decode()}")

    began = time.monotonic()
    done(start(runs.whole()), "the uninterrupted run")
    # About ten stops a run, however fast the machine is.
    longest = (time.monotonic() - began) / 5
    whole, _ = contents(folder / "whole.deepgp", arguments.device)
    cut = folder / "cut.deepgp"
    killed = interrupted = compared = early = 0
    furthest, began = None, time.monotonic()
    while killed + interrupted < arguments.kills or compared == 0 or furthest is not None:
        child = start(runs.next())
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
            done(child, "the last run")
        reached = runs.progress()
        if cut.exists() and not runs.checkpoint.exists():
            arrays, _ = contents(cut, arguments.device)
            if arrays != whole:
                other = sorted(name for name in whole | arrays if whole.get(name) != arrays.get(name))
                sys.exit(f"stop {stops}: the model is not that of the uninterrupted run: {', '.join(other)}")
            compared, furthest = compared + 1, None
            cut.unlink()
            runs.forget()
        elif reached is None:
            if furthest is not None:
                sys.exit(f"stop {stops}: what was kept is gone")
            early += 1
        else:
            if furthest is not None and reached < furthest:
                sys.exit(f"stop {stops}: from {furthest} back to {reached}")
            furthest = reached
        left = sorted(path.name for path in folder.iterdir())
        known = {"table.csv", "whole.deepgp", "cut.deepgp"} | runs.leaves
        strange = [name for name in left if name not in known and not name.startswith(".")]
        if strange:
            sys.exit(f"stop {stops}: it left {strange}")
        if stops % 100 == 99:
            print(f"{stops + 1} stops, {compared} models", flush=True)
    minutes = (time.monotonic() - began) / 60
    print(f"{killed} kills and {interrupted} interruptions in {minutes:.1f} minutes, {early} of them before anything was kept; "
          f"{compared} models were finished, each with the bytes of the uninterrupted one")


main()
