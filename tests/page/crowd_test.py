#!/usr/bin/env python3
"""The live page of `quorumlock serve` with 10,000 locks and 1,000 waiters, in a real Chromium, on five real nodes.

The counts have to be right; changes have to arrive, and a filter, an order and a lock's line have to work; and neither
the events nor the page itself may grow with the number of locks, since that would make the page slow. How long the
page's thread was busy at most is printed and not judged. Skipped, with the reason, if Chromium is not installed.

    crowd_test.py PROGRAM
"""

import socket
import sys
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from page.live import Client, expect, in_chromium, rows, shown_as_down, shows, timed  # noqa: E402

LOCKS, WAITERS = 10_000, 1_000
LONGEST_LINE = 500  # the waiters of the first lock; each other lock has at most one waiter
LIFE_MS = 3_600_000  # no planted lock expires during the test
ROWS = 100  # on a page of the list, and in a line

# Notes the longest event that the page receives, and the tasks that keep its thread busy for 50 ms or more.
WATCH = """
window.seen = { bytes: 0, tasks: [] };
const Source = window.EventSource;
window.EventSource = class extends Source {
  addEventListener(name, listener) {
    super.addEventListener(name, (event) => {
      window.seen.bytes = Math.max(window.seen.bytes, event.data.length);
      listener(event);
    });
  }
};
new PerformanceObserver((list) => window.seen.tasks.push(...list.getEntries().map((task) => task.duration)))
  .observe({ type: 'longtask', buffered: true });
"""


def name_of(lock):
    return f"crowd:{lock:05}"


def commands(now_us):
    """The commands that put the locks and the waiters on a node."""
    for lock in range(LOCKS):
        name, held_us = name_of(lock), 1_000_000 * (1 + lock)
        yield "SET", name, f"{lock:040x}@web-{lock}:812", "PX", LIFE_MS
        yield "SET", f"quorumlock:fence:{name}", now_us - held_us, "PX", LIFE_MS
    for waiter in range(WAITERS):
        name = name_of(max(0, waiter - LONGEST_LINE + 1))
        entry = f"w{waiter:016x}.1@worker-{waiter}:7"
        yield "ZADD", f"quorumlock:queue:{name}", now_us - 1_000_000 + waiter, entry
        yield "ZADD", f"quorumlock:waiting:{name}", now_us // 1000 + LIFE_MS, entry


def batches():
    """The bytes of these commands, a thousand at a time."""
    batch = []
    for command in commands(time.time_ns() // 1000):
        words = [str(word).encode() for word in command]
        batch.append(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        if len(batch) == 1000:
            yield len(batch), b"".join(batch)
            batch = []
    yield len(batch), b"".join(batch)


def plant(url, planted):
    """Sends all commands to a node, and reads as many replies."""
    address = urllib.parse.urlparse(url)
    with socket.create_connection((address.hostname, address.port)) as node, node.makefile("rb") as replies:
        for count, text in planted:
            node.sendall(text)
            for _ in range(count):
                reply = replies.readline()
                expect(reply[:1] in (b"+", b":"), f"a command failed: {reply}")


def choose(part, value, event):
    return (f"(() => {{ const part = document.getElementById('{part}'); part.value = '{value}'; "
            f"part.dispatchEvent(new Event('{event}')); return true; }})()")


def first_row(cell):
    return f"{rows('rows')}[0]?.cells[{cell}].textContent"


def check(program, nodes, browser, clients):
    began = time.monotonic()
    planted = list(batches())
    for node in nodes.nodes:
        plant(node["url"], planted)
    print(f"  {time.monotonic() - began:4.1f} s  {LOCKS} locks and {WAITERS} waiters are planted on 5 nodes")
    timed(browser, "all are counted", shows("summary", f"{LOCKS} held, {WAITERS} waiting"))
    browser.until(f"{rows('rows')}.length === {ROWS} && {shows('shown', f'1 to {ROWS} of {LOCKS}')}")
    expect(browser.value(first_row(2)).startswith("web-0:812"), "the first holder is " + browser.value(first_row(2)))

    browser.value(choose("order", "waiters", "change"))
    timed(browser, "ordered by the number of waiters", f"{first_row(5)} === '{LONGEST_LINE}, next worker-0:7'")
    browser.value(choose("order", "held_for", "change"))
    timed(browser, "ordered by the time held", f"{first_row(0)} === '{name_of(LOCKS - 1)}'")
    browser.value("document.getElementById('next').click()")
    timed(browser, "the next page of the list", shows("shown", f"{ROWS + 1} to {2 * ROWS} of {LOCKS}"))
    browser.value(choose("filter", name_of(1234), "input"))
    timed(browser, "one of them by a filter", f"{rows('rows')}.length === 1 && {first_row(0)} === '{name_of(1234)}'")

    browser.value(f"location.hash = '#lock={urllib.parse.quote(name_of(0))}'")
    timed(browser, "the longest line", f"{rows('line')}.length === {ROWS} && "
          f"{shows('line-more', f'{LONGEST_LINE} in line; the first {ROWS} are shown')}")
    expect(browser.value(f"{rows('line')}[{ROWS - 1}].cells[1].textContent") == f"worker-{ROWS - 1}:7",
           "the line is not in its order")

    browser.value(choose("filter", "fresh", "input"))
    browser.until(f"{rows('rows')}.length === 0 && {shows('shown', '0 to 0 of 0')}")
    clients.append(Client(program, nodes, "run", "--ttl", "30s", "fresh:1", "--", "sh", "-c", "echo held; cat"))
    expect(clients[-1].line() == "held\n", "the lock was not had")
    timed(browser, "a lock more", f"{rows('rows')}.length === 1 && {shows('summary', f'{LOCKS + 1} held')}")
    nodes.kill(4)
    timed(browser, "a node is killed", shown_as_down(nodes.nodes[4]["url"]))

    tasks = "window.seen.tasks.length"
    before = browser.value(tasks)
    browser.value("setTimeout(() => { const ends = performance.now() + 100; while (performance.now() < ends) {} }) > 0")
    browser.until(f"{tasks} > {before}")  # proves that long tasks are noticed
    elements = browser.value("document.getElementsByTagName('*').length")
    seen = browser.value("window.seen")
    busy = seen["tasks"][:before]
    print(f"  the page has {elements} elements; the longest event has {seen['bytes']} characters; the page's thread was "
          f"busy for {max(busy, default=0):.0f} ms at most ({len(busy)} times 50 ms or more)")
    # There are some 12 elements for each row shown, and at most 400 characters for each lock or waiter of an event.
    expect(elements < 12 * 2 * ROWS + 500, f"the page has {elements} elements")
    expect(0 < seen["bytes"] < 400 * ROWS, f"the longest event has {seen['bytes']} characters")


# If the nodes take long to return such a long list of locks, the server asks for it less often: hence the patience.
in_chromium("crowd", check, WATCH, patience=400)
