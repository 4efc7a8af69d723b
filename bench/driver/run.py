"""One run of the suite: it runs quorumlock_bench, keeps what it printed, and compares it with the targets."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

from driver import svg
from driver.text import quarters, short, spread

OURS, FENCED, FLOOR = "quorumlock", "quorumlock_fenced", "floor"


class Rows(list):
    """The objects that quorumlock_bench printed, one a line."""

    def of(self, what: str, **where) -> list:
        return [row[what] for row in self if all(row[key] == value for key, value in where.items())]

    def names(self, key: str = "contender") -> list:
        return list(dict.fromkeys(row[key] for row in self))

    def rounds(self, key: str = "round") -> int:
        return len(self.names(key))

    def ratios(self, what: str, name: str, other: str, **where) -> list[float]:
        """The ratios of two contenders, each of one round."""
        return [a / b for a, b in zip(self.of(what, contender=name, **where),
                                      self.of(what, contender=other, **where)) if b]


class Run:
    """`results` has for each section its "rows" and "about": the machine, the commit and the time."""

    def __init__(self, given: argparse.Namespace, results: dict):
        self.given = given
        self.results = results
        self.about: dict = next((section["about"] for section in results.values()), {})
        self.judged: list[tuple[str, str, str, str]] = []

    @property
    def short(self) -> bool:
        return self.given.quick or self.given.smoke

    def rows(self, section: str) -> Rows:
        """Returns the rows of another section; none if it was not run."""
        return Rows(self.results.get(section, {"rows": []})["rows"])

    def loads(self, *in_flight: int) -> str:
        """Returns the flag --in-flight; a short run has fewer cycles."""
        per = 20 if self.given.smoke else 500
        return "--in-flight=" + ",".join(f"{n}:{per * min(n, 16)}" if self.short else str(n)
                                         for n in in_flight)

    def bench(self, *flags: str, wrap: tuple[str, ...] = (), quiet: bool = False,
              program: str = "") -> Rows:
        """Runs quorumlock_bench, or another program in its folder."""
        path = self.given.bench.with_name(program) if program else self.given.bench
        command = [*wrap, str(path), *flags, *(["--unix"] if self.given.unix else [])]
        rows = Rows()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL if quiet else None) as run:
            for line in run.stdout:
                rows.append(json.loads(line))
                if sys.stderr.isatty():
                    print(f"\r  {len(rows)} turns", end="\r", file=sys.stderr, flush=True)
        if run.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {run.returncode}")
        return rows

    def judge(self, what: str, values: list[float], target: float, at_most: bool = True) -> None:
        """Compares the median of the values with the target, which is an upper or a lower bound."""
        if not values:
            return
        middle = statistics.median(values)
        good = middle <= target if at_most else middle >= target
        self.judged.append((what, spread(values), f"{'<=' if at_most else '>='} {short(target)}",
                            "meets" if good else "MISSES"))

    def plot(self, name: str, title: str, unit: str, values: dict, **more) -> None:
        """Draws a plot. `values` has all measured values of each (group, series)."""
        values = {key: measured for key, measured in values.items() if measured}
        if self.given.plots is None or not values:
            return
        self.given.plots.mkdir(parents=True, exist_ok=True)
        groups = list(dict.fromkeys(str(group) for group, _ in values))
        series = list(dict.fromkeys(name for _, name in values))
        about = self.about
        svg.bars(pathlib.Path(self.given.plots) / f"{name}.svg", title, unit, groups, series,
                 {(str(group), name): quarters(measured)
                  for (group, name), measured in values.items()},
                 note=f"{about['cores']} cores, {about['model']}, Linux {about['kernel']}, redis "
                      f"{about['redis']}, {about['when'][:10]}, load {about['load']:.0f}; "
                      f"median and middle half", **more)
