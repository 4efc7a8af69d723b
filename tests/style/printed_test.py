#!/usr/bin/env python3
"""No password of the tests is in what they, and the programs that they run, have printed.

ctest runs this last, and it reads ctest's own log of the run: all that each test has written to standard
output and standard error. Before that it is shown a log with each of the passwords, and one without. The
programs' own outputs, which the tests of the command line collect, are searched as each ends
(tests/cli/program.cpp).

Prints each line with a password as path:line: sentence and ends with 1 if there is one; with 77 if there is
no log.

    tests/style/printed_test.py BUILD_DIRECTORY
"""

import pathlib
import sys

# A part of each password in tests/ that stands for a user's.
MARKS = ("s3cret", "s3cr3t", "hunter2", "Marked1", "Marked2")
SKIPPED = 77


def violations(log):
    """(line number, sentence) of each line of the log with a password."""
    test = "no test"
    for number, line in enumerate(log.splitlines(), 1):
        if " Testing: " in line:
            test = line.split(" Testing: ", 1)[1]
        for mark in MARKS:
            if mark in line:
                yield number, f"{test} has printed a password: {mark}..."


def self_test():
    for mark in MARKS:
        log = f"3/9 Testing: cli.Run\nOutput:\nquorumlock: redis://u:{mark}@h: refused\n"
        if list(violations(log)) != [(3, f"cli.Run has printed a password: {mark}...")]:
            raise AssertionError(f"the log with {mark} passes")
    if list(violations("3/9 Testing: cli.Run\nOutput:\nredis://***@h: refused\n")):
        raise AssertionError("a log without a password does not pass")


def main():
    self_test()
    folder = pathlib.Path(sys.argv[1]) / "Testing" / "Temporary"
    # ctest gives the log its name at the end of the run.
    logs = [folder / "LastTest.log.tmp", folder / "LastTest.log"]
    log = next((path for path in logs if path.exists()), None)
    if log is None:
        print(f"there is no log of ctest in {folder}: run ctest")
        return SKIPPED
    text = log.read_text(errors="replace")
    found = list(violations(text))
    for number, sentence in found:
        print(f"{log}:{number}: {sentence}")
    print(f"{len(text.splitlines())} lines of {text.count(' Testing: ')} tests, {len(found)} with a password")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
