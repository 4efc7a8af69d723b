"""Plots as SVG: bars in groups, each with a line over the middle half of its values."""

import math
import pathlib
import textwrap
from xml.sax.saxutils import escape

COLOURS = ["#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#a463f2", "#97bbf5", "#9c6b4e"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 400, 78, 12, 84, 76
# Light or dark, as the reader's system is.
STYLE = """<style>
.back { fill: #fff } .text { fill: #1b1f24 } .soft { fill: #57606a } .grid { stroke: #d8dee4 } .middle, .mark { stroke: #1b1f24 }
@media (prefers-color-scheme: dark) {
.back { fill: #12161b } .text { fill: #e6edf3 } .soft { fill: #a0aab5 } .grid { stroke: #3a424c } .middle, .mark { stroke: #e6edf3 }
}
</style>"""


def ticks(low: float, high: float, log: bool) -> list[float]:
    if log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        fine = [step * 10.0 ** power for power in powers for step in (1, 2, 5)]
        there = [value for value in fine if low <= value <= high]
        return there if len(there) < 8 else [10.0 ** power for power in powers
                                             if low <= 10.0 ** power <= high]
    step = 10.0 ** math.floor(math.log10(high / 4))
    step *= next(by for by in (1, 2, 5, 10) if high / (by * step) <= 6)
    return [step * i for i in range(int(high / step) + 1)]


def label(value: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def figure(value: float) -> str:
    """Four digits that count, and no power of ten."""
    return f"{float(f'{value:.4g}'):,.0f}" if value >= 1e4 else f"{value:.4g}"


def bars(path: pathlib.Path, title: str, unit: str, groups: list[str], series: list[str],
         values: dict, log: bool = False, mark: float | None = None, note: str = "", along: str = "") -> None:
    """Draws bars. `values` has the lower quartile, the median and the upper quartile of each (group, series).
    `mark` is drawn as a line across: a target. `unit` and `along` are the names of the axes."""
    shown = [value for three in values.values() for value in three if value > 0]
    if not shown:
        return
    top = max([*shown, mark or 0])
    low, high = (min([*shown, mark or top]) / 1.5, top * 1.2) if log else (0.0, top * 1.08)

    def y(value: float) -> float:
        share = (math.log(max(value, low) / low) / math.log(high / low) if log
                 else value / high)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="sans-serif" font-size="12">',
           STYLE,
           f'<rect width="{WIDTH}" height="{HEIGHT}" class="back"/>',
           f'<text x="{LEFT}" y="20" font-size="15" class="text">{escape(title)}</text>',
           f'<text x="{LEFT}" y="{HEIGHT - 8}" font-size="10" class="soft">{escape(note)}</text>']

    def text(x: float, at: float, words: str, anchor: str = "middle", more: str = "") -> None:
        out.append(f'<text x="{x:.1f}" y="{at:.1f}" text-anchor="{anchor}" class="text"{more}>'
                   f'{escape(words)}</text>')

    for tick in ticks(low, high, log):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" '
                   'class="grid"/>')
        text(LEFT - 6, y(tick) + 4, label(tick), "end")
    text(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - BOTTOM + 40, along)
    text(16, (TOP + HEIGHT - BOTTOM) / 2, unit + (", log" if log else ""),
         more=f' transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2})"')
    x, line = float(LEFT), 34
    for i, name in enumerate(series):
        long = 26 + 6.6 * len(name)
        if x + long > WIDTH - RIGHT:
            x, line = float(LEFT), line + 18
        out.append(f'<rect x="{x:.1f}" y="{line}" width="10" height="10" '
                   f'fill="{COLOURS[i % len(COLOURS)]}"/>')
        text(x + 14, line + 9, name, "start")
        x += long
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    width = room * 0.8 / len(series)
    for g, group in enumerate(groups):
        lines = textwrap.wrap(group.replace("_", " "), int(room / 6.6), break_long_words=False)
        for i, words in enumerate(lines):
            text(LEFT + room * (g + 0.5), HEIGHT - BOTTOM + 18 + 13 * i, words,
                 more="" if len(lines) == 1 else ' font-size="11"')
        for i, name in enumerate(series):
            if (group, name) not in values:
                continue
            first, middle, last = values[group, name]
            x = LEFT + room * (g + 0.1) + width * i
            out.append(f'<rect x="{x:.1f}" y="{y(middle):.1f}" width="{width * 0.9:.1f}" '
                       f'height="{max(y(low) - y(middle), 0):.1f}" '
                       f'fill="{COLOURS[i % len(COLOURS)]}"><title>{escape(group)}, '
                       f'{escape(name)}: {figure(middle)} ({figure(first)}-{figure(last)})</title></rect>')
            out.append(f'<line x1="{x + width * 0.45:.1f}" x2="{x + width * 0.45:.1f}" '
                       f'y1="{y(first):.1f}" y2="{y(last):.1f}" class="middle"/>')
    if mark is not None:
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(mark):.1f}" y2="{y(mark):.1f}" '
                   'class="mark" stroke-dasharray="5 4"/>')
    path.write_text("\n".join([*out, "</svg>", ""]))
