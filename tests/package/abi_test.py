#!/usr/bin/env python3
"""The shared libraries are compatible with the recorded ABI, and tools/abi notices what would break a program.
Ends with 77, for "skipped", if tools/abi cannot compare here.

    abi_test.py LIBRARY...
"""

import importlib.machinery
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def load(path):
    loader = importlib.machinery.SourceFileLoader("abi", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("abi", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


abi = load(ROOT / "tools/abi")
wrong = []


def expect(held, sentence):
    if not held:
        wrong.append(sentence)


def check_symbols():
    name = "libquorumlock"
    recorded = (abi.RECORD / f"{name}.abi").read_text()
    symbols = re.findall(r"    <elf-symbol .*\n", recorded)
    release = next(line for line in symbols if "_ZN10quorumlock5Lease7releaseEv'" in line)
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        expect(not abi.compare_symbols(name, recorded, work), "the recorded symbols differ from themselves")
        expect(abi.compare_symbols(name, recorded.replace(release, ""), work),
               "a symbol that is gone is not noticed")
        added = release.replace("7releaseEv", "8releasedEv")
        expect(not abi.compare_symbols(name, recorded.replace(release, release + added), work),
               "a symbol that is new is refused")


def check_types():
    recorded = (abi.RECORD / "types.txt").read_text()
    expect(not abi.compare_types(recorded), "the recorded types differ from themselves")
    for what, old, new in (
            ("a member that moved", "Options: 16 wait", "Options: 24 wait"),
            ("a size that changed", "class quorumlock::Lease: 8 bytes", "class quorumlock::Lease: 16 bytes"),
            ("a member that is gone", next(line + "\n" for line in recorded.splitlines() if " state_:" in line), ""),
            ("a member that is new", "class quorumlock::Lease: 8 bytes\n",
             "class quorumlock::Lease: 8 bytes\nclass quorumlock::Lease: 4 more_: int\n"),
            ("a value that changed", next(line for line in recorded.splitlines() if line.endswith("= 1")), "x")):
        expect(old in recorded, f"the record has no {old}")
        expect(abi.compare_types(recorded.replace(old, new, 1)), f"{what} is not noticed")
    for what, line in (("a type that is new", "class quorumlock::New: 8 bytes\n"),
                       ("an enumerator that is new", "enum quorumlock::Errc: new_one = 99\n")):
        expect(not abi.compare_types(recorded + line), f"{what} is refused")


def main():
    done = subprocess.run([ROOT / "tools/abi", *sys.argv[1:]], text=True, capture_output=True, check=False)
    print(done.stdout + done.stderr, end="")
    if done.returncode != 0:
        sys.exit(done.returncode)
    check_symbols()
    check_types()
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


main()
