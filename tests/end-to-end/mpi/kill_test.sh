#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of ranks of unmodified MPI programs at random moments: once, twice, or two at once. Every run prints
# each line that an undisturbed one prints, once. Prints the line that runs a failure again.
#   kill_test.sh WEFT PROGRAMS ABI ROUNDS SEED     ABI: mpich or openmpi
set -euo pipefail
weft=$1 programs=$2 abi=$3 rounds=$4 seed=$5
prefix=mpi
[[ $abi == openmpi ]] && prefix=openmpi
dir=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf -- "$dir"' EXIT
ranks=3

list=("search 24 4000" "gradient 500 32")
search=$programs/${prefix}_search gradient=$programs/${prefix}_gradient

fail() {
  echo "kill_test: $1; again: $0 $weft $programs $abi 1 $seed" >&2
  exit 1
}

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
  [[ ${expected[$program]} == *distances* || ${expected[$program]} == *norm* ]] ||
    fail "$program prints ${expected[$program]}"
done

# Kills one of the launcher's processes, if there is one.
kill_one() {
  mapfile -t pids < <(pgrep -P "$1" || true)
  ((${#pids[@]} == 0)) || kill -9 "${pids[RANDOM % ${#pids[@]}]}" 2>/dev/null || true
}

pause() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

killed=0
for ((round = 0; round < rounds; ++round, ++seed)); do
  RANDOM=$seed
  # Two of three rounds are the search's.
  program=${list[seed % 3 / 2]}
  # shellcheck disable=SC2046
  timeout 60 "$weft" run -n $ranks --restart on-failure -- $(command_of "$program") \
    >"$dir/out" 2>"$dir/err" &
  guard=$!
  pause $((RANDOM % (lasts[$program] + 1)))
  launcher=$(pgrep -P $guard || true)
  if [[ -n $launcher ]]; then
    kill_one "$launcher"
    case $((RANDOM % 3)) in
      1) kill_one "$launcher" ;;
      2)
        pause $((RANDOM % (lasts[$program] / 2 + 1)))
        kill_one "$launcher"
        ;;
    esac
  fi
  code=0
  wait $guard || code=$?
  ((code == 0)) || fail "$program ended with code $code: $(tail -3 "$dir/err")"
  [[ $(cat "$dir/out") == "${expected[$program]}" ]] ||
    fail "$program printed '$(cat "$dir/out")', not '${expected[$program]}'"
  killed=$((killed + $(grep -c 'starting it anew' "$dir/err" || true)))
done
echo "kill_test: $abi, $rounds runs, $killed processes started anew"
((rounds < 20 || killed > 0)) || fail "nothing was ever killed"
