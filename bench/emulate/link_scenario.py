# SPDX-License-Identifier: Apache-2.0
"""One link between two hosts, as a scenario of the simulator, and running the programs to compare with it."""
import argparse
import os
import re
import subprocess
import sys

SCENARIO = """[network]
topology = "star:2"
host-link = {{rate = "{bandwidth}", latency = "{half}"}}
mtu = 9000
packet-overhead = 0
buffer = "1GiB"
switch-delay = "0"
cut-through = true
"""


def scenario(bandwidth, latency, host_overhead_ns=None):
    """Text of a scenario: each host's cable has half of the latency."""
    number, unit = re.fullmatch(r"([0-9.]+)([a-z]+)", latency).groups()
    text = SCENARIO.format(bandwidth=bandwidth, half=f"{float(number) / 2:g}{unit}")
    return text if host_overhead_ns is None else text + f'host-overhead = "{host_overhead_ns:.0f}ns"\n'


def options(purpose, latency, bandwidth):
    parser = argparse.ArgumentParser(description=purpose.split("\n\n")[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--latency", default=latency)
    parser.add_argument("--bandwidth", default=bandwidth)
    parser.add_argument("--repeat", type=int, default=5)
    return parser.parse_args()


def output_of(command):
    """What a command prints; ends the benchmark when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
