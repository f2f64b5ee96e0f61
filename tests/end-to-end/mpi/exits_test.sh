#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks that are killed when others have exited, or where nobody sees it.
#   exits_test.sh WEFT PROGRAMS
set -euo pipefail
weft=$1 programs=$2
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"
done_=$'rank 0 is done'

# run MODE COMMAND…: a directory of its own, where somebody is killed. It ends well.
run() {
  mode=$1
  shift
  mkdir "$dir/$mode"
  code=0
  timeout 60 "$weft" run "$@" >"$dir/out" 2>"$dir/err" || code=$?
  ((code == 0)) || fail "$mode ends with $code: $(cat "$dir/out" "$dir/err")"
  [[ -e $dir/$mode/killed0 ]] || fail "$mode: nobody was killed"
}
printed() {
  [[ $(cat "$dir/out") == "$1" ]] || fail "$mode prints '$(cat "$dir/out")'"
}

# The one rank that a restarted one hears from is restarted, too, and no other one: neither those that have exited nor
# one that has left the job and runs on. That takes no restart.
run one -n 6 --restart on-failure --most-restarts 1 -- "$programs"/mpi_exits "$dir/one" one
printed "$done_"
grep -q 'rank 5 is needed by rank 0; starting it anew' "$dir/err" && (($(grep -c 'is needed by' "$dir/err") == 1)) ||
  fail "of the needed ranks it says '$(cat "$dir/err")'"

# A rank that sends a lot again to one that has exited does not wait in vain with each message, and keeps no more of
# them than its earlier life.
run sends -n 2 --restart on-failure --inbox 1MiB --outbox 8MiB --outbox-fails -- "$programs"/mpi_exits "$dir/sends" \
  sends
printed "$done_"
grep -q 'rank 1 is needed by rank 0; starting it anew' "$dir/err" || fail "sends says '$(cat "$dir/err")'"

# A rank goes on where the other has no room for what it does not wait for: messages that it has not asked for, or that
# an earlier life had sent.
mkdir "$dir/calm"
timeout 60 "$weft" run -n 2 --inbox 40KiB -- "$programs"/mpi_exits "$dir/calm" calm >"$dir/out" 2>"$dir/err" ||
  fail "calm ends with $?: $(cat "$dir/out" "$dir/err")"
mode=calm
printed "$done_"
run room -n 2 --restart on-failure --inbox 40KiB --outbox 64MiB -- "$programs"/mpi_exits "$dir/room" room
printed "$done_"

# A script may hide that its program was killed. Its program may exit by itself, too: that is the same in each life.
# shellcheck disable=SC2016
hiding='"$0" "$@"'
run hidden -n 2 --restart on-failure -- sh -c "$hiding; exit \$?" "$programs"/mpi_exits "$dir/hidden" hidden
printed "$done_"
run vanishes -n 2 --restart on-failure -- sh -c "$hiding; exit 0" "$programs"/mpi_exits "$dir/vanishes" vanishes
printed "$done_"
grep -q 'rank 0 .*, but its program neither left MPI_Finalize nor exited; starting it anew' "$dir/err" ||
  fail "vanishes says '$(cat "$dir/err")'"
# shellcheck disable=SC2016
run orphan -n 2 --restart on-failure -- sh -c 'trap "exit 0" TERM; "$0" "$@" & wait' "$programs"/mpi_exits \
  "$dir/orphan" orphan
printed "$done_"
! pgrep -f "$dir/orphan" >/dev/null || fail "the program of a script that had ended lives on"
mkdir "$dir/exits"
code=0
timeout 60 "$weft" run -n 2 --restart on-failure -- sh -c "$hiding; exit 0" "$programs"/mpi_exits "$dir/exits" exits \
  >"$dir/out" 2>"$dir/err" || code=$?
((code == 1)) && grep -q 'rank 0 exited with code 0 before it had called MPI_Finalize' "$dir/err" &&
  ! grep -q 'starting' "$dir/err" || fail "exits ends with $code: $(cat "$dir/out" "$dir/err")"

# What a life that differs has not printed yet is void when all begin from nothing.
run draws -n 2 --restart on-failure -- "$programs"/mpi_exits "$dir/draws" draws
(($(wc -l <"$dir/out") == 20)) && grep -q 'all ranks restart from the beginning, and repeat nothing' "$dir/err" ||
  fail "draws prints '$(cat "$dir/out")' and says '$(cat "$dir/err")'"

# So do all where a life cannot be repeated, as its log was full.
export WEFT_OUTCOMES_LIMIT=4KiB
run full -n 2 --restart on-failure -- "$programs"/mpi_exits "$dir/full" full
unset WEFT_OUTCOMES_LIMIT
[[ $(sort "$dir/out") == $'rank 0 is done\nrank 1 is done' ]] || fail "full prints '$(cat "$dir/out")'"
grep -q 'whose log of outcomes reached its limit .*: all ranks restart from the beginning, and repeat nothing' \
  "$dir/err" || fail "full says '$(cat "$dir/err")'"

# Times that a program reads after MPI_Finalize are the same in each life.
run times -n 2 --restart on-failure -- "$programs"/mpi_exits "$dir/times" times
grep -q 'rank 0 is needed by rank 1; starting it anew' "$dir/err" && (($(wc -l <"$dir/out") == 1)) ||
  fail "times prints '$(cat "$dir/out")' and says '$(cat "$dir/err")'"

# Lives that have the same process number in namespaces of their own are different lives.
if unshare -Urpf true 2>/dev/null; then
  mkdir "$dir/window"
  # shellcheck disable=SC2016
  got=$(timeout 60 "$weft" run -n 3 --restart on-failure --fabric tcp -- unshare -Urpf sh -c "$hiding; exit \$?" \
    "$programs"/mpi_exposed "$dir/window" 2>"$dir/err") || fail "window ends with $?: $(cat "$dir/err")"
  [[ $got == "sum 3660" ]] && grep -q 'an earlier life of this process has made the window' "$dir/err" ||
    fail "window prints '$got' and says '$(cat "$dir/err")'"
fi
