#!/usr/bin/env python3
"""Writes the first inputs of each target to fuzz/corpus, with deepgp's own writers where it has one: CSV, Parquet, models and checkpoints.

    fuzz/seeds.py

The command is `target/debug/deepgp`, or what DEEPGP names.
"""

import gzip
import io
import signal
import struct
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path

from fits import DEEPGP, table

CORPUS = Path(__file__).resolve().parent / "corpus"
ROWS = 12

MESSY = """id;Größe;"price, in €";sold on;ok;city
a1;1,5;$1,200;31.12.2024 7:05;true;Köln
a2;;12 %;1.2.2023 12:30;false;"Brno ""north\""
a3;-2,25;n/a;3.4.2021;TRUE;?
a4;1e3;(7);29.2.2024;no;Köln
"""
DATES = """2024-02-29
2024-02-29T23:59:58Z
1969-12-31 23:59:59.25
2001-09-09T01:46:40.123456789+01:00
2024/02/29 23:59
12/31/2024
31.12.2024 7:05
01-02-2024 12:30:15 AM
1/5/2024 11:59PM

NA
0000-01-01
9999-12-31 23:59:59.999999999-23:59
"""
JSON = {
    "two": '[{"number": 0.5, "kind": "a", "day": "2024-02-29", "open": true, "price": "$1,200"}, '
           '{"number": null, "kind": "z", "day": "2024-03-01T10:00:00Z", "open": "false", "price": 7}]',
    "gaps": '[{"number": "-1e3", "kind": "", "day": null, "open": null, "price": "", "more": 1}]',
}
ARFF = """% a comment
@RELATION 'an arm'
@attribute theta1 real
@ATTRIBUTE 'the angle' numeric
@attribute "y" REAL
@Data
1.5e-2, 3.0,-2
% rows
4,5,6
"""


def npy(kind, shape, fortran=False):
    """An array of small numbers, in version 1 of the format."""
    codes = {"<f8": "<d", ">f4": ">f", "<i2": "<h", "|b1": "<?", "<f2": "<e", "<u8": "<Q"}
    count = 1
    for axis in shape:
        count *= axis
    numbers = b"".join(struct.pack(codes[kind], i % 7) for i in range(count))
    header = f"{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + numbers


def npz(arrays, method):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", method) as file:
        for name, array in arrays.items():
            file.writestr(zipfile.ZipInfo(name + ".npy"), array, method)
    return archive.getvalue()


def keep(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def models(folder):
    """Models of each kind, their predictions, and a checkpoint of an unfinished fit."""

    def deepgp(arguments):
        subprocess.run([DEEPGP, *arguments.split(), "--quiet"], cwd=folder, check=True)

    lines = table(ROWS).splitlines()
    classes = [lines[0], *(line.rsplit(",", 1)[0] + "," + ("red", "blue", "green")[i % 3] for i, line in enumerate(lines[1:]))]
    counts = [lines[0], *(line.rsplit(",", 1)[0] + "," + str(i % 5) for i, line in enumerate(lines[1:]))]
    for name, text in [("numbers", lines), ("classes", classes), ("counts", counts)]:
        (folder / f"{name}.csv").write_text("\n".join(text) + "\n")
    small = "--target y --steps 4 --hidden-layers 1 --width 1 --validation 0.3 --threads 1"
    fits = {
        "noise": "numbers.csv --mean-inducing 4 --covariance-inducing 3",
        "transformed": "numbers.csv --inducing 3 --transform-target yeo-johnson --kernel matern32 --precision mixed",
        "sites": "numbers.csv --inducing 3 --objective sites --sites 2 --likelihood gaussian --covariance-form whitened",
        "classes": "classes.csv --inducing 3 --mean-form dual",
        "counts": "counts.csv --inducing 3 --task counts --covariance-form standard",
    }
    for name, own in fits.items():
        deepgp(f"fit {own} {small} --out {name}.deepgp")
        keep("model", name, (folder / f"{name}.deepgp").read_bytes())
    for suffix, target in [("csv", "csv"), ("parquet", "parquet")]:
        deepgp(f"predict noise.deepgp numbers.csv --keep a --quantiles 0.05,0.95 --threads 1 --out predictions.{suffix}")
        keep(target, "predictions", (folder / f"predictions.{suffix}").read_bytes())
    deepgp("predict classes.deepgp classes.csv --keep a,y --threads 1 --out classes.parquet")
    keep("parquet", "classes", (folder / "classes.parquet").read_bytes())
    for name, own in [("noise", fits["noise"]), ("classes", fits["classes"])]:
        endless = f"fit {own} {small.replace('--steps 4', '--steps 100000000')} --patience 100000 --checkpoint-every 1 --out cut.deepgp"
        fit = subprocess.Popen([DEEPGP, *endless.split(), "--quiet"], cwd=folder)
        checkpoint = folder / "cut.deepgp.checkpoint"
        while not checkpoint.exists():
            time.sleep(0.01)
        time.sleep(0.2)
        fit.send_signal(signal.SIGKILL)
        fit.wait()
        keep("checkpoint", name, checkpoint.read_bytes())
        checkpoint.unlink()


def main():
    plain = table(ROWS).encode()
    keep("csv", "plain", plain)
    keep("csv", "messy", MESSY.encode())
    keep("csv", "latin", MESSY.replace("€", "EUR").encode("latin-1"))
    keep("gzip", "plain", gzip.compress(plain, mtime=0))
    keep("gzip", "deflated", gzip.compress(MESSY.encode(), mtime=0)[10:])
    for name, array in [("c", npy("<f8", (5, 3))), ("fortran", npy(">f4", (5, 3), True)), ("one", npy("<i2", (7,))),
                        ("half", npy("<f2", (4, 2))), ("unsigned", npy("<u8", (4, 2)))]:
        keep("npy", name, array)
    arrays = {"X": npy("<f8", (5, 3)), "y": npy("|b1", (5,))}
    keep("npz", "deflated", npz(arrays, zipfile.ZIP_DEFLATED))
    keep("npz", "stored", npz(arrays, zipfile.ZIP_STORED))
    keep("dates", "every", DATES.encode())
    keep("dates", "one", b"2024-01-01 10:00:00\n2024-01-02 11:30:00\n2024-01-03 12:45:59.5\n")
    for name, rows in JSON.items():
        keep("json", name, rows.encode())
    keep("arff", "plain", ARFF.encode())
    for i in range(12):
        keep("step", f"{i:02}", bytes((37 * i + 101 * j + j * j * (i + 3)) % 256 for j in range(150)))
    with tempfile.TemporaryDirectory() as folder:
        models(Path(folder))


main()
