"""The types of the core are in docs/architecture.md, and a name of a type has one meaning.

Each class, struct and enum that a header of lib/members declares is named in the section on which nodes
count, by its name or, inside of another, as `Outer::Inner`. Those of lib/lock, lib/wait and lib/verbs
are named in the section on one acquire, or in other_types.txt, so that each new one is put somewhere on
purpose. Neither section names other types, nor more than it may.
"""

import collections
import pathlib
import re
import sys

DECLARED = re.compile(r"^( *)(?:class|struct|enum class) (\w+)(?: final)?(?: : [\w: ]+)? \{", re.MULTILINE)
# The title of a section, the folders whose types it names, and how many at most.
ACQUIRE = ("One acquire: the types", ("lock", "wait", "verbs"), 48)
COUNTING = ("Which nodes count: the types", ("members",), 25)
# What each of several types has inside, by the same name: X::Config is the options that an X is told.
EACH_HAS = {"Answered", "Config", "Connect", "Disconnect", "Entry", "Events", "Link", "Listener", "Node",
            "Note", "Question", "Release", "Repair", "Socket", "State", "Step", "Timer", "Type"}
# A user's word and the machine for it, in different namespaces.
TWICE = {"Cluster", "Nodes"}


def types_in(header):
    """The types that this header declares, with those around them."""
    outer, found = [], []
    for spaces, name in DECLARED.findall(header):
        depth = len(spaces) // 2
        outer = outer[:depth] + [name]
        found.append("::".join(outer))
    return found


def errors(section, declared, text, others=()):
    """What is wrong with the section of the text, if these types are declared."""
    title, _, most = section
    heading = f"\n## {title}\n"
    if heading not in text:
        return [f"there is no section {title!r}"]
    named = re.findall(r"`([A-Z][\w:]*)`", text.split(heading)[1].split("\n## ")[0])
    found = [f"{name} is not named" for name in declared if name not in named and name not in others]
    found += [f"{name} is named, and is no type of these folders" for name in [*named, *others]
              if name not in declared]
    found += [f"{name} is named, and is in other_types.txt" for name in others if name in named]
    if len(named) > most:
        found.append(f"{title!r} has {len(named)} types, and may have {most}")
    return found


def repeated(declared):
    """The names that several types have, although they mean different things."""
    count = collections.Counter(name.split("::")[-1] for name in declared)
    return [f"{name} is the name of {times} types" for name, times in count.items()
            if times > 1 and name not in EACH_HAS and name not in TWICE]


def self_check():
    """Each rule must find the mistake that it is for."""
    section = ("T", (), 3)
    declared = types_in("struct A {\n  enum class B { b };\n  class C final : public D {\n")
    good = "\n## T\n`A` `A::B` `A::C` `a/b.hpp`\n## Next\n`Z`\n"
    for text, others, right in ((good, (), 0), (good.replace("`A::B`", ""), (), 1),
                                (good.replace("`A::B`", ""), ("A::B",), 0), (good, ("A::B",), 1),
                                (good.replace("`A`", "`E`"), (), 2), ("no section", (), 1),
                                (good, ("F",), 1), (good.replace("`A`", "`A` `A`"), (), 1)):
        if len(errors(section, declared, text, others)) != right:
            yield f"types_test.py: {right} errors should be in {text} with {others}"
    if len(repeated(["A", "B::A", "B::State", "C::State"])) != 1:
        yield "types_test.py: A should be found twice"


def main():
    here = pathlib.Path(__file__).resolve().parent
    root = here.parents[1]
    text = (root / "docs/architecture.md").read_text()

    def declared(*folders):
        headers = [path for folder in folders for path in sorted((root / folder).rglob("*.hpp"))]
        return [name for path in headers for name in types_in(path.read_text())]

    lines = (here / "other_types.txt").read_text().splitlines()
    others = [name for line in lines if not line.startswith("#") for name in line.split()]
    failures = [*self_check()]
    for section, rest in ((ACQUIRE, others), (COUNTING, ())):
        found = errors(section, declared(*(f"lib/{folder}" for folder in section[1])), text, rest)
        failures += [f"docs/architecture.md, {section[0]}: {what}" for what in found]
    failures += repeated(declared("lib", "admin", "include"))
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
