#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How the processes of a job end, and how weft run reacts: exits in the middle, codes of main, kills
# after a program has returned, kills until the launcher itself ends.
#   endings_test.sh WEFT ENDINGS [SEED [ROUNDS]]
set -euo pipefail
weft=$1 endings=$2 seed=${3:-$RANDOM} rounds=${4:-100}
# shellcheck source=../launch/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../launch/common.sh"

again="$weft $endings $seed $rounds"
ranks=3
files=$dir/files

# start OPTIONS -- ARGUMENTS: in the background, as $launcher.
start() {
  rm -rf "$files"
  mkdir "$files"
  "${bound[@]}" timeout 60 "$weft" run -n $ranks "$@" >"$dir/out" 2>"$dir/err" &
  guard=$!
}
ends_with() {
  local code=0
  wait $guard || code=$?
  ((code == $1)) || fail "$2: code $code, not $1: $(cat "$dir/err")"
}
says() { grep -q -- "$1" "$dir/err" || fail "nobody says '$1': $(cat "$dir/err")"; }

# Which files are whole.
check_files() {
  local rank
  for ((rank = 0; rank < ranks; ++rank)); do
    cmp -s "$files/$rank" "$dir/whole$rank" || fail "$1: file of rank $rank is not whole: $(cat "$dir/err")"
    [[ $(cat "$files/$rank.tail") == tail ]] || fail "$1: rank $rank has not come to its end: $(cat "$dir/err")"
  done
}

# Undisturbed.
start --restart on-failure -- "$endings" "$files" 50 finish
ends_with 0 finish
for ((rank = 0; rank < ranks; ++rank)); do
  [[ $(wc -l <"$files/$rank") == 51 ]] || fail "rank $rank wrote $(cat "$files/$rank")"
  cp "$files/$rank" "$dir/whole$rank"
done
check_files finish

