#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh TARGET SECONDS: runs a libFuzzer target from its seed corpus, if it has one. New inputs
# stay in build/fuzz/corpus; an input that fails is left in build/fuzz and named.
set -euo pipefail
target=$1
seconds=$2
name=$(basename "$target")
found=build/fuzz/corpus/$name
mkdir -p "$found"
seeds=()
[ -d "tests/fuzz/corpus/$name" ] && seeds=("tests/fuzz/corpus/$name")
log=build/test-logs/$name.log
mkdir -p build/test-logs
if ! "$target" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
  -artifact_prefix="build/fuzz/$name-" "$found" "${seeds[@]}" > "$log" 2>&1; then
  tail -n 40 "$log"
  # When only this output is left, base64 -d restores the input.
  input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
  if [ -f "$input" ]; then
    echo "  $name: $input in base64:"
    base64 "$input" | head -c 20000
  fi
  exit 1
fi
echo "  $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, nothing found"
