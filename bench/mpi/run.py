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

With --restart weft alone, without restarts, with `weft run --restart on-failure` and with
`--restart all`: those take 30 % of the latency and 10 % of the bandwidth at most. With on-failure
messages are kept as long as that takes a tenth of the time at most: small ones are in latency_8,
large ones in the first batches of bandwidth_1m are.

Measure on a machine that has nothing else to do.
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
import contest  # noqa: E402

OPENMPI = ["mpirun.openmpi", "-n", "{ranks}", "--oversubscribe"]
WEFT = ["{build}/weft", "run", "-n", "{ranks}"]
MPICH_PROGRAM, OPENMPI_PROGRAM = "{build}/bench_mpi_mpich", "{build}/bench_mpi_openmpi"
# name: (command, environment)
CONTESTANTS = {
    "weft-mpich": ([*WEFT, "--", MPICH_PROGRAM], {}),
    "weft-openmpi": ([*WEFT, "--", OPENMPI_PROGRAM], {}),
    "mpich": (["mpirun.mpich", "-n", "{ranks}", MPICH_PROGRAM], {}),
    "openmpi": ([*OPENMPI, *contest.OPENMPI_SHM, OPENMPI_PROGRAM], contest.AS_ROOT),
    "weft-mpich-tcp": ([*WEFT, "--fabric", "tcp", "--", MPICH_PROGRAM], {}),
    "weft-openmpi-tcp": ([*WEFT, "--fabric", "tcp", "--", OPENMPI_PROGRAM], {}),
    "mpich-tcp": (["mpirun.mpich", "-n", "{ranks}", MPICH_PROGRAM], contest.MPICH_TCP),
    "openmpi-tcp": ([*OPENMPI, *contest.OPENMPI_TCP, OPENMPI_PROGRAM], contest.AS_ROOT),
}
HOW = {"restart": "on-failure", "restart-all": "all"}
RESTART = {f"{name}-{kind}": (words[:4] + ["--restart", how] + words[4:], environment)
           for name, (words, environment) in CONTESTANTS.items() if name.startswith("weft")
           for kind, how in HOW.items()}
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

    def figures(output):
        found = dict(line.split() for line in output.splitlines() if len(line.split()) == 2)
        return {m: float(found[m]) for m in MEASURES} if set(found) == set(MEASURES) else None

    return contest.measure(command, environment, 600, figures)


def run(options):
    seen = {name: [] for name in options.on}
    for turn, in_turn in enumerate(contest.turns(options.on, options.repeat), 1):
        for name in in_turn:
            print(f"turn {turn} of {options.repeat}: {name}", file=sys.stderr, flush=True)
            seen[name].append(measure(name, options))
    return {name: {m: contest.spread([values[m] for values in all_values]) for m in MEASURES}
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
        for name, kind in [(name, kind) for name in ours for kind in HOW]:
            for m, limit in MOST_BY_RESTART.items():
                if name in results and f"{name}-{kind}" in results:
                    add(m, where, f"{name}-{kind}", [name], "without restarts", limit)
    return found


def print_table(results):
    contest.print_head("", *(f"{m}, {unit}" for m, (unit, _) in MEASURES.items()))
    for name, values in results.items():
        cells = [f"{v['median']:.3g} ({v['min']:.3g} – {v['max']:.3g})"
                 for v in (values[m] for m in MEASURES)]
        contest.print_row(name, *cells)


def parse():
    parser = contest.parser(__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--batch", type=float, default=0.02, help="seconds of a batch")
    parser.add_argument("--on", type=contest.names,
                        help=f"of {','.join(CONTESTANTS)}; by default those without restart")
    parser.add_argument("--restart", action="store_true", help="weft with restarts and without")
    options = parser.parse_args()
    options.build = pathlib.Path(options.build).resolve()
    if options.on is None:
        weft = [name for name in WITHOUT_RESTART if name.startswith("weft")]
        of_restart = [name for one in weft for name in (one, *(f"{one}-{kind}" for kind in HOW))]
        options.on = of_restart if options.restart else WITHOUT_RESTART
    contest.check(parser, options.on, CONTESTANTS)
    return options


def main():
    options = parse()
    results = run(options)
    found = promises(results, options.ranks)
    contest.tell(options, {"bench": "mpi", "ranks": options.ranks, "repeat": options.repeat,
                           "processors": os.cpu_count(), "results": results, "promises": found},
                 lambda: print_table(results))
    return 0 if all(promise["holds"] for promise in found) else 1


if __name__ == "__main__":
    sys.exit(main())