# A rank that exits with code 0 before its program has returned: one clear error, and nobody waits.
for how in "exit 1" "_exit 1" "_exit 0"; do
  for restart in on-failure never; do
    start --restart $restart -- "$endings" "$files" 50 ${how% *} ${how#* }
    ends_with 1 "$how with --restart $restart"
    says "^weft run: rank ${how#* } exited with code 0 before its program had returned"
    ! grep -q "anew" "$dir/err" || fail "$how: it was started anew: $(cat "$dir/err")"
  done
done
start -- bash -c 'exit 0'
ends_with 0 "a program that never joins"

# The code of main after run_program counts.
start --restart never -- "$endings" "$files" 50 code 1
ends_with 3 "main's code"
says "rank 1 ended with code 3"
start --restart on-failure --most-restarts 2 -- "$endings" "$files" 50 code 2
ends_with 3 "main's code, with restarts"
(($(grep -c 'starting it anew' "$dir/err") == 2)) || fail "no restarts: $(cat "$dir/err")"
says "no restart is left (--most-restarts 2)"
start --restart on-failure -- bash -c 'exit 3'
ends_with 3 "a program that always fails"
says "ended with code 3 ten times in a row"
start --restart on-failure -- "$endings" "$files" 15 stores 1
ends_with 0 "a program that fails in the same way, each time at a later checkpoint"
(($(grep -c 'starting it anew' "$dir/err") == 15)) || fail "lives of 15 steps: $(cat "$dir/err")"
start --restart never -- "$endings" "$files" 50 crash 0
ends_with 139 "a crash behind run_program"

# A program that cannot be started: one line, for any number of processes.
start --restart on-failure -- "$dir/nothing"
ends_with 127 "a program that is not there"
(($(wc -l <"$dir/err") == 1)) || fail "more than a line: $(cat "$dir/err")"
says "^weft run: cannot start '$dir/nothing': No such file or directory"
echo 'no program' >"$dir/data"
start -- "$dir/data"
ends_with 127 "a file that is no program"
says "make it executable"
# A shell would take it for a script.
head -c 4096 /bin/true >"$dir/foreign"
printf '\xff\x7f' | dd of="$dir/foreign" bs=1 seek=18 conv=notrunc status=none
chmod +x "$dir/foreign"
start -- "$dir/foreign"
ends_with 127 "a program of another machine"
says "^weft run: cannot start '$dir/foreign': .*it was compiled for another machine"
start -- "$dir"
ends_with 127 "a directory"
says "it is a directory; name a program"

# kill_rank RANK: when its main is about to end, and it serves the others.
kill_returned() {
  local pid
  until [[ -e $files/$1.tail ]]; do kill -0 $guard 2>/dev/null || fail "it ended: $(cat "$dir/err")"; done
  pid=$(pgrep -P "$(pgrep -P $guard)" | sed -n "$(($1 + 1))p")
  # It has reported that it returned when it waits.
  until [[ $(awk '{ print $3 }' "/proc/$pid/stat") == S ]]; do :; done
  kill -9 "$pid"
}
start --restart on-failure -- "$endings" "$files" 50 first 1
kill_returned 1
until grep -q 'rank 1 was ended by signal 9' "$dir/err"; do :; done
touch "$files/go"
ends_with 0 "a kill after the program had returned"
says "rank 1 was ended by signal 9 (Killed) after its program had returned"
! grep -q anew "$dir/err" || fail "a rank that had returned was started anew: $(cat "$dir/err")"
check_files first

start --restart on-failure -- "$endings" "$files" 50 needed 1
kill_returned 1
until grep -q 'rank 1 was ended by signal 9' "$dir/err"; do :; done
touch "$files/go"
ends_with 0 "what a killed rank had sent is needed again"
says "rank 1 is needed by rank [02]; starting it anew"
check_files needed

# Kills at random moments, up to the launcher's end: always exit code 0 and whole files. The shell
# itself waits and kills: a process of its own for either takes as long as the rest of the job.
exec {never}<> <(:)
wait_microseconds() {
  local seconds
  printf -v seconds '%d.%06d' $(($1 / 1000000)) $(($1 % 1000000))
  read -rt "$seconds" -u "$never" || true
}
# When all ranks run; false if the job is over.
all_run() {
  until [[ -s $files/0.pid && -s $files/1.pid && -s $files/2.pid ]]; do
    kill -0 $guard 2>/dev/null || return 1
    wait_microseconds 200
  done
}
kill_rank() {
  local pid
  read -r pid <"$files/$1.pid" || true
  [[ -z $pid ]] || kill -9 "$pid" 2>/dev/null || true
}
start --restart on-failure -- "$endings" "$files" 1000 finish
all_run || fail "ended before all ran: $(cat "$dir/err")"
began=${EPOCHREALTIME/[.,]/}
ends_with 0 finish
lasts=$((${EPOCHREALTIME/[.,]/} - began))
for ((rank = 0; rank < ranks; ++rank)); do cp "$files/$rank" "$dir/whole$rank"; done
killed=0
for ((round = 0; round < rounds; ++round, ++seed)); do
  RANDOM=$seed again="$weft $endings $seed $rounds"
  start --restart on-failure -- "$endings" "$files" 1000 finish
  if all_run; then
    # The last third of the time is where programs return and all leave.
    wait_microseconds $((lasts / 2 + RANDOM * lasts / 65536))
    for ((kills = 0; kills < 3; ++kills)); do
      kill_rank $((RANDOM % ranks))
      wait_microseconds $((RANDOM * lasts / 131072))
    done
  fi
  ends_with 0 "round $round, seed $seed"
  check_files "round $round, seed $seed"
  killed=$((killed + $(grep -c 'was ended by signal 9' "$dir/err" || true)))
done
((rounds < 20 || killed > 0)) || fail "nothing was ever killed"
echo "endings_test: all as expected; $killed processes killed in $rounds rounds"
