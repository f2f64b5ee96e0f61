#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Question: does an unmodified MPI program take as long behind an emulated link as its recording, replayed
on the same link in the simulator? Limit: 3 % where messages decide.

    bench/emulate/replayed.py --build build/release [--latency 50us] [--bandwidth 1GB/s]

The program is recorded without emulation, its recording replayed, and the program run under `weft emulate`,
in turns; the least time of each counts. MPICH, two ranks.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

SCENARIO = """[network]
topology = "star:2"
host-link = {{rate = "{bandwidth}", latency = "{half}"}}
mtu = 9000
packet-overhead = 0
buffer = "1GiB"
switch-delay = "0"
cut-through = true
"""
PARTS = {"s": "ping-pong, 8 B", "l": "ping-pong, 8 KiB", "w": "windows of 32 messages of 64 B"}


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, **more)
    if done.returncode != 0:
        sys.exit(f"replayed: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.split("\n")[0]


def half_of(latency):
    number, unit = re.fullmatch(r"([0-9.]+)([a-z]+)", latency).groups()
    return f"{float(number) / 2:g}{unit}"


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--build", default="build/release")
    options.add_argument("--latency", default="50us")
    options.add_argument("--bandwidth", default="1GB/s")
    options.add_argument("--repeat", type=int, default=5)
    asked = options.parse_args()
    weft = os.path.abspath(os.path.join(asked.build, "weft"))
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "replayed_program.c")
    with tempfile.TemporaryDirectory() as here:
        program, scenario = os.path.join(here, "program"), os.path.join(here, "link.toml")
        run(["mpicc.mpich", "-O2", source, "-o", program])
        with open(scenario, "w") as file:
            file.write(SCENARIO.format(bandwidth=asked.bandwidth, half=half_of(asked.latency)))
        print(f"{asked.latency}, {asked.bandwidth}\n{'seconds':<32}{'recorded':>10}{'replayed':>10}{'emulated':>10}"
              f"{'emulated/replayed':>20}")
        for part, name in PARTS.items():
            command = ["mpirun.mpich", "-n", "2", program, part]
            recorded, replayed, emulated = [], [], []
            for i in range(asked.repeat):
                trace = os.path.join(here, f"trace-{part}{i}")
                recorded.append(float(run([weft, "trace", "record", "--out", trace, "--"] + command)))
                answer = json.loads(run([weft, "trace", "replay", os.path.join(trace, "traces.otf2"), "--scenario",
                                         scenario, "--json"]))
                replayed.append(answer["predicted_s"])
                emulated.append(float(run([weft, "emulate", "--latency", "+" + asked.latency, "--bandwidth",
                                           asked.bandwidth, "--"] + command)))
            least = [min(all_of_them) for all_of_them in (recorded, replayed, emulated)]
            print(f"{name:<32}" + "".join(f"{seconds:>10.5f}" for seconds in least) +
                  f"{(least[2] / least[1] - 1) * 100:>+19.1f}%")


main()
