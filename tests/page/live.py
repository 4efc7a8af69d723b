"""What the tests of the live page share: five real nodes, `quorumlock serve`, its page in a real Chromium, and clients.

Times are printed and not judged, since the machine may be busy.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from page.browser import Browser
from support.local import PATIENCE, Failure, Nodes, Observer


def expect(held, sentence):
    if not held:
        raise Failure(sentence)


class Client:
    """The program, with its input open."""

    def __init__(self, program, nodes, *words):
        self.process = subprocess.Popen([program, "--nodes", nodes.urls, *words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def line(self):
        return self.process.stdout.readline()

    def end(self):
        """Ends its input, and so the command that it runs."""
        self.process.stdin.close()
        expect(self.process.wait() == 0, "a client failed")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def rows(body):
    return f"[...document.querySelectorAll('#{body} tr')]"


def text(part):
    return f"document.getElementById('{part}').textContent"


def shows(place, words):
    return f"{text(place)}.includes({json.dumps(words)})"


def timed(browser, what, expression):
    began = time.monotonic()
    browser.until(expression)
    print(f"  {time.monotonic() - began:4.1f} s  {what}", flush=True)


def shown_as_down(url):
    return (f"{rows('nodes')}.some((row) => row.className === 'bad' && row.cells[0].textContent === '{url}' && "
            "row.cells[1].textContent === 'NO' && row.cells[2].textContent === 'down')")


def in_chromium(name, check, script=None, patience=PATIENCE):
    """Runs check(program, nodes, browser, clients) with the page open. `script` runs before those of the page."""
    program = sys.argv[1]
    chromium = shutil.which("chromium")
    if not chromium:
        print("skipped: Debian's package chromium is not installed")
        return
    began, running, clients = time.monotonic(), [], []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            nodes = Nodes(program, os.path.join(folder, "cluster"))
            running.append(nodes)
            observer = Observer(program, nodes)
            running.append(observer)
            browser = Browser(chromium, os.path.join(folder, "browser"), patience)
            running.append(browser)
            browser.open(observer.url, script)
            check(program, nodes, browser, clients)
            expect(browser.errors == [], f"the console has {browser.errors}")
        except (Failure, RuntimeError) as failure:
            sys.exit(f"FAILED: {failure}")
        finally:
            for each in clients + running[::-1]:
                each.stop()
    print(f"{name}: ok, {time.monotonic() - began:.0f} s")
