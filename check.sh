#!/usr/bin/env bash
# Everything that must hold before a change lands: format, lints, all tests, documentation.
set -euo pipefail
cd "$(dirname "$0")"

if ! { cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1; then
  rustup component add rustfmt clippy || { echo "rustfmt and clippy are needed: install them with rustup" >&2; exit 1; }
fi

# A clean build gains nothing from what an incremental one keeps.
if [ "${CI:-}" = true ]; then export CARGO_INCREMENTAL=0; fi

step() { printf '\n== %s\n' "$*"; "$@"; }
step cargo fmt --all --check
step cargo clippy --workspace --all-targets --locked -- -D warnings
step cargo test --workspace --locked
# Another architecture: nothing may hang on this one's vectors.
arm=aarch64-unknown-linux-gnu
if rustup target list --installed 2>/dev/null | grep -q "$arm" || rustup target add "$arm" >/dev/null 2>&1; then
  step cargo check --package deepgp --locked --target "$arm"
else
  printf '\n== SKIPPED: cargo check for %s (the target could not be installed)\n' "$arm"
fi
# Licences, versions and sources of dependencies are tests too; the tool knows of vulnerabilities besides.
if cargo deny --version >/dev/null 2>&1 && cargo fetch --locked >/dev/null 2>&1; then
  # It reads the dependencies for every system, which have just been fetched.
  step cargo deny --offline check licenses bans sources
  if cargo deny fetch db >/dev/null 2>&1; then
    step cargo deny check advisories
  else
    printf '\n== SKIPPED: cargo deny check advisories (the data base could not be fetched)\n'
  fi
else
  printf '\n== SKIPPED: cargo deny (cargo install cargo-deny, and a registry); crates/deepgp-cli/tests/repository.rs has checked licences, versions and sources\n'
fi
RUSTDOCFLAGS="-D warnings" step cargo doc --workspace --no-deps --locked
# Python: the package is built and tested as a user has it, in a virtual environment of its own, beside the command just tested.
export DEEPGP="${CARGO_TARGET_DIR:-$PWD/target}/debug/deepgp"
step python/check.sh
# The book: its commands and programs are run, with that command, package and the examples that cargo has built; then it is built itself.
step python/.venv/bin/python docs/book/check.py
# Several processes: where there is an MPI, or one can be had quietly.
if ! command -v mpirun >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update && apt-get install --yes --no-install-recommends openmpi-bin; } >/dev/null 2>&1 || true
fi
if command -v mpirun >/dev/null; then
  # All of the workspace at once, so that nothing but the command itself is compiled again.
  step cargo clippy --workspace --features deepgp-cli/mpi --all-targets --locked -- -D warnings
  step cargo test --workspace --features deepgp-cli/mpi --test ranks --test mpi --locked
else
  printf '\n== SKIPPED: fits by several processes (there is no mpirun)\n'
fi
printf '\nAll checks passed.\n'
