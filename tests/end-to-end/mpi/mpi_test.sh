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

# A script that starts the program.
printf '#!/bin/sh\n"%s" 2\nexit $?\n' "$programs/mpi_exchange" >"$dir/script"
chmod +x "$dir/script"
got=$("$weft" run -n 3 -- "$dir/script") || fail "a script ends with $?"
[[ $got == "3 processes, checksum ${result[3]}" ]] || fail "a script's program prints '$got'"

# One clear error for a function that is not there, and an exit code.
code=0
"$weft" run -n 2 -- "$programs"/mpi_absent >"$dir/out" 2>&1 || code=$?
((code == 1)) || fail "a function that is not there ends with $code: $(cat "$dir/out")"
grep -q 'MPI_T_cvar_read: weft does not have it yet; docs/mpi.md' "$dir/out" ||
  fail "it is not named: $(cat "$dir/out")"

# One line for each wrong call, and no signal.
refused() {
  code=0
  # shellcheck disable=SC2086
  timeout 60 "$weft" run -n 2 -- "$programs"/mpi_refused $1 >"$dir/out" 2>&1 || code=$?
  ((code == 1)) || fail "$1 ends with $code: $(cat "$dir/out")"
  grep -q -- "$2" "$dir/out" || fail "$1 is explained by '$(cat "$dir/out")'"
}
refused put-far "MPI_Put: bytes 18446744073709551616 to .* are outside of the 16 bytes"
refused put-longer "MPI_Put: the origin has 16 bytes, and the target 8"
refused accumulate-shorter "MPI_Accumulate: the origin has 8 bytes, and the target 16"
# Members of a collective operation that disagree about its size, on both sides of the limit of short messages.
others="call the same operations with the same root and counts everywhere, in the same order"
for counts in "10 5" "10 1000" "1000 10" "1000 900" "900 1000" "10 100000" "100000 10" "90000 100000"; do
  read -r first second <<<"$counts"
  for to_others in bcast:MPI_Bcast scatter:MPI_Scatter ibcast:MPI_Wait; do
    refused "${to_others%:*} $counts" \
      "rank 1: ${to_others#*:}: rank 0 sent $((4 * first)) bytes in a collective operation in which this rank expects $((4 * second)); use"
  done
  expected="rank 0: MPI_Reduce: rank 1 sent $((4 * second)) bytes in a collective operation in which this rank expects $((4 * first)); use"
  # Who gives few has left the reduction when the other one begins to exchange halves.
  ((first > 1000 || second > 1000)) && expected="rank [01]: MPI_Reduce: rank [01] sent [0-9]* bytes in a collective operation in which this rank expects [0-9]*; use\|rank 1: MPI_[RB][a-z]*: .* in reduce with root 0 .*: $others"
  refused "reduce $counts" "$expected"
  refused "gather $counts" \
    "rank 0: MPI_Gather: rank 1 sent $((4 * second)) bytes in a collective operation in which this rank expects $((4 * first)); use"
  for to_all in allreduce:MPI_Allreduce allgather:MPI_Allgather alltoallv:MPI_Alltoallv scan:MPI_Scan; do
    refused "${to_all%:*} $counts" \
      "rank [01]: ${to_all#*:}: rank [01] sent [0-9]* bytes in a collective operation in which this rank expects [0-9]*; use"
  done
done
# One gives half as many: its whole vector is as long as the other's half.
for counts in "25000 50000" "50000 25000"; do
  refused "reduces $counts" "rank [01]: MPI_Reduce: .* in which this rank expects [0-9]*; use"
  refused "allreduces $counts" "rank [01]: MPI_Allreduce: .* in which this rank expects [0-9]*; use"
