#!/usr/bin/env python3
"""Checks that the suite works: a few cycles, tables, JSON and plots. No time is compared.

    suite_test.py PATH_OF_QUORUMLOCK_BENCH
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SUITE = pathlib.Path(__file__).resolve().parent.parent / "suite"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        said = subprocess.run(
            [SUITE, "--smoke", "--bench", sys.argv[1], "--only", "cycles,crowds,start_up,storm,leases,growth",
             "--json", directory / "all.json", "--plots", directory / "plots"],
            check=True, stdout=subprocess.PIPE, text=True).stdout
        for wanted in ("| 256       | quorumlock ", "plain / floor", "all are back", "| 20      | 20    | 0 ",
                       "### Targets", "acquire p50, plain / floor, 1 in flight", "| 1024 in flight, 5 nodes"):
            assert wanted in said, f"{wanted!r} is not in:\n{said}"
        results = json.loads((directory / "all.json").read_text())
        assert {row["contender"] for row in results["cycles"]["rows"]} >= {"floor", "quorumlock_fenced"}
        assert results["leases"]["rows"][0]["valid"] == 2000, results["leases"]
        assert results["storm"]["rows"][0]["clients"] == 10 and results["storm"]["about"]["redis"]
        plots = list((directory / "plots").glob("*.svg"))
        assert len(plots) == 5, plots
        for plot in plots:
            titles = xml.etree.ElementTree.parse(plot).iter("{http://www.w3.org/2000/svg}title")
            # Three contenders at five loads; client and servers at five loads, with leases, with waiters.
            assert sum(1 for _ in titles) == (14 if plot.stem == "growth" else 15), plot
        again = subprocess.run([SUITE, "--show", directory / "all.json", "--only", "cycles,crowds",
                                "--plots", directory / "plots"],
                               check=True, stdout=subprocess.PIPE, text=True).stdout
        wanted = [line for line in said.splitlines() if line.startswith("| 1024 ")]
        assert all(line in again for line in wanted[:3]), again


if __name__ == "__main__":
    main()
