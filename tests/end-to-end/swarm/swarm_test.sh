#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The output of `weft simulate swarm`, and how it ends.   swarm_test.sh WEFT
set -euo pipefail
weft=$1
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

out=$("$weft" simulate swarm --seeds 7..9 --json)
for part in '"runs":3' '"failures":0' '"first_failure":null' '"failed_seeds":[]'; do
  [[ $out == *"$part"* ]] || fail "--json lacks $part: $out"
done

out=$("$weft" simulate swarm --seeds 7..7 --verbose 2>/dev/null)
[[ $out == *"seed 7"*"schedule:"*"1 seeds, 0 failures"* ]] || fail "--verbose prints: $out"

printf '[network]\ntopology = "star:4"\n' > "$dir/four.toml"
out=$("$weft" simulate swarm --seeds 1..5 --scenario "$dir/four.toml" --verbose 2>/dev/null)
[[ $out == *"star:4"* && $out != *"torus"* ]] || fail "--scenario is not followed: $out"

for wrong in "9..7" "x" "1..2..3" "-1..4"; do
  status=0
  "$weft" simulate swarm "--seeds=$wrong" > "$dir/out" 2>&1 || status=$?
  [[ $status -eq 2 ]] || fail "--seeds $wrong ends with $status"
  grep -q -- "--seeds" "$dir/out" || fail "--seeds $wrong says: $(cat "$dir/out")"
done
