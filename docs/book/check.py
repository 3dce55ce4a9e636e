"""Runs what the book says, and builds it: `python docs/book/check.py [--update] [PAGE …]`.

Each page of `docs/`, and the README, is run by itself, top to bottom, in an empty folder with the files of
`docs/book/tables`:

- `console` blocks: lines after `$ ` are commands, the others what they print (both streams);
- `sh` blocks: commands that must succeed, whatever they print;
- `python` blocks share one namespace a page; a `text` block right after one is what it prints;
- `rust` blocks are regions of files that cargo compiles, from a line `// book: NAME` to `// book: end`.

What is printed has to be what the page shows, but for white space, for `...` (anything within a line; on a line of its
own, any lines), and for numbers with a decimal point or more than three digits, which may differ by a fifth: training
on another processor ends elsewhere. Lines of progress are left out, and no GPU is used. Comments right before a block
say what is special about it:

- `<!-- not run: REASON -->`: it is only shown;
- `<!-- exit: 2 -->`: its last command ends with this code;
- `<!-- file: NAME -->`: it is a file of this name;
- `<!-- from: FILE NAME -->`: it is that region of a file of the repository.

`<!-- keep: FILE as PICTURE -->` anywhere says that the commands above made a file that the book shows as this picture.

`--update` writes what was printed, regions and pictures into the book instead, where they differ. In the environment,
DEEPGP is the binary (`target/debug/deepgp` otherwise), and EXAMPLES the folder of the examples that `cargo test` builds
(`examples` beside the binary otherwise).
"""

import argparse
import contextlib
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parents[1]
FENCE = re.compile(r"^(`{3,})(\w*)\s*$")
COMMENT = re.compile(r"^<!-- (not run|exit|file|from|keep): (.*) -->$")
NUMBER = re.compile(r"\d+\.\d+(?:e-?\d+)?|\d{4,}")
# How far a command is, which it tells now and then: left out, as a slow machine hears more of it.
PROGRESS = re.compile(
    r"^(step \d+/\d+ |(choosing|comparing|looking|predicting|preparing|reading|scoring|writing)\b[^:]*: \d)"
)
# What is different from run to run, and what `--update` writes in its place.
VARIES = (
    (re.compile(r"\d+ steps in [^:;]+([:;])"), r"... steps in ...\1"),
    (re.compile(r"written .* by deepgp \S+"), "written ... by deepgp ..."),
    (re.compile(r"^(table +)/\S*?([\w-]+\.csv)"), r"\1...\2"),
    (re.compile(r"step \d+, the best"), "step ..., the best"),
    (re.compile(r"/tmp/\S*/"), ".../"),
)
# What may be shown without being run; everything else needs a reason.
SHOWN = {"", "text", "csv", "toml"}


class Wrong(Exception):
    """What a page says is not so."""


@dataclass
class Block:
    """A fenced block, or a comment that stands alone: `lines[start:end]` of its page is what it holds."""

    language: str
    start: int
    end: int
    says: dict = field(default_factory=dict)


def blocks(lines):
    """The blocks of a page, with the comments before them."""
    says, i = {}, 0
    while i < len(lines):
        if comment := COMMENT.match(lines[i]):
            if comment[1] == "keep":
                yield Block("keep", i, i + 1, {"keep": comment[2]})
            else:
                says[comment[1]] = comment[2]
        elif fence := FENCE.match(lines[i]):
            end = next((j for j in range(i + 1, len(lines)) if lines[j].rstrip() == fence[1]), None)
            if end is None:
                raise Wrong(f"line {i + 1}: this block has no end")
            yield Block(fence[2], i + 1, end, says)
            says, i = {}, end
        elif says and lines[i].strip():
            raise Wrong(f"line {i + 1}: a comment before this line speaks of a block, but there is none")
        i += 1


def same_line(shown, printed):
    """Whether a line is what is shown of it."""
    parts = re.split(rf"(\.\.\.|\s+|{NUMBER.pattern})", shown.strip())
    pattern, numbers = "", []
    for part in parts:
        if part == "...":
            pattern += ".*?"
        elif part and part.isspace():
            pattern += r"\s+"
        elif NUMBER.fullmatch(part):
            pattern += r"(\d+(?:\.\d+)?(?:e-?\d+)?)"
            numbers.append(float(part))
        else:
            pattern += re.escape(part)
    found = re.fullmatch(pattern, printed.strip())
    return found is not None and all(
        abs(float(f) - n) <= 0.2 * abs(n) + 0.02 for f, n in zip(found.groups(), numbers, strict=True)
    )


