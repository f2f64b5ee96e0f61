#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of ranks of Debian's HPC Challenge at random moments, with both kinds of restarts: its own verification passes.
# It reads clocks, and sends memory that it has not written. Prints the line that runs a failure again.
#   hpcc_kill_test.sh WEFT ROUNDS SEED
set -euo pipefail
weft=$1 rounds=$2 seed=$3
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"
# shellcheck source=../messages/killed_run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../messages/killed_run.sh"
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf -- "$dir"' EXIT
example=/usr/share/doc/hpcc/examples/_hpccinf.txt
if ! command -v hpcc >/dev/null || [[ ! -e $example ]]; then
  echo "hpcc is not here"
  exit 77
fi

begin() {
  mkdir -p "$dir/here"
  rm -f "$dir/here/hpccoutf.txt"
  sed '6s/^[0-9]*/200/; 8s/^[0-9]*/40/' "$example" >"$dir/here/hpccinf.txt"
  cd "$dir/here"
}

begun=$(($(date +%s%N) / 1000000))
begin
"$weft" run -n 4 --restart on-failure -- hpcc >"$dir/out" 2>"$dir/err" || fail "hpcc ends with $?: $(cat "$dir/err")"
lasts=$(($(date +%s%N) / 1000000 - begun))

for ((round = 0; round < rounds; ++round, ++seed)); do
  RANDOM=$seed again="$weft 1 $seed"
  how=on-failure
  ((seed % 2 == 0)) || how=all
  begin
  killed_run "hpcc" 120 "$lasts" "$weft" run -n 4 --restart $how -- hpcc
  grep -q '^Success=1$' hpccoutf.txt && ! grep -q FAILED hpccoutf.txt ||
    fail "hpcc, --restart $how, does not verify its results: $(grep -E 'Success|FAILED' hpccoutf.txt)"
done
echo "hpcc_kill_test: $rounds runs, $killed times that processes were started anew"
