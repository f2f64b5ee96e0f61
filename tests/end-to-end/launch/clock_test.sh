#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks of a job's file whose next lives find the time of day set back by an hour: the others take them in
# at once, over each fabric that such a file can choose; also two of them that meet each other first.
#   clock_test.sh WEFT EXAMPLES SET-BACK-CLOCK [SEED]
set -euo pipefail
examples=$2 set_back=$3 seed=${4:-$RANDOM}
RANDOM=$seed
# shellcheck source=common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
# The directory in which this user's secret is made.
export XDG_CONFIG_HOME=$dir/config
export WEFT_LOG=info
file=$dir/job.conf
program="markov2 400 40 2000"

again="WEFT $examples $set_back $seed"

# Ports that nobody listens at, below those that connections get.
port=$((10000 + RANDOM % 18000))
write_file() {
  local rank
  { printf '[general]\nrestart = on-failure\ntimeout = 100s\nfabric = %s\n[addresses]\n' "$1"
    for rank in 0 1 2; do
      while ((++port)) && (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
      echo "$rank = localhost $port"
    done; } >"$file"
}

# start RANK [VARIABLE=VALUE…]
start() {
  local rank=$1
  shift
  # shellcheck disable=SC2086
  env "$@" WEFT_CONFIG="$file" WEFT_RANK="$rank" "${bound[@]}" \
    "$examples"/$program >"$dir/out$rank" 2>"$dir/err$rank" &
  pids[rank]=$!
}
# Sanitizers want to be preloaded first.
an_hour_ago=("LD_PRELOAD=$set_back" ASAN_OPTIONS=verify_asan_link_order=0)
wait_all() {
  local rank
  for rank in 0 1 2; do
    wait "${pids[rank]}" || fail "rank $rank ended with $?: $(tail -n 5 "$dir"/err*)"
  done
}
outputs() { for rank in 0 1 2; do results "$dir/out$rank"; done; }

pids=()
write_file tcp
for rank in 0 1 2; do start $rank; done
wait_all
expected=$(outputs)
[[ $expected == *checksum* ]] || fail "no checksum: $expected"

# Kills ranks that run and begins them anew an hour earlier. False when they had ended before, or had not
# met any other yet, so that nobody knew of them.
begins_anew_an_hour_earlier() {
  local rank killed=1
  write_file "$1"
  shift
  for rank in 0 1 2; do start $rank; done
  sleep "0.$((100 + RANDOM % 300))"
  kill -9 $(for rank in "$@"; do echo "${pids[rank]}"; done) 2>/dev/null || true
  for rank in "$@"; do wait "${pids[rank]}" 2>/dev/null && killed=0; done
  # A life that begins in the tenth of a second of the file's change has the number that follows it. So has
  # one that begins an hour before the change.
  for rank in "$@"; do start "$rank" "${an_hour_ago[@]}"; done
  ((killed == 1)) || { end_descendants; wait || true; return 1; }
  wait_all
  [[ $(outputs | sort -u) == "$(sort -u <<<"$expected")" ]] || fail "ranks $*: $(outputs), not $expected"
  for rank in "$@"; do grep -q 'others know life' "$dir/err$rank" || return 1; done
}

for how in "tcp 2" "tcp 0" "auto 2" "auto 0" "tcp 1 2" "auto 1 2"; do
  attempt=1
  # shellcheck disable=SC2086
  until begins_anew_an_hour_earlier $how; do
    ((++attempt <= 20)) || fail "$how: nobody was killed in the middle: $(tail -n 3 "$dir"/err*)"
  done
done
echo "clock_test: all as expected"
