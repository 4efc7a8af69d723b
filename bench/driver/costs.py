"""Sections about what a cycle costs in addition to time."""

import os
import re
import shutil
import subprocess
import tempfile

from driver.run import FENCED, FLOOR, OURS, Rows, Run
from driver.text import table


def calls_in(run: Run, name: str, load: int, count: int) -> dict[str, int]:
    """Returns the number of calls, by name, of the measuring thread, which also starts the nodes."""
    with tempfile.NamedTemporaryFile() as summary:
        run.bench("--rounds=1", f"--contenders={name}", f"--in-flight={load}:{count}",
                  wrap=("strace", "-c", "-U", "calls,name", "-o", summary.name))
        found = re.findall(r"^\s*(\d+) (\w+)$", open(summary.name).read(), re.MULTILINE)
    return {call: int(times) for times, call in found if call != "total"}


def measure_calls(run: Run) -> Rows:
    rows = Rows()
    if shutil.which("strace") is None:
        print("skipped: strace is not installed\n")
        return rows
    part = 5 if run.short else 1
    for load, few, many in ((1, 500, 2500), (64, 5000, 25000), (256, 5000, 25000)):
        for name in (FLOOR, OURS, FENCED):
            short, long = few // part, many // part
            before, after = calls_in(run, name, load, short), calls_in(run, name, load, long)
            # Each of six turns first runs a hundredth of the cycles to warm up.
            per = {call: (after[call] - before.get(call, 0)) / ((long - short) * 1.06)
                   for call in after}
            rows.append({"contender": name, "in_flight": load,
                         "calls": {call: count for call, count in per.items() if count > 0.001}})
    return rows


def show_calls(run: Run, rows: Rows) -> None:
    print("### System calls per cycle (strace; the longer of two runs less the shorter)\n")
    table(["in flight", "", "calls/cycle", "of them"],
          [[row["in_flight"], row["contender"], f"{sum(row['calls'].values()):.3g}",
            ", ".join(f"{call} {count:.3g}" for call, count in
                      sorted(row["calls"].items(), key=lambda item: -item[1])
                      if count > 0.01)] for row in rows])
    run.judge("system calls in a cycle, plain, 64 in flight",
              [sum(row["calls"].values()) for row in rows
               if (row["contender"], row["in_flight"]) == (OURS, 64)], 0.6)


def instructions_in(run: Run, name: str, load: int, count: int) -> int:
    with tempfile.TemporaryDirectory() as directory:
        said = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out.%p",
             "--collect-atstart=no", "--toggle-collect=quorumlock::bench::run_cycles*",
             str(run.given.bench), "--rounds=1", f"--contenders={name}",
             f"--in-flight={load}:{count}"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
    return max(int(number) for number in re.findall(r"Collected : (\d+)", said))


def measure_instructions(run: Run) -> Rows:
    rows = Rows()
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed\n")
        return rows
    part = 4 if run.short else 1
    for load, few, many in ((1, 600, 1800), (64, 4000, 12000)):
        for name in (FLOOR, OURS, FENCED):
            short, long = few // part, many // part
            more = instructions_in(run, name, load, long) - instructions_in(run, name, load, short)
            rows.append({"contender": name, "in_flight": load,
                         "instructions": more / ((long - short) * 1.06)})
    return rows


def show_instructions(run: Run, rows: Rows) -> None:
    print("### The client's instructions per cycle (callgrind, without the kernel's)\n")
    table(["in flight", "", "instructions/cycle"],
          [[row["in_flight"], row["contender"], f"{row['instructions']:.0f}"] for row in rows])


def measure_memory(run: Run) -> Rows:
    count = 100_000 if run.short else 1_000_000
    return run.bench(f"--memory={count}", f"--contenders={OURS},{FENCED}")


def show_memory(run: Run, rows: Rows) -> None:
    print(f"### Memory over {rows[0]['cycles']} cycles, 64 in flight\n")
    table(["", "VmRSS KiB: before", "a quarter", "half", "three quarters", "after", "allocations"],
          [[row["contender"], *row["resident_kib"], row["allocations"]] for row in rows])
    print("A node that lags behind the quorum leaves that many locks unforgotten for as long: the "
          "highest\nlag so far sets the level, a leak would raise it in every quarter.\n")


def measure_leases(run: Run) -> Rows:
    sizes = ((2000, 1, 3),) if run.given.smoke else \
            ((1000, 10, 30), (20_000, 10, 30)) if run.short else \
            ((1000, 30, 60), (100_000, 30, 60), (1_000_000, 120, 60))  # leases, seconds, ttl
    # Only root can give the servers real-time priority.
    alone = ["--real-time"] if os.geteuid() == 0 else []
    rows = Rows()
    for count, seconds, ttl in sizes:
        rows += run.bench(f"--leases={count}", f"--seconds={seconds}", f"--ttl={ttl}", *alone,
                          program="quorumlock_leases")
    if alone:
        watch = 1 if run.given.smoke else 10 if run.short else 60
        rows[-1] |= run.bench(f"--machine={watch}", program="quorumlock_leases")[0]
    return rows


def show_leases(run: Run, rows: Rows) -> None:
    print("### Leases that are held and renewed, with 32-byte names\n")
    figures = {"leases": "leases", "ttl_s": "ttl s", "seconds": "held for s",
               "acquired_per_s": "acquired/s", "lost": "lost", "bytes_per_lease": "client bytes/lease",
               "renewals_per_s": "renewals/s", "client_cores": "client cores",
               "server_cores": "all servers' cores", "renewals_per_call": "renewals/call",
               "call_p50_us": "call us p50", "call_p99.9_us": "p99.9",
               "calls_over_2_ms": "calls over 2 ms"}
    table(list(figures.values()), [[row[figure] for figure in figures] for row in rows])
    most = rows[-1]
    if most["real_time"]:
        print(f"The servers have real-time priority. Of the last: {most['calls_over_2_ms']} calls over "
              f"2 ms (the longest {most['longest_of_them_us'] / 1000:.3g} ms), while the servers ran "
              f"for {most['server_cores'] * most['seconds']:.0f} core seconds.\nA loop of the same "
              "priority that calls nothing was stopped for over 2 ms "
              f"{most['machine_stops_over_2_ms']} times in {most['machine_core_s']} core seconds "
              f"(the longest {most['machine_longest_stop_us'] / 1000:.3g} ms).\n")
    else:
        print("The servers have no real-time priority: a call's time includes waiting for a "
              "processor.\n")
    name = f"{most['leases']:,} leases"
    run.judge(f"{name}: lost", [most["leases"] - most["valid"]], 0)
    run.judge(f"{name}: client bytes each", [most["bytes_per_lease"]], 800)
    run.judge(f"{name}: client cores", [most["client_cores"]], 0.2)
    run.judge(f"{name}: calls over 2 ms", [most["calls_over_2_ms"]], 0)
