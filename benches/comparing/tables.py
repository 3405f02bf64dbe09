"""Medians, ratios and Markdown tables."""

import statistics


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def ratios(theirs, ours, key):
    """Median, minimum and maximum of the ratios of the runs of the same turn."""
    values = sorted(a[key] / b[key] for a, b in zip(theirs, ours))
    return f"{statistics.median(values):.2f} ({values[0]:.2f} to {values[-1]:.2f})"


def seconds(value):
    """A time with three significant digits and a unit."""
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if value * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def head(title, columns):
    print(f"\n### {title}\n\n| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|", flush=True)


def row(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
