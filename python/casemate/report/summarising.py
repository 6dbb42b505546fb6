"""Joins the runs of a large study to means over the seeds, so that the page stays small."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from casemate._core import CasemateError
from casemate.report.figure import Measure
from casemate.report.reading import Rows
from casemate.reproduce.study import half_width
from casemate.text import amounts

ROWS_MAX = 4_000
"""Largest number of rows of runs in a page."""


@dataclass(frozen=True)
class Summary:
    """Rows of a page, which are means over the seeds if there were too many runs."""

    rows: Rows
    notices: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    """The seeds of the means; rows of single runs have their seed in a column."""


def summarised(rows: Rows, measures: Iterable[Measure], within: Sequence[str]) -> Summary:
    """Returns the rows of a page. If they are means over the seeds, a row has the numbers of its seeds and runs, and
    halves of intervals are those over the seeds. `within` are the columns whose values compared designs share. Raises
    `CasemateError` if even the means are too many.
    """
    if len(rows) <= ROWS_MAX:
        return Summary(rows)
    listed = list(measures)
    apart = {measure.name for measure in listed} | {measure.half for measure in listed} | {"seed"}
    compared = _with_common_seeds(rows, within)
    groups: dict[tuple[Any, ...], Rows] = {}
    for row in compared:
        groups.setdefault(tuple(value for name, value in row.items() if name not in apart), []).append(row)
    if len(groups) > ROWS_MAX:
        raise CasemateError(
            f"{len(groups):,} groups of runs are too many for a page: expected at most {ROWS_MAX:,}; --where SQL makes "
            "a page of some"
        )
    found = [_mean(group, listed) for group in groups.values()]
    left = len(rows) - len(compared)
    unused = (f"{amounts.counted(left, 'run')} left out: another design lacks their seed.",) if left else ()
    notice = (
        f"{len(rows):,} runs: the page has {len(found):,} rows, each the mean over the seeds, with the interval over "
        "the seeds. --where SQL makes a page of fewer runs."
    )
    seeds = sorted({row["seed"] for row in compared})
    return Summary(
        found, (notice, *unused), (f"{amounts.counted(len(seeds), 'seed')} from {seeds[0]}",) if seeds else ()
    )


def _with_common_seeds(rows: Rows, within: Sequence[str]) -> Rows:
    """Returns the rows whose seed all designs have that share the values of these columns."""

    def cell(row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in within if name != "seed")

    seeds: dict[tuple[Any, ...], dict[str, set[Any]]] = {}
    for row in rows:
        seeds.setdefault(cell(row), {}).setdefault(row["label"], set()).add(row["seed"])
    common = {key: set.intersection(*by_label.values()) for key, by_label in seeds.items()}
    return [row for row in rows if row["seed"] in common[cell(row)]]


def _mean(group: Rows, measures: Iterable[Measure]) -> dict[str, Any]:
    """Returns the mean of rows that differ only in the seed."""
    mean = dict(group[0]) | {"seed": None, "seeds": len({row["seed"] for row in group}), "runs": len(group)}
    for measure in measures:
        values = [row[measure.name] for row in group if row[measure.name] is not None]
        mean[measure.name] = fmean(values) if values else None
        if measure.half and len(group) > 1:
            mean[measure.half] = half_width(values) if len(values) > 1 else None
    return mean
