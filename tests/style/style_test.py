#!/usr/bin/env python3
"""The rules of the house: which folder may include which, what the core must not use, and that
clang-format 14, if it is installed, would change nothing.

Prints each violation as path:line: sentence and ends with 1 if there is one. Before that, each rule
is shown a snippet that breaks it and one that does not: a rule that cannot fail is a violation too.

    tests/style/style_test.py [the repository's top directory]
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CODE = (".cpp", ".hpp")


def without_comments_and_strings(text):
    """The same lines, with comments and the contents of strings blanked out."""

    def blank(match):
        token = match.group(0)
        kept = token[0] if token[0] in "\"'" else ""
        return kept + re.sub(r"[^\n]", " ", token[len(kept):len(token) - len(kept)]) + kept

    pattern = (r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|' r"(?<!\w)'(?:\\.|[^'\\\n])+'|//[^\n]*|/\*.*?\*/")
    return re.sub(pattern, blank, text, flags=re.S)


def includes(text):
    """(line number, name with its brackets) of each #include."""
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*(<[^>]+>|"[^"]+")', line)
        if found:
            yield number, found.group(1)


def is_standard(name):
    return re.fullmatch(r"<[a-z_0-9]+>", name) is not None


def is_ours(name, *folders):
    return any(name.startswith('"' + folder + "/") for folder in folders)


# The public headers that include Asio.
WITH_ASIO = ("include/quorumlock/asio.hpp", "include/quorumlock/detail/asio_operation.hpp")
# The public header that includes prometheus-cpp.
WITH_PROMETHEUS = "include/quorumlock/prometheus.hpp"


def may_include(where, sentence, allowed, apart_from=()):
    """A rule: files under `where` include only what `allowed` says."""

    def check(path, text):
        if path.startswith(where) and path.endswith(CODE) and path not in apart_from:
            for number, name in includes(text):
                if not allowed(name):
                    yield number, f"includes {name}: {sentence}"

    return check


def only_in(folders, header, sentence):
    """A rule: this header is included nowhere but in these folders."""

    def check(path, text):
        if path.startswith(("lib/", "admin/", "include/")) and not path.startswith(folders):
            for number, name in includes(text):
                if re.match(header, name):
                    yield number, f"includes {name}: {sentence}"

    return check


def never_says(where, words, sentence, allowed=()):
    """A rule: none of these words in the code (not the comments or strings) of files there."""
    pattern = re.compile(r"(?<![\w])(?:" + "|".join(words) + r")(?![\w])")

    def check(path, text):
        if path.startswith(where) and path.endswith(CODE) and path not in allowed:
            code = without_comments_and_strings(text)
            for number, line in enumerate(code.splitlines(), 1):
                for found in pattern.finditer(line):
                    yield number, f"says {found.group(0)}: {sentence}"

    return check


