#!/usr/bin/env python3
"""Doxygen reads the public headers through this. In the headers a comment stands for all functions that follow it
without an empty line between; Doxygen gives it to the first one only, so it is repeated here for the others.
Special members and operators that have no comment get the name of what they are. Lines keep their numbers.

    headers_filter.py HEADER
"""

import re
import sys
from pathlib import Path

# What a member without a comment is called, by a pattern of its declaration, with {c} for the class.
SPECIAL = (
    (r"(?:explicit )?{c}\(\)", "Default constructor."),
    (r"{c}\({c}(?:<[^>]*>)?&&[^)]*\)", "Move constructor."),
    (r"{c}\(const {c}(?:<[^>]*>)?&[^)]*\)", "Copy constructor."),
    (r"(?:virtual )?~{c}\(\)", "Destructor."),
    (r"{c}(?:<[^>]*>)?& operator=\({c}(?:<[^>]*>)?&&[^)]*\)", "Move assignment."),
    (r"{c}(?:<[^>]*>)?& operator=\(const {c}(?:<[^>]*>)?&[^)]*\)", "Copy assignment."),
    (r".*\boperator==\(.*", "Compares all members."),
    (r".*\boperator<=>\(.*", "Compares all members, in their order."),
)


def special(declaration, class_name):
    words = re.sub(r"^(?:friend |constexpr |inline |\[\[nodiscard\]\] |QUORUMLOCK_EXPORT )*", "", declaration)
    for pattern, name in SPECIAL:
        if class_name and re.match(pattern.replace("{c}", re.escape(class_name)), words):
            return name
    return None


def filtered(text):
    # Doxygen has no place for a specialisation of a template of the standard library, and warns about it.
    text = re.sub(r"template <>\nstruct std::.*", "\n", text)
    text = "/** @file */ " + text
    out = []
    classes = []   # (depth, name) of the classes around this line
    depth = 0
    comment, comment_depth, fresh = "", 0, False  # fresh: the comment stands right before this line
    inside = False  # of a declaration that has begun
    for line in text.splitlines():
        words = line.strip()
        code = re.sub(r"//.*|\"(?:\\.|[^\"\\])*\"", "", line)
        if not words:
            comment, inside = "", False
        elif words.startswith("///") and not words.startswith("///<"):
            comment = (comment + "\n" if fresh else "") + words[3:].strip()
            comment_depth, fresh = depth, True
            out.append(line)
            continue
        elif not words.startswith(("//", "#")):
            while classes and depth <= classes[-1][0]:
                classes.pop()
            begins = not inside and not words.startswith(("}", "public:", "private:", "friend class"))
            here = classes[-1] if classes else (-1, "")
            if begins and not fresh and (not classes or depth == here[0] + 1):
                added = special(words, here[1])
                is_function = re.match(r"(?:template|.*\()", words) is not None
                if added is None and comment and comment_depth == depth and is_function:
                    added = comment.replace("\n", " ")
                if added and "///<" not in line:
                    line = f"/** {added} */ {line.lstrip()}"
            opened = re.match(r"(?:template <.*> )?(?:class|struct) (?:\[\[\w+\]\] )?(?:QUORUMLOCK_EXPORT )?"
                              r"(?:\[\[\w+\]\] )?(\w+)[^;(]*\{", words)
            if opened:
                classes.append((depth, opened.group(1)))
                comment = ""
            depth += code.count("{") - code.count("}")
            if re.search(r"\bnamespace\b.*\{", code):
                depth -= 1
            if re.match(r"\}\s*$", code) and "namespace" in words:
                depth += 1
            ended = re.search(r"[;}:]\s*$", code) is not None or opened is not None
            if opened is not None or "namespace" in words:
                inside = False
            else:
                balanced = not classes and depth <= 0 or bool(classes) and depth == classes[-1][0] + 1
                inside = not (ended and balanced)
            if re.match(r"(?:public|private|protected):", words):
                inside, comment = False, ""
        fresh = False
        out.append(line)
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    sys.stdout.write(filtered(Path(sys.argv[1]).read_text()))
