#!/usr/bin/env python3
"""Checks packaging/prometheus by promtool, and each alert against its section of docs/runbook.md.

An alert has a section of its name, which has its three parts and which runbook_url names, a test in
alerts_test.yml in which it fires, and one in which it does not. The runbook's commands are the program's own.
What promtool does is skipped, with the reason, if it is not installed.

    rules_test.py PROGRAM
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "packaging/prometheus"
PARTS = ["What it means", "What to look at", "What to do"]
wrong = []


def expect(held, sentence):
    if not held:
        wrong.append(sentence)


def alerts():
    """The text of each alert by its name."""
    text = (RULES / "alerts.yml").read_text()
    found = re.split(r"^ *- alert: (\w+)\n", text, flags=re.M)
    return dict(zip(found[1::2], found[2::2]))


def sections():
    """The text of each section of the runbook by its heading."""
    text = (ROOT / "docs/runbook.md").read_text()
    found = re.split(r"^## (.*)\n", text, flags=re.M)
    return dict(zip(found[1::2], found[2::2]))


def check_runbook(program):
    runbook = sections()
    for name, text in alerts().items():
        expect(name in runbook, f"docs/runbook.md has no section {name}")
        parts = re.findall(r"^\*\*(.*?)\.\*\*", runbook.get(name, ""), re.M)
        expect(parts == PARTS, f"the section {name} of docs/runbook.md has the parts {parts}, not {PARTS}")
        expect(f'runbook_url: "docs/runbook.md#{name.lower()}"' in text,
               f"runbook_url of {name} does not name its section")
        expect(re.search(r"severity: (page|ticket) ", text), f"{name} has no severity")
    for name in runbook:
        expect(not name.startswith("Quorumlock") or name in alerts(),
               f"docs/runbook.md has a section {name}, but there is no such alert")
    commands = set(re.findall(r"`quorumlock ([a-z]+)((?: [a-z]+)?)", (ROOT / "docs/runbook.md").read_text()))
    expect(len(commands) > 5, "the runbook names hardly a command")
    for command, below in sorted(commands):
        words = [command] + ([below.strip()] if command in ("cluster", "members") and below else [])
        done = subprocess.run([program, *words, "--help"], capture_output=True, text=True)
        expect(done.returncode == 0, f"the runbook names quorumlock {' '.join(words)}: {done.stderr}")


def check_tests():
    """Checks that alerts_test.yml has a case in which each alert fires, and one in which it does not."""
    text = (ROOT / "tests/prometheus/alerts_test.yml").read_text()
    fires = set(re.findall(r"alertname: (\w+)\n *eval_time: \S+\n *exp_alerts:\n", text))
    quiet = set(re.findall(r"alertname: (\w+), eval_time: \S+, exp_alerts: \[\] }", text))
    for name, rule in alerts().items():
        expect(name in fires, f"alerts_test.yml has no case in which {name} fires")
        expect(name in quiet or not re.search(r"^ *for: ", rule, re.M),
               f"alerts_test.yml has no case in which {name} does not fire yet")


def promtool(*words, cwd):
    done = subprocess.run(["promtool", *words], cwd=cwd, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout


def check_by_promtool():
    with tempfile.TemporaryDirectory() as folder:
        for file in [*RULES.glob("*.yml"), ROOT / "tests/prometheus/alerts_test.yml"]:
            shutil.copy(file, folder)
        good, output = promtool("check", "rules", "recording.yml", "alerts.yml", cwd=folder)
        expect(good, f"promtool check rules: {output}")
        good, output = promtool("test", "rules", "alerts_test.yml", cwd=folder)
        expect(good, f"promtool test rules: {output}")
        # The tests are worth something if they see a wrong limit.
        alerts_file = Path(folder, "alerts.yml")
        text = alerts_file.read_text()
        for right, mistake in (("spare_votes == 0", "spare_votes == 1"), ("for: 15s", "for: 5m"),
                               ("nodes:count > 2", "nodes:count > 1"), ('"no_quorum"', '"closed"')):
            expect(right in text, f"alerts.yml has no {right} to be replaced by {mistake}")
            alerts_file.write_text(text.replace(right, mistake))
            good, output = promtool("test", "rules", "alerts_test.yml", cwd=folder)
            expect(not good, f"alerts_test.yml passes with {mistake} in place of {right}")


def main():
    check_runbook(sys.argv[1])
    check_tests()
    if shutil.which("promtool"):
        check_by_promtool()
    else:
        print("skipped: promtool check and test, since Debian's package prometheus is not installed")
    for line in wrong:
        print(line)
    print(f"prometheus rules: {len(alerts())} alerts, {len(wrong)} mistakes")
    sys.exit(1 if wrong else 0)


main()
