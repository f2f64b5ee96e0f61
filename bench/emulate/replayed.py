#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Question: does an unmodified MPI program take as long behind an emulated link as its recording, replayed
on the same link in the simulator? Limit: 3 % where messages decide.

    bench/emulate/replayed.py --build build/release [--latency 50us] [--bandwidth 1GB/s]

The program is recorded without emulation, its recording replayed, and the program run under `weft emulate`,
in turns; the least time of each counts. MPICH, two ranks.
"""
import json
import os
import tempfile

from link_scenario import options, output_of, scenario

PARTS = {"s": "ping-pong, 8 B", "l": "ping-pong, 8 KiB", "w": "windows of 32 messages of 64 B"}


def first_line_of(command):
    return output_of(command).split("\n")[0]


def main():
    asked = options(__doc__, latency="50us", bandwidth="1GB/s")
    weft = os.path.abspath(os.path.join(asked.build, "weft"))
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "replayed_program.c")
    with tempfile.TemporaryDirectory() as here:
        program, link = os.path.join(here, "program"), os.path.join(here, "link.toml")
        first_line_of(["mpicc.mpich", "-O2", source, "-o", program])
        with open(link, "w") as file:
            file.write(scenario(asked.bandwidth, asked.latency))
        print(f"{asked.latency}, {asked.bandwidth}\n{'seconds':<32}{'recorded':>10}{'replayed':>10}{'emulated':>10}"
              f"{'emulated/replayed':>20}")
        for part, name in PARTS.items():
            command = ["mpirun.mpich", "-n", "2", program, part]
            recorded, replayed, emulated = [], [], []
            for i in range(asked.repeat):
                trace = os.path.join(here, f"trace-{part}{i}")
                recorded.append(float(first_line_of([weft, "trace", "record", "--out", trace, "--"] + command)))
                answer = json.loads(first_line_of([weft, "trace", "replay", os.path.join(trace, "traces.otf2"), "--scenario",
                                         link, "--json"]))
                replayed.append(answer["predicted_s"])
                emulated.append(float(first_line_of([weft, "emulate", "--latency", "+" + asked.latency, "--bandwidth",
                                           asked.bandwidth, "--"] + command)))
            least = [min(all_of_them) for all_of_them in (recorded, replayed, emulated)]
            print(f"{name:<32}" + "".join(f"{seconds:>10.5f}" for seconds in least) +
                  f"{(least[2] / least[1] - 1) * 100:>+19.1f}%")


if __name__ == "__main__":
    main()
