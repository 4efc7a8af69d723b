"""Figures as text."""

import statistics


def short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def quarters(values: list[float]) -> tuple[float, float, float]:
    """Returns the lower quartile, the median and the upper quartile."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4)
    return low, middle, high


def spread(values: list[float]) -> str:
    """Returns the median and the two quartiles as text."""
    if not values:
        return ""
    low, middle, high = quarters(values)
    return short(middle) if len(values) < 2 else f"{short(middle)} ({short(low)}-{short(high)})"


def table(head: list[str], rows: list[list]) -> None:
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, ["-" * width for width in widths], *rows]:
        print("| " + " | ".join(str(cell).ljust(width) for cell, width in zip(row, widths)) + " |")
    print(flush=True)
