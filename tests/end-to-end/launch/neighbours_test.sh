#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A job's file with ranks on two machines, which are network namespaces here: those of one machine
# share memory, and the others use TCP; also when a rank moves from one machine to the other. Needs
# root and iproute2; exits 77 ("skipped") without them.
#   neighbours_test.sh WEFT EXAMPLES
set -euo pipefail
weft=$1 examples=$2
# shellcheck source=common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
here=wn$$a there=wn$$b
cleanup() {
  end_descendants
  ip netns del $here 2>/dev/null || true
  ip netns del $there 2>/dev/null || true
  rm -rf -- "$dir"
}
trap cleanup EXIT
skip() {
  echo "skipped: $*"
  exit 77
}
ip netns add $here 2>"$dir/err" && ip netns add $there 2>>"$dir/err" ||
  skip "there are no network namespaces: $(cat "$dir/err")"
ip -n $here link add cable type veth peer name cable netns $there 2>"$dir/err" ||
  skip "there is no veth: $(cat "$dir/err")"
ip -n $here address add 10.211.7.1/24 dev cable
ip -n $there address add 10.211.7.2/24 dev cable
for machine in $here $there; do
  ip -n $machine link set lo up
  ip -n $machine link set cable up
done

# The directory in which this user's secret is made.
export XDG_CONFIG_HOME=$dir/config
export WEFT_LOG=debug
file=$dir/job.conf
write_file() {
  printf '[general]\n%b\n[addresses]\n0 = %s\n1 = %s\n2 = %s\n' "$1" "10.211.7.1 4000" \
    "10.211.7.2 4000" "10.211.7.1 4001" >"$file"
}
# ways NAME: "PEER WAY" for each way that a process found to a peer, from its log.
ways() { sed -n 's/.*hybrid: node \([0-9]*\) is reached over \([a-z]*\)$/\1 \2/p' "$dir/$1" | sort -u; }

# A busy machine may be too slow with shared memory: TCP is taken after a second. So several
# attempts may find the expected paths. A forbidden path must never be found.
expected=$(WEFT_LOG=error "$examples/jac2d" 200 20 | grep checksum)
for ((attempt = 1; ; ++attempt)); do
  write_file 'timeout = 30s'
  "${bound[@]}" ip netns exec $there "$weft" run --config "$file" -- "$examples/jac2d" 200 20 \
    >"$dir/out1" 2>"$dir/err1" &
  other=$!
  "${bound[@]}" timeout 60 ip netns exec $here "$weft" run --config "$file" -- \
    "$examples/jac2d" 200 20 >"$dir/out0" 2>"$dir/err0" || fail "$? $(cat "$dir/err0")"
  wait $other || fail "$other: $? $(cat "$dir/err1")"
  [[ $(grep -h checksum "$dir"/out[01]) == "$expected" ]] || fail "$(cat "$dir"/out[01]), not $expected"
  [[ $(ways err1) == $'0 tcp\n2 tcp' ]] || fail "rank 1 shares memory: $(ways err1)"
  grep -q '^1 tcp$' <<<"$(ways err0)" || fail "nobody uses TCP: $(ways err0)"
  ! grep -q '^1 shm$' <<<"$(ways err0)" || fail "rank 1 is elsewhere: $(ways err0)"
  [[ $(ways err0) != $'0 shm\n1 tcp\n2 shm' ]] || break
  ((attempt < 5)) || fail "ranks 0 and 2 do not share memory: $(ways err0)"
done

# --fabric tcp, on all.
write_file 'timeout = 30s\nfabric = tcp'
"${bound[@]}" ip netns exec $there "$weft" run --config "$file" -- "$examples/jac2d" 200 20 \
  >"$dir/out1" 2>"$dir/err1" &
other=$!
"${bound[@]}" timeout 60 ip netns exec $here "$weft" run --config "$file" -- \
  "$examples/jac2d" 200 20 >"$dir/out0" 2>"$dir/err0" || fail "$? $(cat "$dir/err0")"
wait $other || fail "with TCP: $? $(cat "$dir/err1")"
[[ -z $(ways err0) && -z $(ways err1) ]] || fail "fabric = tcp is not obeyed: $(ways err0)"

# Rank 2 dies, and its next life is on the other machine.
start() {
  WEFT_CONFIG=$file WEFT_RANK=$2 "${bound[@]}" timeout 60 ip netns exec "$1" \
    "$examples/markov2" 400 40 5000 >"$dir/out$2" 2>"$dir/err$2" &
  pids[$2]=$!
}
WEFT_LOG=error "$weft" run -n 3 --fabric tcp -- "$examples/markov2" 400 40 5000 >"$dir/calm"
expected=$(results "$dir/calm")
[[ $expected == *checksum* ]] || fail "no checksum: $expected"
pids=()
for ((attempt = 1; ; ++attempt)); do
  write_file 'restart = on-failure'
  start $here 0
  start $there 1
  start $here 2
  until (($(ways err2 | wc -l) == 2)); do kill -0 "${pids[2]}" || fail "$(cat "$dir/err2")"; done
  before=$(ways err2)
  victim=$(pgrep -P "${pids[2]}") || fail "rank 2 was too fast"
  kill -9 "$victim" 2>/dev/null || true
  wait "${pids[2]}" && fail "rank 2 was too fast"
  sed -i 's/^2 = .*/2 = 10.211.7.2 4001/' "$file"
  start $there 2
  for rank in 0 1 2; do
    wait "${pids[rank]}" || fail "rank $rank ended with $?: $(cat "$dir/err$rank")"
  done
  [[ $(results "$dir/out0"; results "$dir/out1"; results "$dir/out2") == "$expected" ]] ||
    fail "moved: $(cat "$dir"/out[012]), not $expected"
  grep -q '^0 tcp$' <<<"$(ways err2)" || fail "rank 2 has moved: $(ways err2)"
  ! grep -q '^0 shm$' <<<"$(ways err2)" || fail "rank 0 is elsewhere: $(ways err2)"
  [[ $before != $'0 shm\n1 tcp' || $(ways err2) != $'0 tcp\n1 shm' ]] || break
  ((attempt < 5)) || fail "rank 2 does not share memory: before $before, then $(ways err2)"
done
echo "neighbours_test: all as expected"
