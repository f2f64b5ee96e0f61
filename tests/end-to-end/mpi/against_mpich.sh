#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program that was compiled for MPICH prints the same on weft as on MPICH, with 1 to 4 processes.
#   against_mpich.sh WEFT PROGRAM [LAUNCHER OF MPICH]
set -euo pipefail
weft=$1 program=$2 mpiexec=${3:-mpiexec.mpich}
dir=$(mktemp -d)
trap 'rm -rf -- "$dir"' EXIT

for n in 1 2 3 4; do
  "$mpiexec" -n "$n" "$program" >"$dir/mpich" 2>"$dir/err" || {
    echo "against_mpich: on MPICH $n processes end with $?: $(tail -3 "$dir/err")" >&2
    exit 1
  }
  "$weft" run -n "$n" -- "$program" >"$dir/weft" 2>"$dir/err" || {
    echo "against_mpich: on weft $n processes end with $?: $(tail -3 "$dir/err")" >&2
    exit 1
  }
  diff "$dir/mpich" "$dir/weft" >"$dir/differences" || {
    echo "against_mpich: $n processes print on MPICH (<) and on weft (>):" >&2
    head -20 "$dir/differences" >&2
    exit 1
  }
done
