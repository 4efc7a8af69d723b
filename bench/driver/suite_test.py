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
            [SUITE, "--smoke", "--bench", sys.argv[1], "--only", "cycles,start_up,storm,leases",
             "--json", directory / "all.json", "--plots", directory / "plots"],
            check=True, stdout=subprocess.PIPE, text=True).stdout
        for wanted in ("| 256       | quorumlock ", "quorumlock / floor", "all are back",
                       "What is to be reached", "acquire p50 / floor, 1 in flight"):
            assert wanted in said, f"{wanted!r} is not in:\n{said}"
        results = json.loads((directory / "all.json").read_text())
        assert {row["contender"] for row in results["cycles"]} >= {"floor", "quorumlock_fenced"}
        assert results["leases"][0]["valid"] == 2000, results["leases"]
        assert results["storm"][0]["clients"] == 10 and results["machine"]["redis"]
        plots = list((directory / "plots").glob("*.svg"))
        assert len(plots) == 4, plots
        for plot in plots:
            titles = xml.etree.ElementTree.parse(plot).iter("{http://www.w3.org/2000/svg}title")
            assert sum(1 for _ in titles) == 12, plot  # three contenders at four loads


if __name__ == "__main__":
    main()
