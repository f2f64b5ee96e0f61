#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demonstrate.sh BUILD DIRECTORY: the demonstration of `./run`, in about a minute.
#   1. what a schedule is worth: 64 input and 64 compute nodes on a simulated dragonfly
#   2. real bytes: a large file of this machine through four input and four compute nodes
#   3. a program of four processes, one of which is killed; it finishes with the same result
set -euo pipefail
build=$1
out=$2
weft=$build/weft
mkdir -p "$out"
rm -f "$out"/together*  # of an earlier demonstration

echo "== 1 of 3: four schedules on a simulated dragonfly of 128 nodes, which takes some 10 s"
"$weft" stream compare --fabric sim:examples/scenarios/aries-128.toml --out "$out/compare"

echo
# The compiler is there, since it built this, and large.
source=$("${CXX:-g++}" -print-prog-name=cc1plus)
echo "== 2 of 3: real bytes: $(basename "$source") of this machine, $(stat -L -c %s "$source") bytes, over links of 1 Gbit/s"
"$weft" stream local --inputs 4 --computes 4 --link 1Gbit,20us --source "file:$source?cut=64KiB" \
  --sink "file:$out/together?cut=64KiB" --no-limit
before=$(sha256sum < "$source" | cut -d ' ' -f 1)
after=$(sha256sum < "$out/together" | cut -d ' ' -f 1)
echo "sent      $before  $source"
echo "received  $after  $out/together"
if [ "$before" != "$after" ]; then
  echo "demonstrate: the bytes differ" >&2
  exit 1
fi

# The newest process of `weft run` with id $1, once there are $2 of them.
newest_process() {
  local processes=()
  while kill -0 "$1" 2>/dev/null; do
    read -r -a processes < "/proc/$1/task/$1/children" || true
    if [ "${#processes[@]}" -ge "$2" ]; then
      echo "${processes[-1]}"
      return
    fi
    sleep 0.02
  done
}

echo
program=("$build/examples/jac3d" 100 1000)
echo "== 3 of 3: heat in a cube of 100³ cells by four processes; then again, and one of them is killed"
"$weft" run -n 4 -- "${program[@]}" > "$out/undisturbed"
"$weft" run -n 4 --restart on-failure -- "${program[@]}" > "$out/killed" &
run=$!
sleep 0.5
victim=$(newest_process "$run" 4)
[ -z "$victim" ] || kill -9 "$victim"
wait "$run"
echo "undisturbed      $(head -n 1 "$out/undisturbed")"
echo "killed with -9   $(head -n 1 "$out/killed")"
if [ "$(head -n 1 "$out/undisturbed")" != "$(head -n 1 "$out/killed")" ]; then
  echo "demonstrate: the results differ" >&2
  exit 1
fi

echo
echo "report: $out/compare/report.html"
