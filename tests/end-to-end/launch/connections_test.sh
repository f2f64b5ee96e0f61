#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# More peers than a process may have connections (paper 4, 4.2.2): the same results, also when a
# process is killed meanwhile.
#   connections_test.sh WEFT EXAMPLES
set -euo pipefail
weft=$1 examples=$2
# shellcheck source=common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# In markov2 everybody speaks with everybody.
program=("$examples/markov2" 400 40 5)
run=("$weft" run -n 12 --fabric tcp)
"${run[@]}" -- "${program[@]}" >"$dir/calm"
expected=$(results "$dir/calm")
[[ $expected == *checksum* ]] || fail "no checksum: $expected"
for limit in 2 5; do
  "${bound[@]}" timeout 120 "${run[@]}" --connections $limit -- "${program[@]}" >"$dir/out" 2>"$dir/err" ||
    fail "--connections $limit ended with $?: $(cat "$dir/err")"
  [[ $(results "$dir/out") == "$expected" ]] || fail "--connections $limit: $(cat "$dir/out")"
done

"${bound[@]}" timeout 120 "${run[@]}" --connections 3 --restart on-failure -- "${program[@]}" \
  >"$dir/out" 2>"$dir/err" &
guard=$!
until launcher=$(pgrep -P $guard) && victims=$(pgrep -P "$launcher"); do :; done
kill -9 "${victims##*$'\n'}"
wait $guard || fail "after a kill it ended with $?: $(cat "$dir/err")"
[[ $(results "$dir/out" | sort -u) == "$expected" ]] || fail "after a kill: $(cat "$dir/out")"

code=0
"${run[@]}" --connections 0 -- true >"$dir/out" 2>&1 || code=$?
((code == 2)) || fail "--connections 0 is taken: $(cat "$dir/out")"
echo "connections_test: all as expected"
