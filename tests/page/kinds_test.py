#!/usr/bin/env python3
"""The live page of `quorumlock serve` with locks of all kinds, in a real Chromium, on five real nodes.

The holders of a lock that readers share, of the permits of a semaphore and of an election have to be named, in the
list and in a lock's own part. A long name must not widen the page. What a person is doing on the page must survive
its updates: a text that is selected, and the focus on one of several rows of one resource. Skipped, with the reason,
if Chromium is not installed.

    kinds_test.py PROGRAM
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from page.live import Client, expect, in_chromium, rows, shows, text, timed  # noqa: E402

WORK = ["sh", "-c", "echo held; cat"]


def holder(program, nodes, clients, *words):
    """Starts a client; returns its label once it works under the lock."""
    client = Client(program, nodes, *words, "--", *WORK)
    clients.append(client)
    expect(client.line() == "held\n", f"{words} did not get the lock")
    return f":{client.process.pid}:sh"


def check(program, nodes, browser, clients):
    readers = [holder(program, nodes, clients, "run", "--shared", "report") for _ in range(2)]
    permits = [holder(program, nodes, clients, "run", "--permits", "3", "pool") for _ in range(2)]
    leader = holder(program, nodes, clients, "leader", "billing")
    candidate = Client(program, nodes, "leader", "billing", "--", *WORK)
    clients.append(candidate)
    waiting = Client(program, nodes, "run", "--wait", "forever", "report", "--", "true")
    clients.append(waiting)

    holder(program, nodes, clients, "run", "x" * 400)

    timed(browser, "all are in the list", f"{rows('rows')}.length === 6")
    browser.call("Emulation.setDeviceMetricsOverride", width=360, height=700, deviceScaleFactor=1, mobile=False)
    wide = browser.value("document.documentElement.scrollWidth")
    expect(wide <= 360, f"on a narrow screen the page is {wide} pixels wide")
    browser.call("Emulation.clearDeviceMetricsOverride")
    timed(browser, "the leader and its candidate are shown",
          f"{rows('leaders')}.some((row) => row.cells[0].textContent === 'billing' && "
          f"row.cells[1].textContent.includes('{leader}') && row.cells[2].textContent !== '' && row.cells[4].textContent === '1')")
    expect(browser.value(shows("leaders-text", "1 led now")), "the page says " + browser.value(text("leaders-text")))

    browser.value("location.hash = '#lock=report'")
    timed(browser, "the readers are named, and the waiter",
          f"{shows('lock-state', 'shared by ')} && {json.dumps(readers)}.every((label) => "
          f"{text('lock-state')}.includes(label)) && {rows('line')}.length === 1")
    browser.value("location.hash = '#lock=pool'")
    timed(browser, "the holders of permits are named",
          f"{shows('lock-state', '2 of 3 permits held by ')} && {json.dumps(permits)}.every((label) => "
          f"{text('lock-state')}.includes(label))")
    browser.value("location.hash = '#lock=100%'")  # as somebody may type it
    timed(browser, "a name that is not encoded is shown", shows("lock-state", "free"))

    # The time that is left changes with each look. The second permit's link has the focus, and a part of its row is
    # selected.
    second = f"{rows('rows')}.filter((row) => row.cells[0].textContent === 'pool')[1]"
    mode = browser.value(f"{second}.cells[1].textContent")
    browser.value(f"{second}.querySelector('a').focus()")
    browser.value(f"window.getSelection().selectAllChildren({second}.cells[2])")
    selected = browser.value("window.getSelection().toString()")
    expect(permits[0] in selected or permits[1] in selected, f"{selected} is selected")
    for _ in range(2):
        before = json.dumps(browser.value(f"{second}.cells[4].textContent"))
        browser.until(f"{second}.cells[4].textContent !== {before}")
    expect(browser.value("window.getSelection().toString()") == selected, "an update has ended the selection")
    focused = "document.activeElement.closest('tr')?.cells[1].textContent"
    expect(browser.value(focused) == mode, f"the focus went from {mode} to {browser.value(focused)}")
    clients[2 if permits[0] in selected else 3].end()
    timed(browser, "the row with the focus goes, and the next one gets the focus",
          f"{rows('rows')}.length === 5 && document.activeElement.closest('#rows') !== null")


in_chromium("kinds", check)
