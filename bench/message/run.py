#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Question: how long is a message's way, and how many bytes per second go one way, on weft's
fabrics and on MPIs, for sizes from 1 B to 1 GiB?

    bench/message/run.py --build build/release --out out/messages
    bench/message/run.py --sizes 8,1048576 --on tcp,openmpi-tcp --repeat 9
    bench/message/run.py --on fabric-shm,openmpi-shm,mpich   # a fabric without weft's messages

Two processes on this machine, the same loops in weft's program (pingpong.cpp) and in MPI's
(mpi_pingpong.c). Contestants take turns at each size, so that all meet the same weather; medians
over the turns count. Ends with a table in Markdown, or with --json the same as JSON, and draws
OUT/report.html. Then it says whether what is promised holds: over TCP weft is at least as fast as
the fastest MPI, 8 bytes and 1 MiB; through shared memory within 25 %; and at no size does weft lose
more than a third of the bandwidth of the size before. Code 1 when something does not hold.

Measure on a machine that has nothing else to do.
"""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
import contest  # noqa: E402
import report  # noqa: E402

OPENMPI = ["mpirun.openmpi", "-n", "2"]
# name: (command, environment)
CONTESTANTS = {
    "tcp": (["{build}/weft", "run", "-n", "2", "--fabric", "tcp", "--",
             "{build}/bench_message_pingpong"], {}),
    "openmpi-tcp": ([*OPENMPI, *contest.OPENMPI_TCP, "{build}/mpi_pingpong_openmpi"],
                    contest.AS_ROOT),
    "mpich-tcp": (["mpirun.mpich", "-n", "2", "{build}/mpi_pingpong_mpich"], contest.MPICH_TCP),
    "auto": (["{build}/weft", "run", "-n", "2", "--", "{build}/bench_message_pingpong"], {}),
    "openmpi-shm": ([*OPENMPI, *contest.OPENMPI_SHM, "{build}/mpi_pingpong_openmpi"],
                    contest.AS_ROOT),
    "mpich": (["mpirun.mpich", "-n", "2", "{build}/mpi_pingpong_mpich"], {}),
}
# Fabrics without messages: not what a program gets, and only measured when they are named.
FABRICS = {f"fabric-{name}": (["{build}/bench_fabric_shm", name], {})
           for name in ("shm", "shm-pull", "tcp", "unix")}
DEFAULT = list(CONTESTANTS)
CONTESTANTS.update(FABRICS)
OVER_TCP, SHARED = ["openmpi-tcp", "mpich-tcp"], ["openmpi-shm", "mpich"]
GROUPS = [("over TCP", "tcp", OVER_TCP, 1.0), ("through shared memory", "auto", SHARED, 1.25),
          ("over the TCP fabric", "fabric-tcp", OVER_TCP, 1.0),
          ("over the shared-memory fabric", "fabric-shm", SHARED, 1.25)]
MOST_LOST = 1 / 3


def measure(name, size, build):
    """Microseconds one way, and GB/s."""
    words, environment = CONTESTANTS[name]
    command = [word.format(build=build) for word in words] + [str(size)]

    def figures(output):
        fields = output.split()
        return (float(fields[1]), float(fields[2])) if len(fields) == 3 else None

    return contest.measure(command, environment, 300, figures)


def run(sizes, names, repeat, build):
    """Results by name: a list of sizes with latency_us and bandwidth_gbs.

    All sizes, and then all once more: a while in which the machine is slow is one value of many
    sizes and not all values of one.
    """
    seen = {(name, size): [] for name in names for size in sizes}
    for turn, in_turn in enumerate(contest.turns(names, repeat), 1):
        for size in sizes:
            print(f"turn {turn} of {repeat}: {size} bytes", file=sys.stderr, flush=True)
            for name in in_turn:
                seen[name, size].append(measure(name, size, build))
    return {name: [{"bytes": size,
                    "latency_us": contest.spread([latency for latency, _ in seen[name, size]]),
                    "bandwidth_gbs": contest.spread([rate for _, rate in seen[name, size]])}
                   for size in sizes]
            for name in names}


def ratio(results, ours, theirs, size, field, better):
    """Ours to the best of theirs, as a factor by which ours takes longer. None: not measured."""
    def value(name):
        return next((row[field]["median"] for row in results.get(name, []) if row["bytes"] == size),
                    None)
    rivals = [value(name) for name in theirs if value(name) is not None]
    if value(ours) is None or not rivals:
        return None
    best = better(rivals)
    return value(ours) / best if better is min else best / value(ours)


def promises(results):
    """What is promised of what was measured, and whether it holds."""
    found = []
    for where, ours, theirs, most in GROUPS:
        for size, what, field, better in ((8, "8 bytes one way", "latency_us", min),
                                          (1 << 20, "bandwidth at 1 MiB", "bandwidth_gbs", max)):
            factor = ratio(results, ours, theirs, size, field, better)
            if factor is not None:
                found.append({"promise": f"{what} {where}: {factor:.2f} times as long as the best "
                                         f"MPI, at most {most:.2f}", "holds": factor <= most})
        if len(results.get(ours, [])) > 1 and ours not in FABRICS:
            found.append(no_cliff(results, where, ours, theirs))
    return found


def kept(results, name):
    """By size: the share that it keeps of the bandwidth of the size before it."""
    rows = results.get(name, [])
    return {b["bytes"]: b["bandwidth_gbs"]["median"] / a["bandwidth_gbs"]["median"]
            for a, b in zip(rows, rows[1:])}


def no_cliff(results, where, ours, theirs):
    """That no size loses much of the bandwidth before it; and what the MPIs lose there.

    What no longer fits a cache goes slower on all fabrics, which only the comparison tells.
    """
    share, at = min((share, size) for size, share in kept(results, ours).items())
    others = [f"{name} {1 - kept(results, name)[at]:.0%}" for name in theirs if name in results]
    beside = f" ({', '.join(others)})" if others else ""
    return {"promise": f"no cliff {where}: the most that a size loses of the bandwidth before it is "
                       f"{max(0, 1 - share):.0%}{beside}, at {at} bytes; at most {MOST_LOST:.0%}",
            "holds": 1 - share <= MOST_LOST}


def print_table(results):
    names = list(results)
    contest.print_head("bytes", *(f"{name}, µs" for name in names),
                       *(f"{name}, GB/s" for name in names))
    for rows in zip(*results.values()):
        cells = [f"{r['latency_us']['median']:.4g} ({r['latency_us']['min']:.4g} – "
                 f"{r['latency_us']['max']:.4g})" for r in rows]
        cells += [f"{r['bandwidth_gbs']['median']:.3g}" for r in rows]
        contest.print_row(rows[0]["bytes"], *cells)


def parse():
    parser = contest.parser(__doc__)
    parser.add_argument("--out", default="out/messages", help="directory of results")
    parser.add_argument("--sizes", type=lambda t: sorted(int(size) for size in t.split(",")),
                        default=[1 << power for power in range(31)],
                        help="bytes; by default all powers of two from 1 to 1 GiB")
    parser.add_argument("--on", type=contest.names, default=DEFAULT,
                        help=f"of {','.join(CONTESTANTS)}; by default those before fabric-")
    options = parser.parse_args()
    contest.check(parser, options.on, CONTESTANTS)
    return options


def main():
    options = parse()
    build, out = pathlib.Path(options.build).resolve(), pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    results = run(options.sizes, options.on, options.repeat, build)
    found = promises(results)
    result = {"bench": "message", "repeat": options.repeat, "processors": os.cpu_count(),
              "results": results, "promises": found}
    (out / "summary.json").write_text(json.dumps(result, indent=1))
    page = report.write(out / "report.html", result, build)
    contest.tell(options, result, lambda: print_table(results))
    print(f"report: {page}", file=sys.stderr)
    return 0 if all(promise["holds"] for promise in found) else 1


if __name__ == "__main__":
    sys.exit(main())