def nothing_left_to_do(path, text):
    if path.startswith(("lib/", "admin/", "include/", "tools/", "tests/", "bench/")):
        for number, line in enumerate(text.splitlines(), 1):
            found = re.search(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b", line)
            if found:
                yield number, f"says {found.group(0)}: do it, or open an issue"


def headers_are_guarded(path, text):
    if path.endswith(".hpp") and "#pragma once" not in text:
        yield 1, "has no #pragma once"


def no_way_up(path, text):
    if path.endswith(CODE):
        for number, name in includes(text):
            if ".." in name:
                yield number, f"includes {name}: name headers from their root"


def tables_have_rows(path, text):
    if path.endswith(".md"):
        lines = text.splitlines() + [""]
        for number, (line, below) in enumerate(zip(lines, lines[1:]), 1):
            if re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+", line) and not below.startswith("|"):
                yield number, "is a table without rows"


CLOCKS = [r"(?:\w*[cC]lock)::now", "steady_clock", "system_clock", "high_resolution_clock",
          "clock_gettime", "gettimeofday", "time_t", "uv_now", "uv_hrtime"]
# None of these counts the time that the machine is suspended.
STOPPED_CLOCKS = [r"CLOCK_MONOTONIC\w*", "steady_clock", "high_resolution_clock", r"uv_timer_\w+",
                  "uv_now", "uv_hrtime"]
SLEEPS = ["sleep_for", "sleep_until", "usleep", "nanosleep", "sleep"]
RANDOM = ["random_device", r"mt19937(?:_64)?", "default_random_engine", "rand", "srand", "getrandom",
          "arc4random"]
ENVIRONMENT = ["getenv", "secure_getenv", "setenv", "environ"]
THREADS = [r"std::j?thread", "this_thread", "mutex", "condition_variable", "atomic", "async",
           "future", "semaphore", "thread_local", "pthread_\\w+"]

# The rooms of the protocol, and those of them that are pure.
ROOMS = ("lock", "wait", "verbs", "wire", "members")
CORE = ("lib/lock/", "lib/wait/")
# What lib/members may know of the loop: the session's own machines are there, too.
SESSION = ('"loop/session.hpp"', '"loop/links.hpp"')

# Each rule comes with a (path, text) that must break it, and one that must not.
RULES = [
    (may_include("include/", "a user's headers need the standard library and each other only",
                 lambda name: is_standard(name) or name.startswith("<quorumlock/"),
                 (*WITH_ASIO, WITH_PROMETHEUS)),
     ("include/quorumlock/a.hpp", "#pragma once\n#include <uv.h>\n"),
     ("include/quorumlock/a.hpp", "#pragma once\n#include <chrono>\nstruct uv_loop_s;\n")),
    (may_include(WITH_ASIO, "the optional header for Asio needs nothing else",
                 lambda name: is_standard(name)
                 or name.startswith(("<quorumlock/", "<asio/", "<boost/asio/"))),
     (WITH_ASIO[0], "#include <boost/optional.hpp>\n"),
     (WITH_ASIO[1], "#include <boost/asio/post.hpp>\n#include <asio/post.hpp>\n")),
    (may_include(WITH_PROMETHEUS, "the optional header for prometheus-cpp needs nothing else",
                 lambda name: is_standard(name) or name.startswith(("<quorumlock/", "<prometheus/"))),
     (WITH_PROMETHEUS, "#include <civetweb.h>\n"),
     (WITH_PROMETHEUS, "#include <prometheus/collectable.h>\n#include <vector>\n")),
    (may_include(CORE, "the core knows the public values and itself",
                 lambda name: is_standard(name) or name.startswith("<quorumlock/")
                 or is_ours(name, "lock", "wait")),
     ("lib/lock/a.cpp", '#include "wire/reply.hpp"\n'),
     ("lib/wait/a.cpp", '#include <span>\n#include "lock/types.hpp"\n')),
    (may_include(("lib/verbs/", "lib/wire/"), "commands and replies know neither loop nor sockets",
                 lambda name: not is_ours(name, "config", "loop", "admin", "api", "uv", "tls")),
     ("lib/wire/a.cpp", '#include "loop/sockets.hpp"\n'),
     ("lib/wire/a.cpp", '#include "lock/engine.hpp"\n#include <hiredis/read.h>\n')),
    (may_include("lib/members/", "which node counts is decided without options, sockets and public classes",
                 lambda name: not is_ours(name, "config", "admin", "api", "uv", "tls")
                 and (not is_ours(name, "loop") or name in SESSION)),
     ("lib/members/a.cpp", '#include "loop/driver.hpp"\n'),
     ("lib/members/a.cpp", '#include "loop/session.hpp"\n#include "wire/reply.hpp"\n')),
    (may_include("lib/uv/", "streams and timers know nothing above them",
                 lambda name: not is_ours(name, *ROOMS, "config", "loop", "admin", "api", "tls")),
     ("lib/uv/a.cpp", '#include "lock/types.hpp"\n'),
     ("lib/uv/a.cpp", '#include <uv.h>\n#include "uv/handle.hpp"\n')),
    (may_include("lib/config/", "options are read and checked without a loop",
                 lambda name: not is_ours(name, "loop", "admin", "api", "uv", "tls")),
     ("lib/config/a.cpp", '#include "loop/driver.hpp"\n'),
     ("lib/config/a.cpp", '#include "wire/endpoint.hpp"\n')),
    (may_include("lib/loop/", "the loop knows neither the operator's questions nor the public classes",
                 lambda name: not is_ours(name, "admin", "api")),
     ("lib/loop/a.cpp", '#include "api/router.hpp"\n'),
     ("lib/loop/a.cpp", '#include "config/cluster.hpp"\n')),
    (may_include(("lib/api/", "lib/testing/"), "the locks know nothing of the operator's library",
                 lambda name: not is_ours(name, "admin")),
     ("lib/api/a.cpp", '#include "admin/lock_list.hpp"\n'),
     ("lib/api/a.cpp", '#include "loop/inquiry.hpp"\n')),
    (may_include("admin/", "the operator's library asks nodes by quorumlock/detail/node_questions.hpp",
                 lambda name: not is_ours(name, "config", "loop", "api", "uv", "tls")),
     ("admin/a.cpp", '#include "loop/driver.hpp"\n'),
     ("admin/a.cpp", '#include "verbs/rights.hpp"\n#include "verbs/keys.hpp"\n')),
    (may_include("tools/", "the programs use the public headers only",
                 lambda name: not is_ours(name, *ROOMS, "uv", "tls", "config", "loop", "admin", "api")),
     ("tools/cli/a.cpp", '#include "config/cluster.hpp"\n'),
     ("tools/cli/a.cpp", '#include "output.hpp"\n#include <quorumlock/admin.hpp>\n')),
    (only_in(("lib/wire/",), r"<hiredis/", "hiredis is lib/wire's own"),
     ("lib/loop/a.cpp", "#include <hiredis/hiredis.h>\n"),
     ("lib/wire/a.cpp", "#include <hiredis/read.h>\n")),
    (only_in(("lib/uv/",), r"<uv\.h>", "libuv is lib/uv's own"),
     ("lib/wire/a.cpp", "#include <uv.h>\n"),
     ("lib/uv/a.cpp", "#include <uv.h>\n")),
    (only_in(("lib/uv/",), r"<ares\.h>", "c-ares is lib/uv's own"),
     ("lib/loop/a.cpp", "#include <ares.h>\n"),
     ("lib/uv/a.cpp", "#include <ares.h>\n")),
    (only_in(("lib/tls/",), r"<openssl/", "OpenSSL is lib/tls's own"),
     ("lib/uv/a.cpp", "#include <openssl/ssl.h>\n"),
     ("lib/tls/a.cpp", "#include <openssl/ssl.h>\n")),
    (never_says(CORE, CLOCKS, "time is handed to the core"),
     ("lib/lock/a.cpp", "auto t = Clock::now();\n"),
     ("lib/lock/a.cpp", "// not Clock::now()\nvoid f(Time now) { g(now); }\n")),
    (never_says(("lib/", "admin/", "include/"), STOPPED_CLOCKS,
                "spans are measured on CLOCK_BOOTTIME (Clock, uv/timer), which goes on while the "
                "machine sleeps"),
     ("lib/uv/a.cpp", "timerfd_create(CLOCK_MONOTONIC, 0);\n"),
     ("lib/uv/a.cpp", "// not CLOCK_MONOTONIC\ntimerfd_create(CLOCK_BOOTTIME, 0);\n")),
    (never_says(CORE, SLEEPS, "the core does not wait"),
     ("lib/lock/a.cpp", "std::this_thread::sleep_for(1ms);\n"),
     ("lib/lock/a.cpp", "const char* word = \"sleep\";\n")),
    (never_says(CORE, RANDOM, "randomness is handed to the core"),
     ("lib/lock/a.cpp", "std::random_device device;\n"),
     ("lib/lock/a.cpp", "Random& random_; random_.below(bound);\n")),
    (never_says(CORE, ENVIRONMENT, "the core does not look around"),
     ("lib/lock/a.cpp", "const char* path = std::getenv(name);\n"),
     ("lib/lock/a.cpp", "// getenv is not for us\n")),
    (never_says(CORE, THREADS, "the core runs on one thread and does not know which",
                allowed=("lib/lock/key_and_token.hpp",)),  # holders on any thread keep names, too
     ("lib/lock/a.cpp", "std::mutex mutex;\n"),
     ("lib/lock/a.cpp", "/* no mutex */ int threads;\n")),
    (never_says("tests/", SLEEPS, "a test waits for what it needs (support/eventually.hpp)",
                allowed=("tests/support/eventually.hpp",)),
     ("tests/unit/a_test.cpp", "usleep(100);\n"),
     ("tests/support/eventually.hpp", "sleep_for(1ms);\n")),
    (never_says("tests/", ["GTEST_SKIP", r"DISABLED_\w*"], "a test runs or is not there"),
     ("tests/unit/a_test.cpp", "TEST(A, DISABLED_B) {}\n"),
     ("tests/unit/a_test.cpp", "TEST(A, Disabled) { EXPECT_EQ(a, \"GTEST_SKIP\"); }\n")),
    (nothing_left_to_do,
     ("lib/lock/a.cpp", "// FIX" "ME later\n"),
     ("lib/lock/a.cpp", "// done\n")),
    (headers_are_guarded,
     ("lib/lock/a.hpp", "int a;\n"),
     ("lib/lock/a.hpp", "#pragma once\nint a;\n")),
    (no_way_up,
     ("lib/lock/a.cpp", '#include "../wire/reply.hpp"\n'),
     ("lib/lock/a.cpp", '#include "lock/types.hpp"\n')),
    (tables_have_rows,
     ("docs/a.md", "| a | b |\n|---|---|\n\nmore\n"),
     ("docs/a.md", "| a | b |\n|---|---|\n| 1 | 2 |\n")),
]


def unreferenced_scripts(scripts, code):
    """Each script is built into the header, so code must send it."""
    for name in scripts:
        if not re.search(rf"\b{name}_script\b", code):
            yield f"lib/verbs/scripts/{name}.lua", 1, f"is sent nowhere: no code says {name}_script"


def unused_fragments(fragments, scripts):
    """Each fragment of scripts must be named by a script."""
    for name in fragments:
        if not re.search(rf"^ *--> {name}$", scripts, re.MULTILINE):
            yield f"lib/verbs/scripts/part/{name}.lua", 1, "is part of no script"


# A type's name, or a function's whole declaration, at the left margin.
NAMED = re.compile(r"^(?:(?:struct|class|enum(?: class)?) (\w+)(?! *;)\b|"
                   r"((?!return|namespace)\w[\w:<>*&, ]* \w+\(.*) \{$)", re.M)


def names_of_two(sources):
    """Sources of one program are compiled several at a time: no two may name a thing alike."""
    first = {}
    for path, text in sources:
        parts = path.split("/")
        program = "/".join(parts[:2]) if parts[0] == "tests" else parts[0]
        space = "".join(re.findall(r"^namespace (\S+) \{", text, re.M))
        for found in NAMED.finditer(text):
            name = found.group(1) or f"{space}::{found.group(2)}"
            other = first.setdefault((program, name), path)
            if other != path and "main(" not in name:
                number = text.count("\n", 0, found.start()) + 1
                yield path, number, f"names {found.group(1) or found.group(2)}, as {other} does"


def does_not_compile(compiler, include, header, *macros):
    """The compiler's errors for a file that includes only this header, twice; empty if it compiles."""
    source = f"#include <{header}>\n" * 2 + "int main() {}\n"
    run = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                          *macros, "-I", str(include), "-x", "c++", "-"],
                         input=source, text=True, capture_output=True, check=False)
    return run.stderr if run.returncode != 0 else ""


