#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft run --heartbeat: the kernel's settings, and refused values.
#   heartbeat_test.sh WEFT EXAMPLES
set -euo pipefail
weft=$1 examples=$2
# shellcheck source=common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# A name of its own, to find processes by.
program=$dir/wp$$
cp "$examples/markov2" "$program"

# until_asked PATTERN OPTIONS…: in how long the kernel proves the connection of two processes alive
# that say nothing, as ss shows it (1.5 s as "1.500ms").
until_asked() {
  local pattern=$1 launcher shown left=500
  shift
  "${bound[@]}" "$weft" run -n 2 --fabric tcp --peer-timeout 300s "$@" -- \
    "$program" 400 40 100000 >"$dir/out" 2>"$dir/err" &
  launcher=$!
  until_running wp$$ 2
  until shown=$(ss -Htnpo state established | grep "\"wp$$\"" | grep -o 'timer:(keepalive,[^,]*') &&
    (($(wc -l <<<"$shown") == 2)); do
    kill -0 $launcher || fail "$* ended: $(cat "$dir/err")"
    ((--left)) || fail "$*: no connection is idle: $(ss -tnpo)"
    pkill -STOP -x wp$$ || true
    sleep 0.02
    [[ $(ss -Htnpo state established | grep -c "\"wp$$\"") == 2 ]] || pkill -CONT -x wp$$
  done
  ! grep -Evq "$pattern" <<<"$shown" || fail "$*: the kernel shows $shown"
  kill -9 $launcher
  wait $launcher 2>/dev/null || true
  until_gone wp$$ "$*"
}
until_asked '^timer:\(keepalive,2min(30sec|2[0-9]sec)?$'
until_asked '^timer:\(keepalive,([12]sec|1\.[0-9]+ms|[0-9]+ms)$' --heartbeat 2s

# expect_refusal WORDS OPTIONS…
expect_refusal() {
  local words=$1 code=0
  shift
  "${bound[@]}" timeout 60 "$weft" run "$@" -- "$program" >"$dir/out" 2>&1 || code=$?
  ((code == 2)) || fail "$* ended with $code: $(cat "$dir/out")"
  [[ $(cat "$dir/out") == *"$words"* ]] || fail "$* does not say '$words': $(cat "$dir/out")"
  (($(wc -l <"$dir/out") == 1)) || fail "$* says more than a line: $(cat "$dir/out")"
}
expect_refusal "--heartbeat: 10 s is no less than the time after which a silent machine is gone" \
  --heartbeat 10s
expect_refusal "(2 s, --peer-timeout)" --heartbeat 3s --peer-timeout 2s
expect_refusal "--heartbeat: 6 s is more than half of the time" --heartbeat 6s --fabric libfabric:tcp
expect_refusal "choose at least 1ms" --heartbeat 0s
expect_refusal "--heartbeat: with --fabric sim:" --heartbeat 2s --fabric sim:some.toml
printf '[general]\nheartbeat = 5s\npeer_timeout = 3s\n[addresses]\n0 = localhost 4444\n' >"$dir/job"
expect_refusal "job: heartbeat: 5 s is no less than" --config "$dir/job"
grep -q -- --heartbeat <<<"$("$weft" run --help)" || fail "--help does not know it"
echo "heartbeat_test: all as expected"
