#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs of MPI that run on weft, recorded: the traces have what the programs do, as those that are recorded on
# their own MPI have (trace_record_test), and are replayed.
#   record_test.sh WEFT PROGRAMS ABI…     ABI: mpich, openmpi or standard
set -euo pipefail
weft=$1 programs=$2
shift 2
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

cat >"$dir/star.toml" <<'TOML'
[network]
topology = "star:4"
preset = "ib-edr"
TOML

# recorded NAME MESSAGES COLLECTIVES PROGRAM [OPTIONS OF WEFT RUN], with the words of the array `arguments`
arguments=()
recorded() {
  local trace=$dir/$1/traces.otf2
  "$weft" trace record --out "$dir/$1" -- "$weft" run -n 4 "${@:5}" -- "$4" "${arguments[@]}" >"$dir/out" 2>&1 ||
    fail "$1 is not recorded: $(cat "$dir/out")"
  "$weft" trace check "$trace" >"$dir/out" 2>&1 || fail "$1: $(cat "$dir/out")"
  "$weft" trace info "$trace" >"$dir/out"
  grep -qE "messages +$2," "$dir/out" && grep -qE "collectives +$3\$" "$dir/out" ||
    fail "$1 does not have $2 messages and $3 collectives: $(cat "$dir/out")"
  "$weft" trace replay "$trace" --scenario "$dir/star.toml" >"$dir/out" 2>&1 ||
    fail "$1 is not replayed: $(cat "$dir/out")"
}

for abi in "$@"; do
  # As counted in trace_record_test.
  recorded "exchange-$abi" 82 43 "$programs/trace_exchange_$abi"
  recorded "halo-$abi" 13 1 "$programs/trace_halo_$abi"
  recorded "tcp-$abi" 82 43 "$programs/trace_exchange_$abi" --fabric tcp
  # What weft does for a call on a file is none of the program's calls.
  arguments=("$dir/file")
  recorded "files-$abi" 0 1 "$programs/trace_files_$abi"
  arguments=()
done

# In a simulation, by its time: all computing takes none, so that it is the recorded time that the network takes.
recorded simulated 82 43 "$programs/trace_exchange_$1" --fabric "sim:$dir/star.toml"
seconds=$("$weft" trace info "$dir/simulated/traces.otf2" | awk '$1 == "seconds" { print $2 }')
awk "BEGIN { exit !($seconds > 1e-5 && $seconds < 1e-3) }" || fail "$seconds s of simulated time"

for how in on-failure all; do
  code=0
  "$weft" trace record --out "$dir/anew" -- "$weft" run -n 2 --restart $how -- \
    "$programs/trace_exchange_$1" >"$dir/out" 2>&1 || code=$?
  ((code != 0)) && grep -q 'is not started anew while it is recorded' "$dir/out" ||
    fail "with restarts, $how: $(cat "$dir/out")"
done

# Of a program that ends before MPI_Init nothing is left.
code=0
"$weft" trace record --out "$dir/none" -- "$weft" run -n 2 -- false >"$dir/out" 2>&1 || code=$?
((code != 0)) && grep -q 'nothing was recorded' "$dir/out" && [[ ! -e $dir/none.recordings ]] ||
  fail "without a recording: $(ls -d "$dir"/none*; cat "$dir/out")"

# Nor of a script, into which no module is loaded, and the reason is named.
code=0
"$weft" trace record --out "$dir/script" -- "$weft" run -n 2 -- sh -c 'exec "$0"' "$programs/trace_exchange_$1" \
  >"$dir/out" 2>&1 || code=$?
((code != 0)) && grep -q 'scripts, python3 and programs that need MPI only through a library cannot be' "$dir/out" &&
  [[ ! -e $dir/script.recordings ]] || fail "of a script, code $code: $(cat "$dir/out")"

# A rank beyond its limit of file sizes or of time is named as the reason.
ends() {
  code=0
  "$weft" trace record --out "$dir/limited" -- "$weft" run -n 2 -- sh -c "$1; exec \"\$0\"" \
    "$programs/trace_exchange_$abi" >"$dir/out" 2>&1 || code=$?
  ((code != 0)) && grep -q "$2" "$dir/out" || fail "with '$1', code $code: $(cat "$dir/out")"
}
abi=$1
ends 'ulimit -f 1' 'ended with code 153, as by signal 25 (File size limit exceeded)'
ends 'kill -XCPU $$' 'ended with code 152, as by signal 24 (CPU time limit exceeded)'

# What is recorded ends with its recorder, however that ends.
for signal in INT TERM KILL; do
  (trap - INT; exec "$weft" trace record --out "$dir/ended" -- "$weft" run -n 1 -- \
    sh -c 'echo $PPID >"$0.new" && mv "$0.new" "$0"; exec sleep 1000' "$dir/run") >"$dir/out" 2>&1 &
  recorder=$!
  until [[ -e $dir/run ]]; do kill -0 $recorder || fail "it is not recorded: $(cat "$dir/out")"; done
  kill -$signal $recorder
  code=0
  wait $recorder || code=$?
  ((code != 0)) || fail "recorded until $signal it ends well"
  launcher=$(cat "$dir/run")
  timeout 30 tail --pid="$launcher" -f /dev/null || fail "after $signal the job goes on"
  rm -rf "$dir/run" "$dir"/ended*
done
