#!/usr/bin/env python3
"""Compiles, runs or parses every fenced code block of README.md and docs/*.md.

The block's info string says how:

  ```cpp            compiles as a file of its own
  ```cpp fragment   compiles as the body of a function that has `quorumlock::Coordinator&
                    coordinator`, and the names of quorumlock and std::chrono_literals, in scope; a
                    body with co_await or co_return is a coroutine; names that it uses without
                    declaring them are declared in a comment before it: <!-- given: void serve(Lease); -->
  ```sh             is shell that bash can parse
  ```sh run         is run by bash, in a directory of its own for each file, with the program in
                    PATH. Its `quorumlock cluster start` and `stop` use five nodes on free ports, in
                    that directory; for a reader these would be the default ports and directory
  ```json           parses, and the program accepts it as its --config
  ```json output    parses
  ```cpp excerpt PATH   (or sql, lua ...) is in that file of the repository, line for line except for
                    indentation; it is compiled and tested there

Other blocks (text, console, cmake ...) are left alone; a block without an info string is an error.

  readme_test.py [--program PATH] [FILE...]
"""

import argparse
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEFT_ALONE = {"text", "sql", "console", "cmake", "yaml", "lua", "mermaid", "diff", "toml", "ini", "python"}
CONFIGURATION_REFUSED = 64

FRAGMENTS_BEGIN = """\
#include <quorumlock/quorumlock.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace quorumlock;
using namespace std::chrono_literals;

struct FragmentTask {
  struct promise_type {
    FragmentTask get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};
"""


class Block:
    def __init__(self, file, line, info, text, given):
        self.file, self.line, self.info, self.text = file, line, info.split(), text
        self.given = given

    @property
    def place(self):
        return f"{self.file}:{self.line}"


class Failure(Exception):
    pass


def blocks_of(file, text):
    """The fenced blocks of a file; `line` is that of the block's first line of code."""
    found, fence, given = [], None, ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"^( *)(`{3,}|~{3,})\s*(.*?)\s*$", line)
        if fence is None:
            if mark:
                fence, indent, info, code, first = mark[2], len(mark[1]), mark[3], [], number + 1
            elif line.strip():
                comment = re.match(r"^\s*<!-- given: (.*) -->\s*$", line)
                given = comment[1] if comment else ""
        elif mark and mark[2].startswith(fence) and not mark[3]:
            found.append(Block(file, first, info, "\n".join(code) + "\n", given))
            fence, given = None, ""
        else:
            code.append(line[min(indent, len(line) - len(line.lstrip(" "))):])
    if fence is not None:
        raise Failure(f"{file}:{first}: the block has no end")
    return found


def run(words, what, **options):
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, timeout=300, **options)
    if done.returncode != 0:
        raise Failure(f"{what}: exit code {done.returncode}\n{done.stdout}")


def compile_source(text, what):
    compiler = os.environ.get("CXX", "c++")
    run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-fsyntax-only",
         f"-I{ROOT / 'include'}", "-x", "c++", "-"], what, input=text)


def wrapped(number, block):
    coroutine = re.search(r"\bco_(await|return|yield)\b", block.text)
    result = "FragmentTask" if coroutine else "void"
    name = f"fragment_{number}"
    return (f"{result} {name}(quorumlock::Coordinator& coordinator);\n"
            f"{result} {name}([[maybe_unused]] quorumlock::Coordinator& coordinator) {{\n"
            f"{block.given}\n#line {block.line} \"{block.file}\"\n{block.text}}}\n")


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def check_excerpt(block):
    if len(block.info) != 3:
        raise Failure(f"{block.place}: an excerpt must name its file")
    file = ROOT / block.info[2]
    if not file.is_file():
        raise Failure(f"{block.place}: the file {block.info[2]} does not exist")
    wanted, there = lines_of(block.text), lines_of(file.read_text())
    starts = range(len(there) - len(wanted) + 1)
    if not wanted or not any(there[start:start + len(wanted)] == wanted for start in starts):
        raise Failure(f"{block.place}: is not in {block.info[2]}")


