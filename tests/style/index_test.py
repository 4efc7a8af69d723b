#!/usr/bin/env python3
"""Every source of lib/ and admin/ has a unit test of its name, or a line in tests/style/covered.txt.

The test of lib/FOLDER/NAME.cpp or .hpp is tests/unit/FOLDER/NAME_test.cpp, and that of admin/NAME.cpp
tests/unit/admin/NAME_test.cpp. A line of covered.txt names
a source without such a test, the tests that cover it, and the reason. In the other direction, a unit
test file is named after a source of its folder (NAME_test.cpp, or NAME_SUBJECT_test.cpp for one subject
of it) or, in tests/unit/api, after a public header; or a line of covered.txt names it.

The name of each test suite begins with the name of its file: Leases and LeasesExtend may be in leases_test.cpp,
but LeasesExtend may not if there is a leases_extend_test.cpp. So whoever reads that a test has failed knows
its file, and a file may have several suites, for different fixtures.

Prints each violation as path:line: sentence and ends with 1 if there is one. Before that, each rule
is shown a tree that breaks it.

    tests/style/index_test.py [the repository's top directory]
"""

import fnmatch
import pathlib
import re
import sys

TABLE = "tests/style/covered.txt"
SUFFIX = "_test.cpp"
SUITE = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),", re.M)


def names_below(folder, suffixes):
    """The sources below the folder by their path without the suffix; .cpp and .hpp are one."""
    return {path.relative_to(folder).with_suffix("").as_posix()
            for path in folder.rglob("*") if path.suffix in suffixes}


def rows_of(text):
    """(line number, source, tests, reason) of each line of the table, and its malformed lines."""
    rows, malformed = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 3 and all(cells):
            rows.append((number, cells[0], cells[1].split(), cells[2]))
        else:
            malformed.append((number, "is not: source | tests | reason"))
    return rows, malformed


def violations(sources, headers, tests, table):
    """What is wrong, as (path, line, sentence). All are names; `tests` are relative to tests/."""
    unit = {test.removeprefix("unit/").removesuffix(SUFFIX) for test in tests
            if test.startswith("unit/") and test.endswith(SUFFIX)}
    rows, malformed = rows_of(table)
    found = [(TABLE, number, sentence) for number, sentence in malformed]
    listed, named = set(), set()
    for number, source, covering, _ in rows:
        if source in listed:
            found.append((TABLE, number, f"lists {source} a second time"))
        listed.add(source)
        if source not in sources:
            found.append((TABLE, number, f"lists {source}, but there is no such source in lib/"))
        elif source in unit:
            found.append((TABLE, number, f"lists {source}, which has a test of its own: "
                          f"tests/unit/{source}{SUFFIX}"))
        for pattern in covering:
            matches = fnmatch.filter(tests, pattern)
            named.update(matches)
            if not matches:
                found.append((TABLE, number, f"names {pattern}, but there is no such file in tests/"))
    for source in sorted(sources - unit - listed):
        found.append((f"lib/{source}", 1, f"has no test: write tests/unit/{source}{SUFFIX}, or say in "
                      f"{TABLE} which test covers it"))
    for test in sorted(unit):
        folder, _, name = test.rpartition("/")
        own = {source.rpartition("/")[2] for source in sources
               if source.rpartition("/")[0] == folder} | (headers if folder == "api" else set())
        if not any(name == each or name.startswith(each + "_") for each in own) and \
                f"unit/{test}{SUFFIX}" not in named:
            found.append((f"tests/unit/{test}{SUFFIX}", 1, f"is named after no source of lib/{folder} "
                          f"and not named in {TABLE}"))
    return found


