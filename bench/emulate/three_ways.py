#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Question: do three ways to make a network slow agree? One program of weft runs behind weft's own
--link over TCP, in the simulator behind the same link, and unmodified under `weft emulate` on
libfabric. Limit: where messages decide, their times differ by at most 3 %.

    bench/emulate/three_ways.py --build build/release [--latency 2ms] [--bandwidth 100MB/s]

Of several repetitions, in turns, the least time of each part counts: disturbances only add to it.
"""
import os
import re
import tempfile

from link_scenario import options, output_of, scenario

MESSAGES = 50  # of a ping-pong, in the program


def run(command):
    lines = re.findall(r"^([a-z-]+-[0-9]+[A-Za-z]+) ([0-9.]+)$", output_of(command), re.M)
    return {name: float(s) for name, s in lines}


def main():
    asked = options(__doc__, latency="2ms", bandwidth="100MB/s")
    weft = os.path.join(asked.build, "weft")
    program = os.path.join(asked.build, "bench_emulate_three_ways_program")
    # Simulated hosts are as fast as this one: sender and receiver share the time of 8 bytes by TCP.
    over_tcp = [weft, "run", "-n", "2", "--fabric", "tcp", "--", program]
    native = min(run(over_tcp)["ping-pong-8B"] for _ in range(asked.repeat)) / MESSAGES
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as link:
        link.write(scenario(asked.bandwidth, asked.latency, host_overhead_ns=native / 2 * 1e9))
        link.flush()
        two = [weft, "run", "-n", "2", "--fabric"]
        ways = {
            "sim": two + ["sim:" + link.name, "--", program],
            "link": two + ["tcp", "--link", f"{asked.bandwidth},{asked.latency},cut-through", "--", program],
            "emulate": [weft, "emulate", "--latency", "+" + asked.latency, "--bandwidth", asked.bandwidth, "--"]
            + two + ["libfabric:tcp", "--", program],
        }
        least = {name: {} for name in ways}
        for _ in range(asked.repeat):
            for name, command in ways.items():
                for part, seconds in run(command).items():
                    least[name][part] = min(seconds, least[name].get(part, seconds))
    print(f"{asked.latency}, {asked.bandwidth}, {native * 1e6:.1f} us natively\n{'seconds':<18}{'sim':>10}{'--link':>10}{'emulate':>10}"
          f"{'--link/sim':>12}{'emulate/sim':>12}")
    for part, simulated in least["sim"].items():
        shaped, emulated = least["link"][part], least["emulate"][part]
        print(f"{part:<18}{simulated:>10.4f}{shaped:>10.4f}{emulated:>10.4f}"
              f"{(shaped / simulated - 1) * 100:>+11.1f}%{(emulated / simulated - 1) * 100:>+11.1f}%")


if __name__ == "__main__":
    main()
