#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Question: how fast is weft's MPI beside MPICH and Open MPI, for one and the same binary?

    bench/mpi/run.py --build build/release                 # 2 ranks, shared memory and TCP
    bench/mpi/run.py --build build/release --ranks 4       # more ranks than two cores
    bench/mpi/run.py --on weft-mpich,mpich --repeat 9
    bench/mpi/run.py --restart --batch 0.003               # what it costs that ranks can be restarted

measure.c is compiled once by each MPI's compiler. Each binary runs on its own MPI and on weft, in
turn; medians of the turns count, and from the lowest to the highest stand behind them. Ends with a
table in Markdown, or with --json the same as JSON. Then it says whether what is promised holds: no
operation takes longer on weft than on the better MPI; with more ranks than processors, it takes half
of that time at most. Code 1 when something does not hold.

With --restart weft alone, with `weft run --restart on-failure` and without it: that takes 30 % of
the latency and 10 % of the bandwidth at most. Each message is kept then: about as many gigabytes as
bandwidth_1m moves.

Measure on a machine that has nothing else to do.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

OPENMPI = ["mpirun.openmpi", "-n", "{ranks}", "--oversubscribe", "--mca", "pml", "ob1", "--mca",
           "btl"]
# Open MPI asks root whether it means it.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
WEFT = ["{build}/weft", "run", "-n", "{ranks}"]
MPICH_PROGRAM, OPENMPI_PROGRAM = "{build}/bench_mpi_mpich", "{build}/bench_mpi_openmpi"
# name: (command, environment)
CONTESTANTS = {
    "weft-mpich": ([*WEFT, "--", MPICH_PROGRAM], {}),
    "weft-openmpi": ([*WEFT, "--", OPENMPI_PROGRAM], {}),
    "mpich": (["mpirun.mpich", "-n", "{ranks}", MPICH_PROGRAM], {}),
    "openmpi": ([*OPENMPI, "vader,self", OPENMPI_PROGRAM], AS_ROOT),
    "weft-mpich-tcp": ([*WEFT, "--fabric", "tcp", "--", MPICH_PROGRAM], {}),
    "weft-openmpi-tcp": ([*WEFT, "--fabric", "tcp", "--", OPENMPI_PROGRAM], {}),
    "mpich-tcp": (["mpirun.mpich", "-n", "{ranks}", MPICH_PROGRAM],
                  {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}),
    "openmpi-tcp": ([*OPENMPI, "tcp,self", "--mca", "btl_tcp_if_include", "lo", OPENMPI_PROGRAM],
                    AS_ROOT),
}
RESTART = {f"{name}-restart": (words[:4] + ["--restart", "on-failure"] + words[4:], environment)
           for name, (words, environment) in CONTESTANTS.items() if name.startswith("weft")}
CONTESTANTS.update(RESTART)
WITHOUT_RESTART = [name for name in CONTESTANTS if name not in RESTART]
# Of one with restarts to the same without.
MOST_BY_RESTART = {"latency_8": 1.3, "bandwidth_1m": 1 / 0.9}
GROUPS = [("through shared memory", ["weft-mpich", "weft-openmpi"], ["mpich", "openmpi"]),
          ("over TCP", ["weft-mpich-tcp", "weft-openmpi-tcp"], ["mpich-tcp", "openmpi-tcp"])]
# name: (unit, whether more is better)
MEASURES = {"latency_8": ("µs", False), "rate_8": ("M/s", True), "bandwidth_1m": ("GB/s", True),
            "allreduce_8": ("µs", False), "barrier": ("µs", False)}


