#!/usr/bin/env python3
"""Checks that bench/README.md and its plots show what bench/results.json has, and that the text around them quotes no
figure that was not measured. Measures nothing.

    page_test.py
"""

import argparse
import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import tempfile

BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))
sys.dont_write_bytecode = True

from driver import page  # noqa: E402
from driver.run import Run  # noqa: E402

# What the text says of how it is measured, not of what was measured.
SETTINGS = {"0.2 ms", "50 ms", "300 ms"}


def sections() -> dict:
    loader = importlib.machinery.SourceFileLoader("suite", str(BENCH / "suite"))
    suite = importlib.util.module_from_spec(importlib.util.spec_from_loader("suite", loader))
    sys.modules["suite"] = suite
    loader.exec_module(suite)
    return suite.SECTIONS


def errors(text: str, results: dict, committed: pathlib.Path) -> list[str]:
    found = []
    with tempfile.TemporaryDirectory() as name:
        plots = pathlib.Path(name)
        measured = page.text_of(sections(), Run(argparse.Namespace(plots=plots), results))
        if text != page.replaced(text, measured):
            found.append("bench/README.md does not show bench/results.json: bench/suite --show "
                         "bench/results.json --page writes it")
        for plot in {path.name for path in [*plots.glob("*.svg"), *committed.glob("*.svg")]}:
            drawn, kept = plots / plot, committed / plot
            if not drawn.exists() or not kept.exists() or drawn.read_text() != kept.read_text():
                found.append(f"bench/plots/{plot} is not what bench/results.json gives")
    prose = text.split(page.BEGIN)[0] + text.split(page.END)[1]
    for figure in page.unknown_figures(prose, measured):
        if figure not in SETTINGS:
            found.append(f"bench/README.md says {figure}, which is in no table of the run")
    return found


def main() -> None:
    text, results = page.PAGE.read_text(), json.loads(page.RESULTS.read_text())
    # Each rule must find the mistake that it is for.
    some = next(row for row in results["cycles"]["rows"] if row["in_flight"] == 64)
    some["cycles_per_s"] *= 2
    assert any("does not show" in error for error in errors(text, results, page.PLOTS))
    assert any("plots/cycles.svg" in error for error in errors(text, results, page.PLOTS))
    some["cycles_per_s"] /= 2
    assert any("987654.5 us" in error for error in errors(text + "A lock takes 987654.5 us.", results, page.PLOTS))
    found = errors(text, results, page.PLOTS)
    sys.exit("\n".join(found) if found else 0)


if __name__ == "__main__":
    main()
