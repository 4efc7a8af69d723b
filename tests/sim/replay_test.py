#!/usr/bin/env python3
"""A history can be replayed by its seed and by the draw that was printed. A history that fails with a
planted mistake is made smaller, and the smaller one still fails.

    replay_test.py PATH_OF_SIMULATE
"""

import re
import subprocess
import sys

SEEDS = (3, 1000003)


def simulate(program, *flags):
    return subprocess.run([program, *flags], stdout=subprocess.PIPE, text=True)


def main():
    program = sys.argv[1]
    usage = subprocess.run([program, "--help"], stderr=subprocess.PIPE, text=True).stderr
    focuses = re.search(r"^the focuses: (.*)$", usage, re.M).group(1).split()
    wrong = 0
    for focus in focuses:
        for seed in SEEDS:
            first = simulate(program, "--seed", str(seed), "--focus", focus, "--trace")
            again = simulate(program, "--seed", str(seed), "--focus", focus, "--trace")
            draw = first.stdout.splitlines()[0]
            by_draw = simulate(program, "--draw", draw, "--trace")
            for name, other in (("its seed", again), ("its draw", by_draw)):
                if other.stdout != first.stdout or first.returncode != 0:
                    wrong += 1
                    print(f"{focus}, seed {seed}: {name} gives another history: {draw}")
    # Some histories cannot be made smaller.
    for seed in range(1, 200):
        failing = simulate(program, "--seed", str(seed), "--mutant", "half-margin", "--focus", "clocks")
        lines = failing.stdout.splitlines()
        smaller = [line.removeprefix("made smaller: ") for line in lines
                   if line.startswith("made smaller: ")]
        if smaller and smaller[0] != lines[0]:
            break
    if not smaller or smaller[0] == lines[0]:
        wrong += 1
        print(f"a history that fails was not made smaller:\n{failing.stdout}")
    elif simulate(program, "--draw", smaller[0], "--mutant", "half-margin").returncode != 1:
        wrong += 1
        print(f"the smaller history does not fail: {smaller[0]}")
    print(f"{len(focuses)} focuses, {len(SEEDS)} seeds of each, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
