"""Sections about cycles (an acquire and then a release) without faults."""

import re

from driver.run import FENCED, FLOOR, OURS, Rows, Run
from driver.text import spread, table

LOADS = (1, 16, 64, 256, 1024)

# What the plots call the contenders, and in which order: the default comes first.
WORDS = {FENCED: "with fencing tokens (default)", OURS: "without fencing tokens",
         FLOOR: "a bare client, without them"}
LATENCIES = ("acquire_p50_us", "acquire_p99_us", "release_p50_us", "release_p99_us")


def measure_cycles(run: Run) -> Rows:
    return run.bench(f"--rounds={run.given.rounds}", run.loads(*LOADS))


def show_cycles(run: Run, rows: Rows) -> None:
    print(f"### Cycles: acquire, then release ({rows.rounds()} rounds)\n")
    names = [name for name in WORDS if name in rows.names()]
    table(["in flight", "", "cycles/s", "client CPU us/cycle", "acquire us p50", "p99",
           "release us p50", "p99", "allocations/cycle"],
          [[load, name] + [spread(rows.of(what, contender=name, in_flight=load))
                           for what in ("cycles_per_s", "cpu_us", *LATENCIES, "allocations")]
           for load in LOADS for name in names])
    table(["ratio", "in flight", "acquire p50", "acquire p99", "release p50", "cycles/s", "client CPU"],
          [[words, load] + [spread(rows.ratios(what, name, other, in_flight=load))
                            for what in ("acquire_p50_us", "acquire_p99_us", "release_p50_us",
                                         "cycles_per_s", "cpu_us")]
           for words, name, other in (("plain / floor", OURS, FLOOR), ("fenced / plain", FENCED, OURS),
                                      ("fenced / floor", FENCED, FLOOR)) for load in LOADS])

    run.judge("acquire p50, plain / floor, 1 in flight",
              rows.ratios("acquire_p50_us", OURS, FLOOR, in_flight=1), 1.05)
    for load in (64, 256):
        def ratios(what: str, name: str, other: str) -> list[float]:
            return rows.ratios(what, name, other, in_flight=load)
        run.judge(f"cycles/s, plain / floor, {load} in flight", ratios("cycles_per_s", OURS, FLOOR),
                  0.9, at_most=False)
        run.judge(f"cycles/s, fenced / plain, {load} in flight", ratios("cycles_per_s", FENCED, OURS),
                  0.62, at_most=False)
        run.judge(f"cycles/s, fenced / floor, {load} in flight", ratios("cycles_per_s", FENCED, FLOOR),
                  0.8, at_most=False)
        run.judge(f"client CPU, plain / floor, {load} in flight", ratios("cpu_us", OURS, FLOOR), 1.5)
    for figure, name, title, unit in (
            ("cycles_per_s", "cycles", "Locks acquired and released, five nodes", "locks a second"),
            ("acquire_p50_us", "acquire-p50", "Acquire, median", "microseconds"),
            ("acquire_p99_us", "acquire-p99", "Acquire, 99 of 100 within", "microseconds"),
            ("cpu_us", "client-cpu", "The client's CPU to acquire and release", "microseconds a lock")):
        run.plot(name, title, unit,
                 {(load, words): rows.of(figure, contender=name, in_flight=load)
                  for load in LOADS for name, words in WORDS.items()},
                 log=figure != "cycles_per_s", along="locks in flight")


def measure_far(run: Run) -> Rows:
    return run.bench(f"--rounds={run.given.rounds}", run.loads(1),
                     f"--contenders={OURS}+far,{FENCED}+far")


def show_far(run: Run, rows: Rows) -> None:
    """All nodes are behind a proxy, which takes time itself."""
    print(f"### Nodes whose answers come 0.2 ms later, 1 in flight ({rows.rounds()} rounds)\n")
    plain, fenced = f"{OURS}+far", f"{FENCED}+far"
    table(["", "acquire us p50", "p99", "release us p50", "p99"],
          [[name] + [spread(rows.of(what, contender=name)) for what in LATENCIES]
           for name in (plain, fenced)] +
          [["fenced / plain"] + [spread(rows.ratios(what, fenced, plain)) for what in LATENCIES]])
    run.judge("acquire p50, fenced / plain, answers 0.2 ms later",
              rows.ratios("acquire_p50_us", fenced, plain), 1.1)


TLS_PLACES = {"": "five nodes", "@1": "one node"}


def measure_tls(run: Run) -> Rows:
    return run.bench(f"--rounds={run.given.rounds}", run.loads(1, 64),
                     "--contenders=" + ",".join(f"{FENCED}{place}{more}" for place in TLS_PLACES
                                                for more in ("", "+tls")))


def show_tls(run: Run, rows: Rows) -> None:
    """Compares each fenced contender with the same one over TLS. Five servers share the client's
    cores with it, so their part of TLS counts, too; with one node it hardly does."""
    print(f"### Over TLS / plain text, on as many nodes ({rows.rounds()} rounds)\n")
    table(["on", "in flight", "acquire p50", "cycles/s", "client CPU",
           "allocations/cycle without OpenSSL's"],
          [[words, load] + [
              spread(rows.ratios(what, f"{FENCED}{place}+tls", FENCED + place, in_flight=load))
              for what in ("acquire_p50_us", "cycles_per_s", "cpu_us")] +
           [spread(rows.of("allocations", contender=f"{FENCED}{place}+tls", in_flight=load))]
           for place, words in TLS_PLACES.items() for load in (1, 64)])
    for place, words in TLS_PLACES.items():
        run.judge(f"acquire p50 over TLS / plain text, {words}",
                  rows.ratios("acquire_p50_us", f"{FENCED}{place}+tls", FENCED + place, in_flight=1),
                  1.25)
    run.judge("cycles/s over TLS / plain text, 64 in flight",
              rows.ratios("cycles_per_s", f"{FENCED}+tls", FENCED, in_flight=64), 0.6, at_most=False)
    run.judge("allocations in a cycle over TLS, without OpenSSL's",
              [round(each, 1) for each in rows.of("allocations", contender=f"{FENCED}+tls")], 0)


