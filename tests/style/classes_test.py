#!/usr/bin/env python3
"""No class of include/, lib/ and tests/sim/ has more than 40 methods or 15 fields, or is split over two files.

A class with more is usually two machines that share their data. Methods are all functions that a class
declares, with its constructors and each overload by itself, except deleted ones. Fields are its own data;
constants (static constexpr) do not count. The functions of a class are defined in the source that is named
like its header, so that all transitions of a machine are in one file.

VALUES lists the larger classes that are not machines, and EXCEPTIONS those that are, with their numbers. These
must be the present ones, so that a machine in the list can only grow if its numbers are changed here.

The table of measures in docs/architecture.md is checked against the code, too.

Prints each violation as path:line: sentence and ends with 1 if there is one. Before that, the parser is
shown classes whose numbers are known, and each rule the mistake that it is for.

    tests/style/classes_test.py [--table] [the repository's top directory]

--table prints all classes with their numbers, the largest first.
"""

import collections
import pathlib
import re
import sys

MOST_METHODS, MOST_FIELDS = 40, 15
FOLDERS = ("include", "lib", "tests/sim")

# Folder/class: the reason. These are values: they decide nothing, and only carry their fields.
VALUES = {
    "quorumlock/Options": "the options of the public API, a field for each",
    "quorumlock/Stats": "the public numbers of what happened, a field for each",
    "quorumlock/NodeStatus": "the public report on a node",
    "core/Claim": "what is known of a claim, which the machines of the core hand on",
    "core/Acquisition": "what is known of a call without an answer, which the core's machines share",
    "world/Draw": "all that a seed decides before its history begins, a field for each",
    "world/Operation": "what the simulator's machines and checkers know of an acquisition and its lease",
}

# Folder/class: (methods, fields, why it may have these for now). These are machines.
EXCEPTIONS = {
    "core/Engine": (49, 5, "it decides nothing: each function hands an input to the machine that does"),
}

# (Folder/class, the source with a part of its functions): the reason.
SPLIT = {
    ("tls/Contexts", "lib/tls/without.cpp"): "it takes the place of contexts.cpp in a build without TLS",
    ("api/ClockControl", "lib/api/clock.cpp"): "it changes what Clock reads",
    ("world/Draw", "tests/sim/world/draw_text.cpp"): "it has the one list of all options, by name",
}

Class = collections.namedtuple("Class", "path line name methods fields")