def self_check(compiler, include):
    for number, (rule, bad, good) in enumerate(RULES, 1):
        if not list(rule(*bad)):
            yield f"rule {number} lets this pass: {bad}"
        if list(rule(*good)):
            yield f"rule {number} refuses this: {good}"
    if len(list(unreferenced_scripts(["a"], "b_script"))) != 1:
        yield "the rule on scripts accepts a script that no code uses"
    if list(unreferenced_scripts(["a"], "f(a_script);")):
        yield "the rule on scripts refuses one that is used"
    if list(unused_fragments(["a", "b"], "  --> b\n")) != list(unused_fragments(["a"], "")):
        yield "the rule on fragments does not find the one that is not used"
    same = [("tests/unit/a.cpp", "class Nodes {"), ("tests/unit/b.cpp", "struct Nodes : A {")]
    if len(list(names_of_two(same))) != 1:
        yield "the rule on names lets two types of one name pass"
    if list(names_of_two([same[0], ("tests/cli/b.cpp", "class Nodes {")])):
        yield "the rule on names refuses those of two programs"
    if len(list(names_of_two([("lib/a/b.cpp", "int f(int a) {\n"),
                              ("lib/a/c.cpp", "int f(int a) {\n")]))) != 1:
        yield "the rule on names lets two functions of one declaration pass"
    if not does_not_compile(compiler, include, "quorumlock/no_such_header.hpp"):
        yield "the rule on public headers lets one pass that does not compile"


