#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft run --hosts through a real ssh to a real sshd on loopback, with keys of its own, which this
# starts and stops again. Needs root and the packages openssh-server and openssh-client; exits 77
# ("skipped") without them.
#   sshd_test.sh WEFT EXAMPLES
set -euo pipefail
weft=$1 examples=$2

skip() {
  echo "skipped: $*"
  exit 77
}
[[ $(id -u) == 0 ]] || skip "sshd wants root"
sshd=$(PATH=$PATH:/usr/sbin command -v sshd) || skip "there is no sshd"
command -v ssh >/dev/null || skip "there is no ssh"

# shellcheck source=common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
daemon=
made_run=
cleanup() {
  [[ -z $daemon ]] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null || true
  end_descendants
  pkill -9 -x "wa$$|wp$$" 2>/dev/null || true
  [[ -z $made_run ]] || rmdir /run/sshd 2>/dev/null || true
  rm -rf -- "$dir"
}
trap cleanup EXIT
fail() {
  echo "sshd_test: $1" >&2
  tail -n 20 "$dir/sshd.log" >&2 || true
  exit 1
}
agent=$dir/wa$$ program=$dir/wp$$
cp "$weft" "$agent"
cp "$examples/markov2" "$program"
chmod 755 "$dir"

ssh-keygen -q -t ed25519 -N '' -f "$dir/host"
ssh-keygen -q -t ed25519 -N '' -f "$dir/user"
cp "$dir/user.pub" "$dir/authorized"
# sshd's own, of its package; it must be there.
if [[ ! -d /run/sshd ]]; then
  mkdir -m 755 /run/sshd
  made_run=yes
fi
port=$((10000 + RANDOM % 18000))
while (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do ((++port)); done
cat >"$dir/sshd_config" <<CONF
ListenAddress 127.0.0.1:$port
HostKey $dir/host
AuthorizedKeysFile $dir/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
CONF
"${bound[@]}" "$sshd" -D -f "$dir/sshd_config" -E "$dir/sshd.log" &
daemon=$!
until (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
  kill -0 $daemon 2>/dev/null || skip "sshd does not start here: $(tail -n 2 "$dir/sshd.log")"
done

# Two names for one machine.
printf '127.0.0.1 2\nlocalhost 2\n' >"$dir/hosts"
ssh="ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
ssh+=" -o LogLevel=ERROR -o AddressFamily=inet -p $port -i $dir/user"
$ssh 127.0.0.1 true 2>"$dir/err" || skip "root may not log in here: $(cat "$dir/err")"
run=("$weft" run --hosts "$dir/hosts" --ssh "$ssh" --remote-weft "$agent")

nothing_left() { until_gone "wa$$|wp$$" "$1"; }
arguments=(400 40 1200)
"$weft" run -n 4 --fabric tcp -- "$program" "${arguments[@]}" >"$dir/calm"
expected=$(results "$dir/calm")

"${bound[@]}" timeout 60 "${run[@]}" -- "$program" "${arguments[@]}" >"$dir/out" 2>"$dir/err" ||
  fail "it ended with $?: $(cat "$dir/err")"
[[ $(results "$dir/out") == "$expected" ]] || fail "it prints $(cat "$dir/out"), not $expected"
nothing_left "an undisturbed run"

code=0
"${bound[@]}" timeout 60 "${run[@]}" -n 3 -- bash -c 'exit 7' >"$dir/out" 2>"$dir/err" || code=$?
((code == 7)) || fail "exit code $code, not 7: $(cat "$dir/err")"

# The launcher's ssh is killed, then sshd's side of a connection.
kill_ssh() { kill -9 "$(pgrep -P "$(pgrep -P $guard)" | head -n 1)"; }
kill_session() { kill -9 "$(pgrep -P $daemon | shuf -n 1)"; }
kill_rank() { kill -9 "$(pgrep -x "wp$$" | shuf -n 1)"; }
for kill in kill_rank kill_ssh kill_session; do
  "${bound[@]}" timeout 100 "${run[@]}" --restart on-failure -- "$program" "${arguments[@]}" \
    >"$dir/out" 2>"$dir/err" &
  guard=$!
  until_running wp$$ 4
  $kill
  wait $guard || fail "$kill: the job ended with $?: $(cat "$dir/err")"
  [[ $(results "$dir/out" | sort -u) == "$expected" ]] || fail "$kill: $(cat "$dir/out")"
  grep -q 'starting it anew' "$dir/err" || fail "$kill: nothing was started anew"
  nothing_left "$kill"
done

# The launcher is asked to end, or killed.
ends_when_asked_or_killed wp$$ 4 wa$$ "TERM KILL" "${run[@]}" -- "$program" 400 40 100000
echo "sshd_test: all as expected"
