#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft emulate at its edges: weft below a directory whose name no list of libraries can hold, ranks that are scripts of
# many commands, records that cannot be written, sweeps that cannot be printed, and runs that are told to end.
#   ends_test.sh WEFT
set -euo pipefail
weft=$1
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"
build=$(dirname -- "$weft")
probe=$build/weft_emulate_probe_mpich
if [[ ! -x $probe ]] || ! command -v mpirun.mpich >/dev/null; then
  echo "no MPICH here"
  exit 77
fi
export WEFT_CALIBRATION=$dir/none
is_gone() { ! grep -qs '^State:.[^Z]' "/proc/$1/status"; }

place="$dir/a b:c"
mkdir "$place"
cp -r "$weft" "$build"/libweft_emulate_*.so "$build/weft-providers" "$place"
"$place/weft" emulate --latency +1ms -- mpirun.mpich -n 2 "$probe" latency 8 20 >"$dir/out" 2>"$dir/err" ||
  fail "below a directory with a space and a colon: $(cat "$dir/err")"
grep -q '2 of 2 ranks interposed by ucx' "$dir/err" || fail "not interposed: $(cat "$dir/err")"

# 600 short processes, and records for 512.
# shellcheck disable=SC2016
script='for ((i = 0; i < 300; ++i)); do /bin/true; done; exec "$0" latency 8 20'
"$weft" emulate --latency +1ms -- mpirun.mpich -n 2 bash -c "$script" "$probe" >"$dir/out" 2>"$dir/err" ||
  fail "a script of many commands: $(cat "$dir/err")"

code=0
"$weft" emulate --json "$dir" -- touch "$dir/ran" 2>"$dir/err" || code=$?
((code == 2)) || fail "--json of a directory ends with code $code: $(cat "$dir/err")"
[[ ! -e $dir/ran ]] || fail "--json of a directory is found after the run"

(cd "$dir" && "$weft" emulate --latency +1ms --json - -- mpirun.mpich -n 2 "$probe" latency 8 20) \
  >"$dir/out" 2>"$dir/err" || fail "--json -: $(cat "$dir/err")"
grep -q '"ranks_interposed": 2' "$dir/out" || fail "--json - does not print the record: $(cat "$dir/out")"
for asked in '"latency": "+1ms"' '"bandwidth": "100%"'; do
  grep -qF "$asked" "$dir/out" || fail "without a calibration the record lacks $asked: $(cat "$dir/out")"
done
[[ ! -e $dir/- ]] || fail "--json - writes a file"
code=0
"$weft" sweep --json "$dir" -- touch "$dir/ran" 2>"$dir/err" || code=$?
((code == 2)) || fail "sweep --json of a directory ends with code $code: $(cat "$dir/err")"
[[ ! -e $dir/ran ]] || fail "sweep --json of a directory is found after the runs"
# A run of a point is not enough, so that a warning follows.
code=0
"$weft" sweep --budget 100ms --json "$dir/sweep.json" --report "$dir/report" -- mpirun.mpich -n 2 "$probe" latency 8 20 \
  >/dev/full 2>/dev/full || code=$?
((code == 3)) || fail "a sweep that cannot be printed ends with code $code"
[[ -s $dir/sweep.json && -s $dir/report/sweep.html ]] || fail "a sweep that cannot be printed leaves no files"

# SIGTERM to weft alone, although a debugger has stopped the ranks.
mkfifo "$dir/told"
# shellcheck disable=SC2016
"$weft" emulate -- mpirun.mpich -n 2 bash -c 'echo $$ >"$0"; kill -STOP $$; exec sleep 1000' "$dir/told" 2>"$dir/err" &
run=$!
exec 3<>"$dir/told"
read -r first <&3
read -r second <&3
kill -TERM "$run"
code=0
wait "$run" || code=$?
((code == 143)) || fail "stopped ranks: code $code: $(cat "$dir/err")"
for rank in "$first" "$second"; do
  is_gone "$rank" || fail "rank $rank, which was stopped, survives weft"
done

command -v memcached >/dev/null || exit 0
# shellcheck disable=SC2016
TMPDIR=$dir "$weft" emulate --server 'exec memcached -u $(id -un) -s {socket}' -- \
  bash -c 'echo $$ {socket} >"$0"; exec sleep 1000' "$dir/told" 2>"$dir/err" &
run=$!
read -r client socket <&3
kill -INT "$run"
code=0
wait "$run" || code=$?
((code == 130)) || fail "a server and its client: code $code: $(cat "$dir/err")"
is_gone "$client" || fail "the client survives weft"
[[ ! -e $(dirname -- "$socket") ]] || fail "$socket is left behind"

# weft is killed: whoever still runs holds the FIFO open.
mkfifo "$dir/alive"
# shellcheck disable=SC2016
TMPDIR=$dir "$weft" emulate --server 'setsid sleep 1000 & exec memcached -u $(id -un) -s {socket}' -- \
  bash -c 'echo $$ {socket} >"$0"; exec sleep 1000' "$dir/told" 4>"$dir/alive" &
run=$!
exec 5<"$dir/alive"
read -r client socket <&3
kill -KILL "$run"
cat <&5
[[ ! -e $(dirname -- "$socket") ]] || fail "$socket is left behind when weft is killed"
