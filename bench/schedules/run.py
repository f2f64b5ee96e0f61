#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Question: is there a quiet network on which another schedule beats the default one?

    bench/schedules/run.py --weft build/release/weft --out out/schedules           # everything
    bench/schedules/run.py --quick                     # few sizes, simulated cells, two minutes
    bench/schedules/run.py --only 'sim-.*/8x8/'        # cells whose name matches; several allowed

Each cell runs every schedule on one fabric, with one number of nodes and one size of contributions.
The quiet cells are promises: goodput of grant at least 95 % of the best schedule's, and where links
decide a median spread of at most 1.5 floors. Links decide where three things hold:
 - the best schedule fills 85 % of them;
 - the floor is longer than a message's way. Nodes know of each other only by messages, so they
   cannot be in step more closely than that;
 - grant's processes use less than 85 % of this machine's processors. Otherwise the order in which
   nodes get a processor decides. Each real cell with links has a simulated one with the same links,
   where every node has a processor of its own and the promise holds as well.
A star behind the floors says that links do not decide. The exit code is 1 when a promise is broken.
Cells with disturbances are shown as they are.

Leaves DIR/matrix.json and DIR/matrix.html, one page without other files. Simulated cells are
deterministic. The others are medians of --rounds rounds, each of which runs every schedule once,
beginning with another one each time: they mean something on a machine that does nothing else. Even
there memory may be half as fast for a second or a minute, so schedules are compared within a round,
and many short rounds tell more than a few long ones. The share is the median of grant's goodput over
the best schedule's in the same round. Half of the rounds say which one is best, and the others
compare with it, in turn: the best of several that are alike would be the luckiest one. Two runs
still differ by a tenth: a cell that seems to break a promise has --more-rounds more, and is judged
by all of them.
"""
import argparse
import itertools
import json
import os
import pathlib
import re
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

from page import page

SCHEDULES = ("best-effort", "offset", "dfs", "grant")
KIB = 1024
SIZES = {"1KiB": KIB, "4KiB": 4 * KIB, "16KiB": 16 * KIB, "64KiB": 64 * KIB, "256KiB": 256 * KIB,
         "1MiB": 1024 * KIB}
SHAPES = ("1x1", "2x2", "8x8")
# Of places with links: bytes/s, and us from node to node. The way leads over the two links of a
# simulated star, or over one shaped link.
LINKS = {"sim-1us": (5e9, 2), "sim-25us": (5e9, 50), "sim-200Mbit-20us": (25e6, 20),
         "sim-200Mbit-5ms": (25e6, 5000), "link-20us": (25e6, 20), "link-5ms": (25e6, 5000)}
PLACES = (*LINKS, "shm", "tcp")
SHARE = 0.95          # of the best schedule's goodput
FLOORS = 1.5
ROUNDS_OF_LINKS = 30
ROUNDS_OF_SIMULATED_LINKS = 120  # of 200 Mbit/s
WAYS = 400
SECONDS_OF_LINKS = 2  # on this machine: until nodes that wait for a processor have found their pace
LINKS_DECIDE = 0.85   # of the links' capacity
NODES_DECIDE = 0.85   # of the processors' time
SCENARIO = """[network]
topology = "star:{nodes}"
host-link = {{rate = "{megabits}Mbit", latency = "{latency_ns}ns"}}
buffer = "1MiB"