def same(shown, printed):
    """Whether lines are what is shown of them; `...` alone stands for any lines."""
    if not shown:
        return not printed
    if shown[0].strip() == "...":
        return any(same(shown[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and same_line(shown[0], printed[0]) and same(shown[1:], printed[1:])


def compare(shown, printed, where):
    """What is to be shown: `shown` where it is what was printed."""
    shown, printed = trimmed(shown), trimmed(printed)
    if same(shown, printed):
        return shown
    if UPDATE:
        return elided(printed)
    text = "\n    ".join
    raise Wrong(f"{where}: the book shows\n    {text(shown)}\n  but this was printed:\n    {text(printed)}")


def elided(lines):
    """Lines without what varies."""
    out = []
    for line in lines:
        for pattern, instead in VARIES:
            line = pattern.sub(instead, line)
        if line != "..." or out[-1:] != ["..."]:
            out.append(line)
    return out


def trimmed(lines):
    """Lines without white space at their ends, and without empty ones at both ends."""
    return (
        "\n".join(line.rstrip() for line in lines).strip("\n").split("\n")
        if any(line.strip() for line in lines)
        else []
    )


def commands(lines):
    """The commands of a console block, each with the number of its lines and what is shown to be printed."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif found and not found[-1][1] and found[-1][0][-1].endswith("\\"):
            found[-1][0].append(line)
        elif found:
            found[-1][1].append(line)
        else:
            raise Wrong("a console block begins with a command, `$ …`")
    return found


class Page:
    """A page, run in a folder of its own."""

    def __init__(self, path, folder, environment):
        self.path, self.folder, self.environment = path, folder, environment
        self.lines = path.read_text(encoding="utf-8").split("\n")
        self.namespace, self.printed, self.edits = {"__name__": "__main__"}, None, []
        self.done = self.skipped = 0

    def needs_package(self):
        """Whether a block of Python imports the package."""
        own = (block for block in blocks(self.lines) if block.language == "python" and "not run" not in block.says)
        return any("deepgp" in line for block in own for line in self.lines[block.start : block.end])

    def run(self):
        """Runs all blocks, and writes those that have changed if that is wanted."""
        for block in blocks(self.lines):
            try:
                self.block(block)
            except Wrong as wrong:
                raise Wrong(f"{self.path.relative_to(ROOT)}:{block.start}: {wrong}") from None
        for start, end, new in reversed(self.edits):
            self.lines[start:end] = new
        if self.edits:
            self.path.write_text("\n".join(self.lines), encoding="utf-8")

    def block(self, block):
        """Runs a block."""
        lines, language = self.lines[block.start : block.end], block.language
        printed, self.printed = self.printed, None
        if "not run" in block.says:
            self.skipped += 1
        elif "file" in block.says:
            (self.folder / block.says["file"]).write_text("\n".join(lines) + "\n", encoding="utf-8")
        elif "from" in block.says:
            self.replace(block, lines, region(*block.says["from"].split()))
        elif language == "keep":
            self.keep(*block.says["keep"].split(" as "))
        elif language == "console":
            self.console(block, lines)
        elif language == "sh":
            self.expect("\n".join(["set -e", *lines]), 0)
        elif language == "python":
            self.printed = self.python(block, lines)
        elif language == "text" and printed is not None:
            self.replace(block, lines, compare(lines, printed, "after the Python block"))
        elif language not in SHOWN:
            raise Wrong(f"a block of {language} has to say where it is from, or `<!-- not run: REASON -->`")
        else:
            return
        self.done += "not run" not in block.says

    def replace(self, block, old, new):
        """Takes down that a block is to hold other lines."""
        if old != new and trimmed(old) != trimmed(new):
            if not UPDATE:
                raise Wrong("this block is not what it is a copy of: `--update` copies it")
            self.edits.append((block.start, block.end, new))

    def expect(self, script, code):
        """Runs a script, and gives what it printed."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        ended = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment, text=True, **streams)
        if ended.returncode != code:
            raise Wrong(
                f"exit code {ended.returncode}, not {code}, of\n    {script}\n  which printed\n    {ended.stdout}"
            )
        return ended.stdout

    def console(self, block, lines):
        """Runs the commands of a console block, and compares what each prints."""
        found, new = commands(lines), []
        for i, (command, shown) in enumerate(found):
            code = int(block.says.get("exit", 0)) if i + 1 == len(found) else 0
            printed = self.expect("\n".join(command), code).split("\n")
            printed = [line for line in printed if not PROGRESS.match(line.rstrip())]
            kept = compare(shown, printed, command[0])
            blank = [""] if i + 1 < len(found) and shown and not shown[-1].strip() else []
            new += ["$ " + command[0], *command[1:], *kept, *blank]
        self.replace(block, lines, new)

    def python(self, block, lines):
        """Runs a block of Python, and gives what it printed."""
        code, out, here = "\n" * block.start + "\n".join(lines), io.StringIO(), Path.cwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(out):
                exec(compile(code, str(self.path), "exec"), self.namespace)
        except Exception:
            raise Wrong(traceback.format_exc()) from None
        finally:
            os.chdir(here)
        return out.getvalue().split("\n")

    def keep(self, made, picture):
        """Sees to it that a picture is made, and that the book has one of this name."""
        made, picture = self.folder / made, self.path.parent / picture
        if not made.is_file():
            raise Wrong(f"the commands above did not make {made.name}")
        if UPDATE:
            picture.write_bytes(made.read_bytes())
        if not picture.is_file():
            raise Wrong(f"{picture.name} is not there: `--update` copies it")


def region(file, name):
    """The lines of a region of a file, without the indentation that all have."""
    lines = (ROOT / file).read_text(encoding="utf-8").split("\n")
    begin = [i for i, line in enumerate(lines) if line.strip() == f"// book: {name}"]
    if len(begin) != 1:
        raise Wrong(f"{file} has {len(begin)} regions `{name}`")
    inside = lines[begin[0] + 1 :]
    inside = inside[: [line.strip() for line in inside].index("// book: end")]
    indent = min(len(line) - len(line.lstrip()) for line in inside if line.strip())
    return [line[indent:] for line in inside]


def environment_in(folder):
    """The environment of commands: `deepgp`, this Python, and `cargo run --example` by what cargo has built."""
    binary = Path(os.environ.get("DEEPGP", ROOT / "target/debug/deepgp")).resolve()
    if not binary.is_file():
        sys.exit(f"{binary} is not there: build it, or name it in DEEPGP")
    examples = Path(os.environ.get("EXAMPLES", binary.parent / "examples"))
    (folder / "deepgp").symlink_to(binary)
    for name in ("python", "python3"):
        script(folder / name, f'exec "{sys.executable}" "$@"')
    script(folder / "cargo", f'[ "$1 $2 $3" = "run --release --example" ] || exit 2\nexec "{examples}/$4"')
    return {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }


def script(path, text):
    """Writes a program for the shell."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def check_pictures(folder):
    """Draws the pictures again, and compares their numbers with those of the book."""
    subprocess.run([sys.executable, BOOK / "pictures.py", folder], check=True)
    for drawn in sorted(folder.iterdir()):
        book = BOOK / "pictures" / drawn.name
        old, new = (path.read_text(encoding="utf-8") if path.is_file() else "" for path in (book, drawn))
        figures = [[float(n) for n in re.findall(r"\d+\.?\d*", text)] for text in (old, new)]
        alike = len(figures[0]) == len(figures[1]) and all(abs(a - b) < 1.0 for a, b in zip(*figures, strict=True))
        if UPDATE and not alike:
            shutil.copy(drawn, book)
        elif not alike:
            raise Wrong(f"{book.relative_to(ROOT)} is not what pictures.py draws: `--update` copies it")


def build():
    """Builds the book, strictly, and sees to it that its pages fetch nothing from elsewhere."""
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    # Not with `--quiet`: what is not told is not counted by `--strict` either.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        raise Wrong(f"the book cannot be built:\n{built.stderr}")
    fetched = re.compile(r"""<(?:(?:script|img|iframe|source)[^>]*\ssrc|link[^>]*\shref)=["']?(?:https?:)?//""")
    foreign = re.compile(r"""(?:@import|url\()\s*["']?(?:https?:)?//""")
    for pattern, kind in ((fetched, "html"), (foreign, "css")):
        for path in (ROOT / "target/book").rglob(f"*.{kind}"):
            if found := pattern.search(path.read_text(encoding="utf-8")):
                raise Wrong(f"{path.relative_to(ROOT)} fetches something from elsewhere: {found[0]}")


def main():
    """Runs the pages that are named, or all of them, draws the pictures again, and builds the book."""
    pages = [Path(name).resolve() for name in ARGUMENTS.pages]
    pages = pages or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    wrong, began = [], time.monotonic()
    with tempfile.TemporaryDirectory() as outer:
        tools = Path(outer) / "tools"
        tools.mkdir()
        environment = environment_in(tools)
        for path in pages:
            folder, started = Path(outer) / "pages" / path.relative_to(ROOT), time.monotonic()
            shutil.copytree(BOOK / "tables", folder)
            try:
                page = Page(path, folder, environment)
                if page.needs_package() and not importlib.util.find_spec("deepgp"):
                    print(f"{path.relative_to(ROOT)}: SKIPPED, as the Python package is not installed")
                    continue
                page.run()
                seconds = time.monotonic() - started
                name = path.relative_to(ROOT)
                print(f"{name}: {page.done} blocks run, {page.skipped} not, {seconds:.1f} s", flush=True)
            except Wrong as error:
                wrong.append(error)
        if not ARGUMENTS.pages:
            for step in (lambda: check_pictures(Path(outer) / "pictures"), build):
                try:
                    step()
                except Wrong as error:
                    wrong.append(error)
    for error in wrong:
        print(f"\n{error}", file=sys.stderr)
    print(f"the book: {len(pages)} pages, {time.monotonic() - began:.0f} s, {len(wrong)} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Runs what the book says, and builds it.")
    parser.add_argument("--update", action="store_true", help="write what was printed into the pages")
    parser.add_argument("pages", nargs="*", help="pages to run, in place of all and the build")
    ARGUMENTS = parser.parse_args()
    UPDATE = ARGUMENTS.update
    main()
