#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A whole stream into the shm sink: one of two consumers is killed while it has timeslices; the other
# one gets every timeslice of both compute nodes all the same.
#   stream_test.sh WEFT EXAMPLE_CONSUMER CONSUMER_PROCESS
set -euo pipefail

weft=$1 example=$2 process=$3
work="$(mktemp -d)"
name="stream-test-$$"
pids=()
clean_up() {
  for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  rm -rf -- "$work"
}
trap clean_up EXIT
fail() {
  printf 'stream_test: %s\n' "$*" >&2
  cat -- "$work"/* >&2
  exit 1
}

timeout 100 "$weft" stream local --inputs 2 --computes 2 --timeslices 400 --json \
  --sink "shm:$name?groups=example:one:2" >"$work/summary" 2>"$work/errors" &
stream=$!
pids+=("$stream")

coproc victim { exec "$process" "$name" example one 2; }
victim_pid=$!
pids+=("$victim_pid")
read -r -t 60 line <&"${victim[0]}" && [[ $line == attached ]] || fail "the first consumer: ${line:-}"
timeout 100 "$example" "$name" >"$work/consumer" 2>&1 &
heir=$!
pids+=("$heir")
echo next >&"${victim[1]}"
read -r -t 60 line <&"${victim[0]}" || fail "the first consumer got nothing"
[[ $line =~ ^[0-9]+\ [01]\ 0\  ]] || fail "the first consumer got: $line"
kill -9 "$victim_pid"

wait "$stream" || fail "the stream failed"
wait "$heir" || fail "the second consumer failed"
[[ $(<"$work/summary") == *'"timeslices_complete":400,'*'"timeslices_lost":0,'* ]] ||
  fail "the stream lost something"
[[ $(<"$work/consumer") =~ ^400\ timeslices,\ ([0-9]+)\  ]] || fail "the second consumer missed some"
((BASH_REMATCH[1] >= 1)) || fail "what the killed consumer had was not given again"
