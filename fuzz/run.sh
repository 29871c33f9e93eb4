#!/bin/bash
# run.sh [TARGET...]: fuzzes all targets, or these, SECONDS_EACH seconds (20), guided by coverage, with the stable compiler.
# What is found new goes to target/fuzz/corpus, what fails to target/fuzz/found; inputs of the repository come first.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${SECONDS_EACH:-20}
host=$(rustc -vV | sed -n 's/^host: //p')
work=$PWD/target/fuzz
# As cargo-fuzz has them, without a sanitizer, which needs the nightly compiler.
coverage="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
RUSTFLAGS=$(echo $coverage) cargo build --quiet --release --locked --manifest-path fuzz/Cargo.toml \
    --target "$host" --target-dir "$work"
[ $# -gt 0 ] || set -- segment blob log journal side_files control names filter shell import
for target; do
  mkdir -p "$work/corpus/$target" "$work/found"
  # A slow or large input is a failure as well.
  if ! "$work/$host/release/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
      -artifact_prefix="$work/found/$target-" "$work/corpus/$target" "fuzz/corpus/$target" >"$work/$target.log" 2>&1; then
    tail -40 "$work/$target.log"
    echo "fuzzing $target has found a fault; run it again with: $work/$host/release/$target FILE" >&2
    exit 1
  fi
  echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$target.log") executions in $seconds s"
done
