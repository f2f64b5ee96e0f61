#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unmodified MPI programs whose ranks are processes in a simulated network.
#   simulated_test.sh WEFT PROGRAM
set -euo pipefail
weft=$1 program=$2
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

cat >"$dir/star.toml" <<'TOML'
[network]
topology = "star:4"
preset = "ib-edr"
TOML
simulated() { timeout 60 "$weft" run --fabric "sim:$dir/star.toml" "$@"; }
# Lines of what did not end well: exactly one has the text.
refused() {
  local text=$1
  shift
  ! simulated "$@" >"$dir/out" 2>&1 || fail "$* ends well"
  (($(grep -c -- "$text" "$dir/out") == 1)) || fail "$*: not one line '$text': $(cat "$dir/out")"
}

simulated -n 4 --json -- "$program" >"$dir/first"
simulated -n 4 --json -- "$program" >"$dir/second"
# Computing takes no time, so that each run is the same.
diff <(sed 's/"wall_s":[^}]*//' "$dir/first") <(sed 's/"wall_s":[^}]*//' "$dir/second") ||
  fail "two runs differ"
"$weft" run -n 4 -- "$program" >"$dir/real"
diff <(grep sum "$dir/first") <(grep sum "$dir/real") || fail "another sum than in reality"
# 8 bytes: 300 ns of a host's work, 90 of a switch, 10 of each of two cables, and some bytes' time. EDR carries
# 12.5 GB/s at most: a MiB takes 83.9 us, and what the way takes besides.
python3 - "$dir/first" <<'PYTHON'
import json, re, sys
text = open(sys.argv[1]).read()
ns = {int(size): int(time) for size, time in re.findall(r"(\d+) bytes: (\d+) ns", text)}
assert 410 < ns[8] < 480, ns
assert 83_886 < ns[1 << 20] < 88_000, ns
assert json.loads(text.splitlines()[-1])["processes"] == 4
PYTHON

refused 'rank 1 ended with code 137' -n 2 -- "$program" crash
refused 'rank 1 ended with code 3' -n 2 -- "$program" exit
refused 'rank 1 exited without MPI_Finalize' -n 2 -- "$program" silent
refused 'rank 0 exited without MPI_Init' -n 1 -- "$program" alone
refused '5 processes, 1 on a host, need 5 hosts' -n 5 -- "$program"
# Ranks that wait for each other are named, with what they wait in, long before programs.limit.
refused 'nothing happens any more, and 2 processes wait for messages: ranks 0 (in MPI_Recv), 1 (in MPI_Finalize)$' \
  -n 2 -- "$program" stuck
# So are those that tell each other every two seconds in which collective operation they wait.
refused 'nothing happens any more, and 2 processes wait for messages: ranks 0 (in MPI_Recv), 1 (in MPI_Barrier)$' \
  -n 2 -- "$program" apart
cp "$program" "$dir/data"
chmod -x "$dir/data"
refused "cannot start '$dir/data': Permission denied; make it executable" -n 4 -- "$dir/data"
(($(wc -l <"$dir/out") == 1)) || fail "more than a line: $(cat "$dir/out")"
refused "program that is itself linked to weft, or to MPICH, Open MPI or the standard's ABI; a script" -n 2 -- /bin/true
cat >"$dir/script" <<'SH'
#!/bin/sh
exit 0
SH
chmod +x "$dir/script"
refused "'$dir/script' never called .* a script that starts one is none" -n 2 -- "$dir/script"
for how in on-failure all; do
  refused "--restart $how: ranks of '$program', a program of MPI, are not" -n 2 --restart $how -- "$program"
done

# Seeds differ in lines with the word checksum, and this program prints none.
simulated -n 2 --seeds 1..2 -- "$program" >"$dir/out"
(($(grep -c '^no line of the output has the word checksum: only exit codes were compared$' "$dir/out") == 1)) ||
  fail "seeds without a checksum: $(cat "$dir/out")"
