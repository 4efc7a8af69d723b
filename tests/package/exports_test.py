#!/usr/bin/env python3
"""Every symbol that the shared library exports is public API: its name is in a public header, and it is
not a unique symbol, which would keep a program from unloading the library.

    tests/package/exports_test.py LIBRARY HEADERS_DIR
"""

import re
import subprocess
import sys
from pathlib import Path

INTERNAL = ("client", "core", "redis", "uv")


def exported(library):
    """(type letter, demangled name) of each symbol."""
    listing = subprocess.run(["nm", "-D", "-C", "--defined-only", library],
                             check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        _, kind, name = line.split(" ", 2)
        yield kind, name


def problem(kind, name, words):
    """The reason why this symbol should not be there, or None if there is none."""
    if kind == "u":
        return "is a unique symbol"
    if kind == "A":
        return None
    name = re.sub(r"^(vtable|typeinfo|typeinfo name) for ", "", name)
    scopes = re.match(r"quorumlock((?:::~?\w+)+)", name)
    if not scopes:
        return "is not in namespace quorumlock"
    parts = scopes.group(1).split("::")[1:]
    if parts[0] in INTERNAL:
        return f"is internal: in namespace quorumlock::{parts[0]}"
    for part in parts:
        if part.lstrip("~") not in words:
            return f"is not public: no header in include/ has the word {part}"
    return None


def self_test():
    """Checks that each rule can fail."""
    words = {"Lease", "release", "operator"}
    refused = [("u", "quorumlock::Lease"), ("T", "std::vector<quorumlock::Lease>::clear()"),
               ("T", "redisConnect"), ("T", "quorumlock::detail::Lease::release()"),
               ("V", "vtable for quorumlock::core::Lease"), ("T", "quorumlock::Lease::hidden()"),
               ("T", "quorumlock::Lease::State::release()")]
    allowed = [("T", "quorumlock::Lease::release()"), ("T", "quorumlock::Lease::~Lease()"),
               ("T", "quorumlock::Lease::operator=(quorumlock::Lease&&)"),
               ("V", "typeinfo for quorumlock::Lease")]
    assert all(problem(kind, name, words) for kind, name in refused)
    assert not any(problem(kind, name, words) for kind, name in allowed)


def main():
    self_test()
    library, headers = sys.argv[1:]
    texts = [path.read_text() for path in Path(headers).rglob("*.hpp")]
    # Comments may contain names that are not declared.
    code = re.sub(r"//[^\n]*", "", "\n".join(texts))
    words = set(re.findall(r"\w+", code))
    symbols = list(exported(library))
    wrong = [f"{name} {why}" for kind, name in symbols if (why := problem(kind, name, words))]
    for line in wrong:
        print(line)
    print(f"{len(symbols)} symbols are exported, {len(wrong)} of them wrongly")
    least = 15 if "-admin" in library else 100
    if len(symbols) < least:
        sys.exit(f"fewer than {least} symbols: the public API is larger than that")
    sys.exit(1 if wrong else 0)


main()
