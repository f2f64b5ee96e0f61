# SPDX-License-Identifier: Apache-2.0
# Runs whose processes are killed at random moments; for scripts that source ../common.sh.
# shellcheck shell=bash disable=SC2154

# Times that processes were started anew so far.
killed=0

# Kills one of the launcher's processes, if there is one.
kill_one() {
  mapfile -t pids < <(pgrep -P "$1" || true)
  ((${#pids[@]} == 0)) || kill -9 "${pids[RANDOM % ${#pids[@]}]}" 2>/dev/null || true
}

pause() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

# killed_run NAME SECONDS MS COMMAND…: a launcher's command, which takes MS undisturbed and has SECONDS, ends with 0
# although one or two of its processes are killed, one after the other or both at once. Output: $dir/out, $dir/err.
killed_run() {
  local name=$1 lasts=$3 guard launcher code=0
  timeout "$2" "${@:4}" >"$dir/out" 2>"$dir/err" &
  guard=$!
  pause $((RANDOM % (lasts + 1)))
  launcher=$(pgrep -P $guard || true)
  if [[ -n $launcher ]]; then
    kill_one "$launcher"
    case $((RANDOM % 3)) in
      1) kill_one "$launcher" ;;
      2)
        pause $((RANDOM % (lasts / 2 + 1)))
        kill_one "$launcher"
        ;;
    esac
  fi
  wait $guard || code=$?
  ((code == 0)) || fail "$name ended with code $code: $(tail -3 "$dir/err")"
  killed=$((killed + $(grep -cE 'starting (it|all ranks) anew' "$dir/err" || true)))
}
