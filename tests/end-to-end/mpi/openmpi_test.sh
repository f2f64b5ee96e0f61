#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs that were compiled for Open MPI, as they are, under weft run.
#   openmpi_test.sh WEFT PROGRAMS
set -euo pipefail
weft=$1 programs=$2
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

# The same result as the same source has with MPICH's ABI, whether the program has copies of the
# library's objects (the default) or uses those of the library (-fPIC).
declare -A result=([1]=3663968496 [2]=1687647152 [3]=4011294784 [4]=694652576)
for n in 1 2 3 4; do
  for how in "" "--fabric tcp"; do
    for kind in openmpi openmpi_pic; do
      # shellcheck disable=SC2086
      got=$("$weft" run -n "$n" $how -- "$programs/${kind}_exchange" 2) ||
        fail "$kind $n $how ended with $?"
      [[ $got == "$n processes, checksum ${result[$n]}" ]] || fail "$kind $n $how prints '$got'"
    done
  done
done

# error PATTERN PROGRAM: weft run ends with code 1 and that line.
error() {
  local code=0
  "$weft" run -n 2 -- "$programs/$2" >"$dir/out" 2>&1 || code=$?
  ((code == 1 || code == 127)) || fail "$2 ends with $code: $(cat "$dir/out")"
  grep -qE "$1" "$dir/out" || fail "$2 ends without '$1': $(cat "$dir/out")"
}
error 'MPI_T_cvar_read: weft does not have it yet; docs/mpi.md' openmpi_absent
error 'needs lib.* of one MPI and lib.* of another; link it with one of them' openmpi_and_mpich
error 'an MPI is linked into it; .* without -static' static_mpi
error 'an MPI is linked into it; .* without -static' static_mpi_shared_libc

# Debian's NetPIPE. Its figures are no result; that it got through all sizes is.
if command -v NPopenmpi >/dev/null; then
  (cd "$dir" && "$weft" run -n 2 -- NPopenmpi -n 5 -u 100000 -o np.out >np.log 2>&1) ||
    fail "NetPIPE ended with $?: $(tail -3 "$dir/np.log")"
  [[ $(awk 'END { print $1 }' "$dir/np.out") -gt 90000 ]] || fail "NetPIPE wrote $(cat "$dir/np.out")"
fi

# Debian's HPC Challenge: its verification passes, with the residuals that it has on Open MPI. That
# of StarDGEMM depends on the time of day.
example=/usr/share/doc/hpcc/examples/_hpccinf.txt
if command -v hpcc >/dev/null && [[ -e $example ]]; then
  # hpcc NAME COMMAND…: prints what does not depend on time.
  hpcc_results() {
    mkdir "$dir/$1"
    sed '6s/^[0-9]*/200/; 8s/^[0-9]*/40/' "$example" >"$dir/$1/hpccinf.txt"
    (cd "$dir/$1" && "${@:2}" >log 2>&1) || fail "hpcc $1 ended with $?: $(tail -3 "$dir/$1/log")"
    grep -E '^Success=1$' "$dir/$1/hpccoutf.txt" || fail "hpcc $1: $(cat "$dir/$1/hpccoutf.txt")"
    grep -E '^\|\|Ax-b|PASSED|FAILED|^(PTRANS_residual|.*_ErrorsFraction|MPIFFT_maxErr|.*_Errors)=|^HPL_' \
      "$dir/$1/hpccoutf.txt" | grep -vE '^(WALL|CPU) |HPL_(Tflops|time)' || true
  }
  wanted=$(hpcc_results original mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 hpcc)
  for fabric in shm tcp; do
    got=$(hpcc_results "$fabric" "$weft" run -n 4 --fabric "$fabric" -- hpcc)
    [[ $got == "$wanted" ]] ||
      fail "hpcc over $fabric has other results: $(diff <(echo "$wanted") <(echo "$got"))"
  done
fi

# A deterministic program whose ranks are killed prints the same.
program=$programs/openmpi_exchange
wanted=$("$weft" run -n 3 -- "$program" 150 deterministic)
killed=0
for round in 1 2 3; do
  "$weft" run -n 3 --restart on-failure -- "$program" 150 deterministic >"$dir/out" 2>"$dir/err" &
  launcher=$!
  # Some moment of its run: whichever life of some rank is there by then.
  for ((i = 0; i < 100; ++i)); do
    mapfile -t ranks < <(pgrep -P "$launcher" -f openmpi_exchange || true)
    ((${#ranks[@]} == 3)) && break
    kill -0 "$launcher" 2>/dev/null || break
  done
  ((${#ranks[@]} > 0)) && kill -9 "${ranks[round % ${#ranks[@]}]}" 2>/dev/null && killed=$((killed + 1))
  wait "$launcher" || fail "with a rank killed it ended with $?: $(cat "$dir/err")"
  [[ $(cat "$dir/out") == "$wanted" ]] ||
    fail "with a rank killed it prints '$(cat "$dir/out")', not '$wanted'"
done
((killed > 0)) || fail "no rank was ever killed"
