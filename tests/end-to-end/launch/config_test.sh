#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A job's file (paper 4, 4.5.6 and listings 5.1 to 5.12): with and without a launcher, processes that
# die and move to another address, and everything that can be wrong with it.
#   config_test.sh WEFT EXAMPLES [SEED]
set -euo pipefail
weft=$1 examples=$2 seed=${3:-$RANDOM}
RANDOM=$seed
# shellcheck source=common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
# The directory in which this user's secret is made.
export XDG_CONFIG_HOME=$dir/config
file=$dir/job.conf

again="$weft $examples $seed"

# Ports that nobody listens at, below those that connections get.
port=$((10000 + RANDOM % 18000))
free_port() {
  while ((++port)) && (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
}

# write_file RANKS GENERAL-LINES
write_file() {
  local rank
  { printf '[general]\n%b\n[addresses]\n' "$2"
    for ((rank = 0; rank < $1; ++rank)); do
      free_port
      echo "rank$rank = localhost $port"
    done; } >"$file"
}

# expect_failure CODE WORDS COMMAND…
expect_failure() {
  local wanted=$1 expected=$2 code=0
  shift 2
  "${bound[@]}" timeout 60 "$@" >"$dir/out" 2>&1 || code=$?
  ((code == wanted)) || fail "$* ended with $code, not $wanted: $(cat "$dir/out")"
  [[ $(cat "$dir/out") == *"$expected"* ]] || fail "$* does not say '$expected': $(cat "$dir/out")"
  (($(wc -l <"$dir/out") == 1)) || fail "$* says more than a line: $(cat "$dir/out")"
}

program="markov2 400 40 600"
begun=$(milliseconds)
# shellcheck disable=SC2086
"$weft" run -n 4 --fabric tcp -- "$examples"/$program >"$dir/calm"
lasts=$(($(milliseconds) - begun))
expected=$(results "$dir/calm")

# start RANK OUT: a process that nobody launched.
start() {
  # shellcheck disable=SC2086
  WEFT_CONFIG=$file WEFT_RANK=$1 "${bound[@]}" timeout 100 "$examples"/$program >"$dir/$2" 2>"$dir/$2.err" &
}
# Until somebody listens at the address of a rank.
until_listening() {
  local port
  port=$(awk -v key="rank$1" '$1 == key { printf "%04X", $4 }' "$file")
  until grep -q "0100007F:$port 00000000:0000 0A" /proc/net/tcp; do :; done
}
wait_all() {
  local pid
  for pid in "$@"; do wait "$pid" || fail "a process ended with $?: $(tail -n 5 "$dir"/*.err)"; done
}

# Listings 5.1 to 5.3: each takes the first address that is free.
write_file 4 '# nothing here'
pids=()
for i in 0 1 2 3; do
  # shellcheck disable=SC2086
  WEFT_CONFIG=$file "${bound[@]}" timeout 100 "$examples"/$program >"$dir/out$i" 2>"$dir/out$i.err" &
  pids+=($!)
done
wait_all "${pids[@]}"
got=$(cat "$dir"/out[0-3] | grep -v ' processes, ')
[[ $got == "$expected" ]] || fail "by file it prints $got, not $expected"
[[ $(stat -c %a "$dir/config/weft/secret") == 600 ]] ||
  fail "the secret can be read by others"

# Abstract Unix sockets, and weft run, which starts all ranks of this machine.
printf '[addresses]\n0 = weft-%s-a\n1 = weft-%s-b\n2 = weft-%s-c\n' $$ $$ $$ >"$file"
"$weft" run --config "$file" -- "$examples/jac2d" 200 20 >"$dir/out"
"$examples/jac2d" 200 20 >"$dir/alone"
[[ $(results "$dir/out") == "$(results "$dir/alone")" ]] || fail "over Unix sockets: $(cat "$dir/out")"

# Listings 5.4 to 5.6: those that need a process that is gone say so, after the time that the
# attempts make.
write_file 3 'send_attempts = 10\nsend_delay = 0.05\nreceive_attempts = 10\nreceive_delay = 0.05'
code=0
"${bound[@]}" "$weft" run --config "$file" -- "$examples/jac3d" 60 100000 >"$dir/out" 2>"$dir/err" &
launcher=$!
until pids=$(pgrep -P $launcher) && (($(wc -w <<<"$pids") == 3)); do :; done
kill -9 "${pids%%$'\n'*}"
wait $launcher || code=$?
((code == 137)) || fail "a job whose rank was killed ended with $code: $(cat "$dir/err")"
grep -q 'was gone for 0.5 s' "$dir/err" || fail "nobody says what it missed: $(cat "$dir/err")"
# So does one that nobody launched, when the others never come.
expect_failure 1 "was gone for 0.5 s" env WEFT_CONFIG="$file" WEFT_RANK=1 "$examples/vsum2"

# Listings 5.7 to 5.9: a process is killed and started anew, by weft run and by hand.
forever='send_attempts = -1\nreceive_attempts = -1\noutbox_size = -1'
write_file 4 "$forever"
# shellcheck disable=SC2086
"${bound[@]}" "$weft" run --config "$file" -- "$examples"/$program >"$dir/out" 2>"$dir/err" &
launcher=$!
until pids=$(pgrep -P $launcher) && (($(wc -w <<<"$pids") == 4)); do :; done
kill -9 "${pids%%$'\n'*}"
wait $launcher || fail "with a restart the job ended with $?: $(cat "$dir/err")"
[[ $(results "$dir/out" | sort -u) == "$(sort -u <<<"$expected")" ]] || fail "restarted: $(cat "$dir/out")"
grep -q 'starting it anew' "$dir/err" || fail "nothing was started anew: $(cat "$dir/err")"

# Listings 5.10 to 5.12: its next life is at another address, which the others find in the file.
# Starts four processes and kills one of them; false when they were faster.
kill_one_of_four() {
  local pause=$((RANDOM % (lasts / 2 + 1))) victim rank
  write_file 4 "$forever\nfabric = $fabric"
  pids=()
  for rank in 0 1 2 3; do
    start $rank "out$rank"
    pids[rank]=$!
  done
  until victim=$(pgrep -P "${pids[$1]}") || ! kill -0 "${pids[$1]}" 2>/dev/null; do :; done
  sleep "$(printf '%d.%03d' $((pause / 1000)) $((pause % 1000)))"
  [[ -n $victim ]] && kill -9 "$victim" 2>/dev/null || true
  wait "${pids[$1]}" || return 0
  unset "pids[$1]"
  wait_all "${pids[@]}"
  lasts=$((lasts / 2))
  return 1
}
for how in "auto 3" "auto 0" "tcp 2"; do
  fabric=${how% *} moved=${how#* }
  for ((attempt = 0; ; ++attempt)); do
    ((attempt < 20)) || fail "rank $moved was too fast to be killed"
    ! kill_one_of_four $moved || break
  done
  free_port
  sed -i "s/^rank$moved = .*/rank$moved = localhost $port/" "$file"
  start $moved "out$moved"
  pids[moved]=$!
  wait_all "${pids[@]}"
  got=$(cat "$dir"/out[0-3] | grep -v ' processes, ' | sort -u)
  [[ $got == "$(sort -u <<<"$expected")" ]] || fail "rank $moved moved ($fabric): $got, not $expected"
done

# Processes that use different fabrics do not understand each other, and say that.
write_file 2 'timeout = 3s'
WEFT_LOG=warn WEFT_FABRIC=tcp start 0 out0
first=$!
start 1 out1
second=$!
wait $first && fail "a process over TCP got through with one that shares memory"
wait $second && fail "a process that shares memory got through with one over TCP"
grep -q 'did not let this node in' "$dir/out0.err" || fail "nobody says why: $(cat "$dir/out0.err")"

# A process that learns that its rank is elsewhere now leaves.
write_file 2 "$forever"
start 0 out0
first=$!
until [[ -n $(pgrep -P $first) ]]; do :; done
line=$(sed -n '/^rank0/=' "$file")
until ! kill -0 $first 2>/dev/null; do
  free_port
  sed -i "s/^rank0 = .*/rank0 = localhost $port/" "$file"
  sleep 0.3
done
wait $first && fail "a process whose rank went elsewhere got through"
grep -q "job.conf:$line: rank 0 is to be at 127.0.0.1:" "$dir/out0.err" || fail "$(cat "$dir/out0.err")"

# Errors of the file, in one line each.
run=("$weft" run --config "$file" -- "$examples/vsum2")
alone=(env WEFT_CONFIG="$file" "$examples/vsum2")
expect_failure 2 "$dir/none: No such file" "$weft" run --config "$dir/none" -- "$examples/vsum2"
expect_failure 1 "$dir/none: No such file" env WEFT_CONFIG="$dir/none" "$examples/vsum2"
printf '[general]\nouting_size = 1\n[addresses]\n0 = localhost 1\n' >"$file"
expect_failure 2 "job.conf:2: 'outing_size' is no key" "${run[@]}"
expect_failure 1 "job.conf:2: 'outing_size' is no key" "${alone[@]}"
printf '[addresses]\n0 = host.invalid 4000\n' >"$file"
expect_failure 2 "job.conf:2: host 'host.invalid'" "${run[@]}"
printf '[addresses]\n0 = 203.0.113.1 4000\n' >"$file"
expect_failure 2 "none of its 1 addresses is this machine's" "${run[@]}"
expect_failure 1 "none of the 1 addresses is this machine's" "${alone[@]}"
expect_failure 1 "job.conf:2: rank 0 is at 203.0.113.1:4000, which is not this machine" \
  env WEFT_RANK=0 sh -c "printf '1 = localhost 4001\n' >>'$file'; WEFT_CONFIG='$file' '$examples/vsum2'"
write_file 2 'timeout = 500ms'
expect_failure 1 "there is no rank 2" env WEFT_RANK=2 "${alone[@]}"
expect_failure 1 "WEFT_RANK='-1' is no rank" env WEFT_RANK=-1 "${alone[@]}"
expect_failure 2 "--config: $weft:1: has control characters; name a text file" "$weft" run --config "$weft" -- true
expect_failure 2 "-n: 3 processes" "$weft" run -n 3 --config "$file" -- "$examples/vsum2"
expect_failure 1 "WEFT_FABRIC: 'mpi': a configuration file has addresses of TCP" \
  env WEFT_FABRIC=mpi "${alone[@]}"
expect_failure 2 "--fabric: 'shm': a configuration file has addresses of TCP" "$weft" run --fabric shm --config "$file" -- true
printf 'secret_file = %s/secret\n' "$dir" >"$dir/line"
sed -i "1r $dir/line" "$file"
expect_failure 1 "job.conf:2: secret_file: $dir/secret: No such file" "${alone[@]}"

# Two processes that claim one rank; more processes than ranks; a port that is taken by a stranger.
program="markov2 400 40 100000"
write_file 2 'timeout = never'
start 0 out0
first=$!
until_listening 0
expect_failure 1 "rank 0 cannot listen" env WEFT_RANK=0 "${alone[@]}"
grep -q "may run already" "$dir/out" || fail "no fix: $(cat "$dir/out")"
start 1 out1
second=$!
until_listening 1
expect_failure 1 "the addresses of all 2 ranks of this machine are taken" "${alone[@]}"
kill $first $second
wait $first $second 2>/dev/null || true
echo "config_test: all as expected"
