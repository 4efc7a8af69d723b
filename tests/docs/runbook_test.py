#!/usr/bin/env python3
"""docs/runbook.md has a row for each state that `members` and `doctor` can name, and for no other.

The names are read from the library: those of MembersStage and MemberState from to_string in admin/members.cpp, and the
codes and severities of findings from the files there. A row says what the state means and the way out. The tests
cli.Runbook go these ways on real servers.

Prints each violation and ends with 1 if there is one. Before that, each rule is shown a page that breaks it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADING = "## What members and doctor name"


def states_of(source):
    """The names of a stage or state in members.cpp."""
    found = set()
    for kind in ("MembersStage", "MemberState"):
        body = re.search(rf"to_string\({kind} \w+\) noexcept \{{(.*?)\n\}}", source, re.S)
        found |= set(re.findall(r'case \w+::\w+: return "(\w+)"', body[1]))
    return found


def findings_of(source):
    """The severities of each finding's code in these files."""
    found = {}
    for severity, code in re.findall(r'\b(error|hint)\(\s*"(\w+)"', source):
        found.setdefault(code, set()).add(severity)
    for severities, code in re.findall(r'push_back\(\s*\{([^";]*?Severity::[^";]*?)(?:"",\s*)?"(\w+)"', source):
        found.setdefault(code, set()).update(re.findall(r"Severity::(\w+)", severities))
    return found


def rows_of(page):
    """(names, severity, meaning, way out) of each row below the heading, as text without its escapes."""
    section = page.partition(HEADING)[2].partition("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and cells[0].startswith("`"):
            yield re.findall(r"`(\w+)`", cells[0]), *cells[1:]


def violations(states, findings, page):
    listed = {}
    for names, severity, *rest in rows_of(page):
        for name in names:
            if name in listed:
                yield f"{name} has two rows"
            listed[name] = severity
            if len(rest) != 2 or not all(rest):
                yield f"the row of {name} lacks what it means, or a way out"
    for name in sorted(states | set(findings)):
        if name not in listed:
            yield f"{name} has no row: say what it means, and the way out"
    for name, severity in listed.items():
        if name not in states and name not in findings:
            yield f"{name} has a row, but nothing is called so"
        elif " or ".join(sorted(findings.get(name, {"-"}))) != severity:
            yield f"the severity of {name} is {' or '.join(sorted(findings.get(name, {'-'})))}, not {severity}"


def self_check():
    source = 'to_string(MembersStage stage) noexcept {\n  case A::b: return "agreed";\n}\n' \
             'to_string(MemberState state) noexcept {\n  case A::c: return "new";\n}\n'
    findings = 'error("full",\n hint(\n  "full", into.push_back({Severity::warning, "", "spare", x'
    page = f"{HEADING}\n\n| `agreed`, `new` | - | a | b |\n| `full` | error or hint | a | b |\n" \
           "| `spare` | warning | a | b |\n\n## More\n"
    states, codes = states_of(source), findings_of(findings)
    if list(violations(states, codes, page)):
        yield f"the good page has violations: {list(violations(states, codes, page))}"
    for words, broken in (("has no row", page.replace("`, `new", "")),
                          ("nothing is called so", page.replace("`new`", "`new`, `old`")),
                          ("two rows", page.replace("`new`", "`new`, `agreed`")),
                          ("a way out", page.replace("| a | b |\n\n", "| a | |\n\n")),
                          ("the severity", page.replace("error or hint", "hint"))):
        if [words in each for each in violations(states, codes, broken)] != [True]:
            yield f"the rule that says \"{words}\" does not find its mistake, or others do"


def main():
    states = states_of((ROOT / "admin/members.cpp").read_text())
    findings = findings_of("".join(file.read_text() for file in sorted((ROOT / "admin").glob("*.cpp"))))
    problems = [f"runbook_test.py: {words}" for words in self_check()]
    problems += [f"docs/runbook.md: {words}"
                 for words in violations(states, findings, (ROOT / "docs/runbook.md").read_text())]
    for problem in problems:
        print(problem)
    print(f"{len(states)} states, {len(findings)} findings, {len(problems)} violations")
    return 1 if problems or len(states) < 10 or len(findings) < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
