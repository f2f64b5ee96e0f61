#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# simulated_test.sh WEFT PROGRAMS SCENARIOS ordinary|thousand|swarm [SEEDS]
set -euo pipefail
weft="$1" programs="$2" scenarios="$3" what="$4" seeds="${5:-100}"
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

# The part of a program's output that is the same under any launcher.
result() {
  grep checksum "$dir/out" || fail "no checksum: $(cat "$dir/out")"
}
real() {
  "$weft" run -n "$1" -- "$programs/$2" "${@:3}" >"$dir/out" || fail "real $*"
  result
}
simulated() {
  "$weft" run -n "$1" --fabric "sim:$scenarios/programs.toml" -- "$programs/$2" "${@:3}" \
    >"$dir/out" || fail "simulated $*"
  result
}
value() {
  python3 -c 'import json, sys
print(json.loads(open(sys.argv[1]).read().splitlines()[-1])[sys.argv[2]])' "$dir/$1" "$2"
}

ordinary() {
  local program expected got n
  for program in "jac1d 4 40" "jac3d 24 20" "markov2 200 7" "spmv2 20 200"; do
    # shellcheck disable=SC2086 # a program and its arguments
    expected="$(real 4 $program)"
    for n in 4 64 100; do
      # shellcheck disable=SC2086
      got="$(simulated "$n" $program)"
      [[ $got == "$expected" ]] || fail "$program with $n simulated: $got, not $expected"
    done
  done

  # A process for which nobody makes room in its outbox says so, once.
  ! "$weft" run -n 2 --fabric "sim:$scenarios/programs.toml" --restart on-failure --outbox 1KiB -- \
    "$programs/vsum2" >"$dir/out" 2>&1 || fail "a full outbox holds more than its size"
  (($(grep -c "rank 0 sends 3.815 MiB to rank 1, more than its whole outbox of 1 KiB (--outbox)" "$dir/out") == 1)) ||
    fail "not one line about the full outbox: $(cat "$dir/out")"

  # Every program says where its time goes; setting up takes the host's alone.
  local phases
  for program in "jac2d 20 10|set up, iterate, sum up" "markov 100 5 4|set up, iterate, sum up" \
    "markov2 100 5 4|set up, iterate, sum up" "propagation2d 6 5|set up, iterate, sum up" \
    "spmv 60|set up, multiply, gather blocks, sum up" \
    "spmv2 -s 2 4 60|set up, iterate, shrink, sum up" \
    "vsum 100|set up, blocks, by elements, by ranks, smaller group, sum up" \
    "vsum2 100|set up, blocks, by elements, by ranks, sum up" \
    "vsum3 100|set up, blocks, by hand, reassigned, smaller group, sum up"; do
    # shellcheck disable=SC2086
    "$weft" run -n 4 --fabric "sim:$scenarios/programs.toml" --json -- "$programs/"${program%|*} \
      >"$dir/phases" || fail "${program%|*}"
    phases="$(python3 -c 'import json, sys
report = json.loads(open(sys.argv[1]).read().splitlines()[-1])
assert all(sum(p[k]["max"] for k in ("computing_s", "messaging_s", "waiting_s")) > 0
           for p in report["phases"] if p["name"] != "set up"), report
print(", ".join(p["name"] for p in report["phases"]))' "$dir/phases")"
    [[ $phases == "program, ${program#*|}, leave" ]] || fail "phases of ${program%|*}: $phases"
  done

  # The same seed: the same events at the same times. Another one: others.
  local crashes="sim:$scenarios/programs-crashes.toml" i
  for i in 7 7again 8; do
    "$weft" run -n 5 --fabric "$crashes" --seed "${i%again}" --restart on-failure --json -- \
      "$programs/jac3d" 12 20 >"$dir/$i" 2>"$dir/$i.err" || fail "seed $i"
  done
  [[ $(value 7 trace_hash) == "$(value 7again trace_hash)" ]] || fail "not repeatable"
  [[ $(value 7 simulated_s) == "$(value 7again simulated_s)" ]] || fail "not repeatable"
  cmp -s "$dir/7.err" "$dir/7again.err" || fail "other deaths"
  [[ $(value 7 trace_hash) != "$(value 8 trace_hash)" ]] || fail "the seed makes no difference"

  # A workload and a trace of the scenario run beside the program, and disturb it.
  local beside="sim:$scenarios/programs-beside.toml"
  "$weft" run -n 16 --fabric "$beside" --json -- "$programs/jac3d" 24 20 >"$dir/beside" ||
    fail "beside other jobs"
  "$weft" run -n 16 --fabric "sim:$scenarios/programs.toml" -- "$programs/jac3d" 24 20 \
    >"$dir/apart" || fail "without them"
  [[ $(grep checksum "$dir/beside") == "$(grep checksum "$dir/apart")" ]] ||
    fail "other jobs change a result"
  python3 -c 'import json, sys
jobs = json.loads(open(sys.argv[1]).read().splitlines()[-1])["jobs"]
assert [(j["name"], j["kind"]) for j in jobs] == [("neighbours", "workload"), ("ring", "trace")], jobs
assert jobs[0]["least_iterations"] > 0 and not jobs[0]["ended"], jobs
assert jobs[1]["messages"] == 24 and jobs[1]["ended"], jobs' "$dir/beside" ||
    fail "jobs beside a program"
  grep -q "ring-8.goal" <<<"$("$weft" run -n 16 --fabric "$beside" -- "$programs/jac3d" 24 20)" ||
    fail "no table of the jobs beside a program"

  # The launcher reports an impossible request in one line of its own.
  local message
  message="$("$weft" run -n 2 --seeds 1..3 -- "$programs/jac3d" 3 2>&1)" && fail "--seeds of real"
  [[ $message == *"--fabric sim:"* ]] || fail "$message"
  message="$("$weft" run -n 2 --fabric sim:nowhere.toml -- "$programs/jac3d" 3 2>&1)" &&
    fail "no scenario"
  [[ $message == *"nowhere.toml"* ]] || fail "$message"

  # Processes that die and are not started anew: the swarm finds it, and says how to see it again.
  message="$("$weft" run -n 5 --fabric "$crashes" --seeds 3..3 -- "$programs/jac3d" 12 20)" &&
    fail "nobody was missed"
  [[ $message == *"--seed 3 -- $programs/jac3d 12 20"* ]] || fail "no line to replay: $message"
}