done
refused "mixed 0 100000" "rank [01]: MPI_[AB][a-z]*: rank [01] sent [0-9]* bytes in a collective operation in which this rank expects [0-9]*; use"
# Others whose messages have the same size: both calls are named.
refused "roots 0 1" "rank [01]: MPI_Barrier: rank [01] of the job is in broadcast with root [01] of this communicator, collective call [0-9]* there; this rank is in barrier of this communicator, collective call [0-9]* there: $others"
refused "another 0 1" "rank [01]: MPI_All[a-z]*: rank [01] of the job is in all[a-z]* of .*; this rank is in all[a-z]* of .*: $others"
# Messages without names: processes that wait for seconds tell each other where they are.
refused long-roots "rank [01]: MPI_Bcast: rank [01] of the job is in broadcast with root [01] of this communicator, collective call 1 there; this rank is in broadcast with root [01] of .*: $others"
refused long-nonblocking "rank [01]: MPI_[WF][a-z]*: rank [01] of the job is in nonblocking [a-z]* .*, collective call 1 there; this rank is in nonblocking [a-z]* .*: $others\|rank [01] sent [0-9]* bytes in a collective operation in which this rank expects [0-9]*; use"
refused long-mixed "rank [01]: MPI_[A-Z][a-z]*: .* is in nonblocking broadcast with root 0 of .*: $others"
refused long-persistent "rank [01]: MPI_Wait: rank [01] of the job is in persistent broadcast with root [01] of this communicator; this rank is in persistent broadcast with root [01] of this communicator: $others"
refused "groups 1" "rank [01]: MPI_[A-Z][a-z]*: .* is in [a-z]* of this communicator, collective call [12] there; this rank is in [a-z]* of this communicator, collective call [12] there: $others"
refused "neighbors 1" "rank [01]: MPI_Neighbor_all[a-z]*: .* in neighbor all[a-z]* of this communicator, collective call [12] there; this rank is in neighbor .*: $others"
refused "ineighbors 100000" "rank [01]: MPI_[A-Z][a-z]*: .* is in nonblocking [a-z ]* of this communicator, .*: $others"
refused view-negative "MPI_File_set_view: displacements of a view's datatypes are not negative"
refused view-back "MPI_File_set_view: displacements of a view's datatypes never decrease"
refused view-twice "MPI_File_set_view: in a file that is open for writing, parts of a view's datatypes do not overlap"
refused code-of-success "MPI_Add_error_code: MPI_SUCCESS is no class of errors"
refused abort "MPI_Abort with code 256"
grep -q 'ended with code 1$' "$dir/out" || fail "an abort is told as '$(cat "$dir/out")'"
refused join "MPI_Comm_join: the socket [0-9]* broke"
refused send-too-much "a message is longer than any memory\|there is no memory left"
refused window-too-large "MPI_Win_allocate: rank [01] finds no 1152921504606846976 bytes of memory"
refused wait-before "MPI_Wait: called before MPI_Init"
refused wait-after "MPI_Wait: called after MPI_Finalize"
refused test-after "MPI_Test: called after MPI_Finalize"

# A rank that is killed ends the job at once, also where weft run cannot see that the program needs
# an MPI. Ranks that no weft run started notice it when its time is over.
library=$(dirname "$weft")/weft-mpi/mpich
code=0
"$weft" run -n 2 --timeout 1000s -- "$programs"/mpi_dies >"$dir/out" 2>&1 || code=$?
((code == 137)) || fail "a killed rank ends the job with $code: $(cat "$dir/out")"
code=0
"$weft" run -n 3 --timeout 1000s -- \
  env LD_LIBRARY_PATH="$library" "$programs"/mpi_dies >"$dir/out" 2>&1 || code=$?
((code == 137)) || fail "a killed rank of env ends the job with $code: $(cat "$dir/out")"
# A process that never becomes one of MPI's is named.
code=0
"$weft" run -n 2 -- env LD_LIBRARY_PATH="$library" sh -c 'mkdir "$0" 2>/dev/null || exec "$1" 2' \
  "$dir/first" "$programs"/mpi_exchange >"$dir/out" 2>&1 || code=$?