def check_cpp(blocks):
    for block in blocks:
        if block.info[1:] == []:
            compile_source(f"#line {block.line} \"{block.file}\"\n{block.text}", block.place)
        elif block.info[1:] != ["fragment"]:
            raise Failure(f"{block.place}: cpp blocks are `cpp` or `cpp fragment`")
    fragments = [block for block in blocks if block.info[1:] == ["fragment"]]
    if fragments:
        compile_source(FRAGMENTS_BEGIN + "".join(map(wrapped, range(len(fragments)), fragments)),
                       "fragments of " + ", ".join(sorted({block.file for block in fragments})))


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def environment_for(directory, program):
    first = next(port for port in random.sample(range(20000, 30000, 5), 2000)
                 if all(is_free(port + node) for node in range(5)))
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("QUORUMLOCK_")}
    nodes = ",".join(f"redis://127.0.0.1:{first + node}" for node in range(5))
    environment |= {"QUORUMLOCK_NODES": nodes,
                    "XDG_STATE_HOME": os.path.join(directory, "state")}
    if program and os.path.isdir(directory):
        instead = pathlib.Path(directory, "bin", "quorumlock")
        instead.parent.mkdir()
        instead.write_text(f"""#!/bin/sh
if [ "$1 $2" = "cluster start" ]; then set -- "$@" --port {first}; fi
exec "{program}" "$@"
""")
        instead.chmod(0o755)
        environment["PATH"] = f"{instead.parent}:{environment['PATH']}"
    return environment


