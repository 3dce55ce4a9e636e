#!/usr/bin/env python3
"""Times `deepgp serve`: how long requests of 1 and 100 rows wait for their answers, alone and under load.

    cargo build --release --package deepgp-cli && python3 benchmarks/serve.py

It simulates a table of 3000 rows of 8 numbers and a category, and fits a model of the default size to it: two hidden
layers of 10, 500 inducing inputs for the mean and 200 for the covariance. Few steps do, as the time of an answer does
not hang on the numbers. Then it starts the server on a free port, and lets clients ask. Each client has a connection of
its own that stays open, and sends its next request as soon as it has the answer. A latency is from before the request's
first byte is sent to after the answer's last byte is read; Python's part of it shows beside it, as the latency of
`GET /health`. Every answer must have as many predictions as rows were sent. After the fit all takes 42 seconds.

It needs nothing but Python's standard library. Clients and server share the machine: run nothing beside it.
"""

import argparse
import http.client
import json
import math
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOWNS = ["Bath", "Hull", "Leeds", "Ripon", "York"]
TABLE_ROWS, COLUMNS = 3000, 8
WARM_UP = 1.0  # seconds at the start of a measurement that do not count


def rows_at_random(count, seed):
    """Rows of the table, as objects: a number for each column, and a town."""
    draw = random.Random(seed)
    return [
        {**{f"x{i}": round(draw.gauss(0, 1), 6) for i in range(COLUMNS)}, "town": draw.choice(TOWNS)}
        for _ in range(count)
    ]


def write_table(path):
    """The table that the model is fitted to: a bent function of the columns, and noise."""
    draw, rows = random.Random(0), rows_at_random(TABLE_ROWS, 1)
    with open(path, "w", encoding="utf-8") as out:
        print(*rows[0], "y", sep=",", file=out)
        for row in rows:
            y = math.sin(2 * row["x0"]) + row["x1"] * row["x2"] + TOWNS.index(row["town"]) + draw.gauss(0, 0.2)
            print(*row.values(), round(y, 6), sep=",", file=out)


class Server:
    """`deepgp serve`, from its start to its end."""

    def __init__(self, deepgp, model, threads):
        command = [deepgp, "serve", model, "--address", "127.0.0.1:0", "--device", "cpu", "--json", "--quiet"]
        command += ["--threads", threads]
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
        ready = self.process.stdout.readline()
        if not ready:
            sys.exit(f"the server ended with {self.process.wait()}")
        self.address = urllib.parse.urlsplit(json.loads(ready)["url"])

    def connection(self):
        return http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(timeout=60) != 130:
            sys.exit(f"the server ended with {self.process.returncode}")


class Client(threading.Thread):
    """Asks again and again, and takes down how long each answer took."""

    def __init__(self, server, body, rows, begin, end):
        super().__init__(daemon=True)
        self.server, self.body, self.rows, self.begin, self.end = server, body, rows, begin, end
        self.latencies, self.problem = [], None

    def run(self):
        try:
            connection = self.server.connection()
            while (sent := time.monotonic()) < self.end:
                if self.body is None:
                    connection.request("GET", "/health")
                else:
                    connection.request("POST", "/predict", self.body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read()
                took = time.monotonic() - sent
                if answer.status != 200:
                    self.problem = f"status {answer.status}: {text[:200]!r}"
                    return
                if self.rows and len(json.loads(text)["predictions"]) != self.rows:
                    self.problem = "an answer has another number of predictions"
                    return
                if sent >= self.begin:
                    self.latencies.append(took)
        except Exception as error:
            self.problem = repr(error)


def quantile(ordered, share):
    """The value that a share of the sorted values does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def measure(server, rows, clients, seconds):
    """Latencies in milliseconds of requests with `rows` rows (0: of `/health`), asked by so many clients at once."""
    begin = time.monotonic() + WARM_UP
    requests = [{"rows": rows_at_random(rows, 2 + i), "interval": 0.9} for i in range(clients)]
    bodies = [json.dumps(request) if rows else None for request in requests]
    asking = [Client(server, body, rows, begin, begin + seconds) for body in bodies]
    for client in asking:
        client.start()
    for client in asking:
        client.join()
    problems = [client.problem for client in asking if client.problem]
    latencies = sorted(1000 * took for client in asking for took in client.latencies)
    if problems or not latencies:
        sys.exit(f"{rows} rows, {clients} clients: {problems[0] if problems else 'no answer came in time'}")
    return {
        "rows": rows,
        "clients": clients,
        "requests": len(latencies),
        "per_second": len(latencies) / seconds,
        "p50_ms": quantile(latencies, 0.5),
        "p90_ms": quantile(latencies, 0.9),
        "p99_ms": quantile(latencies, 0.99),
        "most_ms": latencies[-1],
    }


def fit(deepgp, folder, model_options):
    """The path of a model of default size, fitted to a simulated table."""
    table, model = folder / "table.csv", folder / "model.deepgp"
    write_table(table)
    command = [deepgp, "fit", table, "--target", "y", "--steps", "20", "--device", "cpu", "--quiet", "--out", model]
    subprocess.run([str(word) for word in [*command, *model_options]], check=True)
    return model


def main():
    parser = argparse.ArgumentParser(description="Times `deepgp serve`.")
    parser.add_argument("--deepgp", default=ROOT / "target/release/deepgp", help="the command (%(default)s)")
    parser.add_argument("--model", type=Path, help="a model of the simulated table, in place of a fit")
    parser.add_argument("--rows", default="0,1,100", help="rows of a request, with commas; 0 is /health (%(default)s)")
    parser.add_argument("--clients", default="1,8", help="clients at once, several with commas (%(default)s)")
    parser.add_argument("--seconds", type=float, default=8, help="how long each measurement takes (%(default)s)")
    parser.add_argument("--threads", type=int, default=0, help="threads of the server; 0 for all (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each measurement")
    options, model_options = parser.parse_known_args()  # the others are of `deepgp fit`
    found, load = [], os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        model = options.model or fit(options.deepgp, Path(folder), model_options)
        with Server(options.deepgp, model, options.threads) as server:
            for rows in map(int, options.rows.split(",")):
                for clients in map(int, options.clients.split(",")):
                    found.append(measure(server, rows, clients, options.seconds if rows else min(options.seconds, 2)))
                    if options.json:
                        print(json.dumps(found[-1]), flush=True)
    if not options.json:
        version = subprocess.run([options.deepgp, "--version"], capture_output=True, text=True, check=True).stdout
        print(f"{version.strip()}, {os.cpu_count()} cores ({platform.machine()}), load before it began: {load:.1f}\n")
        print("| rows a request | clients | requests | requests a second | p50, ms | p90, ms | p99, ms | most, ms |")
        print("|---:|---:|---:|---:|---:|---:|---:|---:|")
        for row in found:
            what = row["rows"] or "`/health`"
            times = " | ".join(f"{row[key]:.3g}" for key in ("per_second", "p50_ms", "p90_ms", "p99_ms", "most_ms"))
            print(f"| {what} | {row['clients']} | {row['requests']} | {times} |")


if __name__ == "__main__":
    main()