((code == 1)) || fail "a process without MPI_Init ends the job with $code: $(cat "$dir/out")"
grep -q 'rank [01] exited with code 0 and never called MPI_Init, as others did' "$dir/out" ||
  fail "a process without MPI_Init is not named: $(cat "$dir/out")"
printf '[general]\ntimeout = 1s\n[addresses]\nrank0 = mpi_test-%d-0\nrank1 = mpi_test-%d-1\n' $$ $$ \
  >"$dir/job.conf"
for rank in 0 1; do
  WEFT_RANK=$rank WEFT_CONFIG=$dir/job.conf LD_LIBRARY_PATH=$library "$programs"/mpi_dies 2>"$dir/err$rank" &
done
wait %1 && fail "a rank waits for a dead one, and ends well"
grep -q 'rank 1 was gone for 1 s; --timeout is the limit' "$dir/err0" ||
  fail "a rank that waits for a dead one says '$(cat "$dir/err0")'"

# Debian's NetPIPE. Its figures are no result; that it got through all sizes is.
if command -v NPmpich2 >/dev/null; then
  (cd "$dir" && "$weft" run -n 2 -- NPmpich2 -n 5 -u 100000 -o np.out >np.log 2>&1) ||
    fail "NetPIPE ended with $?: $(tail -3 "$dir/np.log")"
  [[ $(awk 'END { print $1 }' "$dir/np.out") -gt 90000 ]] || fail "NetPIPE wrote $(cat "$dir/np.out")"
fi

# A rank that is killed in MPI_Finalize, or behind it, prints what it has to print then. Without
# --restart its end is an error.
for moment in in after; do
  mkdir "$dir/$moment" "$dir/$moment-threads" "$dir/$moment-once"
  for threads in "" threads; do
    # shellcheck disable=SC2086
    timeout 60 "$weft" run -n 3 --restart on-failure -- "$programs"/mpi_epilogue "$dir/$moment${threads:+-threads}" \
      $moment $threads >"$dir/out" 2>"$dir/err" ||
      fail "killed $moment MPI_Finalize $threads it ends with $?: $(cat "$dir/err")"
    grep -q 'rank 0 was ended by signal 9 (Killed); starting it anew' "$dir/err" ||
      fail "killed $moment MPI_Finalize $threads it says '$(cat "$dir/err")'"
    for rank in 0 1 2; do printf 'rank %d of 3: sum 3\nrank %d: epilogue\n' $rank $rank; done |
      diff - <(sort "$dir/out") >&2 || fail "killed $moment MPI_Finalize $threads it prints something else"
  done
  code=0
  "$weft" run -n 3 -- "$programs"/mpi_epilogue "$dir/$moment-once" $moment >"$dir/out" 2>"$dir/err" || code=$?
  ((code == 137)) || fail "killed $moment MPI_Finalize, without --restart, it ends with $code"
  grep -q 'rank 0 was ended by signal 9' "$dir/err" || fail "it says '$(cat "$dir/err")'"
done

# A rank in MPI_Finalize serves the windows that the program did not free.
for fabric in auto tcp; do
  got=$(timeout 60 "$weft" run -n 3 --fabric $fabric -- "$programs"/mpi_unfreed 2>"$dir/err" | sort) ||
    fail "with windows that nobody frees, over $fabric, it ends with $?: $(cat "$dir/err")"
  [[ $got == "$(printf 'rank %d: 0 wrong\n' 0 1 2)" ]] || fail "with windows that nobody frees it prints '$got'"
done

# The order of accesses to a window is not recorded: when a rank that has one is killed, all begin again from nothing.
for how in on-failure all; do
  mkdir "$dir/exposed-$how"
  got=$("$weft" run -n 3 --restart $how -- "$programs"/mpi_exposed "$dir/exposed-$how" 2>"$dir/err") ||
    fail "with a window it ends with $?: $(cat "$dir/err")"
  [[ $got == "sum 3660" && -e $dir/exposed-$how/killed ]] || fail "with a window it prints '$got'"
  grep -q 'MPI_Win_allocate: an earlier life of this process has made the window, .*: all ranks restart from the beginning, and repeat nothing' \
    "$dir/err" || fail "with a window it says '$(cat "$dir/err")'"
