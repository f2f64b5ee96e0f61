#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs in Fortran that were compiled for MPICH, for Open MPI or for the standard's ABI, as they are, under
# weft run.
#   fortran_test.sh WEFT PROGRAMS ABI     ABI: mpich, openmpi or standard
set -euo pipefail
weft=$1 programs=$2 abi=$3
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

programs_to_run=(callbacks solver chapters corners later)
[[ $abi == standard ]] || programs_to_run+=(f08)

# The solver's output, and that of each chapter, is what it is on Open MPI.
for n in 1 2 3 4; do
  for program in "${programs_to_run[@]}"; do
    wanted=$(OMPI_MCA_osc=^ucx mpirun.openmpi --allow-run-as-root --oversubscribe -n "$n" \
      "$programs/fortran_openmpi_$program" 2>"$dir/err") || fail "Open MPI: $(cat "$dir/err")"
    for fabric in shm tcp; do
      # All symbols of Open MPI's own library of modules are there.
      got=$(LD_BIND_NOW=1 "$weft" run -n "$n" --fabric "$fabric" -- "$programs/fortran_${abi}_$program" \
        2>"$dir/err") || fail "$abi $program $n $fabric ended with $?: $(cat "$dir/err")"
      [[ $got == "$wanted" ]] || fail "$abi $program $n $fabric prints '$got', not '$wanted'"
    done
  done
done

if [[ $abi != standard ]]; then
  wanted=$(OMPI_MCA_osc=^ucx mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 \
    "$programs/fortran_openmpi_modules" 2>"$dir/err") || fail "Open MPI: $(cat "$dir/err")"
  got=$("$weft" run -n 2 -- "$programs/fortran_${abi}_modules" 2>"$dir/err") ||
    fail "$abi modules ended with $?: $(cat "$dir/err")"
  [[ $got == "$wanted" ]] || fail "$abi modules prints '$got', not '$wanted'"
fi

# Open MPI 4.1 does not have these.
for n in 1 2 3; do
  [[ $abi != openmpi ]] || break
  got=$("$weft" run -n "$n" -- "$programs/fortran_${abi}_newer" 2>"$dir/err") ||
    fail "$abi newer $n ended with $?: $(cat "$dir/err")"
  [[ $got == "0 failures" ]] || fail "$abi newer $n prints '$got'"
done

# MPICH's own library of Fortran runs on weft's of C: the module of Fortran 2008 needs it.
for program in callbacks later; do
  [[ $abi == mpich ]] || break
  wanted=$("$weft" run -n 3 -- "$programs/fortran_mpich_$program")
  got=$("$weft" run -n 3 -- env LD_LIBRARY_PATH="$(dirname "$weft")/weft-mpi/mpich-own-fortran" \
    "$programs/fortran_mpich_$program" 2>"$dir/err") || fail "$program on MPICH's library: $(cat "$dir/err")"
  [[ $got == "$wanted" ]] || fail "$program on MPICH's library prints '$got', not '$wanted'"
done

got=$("$weft" run -n 2 -- "$programs/fortran_${abi}_later" names 2>"$dir/err") ||
  fail "$abi: names of ports end with $?: $(cat "$dir/err")"
[[ $got == "met 1" ]] || fail "$abi: names of ports print '$got'"

# mpif.h.
"$weft" run -n 3 -- "$programs/fortran_${abi}_halo" >"$dir/out" 2>&1 || fail "$abi: halo: $(cat "$dir/out")"
[[ $abi == standard ]] || exit 0

# One clear error for a function that is not there, as some of MPI 4.1.
code=0
"$weft" run -n 3 -- "$programs/fortran_standard_absent" >"$dir/out" 2>&1 || code=$?
((code == 1)) || fail "$abi: a function that is not there ends with $code: $(cat "$dir/out")"
grep -q 'mpi_comm_flush_buffer: weft does not have it for Fortran yet; docs/mpi.md' "$dir/out" ||
  fail "$abi: it is not named: $(cat "$dir/out")"
