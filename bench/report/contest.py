# SPDX-License-Identifier: Apache-2.0
"""What benchmarks beside MPIs share: their options, turns, medians, tables and promises."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys

OPENMPI = ["--mca", "pml", "ob1", "--mca", "btl"]
OPENMPI_SHM = [*OPENMPI, "vader,self"]
OPENMPI_TCP = [*OPENMPI, "tcp,self", "--mca", "btl_tcp_if_include", "lo"]
# Open MPI asks root whether it means it.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MPICH_TCP = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}


def names(text):
    return text.split(",")


def parser(purpose):
    made = argparse.ArgumentParser(description=purpose,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--build", default="build/release", help="a build directory of weft")
    made.add_argument("--repeat", type=int, default=5)
    made.add_argument("--json", action="store_true", help="instead of a table")
    return made


def check(parser, on, contestants):
    """Ends the benchmark unless --on names contestants ({name: (command, environment)}) that are
    installed."""
    for name in on:
        if name not in contestants:
            parser.error(f"--on: '{name}' is none of {', '.join(contestants)}")
        launcher = contestants[name][0][0]
        if not launcher.startswith("{") and not shutil.which(launcher):
            parser.error(f"--on: '{name}' needs {launcher}; install it, or leave it out")


def turns(on, repeat):
    """The names in the order of each turn: each turn another is the first."""
    for turn in range(repeat):
        first = turn % len(on)
        yield on[first:] + on[:first]


def run(command, environment, timeout):
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **environment}, start_new_session=True)


def measure(command, environment, timeout, read):
    """What `read` finds in the output; ends the benchmark when that is nothing."""
    done = run(command, environment, timeout)
    found = read(done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"run.py: {' '.join(command)}: code {done.returncode}: "
                 f"{(done.stderr or done.stdout).strip()[-300:]}")
    return found


def save(path, result):
    """Leaves the whole file or none."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(result))
    partial.rename(path)


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def print_row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def print_head(*cells):
    print_row(*cells)
    print_row(*["---"] * len(cells))


def tell(options, result, print_table):
    """Prints the result as JSON, or its table and whether its promises hold."""
    if options.json:
        print(json.dumps(result))
        return
    print_table()
    for promise in result.get("promises", []):
        print(f"{promise['promise']}: {'holds' if promise['holds'] else 'DOES NOT HOLD'}")
