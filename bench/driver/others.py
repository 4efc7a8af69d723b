"""The section about other locks: bench/peers measures and prints; the targets are here."""

import json
import pathlib
import subprocess
import sys
import tempfile

from driver.place import ROOT
from driver.run import Rows, Run


def peers(run: Run) -> dict:
    print("## Beside other locks (bench/peers)\n", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        written = pathlib.Path(directory) / "peers.json"
        command = [str(ROOT / "bench/peers"), "--json", str(written),
                   "--build", str(run.given.bench.resolve().parent.parent),
                   *(["--quick"] if run.short else []),
                   *(["--install"] if run.given.install else [])]
        if subprocess.run(command, stdout=sys.stdout).returncode != 0:
            print("skipped: bench/peers did not end well\n")
            return {}
        result = json.loads(written.read_text())
    print()
    rows = Rows(result["turns"])

    def of(what: str, name: str, kind: str, waiters: int) -> list:
        return rows.of(what, contender=name, kind=kind, waiters=waiters)

    def ratios(what: str, name: str, other: str, kind: str, waiters: int) -> list[float]:
        return [a / b for a, b in zip(of(what, name, kind, waiters), of(what, other, kind, waiters))
                if a and b]

    plain = "quorumlock_plain"
    for other, times in (("node_redlock_4", 10), ("node_redlock_5", 10),
                         ("node_redlock_5_pipelining", 4)):
        run.judge(f"plain cycles/s / {other}, 64 in flight",
                  ratios("grants_per_s", plain, other, "own", 64), times, at_most=False)
        run.judge(f"plain acquire p50 / {other}, alone",
                  ratios("wait_p50_us", plain, other, "shared", 1), 1)
    names = rows.names()
    run.plot("peers-cycles", "Locks of their own, 64 in flight", "cycles/s",
             {(name.removeprefix("node_"), "cycles/s"): of("grants_per_s", name, "own", 64)
              for name in names}, log=True)
    contended = sorted({row["waiters"] for row in rows if row["waiters"] > 1
                        and row["kind"] == "shared"})
    run.plot("peers-hand-over", "One lock that many wait for", "hand-overs/s",
             {(waiters, name): of("handovers_per_s", name, "shared", waiters)
              for waiters in contended for name in names}, log=True, along="waiters")
    return result
