#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs that were compiled for MPICH, as they are, under weft run.
#   mpi_test.sh WEFT PROGRAMS
set -euo pipefail
weft=$1 programs=$2
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

# The program's output under MPICH's own mpiexec, with 2 rounds.
declare -A result=([1]=3663968496 [2]=1687647152 [3]=4011294784 [4]=694652576)
for n in 1 2 3 4; do
  for how in "" "--fabric tcp"; do
    # shellcheck disable=SC2086
    got=$("$weft" run -n "$n" $how -- "$programs"/mpi_exchange 2) || fail "$n $how ended with $?"
    [[ $got == "$n processes, checksum ${result[$n]}" ]] || fail "$n $how prints '$got'"
  done
done

# One clear error for a function that is not there, and an exit code.
code=0
"$weft" run -n 2 -- "$programs"/mpi_absent >"$dir/out" 2>&1 || code=$?
((code == 1)) || fail "a function that is not there ends with $code: $(cat "$dir/out")"
grep -q 'MPI_T_cvar_read: weft does not have it yet; docs/mpi.md' "$dir/out" ||
  fail "it is not named: $(cat "$dir/out")"

# Debian's NetPIPE. Its figures are no result; that it got through all sizes is.
if command -v NPmpich2 >/dev/null; then
  (cd "$dir" && "$weft" run -n 2 -- NPmpich2 -n 5 -u 100000 -o np.out >np.log 2>&1) ||
    fail "NetPIPE ended with $?: $(tail -3 "$dir/np.log")"
  [[ $(awk 'END { print $1 }' "$dir/np.out") -gt 90000 ]] || fail "NetPIPE wrote $(cat "$dir/np.out")"
fi

# A deterministic program whose ranks are killed prints the same.
wanted=$("$weft" run -n 3 -- "$programs"/mpi_exchange 150 deterministic)
killed=0
for round in 1 2 3; do
  "$weft" run -n 3 --restart on-failure -- "$programs"/mpi_exchange 150 deterministic \
    >"$dir/out" 2>"$dir/err" &
  launcher=$!
  # Some moment of its run: whichever life of some rank is there by then.
  for ((i = 0; i < 100; ++i)); do
    mapfile -t ranks < <(pgrep -P "$launcher" -f mpi_exchange || true)
    ((${#ranks[@]} == 3)) && break
    kill -0 "$launcher" 2>/dev/null || break
  done
  ((${#ranks[@]} > 0)) && kill -9 "${ranks[round % ${#ranks[@]}]}" 2>/dev/null && killed=$((killed + 1))
  wait "$launcher" || fail "with a rank killed it ended with $?: $(cat "$dir/err")"
  [[ $(cat "$dir/out") == "$wanted" ]] ||
    fail "with a rank killed it prints '$(cat "$dir/out")', not '$wanted'"
done
((killed > 0)) || fail "no rank was ever killed"
