#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of ranks at random moments: once, twice, or two at once, with both kinds of restarts. Every run ends with
# the output that an undisturbed one has, whether processes begin anew or go on from checkpoints. Prints the line that
# runs a failure again.
#   kill_test.sh WEFT EXAMPLES ROUNDS SEED
set -euo pipefail
weft=$1 examples=$2 rounds=$3 seed=$4
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"
# shellcheck source=killed_run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/killed_run.sh"
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf -- "$dir"' EXIT

# The last sends messages of megabytes.
programs=("jac3d 40 300" "markov2 400 40 400" "spmv2 200 600" "jac3d -c $dir 40 200" "vsum 3000000")
ranks=4

# The lines that do not speak of time.
results() { grep -v ' processes, ' "$1"; }

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

declare -A expected lasts
for program in "${programs[@]}"; do
  begun=$(milliseconds)
  # shellcheck disable=SC2086
  "$weft" run -n $ranks --restart on-failure -- "$examples"/$program >"$dir/calm"
  lasts[$program]=$(($(milliseconds) - begun))
  expected[$program]=$(results "$dir/calm")
  [[ ${expected[$program]} == *checksum* ]] || fail "$program prints no checksum"
done

for ((round = 0; round < rounds; ++round, ++seed)); do
  RANDOM=$seed again="$weft $examples 1 $seed"
  program=${programs[seed % ${#programs[@]}]}
  how=on-failure
  ((seed / ${#programs[@]} % 2 == 0)) || how=all
  # shellcheck disable=SC2086
  killed_run "$program" 100 "${lasts[$program]}" "$weft" run -n $ranks --restart $how -- "$examples"/$program
  [[ $(results "$dir/out" | sort -u) == "$(sort -u <<<"${expected[$program]}")" ]] ||
    fail "$program, --restart $how, printed $(results "$dir/out" | tail -2), not ${expected[$program]}"
done
echo "kill_test: $rounds runs, $killed times that processes were started anew"
((rounds < 20 || killed > 0)) || fail "nothing was ever killed"
