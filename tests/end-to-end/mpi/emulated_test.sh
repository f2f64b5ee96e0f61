#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs of MPI that run on weft, behind slower links by weft emulate: all ranks are interposed, and the program
# computes what it does otherwise.
#   emulated_test.sh WEFT PROGRAMS
set -euo pipefail
weft=$1 programs=$2
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

for program in mpi_exchange openmpi_exchange; do
  wanted=$("$weft" run -n 2 -- "$programs/$program" 2)
  got=$("$weft" emulate --latency +50us -- "$weft" run -n 2 -- "$programs/$program" 2 2>"$dir/err") ||
    fail "$program is not emulated: $(cat "$dir/err")"
  [[ $got == *"$wanted"* ]] || fail "$program prints '$got', not '$wanted'"
  grep -q '2 of 2 ranks interposed by libfabric' <(cat "$dir/err"; echo "$got") ||
    fail "$program: $(cat "$dir/err")"
done
