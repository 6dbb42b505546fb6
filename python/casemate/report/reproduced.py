"""Rows and figures of a paper's evaluation that was run again: the paper's numbers next to ours, and each trend."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from casemate.report import charts
from casemate.report.figure import Cells, Column, Figure
from casemate.report.reading import Rows
from casemate.reproduce import KEPT
from casemate.schemas.reproduce import FigureFound, Reproduction

MEAN = "mean of all"
"""Name of the mean over the cases."""
COLUMNS = (
    Column("case", "workload"), Column("series", "series"), Column("value", "ours", 3), Column("half", "±", 3),
    Column("paper", "the paper's", 3),
)  # fmt: skip
TRENDS = (Column("verdict", "verdict"), Column("claim", "the paper's statement"), Column("measured", "measured"))


def kept(folder: Path) -> Reproduction | None:
    """Returns the evaluation that a folder keeps; `None` without one."""
    try:
        return Reproduction.model_validate_json((folder / KEPT).read_bytes())
    except (OSError, ValidationError):
        return None


def trends(found: Reproduction) -> Rows:
    """Returns a row for each statement of the paper."""
    return [trend.model_dump(include={"verdict", "claim", "measured"}) for trend in found.trends]


def numbers(found: Reproduction) -> Rows:
    """Returns a row for each number of each figure, with the mean over the cases as a further case."""
    rows: Rows = []
    for figure in found.figures:
        for case in figure.cases:
            for index, (value, half) in enumerate(zip(case.values, case.half_widths, strict=True)):
                rows.append(_row(figure, index, case.label, (value, half)) | {"program": case.case})
        for index, series in enumerate(figure.series):
            rows.append(_row(figure, index, MEAN, (series.ours, series.half_width)) | {"paper": series.paper})
    return rows


def _row(figure: FigureFound, series: int, case: str, number: tuple[float, float | None]) -> dict[str, Any]:
    value, half = number
    ends = {"low": None, "high": None} if half is None else {"low": value - half, "high": value + half}
    return {
        "figure": figure.number, "case": case, "series": figure.series[series].name, "lane": series, "value": value,
        "half": half, "paper": None, "program": None, **ends,
    }  # fmt: skip


def figures(found: Reproduction) -> Iterator[Figure]:
    """Yields the statements of the paper as a table, then its figures."""
    where = (f"on the machine {found.machine}", f"seeds 1 to {found.seeds}" if found.seeds > 1 else "seed 1")
    if found.trends:
        yield Figure(
            "trends", "Trends of the paper",
            "Statements of the paper, each with the numbers of ours that decide it. A trend is undecided if other "
            "seeds may decide otherwise.",
            "cells", table="trends", cells=Cells(TRENDS, count="verdict", conditions=where),
        )  # fmt: skip
    for index, figure in enumerate(found.figures):
        has_paper = any(series.paper is not None for series in figure.series)
        marks = " Each thick bar is the paper's mean of a series." if has_paper else ""
        yield Figure(
            f"paper-{index}", f"{figure.label}: {figure.title}",
            f"Ours, in the paper's unit ({figure.unit}): means over the seeds with 95 % intervals, and the "
            f"{figure.mean} mean of all workloads, which no filter changes.{marks} {figure.note}".strip(),
            "cells", table="paper", cells=Cells(COLUMNS, where={"figure": figure.number}, conditions=where),
            draw=charts.paper(figure.unit, tuple(dict.fromkeys(series.name for series in figure.series)), has_paper),
        )  # fmt: skip
