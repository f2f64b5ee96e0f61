#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demonstrate.sh WEFT DIRECTORY: what `./run` shows. First verifiable patterns by four schedules over
# links of 200 Mbit/s, then real files of this machine: cut into microslices, sent, and put together
# again behind the compute nodes.
set -euo pipefail
weft=$1
out=$2
link=200Mbit,20us
rm -rf "$out"
mkdir -p "$out"

echo "== 4 input nodes, 4 compute nodes, 64 KiB contributions on average, links of $link"
"$weft" stream compare --inputs 4 --computes 4 --link "$link" --buffer 1MiB --duration 12s \
  --source 'pattern:?size=64KiB&sizes=uniform' --timeslices-per-interval 64 --sink check: --schedules best-effort,offset,dfs,grant \
  --out "$out/compare"

echo
# The compiler is there, since it built this, and large.
source=$("${CXX:-g++}" -print-prog-name=cc1plus)
echo "== real bytes: $(basename "$source") of this machine, $(stat -c %s "$source") bytes, through the same job"
"$weft" stream local --inputs 4 --computes 4 --link "$link" --source "file:$source?cut=64KiB" \
  --sink "file:$out/together?cut=64KiB" --no-limit
before=$(sha256sum < "$source" | cut -d ' ' -f 1)
after=$(sha256sum < "$out/together" | cut -d ' ' -f 1)
echo "sent      $before  $source"
echo "received  $after  $out/together"
if [ "$before" != "$after" ]; then
  echo "demonstrate: the bytes differ" >&2
  exit 1
fi
echo
echo "report: $out/compare/report.html"
