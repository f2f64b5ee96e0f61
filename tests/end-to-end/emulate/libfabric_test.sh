#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program that sleeps on the descriptor of its completion queue, and writes into its peers' memory,
# behind an emulated link: same result, written bytes charged, woken when something is due.
#   libfabric_test.sh WEFT EXAMPLES
set -euo pipefail
weft=$1 examples=$2
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

# Halos of 32 KiB in each iteration and direction, which weft writes; two ranks.
program=("$weft" run -n 2 --fabric libfabric:tcp -- "$examples/jac3d" 64 5)
"${program[@]}" >"$dir/native" 2>"$dir/errors" || {
  grep -q 'libfabric' "$dir/errors" && echo "no libfabric here" && exit 77
  fail "the program fails natively: $(cat "$dir/errors")"
}
"$weft" emulate --latency +2ms --bandwidth 100MB/s --json "$dir/run.json" -- "${program[@]}" \
  >"$dir/emulated" || fail "the program fails under emulation"

[[ $(grep checksum "$dir/native") == "$(grep checksum "$dir/emulated")" ]] ||
  fail "another result: $(cat "$dir/native" "$dir/emulated")"
grep -q '"interposer": "libfabric"' "$dir/run.json" || fail "not interposed: $(cat "$dir/run.json")"
bytes=$(sed -n 's/.*"bytes": \([0-9]*\).*/\1/p' "$dir/run.json")
((bytes >= 2 * 5 * 64 * 64 * 8)) || fail "$bytes bytes were charged, less than the halos"
# Each iteration needs a halo, which needs at least one traversal.
seconds=$(sed -n 's/.*"program_time_s": \([0-9.]*\).*/\1/p' "$dir/run.json")
awk -v s="$seconds" 'BEGIN { exit !(s >= 5 * 0.002) }' || fail "$seconds s are too few"

# Links of a file are those of each pair: writes pass them, and so does what acknowledges them.
cat >"$dir/links.toml" <<'TOML'
latency = [['0', '2ms'], ['2ms', '0']]
bandwidth = [['0', '10MB/s'], ['10MB/s', '0']]
TOML
"$weft" emulate --links "$dir/links.toml" --json "$dir/links.json" -- "${program[@]}" \
  >"$dir/linked" || fail "the program fails behind links of a file"
[[ $(grep checksum "$dir/native") == "$(grep checksum "$dir/linked")" ]] ||
  fail "another result behind links: $(cat "$dir/native" "$dir/linked")"
# A halo takes 3.3 ms at 10 MB/s and 2 ms on the way.
seconds=$(sed -n 's/.*"program_time_s": \([0-9.]*\).*/\1/p' "$dir/links.json")
awk -v s="$seconds" 'BEGIN { exit !(s >= 5 * 0.0052) }' || fail "$seconds s are too few for links"

# Links are those of ranks: the processes of weft run know theirs, also within a job of Slurm.
ranks=$(SLURM_PROCID=0 "$weft" run -n 2 --fabric libfabric:tcp -- sh -c \
  "echo rank \$WEFT_LAUNCHED_RANK >>'$dir/ranks'; exec '$examples/jac3d' 64 5" >"$dir/scripted" && sort "$dir/ranks")
[[ $ranks == $'rank 0\nrank 1' ]] || fail "other ranks: $ranks"

# Padding, as in paper 3, goes ahead of the writes, to the same place.
"$weft" emulate --method padding --bandwidth 10% --json "$dir/padded.json" -- "${program[@]}" \
  >"$dir/padded" || fail "the program fails behind padding"
[[ $(grep checksum "$dir/native") == "$(grep checksum "$dir/padded")" ]] ||
  fail "another result behind padding: $(cat "$dir/native" "$dir/padded")"
padding=$(sed -n 's/.*"padding_bytes": \([0-9]*\).*/\1/p' "$dir/padded.json")
((padding >= 5 * bytes)) || fail "$padding bytes of padding for $bytes bytes are too few"
