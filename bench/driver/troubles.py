"""Sections about faults, crowds of waiters and arrivals."""

from driver.run import FENCED, FLOOR, OURS, Rows, Run
from driver.text import spread, table

FAULTS = ("slow", "stopped", "dead", "flapping")


def faults(run: Run) -> Rows:
    print(f"## One node of five in trouble ({run.given.pairs} pairs of runs at 1 in flight)\n\n"
          "slow: by 100 ms; stopped: SIGSTOP; dead: its connections are reset; flapping: dead every "
          "other 300 ms.\n")
    rows = Rows()
    for fault in FAULTS:
        # The floor does not reconnect.
        names = [OURS, FENCED] if fault in ("dead", "flapping") else [FLOOR, OURS, FENCED]
        rows += run.bench(f"--fault={fault}", f"--pairs={run.given.pairs}",
                          f"--contenders={','.join(names)}")
    shown, plotted = [], {}
    for fault in FAULTS:
        for name in (FLOOR, OURS, FENCED):
            where = {"fault": fault, "contender": name}
            ratios = [hit / healthy for hit, healthy in zip(rows.of("hit_p99_us", **where),
                                                            rows.of("healthy_p99_us", **where))]
            if not ratios:
                continue
            plotted[fault, name] = ratios
            shown.append([fault, name, spread(rows.of("healthy_p99_us", **where)),
                          spread(rows.of("hit_p99_us", **where)), spread(ratios),
                          f"{max(rows.of('hit_max_us', **where)) / 1000:.1f}"])
            if name == OURS:
                run.judge(f"acquire p99, one node {fault} / healthy", ratios, 1.2)
    table(["the node is", "client", "acquire p99 us, healthy", "in trouble", "ratio of a pair",
           "longest acquire ms (node_timeout: 500)"], shown)
    run.plot("faults", "Acquire p99 with one node of five in trouble, / healthy", "ratio", plotted,
             mark=1.2)
    return rows


def hand_over(run: Run) -> Rows:
    rounds = min(run.given.rounds, 5)
    print(f"## One lock that many wait for ({rounds} rounds of 1 s)\n\nArrangements: how the waiters "
          "are dealt to coordinators, which stand for processes.\n")
    rows = run.bench(f"--hand-over={rounds}")
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
    return rows


def start_up(run: Run) -> Rows:
    rounds = 5 * run.given.rounds
    print(f"## Start-up: from nothing to the first cycle, nodes that are there ({rounds} rounds)\n")
    rows = run.bench(f"--start-up={rounds}")
    table(["client", "ms", "/ floor"],
          [[name, spread(rows.of("first_cycle_ms", contender=name)),
            spread(rows.ratios("first_cycle_ms", name, FLOOR))] for name in rows.names()])
    return rows


def storm(run: Run) -> Rows:
    clients = 10 if run.given.smoke else 1000
    rounds = min(run.given.rounds, 5)
    print(f"## A durable node returns after a crash, and {clients} clients with it ({rounds} "
          "rounds)\n\nAll clients are coordinators of one process and thread, in which the one who "
          "measures waits for them too.\n")
    rows = run.bench(f"--storm={rounds}", f"--clients={clients}")
    table(["until it answers, ms", "half are back", "all are back", "acquire us of one more client, "
           "calm p50", "in the storm p50", "p99", "refused"],
          [[spread(rows.of(what)) for what in (
              "restarted_ms", "half_ms", "all_ms", "calm_p50_us", "storm_p50_us", "storm_p99_us",
              "refused")]])
    return rows
