#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Question: do programs run faster on weft's own fabrics than on an MPI (paper 4, chapter 6)?

    bench/workloads/run.py --build build/release --out out/workloads
    bench/workloads/run.py --only 6.2,6.9 --on tcp,openmpi-tcp --repeat 3

The 13 command lines of paper 6.2, scaled to about a second on two cores, and five whose time is
that of small messages. Each is run by four processes on each fabric; the fabrics take turns, so
that all meet the same weather. What is compared is the time that the program itself reports: from
when all its processes have joined until its result. What a command takes beyond that, to start and
to end, is shown apart. All runs of a program must print the same checksum, whatever the fabric;
a run that fails or prints another one ends the benchmark with code 1.

On a machine that has other work to do each run is a session, and so a group for Linux's scheduler;
but MPICH makes each rank one, which gets it a larger share, and no other rank what it yields. With
--nice below 0 all of them come before other work; even so, measure on a machine that has none, and
with sysctl kernel.sched_autogroup_enabled=0, without which MPICH waits for itself.

Each run leaves a JSON file in OUT/cells; those that are there are not run again. Ends with a table
in Markdown, or with --json the same as JSON, and draws Figs. 6.2 to 6.14 in OUT/report.html.
"""
import json
import os
import pathlib
import re
import resource
import shlex
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
import contest  # noqa: E402
import report  # noqa: E402

# Figure of paper 4, command line there, command line here.
WORKLOADS = [
    ("6.2", "jac1d 125000", "jac1d 10000 50"),
    ("6.3", "jac2d 11000", "jac2d 2500 50"),
    ("6.4", "jac3d 375", "jac3d 200 50"),
    ("6.5", "jac3d -g 375", "jac3d -g 200 50"),
    ("6.6", "markov 400 4000", "markov 400 4000 1000"),
    ("6.7", "markov2 400 4000", "markov2 400 4000 500"),
    ("6.8", "markov2 -f 400 4000", "markov2 -f 400 4000 200"),
    ("6.9", "propagation2d 40 40", "propagation2d 40 4000"),
    ("6.10", "spmv 5000", "spmv 5000"),
    ("6.11", "spmv2 150 1500", "spmv2 1000 1500"),
    ("6.12", "vsum 20000000", "vsum 20000000"),
    ("6.13", "vsum2", "vsum2 10000000"),
    ("6.14", "vsum3", "vsum3 20000000"),
    # Small messages and little to compute.
    ("s1", "", "jac2d 200 6000"),
    ("s2", "", "jac3d 50 4000"),
    ("s3", "", "markov 400 10 3000"),
    ("s4", "", "markov2 400 10 5000"),
    ("s5", "", "spmv2 5000 200"),
]
OPENMPI = ["mpirun.openmpi", "--oversubscribe"]
MPI = {"WEFT_FABRIC": "mpi", **contest.AS_ROOT}
# name: (command before -n, environment)
FABRICS = {
    "tcp": (["{weft}", "run", "--fabric", "tcp"], {}),
    "auto": (["{weft}", "run"], {}),
    "openmpi-tcp": ([*OPENMPI, *contest.OPENMPI_TCP], MPI),
    "openmpi-shm": ([*OPENMPI, *contest.OPENMPI_SHM], MPI),
    "mpich": (["mpirun.mpich"], MPI),
}
# Linux schedules sessions as groups, and MPICH makes each rank a session of its own.
PRIORITY = ('renice -n "$1" $$ >/dev/null; echo "$1" 2>/dev/null >/proc/self/autogroup; shift; '
            'exec "$@"')
ELAPSED = re.compile(r"^(\d+) processes, ([\d.]+) s$", re.MULTILINE)
CHECKSUM = re.compile(r"checksum ([0-9a-f]{16})")


def cpu_seconds():
    """Of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Bench:
    def __init__(self, options):
        self.options = options
        self.build = pathlib.Path(options.build).resolve()
        self.out = pathlib.Path(options.out)
        (self.out / "cells").mkdir(parents=True, exist_ok=True)
        self.failures = []

    def command(self, fabric, workload):
        """Its words, and what it finds in the environment."""
        before, environment = FABRICS[fabric]
        words = [word.format(weft=self.build / "weft") for word in before]
        if fabric in ("tcp", "auto"):
            words += ["-n", str(self.options.processes), "--"]
        else:
            words += ["-n", str(self.options.processes)]
        if self.options.nice:
            words += ["sh", "-c", PRIORITY, "sh", str(self.options.nice)]
        name, *arguments = workload.split()
        return [*words, str(self.build / "examples" / name), *arguments], environment

    def cell(self, fabric, workload, turn):
        """One run, as it was or as it is now. None: it failed, which is said."""
        name = "".join(c if c.isalnum() else "-" for c in f"{workload}-{fabric}-{turn}")
        path = self.out / "cells" / f"{name}.json"
        if path.exists():
            return json.loads(path.read_text())
        command, environment = self.command(fabric, workload)
        load = os.getloadavg()[0]
        begun, used = time.monotonic(), cpu_seconds()
        try:
            done = contest.run(command, environment, self.options.cell_timeout)
        except subprocess.TimeoutExpired:
            return self.fail(command, f"not done after {self.options.cell_timeout:g} s; "
                                      "see --cell-timeout")
        wall = time.monotonic() - begun
        elapsed, checksum = ELAPSED.search(done.stdout), CHECKSUM.search(done.stdout)
        if done.returncode != 0 or not elapsed or not checksum:
            return self.fail(command, f"code {done.returncode}: {done.stderr.strip()[-300:]}")
        if int(elapsed[1]) != self.options.processes:
            return self.fail(command, f"ran {elapsed[1]} processes")
        cell = {"workload": workload, "fabric": fabric, "turn": turn, "seconds": float(elapsed[2]),
                "wall_seconds": wall, "cpu_seconds": cpu_seconds() - used,
                "checksum": checksum[1], "load_before": load, "command": shlex.join(command)}
        contest.save(path, cell)
        return cell

    def fail(self, command, why):
        self.failures.append(f"{shlex.join(command)}: {why}")
        print(f"run.py: {self.failures[-1]}", file=sys.stderr)
        return None

    def run(self, workloads, fabrics):
        """Cells by (workload, fabric). Fabrics take turns, and each turn another is the first."""
        cells = {}
        for turn, in_turn in enumerate(contest.turns(fabrics, self.options.repeat)):
            for figure, _, workload in workloads:
                print(f"{turn + 1}/{self.options.repeat} {figure} {workload}", file=sys.stderr,
                      flush=True)
                for fabric in in_turn:
                    cell = self.cell(fabric, workload, turn)
                    if cell:
                        cells.setdefault((workload, fabric), []).append(cell)
        return cells

    def check(self, cells):
        """All runs of a workload have the same checksum."""
        for _, _, workload in WORKLOADS:
            seen = {}
            for (of, fabric), runs in cells.items():
                if of == workload:
                    for run in runs:
                        seen.setdefault(run["checksum"], set()).add(fabric)
            if len(seen) > 1:
                self.failures.append(f"{workload}: different checksums: {seen}")
                print(f"run.py: {self.failures[-1]}", file=sys.stderr)


