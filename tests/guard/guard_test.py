#!/usr/bin/env python3
"""The cost of a lock to the library itself must not grow: heap allocations and instructions of a cycle.

    guard_test.py PATH_OF_GUARD

Neither depends on the machine's speed or load. Instructions are callgrind's count, the difference
between a longer and a shorter run; the bounds are a tenth above the count with GCC 12 at -O1. A change
that makes the library cheaper lowers them. Counting by class of resource may add 2 % with eight classes.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile

# (mode, in flight): the most instructions per cycle.
BOUNDS = {("plain", 1): 22500, ("plain", 64): 14200, ("fenced", 1): 35900, ("fenced", 64): 14250,
          ("permit", 1): 31700, ("permit", 64): 27750, ("search", 1): 62700, ("search", 64): 56200}


CLASSES = 8
MOST_FOR_CLASSES = 1.02


def run(guard, mode, in_flight, cycles, classes):
    return json.loads(subprocess.run([guard, mode, str(in_flight), str(cycles), str(classes)], check=True,
                                     stdout=subprocess.PIPE, text=True).stdout)


def instructions(guard, mode, in_flight, cycles, classes):
    with tempfile.TemporaryDirectory() as directory:
        said = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out", guard, mode,
             str(in_flight), str(cycles), str(classes)], check=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True).stderr
    return int(re.search(r"Collected : (\d+)", said).group(1))


def of_a_cycle(guard, mode, in_flight, classes=0):
    return (instructions(guard, mode, in_flight, 1920, classes) -
            instructions(guard, mode, in_flight, 640, classes)) / 1280


def main():
    guard = sys.argv[1]
    wrong = 0
    for (mode, in_flight), bound in BOUNDS.items():
        allocations = run(guard, mode, in_flight, 6400, CLASSES)["allocations"]
        wrong += allocations != 0
        print(f"{mode}, {in_flight} in flight: {allocations} allocations in 6400 cycles"
              f"{'' if allocations == 0 else ': there must be none'}")
        if shutil.which("valgrind") is None:
            continue
        per_cycle = of_a_cycle(guard, mode, in_flight)
        wrong += per_cycle > bound
        print(f"{mode}, {in_flight} in flight: {per_cycle:.0f} instructions per cycle, at most "
              f"{bound}{'' if per_cycle <= bound else ': TOO MANY'}")
        if (mode, in_flight) != ("plain", 64):  # the cheapest cycle, which classes add the most to
            continue
        ratio = of_a_cycle(guard, mode, in_flight, CLASSES) / per_cycle
        wrong += ratio > MOST_FOR_CLASSES
        print(f"{mode}, {in_flight} in flight, {CLASSES} classes: {ratio:.4f} of that, at most "
              f"{MOST_FOR_CLASSES}{'' if ratio <= MOST_FOR_CLASSES else ': TOO MANY'}")
    if shutil.which("valgrind") is None:
        print("instructions were not counted: valgrind is not installed")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
