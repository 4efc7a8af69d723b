"""Sections about cycles (an acquire and then a release) without faults."""

import re

from driver.run import FENCED, FLOOR, OURS, Rows, Run
from driver.text import spread, table

LOADS = (1, 16, 64, 256)
QUANTILES = ("p50", "p99", "p999")


# What the plots call the contenders, and in which order: the default comes first.
WORDS = {FENCED: "with fencing tokens (default)", OURS: "without fencing tokens",
         FLOOR: "a bare client, without them"}


def latencies(rows: Rows, what: str, **where) -> list[str]:
    return [spread(rows.of(f"{what}_{quantile}_us", **where)) for quantile in QUANTILES]


def cycles(run: Run) -> Rows:
    print(f"## Cycles: acquire, then release ({run.given.rounds} rounds, median and middle half)\n")
    rows = run.bench(f"--rounds={run.given.rounds}", run.loads(*LOADS))
    names = rows.names()
    shown = []
    for load in LOADS:
        for name in names:
            where = {"contender": name, "in_flight": load}
            shown.append([load, name, spread(rows.of("cycles_per_s", **where)),
                          spread(rows.of("cpu_us", **where)), *latencies(rows, "acquire", **where),
                          *latencies(rows, "release", **where),
                          spread(rows.of("allocations", **where))])
    table(["in flight", "client", "cycles/s", "CPU us/cycle", "acquire us p50", "p99", "p99.9",
           "release us p50", "p99", "p99.9", "allocations/cycle"], shown)

    shown = []
    for what, name, other in (("quorumlock / floor", OURS, FLOOR), ("fenced / plain", FENCED, OURS)):
        for load in LOADS:
            shown.append([what, load] + [
                spread(rows.ratios(figure, name, other, in_flight=load))
                for figure in ("acquire_p50_us", "acquire_p99_us", "release_p50_us", "cycles_per_s",
                               "cpu_us")])
    table(["", "in flight", "acquire p50", "acquire p99", "release p50", "cycles/s", "client CPU"],
          shown)

    run.judge("acquire p50 / floor, 1 in flight",
              rows.ratios("acquire_p50_us", OURS, FLOOR, in_flight=1), 1.05)
    for load in (64, 256):
        run.judge(f"cycles/s / floor, {load} in flight",
                  rows.ratios("cycles_per_s", OURS, FLOOR, in_flight=load), 0.9, at_most=False)
        run.judge(f"client CPU / floor, {load} in flight",
                  rows.ratios("cpu_us", OURS, FLOOR, in_flight=load), 2)
    run.judge("fenced acquire p50 / plain, 1 in flight",
              rows.ratios("acquire_p50_us", FENCED, OURS, in_flight=1), 1.6)
    run.judge("fenced cycles/s / plain, 256 in flight",
              rows.ratios("cycles_per_s", FENCED, OURS, in_flight=256), 0.35, at_most=False)
    for figure, name, title, unit in (
            ("cycles_per_s", "cycles", "Locks acquired and released, five nodes", "locks a second"),
            ("acquire_p50_us", "acquire-p50", "Acquire, median", "microseconds"),
            ("acquire_p99_us", "acquire-p99", "Acquire, 99 of 100 within", "microseconds"),
            ("cpu_us", "client-cpu", "The client's CPU to acquire and release", "microseconds a lock")):
        run.plot(name, title, unit,
                 {(load, words): rows.of(figure, contender=name, in_flight=load)
                  for load in LOADS for name, words in WORDS.items() if name in names},
                 log=figure != "cycles_per_s", along="locks in flight")
    return rows


def tls(run: Run) -> Rows:
    """Compares each fenced contender with the same one over TLS. Five servers share the client's
    cores with it, so their part of TLS counts, too; with one node it hardly does."""
    print(f"## Over TLS ({run.given.rounds} rounds; / plain text: on the same number of nodes)\n")
    places = ("", "@1")
    rows = run.bench(f"--rounds={run.given.rounds}", run.loads(1, 64),
                     "--contenders=" + ",".join(f"{FENCED}{place}{more}" for place in places
                                                for more in ("", "+tls")))
    shown = []
    for place in places:
        for load in (1, 64):
            name = f"{FENCED}{place}+tls"
            shown.append([name, load] + [
                spread(rows.ratios(what, name, FENCED + place, in_flight=load))
                for what in ("acquire_p50_us", "cycles_per_s", "cpu_us")] +
                [spread(rows.of("allocations", contender=name, in_flight=load))])
    table(["client", "in flight", "acquire p50 / plain text", "cycles/s /", "client CPU /",
           "allocations/cycle without OpenSSL's"], shown)
    for place, words in (("", "five nodes"), ("@1", "one node")):
        run.judge(f"acquire p50 over TLS / plain text, {words}",
                  rows.ratios("acquire_p50_us", f"{FENCED}{place}+tls", FENCED + place, in_flight=1),
                  1.25)
    run.judge("cycles/s over TLS / plain text, 64 in flight",
              rows.ratios("cycles_per_s", f"{FENCED}+tls", FENCED, in_flight=64), 0.6, at_most=False)
    run.judge("allocations in a cycle over TLS, without OpenSSL's",
              [round(each, 1) for each in rows.of("allocations", contender=f"{FENCED}+tls")], 0)
    return rows


