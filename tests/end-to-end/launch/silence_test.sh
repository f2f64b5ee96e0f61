#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft run --hosts when a network falls silent, in either direction or both: a rank's next life begins
# elsewhere, and never before the earlier one has ended. A stand-in for ssh passes everything on
# through processes that live on when it is killed, and that can be stopped.
#   silence_test.sh WEFT
set -euo pipefail
weft=$1
# shellcheck source=common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
agent=$dir/wa$$
cp "$weft" "$agent"
cleanup() {
  end_descendants
  pkill -9 -x "wa$$" 2>/dev/null || true
  cat "$dir"/*/relay-* 2>/dev/null | xargs -r kill -9 2>/dev/null || true
  rm -rf -- "$dir"
}
trap cleanup EXIT

# ssh DIRECTORY HOST COMMAND
cat >"$dir/ssh" <<'SSH'
#!/usr/bin/env bash
at=$1 host=$2
shift 2
[[ ! -e $at/unreachable-$host ]] || exit 255
exec 4<&0 5>&1
mkfifo "$at/in-$host" "$at/out-$host"
setsid cat <&4 >"$at/in-$host" 5>&- &
echo $! >"$at/relay-down-$host"
setsid cat <"$at/out-$host" >&5 4<&- &
echo $! >"$at/relay-up-$host"
setsid bash -c "$*" <"$at/in-$host" >"$at/out-$host" 4<&- 5>&- &
exec 4<&- 5>&- >/dev/null
wait $!
SSH
# A life holds a lock as long as it lasts. The second one is enough.
cat >"$dir/life" <<'LIFE'
#!/usr/bin/env bash
exec 9>"$1/lock"
flock -n 9 || echo overlap >>"$1/overlaps"
echo life >>"$1/lives"
(($(wc -l <"$1/lives") < 2)) || exit 0
exec sleep 1000
LIFE
chmod +x "$dir/ssh" "$dir/life"
printf 'alpha\nbeta\n' >"$dir/hosts"

# The shortest patience that a launcher has.
declare -A launchers
for silent in up down "up down"; do
  at=$dir/${silent/ /-}
  mkdir "$at"
  "${bound[@]}" timeout 60 "$weft" run --hosts "$dir/hosts" -n 1 --restart on-failure \
    --peer-timeout 1s --ssh "$dir/ssh $at" --remote-weft "$agent" -- "$dir/life" "$at" \
    >"$at/log" 2>&1 &
  launchers[$silent]=$!
done
for silent in "${!launchers[@]}"; do
  at=$dir/${silent/ /-}
  until [[ -s $at/lives ]]; do kill -0 "${launchers[$silent]}" || fail "$silent: $(cat "$at/log")"; done
  touch "$at/unreachable-alpha"
  for way in $silent; do kill -STOP "$(cat "$at/relay-$way-alpha")"; done
done
for silent in "${!launchers[@]}"; do
  at=$dir/${silent/ /-}
  code=0
  wait "${launchers[$silent]}" || code=$?
  ((code == 0)) || fail "$silent silent: code $code: $(cat "$at/log")"
  [[ ! -e $at/overlaps ]] || fail "$silent silent: two lives at a time: $(cat "$at/log")"
  (($(wc -l <"$at/lives") == 2)) || fail "$silent silent: $(wc -l <"$at/lives") lives: $(cat "$at/log")"
  grep -q 'starting it anew on beta' "$at/log" || fail "$silent silent: $(cat "$at/log")"
done
until_gone "wa$$" "at the end"
echo "silence_test: all as expected"