def blank(text):
    """The same text with comments, literals and preprocessor lines blanked out, newlines kept."""

    def spaces(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    pattern = (r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|' r"(?<!\w)'(?:\\.|[^'\\\n])+'|//[^\n]*|/\*.*?\*/|"
               r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*")
    return re.sub(pattern, spaces, text, flags=re.S | re.M)


def closing(text, start):
    """The position after the bracket that closes the one at `start`."""
    pairs = {"{": "}", "(": ")", "[": "]"}
    depth = 0
    for position in range(start, len(text)):
        if text[position] in pairs:
            depth += 1
        elif text[position] in pairs.values():
            depth -= 1
            if depth == 0:
                return position + 1
    raise ValueError("a bracket is not closed")


def without_angles(text):
    """The text without the arguments of templates, whose contents must not be counted."""
    text = re.sub(r"\boperator\s*(<=>|<<=?|>>=?|<=|>=|<|>|->\*?)", "operator_", text)
    text = text.replace("->", "  ").replace("<=", "  ").replace(">=", "  ")
    while True:
        shorter = re.sub(r"<[^<>]*>", " ", text)
        if shorter == text:
            return text
        text = shorter


def members(body):
    """The members of a class: (the position, the words before the first body or the end, and the class
    or enum body that is part of them, if any)."""
    start = position = 0
    while position < len(body):
        letter = body[position]
        if letter in "([":
            position = closing(body, position)
        elif letter == ";":
            yield start, body[start:position], None
            start = position = position + 1
        elif letter == "{":
            words = body[start:position]
            end = closing(body, position)
            head = without_angles(re.sub(r"^\s*template\s*<.*?>\s*(?=class|struct)", "", words, flags=re.S))
            if re.match(r"\s*(?:class|struct|union|enum)\b[^()=]*$", head):
                rest = re.match(r"[^;{]*;", body[end:])
                declared = body[end:end + rest.end() - 1] if rest else ""
                yield start, words, (position, end, declared)
                start = position = end + (rest.end() if rest else 0)
            elif is_function(words) and not ends_in_member_initialiser(words):
                yield start, words, None
                semicolon = re.match(r"\s*;", body[end:])
                start = position = end + (semicolon.end() if semicolon else 0)
            else:  # the initialiser of a field, or of a member in a constructor's list
                position = end
        elif letter == ":" and re.fullmatch(r"\s*(?:public|private|protected)\s*", body[start:position]):
            start = position = position + 1
        else:
            position += 1


def ends_in_member_initialiser(words):
    """Whether the brace after these words is in a constructor's list: `name{...}` and not its body."""
    after = re.search(r"\)\s*(?:noexcept\s*)?:(?!:)(.*)$", words, re.S)
    return after is not None and re.search(r"[\w>]\s*$", after.group(1)) is not None


def is_function(words):
    """Whether the declaration has a parameter list, rather than being that of data."""
    head = without_angles(re.sub(r"\[\[.*?\]\]", " ", words, flags=re.S))
    if re.search(r"\boperator\b|\boperator_", head):
        return True
    if re.search(r"\(\s*\*\s*\w+\s*\)\s*\(", head):  # data: a pointer to a function
        return False
    return re.match(r"[^={]*?\b~?\w+\s*\(", head) is not None and \
        re.match(r"[^({]*=", head) is None


def fields_of(words):
    """The number of data members in a declaration: `int a = 0, b` has two."""
    head = without_angles(words)
    while True:
        shorter = re.sub(r"\{[^{}]*\}|\([^()]*\)|\[[^\[\]]*\]", " ", head)
        if shorter == head:
            return 1 + head.count(",")
        head = shorter


def parse(path, text):
    text = blank(text)
    result = []

    def one(position, name, start, end):
        methods = fields = 0
        for at, words, nested in members(text[start + 1:end - 1]):
            words = words.strip()
            if nested:
                head = re.match(r"(?:template\s*<.*?>\s*)?(class|struct|union|enum)\s*(?:class\b|struct\b|"
                                r"[A-Z_]+\s)?\s*(\w*)", words, re.S)
                if head.group(1) != "enum":
                    one(start + 1 + at, f"{name}::{head.group(2) or 'unnamed'}",
                        start + 1 + nested[0], start + 1 + nested[1])
                if nested[2].strip():
                    fields += fields_of(nested[2])
                continue
            words = re.sub(r"^(?:(?:public|private|protected)\s*:\s*)+", "", words)
            words = re.sub(r"^template\s*<", "<", words)
            if not words or re.match(r"(?:using|friend|typedef|static_assert)\b|"
                                     r"(?:class|struct|enum|union)\s[\w\s]*$", words):
                continue
            if is_function(words):
                methods += not re.search(r"=\s*delete\s*$", words)
            elif not re.match(r"(?:inline\s+)?static\s+(?:inline\s+)?constexpr\b", words):
                fields += fields_of(words)
        line = text.count("\n", 0, position + len(text[position:]) - len(text[position:].lstrip())) + 1
        result.append(Class(path, line, name, methods, fields))

    end_of_last = 0
    for found in re.finditer(r"^[ \t]*(?:template\s*<[^;{}]*?>\s*)?(?:class|struct)\s+(?:\[\[.*?\]\]\s*|[A-Z_]+\s+)?"
                             r"((?:\w+::)*\w+)(?:\s*<[^;{}()]*?>)?(?:\s+final)?\s*(?::(?!:)[^;{}()]*)?\{", text, re.M):
        if found.start() < end_of_last:
            continue  # within a class, which one() has seen
        end_of_last = closing(text, found.end() - 1)
        one(found.start(), found.group(1), found.end() - 1, end_of_last)
    return result


def key_of(path, name):
    return f"{pathlib.PurePath(path).parent.name}/{name}"


def too_large(classes, exceptions, values=()):
    seen = set()
    for each in classes:
        key = key_of(each.path, each.name)
        allowed = exceptions.get(key)
        seen.add(key)
        small = each.methods <= MOST_METHODS and each.fields <= MOST_FIELDS
        if allowed is None:
            if small and key in values:
                yield each.path, each.line, f"{each.name} is within the limits: take it out of VALUES"
            if not small and key not in values:
                yield each.path, each.line, (
                    f"{each.name} has {each.methods} methods and {each.fields} fields: at most "
                    f"{MOST_METHODS} and {MOST_FIELDS}, a class of more is two machines")
        elif small:
            yield each.path, each.line, f"{each.name} is within the limits: take it out of EXCEPTIONS"
        elif (each.methods, each.fields) != allowed[:2]:
            yield each.path, each.line, (
                f"{each.name} has {each.methods} methods and {each.fields} fields, and not "
                f"{allowed[0]} and {allowed[1]}: if it has shrunk, change EXCEPTIONS")
    for name in [*exceptions, *values]:
        if name not in seen:
            yield "tests/style/classes_test.py", 1, f"a list names {name}, but there is no such class"


def split(declared, sources, allowed):
    """Sources that define functions of a class whose header has another name. `declared` is the header of
    each class of its folder, by (folder, class)."""
    used = set()
    for path, text in sources:
        folder, _, name = path.rpartition("/")
        stem = name.removesuffix(".cpp")
        outer = set(re.findall(r"^[^\s#/}].*?(?<![\w:])(\w+)::(?:\w+::)*~?\w+\(", blank(text), re.M))
        for each in sorted(outer):
            header = declared.get((folder, each))
            if header is None or header == stem:
                continue
            if (key_of(path, each), path) in allowed:
                used.add((key_of(path, each), path))
                continue
            yield path, 1, (f"defines functions of {each}, which is declared in {header}.hpp: a machine "
                            "has all its transitions in one file")
    for each, path in sorted(set(allowed) - used):
        yield "tests/style/classes_test.py", 1, f"SPLIT lists {each}, but {path} has no part of it"


MAP = "docs/architecture.md"
STEP = 500


def measures(root, text):
    """The rows of the table of measures in the map: lines of code, rounded up so that not every change
    touches them, the files that an acquire crosses, and the classes that are too large."""
    for folder in sorted(path for path in (root / "lib").iterdir() if path.is_dir()):
        lines = sum(path.read_text().count("\n") for path in folder.rglob("*")
                    if path.suffix in (".cpp", ".hpp"))
        yield f"| lines of lib/{folder.name}, at most | {-(-lines // STEP) * STEP:,} |"
    steps = re.findall(r"^\| \d+ \|([^|]*)\|", text, re.M)
    files = set(re.findall(r"`([\w/]+\.[ch]pp)`", " ".join(steps)))
    yield f"| files that an acquire crosses | {len(files)} |"
    yield f"| machines of more than {MOST_METHODS} methods or {MOST_FIELDS} fields | {len(EXCEPTIONS)} |"
    yield f"| values of more than that | {len(VALUES)} |"


def not_measured(root, text):
    written = re.findall(r"^\| (?:lines of lib/|files that an|machines of more|values of more).*$", text, re.M)
    wanted = list(measures(root, text))
    for row in wanted:
        if row not in written:
            yield MAP, 1, f"does not say: {row}"
    for row in written:
        if row not in wanted:
            yield MAP, 1, f"says what is not so: {row}"


SAMPLE = '''
namespace a {
struct Value { int a = 1, b{2}; std::map<int, int> c; };  // a comment { with a brace
class EXPORT_API Machine final : public Base<int, 3>, Other {
 public:
  enum class State { one, two };
  struct Inner { std::string text; Inner() = default; };
  using Handler = std::function<void(int)>;
  static constexpr int most = 3;
  explicit Machine(int x) : x_(x), y_{x} { run(); }
  Machine(const Machine&) = delete;
  ~Machine() override;
  bool operator==(const Machine&) const = default;
  auto operator<=>(const Machine&) const = default;
  [[nodiscard]] const std::map<int, int>& all() const { return all_; }
  template <class F>
  void each(F&& f) const;
  void set(int a = 1, std::string_view b = "x;{");
  friend bool same(int);
  class Later;
  int size() const;
 private:
  int x_ = f(1), y_ = 2;
  std::map<int, int> all_;
  std::function<void(int, int)> call_ = [](int a, int b) { return a < b; };
  std::array<int, 3> three_{1, 2, 3};
  struct { int u; } nameless_;
  bool (*compare_)(int, int);
  Handler handler_;
};
template <class T>
struct Box { T value; };
}
'''
KNOWN = {"Value": (0, 3), "Machine::Inner": (1, 1), "Machine::unnamed": (0, 1), "Machine": (8, 8),
         "Box": (0, 1)}


def self_check():
    """The parser must find the known numbers, and each rule the mistake that it is for."""
    counted = {each.name: (each.methods, each.fields) for each in parse("sample", SAMPLE)}
    if counted != KNOWN:
        yield f"the parser counts {counted} in the sample, and not {KNOWN}"
    large = Class("lib/a.hpp", 1, "Large", MOST_METHODS + 1, 0)
    wide = Class("lib/a.hpp", 1, "Large", 0, MOST_FIELDS + 1)
    small = Class("lib/a.hpp", 1, "Large", MOST_METHODS, MOST_FIELDS)
    for words, classes, exceptions in (
            ("two machines", [large], {}), ("two machines", [wide], {}),
            ("take it out", [small], {"lib/Large": (41, 0, "reason")}),
            ("if it has shrunk", [large], {"lib/Large": (42, 0, "reason")}),
            ("no such class", [], {"lib/Large": (41, 0, "reason")})):
        if [words in sentence for *_, sentence in too_large(classes, exceptions)] != [True]:
            yield f"the rule that says \"{words}\" does not find its mistake, or others do"
    if [*too_large([small], {}, {"lib/Large": "reason"})][0][2].find("out of VALUES") < 0:
        yield "a value within the limits may stay in VALUES"
    if list(too_large([wide], {}, {"lib/Large": "reason"})) or list(too_large([small], {})) or list(too_large([large], {"lib/Large": (41, 0, "reason")})):
        yield "a class within its limits is a violation"
    half = [("lib/x/half.cpp", "void Whole::run(int a) {\n}\n")]
    declared = {("lib/x", "Whole"): "whole"}
    for words, sources, allowed in (("in one file", half, {}),
                                    ("has no part", [], {("x/Whole", "lib/x/half.cpp"): "reason"})):
        if [words in sentence for *_, sentence in split(declared, sources, allowed)] != [True]:
            yield f"the rule that says \"{words}\" does not find its mistake, or others do"
    whole = [("lib/x/whole.cpp", half[0][1]), ("lib/y/half.cpp", half[0][1])]
    if list(split(declared, whole, {})) or list(split(declared, half, {("x/Whole", "lib/x/half.cpp"): ""})):
        yield "a class in one file is a violation"


def self_check_of_measures(root, text):
    rows = list(measures(root, text))
    good = "\n".join(rows)
    if any(row not in text for row in rows):
        return
    wrong = text.replace(rows[-1], "| values of more than that | 99 |")
    if len(list(not_measured(root, wrong))) != 2 or good.count("\n") < 3:
        yield "a wrong measure is not found"


def main():
    arguments = [word for word in sys.argv[1:] if word != "--table"]
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parents[2]).resolve()
    classes, declared = [], {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            name = path.relative_to(root).as_posix()
            found = parse(name, path.read_text())
            classes += found
            if path.suffix == ".hpp":
                where = "lib/api" if folder == "include" else name.rpartition("/")[0]
                declared.update({(where, each.name): path.stem for each in found if "::" not in each.name})
    sources = [(path.relative_to(root).as_posix(), path.read_text())
               for folder in FOLDERS for path in sorted((root / folder).rglob("*.cpp"))]
    if "--table" in sys.argv:
        for each in sorted(classes, key=lambda each: (-each.methods - 2 * each.fields, each.name)):
            print(f"{each.methods:4} methods {each.fields:4} fields  {each.name}  ({each.path})")
    problems = [f"classes_test.py: {words}" for words in self_check()]
    problems += [f"classes_test.py: {words}"
                 for words in self_check_of_measures(root, (root / MAP).read_text())]
    for rule in (too_large(classes, EXCEPTIONS, VALUES), split(declared, sources, SPLIT),
                 not_measured(root, (root / MAP).read_text())):
        problems += [f"{path}:{line}: {words}" for path, line, words in rule]
    for problem in problems:
        print(problem)
    most = max(classes, key=lambda each: each.methods), max(classes, key=lambda each: each.fields)
    print(f"{len(classes)} classes: at most {most[0].methods} methods ({most[0].name}) and {most[1].fields} "
          f"fields ({most[1].name}), {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
