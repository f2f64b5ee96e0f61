#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Debian's mpi4py, which was compiled for Open MPI, as it is, under weft run.
#   mpi4py_test.sh WEFT PROGRAM PYTHON LIBRARIES
set -euo pipefail
weft=$1 program=$2 python=$3
# weft run does not see that Python's module needs an MPI.
export LD_LIBRARY_PATH=$4${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

for n in 1 2 3 4; do
  "$weft" run -n "$n" -- "$python" "$program" >"$dir/out" 2>&1 || {
    echo "mpi4py_test: $n processes end with $?: $(tail -5 "$dir/out")" >&2
    exit 1
  }
  grep -q 'checks, 0 failed$' "$dir/out" || {
    echo "mpi4py_test: with $n processes: $(cat "$dir/out")" >&2
    exit 1
  }
done
