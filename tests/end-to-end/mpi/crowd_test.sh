#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Threads that use all of MPI at the same time, in processes that no weft run starts: so a sanitizer
# may watch them.
#   crowd_test.sh PROGRAM [ROUNDS]
set -euo pipefail
program=$1 rounds=${2:-6}
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

ranks=2
for fabric in auto tcp; do
  {
    printf '[general]\ntimeout = 100s\nfabric = %s\n[addresses]\n' "$fabric"
    for ((rank = 0; rank < ranks; ++rank)); do
      printf 'rank%d = crowd-%d-%s-%d\n' "$rank" $$ "$fabric" "$rank"
    done
  } >"$dir/job.conf"
  for ((rank = 0; rank < ranks; ++rank)); do
    WEFT_RANK=$rank WEFT_CONFIG=$dir/job.conf "$program" "$rounds" >"$dir/out$rank" 2>"$dir/err$rank" &
    jobs[rank]=$!
  done
  for ((rank = 0; rank < ranks; ++rank)); do
    wait "${jobs[rank]}" || fail "rank $rank over $fabric ends with $?: $(head -80 "$dir"/err*)"
  done
  [[ $(cat "$dir/out0") == "$ranks processes, 0 failures" ]] || fail "over $fabric it prints $(cat "$dir/out0")"
done