done

# Nor is what several threads meet.
for how in on-failure all; do
  mkdir "$dir/second-$how"
  got=$(timeout 60 "$weft" run -n 3 --restart $how -- "$programs"/mpi_exposed "$dir/second-$how" threads 2>"$dir/err") ||
    fail "with a second thread it ends with $?: $(cat "$dir/err")"
  [[ $got == "sum 3660" && -e $dir/second-$how/killed ]] || fail "with a second thread it prints '$got'"
  grep -q 'a second thread of an earlier life of rank [012] called MPI, .*: all ranks restart from the beginning, and repeat nothing' \
    "$dir/err" || fail "with a second thread it says '$(cat "$dir/err")'"
done

# Ranks that have begun from nothing need no log: not that of a host that is lost, either. Here the third life of rank 0
# ends its host's agent; a stand-in for ssh runs that.
mkdir "$dir/hosts"
printf 'alpha 1\nbeta 2\n' >"$dir/hosts/list"
printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >"$dir/hosts/ssh"
cat >"$dir/hosts/third_life" <<'SCRIPT'
#!/usr/bin/env bash
if [[ $WEFT_LAUNCHED_RANK == 0 ]]; then
  echo >>"$1/lives"
  (($(wc -l <"$1/lives") != 3)) || kill -9 $PPID
fi
exec "$2" "$1"
SCRIPT
chmod +x "$dir/hosts/ssh" "$dir/hosts/third_life"
got=$(timeout 60 "$weft" run --hosts "$dir/hosts/list" --ssh "$dir/hosts/ssh" --remote-weft "$weft" --peer-timeout 2s \
  --restart on-failure -- env LD_LIBRARY_PATH="$library" "$dir/hosts/third_life" "$dir/hosts" \
  "$programs"/mpi_exposed 2>"$dir/err") || fail "with a lost host it ends with $?: $(cat "$dir/err")"
[[ $got == "sum 3660" ]] || fail "with a lost host it prints '$got'"
grep -q 'rank 0 was lost with host alpha; starting all ranks anew' "$dir/err" ||
  fail "with a lost host it says '$(cat "$dir/err")'"

