#!/usr/bin/env bash
# The Python package: makes a virtual environment, builds the wheel, installs it there, and tests it as a user has it.
# Arguments are handed on to pytest: ./check.sh -k oracle
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s\n' "$*"; "$@"; }
python=${PYTHON:-python3}
if ! command -v "$python" >/dev/null; then
  echo "Python 3.10 or later is needed: install it, or name it in PYTHON" >&2
  exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
  echo "Python 3.10 or later is needed, but $("$python" --version) was found: name another one in PYTHON" >&2
  exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  echo "Python's module venv is missing: install it (on Debian and Ubuntu: apt install python3-venv)" >&2
  exit 1
fi

here=.venv/bin
if ! cmp -s requirements-test.txt .venv/installed; then
  step "$python" -m venv --clear .venv
  step "$here/pip" install --quiet --disable-pip-version-check --requirement requirements-test.txt
  cp requirements-test.txt .venv/installed
fi
# The experiments too, of which the tests run some.
scripts=(../experiments/paper/boosted_trees.py ../experiments/continued/*.py ../experiments/classes/*.py)
step "$here/ruff" format --check --config pyproject.toml . "${scripts[@]}" ../docs/book/{,tables/}*.py
step "$here/ruff" check --config pyproject.toml . "${scripts[@]}" ../docs/book/{,tables/}*.py
step "$here/mypy" deepgp
step env MYPYPATH=../experiments/paper:../experiments/continued:../experiments/classes "$here/mypy" "${scripts[@]}"

rm -rf dist
step "$here/maturin" build --release --out dist --interpreter "$here/python"
step "$here/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps dist/*.whl
# The other half of the tests that cross the language: the command line, built here unless DEEPGP names it.
if [ -z "${DEEPGP:-}" ]; then
  step cargo build --locked --package deepgp-cli
fi

# From elsewhere, so that the installed package is tested and not the sources beside the tests.
root=$PWD
cd "${TMPDIR:-/tmp}"
step "$root/$here/python" -m pytest --rootdir "$root" --config-file "$root/pyproject.toml" -p no:cacheprovider --durations 5 \
  "$root/tests" --doctest-modules --pyargs deepgp "$root/README.md" --doctest-glob "README.md" "$@"
