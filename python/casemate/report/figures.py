"""The figures of a page: each is one function here, which yields it if the results may have its data."""

from collections.abc import Callable, Iterator

from casemate.report import charts, latencies, measures, phases
from casemate.report.figure import Cells, Column, Context, Figure, available
from casemate.report.measures import IPC, LATENCY, PROTECTION, SLOWDOWN, TRAFFIC

OVER_SEEDS = "Intervals cover 95 % over the seeds, or over the sample of a sampled run; a single seed has no interval."


DATA_OF_CORES = "Waits for data include those for caches, for the way on the chip and for write-back buffers."


def _relative(context: Context) -> str:
    """Returns the sentence that names the reference of ratios."""
    return f"Relative to {context.baseline} with the same program, machine, swept values and seed."


def summary(context: Context) -> Iterator[Figure]:
    """The first table: one row for each design."""
    yield Figure(
        "summary", "Summary",
        f"Means over programs, swept values and seeds. {_compared(context)} Read latency begins at a miss in the "
        f"last-level cache. Attacks stopped are a share of those with a target ({context.protection_of}).",
        "table",
        available((SLOWDOWN, TRAFFIC, IPC, LATENCY, PROTECTION), context),
    )  # fmt: skip


def _compared(context: Context) -> str:
    if context.baseline is None:
        return "Time and memory traffic have no baseline here: add the design none to the runs for ratios."
    return f"Time and memory traffic are multiples of those of {context.baseline}."


def slowdown(context: Context) -> Iterator[Figure]:
    """Time of each design by program."""
    for measure in available((SLOWDOWN,), context):
        yield Figure(
            "slowdown", "Slowdown by program",
            f"Simulated time; 1 is the time of the baseline. {_relative(context)} {OVER_SEEDS}",
            "dots", (measure,), by=("program", "label"), overall=True, draw=charts.dots,
        )  # fmt: skip


def speed(context: Context) -> Iterator[Figure]:
    """Instructions per cycle by program, if there is no baseline."""
    if context.baseline is None:
        yield Figure(
            "speed", "Instructions per cycle by program",
            f"All cores together, without a baseline, so no slowdown is shown. {OVER_SEEDS}",
            "dots", (IPC,), by=("program", "label"), overall=True, draw=charts.dots,
        )  # fmt: skip


def pareto(context: Context) -> Iterator[Figure]:
    """Cost against protection, with the designs that no other design beats in both."""
    if len(found := available((SLOWDOWN, PROTECTION), context)) == 2:
        yield Figure(
            "pareto", "Cost against protection",
            f"Mean simulated time over all programs, and the share of attacks with a target that the design stops "
            f"({context.protection_of}). The line joins designs that no other design beats in both. "
            f"{_relative(context)}",
            "points", found, draw=charts.pareto,
        )  # fmt: skip


def time(context: Context) -> Iterator[Figure]:
    """Core cycles by cause."""
    if context.baseline is not None:
        yield Figure(
            "time", "Core cycles by cause",
            "Cycles of all cores for as many instructions, by the cause of each wait; the baseline's causes add up to "
            f"1. Means over programs and seeds. {DATA_OF_CORES} {_relative(context)}",
            "stack", available(measures.TIME, context), draw=charts.stack("core cycles, 1 = baseline"),
        )  # fmt: skip
    else:
        yield Figure(
            "time", "Core cycles by cause",
            "Share of the run's own core cycles, by the cause of each wait: without a baseline. Means over programs "
            f"and seeds. {DATA_OF_CORES}",
            "stack", available(measures.SHARES, context), draw=charts.stack("share of core cycles"),
        )  # fmt: skip


def traffic(context: Context) -> Iterator[Figure]:
    """Memory lines by kind."""
    yield Figure(
        "traffic", "Memory traffic by kind",
        "Lines that the controller fetched and stored, for every 1,000 instructions. Absolute numbers: means over "
        "programs and seeds.",
        "stack", available(measures.LINES, context), draw=charts.stack("lines for every 1,000 instructions"),
    )  # fmt: skip


def reads(context: Context) -> Iterator[Figure]:
    """Read latency by cause."""
    yield Figure(
        "reads", "Read latency by cause",
        "Mean time of a read from the memory controller to the release of the line, by cause; data includes the way on "
        "the chip. Absolute numbers: means over programs and seeds.",
        "stack", available(measures.READS, context), draw=charts.stack("read latency (ns)"),
    )  # fmt: skip


def distribution(context: Context) -> Iterator[Figure]:
    """Percentiles of the read latency."""
    yield Figure(
        "distribution", "Distribution of read latency",
        "Latency at the memory controller that a share of a run's reads does not exceed, to within a thirty-second "
        "part. Absolute numbers: means over programs and seeds of the percentiles of each run.",
        "series", available(latencies.MEASURES, context), draw=charts.percentiles,
        about=[each.name for each in latencies.MEASURES].index("latency_p50"),
    )  # fmt: skip


def curves(context: Context) -> Iterator[Figure]:
    """One curve for each design over the values of each swept key."""
    for swept in context.swept:
        for measure in available((SLOWDOWN,), context) or (IPC,):
            relative = _relative(context) if measure is SLOWDOWN else "Absolute numbers, without a baseline."
            yield Figure(
                f"over-{swept.name}", f"{measure.label.capitalize()} over {swept.key}",
                f"Mean over all programs for each value, at equal distances on the axis. {relative} {OVER_SEEDS}",
                "dots", (measure,), by=("label", swept.name), compare=("label", swept.name),
                draw=charts.curve(swept),
            )  # fmt: skip


def over_time(context: Context) -> Iterator[Figure]:
    """The phases of a program: numbers of each interval, in the order of the run."""
    for name, value in phases.VALUES.items():
        yield Figure(
            f"phases-{name}", f"{value.label[:1].upper()}{value.label[1:]} over the run",
            "A line for each run, with a value for each interval from the end of the warm-up, at the instruction with "
            "which the interval begins. Absolute numbers.",
            "cells", table="intervals", cells=phases.cells(value), draw=charts.phases(value),
        )  # fmt: skip


def attacks(context: Context) -> Iterator[Figure]:
    """The end of each attack on each design."""
    yield Figure(
        "attacks", "Attacks",
        "The worst end of each attack over all trials and seeds, compared with the claim of the design: "
        "≠ marks an end that contradicts it. Left out are hypothetical attacks, and attacks without a target in any of "
        "these designs.",
        "cells", table="attacks", cells=_ends("attack"), draw=charts.matrix,
    )  # fmt: skip


def crashes(context: Context) -> Iterator[Figure]:
    """The end of each kind of power loss under each design."""
    yield Figure(
        "crashes", "Losses of power",
        "The worst end of each kind of power loss over all points and seeds, compared with the claim of the design: "
        "≠ marks an end that contradicts it. Left out are losses that apply to none of these designs.",
        "cells", table="crashes", cells=_ends("loss"), draw=charts.matrix,
    )  # fmt: skip


def _ends(kind: str) -> Cells:
    columns = (
        Column("label", "design"), Column("tried", kind), Column("worst", "worst end"), Column("claim", "claim"),
        Column("agrees", "as claimed"),
    )  # fmt: skip
    return Cells(columns, count="group")


FIGURES: tuple[Callable[[Context], Iterator[Figure]], ...] = (
    summary, slowdown, speed, pareto, time, traffic, reads, distribution, curves, over_time, attacks, crashes,
)  # fmt: skip
"""All figures, in the order of the page."""
