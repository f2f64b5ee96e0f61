#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs of MPI that have processes started while they run, and groups that meet at ports.
#   spawn_test.sh WEFT PROGRAM
set -euo pipefail
weft=$1 program=$2
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

# Sums of ranks: of the first world and its three children; of each process with its three; of the even ranks.
declare -A result=([1]="6, 6, 0" [2]="10, 12, 1" [3]="15, 18, 1" [4]="21, 24, 4")
for n in 1 2 3 4; do
  for fabric in auto tcp; do
    got=$("$weft" run -n "$n" --timeout 2s --fabric "$fabric" -- "$program" 2>"$dir/err") ||
      fail "$n $fabric ended with $?: $(cat "$dir/err")"
    [[ $got == "$n processes, sums ${result[$n]}"* ]] || fail "$n $fabric prints '$got'"
  done
done

# Processes of --hosts: those that are started later go to the free slots of other hosts. A stand-in for ssh.
printf '#!/usr/bin/env bash\necho "$1" >>%q\nshift\nexec bash -c "$*"\n' "$dir/reached" >"$dir/ssh"
chmod +x "$dir/ssh"
printf 'alpha 2\nbeta 3\n' >"$dir/hosts"
for fabric in auto tcp; do
  got=$("$weft" run -n 2 --hosts "$dir/hosts" --ssh "$dir/ssh" --remote-weft "$weft" --timeout 20s --fabric "$fabric" \
    -- "$program" 2>"$dir/err") || fail "--hosts $fabric ended with $?: $(cat "$dir/err")"
  [[ $got == "2 processes, sums ${result[2]}"* ]] || fail "--hosts $fabric prints '$got'"
  [[ $(sort -u "$dir/reached") == $'alpha\nbeta' ]] || fail "--hosts reached $(cat "$dir/reached")"
  rm "$dir/reached"
done

# refused TEXT COMMAND…: it ends badly, and one line has the text.
refused() {
  ! "${@:2}" >"$dir/out" 2>&1 || fail "${*:2} ends well"
  grep -q -- "$1" "$dir/out" || fail "${*:2}: no line '$1': $(cat "$dir/out")"
}
refused 'MPI_Comm_spawn: weft run cannot start processes.*with --restart or --config' \
  "$weft" run -n 2 --restart on-failure -- "$program"
# No other life could do better.
! grep -q 'starting it anew' "$dir/out" || fail "a rank starts anew in vain: $(cat "$dir/out")"
# Those of the standard's ABI find weft's library by themselves.
[[ $program != */standard_* ]] || refused 'MPI_Comm_spawn: it needs weft run' "$program"

# A process that is killed before it has called MPI_Init is an error of the call.
cat >"$dir/killed" <<'SH'
#!/bin/sh
kill -9 $$
SH
chmod +x "$dir/killed"
refused 'MPI_Comm_spawn: rank 1 was ended by signal 9 (Killed) before it had called MPI_Init' \
  "$weft" run -n 1 -- "$program" starts "$dir/killed"
# So is a program that is none of MPI, one that the system does not know, and a want of descriptors.
refused 'MPI_Comm_spawn: rank 1 ended with code 0 before it had called MPI_Init; MPI_Comm_spawn starts' \
  "$weft" run -n 1 -- "$program" starts /bin/true
printf '#!/no/such/interpreter\n' >"$dir/unknown"
chmod +x "$dir/unknown"
refused "MPI_Comm_spawn: .*$dir/unknown" "$weft" run -n 1 -- "$program" starts "$dir/unknown"
refused 'MPI_Comm_spawn: .*a process needs 43[0-9] file descriptors and may have 64' \
  bash -c 'ulimit -n 64 && exec "$@"' - "$weft" run -n 1 -- "$program" starts /bin/true 200
for tried in '/bin/true 3' "$dir/killed 2" "$dir/unknown 1" '/bin/true 200'; do
  # shellcheck disable=SC2086
  got=$(ulimit -n 64 && "$weft" run -n 1 -- "$program" tries $tried 2>"$dir/err") ||
    fail "$tried ended with $?: $(cat "$dir/err")"
  [[ $got == "sum 3" ]] || fail "$tried prints '$got'"
done

got=$(timeout 100 "$weft" run -n 1 -- "$program" threads) || fail "threads end with $?"
[[ $got == "4 threads" ]] || fail "threads print '$got'"

# A process that dies once it has asked gets no children. The launcher stands until both have happened.
printf '#!/bin/sh\ntouch "%s"\n' "$dir/started" >"$dir/child"
chmod +x "$dir/child"
bytes=$(printf %s "$dir/child" | od -An -v -tu1 | tr -s ' \n' , | sed 's/^,//; s/,$//')
printf '{"kind":0,"programs":[{"command":[[%s]],"processes":1}],"parents":[0],"name":[],"value":[]}' "$bytes" \
  >"$dir/question"
cat >"$dir/dies" <<'SH'
#!/usr/bin/env bash
size=$(stat -c %s "$1")
kill -STOP "$PPID"
(until grep -q '^State:.Z' "/proc/$$/status"; do :; done && kill -CONT "$PPID") >/dev/null 2>&1 &
printf "$(printf '\\x%02x\\x%02x' $((size % 256)) $((size / 256)))\0\0k" >&"$WEFT_CHANNEL"
cat "$1" >&"$WEFT_CHANNEL"
kill -9 $$
SH
chmod +x "$dir/dies"
refused 'rank 0 was ended by signal 9 (Killed)' "$weft" run -n 1 -- "$dir/dies" "$dir/question"
[[ ! -e $dir/started ]] || fail "a process that has died gets a child"
