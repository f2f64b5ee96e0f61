#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Question: what do the schedules of paper 1 reach on a simulated XC40, on which sizes, with which
disturbances and on which routing; and which parameters of the simulation decide it?

    bench/paper1/run.py matrix      --weft build/weft --out out/paper1    # Figs. 6, 7 and 9
    bench/paper1/run.py sensitivity --weft build/weft --out out/paper1    # one parameter at a time
    bench/paper1/run.py recovery    --weft build/weft --out out/paper1    # Fig. 8, a report

One simulation after the other, at low priority. Each leaves one JSON file in the directory; those
that are there are not run again. Ends with a table in Markdown of all that there is. Simulations
are deterministic: the load of the machine changes how long this takes, not what it finds.
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
from contest import names, print_head, print_row, save  # noqa: E402

SCENARIOS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "scenarios"
SCHEDULES = ("best-effort", "offset", "dfs", "grant")
ROUTINGS = ("ugal", "minimal")
CONDITIONS = {
    "quiet": [],
    # A twentieth of each node's time, in pauses of 50 us.
    "noise": ["--set", "noise.every=1ms", "--set", "noise.mean=50us"],
    # 10 GB/s are the others' links.
    "half-rate": ["--fault", "at=0s slow host3 40Gbit"],
}
# Paper 1, V.B.1 and Fig. 7: of the limit.
PUBLISHED = {128: {"best-effort": 0.53, "dfs": 0.80},
             192: {"best-effort": 0.45, "dfs": 0.625},
             384: {"best-effort": 0.44, "dfs": 0.67}}
# Milliseconds of streaming by size: (dfs, others, limit), and rounds of an interval. Table I has
# 10,000 timeslices per interval, that is 156, 104 and 52 rounds.
LENGTHS = {128: (250, 60, 10), 192: (120, 60, 10), 384: (80, 30, 10)}
ROUNDS = 32

# One parameter of the simulation at a time, 128 nodes, quiet, ugal unless it says otherwise.
SENSITIVITY = {
    "as it is": [],
    "placement contiguous": ["--set", "placement.kind=contiguous"],
    "placement random:2": ["--set", "placement.kind=random:2"],
    "buffers of switches 64 KiB": ["--set", "network.buffer=64KiB"],
    "buffers of switches 16 KiB": ["--set", "network.buffer=16KiB"],
    "interleaved messages 1": ["--set", "network.interleaved-messages=1"],
    "interleaved messages 64": ["--set", "network.interleaved-messages=64"],
    "host overhead 1 us": ["--set", "network.host-overhead=1us"],
    "host overhead 3 us": ["--set", "network.host-overhead=3us"],
    "host overhead 6 us": ["--set", "network.host-overhead=6us"],
    "noise 50 us each 1 ms": ["--set", "noise.every=1ms", "--set", "noise.mean=50us"],
    "noise 500 us each 10 ms": ["--set", "noise.every=10ms", "--set", "noise.mean=500us"],
    "noise 2 ms each 40 ms": ["--set", "noise.every=40ms", "--set", "noise.mean=2ms"],
    "other jobs load 10 %": ["--set", 'traffic=[{pattern="uniform", load=0.1}]'],
    "other jobs load 30 %": ["--set", 'traffic=[{pattern="uniform", load=0.3}]'],
    "ring of a pair 256 KiB": ["--buffer", "256KiB"],
    "minimal": ["--set", "network.router=minimal"],
    "links between switches twice as fast": ["--set", "network.local-link.rate=84Gbit", "--set",
                                             "network.global-link.rate=75.2Gbit"],
}


def run(command, path, limit_s):
    """Runs the command unless its result is there. Returns the result, or None."""
    if path.exists():
        return json.loads(path.read_text())
    print(f"{path.stem}: {shlex.join(command)}", file=sys.stderr, flush=True)
    begun = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s,
                              preexec_fn=lambda: os.nice(10))
    except subprocess.TimeoutExpired:
        print(f"  not done after {limit_s} s; see --cell-timeout", file=sys.stderr)
        return None
    if not done.stdout.strip():
        print(f"  failed: {done.stderr.strip()}", file=sys.stderr)
        return None
    result = json.loads(done.stdout)
    result["bench"] = {"command": shlex.join(command), "wall_s": time.monotonic() - begun}
    save(path, result)
    return result


