#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Question: do three ways to make a network slow agree? One program of weft runs behind weft's own
--link over TCP, in the simulator behind the same link, and unmodified under `weft emulate` on
libfabric. Limit: where messages decide, their times differ by at most 3 %.

    bench/emulate/three_ways.py --build build/release [--latency 2ms] [--bandwidth 100MB/s]

Of several repetitions, in turns, the least time of each part counts: disturbances only add to it.
"""
import argparse
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
host-overhead = "{overhead_ns:.0f}ns"
"""


MESSAGES = 50  # of a ping-pong, in the program


def half_of(latency):
    number, unit = re.fullmatch(r"([0-9.]+)([a-z]+)", latency).groups()
    return f"{float(number) / 2:g}{unit}"


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"three_ways: {' '.join(command)}: {done.stderr.strip()}")
    return {name: float(s) for name, s in re.findall(r"^([a-z-]+-[0-9]+[A-Za-z]+) ([0-9.]+)$", done.stdout, re.M)}


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--build", default="build/release")
    options.add_argument("--latency", default="2ms")
    options.add_argument("--bandwidth", default="100MB/s")
    options.add_argument("--repeat", type=int, default=5)
    asked = options.parse_args()
    weft = os.path.join(asked.build, "weft")
    program = os.path.join(asked.build, "bench_emulate_three_ways_program")
    # The simulated hosts are as fast as this one: sender and receiver share what 8 bytes take over TCP.
    over_tcp = [weft, "run", "-n", "2", "--fabric", "tcp", "--", program]
    native = min(run(over_tcp)["ping-pong-8B"] for _ in range(asked.repeat)) / MESSAGES
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as scenario:
        scenario.write(SCENARIO.format(bandwidth=asked.bandwidth, half=half_of(asked.latency),
                                       overhead_ns=native / 2 * 1e9))
        scenario.flush()
        two = [weft, "run", "-n", "2", "--fabric"]
        ways = {
            "sim": two + ["sim:" + scenario.name, "--", program],
            "link": two + ["tcp", "--link", f"{asked.bandwidth},{asked.latency}", "--", program],
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
