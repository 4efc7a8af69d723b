#!/usr/bin/env python3
"""Writes the man pages and the completions of bash and zsh from what the program's --help says.

A page has the command's options, then the hand-written part docs/man/PAGE.man if there is one. The
commands below a command (members plan, cluster start) are described on its page.

    tools/cli/manual.py PROGRAM VERSION PARTS OUTPUT

PARTS is docs/man; OUTPUT gets man1/*.1, bash/quorumlock and zsh/_quorumlock.
"""

import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass, field

FILES = {"FILE", "DIR"}  # values that are completed as paths


@dataclass
class Option:
    names: list   # such as -h and --help
    value: str    # such as DURATION; empty for a flag
    notes: str    # such as "needs: --new"
    help: str


@dataclass
class Command:
    path: list    # the words after quorumlock
    about: str
    usage: str
    positionals: list = field(default_factory=list)  # (name, help)
    options: list = field(default_factory=list)
    commands: list = field(default_factory=list)
    footer: list = field(default_factory=list)       # paragraphs

    def named(self, separator):
        return separator.join(["quorumlock", *self.path])


# --- Reading --help -------------------------------------------------------------------------------

def option_of(spec, text):
    """Parses an option such as "--failure-exit-code N:INT in [0 - 255]" or "--force Needs: --new"."""
    names, _, rest = spec.partition(" ")
    notes = re.search(r"\b(?:REQUIRED|Needs:|Excludes:).*", rest)
    value = rest[:notes.start()].strip() if notes else rest.strip()
    bounds = re.fullmatch(r"(\S+?):(?:INT|FLOAT) in \[(\S+) - (\S+)\]", value)
    notes = [notes.group(0).lower()] if notes else []
    if bounds:
        value = bounds.group(1)
        notes.append(f"from {bounds.group(2)} to {bounds.group(3)}")
    return Option(names.split(","), value, ", ".join(notes), text)


def entries(lines):
    """Returns (name, description) of each entry of a list; a long one goes on in the next lines."""
    found = []
    for line in lines:
        if re.match(r"  \S", line):
            what, _, text = line.strip().partition("  ")
            found.append([what, text.strip()])
        elif found:
            found[-1][1] = (found[-1][1] + " " + line.strip()).strip()
    return found


def parse(path, text):
    """The command that this output of --help describes, and the names of the commands below it."""
    head, _, rest = text.partition("\nUsage: ")
    usage, _, rest = rest.partition("\n")
    command = Command(path, head.strip(), usage.strip())
    below = []
    for block in re.split(r"\n{2,}", rest.strip("\n")):
        lines = block.splitlines()
        heading = lines[0].lower().rstrip(":")
        if heading == "positionals":
            command.positionals = entries(lines[1:])
        elif heading == "options":
            command.options = [option_of(*entry) for entry in entries(lines[1:])]
        elif heading == "subcommands":
            below = [what for what, _ in entries(lines[1:])]
        else:
            command.footer.append(" ".join(lines))
    if not command.options:
        sys.exit(f"manual.py: {command.named(' ')} --help has no list of options that it can read")
    return command, below


