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

for n in 1 2 3 4; do
  "${launcher[@]}" -n "$n" "${ORIGINAL:-$program}" >"$dir/original" 2>"$dir/err" || {
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
