"""Sections about faults, crowds of waiters and arrivals."""

import contextlib
import subprocess
import sys

from driver.cycles import WORDS
from driver.run import FENCED, FLOOR, OURS, Rows, Run
from driver.text import spread, table

FAULTS = ("slow", "stopped", "dead", "flapping")


def measure_faults(run: Run) -> Rows:
    rows = Rows()
    for fault in FAULTS:
        # The floor does not reconnect.
        names = [OURS, FENCED] if fault in ("dead", "flapping") else [FLOOR, OURS, FENCED]
        rows += run.bench(f"--fault={fault}", f"--pairs={run.given.pairs}",
                          f"--contenders={','.join(names)}")
    return rows


def show_faults(run: Run, rows: Rows) -> None:
    print(f"### One node of five in trouble ({rows.rounds('pair')} pairs of runs at 1 in flight)\n\n"
          "slow: by 100 ms; stopped: SIGSTOP; dead: its connections are reset; flapping: dead every "
          "other 300 ms.\n")
    shown, plotted = [], {}
    for fault in FAULTS:
        for name in (FENCED, OURS, FLOOR):
            where = {"fault": fault, "contender": name}
            ratios = [hit / healthy for hit, healthy in zip(rows.of("hit_p99_us", **where),
                                                            rows.of("healthy_p99_us", **where))]
            if not ratios:
                continue
            plotted[fault, WORDS[name]] = ratios
            shown.append([fault, name, spread(rows.of("healthy_p99_us", **where)),
                          spread(rows.of("hit_p99_us", **where)), spread(ratios),
                          f"{max(rows.of('hit_max_us', **where)) / 1000:.1f}"])
            if name == OURS:
                run.judge(f"acquire p99, one node {fault} / healthy", ratios, 1.2)
    table(["the node is", "", "acquire p99 us, healthy", "in trouble", "ratio of a pair",
           "longest acquire ms (node_timeout: 500)"], shown)
    run.plot("faults", "Acquire p99 with one node of five in trouble, / healthy", "ratio", plotted,
             mark=1.2)


def measure_hand_over(run: Run) -> Rows:
    return run.bench(f"--hand-over={min(run.given.rounds, 5)}")


def show_hand_over(run: Run, rows: Rows) -> None:
    print(f"### One lock that many wait for ({rows.rounds()} rounds of 1 s)\n\nArrangements: how the "
          "waiters are dealt to coordinators, which stand for processes.\n")
    keys = list(dict.fromkeys((row["arrangement"], row["waiters"]) for row in rows))
    figures = ("hand_overs_per_s", "ratio", "jain", "commands_per_hand_over", "longest_ms")
    table(["arrangement", "waiters", "hand-overs/s", "/ cycles/s alone", "fairness (Jain)",
           "commands/hand-over", "longest between two, ms"],
          [[arrangement, waiters] + [spread(rows.of(what, arrangement=arrangement, waiters=waiters))
                                     for what in figures] for arrangement, waiters in keys])
    run.judge("hand-overs/s / cycles/s alone, 64 waiters, each a process",
              rows.of("ratio", arrangement="each its own", waiters=64), 0.5, at_most=False)
    run.judge("fairness of 64 waiters, each a process",
              rows.of("jain", arrangement="each its own", waiters=64), 0.99, at_most=False)
    run.plot("hand-over", "Hand-overs of one lock per second", "hand-overs/s",
             {(waiters, arrangement): rows.of("hand_overs_per_s", arrangement=arrangement,
                                              waiters=waiters)
              for arrangement, waiters in sorted(keys, key=lambda key: key[1])}, log=True, along="waiters")


BUSY_LOOPS = 3


@contextlib.contextmanager
def busy_loops(count: int):
    """Runs so many processes that do nothing, as fast as they can. They end by themselves after ten minutes."""
    idle = "import time\nend = time.monotonic() + 600\nwhile time.monotonic() < end: pass"
    loops = [subprocess.Popen([sys.executable, "-c", idle]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def measure_crowds(run: Run) -> Rows:
    crowds = ((20, 1), (20, 20)) if run.given.smoke else \
             ((1000, 1), (1000, 100), (1000, 1000)) if run.short else \
             ((1000, 1), (1000, 100), (1000, 1000), (20_000, 1), (20_000, 100), (20_000, 20_000),
              (100_000, 100_000))
    rounds = min(run.given.rounds, 3)
    rows = Rows()
    for busy in (0,) if run.given.smoke else (0, BUSY_LOOPS):
        with busy_loops(busy):
            seen = run.bench(f"--rounds={rounds if busy == 0 else 1}", "--crowd=" +
                             ",".join(f"{waiters}:{names}" for waiters, names in crowds))
        rows += [row | {"busy_loops": busy} for row in seen]
    return rows


def show_crowds(run: Run, rows: Rows) -> None:
    print("### Crowds: everybody asks at the same moment, in one process, and gives back at once "
          f"({rows.rounds()} rounds; beside {BUSY_LOOPS} busy loops: 1)\n")
    keys = list(dict.fromkeys((row["waiters"], row["names"], row["busy_loops"]) for row in rows))
    shown = []
    for waiters, names, busy in keys:
        where = {"waiters": waiters, "names": names, "busy_loops": busy}
        shown.append([waiters, names, busy] + [
            spread(rows.of(what, **where)) for what in
            ("served_s", "hand_overs_per_s", "ratio", "jain", "cpu_us", "server_us", "longest_ms")])
        if (waiters, names) == (20_000, 20_000):
            run.judge("20,000 waiters of 20,000 locks, served, s" +
                      (f", beside {busy} busy loops" if busy else ""),
                      rows.of("served_s", **where), 10 if busy else 2)
        if (waiters, names, busy) == (20_000, 1, 0):
            run.judge("20,000 waiters of one lock, hand-overs/s / cycles/s alone",
                      rows.of("ratio", **where), 0.8, at_most=False)
            run.judge("fairness of 20,000 waiters of one lock", rows.of("jain", **where), 1,
                      at_most=False)
    table(["waiters", "locks", "busy loops", "all served after s", "turns/s", "/ cycles/s alone",
           "fairness (Jain)", "client CPU us/turn", "all servers' CPU us/turn",
           "longest between two, ms"], shown)


def measure_start_up(run: Run) -> Rows:
    return run.bench(f"--start-up={5 * run.given.rounds}")


def show_start_up(run: Run, rows: Rows) -> None:
    print(f"### Start-up: from nothing to the first cycle, nodes that are there ({rows.rounds()} "
          "rounds)\n")
    table(["", "ms", "/ floor"],
          [[name, spread(rows.of("first_cycle_ms", contender=name)),
            spread(rows.ratios("first_cycle_ms", name, FLOOR))] for name in rows.names()])


def measure_storm(run: Run) -> Rows:
    clients = 10 if run.given.smoke else 1000
    return run.bench(f"--storm={min(run.given.rounds, 5)}", f"--clients={clients}")


def show_storm(run: Run, rows: Rows) -> None:
    print(f"### A durable node returns after a crash, and {rows[0]['clients']} clients with it "
          f"({rows.rounds()} rounds)\n\nAll clients are coordinators of one process and thread, in "
          "which the one who measures waits for them too.\n")
    table(["until it answers, ms", "half are back", "all are back", "acquire us of one more client, "
           "calm p50", "in the storm p50", "p99", "refused"],
          [[spread(rows.of(what)) for what in (
              "restarted_ms", "half_ms", "all_ms", "calm_p50_us", "storm_p50_us", "storm_p99_us",
              "refused")]])
