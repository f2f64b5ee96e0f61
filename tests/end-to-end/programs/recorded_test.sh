#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft's own programs, recorded as they run for real and in a simulation, and replayed.
#   recorded_test.sh WEFT EXAMPLES SCENARIOS
set -euo pipefail
weft=$1 examples=$2 scenario=$3/star-100mbit.toml
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"
field() { sed -nE 's/.*"'"$2"'": ?([0-9.]+).*/\1/p' <<<"$1"; }

# Every message, of every rank, with its completion.
"$weft" trace record --out "$dir/real" -- "$weft" run -n 8 -- "$examples/jac3d" 40 20 >"$dir/out"
grep -q '^jac3d: 20 iterations' "$dir/out" || fail "the program said: $(cat "$dir/out")"
"$weft" trace check "$dir/real/traces.otf2" || fail "the recording of real processes is not whole"
"$weft" trace record --out "$dir/simulated" -- "$weft" run -n 8 --fabric "sim:$scenario" -- \
  "$examples/jac3d" 40 20 >"$dir/out"
"$weft" trace check "$dir/simulated/traces.otf2" || fail "the recording of simulated processes is not whole"
real=$("$weft" trace info --json "$dir/real/traces.otf2")
simulated=$("$weft" trace info --json "$dir/simulated/traces.otf2")
for key in ranks messages; do
  [[ $(field "$real" $key) == "$(field "$simulated" $key)" ]] || fail "$key: $real and $simulated"
done
[[ $(field "$real" unmatched) == 0 ]] || fail "unmatched: $real"

# Replayed on the network that it was simulated on it takes as long, but for the message layer's
# additions: acknowledgements and heads.
replayed=$("$weft" trace replay --json "$dir/simulated/traces.otf2" --scenario "$scenario")
predicted=$(field "$replayed" predicted_s) recorded=$(field "$simulated" seconds)
awk -v p="$predicted" -v r="$recorded" 'BEGIN { exit !(p > 0.75 * r && p < 1.1 * r) }' ||
  fail "predicted $predicted s, and it took $recorded s"

# A process that was killed leaves no trace of half a program.
code=0
"$weft" trace record --out "$dir/killed" -- "$weft" run -n 2 -- bash -c 'kill -9 $$' 2>"$dir/err" || code=$?
[[ $code != 0 && ! -e $dir/killed ]] || fail "killed: code $code: $(cat "$dir/err")"
echo "recorded_test: all as expected"
