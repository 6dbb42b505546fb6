"""Results of deriving a paper's figures from the paper's parameters."""

from typing import Literal

from casemate._core import CasemateError
from casemate.schemas.base import Result
from casemate.text.nearest import missing

Agreement = Literal["as-printed", "differs", "not-printed"]
"""Agreement of a derived figure, rounded or cut off to the printed digits, with the value that the paper prints."""


class DerivedRow(Result):
    """A figure derived by a formula, next to the value that the paper prints."""

    of: str
    """Subject of the figure: an implementation, a number of engines, a buffer."""
    quantity: str
    """Quantity that the figure states."""
    unit: str
    """Unit of the figure."""
    formula: str
    """Formula of the figure, with the numbers."""
    computed: float
    """Value that the formula yields."""
    printed: str | None
    """Value that the paper prints, with its digits; with a `~` if the paper calls it approximate."""
    agreement: Agreement
    """Agreement of the derived with the printed value."""
    difference_percent: float | None
    """Excess of our value over the printed value, in percent of the printed value."""
    remark: str | None
    """Reason for a difference, or a contradicting statement elsewhere in the paper."""


class DerivedTable(Result):
    """Derived figures of one table, equation or section of the paper."""

    number: str
    """Number in the paper: `6.1` for a table; `section-6.1` for sections, and likewise for equations."""
    title: str
    """Subject of the table."""
    note: str
    """Source of the parameters."""
    rows: tuple[DerivedRow, ...]
    """Figures of the table."""

    @property
    def label(self) -> str:
        """Returns the paper's name of the table, equation or section."""
        kind, _, number = self.number.partition("-")
        return f"{kind.capitalize()} {number}" if number else f"Table {kind}"


class EngineNeed(Result):
    """A number of engines or cores, with their bandwidth, power and area."""

    implementation: str
    """Kind of engine or core."""
    clock_mhz: float
    """Clock of the engines, in megahertz."""
    asked: Literal["bandwidth", "lanes"]
    """Quantity that the user gave: a bandwidth to carry, or a number of engines."""
    bandwidth_gbs: float
    """Bandwidth that the user gave, or the bandwidth of this number of engines, in gigabytes (10^9) a second."""
    lanes: int
    """Number of engines or cores."""
    power_w: float
    """Total power in watts."""
    area_mm2: float | None
    """Total area in square millimetres; null if the paper states no area."""
    remark: str | None
    """Assumptions beyond the paper, if any."""


class Dots(Result):
    """Measured or estimated points with fitted straight lines, for a picture."""

    title: str
    """Subject of the points."""
    unit: str
    """Unit of the values."""
    points: tuple[tuple[float, float], ...]
    """Points, each with a number of engines and the value."""
    lines: tuple[tuple[str, float, float], ...]
    """Name, slope and intercept of each line."""


class Derivation(Result):
    """A paper's figures, derived from its parameters."""

    paper: str
    """Name of the paper."""
    conditions: tuple[str, ...]
    """Conditions that readers of the figures must know."""
    tables: tuple[DerivedTable, ...]
    """The requested figures, by table."""
    needs: tuple[EngineNeed, ...]
    """Results for the bandwidths, numbers of engines and clocks that the user gave, by the same formulas."""
    dots: tuple[Dots, ...]
    """Points with fitted lines."""
    holds: bool
    """True if every figure is as printed or states the reason for the difference."""

    def row(self, table: str, of: str, quantity: str) -> DerivedRow:
        """Returns one figure. Raises `CasemateError` if it does not exist."""
        for found in self.tables:
            for row in found.rows:
                if (found.number, row.of, row.quantity) == (table, of, quantity):
                    return row
        known = (f"{found.number}, {row.of}, {row.quantity}" for found in self.tables for row in found.rows)
        raise CasemateError(missing("figure", f"{table}, {of}, {quantity}", known))

    def brief(self) -> str:
        """Returns the number of figures that are as printed."""
        rows = [row for table in self.tables for row in table.rows if row.printed is not None]
        same = sum(row.agreement == "as-printed" for row in rows)
        rest = len(rows) - same
        reasons = f"; of the other {rest} each says why not" if rest and self.holds else ""
        return f"{same} of {len(rows)} printed figures follow from the paper's parameters{reasons}"
