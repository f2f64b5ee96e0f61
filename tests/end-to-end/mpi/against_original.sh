#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program prints the same on weft as on the MPI that it was compiled for, with 1 to 4 processes.
#   [ORIGINAL=PROGRAM] against_original.sh WEFT PROGRAM LAUNCHER…
# ORIGINAL: the same source, compiled for the launcher's MPI, where PROGRAM is for another.
set -euo pipefail
weft=$1 program=$2
launcher=("${@:3}")
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

# MPICH 4.0.2 hangs now and then when four processes that share two cores read from each other's
# windows: one run in six on a busy machine.
original() {  # original PROCESSES
  local status=0
  for _ in 1 2 3 4; do
    status=0
    timeout 20 "${launcher[@]}" -n "$1" "${ORIGINAL:-$program}" >"$dir/original" 2>"$dir/err" || status=$?
    [ $status -eq 124 ] || break
  done
  return $status
}

for n in 1 2 3 4; do
  original "$n" || {
    echo "against_original: $n processes end with $? there: $(tail -3 "$dir/err")" >&2
    exit 1
  }
  "$weft" run -n "$n" -- "$program" >"$dir/weft" 2>"$dir/err" || {
    echo "against_original: on weft $n processes end with $?: $(tail -3 "$dir/err")" >&2
    exit 1
  }
  diff "$dir/original" "$dir/weft" >"$dir/differences" || {
    echo "against_original: $n processes print there (<) and on weft (>):" >&2
    head -20 "$dir/differences" >&2
    exit 1
  }
done