def misnamed(texts):
    """Suites that are not named after their file, as (path, line, sentence). `texts` are by name, relative to tests/."""
    names = {test: "".join(word.capitalize() for word in test.rpartition("/")[2].removesuffix(SUFFIX).split("_"))
             for test in texts}
    found = []
    for test, text in sorted(texts.items()):
        program = test.partition("/")[0]
        suites = {match[1]: text.count("\n", 0, match.start()) + 1 for match in reversed([*SUITE.finditer(text)])}
        for suite, line in suites.items():
            files = [name for other, name in names.items()
                     if other.partition("/")[0] == program and suite.startswith(name)]
            if names[test] not in files or max(files, key=len) != names[test]:
                found.append((f"tests/{test}", line, f"the suite {suite} is not named after its file: "
                              f"its name must begin with {names[test]} and with no other file's longer name"))
    return found


def self_check():
    """Each rule must find the mistake that it is for, and nothing may be wrong with a good tree."""
    sources, headers = {"lock/a", "lock/b", "lock/c"}, {"result"}
    tests = {"unit/lock/a_test.cpp", "unit/lock/a_end_test.cpp", "unit/api/result_test.cpp",
             "unit/lock/pair_test.cpp", "cli/b_test.cpp"}
    table = "# a comment\n\nlock/b | cli/b_test.cpp | reason\nlock/c | unit/lock/p*_test.cpp | reason\n"
    for path, number, sentence in violations(sources, headers, tests, table):
        yield f"the good tree has a violation: {path}:{number}: {sentence}"
    for words, broken in (
            ("has no test", (sources | {"lock/d"}, headers, tests, table)),
            ("no such source", (sources, headers, tests, table + "lock/d | cli/b_test.cpp | reason\n")),
            ("has a test of its own", (sources, headers, tests, table + "lock/a | cli/b_test.cpp | x\n")),
            ("no such file", (sources, headers, tests - {"cli/b_test.cpp"}, table)),
            ("a second time", (sources, headers, tests, table + "lock/b | cli/b_test.cpp | reason\n")),
            ("is not: source", (sources, headers, tests, table + "lock/b | cli/b_test.cpp\n")),
            ("named after no source", (sources, headers, tests | {"unit/lock/z_test.cpp"}, table)),
            ("named after no source", (sources, headers, tests | {"unit/a_test.cpp"}, table)),
            ("named after no source", (sources, headers, tests | {"unit/lock/result_test.cpp"}, table))):
        if [words in sentence for _, _, sentence in violations(*broken)] != [True]:
            yield f"the rule that says \"{words}\" does not find its mistake, or others do"
    line = "\nTEST_F({}, Holds) {{\n".format
    texts = {"unit/lock/a_b_test.cpp": line("ABs") + line("ABs") + "TYPED_TEST(ABOfAll, Holds) {\n",
             "unit/wire/a_test.cpp": line("A"), "cli/a_b_c_test.cpp": line("ABC")}
    for suite, test, number in (("", "", 0), ("AC", "unit/lock/a_b_test.cpp", 1), ("ABs", "unit/wire/a_test.cpp", 1)):
        broken = texts | ({test: line(suite) + line(suite)} if suite else {})
        if len(misnamed(broken)) != number:
            yield f"{number} suites of {test} are not named after it, but {len(misnamed(broken))} are found"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    if len(sys.argv) == 1:
        root = root.parents[2]
    sources = names_below(root / "lib", (".cpp", ".hpp"))
    sources |= {f"admin/{name}" for name in names_below(root / "admin", (".cpp", ".hpp"))}
    headers = {name.rpartition("/")[2] for name in names_below(root / "include", (".hpp",))}
    tests = {path.relative_to(root / "tests").as_posix()
             for path in (root / "tests").rglob("*") if path.suffix in (".cpp", ".py", ".sh")}
    found = violations(sources, headers, tests, (root / TABLE).read_text())
    found += misnamed({test: (root / "tests" / test).read_text() for test in tests if test.endswith(SUFFIX)})
    problems = [f"index_test.py: {words}" for words in self_check()]
    problems += [f"{path}:{number}: {words}" for path, number, words in found]
    for problem in problems:
        print(problem)
    print(f"{len(sources)} sources, {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