class Place:
    """The place in which the `sh run` blocks of one file are run."""

    def __init__(self, program):
        self.directory = tempfile.TemporaryDirectory()
        self.environment = environment_for(self.directory.name, program)
        self.program = program

    def run(self, block):
        run(["bash", "-euo", "pipefail", "-c", block.text], block.place, cwd=self.directory.name,
            env=self.environment, stdin=subprocess.DEVNULL)

    def leave(self):
        if self.program and os.path.exists(self.environment["XDG_STATE_HOME"]):
            subprocess.run([self.program, "cluster", "stop"], check=False, env=self.environment,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        self.directory.cleanup()


def check_sh(blocks, program):
    places = {}
    try:
        for block in blocks:
            run(["bash", "-n"], block.place, input=block.text)
            if block.info[1:] == []:
                continue
            if block.info[1:] != ["run"]:
                raise Failure(f"{block.place}: sh blocks are `sh` or `sh run`")
            if block.file not in places:
                places[block.file] = Place(program)
            places[block.file].run(block)
    finally:
        for place in places.values():
            place.leave()


def check_json(blocks, program):
    for block in blocks:
        try:
            json.loads(block.text)
        except json.JSONDecodeError as error:
            raise Failure(f"{block.place}: {error}") from error
        if block.info[1:] == ["output"]:
            continue
        if block.info[1:] != []:
            raise Failure(f"{block.place}: json blocks are `json` or `json output`")
        if not program:
            continue
        # Its nodes need not exist: the program must only accept the file.
        with tempfile.NamedTemporaryFile("w", suffix=".json") as config:
            config.write(block.text)
            config.flush()
            done = subprocess.run([program, "--config", config.name, "inspect", "readme"],
                                  text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  check=False, timeout=60,
                                  env=environment_for("/nowhere", program))
        if done.returncode < 0 or done.returncode == CONFIGURATION_REFUSED:
            raise Failure(f"{block.place}: refused as --config\n{done.stdout}")


def check(blocks, program):
    """The number of blocks of each kind; raises Failure at the first that is wrong."""
    kinds = {"cpp": [], "sh": [], "json": []}
    excerpts = 0
    for block in blocks:
        if not block.info:
            raise Failure(f"{block.place}: the block has no info string")
        if block.info[1:2] == ["excerpt"]:
            check_excerpt(block)
            excerpts += 1
            continue
        kind = {"bash": "sh", "c++": "cpp"}.get(block.info[0], block.info[0])
        if kind in kinds:
            kinds[kind].append(block)
        elif kind not in LEFT_ALONE:
            raise Failure(f"{block.place}: blocks of the kind {kind} are unknown")
    check_cpp(kinds["cpp"])
    check_sh(kinds["sh"], program)
    check_json(kinds["json"], program)
    return {kind: len(found) for kind, found in kinds.items()} | {"excerpts": excerpts}


GOOD = """
```cpp
#include <quorumlock/quorumlock.hpp>
int main() { return quorumlock::Options().nodes.empty() ? 0 : 1; }
```
- in a list
  ```cpp fragment
  Result<Lease> lease = coordinator.acquire("orders:42", {.ttl = 10s});
  ```
<!-- given: void serve(Lease lease); -->

```cpp fragment
serve(coordinator.acquire("orders:42").value());
```
```cpp fragment
Result<Lease> lease = co_await coordinator.co_acquire("orders:42", {.ttl = 10s});
```
```sh
quorumlock run orders:42 -- ./nightly
```
```sh run
echo kept > file
```
```sh run
grep -q kept file
[[ $QUORUMLOCK_NODES == *,redis://127.0.0.1:????? && $XDG_STATE_HOME == */state ]]
```
```json
{ "nodes": ["unix:///nowhere/1"] }
```
~~~~text
``` anything
~~~~
```python excerpt tests/docs/readme_test.py
if __name__ == "__main__":

  sys.exit(main())
```
"""
BAD = {
    "does not compile": "```cpp\nint main() { return nowhere; }\n```",
    "a fragment that does not compile": "```cpp fragment\ncoordinator.lock(1);\n```",
    "is one of two fragments and does not compile": "```cpp fragment\nint a = 1;\n```\n```cpp fragment\nint b = c;\n```",
    "uses what was given to another": "<!-- given: void f(); -->\n```cpp fragment\nf();\n```\n"
                                 "```cpp fragment\nf();\n```",
    "is no shell": "```sh\nif true\n```",
    "fails when it is run": "```sh run\nfalse\n```",
    "fails in its middle": "```sh run\nfalse\ntrue\n```",
    "is no JSON": "```json\n{ \"nodes\": [1, }\n```",
    "has an unknown word": "```cpp ignore\nx\n```",
    "is no excerpt": "```cpp excerpt tests/docs/readme_test.py\nint nowhere() {}\n```",
    "is an empty excerpt": "```cpp excerpt tests/docs/readme_test.py\n```",
    "is an excerpt of nothing": "```cpp excerpt no/such.hpp\nint a;\n```",
    "says nothing": "```\nx\n```",
    "is of an unknown kind": "```cobol\nx\n```",
    "has no end": "```sh\ntrue\n",
}
REFUSED = "```json\n{ \"nodes\": [\"unix:///nowhere/1\"], \"tll\": \"1s\" }\n```"


def check_myself(program):
    """Checks that the checker accepts good blocks and finds each bad one."""
    counts = check(blocks_of("good.md", GOOD), program)
    if counts != {"cpp": 4, "sh": 3, "json": 1, "excerpts": 1}:
        raise Failure(f"self-check: counted {counts}")
    for what, text in {**BAD, **({"is refused": REFUSED} if program else {})}.items():
        try:
            check(blocks_of("bad.md", text), program)
        except Failure as failure:
            if "bad.md" not in str(failure):
                raise Failure(f"self-check: {what}: the error does not name the place\n{failure}") from failure
            continue
        raise Failure(f"self-check: a block that {what} was not found")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=pathlib.Path, help="the quorumlock program, built")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    program = arguments.program.resolve() if arguments.program else None
    files = arguments.files or [file for file in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
                                if file.exists()]
    try:
        check_myself(program)
        print("self-check: ok")
        for file in files:
            name = os.path.relpath(file, ROOT)
            counts = check(blocks_of(name, file.read_text()), program)
            print(f"{name}: ok,", ", ".join(f"{count} {kind}" for kind, count in counts.items()))
    except (Failure, subprocess.TimeoutExpired) as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
