"""Joins the runs of a large study to means over the seeds, so that the page stays small."""

from collections.abc import Iterable
from statistics import fmean
from typing import Any

from casemate._core import CasemateError
from casemate.report.figure import Measure
from casemate.report.reading import Rows
from casemate.reproduce.study import half_width

ROWS_MAX = 4_000
"""Largest number of rows of runs in a page."""


def summarised(rows: Rows, measures: Iterable[Measure]) -> tuple[Rows, tuple[str, ...]]:
    """Returns the rows of a page, and a notice if they are means over the seeds: then halves of intervals are those
    over the seeds. Raises `CasemateError` if even the means are too many.
    """
    if len(rows) <= ROWS_MAX:
        return rows, ()
    listed = list(measures)
    apart = {measure.name for measure in listed} | {measure.half for measure in listed} | {"seed"}
    groups: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        groups.setdefault(tuple(value for name, value in row.items() if name not in apart), []).append(row)
    if len(groups) > ROWS_MAX:
        raise CasemateError(
            f"{len(groups):,} groups of runs are too many for a page: expected at most {ROWS_MAX:,}; --where SQL makes "
            "a page of some"
        )
    found = [_mean(group, listed) for group in groups.values()]
    return found, (
        f"{len(rows):,} runs: the page has {len(found):,} rows, each the mean over the seeds, with the interval over "
        "the seeds. --where SQL makes a page of fewer runs.",
    )


def _mean(group: Rows, measures: Iterable[Measure]) -> dict[str, Any]:
    """Returns the mean of rows that differ only in the seed."""
    mean = dict(group[0]) | {"seed": None}
    for measure in measures:
        values = [row[measure.name] for row in group if row[measure.name] is not None]
        mean[measure.name] = fmean(values) if values else None
        if measure.half:
            mean[measure.half] = half_width(values) if len(values) > 1 else None
    return mean
