#!/usr/bin/env python3
"""What an operator asks during an outage, answered by one command each and by the live page.

Who holds this lock, since when, who waits, which node is sick, did anybody lose a lease, and is it getting worse?
Each answer has to come after the change that it is about; how long that took is printed. Skipped, with the reason,
if Chromium is not installed.

    questions_test.py PROGRAM
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from page.live import Client, expect, in_chromium, rows, shown_as_down, shows, text  # noqa: E402
from support.local import until  # noqa: E402

RESOURCE = "orders:42"


class Watch:
    """A command that goes on; keeps what it has printed last."""

    def __init__(self, program, nodes, *words):
        self.process = subprocess.Popen([program, "--nodes", nodes.urls, *words], stdout=subprocess.PIPE, text=True)
        self.text = ""
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.text += line

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.reader.join()


class Operator:
    def __init__(self, program, nodes, browser):
        self.program, self.nodes, self.browser = program, nodes, browser

    def says(self, *words):
        return subprocess.run([self.program, "--nodes", self.nodes.urls, *words], capture_output=True, text=True).stdout

    def asks(self, question, command, answered, page):
        """`command` is the words of one, or a Watch; `page` is an expression there."""
        watch = command if isinstance(command, Watch) else None
        began = time.monotonic()
        until(question, lambda: answered(watch.text if watch else self.says(*command)))
        by_command = time.monotonic() - began
        self.browser.until(page)
        print(f"  {question:40} by {' '.join((watch.process.args[3:] if watch else command)):22} "
              f"after {by_command:.1f} s, by the page after {time.monotonic() - began:.1f} s", flush=True)


def check(program, nodes, browser, clients):
    operator = Operator(program, nodes, browser)
    watch = Watch(program, nodes, "locks", "--watch")
    clients.append(watch)
    browser.value(f"location.hash = '#lock={RESOURCE.replace(':', '%3A')}'")

    holder = Client(program, nodes, "run", "--ttl", "10s", RESOURCE, "--", "sh", "-c", "echo held; cat")
    clients.append(holder)
    expect(holder.line() == "held\n", "the lock was not had")
    label = f":{holder.process.pid}:sh"
    operator.asks("Who holds this lock?", ["inspect", RESOURCE],
                  lambda said: re.search(rf"held by \S+{label} on", said),
                  f"{shows('lock-state', 'held by ')} && {shows('lock-state', label)}")
    operator.asks("Since when?", ["inspect", RESOURCE],
                  lambda said: re.search(rf"{label} on 5 of 5 nodes for \d+ ?m?s", said),
                  f"/ for \\d+(\\.\\d)? s$/.test({text('lock-state')})")

    waiters = [Client(program, nodes, "acquire", "--wait", "forever", RESOURCE) for _ in range(3)]
    clients += waiters
    labels = [f":{waiter.process.pid}" for waiter in waiters]
    operator.asks("Who waits?", ["inspect", RESOURCE],
                  lambda said: all(re.search(rf"\d\. \S+{each}  exclusive  waits for", said) for each in labels),
                  f"{json.dumps(labels)}.every((label) => {rows('line')}.some("
                  "(row) => row.cells[1].textContent.endsWith(label)))")

    sick = nodes.nodes[3]["url"]
    nodes.kill(3)
    operator.asks("Which node is sick?", ["status"],
                  lambda said: re.search(rf"{re.escape(sick)} +no .*\n +unreachable", said),
                  f"{shown_as_down(sick)} && {shows('verdict', '4 of 5')}")

    # A holder that is stopped does not renew its lease. Its time begins when it stops.
    stopped = Client(program, nodes, "run", "--ttl", "10s", "stock:7", "--", "sh", "-c", "echo held; cat")
    clients.append(stopped)
    expect(stopped.line() == "held\n", "the lock was not had")
    browser.until(f"{rows('rows')}.some((row) => row.cells[0].textContent === 'stock:7')")
    os.kill(stopped.process.pid, signal.SIGSTOP)
    until("the lease of the stopped holder ends", lambda: "stock:7: free" in operator.says("inspect", "stock:7"))
    lost = f":{stopped.process.pid}:sh"
    operator.asks("Did anybody lose a lease?", watch,
                  lambda said: re.search(rf"stock:7 ran out: .*{lost}", said),
                  f"{shows('ran-out', 'stock:7')} && {shows('ran-out', lost)}")
    os.kill(stopped.process.pid, signal.SIGCONT)
    expect(stopped.process.wait() == 76, "the stopped holder does not report that it has lost its lease")

    # Votes and waiters, now and before.
    operator.asks("Is it getting worse?", watch,
                  lambda said: re.search(r"0 waiting[^$]*\n\d+ held, 3 waiting", said),
                  f"{shows('votes-text', 'Now 4 of 5; at least 4')} && {shows('waiting-text', 'Now 3; at most 3')}")


in_chromium("questions", check)
