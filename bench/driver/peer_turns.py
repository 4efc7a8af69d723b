"""The turns of bench/peers: a contender's workers run at the same time and report what they measured."""

import argparse
import json
import os
import pathlib
import random
import select
import subprocess
import sys
import time

from driver.peer_contenders import Contender
from recipes import servers

IN_FLIGHT = 64
NOT_OF_A_LOCK = {"info", "ping", "hello", "client|setinfo", "client|setname", "auth", "quit"}


def answer_of(worker: subprocess.Popen, seconds: float) -> dict:
    """Returns the line that the worker prints. The line has megabytes, so it is read as it arrives."""
    deadline = time.monotonic() + seconds
    text = b""
    while not text.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([worker.stdout], [], [], left)[0]:
            raise servers.Trouble("a worker does not answer")
        part = os.read(worker.stdout.fileno(), 1 << 20)
        if not part:
            raise servers.Trouble("a worker has ended")
        text += part
    return json.loads(text)


def cpu_seconds(workers: list[subprocess.Popen]) -> float:
    ticks = 0
    for worker in workers:
        stat = pathlib.Path(f"/proc/{worker.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(stat[11]) + int(stat[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def quantile(values: list[float], share: float) -> float | None:
    return values[int(share * (len(values) - 1))] if values else None


def play(contender: Contender, kind: str, waiters: int, seconds: float, resource: str,
         redis: servers.Redis | None) -> dict:
    """Runs one turn and merges the reports of its workers. For locks that are not shared only one worker runs."""
    workers = contender.workers[:1 if kind == "own" else waiters]
    counted = redis.calls() if redis else {}
    cpu = cpu_seconds(workers)
    start = time.monotonic_ns() + 100_000_000
    end = start + int(seconds * 1e9)
    first = 0
    for index, worker in enumerate(workers):
        share = waiters // len(workers) + (index < waiters % len(workers))
        line = f"{kind} {resource} {first} {share} {start} {end}\n"
        worker.stdin.write(line.encode())
        worker.stdin.flush()
        first += share
    answers = [answer_of(worker, seconds + 30) for worker in workers]
    cpu = cpu_seconds(workers) - cpu
    calls = {}
    if redis:
        calls = {name: now - counted.get(name, 0) for name, now in redis.calls().items()
                 if now > counted.get(name, 0) and name not in NOT_OF_A_LOCK}
    return told(contender, [times for answer in answers for times in answer["grants"]],
                sum(answer["failed"] for answer in answers), seconds) | {
        "contender": contender.name, "kind": kind, "waiters": waiters, "calls": calls,
        "client_cores": cpu / seconds}


def told(contender: Contender, times_of: list[list[int]], failed: int, seconds: float) -> dict:
    """Sums up the times of all waiters. A hand-over is a grant to another waiter than the last holder."""
    end = int(seconds * 1e9)
    grants = []
    for waiter, times in enumerate(times_of):
        grants += [(acquired, releasing, called, waiter) for called, acquired, releasing
                   in zip(times[0::3], times[1::3], times[2::3])]
    grants.sort()
    every, within = len(grants), [grant for grant in grants if grant[0] <= end]
    after = list(zip(within, within[1:]))
    counts = [0] * len(times_of)
    for grant in within:
        counts[grant[3]] += 1
    waits = sorted((acquired - called) / 1000 for acquired, _, called, _ in within)
    cycles = sorted((then - called) / 1000 for times in times_of
                    for called, then in zip(times[0::3], times[3::3]))
    squares = sum(count * count for count in counts)
    return {
        "grants": len(within), "all_grants": every, "seconds": seconds,
        "grants_per_s": len(within) / seconds,
        "handovers_per_s": sum(a[3] != b[3] for a, b in after) / seconds,
        "overlaps": sum(b[0] < a[1] for a, b in after),
        "fairness": sum(counts) ** 2 / (len(counts) * squares) if squares else 0,
        "had_none": counts.count(0), "failed": failed,
        "wait_p50_us": quantile(waits, 0.5), "wait_p99_us": quantile(waits, 0.99),
        "wait_max_us": quantile(waits, 1), "cycle_p50_us": quantile(cycles, 0.5),
    }


def drop(contender: Contender, present: list[Contender], why: str,
         children: servers.Children) -> None:
    print(f"{contender.name} is out: {why}\n{children.log_of(contender.name)}", file=sys.stderr)
    present.remove(contender)
    for worker in contender.workers:
        worker.kill()


def run(given: argparse.Namespace, present: list[Contender], running: dict,
        children: servers.Children) -> list[dict]:
    loads = [("shared", 1, given.seconds / 2), ("own", IN_FLIGHT, given.seconds / 2),
             *(("shared", waiters, given.seconds) for waiters in given.waiters)]
    rows: list[dict] = []
    for round_ in range(-1, given.rounds):  # the first round warms up connections and compilers
        for kind, waiters, seconds in loads:
            for contender in random.sample(present, len(present)):
                redis = running["redis"] if contender.servers_of == "redis" else None
                # A new resource for each turn, which the keys of earlier turns cannot disturb.
                resource = f"{contender.name}-{kind}-{waiters}-{round_ + 1}"
                try:
                    row = play(contender, kind, waiters, seconds if round_ >= 0 else 0.2, resource,
                               redis)
                except (servers.Trouble, OSError) as trouble:
                    drop(contender, present, str(trouble), children)
                    continue
                if round_ >= 0:
                    rows.append({"round": round_} | row)
                if sys.stderr.isatty():
                    print(f"\r  round {round_ + 1} of {given.rounds}, {contender.name:24}",
                          end="\r", file=sys.stderr, flush=True)
    return rows
