# SPDX-License-Identifier: Apache-2.0
# Helpers of the tests of launching. Programs that are searched for by name are copies of a name of their own.
# shellcheck shell=bash source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"
trap 'end_descendants; rm -rf -- "$dir"' EXIT

# Before a command in the background: it is asked to end when this script is killed.
bound=(setpriv --pdeathsig TERM --)

# Kills all descendants of this script.
end_descendants() {
  local generation=$$ all=()
  while mapfile -t generation < <(pgrep -P "$(IFS=, && echo "${generation[*]}")") &&
    ((${#generation[@]} > 0)); do
    all+=("${generation[@]}")
  done
  ((${#all[@]} == 0)) || kill -9 "${all[@]}" 2>/dev/null || true
}

# The output of programs, without their times.
results() { grep -v ' processes, ' "$1" || true; }

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# until_gone NAMES WHEN: no process of these names is left.
until_gone() {
  local left=200
  while pgrep -x "$1" >/dev/null; do
    ((--left)) || fail "$2: there are still $(pgrep -ax "$1")"
    sleep 0.05
  done
}

# until_running NAME COUNT
until_running() { until (($(pgrep -cx "$1") >= $2)); do :; done; }

# ends_when_asked_or_killed PROGRAM COUNT AGENT SIGNALS COMMAND…: a launcher that gets any of the
# signals while COUNT processes run takes its own exit code from it, and leaves none behind.
ends_when_asked_or_killed() {
  local name=$1 count=$2 agent=$3 signals=$4 signal launcher code
  shift 4
  for signal in $signals; do
    "${bound[@]}" "$@" >"$dir/out" 2>"$dir/err" &
    launcher=$!
    until_running "$name" "$count"
    kill "-$signal" $launcher
    code=0
    wait $launcher || code=$?
    ((code == 128 + $(kill -l "$signal"))) || fail "SIG$signal: code $code: $(cat "$dir/err")"
    until_gone "$agent|$name" "SIG$signal"
  done
}
