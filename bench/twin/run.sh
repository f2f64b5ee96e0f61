#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Question: how near is a simulated testbed to the real one? Runs the same jobs in a testbed of
# network namespaces with ports that drop nothing, and in its simulated twin (`--twin`), the schedules
# in turn, several times with another seed each, and prints the medians and by how much the twin differs.
#
#   bench/twin/run.sh [RUNS] [SECONDS] [WEFT]      by default 5 runs of 10 s with build/release/weft
#
# Limits: 16 processes share this machine. When its processor is busy with anything else, real figures
# say nothing; the line "idle" shows how much of it was free. Needs root or user namespaces, python3.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

runs="${1:-5}"
seconds="${2:-10}"
weft="${3:-build/release/weft}"
schedules="${SCHEDULES:-best-effort,offset,dfs,grant}"
scratch="$(mktemp -d)"
trap 'rm -rf -- "$scratch"' EXIT

idle_jiffies() { awk '/^cpu / { print $5 + $6 }' /proc/stat; }
all_jiffies() { awk '/^cpu / { for (i = 2; i <= 9; ++i) sum += $i; print sum }' /proc/stat; }

idle="$(idle_jiffies)"
all="$(all_jiffies)"
of_dfs=()
[[ ,$schedules, != *,dfs,* ]] || of_dfs=(--timeslices-per-interval 64)
for ((run = 1; run <= runs; ++run)); do
  echo "run $run of $runs" >&2
  # A run that lost timeslices ends with an error after it has printed its record.
  "$weft" stream compare --schedules "$schedules" --inputs 8 --computes 8 --no-limit \
    --testbed 100Mbit,4MiB "${of_dfs[@]}" --duration "${seconds}s" --twin \
    --seed "$run" --json \
    >"$scratch/$run.json" || echo "run $run failed" >&2
done
idle=$(($(idle_jiffies) - idle))
all=$(($(all_jiffies) - all))

python3 - "$scratch" <<'PYTHON'
import glob, json, statistics, sys

figures = {}  # (schedule, simulated) -> [(goodput in MB/s, median spread in ms)]
order = []
for path in sorted(glob.glob(sys.argv[1] + "/*.json")):
    try:
        runs = json.load(open(path))["runs"]
    except (ValueError, KeyError):
        continue
    for run in runs:
        simulated = run["fabric"].startswith("twin of")
        if run["spread_us"] is None:
            continue
        if run["schedule"] not in order:
            order.append(run["schedule"])
        figures.setdefault((run["schedule"], simulated), []).append(
            (run["goodput_bytes_per_s"] / 1e6, run["spread_us"]["median"] / 1e3))

print(f"{'schedule':<12} {'runs':>4} {'goodput MB/s':>13} {'twin':>8} {'%':>7} "
      f"{'spread ms':>11} {'twin':>8} {'%':>7}")
for schedule in order:
    real, twin = figures.get((schedule, False), []), figures.get((schedule, True), [])
    if not real or not twin:
        continue
    cells = []
    for column in (0, 1):
        r = statistics.median(v[column] for v in real)
        s = statistics.median(v[column] for v in twin)
        cells += [r, s, (s / r - 1) * 100]
    print(f"{schedule:<12} {len(real):>4} {cells[0]:>13.2f} {cells[1]:>8.2f} {cells[2]:>+7.1f} "
          f"{cells[3]:>11.2f} {cells[4]:>8.2f} {cells[5]:>+7.1f}")
PYTHON
echo "idle: $((100 * idle / all)) % of the processors"
