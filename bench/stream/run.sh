#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Question: what does a schedule cost where there is no link to be kept free, on loopback?
# Competitor: `weft stream limit --mix`, the same processes writing the same messages as fast as the
# fabric takes them, with nobody to coordinate them.
# Must hold: dfs reaches at least 80 % of it on every fabric; the exit code is 1 when it does not.
#
# In each round every schedule and the limit run once, so that other load on the machine hits all of
# them; the figures are medians over rounds, and of each round's ratio to its own limit. Sources
# write headers only (no CRC, no fill) and sinks drop: this measures moving bytes.
set -euo pipefail
export LC_ALL=C

usage() {
  cat <<'HELP'
usage: run.sh [--weft PROGRAM] [--fabrics "tcp libfabric:tcp libfabric:shm libfabric:sockets"]
              [--schedules "best-effort offset dfs grant"] [--inputs 2] [--computes 2]
              [--size 64KiB] [--seconds 3] [--rounds 5] [--json]
HELP
}

weft=$(dirname "$0")/../../build/release/weft
fabrics="tcp libfabric:tcp libfabric:shm libfabric:sockets"
schedules="best-effort offset dfs grant"
inputs=2 computes=2 size=64KiB seconds=3 rounds=5 json=no
while [ $# -gt 0 ]; do
  case $1 in
    --weft | --fabrics | --schedules | --inputs | --computes | --size | --seconds | --rounds)
      [ $# -ge 2 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
      declare "${1#--}=$2"
      shift 2
      ;;
    --json) json=yes; shift ;;
    --help | -h) usage; exit 0 ;;
    *) echo "run.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
  esac
done
[ -x "$weft" ] || { echo "run.sh: no program '$weft'; give it with --weft" >&2; exit 2; }

rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

# member NAME: the number of that member in the JSON object on standard input.
member() {
  sed -n "s/.*\"$1\": *\([0-9.e+]*\)[,}].*/\1/p" | tail -n 1
}

# measure FABRIC WHAT: bytes per second of `limit` or of a schedule.
measure() {
  local fabric=$1 what=$2
  local job=(--inputs "$inputs" --computes "$computes" --fabric "$fabric" --log error)
  if [ "$what" = limit ]; then
    # The last row is the one with small messages, as a stream has them.
    "$weft" stream limit "${job[@]}" --sizes "$size" --mix --limit-duration "${seconds}s" --json |
      member aggregate_bytes_per_s
  else
    "$weft" stream local "${job[@]}" --schedule "$what" --duration "${seconds}s" \
      --source "pattern:?size=$size&fill=header" --sink null: --no-limit --json |
      member goodput_bytes_per_s
  fi
}

for round in $(seq "$rounds"); do
  for fabric in $fabrics; do
    for what in limit $schedules; do
      rate=$(measure "$fabric" "$what")
      [ -n "$rate" ] || { echo "run.sh: $fabric $what: no figure" >&2; exit 3; }
      echo "$round $fabric $what $rate" >>"$rows"
    done
  done
done

awk -v json="$json" -v rounds="$rounds" -v fabrics="$fabrics" -v order="limit $schedules" \
  -v load="$(cut -d ' ' -f 1 /proc/loadavg)" -v inputs="$inputs" -v computes="$computes" \
  -v size="$size" '
  # list[1..n] in place
  function sort(list, n,    i, j, t) {
    for (i = 2; i <= n; ++i) {
      t = list[i]
      for (j = i - 1; j > 0 && list[j] > t; --j) list[j + 1] = list[j]
      list[j + 1] = t
    }
  }
  function median(list, n) {
    sort(list, n)
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
  }
  { rate[$2, $3, $1] = $4 }
  END {
    if (json == "yes") {
      printf "{\"inputs\": %d, \"computes\": %d, \"size\": \"%s\", \"rounds\": %d, ", inputs,
        computes, size, rounds
      printf "\"load\": %s, \"results\": [", load
    } else {
      printf "%d inputs, %d computes, %s, %d rounds, load of the machine %s\n", inputs, computes,
        size, rounds, load
      printf "%-14s %-12s %12s %10s %10s\n", "fabric", "what", "MB/s", "spread", "of limit"
    }
    fabric_count = split(fabrics, fabric, " ")
    what_count = split(order, what, " ")
    failed = 0
    for (f = 1; f <= fabric_count; ++f) {
      for (w = 1; w <= what_count; ++w) {
        for (r = 1; r <= rounds; ++r) {
          rates[r] = rate[fabric[f], what[w], r]
          ratios[r] = rates[r] / rate[fabric[f], "limit", r]
        }
        middle = median(rates, rounds)
        spread = (rates[rounds] - rates[1]) / middle
        ratio = median(ratios, rounds)
        if (what[w] == "dfs" && ratio < 0.8) failed = 1
        if (json == "yes") {
          printf "%s{\"fabric\": \"%s\", \"what\": \"%s\", \"bytes_per_s\": %.0f, ",
            (f + w > 2 ? ", " : ""), fabric[f], what[w], middle
          printf "\"spread\": %.4f, \"of_limit\": %.4f}", spread, ratio
        } else {
          printf "%-14s %-12s %12.1f %9.1f%% %9.1f%%\n", fabric[f], what[w], middle / 1e6,
            spread * 100, ratio * 100
        }
      }
    }
    if (json == "yes") print "]}"
    exit failed
  }' "$rows"