# What was read from a file that is gone cannot be read again. What was written needs no reader. While the file is open,
# the error is that of the first call that the earlier life had not made: the killed rank's is its write, another one's may
# be what follows.
for how in on-failure all; do
  for when in close:MPI_File_read_at delete:MPI_File_read_at anew:MPI_File_read_at open:'MPI_File_\(write_at\|close\)'; do
    reader=${when#*:} when=${when%:*}
    scratch=$dir/scratch-$how-$when code=0
    mkdir "$scratch"
    "$weft" run -n 3 --restart $how -- "$programs"/mpi_scratch "$scratch" $when >"$dir/out" 2>"$dir/err" || code=$?
    ((code == 1)) || fail "$how: a deleted file ($when) ends with $code: $(cat "$dir/out" "$dir/err")"
    grep -q "$reader: .*$scratch/scratch was deleted or replaced after an earlier life of this process used it" "$dir/err" ||
      fail "$how: a deleted file ($when) is explained by '$(cat "$dir/err")'"
  done
  for when in unread written; do
    mkdir "$dir/$when-$how"
    got=$("$weft" run -n 3 --restart $how -- "$programs"/mpi_scratch "$dir/$when-$how" $when 2>"$dir/err") ||
      fail "$how: a deleted file that is $when ends with $?: $(cat "$dir/err")"
    [[ $got == "sum 33" ]] || fail "$how: a deleted file that is $when gives '$got'"
    [[ -e $dir/$when-$how/killed ]] || fail "$how: nobody was killed"
  done
done

# Ranks that change a file in turn: a rank that is killed does not write again over what others have written since.
# turns HOW WHAT CONTENT: runs turns.c, with that content of the file before.
turns() {
  turned=$dir/turns-$1-${2// /-}-$3 code=0
  mkdir "$turned"
  [[ -z $3 ]] || printf %s "$3" >"$turned/file"
  # shellcheck disable=SC2086
  timeout 60 "$weft" run -n 2 --restart "$1" -- "$programs"/mpi_turns "$turned" $2 >"$dir/out" 2>"$dir/err" || code=$?
  [[ -e $turned/killed ]] || fail "turns $2 with --restart $1: nobody was killed"
}
# turned HOW WHAT CONTENT WANTED: it prints the same as if nobody had been killed.
turned() {
  turns "$1" "$2" "$3"
  ((code == 0)) || fail "turns $2 with --restart $1 ends with $code: $(cat "$dir/err")"
  [[ $(cat "$dir/out") == "$4" ]] || fail "turns $2 with --restart $1 prints '$(cat "$dir/out")', not '$4'"
}
for how in on-failure all; do
  turned $how place "" "file: B1"
  turned $how cut "" "file: y16 x16"
  turned $how thread "" "file: B1"
  turned $how torn "" $'made\nfile:'
  [[ -e $turned/killed\ again ]] || fail "turns torn with --restart $how: nobody was killed in MPI_File_delete"
  ! grep -q 'repeat nothing' "$dir/err" || fail "turns torn with --restart $how says '$(cat "$dir/err")'"
  # What was there before cannot be restored when all begin again from nothing: nobody changes it a second time.
  for update in update "update window" "append window"; do
    turns $how "$update" 12
    ((code == 1)) && grep -q "$turned/file was changed by this job after it had read it" "$dir/err" ||
      fail "turns $update with --restart $how ends with $code: $(cat "$dir/out" "$dir/err")"
    kept=$(cat "$turned/file")
    [[ $kept == 2? || $kept == 12* ]] || fail "turns $update with --restart $how leaves '$kept'"
  done
  # What the job has made is made anew, where the file system tells files of the same name apart.
  (($(stat -c %W "$dir") > 0)) || continue
  turned $how again "" "file: g1 h1"
  turned $how "append window" "" "file: a1 b1"
  turned $how "create window" "" $'made\nfile: a2 b2'
  turned $how "header window" "" "file: h4 a1 b1"
done

# A rank whose memory of what it did to files was lost with its host trusts no file: its second life ends the host's agent.
mkdir "$dir/own"
printf 1 >"$dir/own/file"
sed -e 's/!= 3/!= 2/' -e 's/^exec.*/& own window/' "$dir/hosts/third_life" >"$dir/hosts/second_life"
chmod +x "$dir/hosts/second_life"
code=0
timeout 60 "$weft" run --hosts "$dir/hosts/list" --ssh "$dir/hosts/ssh" --remote-weft "$weft" --peer-timeout 2s \
  --restart on-failure -n 2 -- env LD_LIBRARY_PATH="$library" "$dir/hosts/second_life" "$dir/own" \
  "$programs"/mpi_turns >"$dir/out" 2>"$dir/err" || code=$?
((code == 1)) && grep -q "rank 0: .*$dir/own/file was changed by this job after it had read it" "$dir/err" ||
  fail "a file whose changes were lost with a host ends with $code: $(cat "$dir/out" "$dir/err")"
[[ $(cat "$dir/own/file") == 2 ]] || fail "a file whose changes were lost with a host has '$(cat "$dir/own/file")'"

# A rank that cannot keep what it sends says so once, and the job goes on: with little memory, and with messages that take
# more of its time to keep than they may. With --spill it keeps them all, and with --outbox-fails the job ends.
for limit in "--outbox 1MiB" "--outbox 1MiB --spill $dir" ""; do
  rounds=$([[ -z $limit ]] && echo 3000 || echo 200)
  bulk=$("$weft" run -n 2 -- "$programs"/mpi_bulk $rounds) || fail "bulk ends with $?"
  # shellcheck disable=SC2086
  got=$("$weft" run -n 2 --restart on-failure $limit -- "$programs"/mpi_bulk $rounds 2>"$dir/err") ||
    fail "bulk with '$limit' ends with $?: $(cat "$dir/err")"
  [[ $got == "$bulk" ]] || fail "bulk with '$limit' prints '$got', not '$bulk'"
  case $limit in
    "--outbox 1MiB") why='keeps .* of messages for restarts of other ranks, and the next one does not fit into its outbox (a larger .*' ;;
    "") why='has spent .* s on copies of .* of messages for restarts of other ranks (--outbox SIZE keeps .*' ;;
    *) why= ;;
  esac
  said=$(grep -c "rank [01] $why: from now on no messages are kept, and all ranks restart when one is killed" \
    "$dir/err" || true)
  [[ $said == $([[ -z $why ]] && echo 0 || echo 1) ]] || fail "bulk with '$limit' says '$(cat "$dir/err")'"
  [[ -n $why || ! -s $dir/err ]] || fail "bulk with '$limit' says '$(cat "$dir/err")'"
