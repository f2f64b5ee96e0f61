#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft run: results that do not depend on processes and fabrics, exit codes, errors in one line.
#   run_test.sh WEFT EXAMPLES
set -euo pipefail
weft=$1 examples=$2
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

# The output of a program, without its time.
results() { "$weft" run "$@" | grep -v ' processes, '; }

# Exit code, of a command that prints `$expected` somewhere.
expect_failure() {
  local wanted=$1 expected=$2 code=0
  shift 2
  "$@" >"$dir/out" 2>&1 || code=$?
  ((code == wanted)) || fail "$* ended with $code, not $wanted: $(cat "$dir/out")"
  [[ $(cat "$dir/out") == *"$expected"* ]] || fail "$* does not say '$expected': $(cat "$dir/out")"
}

# The same result everywhere, also without a launcher.
for program in "jac2d 200 20" "markov2 200 5 20" "vsum2" "propagation2d 12 5"; do
  # shellcheck disable=SC2086
  alone=$("$examples"/$program | grep -v ' processes, ')
  [[ $alone == *checksum* ]] || fail "$program alone prints: $alone"
  checksum=${alone##*checksum }
  for how in "-n 1" "-n 3 --fabric auto" "-n 4 --fabric tcp" "-n 2 --fabric tcp:unix" \
    "-n 2 --fabric shm" "-n 2 --fabric tcp --link 1Gbit,10us" "-n 3 --restart on-failure"; do
    # propagation2d has as many elements as processes, so another result
    [[ $program != propagation2d* || $how == "-n 1" ]] || continue
    # shellcheck disable=SC2086
    got=$(results $how -- "$examples"/$program)
    [[ $got == *"checksum $checksum"* ]] || fail "$program $how prints $got, alone $alone"
  done
done

# Under launchers that know nothing of weft.
expected=$("$examples/jac2d" 200 20 | sed -n 1p)
for mpirun in "mpirun.openmpi --oversubscribe" mpirun.mpich; do
  command -v ${mpirun%% *} >/dev/null || continue
  # Open MPI asks root whether it means it.
  got=$(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    $mpirun -n 3 "$examples/jac2d" 200 20 2>"$dir/err" | sed -n 1p)
  [[ $got == "$expected" ]] || fail "$mpirun prints $got, not $expected: $(cat "$dir/err")"
  for fabric in mpi tcp; do
    got=$(WEFT_FABRIC=$fabric OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
      $mpirun -n 4 "$examples/jac2d" 200 20 2>"$dir/err" | sed -n 1p)
    [[ $got == "$expected" ]] ||
      fail "$mpirun with $fabric prints $got, not $expected: $(cat "$dir/err")"
  done
done
expect_failure 1 "no MPI started this process" env WEFT_FABRIC=mpi "$examples/jac2d" 200
expect_failure 2 "start the program by mpirun" "$weft" run -n 2 --fabric mpi -- "$examples/jac2d" 200

# A standard error that takes nothing costs the line about a restart, and not the job.
cat >"$dir/dies_once" <<'LIFE'
#!/usr/bin/env bash
mkdir "$1/died" 2>/dev/null && kill -9 $$
exit 0
LIFE
chmod +x "$dir/dies_once"
"$weft" run -n 2 --restart on-failure -- "$dir/dies_once" "$dir" 2>/dev/full ||
  fail "weft run ended with $? when it could not print"
[[ -d $dir/died ]] || fail "no rank died"

# Exit codes and errors.
expect_failure 127 "cannot start '$dir/nothing'" "$weft" run -n 2 -- "$dir/nothing"
expect_failure 2 "" "$weft" run -n 0 -- true
expect_failure 2 "--fabric: 'carrier-pigeon'" "$weft" run -n 2 --fabric carrier-pigeon -- \
  "$examples/vsum2"
for nowhere in "$dir/none" /dev/null; do
  expect_failure 2 "--spill: '$nowhere'" "$weft" run -n 2 --spill "$nowhere" --outbox 1MiB -- \
    "$examples/vsum2"
done
expect_failure 2 "--fabric libfabric:nonsense:" "$weft" run -n 3 --fabric libfabric:nonsense -- \
  "$examples/vsum2"
(($(wc -l <"$dir/out") == 1)) || fail "an unknown provider is told more than once: $(cat "$dir/out")"
expect_failure 2 "use on-failure with a simulation" "$weft" run -n 2 --restart all \
  --fabric sim:none.toml -- "$examples/vsum2"
expect_failure 1 "outbox is full" "$weft" run -n 2 --restart on-failure --most-restarts 0 \
  --outbox-fails --outbox 1KiB -- "$examples/vsum2"
# A process whose message is not kept ends: its receivers would wait for ever, and it would for theirs.
expect_failure 1 "outbox is full" timeout 60 "$weft" run -n 2 --restart on-failure --most-restarts 0 \
  --outbox-fails --outbox 1KiB -- "$examples/jac3d" 10 5
for how in never all; do
  expect_failure 2 "--outbox-fails: means nothing without --restart on-failure" "$weft" run -n 2 --restart $how \
    --outbox-fails --outbox 1KiB -- "$examples/vsum2"
done
expect_failure 2 "--peer-timeout: 20 ms is too short" "$weft" run -n 2 --peer-timeout 20ms -- "$examples/vsum2"
# Too few descriptors: the limit is raised where the system allows it; else nothing starts.
(
  ulimit -Sn 32
  results -n 24 -- "$examples/jac3d" 16 2 >/dev/null
) || fail "weft run does not raise the limit of open files"
(
  ulimit -n 14
  expect_failure 2 "-n 4 --fabric auto: a process needs 40 file descriptors and may have 14; use fewer processes" \
    timeout 60 "$weft" run -n 4 --timeout 1s -- "$examples/jac3d" 16 10
  (($(wc -l <"$dir/out") == 1)) || fail "too few descriptors are told more than once: $(cat "$dir/out")"
)
for fabric in auto tcp shm; do
  # Just enough.
  (
    ulimit -n 48
    results -n 8 --fabric $fabric -- "$examples/jac3d" 16 2 >/dev/null
  ) || fail "weft run over $fabric needs more descriptors than it says"
done
expect_failure 2 "names no provider" "$weft" run -n 2 --fabric libfabric: -- "$examples/vsum2"
"$weft" run -n 2 --restart on-failure --outbox 1KiB -- "$examples/vsum2" >"$dir/out" 2>&1 &
launcher=$!
until grep -q "more than its whole outbox of 1 KiB (--outbox)" "$dir/out"; do
  kill -0 $launcher || fail "a message larger than the outbox: $(cat "$dir/out")"
done
kill $launcher
wait $launcher || true
mkdir "$dir/spill"
results -n 2 --restart on-failure --outbox 1KiB --spill "$dir/spill" -- "$examples/vsum2" >/dev/null
[[ -z $(ls "$dir/spill") ]] || fail "something is left in the spill directory"

# Without a restart, ranks that need a dead one say so, and name the operation.
"$weft" run -n 3 --timeout 500ms -- "$examples/jac3d" 60 100000 >"$dir/out" 2>"$dir/err" &
launcher=$!
until pids=$(pgrep -P $launcher) && (($(wc -w <<<"$pids") == 3)); do :; done
kill -9 "${pids%%$'\n'*}"
code=0
wait $launcher || code=$?
((code == 137)) || fail "a job whose rank was killed ended with $code: $(cat "$dir/err")"
grep -q 'rank 0 was ended by signal 9' "$dir/err" || fail "no word of the death: $(cat "$dir/err")"
grep -Eq 'rank 0 was gone for 0.5 s, while (receiving from|sending to) rank 0' "$dir/err" ||
  fail "nobody says what it needed rank 0 for: $(cat "$dir/err")"
echo "run_test: all as expected"