def read(program, path=()):
    text = subprocess.run([program, *path, "--help"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    command, below = parse(list(path), text)
    command.commands = [read(program, (*path, name)) for name in below]
    return command


def with_all_below(command):
    yield command
    for one in command.commands:
        yield from with_all_below(one)


# --- Man pages ------------------------------------------------------------------------------------

def roff(text):
    """Escapes a text for troff: backslashes, dots, and each minus as the sign that is typed."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def sentence(text):
    return roff(text[:1].upper() + text[1:] + ("" if text.endswith(".") else "."))


def option_entry(option):
    names = ", ".join(f"\\fB{roff(name)}\\fR" for name in option.names)
    value = f" \\fI{roff(option.value)}\\fR" if option.value else ""
    notes = f" ({option.notes})" if option.notes else ""
    return f".TP\n{names}{value}{roff(notes)}\n{sentence(option.help)}\n"


def synopsis(command):
    names = [name.split()[0] for name, _ in command.positionals]
    many = ["..." if "..." in name else "" for name, _ in command.positionals]
    words = "".join(f" \\fI{roff(name)}\\fR{dots}" for name, dots in zip(names, many))
    if command.path == ["run"]:
        words += " \\fB\\-\\-\\fR \\fICMD\\fR [\\fIARG\\fR...]"
    if command.commands:
        words += " \\fICOMMAND\\fR"
    return f"\\fB{roff(command.named(' '))}\\fR [\\fIOPTION\\fR...]{words}\n"


def page(command, version, parts):
    """The page of a command, with those below it; of the program itself only what it has alone."""
    name = command.named("-")
    shown = [command] if not command.path else list(with_all_below(command))
    status = [one for one in command.footer if one.startswith("Exit codes:")]
    prose = [one for one in command.footer if one not in status]
    title = re.split(r"[:;.]", command.about.split("\n")[0])[0]
    text = (f'.\\" Written by tools/cli/manual.py from the output of --help.\n'
            f'.TH {roff(name.upper())} 1 "" "quorumlock {version}" "User Commands"\n'
            f".SH NAME\n{name} \\- {roff(title)}\n.SH SYNOPSIS\n")
    text += ".br\n".join(synopsis(one) for one in shown)
    text += ".SH DESCRIPTION\n" + sentence(command.about) + "\n"
    for paragraph in prose:
        text += ".PP\n" + roff(paragraph) + "\n"
    if command.positionals:
        text += ".SH ARGUMENTS\n"
        for what, described in command.positionals:
            text += f".TP\n\\fI{roff(what.split()[0])}\\fR\n{sentence(described)}\n"
    if command.commands:
        text += ".SH COMMANDS\n"
        for one in command.commands:
            text += f".TP\n\\fB{roff(one.path[-1])}\\fR\n{sentence(one.about)}\n"
            if not command.path:
                text += f"See \\fB{roff(one.named('-'))}\\fR(1).\n"
    text += ".SH OPTIONS\n" + "".join(map(option_entry, command.options))
    for one in shown[1:]:
        own = [option for option in one.options if option not in command.options]
        if own:
            text += f".SS Options of {roff(' '.join(one.path))} only\n"
            text += "".join(map(option_entry, own))
    if status:
        text += ".SH EXIT STATUS\n" + roff(status[0].removeprefix("Exit codes: ")) + "\n"
    part = parts / f"{name}.man"
    if part.is_file():
        text += part.read_text()
    others = [one.named("-") for one in command.commands] if not command.path else ["quorumlock"]
    text += ".SH SEE ALSO\n" + ",\n".join(f"\\fB{roff(one)}\\fR(1)" for one in others) + "\n"
    return name, text


# --- Completions ----------------------------------------------------------------------------------

def option_names(command):
    return [name for option in command.options for name in option.names]


def names_with_values(root):
    return sorted({name for command in with_all_below(root) for option in command.options
                   if option.value for name in option.names})


def names_with_paths(root):
    return sorted({name for command in with_all_below(root) for option in command.options
                   if option.value in FILES for name in option.names})


# Files are left to bash ("compopt -o default"): it takes and writes the quotes that names need.
BASH = """# Completion of quorumlock for bash. Written by tools/cli/manual.py from the output of --help.

_quorumlock() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} path="" words i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --)
        # The rest is another program's command line.
        if declare -F _command_offset >/dev/null; then
          _command_offset $((i + 1))
        elif ((i + 1 == COMP_CWORD)) && [[ $cur != */* ]]; then
          compopt -o filenames 2>/dev/null
          mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        else
          compopt -o default 2>/dev/null
        fi
        return
        ;;
      @VALUES@) i=$((i + 1)) ;;
      -*) ;;
      *)
        case "$path ${COMP_WORDS[i]}" in
          @PATHS@) path="$path ${COMP_WORDS[i]}" ;;
        esac
        ;;
    esac
  done
  case $prev in
    @FILES@)
      compopt -o default 2>/dev/null
      return
      ;;
    @VALUES@) return ;;
  esac
  case $path in
@WORDS@
  esac
  [[ $cur == -* ]] && words=${words#*|} || words=${words%%|*}
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _quorumlock quorumlock
"""


def bash(root):
    every = list(with_all_below(root))
    words = []
    for command in every:
        path = "".join(" " + word for word in command.path)
        below = " ".join(one.path[-1] for one in command.commands)
        words.append(f'    "{path}") words="{below}|{" ".join(option_names(command))}" ;;')
    return (BASH.replace("@VALUES@", " | ".join(names_with_values(root)))
            .replace("@FILES@", " | ".join(names_with_paths(root)))
            .replace("@PATHS@", " | ".join(f'" {" ".join(one.path)}"' for one in every[1:]))
            .replace("@WORDS@", "\n".join(words)))


def zsh_quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_text(text):
    return re.sub(r"([\\\[\]:])", r"\\\1", text)


def zsh_option(option):
    value = ""
    if option.value:
        action = "_files" if option.value in FILES else " "
        value = f":{zsh_text(option.value)}:{action}"
    return [zsh_quoted(f"{name}[{zsh_text(option.help)}]{value}") for name in option.names]


def zsh_function(command):
    """The function that completes what follows the command's name."""
    name = "_" + "_".join(["quorumlock", *command.path])
    specs = [spec for option in command.options for spec in zsh_option(option)]
    if command.path == ["run"]:
        # The words after -- are another program's command line.
        specs += ["'*:resource: '"]
        body = ("  local dashes=${words[(i)--]}\n"
                "  if ((dashes < CURRENT)); then\n"
                "    words=(\"${(@)words[dashes + 1,-1]}\")\n"
                "    ((CURRENT -= dashes))\n"
                "    _normal\n    return\n  fi\n")
    else:
        specs += ["'1:command:->command' '*:: :->rest'"] if command.commands else \
            ["':resource: '"] if command.positionals else []
        body = ""
    body += "  _arguments -C -s \\\n    " + " \\\n    ".join(specs)
    text = ""
    if command.commands:
        body = "  local curcontext=$curcontext state line\n" + body + " && return\n"
        body += "  case $state in\n    command)\n      local -a commands=(\n"
        for one in command.commands:
            about = zsh_text(one.about.split("\n")[0])
            body += "        " + zsh_quoted(f"{one.path[-1]}:{about}") + "\n"
        body += "      )\n      _describe command commands\n      ;;\n    rest)\n"
        body += "      case $line[1] in\n"
        for one in command.commands:
            body += f"        {one.path[-1]}) {name}_{one.path[-1]} ;;\n"
        body += "      esac\n      ;;\n  esac"
        text = "".join(zsh_function(one) for one in command.commands)
    return text + f"{name}() {{\n{body}\n}}\n\n"


def zsh(root):
    return ("#compdef quorumlock\n# Written by tools/cli/manual.py from the output of --help.\n\n"
            + zsh_function(root) + '_quorumlock "$@"\n')


def main():
    program, version, parts, output = sys.argv[1:]
    parts, output = pathlib.Path(parts), pathlib.Path(output)
    root = read(program)
    pages = dict(page(one, version, parts) for one in [root, *root.commands])
    for part in parts.glob("*.man"):
        if part.stem not in pages:
            sys.exit(f"manual.py: {part} belongs to no page; the pages are {', '.join(pages)}")
    written = {f"man1/{name}.1": text for name, text in pages.items()}
    written["bash/quorumlock"] = bash(root)
    written["zsh/_quorumlock"] = zsh(root)
    for name, text in written.items():
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        (output / name).write_text(text)
    for old in output.glob("man1/*.1"):  # may be of a command that was renamed
        if f"man1/{old.name}" not in written:
            old.unlink()


if __name__ == "__main__":
    main()
