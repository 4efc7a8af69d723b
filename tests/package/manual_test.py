#!/usr/bin/env python3
"""Holds the man pages and the completions to what the program's --help lists, command by command.

Completions are asked for as a shell asks for them: bash's by its function's variables, zsh's by keys on
a terminal.

    manual_test.py PROGRAM MANUAL
"""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile

wrong = []
checked = 0


def same(what, found, expected):
    global checked
    checked += 1
    if sorted(found) != sorted(expected):
        wrong.append(f"{what}: {sorted(found)} instead of {sorted(expected)}")


def help_of(program, path):
    return subprocess.run([program, *path, "--help"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def commands_of(program, path=()):
    """(path, options, commands below it) of every command."""
    text = help_of(program, path)
    options = re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.M)
    listed = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
    below = re.findall(r"^  (\S+)", listed.group(1), re.M) if listed else []
    yield list(path), options, below
    for name in below:
        yield from commands_of(program, (*path, name))


# --- bash -----------------------------------------------------------------------------------------

def by_bash(file, *words):
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _quorumlock;'
              '((${#COMPREPLY[@]} == 0)) || printf "%s\\n" "${COMPREPLY[@]}"')
    return subprocess.run(["bash", "--norc", "-c", script, "bash", file, "quorumlock", *words],
                          check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()


class Bash:
    """Bash on a terminal without the package bash-completion, as which it completes files."""

    def __init__(self, file, work):
        self.out = work / "line"
        self.out.touch()
        (work / "rc").write_text(
            f"source {file}\n"
            f"note() {{ printf '%s\\n' \"$READLINE_LINE\" >>{self.out}; READLINE_LINE=; }}\n"
            "bind -x '\"\\C-x\": note'\n")
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(work)
            os.environ.update(TERM="dumb", INPUTRC="/dev/null")
            os.execvp("bash", ["bash", "--noprofile", "--rcfile", str(work / "rc"), "-i"])

    def complete(self, line):
        """The line after a tab."""
        os.write(self.terminal, (line + "\t\x18").encode())
        while not self.out.read_text().endswith("\n"):
            readable, _, _ = select.select([self.terminal], [], [], 0.01)
            if readable:
                os.read(self.terminal, 65536)
        text = self.out.read_text().strip()
        self.out.write_text("")
        return text

    def end(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


# --- zsh ------------------------------------------------------------------------------------------

ZSHRC = r"""
fpath=(@FOLDER@ $fpath)
autoload -Uz compinit && compinit -u -D
unsetopt beep
compadd() {
  # Calls that fill arrays of the completion functions add nothing.
  if [[ " ${(j: :)@[1,(i)(-|--)]} " == *" "-(O|A|D)* ]]; then builtin compadd "$@"; return; fi
  local -a found
  builtin compadd -A found "$@"
  (($#found)) && print -rl -- $found >>@OUT@
  builtin compadd "$@"
}
ask() { _main_complete; print END >>@OUT@ }
zle -C ask list-choices ask
bindkey '^X' ask
bindkey '^U' kill-whole-line
zle-line-init() { print READY >>@OUT@; zle -D zle-line-init }
zle -N zle-line-init
"""


class Zsh:
    def __init__(self, folder, work):
        self.out = work / "out"
        self.out.touch()
        (work / ".zshrc").write_text(ZSHRC.replace("@FOLDER@", str(folder))
                                     .replace("@OUT@", str(self.out)))
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(work)
            os.environ.update(ZDOTDIR=str(work), TERM="dumb")
            os.execvp("zsh", ["zsh", "--no-globalrcs", "-i"])
        self.until("READY")

    def until(self, mark):
        """The words that were written before the mark. Reads the terminal, so that zsh can go on."""
        while True:
            words = self.out.read_text().splitlines()
            if words and words[-1] == mark:
                self.out.write_text("")
                return words[:-1]
            readable, _, _ = select.select([self.terminal], [], [], 0.01)
            if readable:
                os.read(self.terminal, 65536)

    def complete(self, line):
        os.write(self.terminal, (line + "\x18").encode())
        found = self.until("END")
        os.write(self.terminal, b"\x15")
        return found

    def end(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


# --- The checks -----------------------------------------------------------------------------------

def check_pages(manual, commands):
    for path, options, below in commands:
        name = "-".join(["quorumlock", *path[:1]])
        file = manual / "man1" / f"{name}.1"
        if not file.is_file():
            wrong.append(f"there is no page {file.name}")
            continue
        text = file.read_text().replace("\\-", "-")
        for word in options + below:
            if f"\\fB{word}\\fR" not in text:
                wrong.append(f"{file.name} does not describe {word} of {' '.join(path)}")
    expected = ["quorumlock"] + ["quorumlock-" + path[0] for path, _, _ in commands if len(path) == 1]
    same("pages", [file.stem for file in (manual / "man1").glob("*")], expected)
    if shutil.which("groff"):
        for file in sorted((manual / "man1").glob("*.1")):
            said = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", file], text=True,
                                  capture_output=True).stderr
            if said:
                wrong.append(f"{file.name}: {said}")


def check_bash(manual, commands):
    file = manual / "bash" / "quorumlock"
    for path, options, below in commands:
        same(f"bash: {path} --", by_bash(file, *path, "--"), options)
        same(f"bash: {path}", by_bash(file, *path, ""), below)
    same("bash: a command after a flag's value", by_bash(file, "--config", "run", "clu"), ["cluster"])
    same("bash: a value", by_bash(file, "run", "--ttl", ""), [])
    if "mkdir" not in by_bash(file, "run", "orders", "--", "mkdi"):
        wrong.append("bash: a command after -- is not completed")


def check_bash_on_a_terminal(manual):
    file = manual / "bash" / "quorumlock"
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "it's a file").touch()
        (work / "tool of mine").touch(mode=0o755)
        shell = Bash(file, work)
        for begin, name in (("quorumlock --config it", r"\'s\ a\ file"),
                            ("quorumlock --config 'it", r"'\''s a file'"),
                            ("quorumlock run x -- cat it", r"\'s\ a\ file"),
                            ("quorumlock run x -- ./tool", r"\ of\ mine"),
                            ("quorumlock run --ttl to", "")):
            same("bash on a terminal", [shell.complete(begin)], [begin + name])
        shell.end()


def check_zsh(manual, commands):
    with tempfile.TemporaryDirectory() as work:
        zsh = Zsh(manual / "zsh", pathlib.Path(work))
        for path, options, below in commands:
            line = " ".join(["quorumlock", *path])
            # An option that excludes others, such as --help, is offered alone, and -h is the same.
            same(f"zsh: {path} --", {word for word in zsh.complete(line + " --")}, options)
            if below:
                same(f"zsh: {path}", zsh.complete(line + " "), below)
        if "mkdir" not in zsh.complete("quorumlock run orders -- mkdi"):
            wrong.append("zsh: a command after -- is not completed")
        zsh.end()


def has_terminals():
    try:
        for end in pty.openpty():
            os.close(end)
        return True
    except OSError:
        return False


def main():
    program, manual = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    commands = list(commands_of(program))
    if len(commands) < 15:
        sys.exit(f"{len(commands)} commands: --help is not read as it should be")
    check_pages(manual, commands)
    check_bash(manual, commands)
    if not has_terminals():
        print("no terminal can be had, as in a chroot without /dev/pts: completion is not tested on one")
    else:
        check_bash_on_a_terminal(manual)
        if shutil.which("zsh"):
            check_zsh(manual, commands)
        else:
            print("zsh is not installed: its completion is not tested")
    for line in wrong:
        print(line)
    print(f"{len(commands)} commands, {checked} comparisons, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


main()
