#!/usr/bin/env python3
"""The live page of `quorumlock serve`, in a real Chromium, on five real nodes.

The page has to show the nodes, a lock with its holder and its waiters, and a node that dies, without an error on
the console; and what a keyboard and a screen reader need has to be there. Skipped, with the reason, if Chromium is
not installed.

    page_test.py PROGRAM
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from page.live import Client, expect, in_chromium, rows, shown_as_down, shows, text, timed  # noqa: E402

RESOURCE = "orders:42"


def check_landmarks(browser):
    """Checks the landmarks, by which a screen reader finds its way."""
    found = list(browser.accessible())
    roles = [role for role, _, _ in found]
    for role in ("banner", "main"):
        expect(roles.count(role) == 1, f"there are {roles.count(role)} landmarks {role}")
    regions = {name for role, name, _ in found if role == "region"}
    expect({"Nodes", "Findings", "Locks"} <= regions, f"the regions are called {regions}")
    headings = [(properties.get("level"), name) for role, name, properties in found if role == "heading"]
    expect([name for level, name in headings if level == 1] == ["quorumlock"], f"the headings are {headings}")
    for (before, _), (level, name) in zip(headings, headings[1:]):
        expect(level <= before + 1, f"the heading {name} skips a level")
    for role in ("searchbox", "combobox", "button", "link", "table", "image"):
        names = [name for found_role, name, _ in found if found_role == role]
        expect(names and all(names), f"the names of {role} are {names}")
    live = [properties for role, _, properties in found if role == "status"]
    expect(len(live) == 2 and all(each.get("live") == "polite" for each in live), f"status is {live}")
    for role in ("columnheader", "rowheader"):
        expect(role in roles, f"no table has a {role}")
    expect(browser.value("document.documentElement.lang") == "en", "the page has no language")


def check_colours(browser):
    """Checks that text can be read in light and dark: a contrast of 4.5 to 1 or more (WCAG AA)."""

    def luminance(colour):
        parts = [int(part) / 255 for part in colour[colour.index("(") + 1:-1].split(",")[:3]]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    backs = set()
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        back = browser.value("getComputedStyle(document.body).backgroundColor")
        backs.add(back)
        for part in ("body", "a[href^='#lock=']", "caption", ".bad", "#verdict"):
            colour = browser.value(f"getComputedStyle(document.querySelector({json.dumps(part)})).color")
            lighter, darker = sorted((luminance(colour), luminance(back)), reverse=True)
            contrast = (lighter + 0.05) / (darker + 0.05)
            expect(contrast >= 4.5, f"{part} has a contrast of {contrast:.1f} in {scheme}")
    expect(len(backs) == 2, "light and dark have the same background")


def check_phone(browser):
    """Checks that nothing is cut on a phone: each cell of a table is within the screen, and has its column's name."""
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    outside = browser.value("[...document.querySelectorAll('tbody td, tbody th')].filter((cell) => "
                            "cell.getBoundingClientRect().right > 390).length")
    expect(outside == 0, f"{outside} cells are cut on a phone")
    label = browser.value("getComputedStyle(document.querySelector('#nodes td'), '::before').content")
    expect("Votes" in label, f"the cell of the votes is called {label}")
    browser.call("Emulation.clearDeviceMetricsOverride")


def reach_by_tab(browser):
    """Goes through the page by Tab up to the lock's link; returns what had the focus."""
    reached = []
    while not reached or reached[-1] != RESOURCE:
        browser.press("Tab", 9)
        reached.append(browser.value("document.activeElement.id || document.activeElement.textContent"))
        expect(len(reached) < 20, f"Tab does not reach the lock, but {reached}")
    return reached


def check(program, nodes, browser, clients):
    # The command prints a line once the lock is held, and works until its input ends.
    holder = Client(program, nodes, "run", "--ttl", "10s", RESOURCE, "--", "sh", "-c", "echo held; cat")
    clients.append(holder)
    expect(holder.line() == "held\n", "the lock was not had")
    clients += [Client(program, nodes, "acquire", "--wait", "forever", RESOURCE) for _ in range(3)]
    label = f":{holder.process.pid}:sh"

    timed(browser, "the five nodes are shown as voters",
          f"{rows('nodes')}.filter((row) => row.cells[1].textContent === 'yes').length === 5")
    expect(browser.value(shows("verdict", "Locks can be had: 5 of 5")), "the verdict is " + browser.value(text("verdict")))
    timed(browser, "the lock is shown with its holder and three waiters",
          f"{rows('rows')}.some((row) => row.cells[0].textContent === '{RESOURCE}' && "
          f"row.cells[2].textContent.includes('{label}') && row.cells[5].textContent.startsWith('3, next '))")
    check_landmarks(browser)

    reached = reach_by_tab(browser)
    expect(reached[0] == "Skip to the locks" and {"filter", "order"} <= set(reached), f"Tab reaches {reached}")
    browser.press("Enter", 13, "\r")
    timed(browser, "the lock's line is shown", f"{rows('line')}.length === 3 && {shows('lock-state', label)}")
    expect(browser.value("document.activeElement.id") == "lock-heading", "the lock has not got the focus")
    check_landmarks(browser)

    killed = nodes.nodes[3]["url"]
    nodes.kill(3)
    timed(browser, "a node is killed, and is shown as down",
          f"{shown_as_down(killed)} && {shows('verdict', '4 of 5')}")
    timed(browser, "the finding and its remedy are shown",
          f"{shows('doctor', killed)} && {shows('doctor', 'Remedy: ')}")
    check_colours(browser)
    tone = "document.getElementById('headline').className"
    expect(browser.value(f"{tone} === 'green' && {shows('to-do', 'start it')}"), "one node may be down")
    nodes.kill(4)
    timed(browser, "no vote is to spare, and the headline is yellow and says what to do",
          f"{tone} === 'yellow' && {shows('verdict', 'Locks can be had, and no vote is to spare: 3 of 5')} && "
          f"{shows('wrong', killed)} && {shows('to-do', 'restart no other node')}")
    expect(browser.value("document.querySelector('#votes').lastElementChild.className.baseVal") == "quorum",
           "the quorum's line is not the last that is drawn")
    check_phone(browser)

    holder.end()
    timed(browser, "the holder ends, and the next one is shown",
          f"{rows('line')}.length === 2 && !{shows('lock-state', label)} && {shows('lock-state', 'held by ')}")
    expect(browser.value("document.getElementById('history').childElementCount") >= 2, "there is no history")
    browser.value("document.getElementById('filter').focus()")
    for letter in "none":
        browser.press(letter, ord(letter.upper()), letter)
    timed(browser, "a filter that nothing matches empties the list", f"{rows('rows')}.length === 0")
    clients.append(Client(program, nodes, "acquire", "--ttl", "30s", "none\u202egpj"))
    timed(browser, "a name cannot turn the direction of its line",
          f"{rows('rows')}.some((row) => row.cells[0].textContent === 'none\\\\u202egpj')")


in_chromium("page", check)
