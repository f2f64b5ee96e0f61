#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Question: what does a schedule cost where there is no link to be kept free, on loopback?
Competitor: `weft stream limit --mix`, the same processes writing the same messages as fast as the
fabric takes them, with nobody to coordinate them.
Must hold: dfs reaches at least 80 % of it on every fabric; the exit code is 1 when it does not.

In each round every schedule and the limit run once, so that other load on the machine hits all of
them; the figures are medians over rounds, and of each round's ratio to its own limit. Sources
write headers only (no CRC, no fill) and sinks drop: this measures moving bytes.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

WEFT = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "weft"


def rate(options, fabric, what):
    """Bytes per second of `limit` or of a schedule."""
    job = ["--inputs", str(options.inputs), "--computes", str(options.computes), "--fabric", fabric,
           "--log", "error", "--json"]
    if what == "limit":
        command = ["limit", *job, "--sizes", options.size, "--mix", "--limit-duration",
                   f"{options.seconds:g}s"]
    else:
        command = ["local", *job, "--schedule", what, "--duration", f"{options.seconds:g}s",
                   "--source", f"pattern:?size={options.size}&fill=header", "--sink", "null:",
                   "--no-limit"]
    done = subprocess.run([options.weft, "stream", *command], stdout=subprocess.PIPE, text=True)
    try:
        record = json.loads(done.stdout)
    except ValueError:
        sys.exit(f"run.py: {fabric} {what}: no figure")
    # The last row of the limit is the one with small messages, as a stream has them.
    return (record["limit"][-1]["aggregate_bytes_per_s"] if what == "limit"
            else record["goodput_bytes_per_s"])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=str(WEFT))
    parser.add_argument("--fabrics", default="tcp libfabric:tcp libfabric:shm libfabric:sockets")
    parser.add_argument("--schedules", default="best-effort offset dfs grant")
    parser.add_argument("--inputs", type=int, default=2)
    parser.add_argument("--computes", type=int, default=2)
    parser.add_argument("--size", default="64KiB")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    fabrics, order = options.fabrics.split(), ["limit", *options.schedules.split()]
    rounds = [{(fabric, what): rate(options, fabric, what) for fabric in fabrics for what in order}
              for _ in range(options.rounds)]
    results = []
    for fabric in fabrics:
        for what in order:
            rates = [r[fabric, what] for r in rounds]
            middle = statistics.median(rates)
            results.append({"fabric": fabric, "what": what, "bytes_per_s": round(middle),
                            "spread": (max(rates) - min(rates)) / middle,
                            "of_limit": statistics.median(r[fabric, what] / r[fabric, "limit"]
                                                          for r in rounds)})
    if options.json:
        about = {name: getattr(options, name) for name in ("inputs", "computes", "size", "rounds")}
        print(json.dumps({**about, "load": os.getloadavg()[0], "results": results}))
    else:
        print(f"{options.inputs} inputs, {options.computes} computes, {options.size}, "
              f"{options.rounds} rounds, load of the machine {os.getloadavg()[0]}\n"
              f"{'fabric':<18} {'what':<12} {'MB/s':>12} {'spread':>10} {'of limit':>10}")
        for r in results:
            print(f"{r['fabric']:<18} {r['what']:<12} {r['bytes_per_s'] / 1e6:12.1f} "
                  f"{r['spread']:10.1%} {r['of_limit']:10.1%}")
    return 1 if any(r["what"] == "dfs" and r["of_limit"] < 0.8 for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
