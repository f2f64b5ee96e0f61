#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs that weft-mpicc and weft-mpicxx compiled for the standard's ABI.
#   standard_test.sh WEFT BUILD
set -euo pipefail
weft=$1 build=$2
programs=$build/tests
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

# The same result as the same source has with MPICH's ABI.
declare -A result=([1]=3663968496 [2]=1687647152 [3]=4011294784 [4]=694652576)
for n in 1 2 3 4; do
  got=$("$weft" run -n "$n" -- "$programs/standard_exchange" 2) || fail "$n ended with $?"
  [[ $got == "$n processes, checksum ${result[$n]}" ]] || fail "$n prints '$got'"
  got=$("$weft" run -n "$n" -- "$programs/standard_ring") || fail "the ring of $n ended with $?"
  [[ $got == "$n processes, 0 failures" ]] || fail "the ring of $n prints '$got'"
done

# The library alone is enough for a process by itself: the compiler notes where it is.
[[ $("$programs/standard_ring") == "1 processes, 0 failures" ]] || fail "it does not run by itself"
grep -q 'NEEDED.*libmpi_abi.so.1' <<<"$(readelf -d "$programs/standard_ring")" || fail "wrong name"

# A program of MPICH 5.0's early releases needs libmpi_abi.so.0.
sed 's/libmpi_abi\.so\.1/libmpi_abi.so.0/' "$programs/standard_ring" >"$dir/older"
chmod +x "$dir/older"
[[ $("$weft" run -n 2 -- "$dir/older") == "2 processes, 0 failures" ]] || fail "libmpi_abi.so.0"

code=0
"$weft" run -n 2 -- "$programs/standard_absent" >"$dir/out" 2>&1 || code=$?
((code == 1)) || fail "a function that is not there ends with $code: $(cat "$dir/out")"
grep -q 'MPI_T_cvar_read: weft does not have it yet; docs/mpi.md' "$dir/out" ||
  fail "it is not named: $(cat "$dir/out")"

for when in "before MPI_Init" "after MPI_Finalize"; do
  for how in blocking:MPI_Buffer_flush nonblocking:MPI_Buffer_iflush; do
    code=0
    "$weft" run -n 2 -- "$programs/standard_buffers" ${when% *} ${how%:*} >"$dir/out" 2>&1 || code=$?
    ((code == 1)) || fail "a $how $when ends with $code: $(cat "$dir/out")"
    grep -q "${how#*:}: called $when" "$dir/out" || fail "a $how $when is explained by '$(cat "$dir/out")'"
  done
done