PLACES = {"@1": "1 node", "@3": "3", "": "5", "@7": "7", "@9": "9", "@3x2": "2 groups of 3",
          "@3x3": "3 groups of 3", "+unix": "5, unix sockets", "+durable": "5, durable"}


def floor_of(place: str) -> str:
    """The floor on the same nodes. It has no groups, so groups are compared with it on one of them."""
    return FLOOR + re.sub(r"x\d+$", "", place)


def on(place: str) -> list[str]:
    return [kind + place for kind in (FLOOR, OURS, FENCED)
            if kind != FLOOR or floor_of(place) == FLOOR + place]


def measure_nodes(run: Run) -> Rows:
    return run.bench(f"--rounds={min(run.given.rounds, 5)}", run.loads(1, 64),
                     "--contenders=" + ",".join(name for place in PLACES for name in on(place)))


def show_nodes(run: Run, rows: Rows) -> None:
    print(f"### On other nodes ({rows.rounds()} rounds; / floor: on the same nodes, of groups: on "
          "one of them)\n")
    shown = []
    for place, words in PLACES.items():
        for name in on(place):
            floor = floor_of(place)
            shown.append([words, name.removesuffix(place),
                          spread(rows.of("acquire_p50_us", contender=name, in_flight=1)),
                          spread(rows.ratios("acquire_p50_us", name, floor, in_flight=1)),
                          spread(rows.of("cycles_per_s", contender=name, in_flight=64)),
                          spread(rows.ratios("cycles_per_s", name, floor, in_flight=64)),
                          spread(rows.ratios("cpu_us", name, floor, in_flight=64)),
                          spread(rows.of("script_us", contender=name, in_flight=64)),
                          spread(rows.of("command_us", contender=name, in_flight=64))])
    table(["on", "", "acquire us p50, 1 in flight", "/ floor", "cycles/s, 64 in flight", "/ floor",
           "client CPU / floor", "scripts us a node and cycle", "commands"], shown)
    run.judge("a release on a node, us, 64 in flight, one node",
              rows.of("script_us", contender=f"{OURS}@1", in_flight=64), 0.95)
    run.judge("a fenced cycle on a node, us, 64 in flight, one node",
              rows.of("script_us", contender=f"{FENCED}@1", in_flight=64), 3.7)
    for figure, load, name, title, unit in (
            ("acquire_p50_us", 1, "nodes-acquire", "Acquire, median, 1 in flight", "us"),
            ("cycles_per_s", 64, "nodes-cycles", "Cycles per second, 64 in flight", "cycles/s")):
        run.plot(name, title, unit,
                 {(PLACES[place], WORDS[kind]): rows.of(figure, contender=kind + place, in_flight=load)
                  for place in PLACES for kind in (FENCED, OURS, FLOOR)
                  if kind + place in on(place)}, log=True, along="nodes")


WATCHED = f"{OURS}_watched"


def measure_watched(run: Run) -> Rows:
    return run.bench(f"--rounds={run.given.rounds}", run.loads(1, 64),
                     f"--contenders={OURS},{WATCHED}")


def show_watched(run: Run, rows: Rows) -> None:
    """What events, classes and metrics that are read cost."""
    print(f"### With events and metrics / without them ({rows.rounds()} rounds)\n")
    table(["in flight", "acquire p50", "release p50", "cycles/s", "client CPU"],
          [[load] + [spread(rows.ratios(what, WATCHED, OURS, in_flight=load))
                     for what in ("acquire_p50_us", "release_p50_us", "cycles_per_s", "cpu_us")]
           for load in (1, 64)])
    run.judge("acquire p50 with events and metrics / without, 1 in flight",
              rows.ratios("acquire_p50_us", WATCHED, OURS, in_flight=1), 1.02)
    run.judge("cycles/s with events and metrics / without, 64 in flight",
              rows.ratios("cycles_per_s", WATCHED, OURS, in_flight=64), 0.98, at_most=False)


KINDS = {FENCED: "fenced", "quorumlock_ordered": "ordered", "quorumlock_shared": "shared",
         "quorumlock_pair": "two at once", "quorumlock_permit": "permit"}


def measure_kinds(run: Run) -> Rows:
    return run.bench(f"--rounds={run.given.rounds}", run.loads(1, 64),
                     f"--contenders={','.join(KINDS)}")


def show_kinds(run: Run, rows: Rows) -> None:
    print(f"### Other kinds / the fenced lock ({rows.rounds()} rounds)\n")
    table(["kind", "acquire p50, 1 in flight", "release p50", "cycles/s, 64 in flight",
           "client CPU, 64 in flight"],
          [[words] + [spread(rows.ratios(what, name, FENCED, in_flight=load))
                      for load, what in ((1, "acquire_p50_us"), (1, "release_p50_us"),
                                         (64, "cycles_per_s"), (64, "cpu_us"))]
           for name, words in KINDS.items() if name != FENCED])
    run.plot("kinds", "Cycles per second, 64 in flight, by kind of lock", "cycles/s",
             {(words, "cycles/s"): rows.of("cycles_per_s", contender=name, in_flight=64)
              for name, words in KINDS.items()})
