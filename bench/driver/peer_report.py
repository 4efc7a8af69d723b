"""The tables of bench/peers."""

import argparse
import statistics

from driver.peer_contenders import Contender
from driver.peer_turns import IN_FLIGHT
from driver.text import short, table

OURS = "quorumlock_fenced"


def spread(values: list[float | None]) -> str:
    """The median and the range of a few values, as text."""
    there = [value for value in values if value is not None]
    if not there:
        return ""
    middle = short(statistics.median(there))
    return middle if len(there) < 2 else f"{middle} ({short(min(there))}-{short(max(there))})"


def report(given: argparse.Namespace, present: list[Contender], rows: list[dict]) -> None:
    def of(name: str, kind: str, waiters: int) -> dict[int, dict]:
        return {row["round"]: row for row in rows
                if (row["contender"], row["kind"], row["waiters"]) == (name, kind, waiters)}

    def ratios(some: dict[int, dict], what: str, others: dict[int, dict], other: str) -> list:
        return [row[what] / others[round_][other] for round_, row in some.items()
                if round_ in others and row[what] is not None and others[round_][other]]

    def in_median_cycles(some: dict[int, dict], others: dict[int, dict]) -> list:
        return [row["handovers_per_s"] * others[round_]["cycle_p50_us"] / 1e6
                for round_, row in some.items()
                if round_ in others and others[round_]["cycle_p50_us"]]

    def column(some: dict[int, dict], what: str) -> list:
        return [row[what] for row in some.values()]

    print(f"## Contended: {given.processes} processes share the waiters of one lock "
          f"({given.rounds} rounds of {given.seconds:g} s)\n")
    shown = []
    for waiters in given.waiters:
        for contender in present:
            mine, alone = of(contender.name, "shared", waiters), of(contender.name, "shared", 1)
            sent, called = [], []
            for row in mine.values():
                per = row["handovers_per_s"] * row["seconds"]
                # Calls are counted until the last waiter has stopped.
                per *= row["all_grants"] / row["grants"] if row["grants"] else 1
                if row["calls"] and per:
                    sent.append(sum(n for name, n in row["calls"].items()
                                    if name in contender.sends) / per)
                    called.append(sum(row["calls"].values()) / per)
            shown.append([waiters, contender.name, spread(column(mine, "handovers_per_s")),
                          spread(ratios(mine, "handovers_per_s", alone, "grants_per_s")),
                          spread(in_median_cycles(mine, alone)),
                          spread(column(mine, "grants_per_s")),
                          spread(column(mine, "fairness")),
                          f"{statistics.median(column(mine, 'had_none')):g}" if mine else "",
                          spread([row["wait_p50_us"] and row["wait_p50_us"] / 1000
                                  for row in mine.values()]),
                          spread([row["wait_max_us"] and row["wait_max_us"] / 1000
                                  for row in mine.values()]),
                          spread(sent), spread(called)])
    table(["waiters", "client", "hand-overs/s", "/ cycles/s alone", "x median cycle", "grants/s",
           "fairness (Jain)", "had none", "wait p50 ms", "longest ms", "requests/hand-over",
           "commands/hand-over"], shown)

    print(f"## Uncontended: one client with {IN_FLIGHT} locks in flight, and with one alone\n")
    shown = []
    our_many, our_alone = of(OURS, "own", IN_FLIGHT), of(OURS, "shared", 1)
    for contender in present:
        many, alone = of(contender.name, "own", IN_FLIGHT), of(contender.name, "shared", 1)
        shown.append([contender.name, spread(column(many, "grants_per_s")),
                      spread(ratios(many, "grants_per_s", our_many, "grants_per_s")),
                      spread(column(alone, "grants_per_s")),
                      spread(column(alone, "wait_p50_us")),
                      spread(ratios(alone, "wait_p50_us", our_alone, "wait_p50_us"))])
    table(["client", f"cycles/s, {IN_FLIGHT} in flight", f"/ {OURS}", "cycles/s alone",
           "acquire p50 us alone", f"/ {OURS}"], shown)

    for what, meaning in (("overlaps", "grants while another waiter still had the lock"),
                          ("failed", "acquisitions that gave up or releases that failed")):
        found = {contender.name: sum(row[what] for row in rows
                                     if row["contender"] == contender.name
                                     and (row["kind"] == "shared" or what == "failed"))
                 for contender in present}
        print(f"{meaning}: " + (", ".join(f"{name} {count}" for name, count in found.items()
                                          if count) or "none"))
