"""Sections about other locks, which bench/peers measures, and about how cost grows, which shows other sections' rows."""

import json
import pathlib
import subprocess
import sys
import tempfile

from driver.place import ROOT
from driver.run import FENCED, FLOOR, Rows, Run
from driver.svg import label
from driver.text import spread, table

PLAIN = "quorumlock_plain"
KEPT = ("contender", "kind", "waiters", "round", "handovers_per_s", "grants_per_s", "fairness",
        "wait_p50_us", "overlaps", "failed")


def measure_peers(run: Run) -> Rows:
    with tempfile.TemporaryDirectory() as directory:
        written = pathlib.Path(directory) / "peers.json"
        command = [str(ROOT / "bench/peers"), "--json", str(written),
                   "--build", str(run.given.bench.resolve().parent.parent),
                   *(["--quick"] if run.short else []),
                   *(["--install"] if run.given.install else [])]
        if subprocess.run(command, stdout=sys.stderr).returncode != 0:
            print("skipped: bench/peers did not end well\n")
            return Rows()
        result = json.loads(written.read_text())
    run.about |= result["machine"]
    return Rows({key: row[key] for key in KEPT} for row in result["turns"])


def show_peers(run: Run, rows: Rows) -> None:
    about = run.about
    print(f"### Other locks ({rows.rounds()} rounds)\n\nredlock {about['redlock4']} and "
          f"{about['redlock5']} on ioredis {about['ioredis']} and node {about['node']}, etcd "
          f"{about['etcd']}, ZooKeeper {about['zookeeper']}; [how](#other-locks).\n")

    def of(what: str, name: str, kind: str, waiters: int) -> list:
        return [value for value in rows.of(what, contender=name, kind=kind, waiters=waiters)
                if value is not None]

    def ratios(what: str, name: str, other: str, kind: str, waiters: int) -> list[float]:
        return [a / b for a, b in zip(of(what, name, kind, waiters), of(what, other, kind, waiters))
                if a and b]

    names = rows.names()
    contended = sorted({row["waiters"] for row in rows if row["waiters"] > 1
                        and row["kind"] == "shared"})
    most = contended[-1] if contended else 1
    table(["client", f"hand-overs/s, {most} waiters", "/ cycles/s alone", "fairness (Jain)",
           "cycles/s, 64 in flight", f"/ {PLAIN}", "acquire us p50 alone"],
          [[name, spread(of("handovers_per_s", name, "shared", most)),
            spread([a / b for a, b in zip(of("handovers_per_s", name, "shared", most),
                                          of("grants_per_s", name, "shared", 1)) if b]),
            spread(of("fairness", name, "shared", most)), spread(of("grants_per_s", name, "own", 64)),
            spread(ratios("grants_per_s", name, PLAIN, "own", 64)),
            spread(of("wait_p50_us", name, "shared", 1))] for name in names])
    overlaps = {name: sum(sum(of("overlaps", name, "shared", waiters)) for waiters in (1, *contended))
                for name in names}
    print("Grants while another waiter still had the lock: " +
          (", ".join(f"{name} {count}" for name, count in overlaps.items() if count) or "none") + ".\n")
    for other, times in (("node_redlock_4", 10), ("node_redlock_5", 10),
                         ("node_redlock_5_pipelining", 4)):
        run.judge(f"cycles/s, plain / {other}, 64 in flight",
                  ratios("grants_per_s", PLAIN, other, "own", 64), times, at_most=False)
        run.judge(f"acquire p50, plain / {other}, alone",
                  ratios("wait_p50_us", PLAIN, other, "shared", 1), 1)
    run.plot("peers-cycles", "Locks of their own, 64 in flight", "cycles/s",
             {(name.removeprefix("node_"), "cycles/s"): of("grants_per_s", name, "own", 64)
              for name in names}, log=True)
    run.plot("peers-hand-over", "One lock that many wait for", "hand-overs/s",
             {(waiters, name): of("handovers_per_s", name, "shared", waiters)
              for waiters in contended for name in names}, log=True, along="waiters")


def show_growth(run: Run, _: Rows) -> None:
    """What is constant and what grows, each beside the floor with as many nodes and locks."""
    nodes, cycles, leases, crowds = (run.rows(name) for name in ("nodes", "cycles", "leases", "crowds"))
    figures = ("cpu_us", "server_us", "bytes", "acquire_p50_us", "acquire_p99_us")
    shown, plotted = [], {}

    def plot(group: str, client: list, servers: list) -> None:
        plotted[group, "the client"] = client
        plotted[group, "all servers"] = servers

    def add(words: str, group: str, rows: Rows, name: str, floor: str, load: int) -> None:
        row = [words]
        for figure in figures:
            row += [spread(rows.of(figure, contender=name, in_flight=load)).split(" ")[0],
                    spread(rows.ratios(figure, name, floor, in_flight=load)).split(" ")[0]]
        shown.append(row)
        plot(group, *(rows.of(figure, contender=name, in_flight=load) for figure in figures[:2]))

    for place in ("@1", "@3", "", "@7", "@9"):
        count = place[1:] or "5"
        if nodes.of("cpu_us", contender=FENCED + place):
            words = f"{count} node{'s' if count != '1' else ''}"
            add(f"{words}, 64 in flight", words, nodes, FENCED + place, FLOOR + place, 64)
    for load in cycles.names("in_flight"):
        add(f"{load} in flight, 5 nodes", f"{load} at once", cycles, FENCED, FLOOR, load)

    def add_alone(words: str, group: str, client: list, servers: list, size: list) -> None:
        shown.append([words, spread(client).split(" ")[0], "", spread(servers).split(" ")[0], "",
                      spread(size).split(" ")[0], "", "", "", "", ""])
        plot(group, client, servers)

    for row in leases:
        add_alone(f"{row['leases']:,} leases, a renewal", f"{label(row['leases'])} leases",
                  [row["client_us_per_renewal"]], [row["server_us_per_renewal"]], [])
    for waiters in crowds.names("waiters"):
        where = {"waiters": waiters, "names": 1, "busy_loops": 0}
        if crowds.of("cpu_us", **where):
            add_alone(f"{waiters:,} waiters, a hand-over", f"{label(waiters)} waiters",
                      *(crowds.of(figure, **where) for figure in figures[:3]))
    print("### How cost grows: a fenced lock (medians; / floor: of the least that a plain lock costs)\n")
    table(["with", "client CPU us", "/ floor", "all servers' CPU us", "/ floor", "bytes on the wire",
           "/ floor", "acquire us p50", "/ floor", "p99", "/ floor"], shown)
    run.plot("growth", "The CPU of a fenced lock: acquired and released, renewed, handed over",
             "microseconds", plotted, log=True)
