#!/usr/bin/env python3
"""The public headers in a hostile program: all of them with macros of Qt, X11, Windows and others, and without RTTI;
and the sentences that a program gets which they cannot serve.

    headers_test.py COMPILER INCLUDE_DIR...   the first folder is the headers' own
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

MACROS = """
#define forever for (;;)
#define slots
#define signals public
#define emit
#define foreach(one, all) for (one : all)
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define major(device) ((device) >> 8)
#define minor(device) ((device) & 255)
#define makedev(a, b) ((a) << 8 | (b))
#define check(assertion) while (!(assertion)) {}
#define verify(assertion) while (!(assertion)) {}
#define require(assertion) while (!(assertion)) {}
#define small char
#define near
#define far
#define interface struct
#define IN
#define OUT
#define OPTIONAL
#define ERROR 0
#define DELETE 1
#define NO_ERROR 0
#define TRUE 1
#define FALSE 0
#define None 0L
#define Success 0
#define Status int
#define Bool int
#define Always 2
#define True 1
#define False 0
#define unix 1
#define linux 1
#define I 1
"""
# The program names what it has to name of the library although Qt has a macro of that name.
PROGRAM = """
bool waits() {
  const quorumlock::LockOptions how{.wait = quorumlock::forever};
  return how.wait.has_value() && quorumlock::Semaphore::max_capacity > 0;
}
"""


def fail(sentence):
    sys.exit("FAILED: " + sentence)


compiler, includes = sys.argv[1], sys.argv[2:]
headers = sorted(Path(includes[0]).glob("quorumlock/**/*.hpp"))


def compiled(source, *flags):
    """The compiler's words; None if there is no error."""
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", "-", *flags]
    command += [word for folder in includes for word in ("-I", folder)]
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr


def included(header):
    return re.findall(r"^#include <(.+)>$", header.read_text(), re.M)


def sentence_of(source, *flags):
    """The first error of a program that must not compile."""
    said = compiled(source, *flags)
    if said is None:
        fail("compiled although it must not: " + source + " ".join(flags))
    return next(line for line in said.splitlines() if "error:" in line)


# What belongs to others comes before the macros, which they cannot have either.
own = [header for header in headers if not re.search(r"asio|prometheus", header.name)]
standard = sorted({name for header in headers for name in included(header) if re.fullmatch(r"[a-z_0-9]+", name)})
begin = "".join(f"#include <{name}>\n" for name in standard if name != "expected")
optional = {"standalone Asio": ("asio", "asio/", ["-DASIO_STANDALONE"]),
            "Boost.Asio": ("asio", "boost/asio/", []),
            "prometheus-cpp": ("prometheus", "prometheus/", [])}


def all_of(some):
    return "".join(f"#include <{header.relative_to(includes[0])}>\n" for header in some)


said = compiled(begin + MACROS + all_of(own) + PROGRAM, "-fno-rtti")
if said:
    fail("the headers do not compile with macros of others:\n" + said)
said = compiled(begin + "#include <quorumlock/options.hpp>\n" + MACROS + all_of(own))
if said:
    fail("the headers do not compile if macros of others come between them:\n" + said)
for name, (word, prefix, flags) in optional.items():
    some = [header for header in headers if word in header.name]
    theirs = "".join(f"#include <{one}>\n" for header in some for one in included(header) if one.startswith(prefix))
    if compiled(theirs, *flags) is not None:
        print(f"without {name}, which is not installed")
        continue
    said = compiled(begin + theirs + MACROS + all_of(some), *flags)
    if said:
        fail(f"the headers for {name} do not compile with macros of others:\n" + said)

umbrella = "#include <quorumlock/quorumlock.hpp>\n"
if "compile without -fno-exceptions" not in sentence_of(umbrella, "-fno-exceptions"):
    fail("no sentence about -fno-exceptions")

with tempfile.TemporaryDirectory() as folder:
    old = Path(folder) / "boost" / "asio" / "version.hpp"
    old.parent.mkdir(parents=True)
    old.write_text("#pragma once\n#define BOOST_ASIO_VERSION 101800\n")
    if "needs Boost 1.78 or later" not in sentence_of("#include <quorumlock/asio.hpp>\n", "-I", folder):
        fail("no sentence about a Boost that is too old")
print("headers: ok")
