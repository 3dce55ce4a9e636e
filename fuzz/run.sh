#!/usr/bin/env bash
# Fuzzes one target, or all in turn: fuzz/run.sh TARGET|all [EXECUTIONS] [libFuzzer's options]
#
# What an input may take is asserted: 5 seconds, and 320 MiB for the whole process, of which the fuzzer itself has some 40. An input that
# takes more, or panics, is left in fuzz/artifacts, and the fuzzer ends. New inputs that reach new branches go to fuzz/found/TARGET;
# corpus/TARGET is only read. Options that are given come last, and so prevail: -rss_limit_mb=4096 looks beyond a known excess.
set -euo pipefail
cd "$(dirname "$0")"

targets=(csv gzip parquet npy npz dates json model checkpoint step arff)
target="${1:?which target: one of ${targets[*]}, or all}"
executions="${2:-100000}"
shift $(($# < 2 ? $# : 2))

# No sanitizer: the readers are safe Rust, and a limit on memory means more without one.
RUSTC_WRAPPER="$PWD/instrument.sh" cargo build --release --locked --quiet
program="${CARGO_TARGET_DIR:-target}/release/fuzz"

[ "$target" = all ] || targets=("$target")
for target in "${targets[@]}"; do
  mkdir -p "found/$target" artifacts
  printf '== %s, %s executions\n' "$target" "$executions"
  DEEPGP_FUZZ_TARGET="$target" "$program" -runs="$executions" -max_len=16384 -timeout=5 -rss_limit_mb=320 \
    -artifact_prefix="artifacts/$target-" -print_final_stats=1 -verbosity=0 "$@" "found/$target" "corpus/$target"
done
