"""The parts of a figure: its measures, its groups, its text and its drawing."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Layout = Literal["table", "dots", "stack", "series", "points", "cells"]
"""Form of the rows that a chart receives: none, one measure with its interval, the parts of a sum, a row for each of
several measures, several measures of each group, or the rows of the page as they are.
"""

ALL_PROGRAMS = "all programs"
"""Name of the mean over all programs."""


@dataclass(frozen=True)
class Measure:
    """A number of each run, as an expression in SQL over the run `r` and its baseline `b`."""

    name: str
    label: str
    sql: str
    digits: int = 3
    """Digits after the decimal point in tables."""
    varies: bool = True
    """False for a number that does not depend on the seed, so that it has no interval."""
    half: str = ""
    """Column with half of the interval of each run; empty if runs have none."""

    @property
    def is_ratio(self) -> bool:
        """Returns true if the number compares a run with its baseline."""
        return "b." in self.sql

    @property
    def columns(self) -> set[str]:
        """Columns of the results that the expression reads."""
        return set(re.findall(r"\b[rb]\.(\w+)", self.sql))


@dataclass(frozen=True)
class Column:
    """A column of a table that shows rows as they are."""

    name: str
    label: str
    digits: int | None = None
    """Digits after the decimal point; `None` for text."""


@dataclass(frozen=True)
class Swept:
    """A key with several values in a study."""

    key: str
    """Name of the key, as in a study file."""
    column: str
    """Column of the results with its values."""
    name: str
    """Column of the page with its values as text."""
    design: str | None = None
    """Design to which the key belongs; `None` for a key of the machines or of all designs."""

    @property
    def is_of_machine(self) -> bool:
        """Returns true for a key of the machines, which all designs share."""
        return self.key.startswith("machine.")


@dataclass(frozen=True)
class Context:
    """Contents of the results that decide which figures a page can have."""

    columns: frozenset[str]
    """Columns of the results."""
    baseline: str | None
    """Design to which ratios compare; `None` without one."""
    swept: tuple[Swept, ...] = ()
    labels: tuple[str, ...] = ()
    """Names of the designs, in order, with their machine if there are several."""
    options: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Values of each swept key as text, in order, by its column of the page."""
    protection_of: str = ""
    """Origin of the shares of stopped attacks, in words."""


@dataclass(frozen=True)
class Cells:
    """Rows of a table that a figure shows as they are."""

    columns: tuple[Column, ...] = ()
    count: str = ""
    """Column with the words that the text of the figure counts."""
    where: dict[str, str] = field(default_factory=dict)
    """Values of columns that select the rows."""
    conditions: tuple[str, ...] = ()
    """Conditions in addition to those of all rows of the table."""


Draw = Callable[["Figure", Context], dict[str, Any]]
"""Function that returns the specification of a chart for Vega-Lite."""


@dataclass(frozen=True)
class Figure:
    """A figure of the page: a table, and a chart unless `draw` is absent."""

    name: str
    title: str
    text: str
    """Sentences that describe the content, and the reference of ratios."""
    layout: Layout
    measures: tuple[Measure, ...] = ()
    by: tuple[str, ...] = ("label",)
    """Columns that form the groups."""
    compare: tuple[str, ...] = ("label",)
    """Those of these columns over which a reader compares: all these groups cover the same programs and seeds."""
    table: str = "runs"
    """Table of the page with the rows."""
    overall: bool = False
    """True to add the mean over all programs to a figure by program."""
    draw: Draw | None = None
    about: int = 0
    """Index of the measure whose range the text of the figure states."""
    cells: Cells = field(default_factory=Cells)
    """Rows that the figure shows as they are, if it has no measures."""


def available(measures: Sequence[Measure], context: Context) -> tuple[Measure, ...]:
    """Returns the measures whose columns the results have, without ratios if there is no baseline."""
    return tuple(
        each
        for each in measures
        if each.columns <= context.columns and (context.baseline is not None or not each.is_ratio)
    )