def not_formatted(root):
    """What clang-format 14 would change; prints a sentence if that version is not installed."""
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    version = subprocess.run([program, "--version"], capture_output=True, text=True,
                             check=False).stdout if program else ""
    if "version 14." not in version:
        print("formatting was not checked: clang-format 14 is not installed")
        return
    paths = [path for path, _ in files(root) if path.endswith(CODE)]
    run = subprocess.run([program, "--dry-run", *paths], cwd=root, capture_output=True, text=True,
                         check=False)
    for found in re.finditer(r"^(\S+):(\d+):\d+: warning:", run.stderr, re.M):
        yield found.group(1), int(found.group(2)), "is not formatted: clang-format -i does it"


def files(root):
    for folder in ("include", "lib", "admin", "tests", "tools", "bench", "examples", "proof"):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.suffix in CODE + (".lua", ".py", ".sh", ".txt", ".in"):
                yield path.relative_to(root).as_posix(), path.read_text(errors="replace")
    for folder in (".", "docs", "bench", "tests", "proof"):
        for path in sorted((root / folder).glob("*.md" if folder == "." else "**/*.md")):
            yield path.relative_to(root).as_posix(), path.read_text(errors="replace")


def violations(root, compiler):
    code = ""
    sources = []
    for path, text in files(root):
        if path.startswith(("lib/", "admin/")):
            code += text
        if path.endswith(".cpp") and path.startswith(("lib/", "admin/", "tests/")):
            sources.append((path, text))
        for rule, _, _ in RULES:
            for number, sentence in rule(path, text):
                yield path, number, sentence
    yield from names_of_two(sources)
    scripts = sorted(path.stem for path in (root / "lib/verbs/scripts").glob("*.lua"))
    yield from unreferenced_scripts(scripts, code)
    folder = root / "lib/verbs/scripts"
    yield from unused_fragments([path.stem for path in sorted(folder.glob("part/*.lua"))],
                                "".join(path.read_text() for path in folder.glob("*.lua")))
    include = root / "include"
    for path in sorted(include.rglob("*.hpp")):
        header = path.relative_to(include).as_posix()
        words = does_not_compile(compiler, include, header)
        if f"include/{header}" in WITH_ASIO:  # with Boost.Asio until here
            words += does_not_compile(compiler, include, header, "-DASIO_STANDALONE")
        if words:
            yield f"include/{header}", 1, "does not compile on its own:\n" + words


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()
    compiler = os.environ.get("CXX", "c++")
    problems = [f"{Path(__file__).name}: {words}" for words in self_check(compiler, root / "include")]
    for found in (violations(root, compiler), not_formatted(root)):
        problems += [f"{path}:{number}: {words}" for path, number, words in found]
    for problem in problems:
        print(problem)
    print(f"{len(RULES) + 4} rules, {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