def measure(name, options):
    """Value by measure."""
    words, environment = CONTESTANTS[name]
    command = [word.format(build=options.build, ranks=options.ranks) for word in words]
    command.append(str(options.batch))
    done = subprocess.run(command, capture_output=True, text=True, timeout=600,
                          env={**os.environ, **environment}, start_new_session=True)
    found = dict(line.split() for line in done.stdout.splitlines() if len(line.split()) == 2)
    if done.returncode != 0 or set(found) != set(MEASURES):
        sys.exit(f"run.py: {' '.join(command)}: code {done.returncode}: "
                 f"{(done.stderr or done.stdout).strip()[-300:]}")
    return {measure: float(value) for measure, value in found.items()}


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def run(options):
    seen = {name: [] for name in options.on}
    for turn in range(options.repeat):
        first = turn % len(options.on)
        for name in options.on[first:] + options.on[:first]:
            print(f"turn {turn + 1} of {options.repeat}: {name}", file=sys.stderr, flush=True)
            seen[name].append(measure(name, options))
    return {name: {m: spread([values[m] for values in all_values]) for m in MEASURES}
            for name, all_values in seen.items()}


def promises(results, ranks):
    """What is promised of what was measured, and whether it holds."""
    most = 0.5 if ranks > os.cpu_count() else 1.0
    found = []

    def add(m, where, name, rivals, whom, limit):
        values = [results[rival][m]["median"] for rival in rivals]
        own = results[name][m]["median"]
        factor = max(values) / own if MEASURES[m][1] else own / min(values)
        found.append({"promise": f"{m} {where}, {name}: {factor:.2f} times as long as {whom}, at "
                                 f"most {limit:.2f}",
                      "holds": factor <= limit})

    for where, ours, theirs in GROUPS:
        rivals = [name for name in theirs if name in results]
        for name in [name for name in ours if name in results and rivals]:
            for m in MEASURES:
                add(m, where, name, rivals, "on the better MPI", most)
        for name in [name for name in ours if name in results and f"{name}-restart" in results]:
            for m, limit in MOST_BY_RESTART.items():
                add(m, where, f"{name}-restart", [name], "without restarts", limit)
    return found


def print_table(results):
    print("| | " + " | ".join(f"{m}, {unit}" for m, (unit, _) in MEASURES.items()) + " |")
    print("|" + "---|" * (1 + len(MEASURES)))
    for name, values in results.items():
        cells = [f"{v['median']:.3g} ({v['min']:.3g} – {v['max']:.3g})"
                 for v in (values[m] for m in MEASURES)]
        print(f"| {name} | " + " | ".join(cells) + " |")


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="a build directory of weft")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--batch", type=float, default=0.02, help="seconds of a batch")
    parser.add_argument("--on", type=lambda t: t.split(","),
                        help=f"of {','.join(CONTESTANTS)}; by default those without restart")
    parser.add_argument("--restart", action="store_true", help="weft with restarts and without")
    parser.add_argument("--json", action="store_true", help="instead of a table")
    options = parser.parse_args()
    options.build = pathlib.Path(options.build).resolve()
    if options.on is None:
        of_restart = [name for other in RESTART for name in (other.removesuffix("-restart"), other)]
        options.on = of_restart if options.restart else WITHOUT_RESTART
    unknown = [name for name in options.on if name not in CONTESTANTS]
    if unknown:
        parser.error(f"--on: '{unknown[0]}' is none of {', '.join(CONTESTANTS)}")
    for name in options.on:
        launcher = CONTESTANTS[name][0][0]
        if not launcher.startswith("{") and not shutil.which(launcher):
            parser.error(f"--on: '{name}' needs {launcher}; install it, or leave it out")
    return options


def main():
    options = parse()
    results = run(options)
    found = promises(results, options.ranks)
    if options.json:
        json.dump({"bench": "mpi", "ranks": options.ranks, "repeat": options.repeat,
                   "processors": os.cpu_count(), "results": results, "promises": found},
                  sys.stdout)
        print()
    else:
        print_table(results)
        for promise in found:
            print(f"{promise['promise']}: {'holds' if promise['holds'] else 'DOES NOT HOLD'}")
    return 0 if all(promise["holds"] for promise in found) else 1


if __name__ == "__main__":
    sys.exit(main())
