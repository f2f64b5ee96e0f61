#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of ranks of unmodified MPI programs at random moments: once, twice, or two at once, with both kinds of
# restarts. Every run prints each line that an undisturbed one prints, once. Prints the line that runs a failure again.
#   kill_test.sh WEFT PROGRAMS ABI ROUNDS SEED     ABI: mpich or openmpi
set -euo pipefail
weft=$1 programs=$2 abi=$3 rounds=$4 seed=$5
prefix=mpi
[[ $abi == openmpi ]] && prefix=openmpi
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"
# shellcheck source=../messages/killed_run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../messages/killed_run.sh"
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf -- "$dir"' EXIT
ranks=3

# bulk sends more than ranks keep for each other: at some point, or with little --outbox soon, all start anew in place
# of one.
list=("search 24 4000" "search 24 4000" "gradient 500 32" "ledger $dir/ledger 300" "bulk 800")
search=$programs/${prefix}_search gradient=$programs/${prefix}_gradient ledger=$programs/${prefix}_ledger
bulk=$programs/${prefix}_bulk

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

command_of() {
  local words=($1)
  echo "${!words[0]} ${words[*]:1}"
}

declare -A expected lasts
for program in "${list[@]}"; do
  begun=$(milliseconds)
  # shellcheck disable=SC2046
  expected[$program]=$("$weft" run -n $ranks --restart on-failure -- $(command_of "$program"))
  lasts[$program]=$(($(milliseconds) - begun))
  [[ ${expected[$program]} =~ distances|norm|"ledger of 300 rounds, 0 wrong"|"bulk of 800 rounds" ]] ||
    fail "$program prints ${expected[$program]}"
done

for ((round = 0; round < rounds; ++round, ++seed)); do
  RANDOM=$seed again="$weft $programs $abi 1 $seed"
  program=${list[seed % ${#list[@]}]}
  how=on-failure
  ((seed / ${#list[@]} % 2 == 0)) || how=all
  options=(--restart $how)
  [[ $program == bulk* && $how == on-failure ]] && ((seed % 2 == 0)) && options+=(--outbox $((seed % 7 + 1))MiB)
  # shellcheck disable=SC2046
  killed_run "$program" 60 "${lasts[$program]}" "$weft" run -n $ranks "${options[@]}" -- $(command_of "$program")
  ! grep -q 'repeat nothing' "$dir/err" || fail "$program, --restart $how, did not repeat itself: $(cat "$dir/err")"
  [[ $(cat "$dir/out") == "${expected[$program]}" ]] ||
    fail "$program, --restart $how, printed '$(cat "$dir/out")', not '${expected[$program]}'"
done
echo "kill_test: $abi, $rounds runs, $killed times that processes were started anew"
((rounds < 20 || killed > 0)) || fail "nothing was ever killed"
