"""A study without runs: the figures of its paper follow from parameters in the paper, each by a formula.

The study has no cases and no seeds. It lists the parameters that the user may change, and derives tables. Each row
contains a figure from a formula, the value that the paper prints, and the reason if the two differ. The printed values
are separate data, which no formula reads.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from casemate.schemas.derivation import Agreement, Derivation, DerivedRow, DerivedTable

Requirements = Mapping[str, tuple[float, ...]]
"""Values that the user gave for each parameter; empty by default."""
KEPT = "_derivation.json"
"""File of the output folder with the whole study, for `casemate report`."""
SLACK = 1e-9
"""Relative tolerance in the comparison with printed digits: most decimal fractions have no exact binary form."""


@dataclass(frozen=True)
class Parameter:
    """A parameter, a positive number, for which the user may request results beyond the paper's."""

    name: str
    unit: str
    help: str
    is_whole: bool = False
    is_repeatable: bool = False
    most: float = 1e6


@dataclass(frozen=True)
class DerivedStudy:
    """A paper's figures as formulas of its parameters."""

    name: str
    paper: str
    tables: tuple[str, ...]
    """Numbers of the paper's tables, equations and sections."""
    parameters: tuple[Parameter, ...]
    derive: Callable[[Sequence[str], Requirements], Derivation]
    """Function that derives the tables with these numbers, and the results for the user's values."""
    draw: Callable[[Derivation, Path], None]
    """Function that draws the derived figures into a PNG file."""
    examples: str


class Rows:
    """Collects the rows of one table, and looks up each printed value by the subject of the figure and its quantity."""

    def __init__(self, printed: Mapping[tuple[str, str], str]) -> None:
        self._printed = printed
        self._rows = list[DerivedRow]()

    def add(self, of: str, quantity: str, computed: float, formula: str, remark: str | None = None) -> None:
        """Adds a figure; `quantity` ends with the unit in brackets."""
        name, _, unit = quantity.partition(" [")
        printed = self._printed.get((of, name))
        self._rows.append(
            DerivedRow(
                of=of, quantity=name, unit=unit.removesuffix("]"), formula=formula, computed=computed, printed=printed,
                agreement=agreement(computed, printed), difference_percent=difference(computed, printed), remark=remark,
            )
        )  # fmt: skip

    def table(self, number: str, title: str, note: str = "") -> DerivedTable:
        """Returns the table with all rows that were added."""
        return DerivedTable(number=number, title=title, note=note, rows=tuple(self._rows))


def agreement(computed: float, printed: str | None) -> Agreement:
    """Compares a figure with the printed value. They agree if the figure, rounded or cut off to the printed digits, is
    that value. If the value begins with `~`, its trailing zeros are no digits, and only rounding is permitted.
    """
    if printed is None:
        return "not-printed"
    value = Decimal(printed.lstrip("~"))
    if printed.startswith("~"):
        # `~590` is precise to tens; `normalize` moves the trailing zeros into the exponent.
        unit = Decimal(1).scaleb(int(value.normalize().as_tuple().exponent))
        above = unit / 2
    else:
        unit = Decimal(1).scaleb(int(value.as_tuple().exponent))
        above = unit
    apart, slack = computed - float(value), SLACK * abs(computed)
    is_printed_so = -float(unit) / 2 - slack <= apart < float(above) - slack or abs(apart) <= slack
    return "as-printed" if is_printed_so else "differs"


def difference(computed: float, printed: str | None) -> float | None:
    """Excess of a figure over the printed value, in percent of the printed value."""
    if printed is None:
        return None
    value = float(printed.lstrip("~"))
    return 100 * (computed - value) / value


def holds(tables: Sequence[DerivedTable]) -> bool:
    """Returns true if each figure that differs from the printed value has a remark with the reason."""
    return all(row.remark for table in tables for row in table.rows if row.agreement == "differs")