done
# What a life was told of a send while messages were kept holds for a life that keeps none.
mkdir "$dir/switched"
got=$(timeout 60 "$weft" run -n 2 --restart on-failure --outbox 2MiB -- "$programs"/mpi_switched "$dir/switched" \
  2>"$dir/err" | sort) || fail "after the switch it ends with $?: $(cat "$dir/err")"
grep -q 'from now on no messages are kept' "$dir/err" && [[ -e $dir/switched/killed ]] ||
  fail "there was no switch, or nobody was killed: $(cat "$dir/err")"
# In 100 rounds rank 0 gets 2^15 times 1 to 100, 5050 * 2^15, and rank 1 4950 * 2^15 = 162201600. Before, it got 0 to
# 2^15 - 1, 2^14 * (2^15 - 1) = 536854528.
[[ $got == "rank 0: 165478400, sent before it was received"$'\n'"rank 1: 699056128" ]] ||
  fail "after the switch it prints '$got'"
code=0
"$weft" run -n 3 --restart on-failure --most-restarts 0 --outbox 1MiB --outbox-fails -- "$programs"/mpi_bulk 400 \
  >"$dir/out" 2>"$dir/err" || code=$?
((code != 0)) && grep -q "the outbox is full" "$dir/err" || fail "a full outbox ends with $code: $(cat "$dir/err")"

# A pipe can be read but once: a rank that may have read of it is not started anew, and no job goes over to start all
# anew that has one.
mkdir "$dir/piped"
code=0
echo 42 | "$weft" run -n 3 --restart all -- "$programs"/mpi_dice "$dir/piped" >"$dir/out" 2>"$dir/err" || code=$?
((code == 1)) && grep -q "rank 1 was ended by signal 9 (Killed); the job's input is a pipe, of which nothing can be read again" \
  "$dir/err" || fail "with a pipe it ends with $code: $(cat "$dir/err")"
echo 42 | "$weft" run -n 2 --restart on-failure -- "$programs"/mpi_bulk 1000 >"$dir/out" 2>"$dir/err" ||
  fail "bulk with a pipe ends with $?: $(cat "$dir/err")"
[[ ! -s $dir/err ]] || fail "bulk with a pipe says '$(cat "$dir/err")'"

# Lives read the same from the C library's clocks, and processor time goes on.
for how in on-failure all; do
  mkdir "$dir/clocks-$how"
  got=$("$weft" run -n 3 --restart $how -- "$programs"/mpi_clocks "$dir/clocks-$how" 2>"$dir/err") ||
    fail "clocks with --restart $how end with $?: $(cat "$dir/err")"
  [[ -e $dir/clocks-$how/killed && $got == *"all agree" ]] || fail "clocks with --restart $how print '$got'"
done

