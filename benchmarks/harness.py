"""Shared by compare.py and scaling.py: running one program for one line of JSON, and keeping what was measured."""
import contextlib
import hashlib
import json
import os
import resource
import signal
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

# By itself glibc gives large arrays back to the system at every free, and the next step pays for fresh pages. With
# these settings the allocator keeps its memory: the peers are faster so, and a careful user would run them so.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "8589934592", "MALLOC_TRIM_THRESHOLD_": "68719476736"}


@dataclass
class Outcome:
    """What became of one child: `status` is ok, failed, timeout or memory."""

    status: str
    row: dict = field(default_factory=dict)
    error: str = ""
    peak_mib: float = 0.0
    others_share: float = 0.0       # of the machine, used by other programs while the child ran


def run_json(command, env=None, time_limit=300.0, memory_limit_mib=None):
    """Runs `command` to its end or its limits; the row is the last line of its output that is a JSON object.

    The child leads a process group of its own, so that a limit or Ctrl-C also ends what it started (compilers).
    Memory is what the child holds, read ten times a second: a limit on addresses would stop programs that
    reserve more than they use.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        before = _processor_ticks(), _children_ticks()
        try:
            child = subprocess.Popen([str(word) for word in command], stdout=out, stderr=err, start_new_session=True,
                                     env={**os.environ, **(env or {})})
        except OSError as error:
            return Outcome("failed", error=str(error))
        try:
            status, peak = _watch(child, time_limit, memory_limit_mib)
        finally:
            _end_group(child)
        others = _others_share(before)
        row = _last_object(_text(out))
        if status == "ok" and (child.returncode != 0 or row is None or "error" in row):
            words = (row or {}).get("error") or _last_line(_text(err)) or f"exit status {child.returncode}"
            return Outcome("failed", error=words[:300], peak_mib=peak, others_share=others)
        return Outcome(status, row if status == "ok" else {}, peak_mib=peak, others_share=others)


def _watch(child, time_limit, memory_limit_mib):
    """Waits for the child; returns ok, timeout or memory, and its largest resident size in MiB."""
    end, peak = time.monotonic() + time_limit, 0.0
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=0.1)
            return "ok", peak
        peak = max(peak, _resident_peak_mib(child.pid))
        if memory_limit_mib and peak > memory_limit_mib:
            return "memory", peak
        if time.monotonic() > end:
            return "timeout", peak


def _resident_peak_mib(pid):
    """VmHWM of a process; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def _processor_ticks():
    """All ticks of all processors so far, and those not idle; zeros where the system does not tell."""
    with contextlib.suppress(OSError):
        # user nice system idle iowait irq softirq steal
        ticks = [int(word) for word in Path("/proc/stat").read_text().split(maxsplit=9)[1:9]]
        return sum(ticks), sum(ticks) - ticks[3] - ticks[4]
    return 0, 0


def _children_ticks():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return os.sysconf("SC_CLK_TCK") * (used.ru_utime + used.ru_stime)


def _others_share(before):
    """The share of all processors that was used since `before`, less what our own children used."""
    (total, busy), children = before
    now_total, now_busy = _processor_ticks()
    others = now_busy - busy - (_children_ticks() - children)
    return round(max(0.0, others / max(1, now_total - total)), 3)


def wait_until_quiet(most, seconds):
    """Waits, `seconds` at most, until other programs use less than the share `most` of the machine."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = _processor_ticks(), _children_ticks()
        time.sleep(0.5)
        if _others_share(before) <= most:
            return


def _end_group(child):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _text(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def _last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def _last_object(text):
    for line in reversed(text.splitlines()):
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                return value
    return None


class Store:
    """An append-only file of JSON lines: each measurement is on disk before the next one starts."""

    def __init__(self, path):
        self.path = Path(path)
        self.rows = read_rows(self.path) if self.path.exists() else []

    def start_run(self, ours, command):
        """Writes down the machine, the time, the command and the build of `ours`; refuses a file of another build."""
        build = hashlib.sha256(Path(ours).read_bytes()).hexdigest()[:12]
        if {row["build"] for row in self.rows if row.get("kind") == "run"} - {build}:
            raise SystemExit(f"{self.path} holds measurements of another build of {ours}: give a new file with --out")
        self.add({"kind": "run", "time": time.strftime("%Y-%m-%d %H:%M"), "machine": machine(), "build": build,
                  "command": command})

    def add(self, row):
        self.rows.append(row)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())


def read_rows(path):
    """The rows of a file; a last line cut short by a crash is left out."""
    rows = []
    for line in Path(path).read_text().splitlines():
        with contextlib.suppress(ValueError):
            rows.append(json.loads(line))
    return rows


def machine():
    """The processor, the processors this program may use, and the memory, in words."""
    def first(path, key):
        with contextlib.suppress(OSError):
            for line in Path(path).read_text().splitlines():
                if line.startswith(key):
                    return line.split(":", 1)[1].strip()
        return ""

    memory = first("/proc/meminfo", "MemTotal").split()
    gib = f", {int(memory[0]) / 2**20:.0f} GiB" if memory else ""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{first('/proc/cpuinfo', 'model name') or os.uname().machine}, {cores} processors{gib}"


def stop_on_sigterm():
    """Ends like Ctrl-C does, so that no child outlives its parent."""
    def stop(signum, frame):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)


def milliseconds(values):
    """`median (min..max)` of seconds, in ms with three significant digits; `–` for none."""
    if not values:
        return "–"
    middle = number(1e3 * statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({number(1e3 * min(values))}..{number(1e3 * max(values))})"


def number(value):
    """Three significant digits and never an exponent."""
    if value == 0 or value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3g}"


def print_table(header, rows, left=1):
    """A Markdown table; the first `left` columns are aligned left, the others right."""
    print("| " + " | ".join(header) + " |")
    print("|" + "|".join("---" if i < left else "---:" for i in range(len(header))) + "|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