thousand() {
  local expected got
  expected="$(real 4 jac3d 40 10)"
  got="$(simulated 1000 jac3d 40 10)"
  [[ $got == "$expected" ]] || fail "1000 simulated: $got, not $expected"
}

swarm() {
  local program
  for program in "5 jac3d 12 20" "6 markov2 60 12" "4 spmv2 20 60"; do
    # shellcheck disable=SC2086
    set -- $program
    "$weft" run -n "$1" --fabric "sim:$scenarios/programs-crashes.toml" --restart on-failure \
      --seeds "1..$seeds" --jobs 2 -- "$programs/$2" "${@:3}" || fail "$program"
  done
  # Two on a host; of five, one has a host to itself.
  for program in "6 jac3d 12 20" "5 markov2 60 12" "8 spmv2 20 60"; do
    # shellcheck disable=SC2086
    set -- $program
    "$weft" run -n "$1" --fabric "sim:$scenarios/programs-crashes-shared-hosts.toml" \
      --restart on-failure --seeds "1..$((seeds / 4))" --jobs 2 -- "$programs/$2" "${@:3}" ||
      fail "$program on shared hosts"
  done
  # Processes that go on from their checkpoints, among those that other runs have left. Fewer, since
  # each file goes to the disk.
  mkdir "$dir/checkpoints"
  "$weft" run -n 5 --fabric "sim:$scenarios/programs-crashes.toml" --restart on-failure \
    --seeds "1..$((seeds / 4))" --jobs 1 -- "$programs/jac3d" -c "$dir/checkpoints" -e 5 12 40 ||
    fail "checkpoints"
}

"$what"