[fabric]
copied-bytes = "512B"
"""
# Sizes with the same mean as 64 KiB: most are small, some are 16 times as large.
HEAVY_TAIL = [8 * KIB] * 24 + [64 * KIB] * 5 + [512 * KIB] * 3
# Name: (places, shape, options). 8 inputs are host0 to host7.
DISTURBED = {
    "pauses of 50us each 1ms": ("8x8", ["--set", "noise.every=1ms", "--set", "noise.mean=50us"]),
    "pauses of 200us each 2ms": ("8x8", ["--set", "noise.every=2ms", "--set", "noise.mean=200us"]),
    "pauses of 500us each 1.3ms": ("8x8", ["--set", "noise.every=1300us", "--set",
                                           "noise.mean=500us"]),
    "pauses of 2ms each 20ms": ("8x8", ["--set", "noise.every=20ms", "--set", "noise.mean=2ms"]),
    "heavy-tailed sizes": ("8x8", []),
    "one of eight inputs at half rate": ("8x8", ["--fault", "at=0s slow host3 20Gbit"]),
    "two of eight inputs at half rate": ("8x8", ["--fault", "at=0s slow host3 20Gbit",
                                                 "--fault", "at=0s slow host6 20Gbit"]),
    "four of eight inputs at half rate": ("8x8", list(itertools.chain.from_iterable(
        ["--fault", f"at=0s slow host{i} 20Gbit"] for i in (1, 3, 5, 7)))),
    "a compute node at half rate": ("8x8", ["--fault", "at=0s slow host11 20Gbit"]),
    "32x2": ("32x2", []),
    "2x32": ("2x32", []),
}


class Cell:
    """One fabric, number of nodes, size of contributions and disturbance."""

    def __init__(self, place, shape, size, disturbance=None):
        self.place, self.shape, self.size, self.disturbance = place, shape, size, disturbance
        self.inputs, self.computes = map(int, shape.split("x"))
        self.name = f"{place}/{disturbance or shape}/{size}"
        self.simulated = place.startswith("sim-")
        self.rate, self.way_us = LINKS.get(place, (None, None))

    def least_seconds(self):
        """Enough rounds that the first and the last one, which are never full, weigh little, and
        enough ways from node to node that those weigh little in which the path fills."""
        if not self.rate:
            return 0
        rounds = ROUNDS_OF_SIMULATED_LINKS if self.simulated else ROUNDS_OF_LINKS
        seconds = max(rounds * self.inputs * SIZES[self.size] / self.rate, WAYS * self.way_us / 1e6)
        return seconds if self.simulated else max(seconds, SECONDS_OF_LINKS)

    def options(self, scratch, seconds):
        size = SIZES[self.size]
        source = f"pattern:?size={size}&fill=header"
        if self.disturbance == "heavy-tailed sizes":
            (scratch / "sizes").write_text("".join(f"{s}\n" for s in HEAVY_TAIL))
            source = f"pattern:?sizes={scratch / 'sizes'}&fill=header"
            size = max(HEAVY_TAIL)
        options = ["--inputs", str(self.inputs), "--computes", str(self.computes), "--no-limit",
                   "--source", source, "--sink", "null:", "--buffer", str(max(KIB * KIB, 4 * size))]
        if not self.simulated:
            place = {"shm": ["--fabric", "shm"], "tcp": ["--fabric", "tcp"]}.get(
                self.place, ["--link", f"200Mbit,{self.place.removeprefix('link-')}"])
            return options + place + ["--duration", f"{max(seconds, self.least_seconds()):g}s"]
        scenario = scratch / f"{self.place}-{self.shape}.toml"
        scenario.write_text(SCENARIO.format(nodes=self.inputs + self.computes,
                                            megabits=int(self.rate * 8 / 1e6),
                                            latency_ns=self.way_us * 1000 // 2))
        length = (max(2, self.least_seconds()) if self.rate < 1e9 else
                  0.06 if self.disturbance else 0.03 if size < 256 * KIB else 0.12)
        return options + ["--fabric", f"sim:{scenario}"] + self.work(length)

    def work(self, seconds):
        """As many timeslices as the links carry in that time: when time ends a run instead, inputs
        that are ahead have sent what is never completed, which costs those schedules most that
        let them run ahead. Faults and noise need a time."""
        extra = DISTURBED[self.disturbance][1] if self.disturbance else []
        if extra:
            return ["--duration", f"{seconds:g}s"] + extra
        capacity = min(self.inputs, self.computes) * self.rate
        timeslices = int(seconds * capacity / (self.inputs * (SIZES[self.size] + 32)))
        return ["--timeslices", str(timeslices), "--duration", f"{100 * seconds:g}s"]


def all_cells(quick):
    sizes = ("1KiB", "16KiB", "64KiB", "1MiB") if quick else tuple(SIZES)
    places = ("sim-1us", "sim-25us") if quick else PLACES
    cells = [Cell(*c) for c in itertools.product(places, SHAPES, sizes)]
    return cells + [Cell("sim-1us", shape, "64KiB", name)
                    for name, (shape, _) in DISTURBED.items()]


def run(weft, cell, schedule, options):
    command = [weft, "stream", "compare", "--schedules", schedule, "--json", *options]
    if schedule == "dfs":
        command += ["--timeslices-per-interval", str(16 * cell.computes)]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    after, took = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    processor_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    try:
        record = json.loads(done.stdout)["runs"][0]
    except (ValueError, KeyError, IndexError):
        print(f"{cell.name}: {shlex.join(command)}: {done.stderr.strip()}", file=sys.stderr)
        return None
    spread = record["spread_us"]["median"] if record["spread_us"] else None
    return {"goodput": record["goodput_bytes_per_s"], "spread_us": spread,
            "of_processors": processor_s / took / len(os.sched_getaffinity(0))}


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def measure(arguments, cell, scratch):
    options = cell.options(scratch, arguments.seconds)
    rounds = []

    schedules = arguments.schedules.split(",")

    def run_rounds(count):
        for _ in range(count):
            first = len(rounds) % len(schedules)
            there = {s: run(arguments.weft, cell, s, options)
                     for s in schedules[first:] + schedules[:first]}
            rounds.append({s: there[s] for s in schedules})
        return judge(cell, medians(rounds), share_of_best(rounds)) | {"rounds": len(rounds)}

    result = run_rounds(1 if cell.simulated else arguments.rounds)
    if result["broken"] and not cell.simulated:
        result = run_rounds(arguments.more_rounds)
    return result


def medians(rounds):
    runs = {}
    for schedule in rounds[0]:
        there = [f[schedule] for f in rounds if f[schedule]]
        if there:
            goodputs = [r["goodput"] for r in there]
            runs[schedule] = {"goodput": median(goodputs),
                              "spread_us": median([r["spread_us"] for r in there]),
                              "of_processors": median([r["of_processors"] for r in there]),
                              "least": min(goodputs), "most": max(goodputs)}
    return runs


def shares(rounds):
    """Of grant, of what each schedule did in the same round: the median."""
    ran = [f for f in rounds if f.get("grant")]
    there = {s: [f["grant"]["goodput"] / f[s]["goodput"] for f in ran if f[s] and f[s]["goodput"]]
             for s in rounds[0]}
    return {s: statistics.median(of) for s, of in there.items() if of}


def share_of_best(rounds):
    if len(rounds) == 1:
        return min(shares(rounds).values(), default=0)
    halves = [shares(rounds[0::2]), shares(rounds[1::2])]
    if not all(halves):
        return 0
    best = [min(half, key=half.get) for half in halves]
    return statistics.mean(halves[1 - i].get(best[i], halves[i][best[i]]) for i in (0, 1))


def judge(cell, runs, share):
    result = {"name": cell.name, "place": cell.place, "shape": cell.disturbance or cell.shape,
              "size": cell.size, "promise": cell.disturbance is None, "runs": runs}
    if "grant" not in runs:
        return result | {"broken": ["grant did not run"]}
    grant, best = runs["grant"], max(r["goodput"] for r in runs.values())
    result["of_best"] = share
    broken = [] if result["of_best"] >= SHARE else ["goodput"]
    if cell.rate and cell.inputs > 1 and grant["spread_us"] is not None:
        floor = (cell.inputs - 1) * (SIZES[cell.size] + 32) / cell.rate * 1e6
        result["floors"] = grant["spread_us"] / floor
        capacity = min(cell.inputs, cell.computes) * cell.rate
        result["of_links"] = best / capacity
        nodes_decide = not cell.simulated and grant["of_processors"] >= NODES_DECIDE
        links_decide = (best >= LINKS_DECIDE * capacity and floor > cell.way_us and
                        not nodes_decide)
        result["links_decide"] = links_decide
        if links_decide and result["floors"] > FLOORS:
            broken.append("spread")
    return result | {"broken": broken if result["promise"] else []}


def line(result):
    floors = f"{result['floors']:6.2f} floors" if "floors" in result else " " * 13
    floors += " " if result.get("links_decide") else "*"
    goodputs = "  ".join(f"{s} {r['goodput'] / 1e6:.5g}" +
                         (f" ({r['least'] / 1e6:.4g} to {r['most'] / 1e6:.4g})"
                          if result.get("rounds", 1) > 1 else "")
                         for s, r in result["runs"].items())
    mark = "BROKEN " + ", ".join(result["broken"]) if result["broken"] else ""
    return (f"{result['name']:<42} {100 * result.get('of_best', 0):5.1f} % {floors}  "
            f"{goodputs} MB/s {mark}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--weft", default=str(root / "build" / "release" / "weft"))
    parser.add_argument("--out", type=pathlib.Path, default=root / "out" / "schedules")
    parser.add_argument("--only", action="append", help="run cells whose name matches (a regex)")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=7, help="of cells that are not simulated")
    parser.add_argument("--more-rounds", type=int, default=21, metavar="N",
                        help="of such cells that seem to break a promise")
    parser.add_argument("--seconds", type=float, default=0.7,
                        help="of runs that are not simulated; longer where links carry few rounds by then")
    parser.add_argument("--schedules", default=",".join(SCHEDULES))
    arguments = parser.parse_args()
    cells = [c for c in all_cells(arguments.quick)
             if not arguments.only or any(re.search(o, c.name) for o in arguments.only)]
    if not cells:
        parser.error(f"--only {' '.join(arguments.only)}: no cell has such a name")
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        for cell in cells:
            results.append(measure(arguments, cell, pathlib.Path(scratch)))
            print(line(results[-1]), flush=True)
    record = {"share": SHARE, "floors": FLOORS, "cells": results}
    (arguments.out / "matrix.json").write_text(json.dumps(record, indent=1) + "\n")
    (arguments.out / "matrix.html").write_text(page(record))
    broken = sum(bool(r["broken"]) for r in results)
    print(f"{len(results)} cells, {broken} broken; {arguments.out / 'matrix.html'}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
