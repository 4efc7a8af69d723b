"""docs/architecture.md is a map of the code: what it names must exist, and no folder may be missing.

Each row of a table, and each sentence, names files as `folder/file.cpp` (below lib/ or from the root)
and functions as `name` after the file that they are in, or as `Class::name`.
"""

import pathlib
import re
import sys

MAP = "docs/architecture.md"
FILE = re.compile(r"[\w./*-]+/[\w.*-]+\.(?:[ch]pp|lua|py|md|txt|hpp\.in)|[\w.-]+/[\w-]+\.\*")
NAME = re.compile(r"(?:\w+::)*[A-Za-z_]\w*(?:\(.*\))?")


def sources(root):
    """The text of every source file, by its path from the root."""
    return {str(path.relative_to(root)): path.read_text()
            for folder in ("lib", "admin", "include", "tools", "tests", "bench")
            for path in sorted((root / folder).rglob("*"))
            if path.suffix in (".cpp", ".hpp", ".lua", ".py", ".in")}


def exists(root, name):
    found = [path for base in ("", "lib", "include", "docs")
             for path in (root / base).glob(name)]
    return bool(found)


def says(text, word):
    return re.search(rf"\b{re.escape(word)}\b", text) is not None


def errors_in_rows(root, text, code):
    """A row of the walk names files, and functions in these files."""
    for number, line in enumerate(text.splitlines(), 1):
        if not re.match(r"\| \d+ \|", line):
            continue
        cell = line.split("|")[2]
        names = re.findall(r"`([^`]+)`", cell)
        rows = [name for name in names if FILE.fullmatch(name)]
        in_them = "".join(body for path, body in code.items()
                          if any(path.endswith("/" + row) for row in rows))
        for name in names:
            if name not in rows and not says(in_them, re.split(r"[(:]", name)[0]):
                yield number, f"`{name}` is in none of {', '.join(rows)}"


def errors_in_names(root, text, code):
    """Every file exists; every Class::name is written in some source file."""
    everything = "".join(code.values())
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.startswith("```")
        if fenced:
            continue
        for name in re.findall(r"`([^`]+)`", line):
            if FILE.fullmatch(name):
                if not exists(root, name):
                    yield number, f"there is no file {name}"
            elif "::" in name and NAME.fullmatch(name):
                for part in re.sub(r"\(.*", "", name).split("::"):
                    if not says(everything, part):
                        yield number, f"no source file says {part}, of {name}"


def missing_folders(root, text, code):
    del code
    for folder in sorted(path.name for path in (root / "lib").iterdir() if path.is_dir()):
        if f"\nlib/{folder}/" not in text:
            yield 1, f"the folder lib/{folder} is not on the map"
    for folder in re.findall(r"^(lib/\w+|\w+)/ ", text, re.MULTILINE):
        if not (root / folder).is_dir():
            yield 1, f"there is no folder {folder}"


RULES = (errors_in_rows, errors_in_names, missing_folders)


def self_check(root, code):
    """Each rule must find the mistake that it is for."""
    wrong = ("| 1 | `lock/engine.cpp` `no_such_function` | |\n",
             "It is in `lock/no_such_file.cpp`, `Engine::no_such_name`.\n",
             "lib/no_such_folder/ \n")
    for rule, text in zip(RULES, wrong):
        if not list(rule(root, text, code)):
            yield f"{rule.__name__} lets this pass: {text}"


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    code = {path: body for path, body in sources(root).items() if not path.endswith("map_test.py")}
    text = (root / MAP).read_text()
    failures = list(self_check(root, code))
    for rule in RULES:
        failures += [f"{MAP}:{number}: {what}" for number, what in rule(root, text, code)]
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
