#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Question: which operation of MPI, with which size, takes far longer on weft than on Open MPI?

    bench/mpi/sweep.py --build build/release                       # 2 ranks, shared memory
    bench/mpi/sweep.py --build build/release --ranks 4 --kinds c   # collectives alone
    bench/mpi/sweep.py --build build/release --fabric tcp --kinds pc

sweep.c, compiled by Open MPI's compiler, runs on weft and on Open MPI in turn: messages (p),
collectives (c) and windows (w) of 8 bytes to 1 MiB. Ends with a table in Markdown, or with --json
the same as JSON: medians of the turns in µs, and what weft's are of Open MPI's. Nothing is promised
of these: run.py has what is.

Measure on a machine that has nothing else to do.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
import contest  # noqa: E402

PROGRAM = "{build}/bench_mpi_sweep"
OPENMPI = ["mpirun.openmpi", "-n", "{ranks}", "--oversubscribe"]
# By fabric: weft's command, and Open MPI's. Open MPI's windows of UCX want one network device.
CONTESTANTS = {
    "shm": {"weft": ["{build}/weft", "run", "-n", "{ranks}", "--", PROGRAM],
            "openmpi": [*OPENMPI, *contest.OPENMPI_SHM, "--mca", "osc", "^ucx", PROGRAM]},
    "tcp": {"weft": ["{build}/weft", "run", "-n", "{ranks}", "--fabric", "tcp", "--", PROGRAM],
            "openmpi": [*OPENMPI, *contest.OPENMPI_TCP, "--mca", "osc", "^ucx", PROGRAM]},
}


def figures(output):
    """µs by operation and bytes."""
    rows = [line.split() for line in output.splitlines()]
    return {(row[0], int(row[1])): float(row[2]) for row in rows if len(row) == 3}


def measure(words, options):
    command = [word.format(build=options.build, ranks=options.ranks) for word in words]
    return contest.measure([*command, options.kinds, str(options.batch)], contest.AS_ROOT, 900,
                           figures)


def run(options):
    contestants = CONTESTANTS[options.fabric]
    seen = {name: [] for name in contestants}
    for turn, in_turn in enumerate(contest.turns(list(contestants), options.repeat), 1):
        for name in in_turn:
            print(f"turn {turn} of {options.repeat}: {name}", file=sys.stderr, flush=True)
            seen[name].append(measure(contestants[name], options))
    return [{"operation": operation, "bytes": size,
             **{name: contest.spread([one[(operation, size)] for one in of_all])
                for name, of_all in seen.items()}}
            for operation, size in seen["weft"][0]]


def ratio(row):
    return row["weft"]["median"] / row["openmpi"]["median"]


def size_text(size):
    return f"{size >> 10} KiB" if size % 1024 == 0 else f"{size} B"


def print_table(rows):
    sizes = sorted({row["bytes"] for row in rows})
    contest.print_head("", *(size_text(size) for size in sizes))
    for operation in dict.fromkeys(row["operation"] for row in rows):
        cells = {row["bytes"]: f"{row['weft']['median']:.3g} ({ratio(row):.2f})"
                 for row in rows if row["operation"] == operation}
        contest.print_row(operation, *(cells.get(size, "") for size in sizes))


def main():
    parser = contest.parser(__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--kinds", default="pcw", help="of p, c and w; by default all")
    parser.add_argument("--fabric", choices=CONTESTANTS, default="shm")
    parser.add_argument("--batch", type=float, default=0.01, help="least seconds of a batch")
    options = parser.parse_args()
    options.build = pathlib.Path(options.build).resolve()
    if not options.kinds or set(options.kinds) - set("pcw"):
        parser.error(f"--kinds: '{options.kinds}' has another letter than p, c and w")
    contestants = {name: (words, contest.AS_ROOT)
                   for name, words in CONTESTANTS[options.fabric].items()}
    contest.check(parser, list(contestants), contestants)
    rows = run(options)
    contest.tell(options, {"bench": "mpi-sweep", "ranks": options.ranks, "fabric": options.fabric,
                           "repeat": options.repeat, "rows": rows, "promises": []},
                 lambda: print_table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
