"""A study without runs: a paper with figures that follow from parameters that it states, each by a formula.

The study has no cases and no seeds. It lists the parameters that the user may change, and derives tables. Each row is a
figure from a formula, next to the printed value, and states why the two differ if they do. The printed values are
separate data, which no formula reads.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from casemate.results.derivation import Agreement, Derivation, DerivedRow, DerivedTable

Requirements = Mapping[str, tuple[float, ...]]
"""Values that the user gave for each parameter; empty by default."""
SLACK = 1e-9
"""Relative tolerance at the edge of the values that are printed alike: decimal fractions are not binary ones."""


@dataclass(frozen=True)
class Parameter:
    """A parameter that the user may give in addition to the paper's values: a positive number."""

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
    """The numbers of its tables."""
    parameters: tuple[Parameter, ...]
    derive: Callable[[Sequence[str], Requirements], Derivation]
    """Derives the tables with these numbers, and the results for the user's values."""
    draw: Callable[[Derivation, Path], None]
    """Draws it into a PNG file."""
    examples: str


class Rows:
    """Makes the rows of one table; it looks up the printed value by the subject of a figure and its quantity."""

    def __init__(self, printed: Mapping[tuple[str, str], str]) -> None:
        self._printed = printed
        self._rows = list[DerivedRow]()

    def add(self, of: str, quantity: str, computed: float, formula: str, remark: str | None = None) -> None:
        """A figure; `quantity` ends with its unit in brackets."""
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
    """Compares a figure with the printed one: rounded or cut off to the printed digits. After a `~` zeros at the end
    are no digits, and only rounding counts.
    """
    if printed is None:
        return "not-printed"
    value = Decimal(printed.lstrip("~"))
    if printed.startswith("~"):
        # `~590` is to tens; `normalize` takes the zeros into the exponent.
        unit = Decimal(1).scaleb(int(value.normalize().as_tuple().exponent))
        above = unit / 2
    else:
        unit = Decimal(1).scaleb(int(value.as_tuple().exponent))
        above = unit
    apart, slack = computed - float(value), SLACK * abs(computed)
    is_printed_so = -float(unit) / 2 - slack <= apart < float(above) - slack or abs(apart) <= slack
    return "as-printed" if is_printed_so else "differs"


def difference(computed: float, printed: str | None) -> float | None:
    """Excess of a figure over the printed one, in percent of the latter."""
    if printed is None:
        return None
    value = float(printed.lstrip("~"))
    return 100 * (computed - value) / value


def holds(tables: Sequence[DerivedTable]) -> bool:
    """Returns true if each figure that is not as printed gives a reason."""
    return all(row.remark for table in tables for row in table.rows if row.agreement == "differs")
