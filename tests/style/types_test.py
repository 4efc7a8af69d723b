"""The types of lib/members are in docs/architecture.md: who asks which nodes count reads one list.

Each class, struct and enum that a header of lib/members declares is named in the section of that title,
by its name or, inside of another, as `Outer::Inner`. The section names no other types, and at most 25.
"""

import pathlib
import re
import sys

SECTION = "\n## Which nodes count: the types\n"
MOST = 25
DECLARED = re.compile(r"^( *)(?:class|struct|enum class) (\w+)(?: final)?(?: : [\w: ]+)? \{", re.MULTILINE)


def types_in(header):
    """The types that this header declares, with those around them."""
    outer, found = [], []
    for spaces, name in DECLARED.findall(header):
        depth = len(spaces) // 2
        outer = outer[:depth] + [name]
        found.append("::".join(outer))
    return found


def errors(headers, text):
    declared = [name for header in headers for name in types_in(header)]
    if SECTION not in text:
        return [f"there is no section{SECTION.rstrip()}"]
    section = text.split(SECTION)[1].split("\n## ")[0]
    named = re.findall(r"`([A-Z][\w:]*)`", section)
    found = [f"{name} of lib/members is not named" for name in declared if name not in named]
    found += [f"{name} is no type of lib/members" for name in named if name not in declared]
    if len(declared) > MOST:
        found.append(f"lib/members has {len(declared)} types, and may have {MOST}")
    return found


def self_check():
    """Each rule must find the mistake that it is for."""
    header = "struct A {\n  enum class B { b };\n  class C final : public D {\n"
    good = SECTION + "`A` `A::B` `A::C` `a/b.hpp`\n## Next\n`Z`\n"
    many = "".join(f"struct T{i} {{\n" for i in range(MOST + 1))
    named = SECTION + "".join(f"`T{i}` " for i in range(MOST + 1))
    for header_, text, right in ((header, good, 0), (header, good.replace("`A::B`", ""), 1),
                                 (header, good.replace("`A`", "`A` `E`"), 1), (header, "no section", 1),
                                 (many, named, 1)):
        if len(errors([header_], text)) != right:
            yield f"types_test.py: {right} errors should be in {text}"


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    headers = [path.read_text() for path in sorted((root / "lib/members").glob("*.hpp"))]
    text = (root / "docs/architecture.md").read_text()
    failures = [*self_check(), *(f"docs/architecture.md: {what}" for what in errors(headers, text))]
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