# A program that does not repeat itself: all ranks begin anew from nothing, and none goes on with what another sent
# before. What was printed cannot be taken back: then it is an error.
mkdir "$dir/dice" "$dir/told" "$dir/dice-long"
for long in "" long; do
  # shellcheck disable=SC2086
  got=$(timeout 60 "$weft" run -n 3 --restart on-failure --outbox 1GiB -- \
    "$programs"/mpi_dice "$dir/dice${long:+-long}" $long 2>"$dir/err") ||
    fail "a program that does not repeat itself $long ends with $?: $(cat "$dir/err")"
  [[ $got == "all agree" ]] || fail "a program that does not repeat itself $long prints '$got'"
  (($(grep -c 'differs from what an earlier one sent: all ranks restart from the beginning, and repeat nothing' "$dir/err") == 1)) ||
    fail "a program that does not repeat itself $long says '$(cat "$dir/err")'"
done
code=0
"$weft" run -n 3 --restart on-failure -- "$programs"/mpi_dice "$dir/told" told >"$dir/out" 2>"$dir/err" || code=$?
((code == 1)) && grep -q 'rank 0 was started anew and prints something else than its earlier life did' "$dir/err" ||
  fail "a program that prints something else ends with $code: $(cat "$dir/err")"
grep -q 'with --restart all they repeat what it said' "$dir/err" || fail "no advice: '$(cat "$dir/err")'"

# One line for a log of outcomes that has no room, also where each life would meet the same.
code=0
# shellcheck disable=SC2016
WEFT_OUTCOMES_LIMIT=4GiB "$weft" run -n 2 --restart on-failure -- \
  sh -c 'ulimit -v 2000000 && exec "$0" 2' "$programs"/mpi_exchange >"$dir/out" 2>"$dir/err" || code=$?
((code != 0)) || fail "a log without room ends well: $(cat "$dir/out" "$dir/err")"
grep -q 'rank [01]: the log of outcomes cannot be mapped with its limit, WEFT_OUTCOMES_LIMIT=4 GiB: .*; set WEFT_OUTCOMES_LIMIT to less' \
  "$dir/err" || fail "a log without room is explained by '$(cat "$dir/err")'"
(($(wc -l <"$dir/err") == 1)) || fail "a log without room takes more than a line: $(cat "$dir/err")"

# A script whose second program is of MPI, too, after the first one or beside it.
# shellcheck disable=SC2016
for both in '"$0" 2 && "$0" 2' '"$0" 2 & "$0" 2; wait'; do
  for how in "" "--restart on-failure" "--fabric tcp"; do
    code=0
    # shellcheck disable=SC2086
    timeout 60 "$weft" run -n 2 $how -- sh -c "$both" "$programs"/mpi_exchange >"$dir/out" 2>&1 || code=$?
    ((code == 1)) || fail "two programs in a rank, $how: code $code: $(cat "$dir/out")"
    grep -q 'rank [01] starts a second program of MPI, or of weft, and a job has one; start each by a `weft run` of its own' \
      "$dir/out" || fail "two programs in a rank, $how: '$(cat "$dir/out")'"
  done
done

# What a script has started ends with it.
# shellcheck disable=SC2016
"$weft" run -n 1 -- sh -c 'sleep 1000 & echo $! >"$0.new" && mv "$0.new" "$0"; wait' "$dir/started" &
launcher=$!
until [[ -e $dir/started ]]; do kill -0 $launcher || fail "a script does not start"; done
kill $launcher
wait $launcher && fail "a job that was terminated ends well"
! kill -0 "$(cat "$dir/started")" 2>/dev/null || fail "what a script had started goes on"

# Output that cannot be written is an error. A reader that takes none does not hold up a signal.
if [[ -w /dev/full ]]; then
  code=0
  "$weft" run -n 2 --restart on-failure -- "$programs"/mpi_exchange 2 >/dev/full 2>"$dir/err" || code=$?
  ((code == 3)) || fail "with a full disk it ends with $code: $(cat "$dir/err")"
  grep -q 'standard output: cannot write: No space left on device; send it elsewhere' "$dir/err" ||
    fail "with a full disk it says '$(cat "$dir/err")'"
fi

