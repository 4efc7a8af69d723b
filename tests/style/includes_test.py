"""Each file includes, itself or through others, the header that declares each type of ours whose members it names.

A build that compiles many sources together does not notice if one of them does not, and a user's build does.
"""

import pathlib
import re
import sys

FOLDERS = ("include", "lib", "admin", "tools", "tests", "bench", "examples")
BASES = ("include", "lib", "admin", "tools/cli", "tools", "tests", ".")
DECLARED = re.compile(r"^( *)(?:class|struct|enum class|enum|union|using) (?:QUORUMLOCK_\w+ |\[\[nodiscard\]\] )?(\w+)\b(?! *;)", re.MULTILINE)
INCLUDED = re.compile(r'^#include ["<](?:quorumlock/admin/)?([^">]+)[">]', re.MULTILINE)
NAMED = re.compile(r"(?<![\w:.>])([A-Z]\w+)::")
NOT_CODE = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')


def errors(files):
    """`files` has the text of each path. Returns what is named and not included."""
    declared = {}
    for path, text in files.items():
        if path.endswith(".hpp"):
            for spaces, name in DECLARED.findall(text):
                declared.setdefault(name, set()).add((path, spaces))
    # A name that is declared twice, or inside of another type, may mean either.
    homes = {name: next(iter(places))[0] for name, places in declared.items()
             if len(places) == 1 and next(iter(places))[1] == ""}
    includes = {}
    for path, text in files.items():
        folder = path.rpartition("/")[0]
        places = [f"{base}/{name}".removeprefix("./")
                  for name in INCLUDED.findall(text) for base in (folder, *BASES)]
        includes[path] = [place for place in places if place in files]
    found = []
    for path, text in files.items():
        named = set(NAMED.findall(NOT_CODE.sub("", text))) & homes.keys()
        named -= {name for _, name in DECLARED.findall(text)}
        seen, left = {path}, [path]
        while left and named:
            for place in includes[left.pop()]:
                if place not in seen:
                    seen.add(place)
                    left.append(place)
        found += [f"{path} names {name} and does not include {homes[name]}"
                  for name in sorted(named) if homes[name] not in seen]
    return found


def self_check():
    """The rule must find the mistake that it is for."""
    header = {"lib/a/box.hpp": "class Box {\n};\n", "lib/b/use.hpp": '#include "a/box.hpp"\n'}
    user = "int f() { return Box::size(); }\n"
    assert errors(header | {"lib/b/use.cpp": user}) == ["lib/b/use.cpp names Box and does not include lib/a/box.hpp"]
    assert not errors(header | {"lib/b/use.cpp": '#include "use.hpp"\n' + user})
    assert not errors(header | {"lib/b/use.cpp": '// Box::size() is "Box::size()"\n'})


def main():
    root = pathlib.Path(sys.argv[1])
    files = {str(path.relative_to(root)): path.read_text()
             for folder in FOLDERS for path in sorted((root / folder).rglob("*.?pp"))}
    if not files:
        sys.exit(f"no sources in {root}")
    self_check()
    found = errors(files)
    sys.exit("\n".join(found) if found else 0)


main()