def summarise(workloads, fabrics, cells):
    """A row per workload, with medians and spreads per fabric."""
    rows = []
    for figure, published, workload in workloads:
        row = {"figure": figure, "published": published, "workload": workload, "fabrics": {}}
        for fabric in fabrics:
            runs = cells.get((workload, fabric))
            if not runs:
                continue
            seconds = sorted(run["seconds"] for run in runs)
            row["checksum"] = runs[0]["checksum"]
            row["fabrics"][fabric] = {
                "median_s": statistics.median(seconds), "min_s": seconds[0], "max_s": seconds[-1],
                "runs": seconds,
                "startup_median_s": statistics.median(
                    run["wall_seconds"] - run["seconds"] for run in runs),
                "cpu_median_s": statistics.median(run["cpu_seconds"] for run in runs),
                "load_median": statistics.median(run["load_before"] for run in runs)}
        rows.append(row)
    return rows


def print_table(rows, fabrics):
    contest.print_head("Fig.", "program", *(f"{f}, s" for f in fabrics))
    for row in rows:
        cells = []
        for fabric in fabrics:
            f = row["fabrics"].get(fabric)
            cells.append(f"{f['median_s']:.2f} ({f['min_s']:.2f} – {f['max_s']:.2f})" if f else "–")
        contest.print_row(row["figure"], f"`{row['workload']}`", *cells)
    starts = []
    for fabric in fabrics:
        times = [row["fabrics"][fabric]["startup_median_s"] for row in rows
                 if fabric in row["fabrics"]]
        starts.append(f"{statistics.median(times):.2f}" if times else "–")
    contest.print_row("", "to start and to end", *starts)


def main():
    parser = contest.parser(__doc__)
    parser.add_argument("--out", default="out/workloads", help="directory of results")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--only", type=contest.names, help="figures, such as 6.2,s1")
    parser.add_argument("--on", type=contest.names, default=list(FABRICS),
                        help=f"of {','.join(FABRICS)}")
    parser.add_argument("--cell-timeout", type=float, default=120, help="seconds")
    parser.add_argument("--nice", type=int, default=0,
                        help="of the runs; below 0 on a machine that has other work to do")
    options = parser.parse_args()
    workloads = [w for w in WORKLOADS if not options.only or w[0] in options.only]
    if not workloads:
        parser.error(f"--only: none of {', '.join(w[0] for w in WORKLOADS)}")
    contest.check(parser, options.on, FABRICS)
    bench = Bench(options)
    cells = bench.run(workloads, options.on)
    bench.check(cells)
    rows = summarise(workloads, options.on, cells)
    result = {"bench": "workloads", "processes": options.processes, "repeat": options.repeat,
              "nice": options.nice,
              "processors": os.cpu_count(), "rows": rows, "failures": bench.failures}
    (bench.out / "summary.json").write_text(json.dumps(result, indent=1))
    page = report.write(bench.out / "report.html", result, bench.build)
    contest.tell(options, result, lambda: print_table(rows, options.on))
    print(f"report: {page}", file=sys.stderr)
    return 1 if bench.failures else 0


if __name__ == "__main__":
    sys.exit(main())
