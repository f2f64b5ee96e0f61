#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Live data: writes the microslices of one link to a named pipe, as an archive (docs/formats.md).

    mkfifo link0 link1
    for i in 0 1; do python3 examples/feed.py link$i $i & done
    weft stream local --inputs 2 --source 'msa:link%i' --microslices-per-timeslice 10 --sink check:
"""
import struct
import sys
import time

MICROSLICE_NS = 1_000_000  # a microslice holds the data of a millisecond


def text(value):
    return struct.pack("<Q", len(value)) + value


def header():
    return (text(b"serialization::archive") + struct.pack("<H4BI", 18, 4, 8, 4, 8, 1) +
            struct.pack("<BIIIq", 0, 2, 1, 0, int(time.time())) + text(b"host") + text(b"user"))


def microslice(number, equipment, content):
    classes = struct.pack("<BI", 0, 0) * 2 if number == 0 else b""  # before the first one only
    descriptor = struct.pack("<BBHHBBQIIQ", 0xDD, 1, equipment, 0, 0x42, 1, number * MICROSLICE_NS,
                             0, len(content), number * len(content))
    return classes + descriptor + struct.pack("<Q", len(content)) + content


def main():
    path, equipment = sys.argv[1], int(sys.argv[2])
    with open(path, "wb") as pipe:  # waits until the input node opens its end
        pipe.write(header())
        for number in range(2000):
            pipe.write(microslice(number, equipment, b"%08d" % number * 100))


main()
