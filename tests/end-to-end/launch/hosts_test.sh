#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft run --hosts: the same results, with any process killed on the way, and nothing left behind. A
# stand-in for ssh runs the commands here.
#   hosts_test.sh WEFT EXAMPLES [SEED]
set -euo pipefail
weft=$1 examples=$2 seed=${3:-$RANDOM}
RANDOM=$seed
# shellcheck source=common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
# Names of their own, to find processes by.
agent=$dir/wa$$ program=$dir/wp$$
cp "$weft" "$agent"
cp "$examples/markov2" "$program"
cleanup() {
  end_descendants
  pkill -9 -x "wa$$|wp$$" 2>/dev/null || true
  rm -rf -- "$dir"
}
trap cleanup EXIT

again="$weft $examples $seed"

# ssh HOST COMMAND. A host that has a file of its name in $dir/down cannot be reached. Its output
# goes through another process, as through a network: ssh may end before the process that it
# started.
cat >"$dir/ssh" <<SSH
#!/usr/bin/env bash
host=\$1
shift
if [[ -e $dir/down/\$host ]]; then
  echo "ssh: connect to host \$host port 22: No route to host" >&2
  exit 255
fi
echo \$\$ >>$dir/ssh-of-\$host
if [[ \$host == beta && -e $dir/late ]]; then until [[ -e $dir/died ]]; do :; done; fi
echo "\$*" >>$dir/commands
exec 3> >(exec cat)
cat | bash -c "\$*" >&3
SSH
chmod +x "$dir/ssh"
mkdir "$dir/down"
printf '# two machines\nalpha 2\nbeta slots=2\n' >"$dir/hosts"
elsewhere=("$weft" run --hosts "$dir/hosts" --ssh "$dir/ssh" --remote-weft)
run=("${elsewhere[@]}" "$agent")

nothing_left() { until_gone "wa$$|wp$$" "$1"; }

arguments=(400 40 600)
begun=$(milliseconds)
"$weft" run -n 4 --fabric tcp -- "$program" "${arguments[@]}" >"$dir/calm"
lasts=$(($(milliseconds) - begun))
expected=$(results "$dir/calm")
[[ $expected == *checksum* ]] || fail "no checksum: $expected"

# Undisturbed, on all slots and on fewer, over each fabric.
for how in "" "-n 3" "--fabric tcp" "--network 127.0.0.0/8"; do
  # shellcheck disable=SC2086
  "${bound[@]}" timeout 60 "${run[@]}" $how -- "$program" "${arguments[@]}" >"$dir/out" 2>"$dir/err" ||
    fail "$how ended with $?: $(cat "$dir/err")"
  [[ $(results "$dir/out") == "$expected" ]] || fail "$how prints $(cat "$dir/out"), not $expected"
  nothing_left "$how"
done
grep -Eq '^[^ ]* run-agent$' "$dir/commands" || fail "unexpected: $(cat "$dir/commands")"
[[ $(sort -u "$dir/commands" | wc -l) == 1 ]] || fail "not all the same: $(cat "$dir/commands")"

# expect CODE WORDS COMMAND…
expect() {
  local wanted=$1 words=$2 code=0
  shift 2
  "${bound[@]}" timeout 60 "$@" >"$dir/out" 2>"$dir/err" || code=$?
  ((code == wanted)) || fail "$* ended with $code, not $wanted: $(cat "$dir/err")"
  [[ $(cat "$dir/err") == *"$words"* ]] || fail "$* does not say '$words': $(cat "$dir/err")"
  nothing_left "$*"
}

# Exit codes, the output of programs, and their working directory.
expect 3 "rank 0 ended with code 3" "${run[@]}" -n 1 -- bash -c 'exit 3'
expect 127 "weft run: host alpha: cannot start '$dir/nothing'" "${run[@]}" -n 2 -- "$dir/nothing"
expect 143 "was ended by signal 15" "${run[@]}" -n 3 -- bash -c 'kill $$'
expect 0 "" "${run[@]}" -n 2 -- bash -c 'echo "here: $PWD"; echo -n unfinished'
(($(grep -o "here: $PWD" "$dir/out" | wc -l) == 2)) || fail "not in $PWD: $(cat "$dir/out")"
(($(grep -o unfinished "$dir/out" | wc -l) == 2)) || fail "the end is missing: $(cat "$dir/out")"
# Processes that ranks have left behind.
expect 0 "" "${run[@]}" -n 2 -- bash -c '(sleep 0.2; seq 1 300000) &'
(($(wc -l <"$dir/out") == 600000)) || fail "of what processes left behind print $(wc -l <"$dir/out") lines come"
expect 0 "" "${run[@]}" -n 1 -- bash -c 'printf unfinished; sleep 3 &'
[[ $(cat "$dir/out") == unfinished ]] || fail "the end of the output is '$(cat "$dir/out")'"
# More output than anybody keeps, to a reader that is slow to begin.
sum=$("${run[@]}" -n 4 -- bash -c 'seq 1 200000' | { sleep 0.5; sort | sha256sum; })
[[ $sum == "$(for i in 1 2 3 4; do seq 1 200000; done | sort | sha256sum)" ]] || fail "output got lost"
nothing_left "much output"
expect 0 "" timeout 20 bash -c '"$@" | head -n 1' - "${run[@]}" -n 2 -- bash -c 'seq 1 1000000'