def nodes(run: Run) -> Rows:
    """Compares each contender with the floor on the same nodes. The floor has no groups, so a
    contender with groups is compared with the floor on one of them."""
    print(f"## On other nodes ({run.given.rounds} rounds; / floor: on the same nodes, of groups: on "
          "one of them)\n")
    places = ["@1", "@3", "", "@7", "@3x2", "@3x3", "+unix", "+durable"]
    floors = {place: FLOOR + re.sub(r"x\d+$", "", place) for place in places}
    ours = {place: [kind + place for kind in (FLOOR, OURS, FENCED)
                    if kind != FLOOR or floors[place] == FLOOR + place] for place in places}
    rows = run.bench(f"--rounds={run.given.rounds}", run.loads(1, 64),
                     "--contenders=" + ",".join(name for names in ours.values() for name in names))
    shown = []
    for place, names in ours.items():
        floor = floors[place]
        for name in names:
            shown.append([name, *latencies(rows, "acquire", contender=name, in_flight=1),
                          spread(rows.ratios("acquire_p50_us", name, floor, in_flight=1)),
                          spread(rows.of("cycles_per_s", contender=name, in_flight=64)),
                          spread(rows.ratios("cycles_per_s", name, floor, in_flight=64)),
                          spread(rows.ratios("cpu_us", name, floor, in_flight=64))])
    table(["client", "acquire us p50, 1 in flight", "p99", "p99.9", "p50 / floor",
           "cycles/s, 64 in flight", "/ floor", "client CPU / floor"], shown)
    words = {"@1": "1 node", "@3": "3", "": "5", "@7": "7", "@3x2": "2 groups of 3",
             "@3x3": "3 groups of 3", "+unix": "5, unix sockets",
             "+durable": "5, durable"}
    for figure, load, name, title, unit in (
            ("acquire_p50_us", 1, "nodes-acquire", "Acquire, median, 1 in flight", "us"),
            ("cycles_per_s", 64, "nodes-cycles", "Cycles per second, 64 in flight", "cycles/s")):
        run.plot(name, title, unit,
                 {(words[place], WORDS[kind]): rows.of(figure, contender=kind + place, in_flight=load)
                  for place in places for kind in (FENCED, OURS, FLOOR)
                  if kind + place in ours[place]}, log=True, along="nodes")
    return rows


def watched(run: Run) -> Rows:
    """Measures what events, classes and metrics that are read cost, compared with none of them."""
    print(f"## With events and metrics ({run.given.rounds} rounds; / quorumlock: without them)\n")
    name = f"{OURS}_watched"
    rows = run.bench(f"--rounds={run.given.rounds}", run.loads(1, 64), f"--contenders={OURS},{name}")
    table(["in flight", "acquire p50 / quorumlock", "release p50 /", "cycles/s /", "client CPU /"],
          [[load] + [spread(rows.ratios(what, name, OURS, in_flight=load))
                     for what in ("acquire_p50_us", "release_p50_us", "cycles_per_s", "cpu_us")]
           for load in (1, 64)])
    run.judge("acquire p50 with events and metrics / without, 1 in flight",
              rows.ratios("acquire_p50_us", name, OURS, in_flight=1), 1.02)
    run.judge("cycles/s with events and metrics / without, 64 in flight",
              rows.ratios("cycles_per_s", name, OURS, in_flight=64), 0.98, at_most=False)
    return rows


def kinds(run: Run) -> Rows:
    print(f"## Locks of other kinds beside the fenced one ({run.given.rounds} rounds)\n")
    names = [FENCED] + [f"quorumlock_{kind}" for kind in ("ordered", "shared", "pair", "permit")]
    rows = run.bench(f"--rounds={run.given.rounds}", run.loads(1, 64),
                     f"--contenders={','.join(names)}")
    shown = []
    for name in names:
        shown.append([name, *latencies(rows, "acquire", contender=name, in_flight=1),
                      spread(rows.of("cycles_per_s", contender=name, in_flight=64))] + [
            spread(rows.ratios(what, name, FENCED, in_flight=load))
            for load, what in ((1, "acquire_p50_us"), (1, "release_p50_us"), (64, "cycles_per_s"),
                               (64, "cpu_us"))])
    table(["kind", "acquire us p50, 1 in flight", "p99", "p99.9", "cycles/s, 64",
           f"acquire p50 / {FENCED}", "release p50 /", "cycles/s, 64 /", "client CPU, 64 /"], shown)
    run.plot("kinds", "Cycles per second, 64 in flight, by kind of lock", "cycles/s",
             {(name.removeprefix("quorumlock_"), "cycles/s"):
              rows.of("cycles_per_s", contender=name, in_flight=64) for name in names})
    return rows
