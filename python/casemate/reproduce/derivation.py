"""A study without runs: a paper whose figures follow from parameters that it states, each by a formula.

Such a study has no cases and no seeds. It says what it takes instead of the paper's parameters, and derives tables:
each row is a figure from a formula, next to what the paper prints, and says why the two differ where they do. What the
paper prints is data of its own, which no formula reads.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from casemate.results.derivation import Agreement, Derivation, DerivedRow, DerivedTable

Asked = Mapping[str, tuple[float, ...]]
"""What was given for each parameter; nothing where it was not."""
SLACK = 1e-9
"""A part by which a computed figure may miss the edge of what is printed alike: decimal fractions are not binary ones.
"""


@dataclass(frozen=True)
class Parameter:
    """What may be asked for beside what the paper did: a positive number."""

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
    derive: Callable[[Sequence[str], Asked], Derivation]
    """The tables with these numbers, and what was asked for."""
    draw: Callable[[Derivation, Path], None]
    """Draws it into a PNG file."""
    examples: str


class Rows:
    """Makes the rows of one table; what the paper prints is looked up by what a figure is of and what it says."""

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
        """All that was added."""
        return DerivedTable(number=number, title=title, note=note, rows=tuple(self._rows))


def agreement(computed: float, printed: str | None) -> Agreement:
    """Whether a figure is printed so: rounded or cut off to the digits that are printed. After a `~` zeros at the end
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
    """By how much a figure is larger than the printed one, in percent of that."""
    if printed is None:
        return None
    value = float(printed.lstrip("~"))
    return 100 * (computed - value) / value


def holds(tables: Sequence[DerivedTable]) -> bool:
    """Whether each figure that is not as printed says why."""
    return all(row.remark for table in tables for row in table.rows if row.agreement == "differs")