# Errors of hosts.
touch "$dir/down/beta"
expect 1 "host beta: $dir/ssh ended with code 255 before weft answered" "${run[@]}" -- "$program"
rm "$dir/down/beta"
expect 1 "--remote-weft names another" "${elsewhere[@]}" "$dir/none" -- "$program"
expect 1 "something else than weft speaks there" "${elsewhere[@]}" /bin/echo -- "$program"
expect 2 "-n: 5 processes, but" "${run[@]}" -n 5 -- "$program"
expect 2 "--ssh: needs --hosts" "$weft" run --ssh x -- "$program"

expect 1 "--network: no address of this machine lies in 203.0.113.0/24" "${run[@]}" \
  --network 203.0.113.0/24 -- "$program" "${arguments[@]}"

# Kills somebody in the middle of a run; it ends as if nothing had been. WORDS are said of it. When
# the run was over before that, again.
#   survives WORDS KILL [RESTART]
survives() {
  local words=$1 kill=$2 restart=${3:-on-failure} attempt code guard pause
  for ((attempt = 0; attempt < 20; ++attempt)); do
    rm -f "$dir"/ssh-of-* "$dir/down/beta"
    code=0
    "${bound[@]}" timeout 100 "${run[@]}" --restart "$restart" --peer-timeout 2s -- \
      "$program" "${arguments[@]}" \
      >"$dir/out" 2>"$dir/err" &
    guard=$!
    until (($(pgrep -cx "wp$$") >= 4)) || ! kill -0 $guard 2>/dev/null; do :; done
    pause=$((RANDOM % (lasts / 2 + 1)))
    sleep "$(printf '%d.%03d' $((pause / 1000)) $((pause % 1000)))"
    $kill 2>/dev/null || true
    wait $guard || code=$?
    ((code == 0)) || fail "$kill: the job ended with $code: $(cat "$dir/err")"
    [[ $(results "$dir/out" | sort -u) == "$expected" ]] || fail "$kill: $(cat "$dir/out")"
    nothing_left "$kill"
    [[ $(cat "$dir/err") != *"$words"* ]] || return 0
    lasts=$((lasts / 2))
  done
  fail "$kill: nobody says '$words': $(cat "$dir/err")"
}
kill_rank() { kill -9 "$(pgrep -x "wp$$" | shuf -n 1)"; }
kill_agent() { kill -9 "$(pgrep -x "wa$$" | shuf -n 1)"; }
kill_ssh() { kill -9 "$(cat "$dir/ssh-of-beta")"; }
take_host() {
  touch "$dir/down/beta"
  kill_ssh
}
survives "was ended by signal 9 (Killed); starting it anew on" kill_rank
survives "is lost: $dir/ssh ended with code 137" kill_agent
survives "host beta is lost: $dir/ssh was ended by signal 9" kill_ssh
survives "starting it anew on alpha" take_host
rm "$dir/down/beta"
survives "was ended by signal 9 (Killed); starting all ranks anew" kill_rank all
survives "starting all ranks anew" take_host all
rm "$dir/down/beta"

# All end, also those that a host which has not answered yet shall start.
touch "$dir/late"
# shellcheck disable=SC2016
expect 0 "starting all ranks anew" timeout 60 "${run[@]}" --restart all -- \
  bash -c 'if mkdir "$0" 2>/dev/null; then kill -9 $$; fi' "$dir/died"
rm "$dir/late"

# Without a restart, the others name the missing rank.
rm -f "$dir"/ssh-of-*
"${bound[@]}" timeout 60 "${run[@]}" --timeout 500ms -- "$program" 400 40 100000 >"$dir/out" 2>"$dir/err" &
guard=$!
until_running wp$$ 4
kill_ssh
code=0
wait $guard || code=$?
((code == 255)) || fail "a job whose host was lost ended with $code: $(cat "$dir/err")"
grep -q "rank 2 was lost with host beta" "$dir/err" || fail "no word of it: $(cat "$dir/err")"
grep -q "was gone for 0.5 s" "$dir/err" || fail "nobody says what it missed: $(cat "$dir/err")"
nothing_left "a lost host"

# The launcher is asked to end, or killed.
ends_when_asked_or_killed wp$$ 4 wa$$ "TERM INT KILL" "${run[@]}" -- "$program" 400 40 100000
echo "hosts_test: all as expected"
