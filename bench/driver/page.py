"""The page bench/README.md: what lies between its marks is what the suite shows of bench/results.json."""

import contextlib
import io
import json
import pathlib
import re

from driver.place import ROOT
from driver.text import table

PAGE, RESULTS, PLOTS = (ROOT / "bench" / name for name in ("README.md", "results.json", "plots"))
BEGIN, END = "<!-- bench/suite --page writes from here -->\n", "<!-- to here -->\n"


def write_results(path: pathlib.Path, results: dict) -> None:
    """Writes one row a line, so that a later run changes lines."""
    sections = [json.dumps(name) + ': {"about": ' + json.dumps(section["about"]) + ', "rows": [\n' +
                ",\n".join(json.dumps(row, separators=(",", ":")) for row in section["rows"]) + "]}"
                for name, section in results.items()]
    path.write_text("{\n" + ",\n".join(sections) + "\n}\n")


def text_of(sections: dict, run) -> str:
    """Shows all sections that have rows, after a table of the targets."""
    body = io.StringIO()
    with contextlib.redirect_stdout(body):
        for name, section in sections.items():
            rows = run.rows(name)
            if rows or section.measure is None:
                run.about = run.results.get(name, {"about": run.about})["about"]
                section.show(run, rows)
    head = io.StringIO()
    with contextlib.redirect_stdout(head):
        print(origin(run.results))
        print("### Targets\n")
        table(["what", "measured", "target", ""], run.judged)
    return "\n" + head.getvalue() + body.getvalue()


def origin(results: dict) -> str:
    """Says where, when and with which commit was measured."""
    about = next(iter(results.values()))["about"]
    runs = {}
    for name, section in results.items():
        when = section["about"]["when"][:10], section["about"]["commit"]
        runs.setdefault(when, []).append(name)
    main = max(runs, key=lambda when: len(runs[when]))
    others = "; ".join(f"{', '.join(names)}: {when[0]}, commit {when[1]}"
                       for when, names in runs.items() if when != main)
    return (f"On {main[0]}, commit {main[1]}, {about['cores']} cores ({about['model']}), Linux "
            f"{about['kernel']}, redis {about['redis']}, preset `release`. Nothing else ran." +
            (f" ({others}.)" if others else "") + "\n")


def replaced(page: str, measured: str) -> str:
    before, rest = page.split(BEGIN)
    return before + BEGIN + measured + END + rest.split(END)[1]


def unknown_figures(prose: str, measured: str) -> list[str]:
    """Returns the figures with a unit or a comparison that the prose has, and that were not measured."""
    known = set(re.findall(r"\d[\d,.]*\d|\d", measured))
    said = re.finditer(r"(\d[\d,.]*\d|\d) (?:us|ms|MB|KiB|bytes|times|cycles/s|hand-overs/s)\b", prose)
    return [figure[0] for figure in said if figure[1] not in known]
