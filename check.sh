#!/usr/bin/env bash
# Everything that must hold before a change lands: format, lints, all tests, documentation.
set -euo pipefail
cd "$(dirname "$0")"

for tool in fmt clippy; do
  cargo "$tool" --version >/dev/null 2>&1 || rustup component add rustfmt clippy
done

step() { printf '\n== %s\n' "$*"; "$@"; }
step cargo fmt --all --check
step cargo clippy --workspace --all-targets --locked -- -D warnings
step cargo test --workspace --locked
RUSTDOCFLAGS="-D warnings" step cargo doc --workspace --no-deps --locked
printf '\nAll checks passed.\n'
