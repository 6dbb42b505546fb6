"""Rows and figures of a paper's figures that were derived from its parameters: ours next to the printed ones."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from casemate.report import charts
from casemate.report.content import Content
from casemate.report.figure import Cells, Column, Context, Figure
from casemate.report.reading import Rows
from casemate.reproduce.derivation import KEPT
from casemate.schemas.derivation import Derivation, Dots

MODULES_MIN = 16.0
"""Smallest end of the axis with the number of modules."""
COLUMNS = (
    Column("of", "of"), Column("quantity", "figure"), Column("unit", "unit"), Column("computed", "ours"),
    Column("printed", "printed"), Column("difference_percent", "off by (%)", 1), Column("agreement", "agreement"),
    Column("formula", "from"), Column("remark", "remark"),
)  # fmt: skip
NEEDS = (
    Column("asked", "given"), Column("implementation", "implementation"), Column("lanes", "lanes", 0),
    Column("clock_mhz", "clock (MHz)", 0), Column("bandwidth_gbs", "carries (GB/s)", 1),
    Column("power_w", "power (W)", 2), Column("area_mm2", "area (mm²)", 2), Column("remark", "remark"),
)  # fmt: skip
DOTS = (Column("series", "series"), Column("modules", "modules", 0), Column("value", "value", 2))


def kept(folder: Path) -> Derivation | None:
    """Returns the derivation that a folder keeps; `None` without one."""
    try:
        return Derivation.model_validate_json((folder / KEPT).read_bytes())
    except (OSError, ValidationError):
        return None


def content(found: Derivation) -> Content:
    """Returns the content of a page for derived figures."""
    tables = {"derived": _derived(found), "needs": _needs(found), "dots": _dots(found)}
    return Content(
        title=found.paper, context=Context(columns=frozenset(), baseline=None), figures=tuple(_figures(found)),
        tables={name: rows for name, rows in tables.items() if rows}, notices=(*found.conditions, f"{found.brief()}."),
        conditions=dict.fromkeys(tables, ()),
    )  # fmt: skip


def _derived(found: Derivation) -> Rows:
    rows: Rows = []
    for table in found.tables:
        for row in table.rows:
            # A figure that is rounded as printed is not off.
            off = row.difference_percent if row.agreement == "differs" else None
            agreement = row.agreement.replace("-", " ")
            rows.append({"table": table.number, **row.model_dump(), "agreement": agreement, "difference_percent": off})
    return rows


def _needs(found: Derivation) -> Rows:
    return [need.model_dump() for need in found.needs]


def _dots(found: Derivation) -> Rows:
    """Returns a row for each point, and for both ends of each line."""
    rows: Rows = []
    for number, dots in enumerate(found.dots):
        last = max(MODULES_MIN, *(modules for modules, _ in dots.points))
        listed: list[tuple[str, str, float, float]] = [("point", dots.title, *point) for point in dots.points]
        for name, slope, intercept in dots.lines:
            listed += [("end of a line", name, modules, slope * modules + intercept) for modules in (0.0, last)]
        names = ("kind", "series", "modules", "value")
        rows += [{"figure": str(number), **dict(zip(names, each, strict=True))} for each in listed]
    return rows


def _figures(found: Derivation) -> Iterator[Figure]:
    """Yields points with their lines as charts, then the tables of the paper, then the answers to the user."""
    for number, dots in enumerate(found.dots):
        yield Figure(
            f"dots-{number}", dots.title[:1].upper() + dots.title[1:],
            f"Points are the paper's, in {dots.unit}; lines are its equations and our fit.",
            "cells", table="dots", cells=Cells(DOTS, count="kind", where={"figure": str(number)}),
            draw=charts.scaling(f"{dots.unit}", _series(dots)),
        )  # fmt: skip
    for index, table in enumerate(found.tables):
        yield Figure(
            f"table-{index}", f"{table.label}: {table.title}",
            f"Each figure by a formula over the paper's parameters, next to the printed one. {table.note}".strip(),
            "cells", table="derived",
            cells=Cells(_used(COLUMNS, table.rows), count="agreement", where={"table": table.number}),
        )  # fmt: skip
    if found.needs:
        yield Figure(
            "needs", "Requested engines and bandwidths", "By the same formulas, for the values that the command has.",
            "cells", table="needs", cells=Cells(_used(NEEDS, found.needs), count="implementation"),
        )  # fmt: skip


def _series(dots: Dots) -> tuple[str, ...]:
    return (dots.title, *(name for name, _, _ in dots.lines))


def _used(columns: tuple[Column, ...], rows: tuple[Any, ...]) -> tuple[Column, ...]:
    """Returns the columns in which any row has a value."""
    return tuple(column for column in columns if any(getattr(row, column.name) not in (None, "") for row in rows))