# Rank 0 reads a file as its input again when it is started anew.
printf '1\n2\n3\n' >"$dir/input"
# shellcheck disable=SC2016
"$weft" run -n 1 --restart on-failure -- \
  sh -c 'cat; mkdir "$0" 2>/dev/null && kill -9 $$; exit 0' "$dir/read" <"$dir/input" >"$dir/out" 2>"$dir/err" ||
  fail "a program that reads its input ends with $?: $(cat "$dir/err")"
[[ $(grep -c 3 "$dir/out") == 2 ]] || fail "a life does not read the input again: $(cat "$dir/out")"

# A later life that prints less than an earlier one ends the job. A filter that prints the rest later does not.
lives=0
# shellcheck disable=SC2016
for rest in ':' '(sleep 0.2; echo more) &'; do
  code=0 wanted=$([[ $rest == : ]] && echo 1 || echo 0) life=$dir/life$((lives += 1))
  "$weft" run -n 1 --restart on-failure -- \
    sh -c '"$0" 2; mkdir "$1" 2>/dev/null && { echo more; kill -9 $$; }; eval "$2"' "$programs"/mpi_exchange "$life" \
    "$rest" >"$dir/out" 2>"$dir/err" || code=$?
  ((code == wanted)) || fail "a life that prints less, and '$rest', ends with $code: $(cat "$dir/err")"
  [[ $rest != : ]] || grep -q 'rank 0 was started anew and printed only [0-9]* of the [0-9]* bytes' "$dir/err" ||
    fail "a life that prints less is explained by '$(cat "$dir/err")'"
done

# What a process prints that a rank has left behind belongs to the job's output, if it comes soon.
"$weft" run -n 2 --restart on-failure -- sh -c '(sleep 0.2; echo late) &' >"$dir/out" 2>"$dir/err" ||
  fail "ranks that leave processes behind end with $?: $(cat "$dir/err")"
[[ $(grep -c late "$dir/out") == 2 ]] || fail "what processes left behind print is lost: '$(cat "$dir/out")'"
got=$("$weft" run -n 1 --restart on-failure -- sh -c 'printf unfinished; sleep 5 &')
[[ $got == unfinished ]] || fail "a line that is not finished, before a process that is left behind: '$got'"
got=$(timeout 60 "$weft" run -n 2 --restart on-failure -- seq 1 2000000 | wc -l) || fail "much output ends with $?"
((got == 4000000)) || fail "of much output $got lines came"

# The fabric 'mpi' would load the library in whose place weft's is.
refused="'mpi' carries programs that are linked to weft, and programs of MPI cannot run over it; choose auto, tcp or"
code=0
"$weft" run -n 2 --fabric mpi -- "$programs"/mpi_exchange 1 >"$dir/out" 2>&1 || code=$?
((code == 2)) && [[ $(cat "$dir/out") == "weft: --fabric: $refused"* ]] ||
  fail "over mpi, code $code: $(cat "$dir/out")"
code=0
WEFT_FABRIC=mpi PMI_RANK=0 LD_LIBRARY_PATH=$(dirname -- "$weft")/weft-mpi/mpich "$programs"/mpi_exchange 1 \
  >"$dir/out" 2>&1 || code=$?
((code == 1)) && [[ $(cat "$dir/out") == "MPI_Init: WEFT_FABRIC: $refused"* ]] ||
  fail "over mpi by mpirun, code $code: $(cat "$dir/out")"

# A rank without standard streams does not print into weft's sockets.
# shellcheck disable=SC2016
for how in "" "--restart on-failure"; do
  # shellcheck disable=SC2086
  "$weft" run -n 3 $how -- sh -c 'exec "$0" 50 <&- >&- 2>&-' "$programs"/mpi_exchange >"$dir/out" 2>"$dir/err" ||
    fail "ranks without standard streams, $how, end with $?: $(cat "$dir/out" "$dir/err")"
  [[ ! -s $dir/out ]] || fail "ranks without standard streams print '$(cat "$dir/out")'"
done

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