class Bench:
    def __init__(self, options):
        self.options = options
        self.out = pathlib.Path(options.out)
        self.out.mkdir(parents=True, exist_ok=True)

    def job(self, name, nodes, schedule, more):
        dfs_ms, other_ms, _ = LENGTHS[nodes]
        command = [self.options.weft, "stream", "local",
                   "--fabric", f"sim:{SCENARIOS}/aries-{nodes}.toml", "--schedule", schedule,
                   "--duration", f"{dfs_ms if schedule == 'dfs' else other_ms}ms",
                   "--no-limit", "--json", *more]
        if schedule == "dfs":
            command += ["--timeslices-per-interval", str(self.options.rounds * nodes // 2)]
        return run(command, self.out / f"{name}.json", self.options.cell_timeout)

    def limit(self, name, nodes, more):
        """Without faults, as the limit of weft stream compare is measured."""
        settings = [word for pair in zip(more[::2], more[1::2]) if pair[0] == "--set"
                    for word in pair]
        command = [self.options.weft, "stream", "limit",
                   "--fabric", f"sim:{SCENARIOS}/aries-{nodes}.toml", "--sizes", "64KiB", "--mix",
                   "--limit-duration", f"{LENGTHS[nodes][2]}ms", "--json", *settings]
        result = run(command, self.out / f"{name}.json", self.options.cell_timeout)
        if result is None:
            return None
        return next(row["aggregate_bytes_per_s"] for row in result["limit"] if row["mix"])


def summary(record, limit):
    """Goodput of limit; median spread in floors and in ms; median and 90th percentile of fill."""
    if record is None or not limit:
        return ["–"] * 4
    spread, fill = record["spread_us"], record["buffer_fill"]
    contribution = record["bytes"] / record["timeslices_complete"] / record["inputs"]
    floor_us = (record["inputs"] - 1) * contribution / (limit / record["computes"]) * 1e6
    return [f"{record['goodput_bytes_per_s'] / limit:.1%}".replace("%", " %"),
            f"{spread['median'] / 1000:.2f} / {spread['p90'] / 1000:.2f}",
            f"{spread['median'] / floor_us:.1f}",
            f"{fill['median']:.0%} / {fill['p90']:.0%}".replace("%", " %")]


def matrix(bench):
    rows = []
    for nodes in bench.options.nodes:
        for condition in bench.options.conditions:
            for routing in ROUTINGS:
                more = ["--set", f"network.router={routing}", *CONDITIONS[condition]]
                of = f"{nodes}-{condition}-{routing}"
                limit = bench.limit(f"{nodes}-{condition}-{routing}-limit", nodes, more)
                for schedule in bench.options.schedules:
                    record = bench.job(f"{of}-{schedule}", nodes, schedule, more)
                    paper = PUBLISHED[nodes].get(schedule)
                    rows.append((nodes, condition, routing, schedule, *summary(record, limit),
                                 f"{paper:.1%}".replace("%", " %") if paper else ""))
    print_head("nodes", "condition", "routing", "schedule", "goodput of limit",
               "spread, median / p90, ms", "median in floors", "fill, median / p90", "paper 1")
    for row in rows:
        print_row(*row)


def sensitivity(bench):
    print_head("128 nodes, quiet, ugal, but", "schedule", "goodput", "of limit",
               "spread, median / p90, ms", "median in floors", "fill, median / p90")
    for what, more in SENSITIVITY.items():
        stem = "sensitivity-" + "".join(c if c.isalnum() else "-" for c in what)
        limit = bench.limit(f"{stem}-limit", 128, more)
        if limit:
            print_row(what, "limit", f"{limit / 1e9:.0f} GB/s", *[""] * 4)
        for schedule in ("best-effort", "dfs"):
            if schedule not in bench.options.schedules:
                continue
            record = bench.job(f"{stem}-{schedule}", 128, schedule, more)
            if record:
                print_row(what, schedule, f"{record['goodput_bytes_per_s'] / 1e9:.0f} GB/s",
                          *summary(record, limit))
            sys.stdout.flush()


def recovery(bench):
    """Fig. 8: links of all inputs slow enough that intervals 15 to 25 last a quarter longer."""
    nodes = bench.options.nodes[0]
    per_interval = 8 * nodes // 2
    command = [bench.options.weft, "stream", "local",
               "--fabric", f"sim:{SCENARIOS}/aries-{nodes}.toml", "--schedule", "dfs",
               "--timeslices-per-interval", str(per_interval), "--no-limit", "--json"]
    base = run([*command, "--timeslices", str(30 * per_interval)],
               bench.out / f"recovery-{nodes}-before.json", bench.options.cell_timeout)
    if base is None:
        return
    begin, end = (base["intervals"][n]["start_us"] for n in (15, 26))
    actual = sorted(i["actual_us"] for i in base["intervals"][10:20])[5]
    # The rate of an input within an interval, at four fifths of its pace.
    rate = per_interval * 65536 / actual * 1e6 / 1.25
    length = (end - begin) * 1.25
    faults = []
    for host in range(nodes // 2):
        faults += ["--fault", f"at={begin:.0f}us slow host{host} {rate * 8 / 1e6:.0f}Mbit "
                              f"for={length:.0f}us"]
    where = bench.out / f"recovery-{nodes}"
    record = run([*command, "--timeslices", str(80 * per_interval), "--out", str(where), *faults],
                 bench.out / f"recovery-{nodes}.json", bench.options.cell_timeout)
    if record is None:
        return
    print_head("interval", "proposed, ms", "actual, ms")
    for n, i in enumerate(record["intervals"]):
        proposed = i["proposed_us"]
        print_row(n, f"{proposed / 1000:.2f}" if proposed else "–",
                  f"{i['actual_us'] / 1000:.2f}")
    print(f"\nreport: {where / 'report.html'}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("matrix", "sensitivity", "recovery"))
    parser.add_argument("--weft", default="weft", help="the program")
    parser.add_argument("--out", default="out/paper1", help="directory of results")
    parser.add_argument("--nodes", type=lambda t: [int(n) for n in t.split(",")],
                        default=sorted(LENGTHS))
    parser.add_argument("--conditions", type=names, default=list(CONDITIONS))
    parser.add_argument("--schedules", type=names, default=list(SCHEDULES))
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of an interval of dfs")
    parser.add_argument("--cell-timeout", type=float, default=1800, help="seconds")
    bench = Bench(parser.parse_args())
    {"matrix": matrix, "sensitivity": sensitivity, "recovery": recovery}[bench.options.what](bench)


if __name__ == "__main__":
    main()
