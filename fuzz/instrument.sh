#!/usr/bin/env bash
# The compiler for `run.sh`: coverage is counted in our crates and in those that parse what we read, and not in numerical ones.
set -euo pipefail
crates=" deepgp deepgp_io fuzz parquet zip flate2 safetensors serde_json "
name=""
for argument in "$@"; do
  if [ "$name" = "--crate-name" ]; then name="$argument"; break; fi
  [ "$argument" != "--crate-name" ] || name="--crate-name"
done
if [[ "$crates" != *" $name "* ]]; then exec "$@"; fi
exec "$@" --cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares
