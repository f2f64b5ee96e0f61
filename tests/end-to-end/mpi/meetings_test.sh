#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks of one host that meet often, on boards.
#   meetings_test.sh WEFT PROGRAM
set -euo pipefail
weft=$1 program=$2
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

for n in 2 3 4 6 9; do
  got=$(timeout 100 "$weft" run -n "$n" -- "$program" rounds 150) || fail "$n ranks end with $?"
  [[ $got == "$n ranks, 0 failures" ]] || fail "$n ranks print '$got'"
done

# boards COUNT ARGUMENTS: what rank 0 has.
boards() {
  # shellcheck disable=SC2086
  got=$("$weft" run $2 -- "$program" boards ${3:-}) || fail "$2 ends with $?"
  [[ $got == "$1 boards" ]] || fail "$2 has $got, not $1"
}
boards 1 "-n 3"
boards 1 "-n 16"
boards 1 "-n 2"
boards 0 "-n 1"
boards 0 "-n 17"
boards 0 "-n 3 --fabric tcp"
boards 0 "-n 3 --restart on-failure"
boards 0 "-n 3 --restart all"
# All agree, although only rank 1 has threads.
boards 0 "-n 3" threads

# A rank that is killed ends the job at once, though the others look at no connection.
code=0
timeout 60 "$weft" run -n 4 --timeout 1000s -- "$program" killed >"$dir/out" 2>&1 || code=$?
((code == 137)) || fail "a killed rank ends the job with $code: $(cat "$dir/out")"

# differ CASE EXPLANATION [COUNT]
differ() {
  code=0
  timeout 60 "$weft" run -n "${3:-4}" -- "$program" "$1" >"$dir/out" 2>&1 || code=$?
  ((code == 1)) || fail "$1 ends with $code: $(cat "$dir/out")"
  grep -q -- "$2" "$dir/out" || fail "$1 is explained by '$(cat "$dir/out")'"
}
both="call the same operations with the same root and counts everywhere, in the same order"
here="this rank is in [a-z ]*\( with root [0-9]\)\? of this communicator, collective call 4[12] there: $both"
differ operations "rank [0-3] of the job is in [a-z]* of this communicator, collective call 41 there; $here"
differ operations "rank [01] of the job is in [a-z]* of this communicator, collective call 41 there; $here" 2
differ root "rank [0-3] of the job is in [a-z 01]* of this communicator, collective call 4[12] there; $here"
differ leaf "rank [0-3] of the job is in [a-z 01]* of this communicator, collective call 41 there; $here"
differ large-leaf "rank [0-3] of the job is in [a-z 01]* of this communicator, collective call 41 there; $here"
differ nonblocking "rank [0-3] of the job is in [a-z ]* of this communicator, collective call 41 there; $here"
same="use the same counts and operations everywhere"
differ sizes "rank [0-3] sent \(8\|16\) bytes in a collective operation in which this rank expects \(16\|8\); $same"
differ sizes "rank [01] sent \(8\|16\) bytes in a collective operation in which this rank expects \(16\|8\); $same" 2
for size in large larger; do
  for n in 2 4; do
    differ $size "rank [0-3] \(sent [0-9]* bytes in\|is in\) a collective operation .*; $same" $n
  done
done
