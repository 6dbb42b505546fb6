"""What came of deriving a paper's figures from its own parameters."""

from typing import Literal

from casemate.results.base import Result

Agreement = Literal["as-printed", "differs", "not-printed"]
"""Whether a figure is what the paper prints, rounded or cut off to the printed digits."""


class DerivedRow(Result):
    """One figure."""

    of: str
    """What it is of: an implementation, a number of engines, a buffer."""
    quantity: str
    """What it says."""
    unit: str
    """Its unit."""
    formula: str
    """From what it follows, with the numbers."""
    computed: float
    """What follows."""
    printed: str | None
    """What the paper prints, to its digits; with a `~` where it says approximately."""
    agreement: Agreement
    """Whether the two are the same."""
    difference_percent: float | None
    """By how much ours is larger, in percent of the printed one."""
    remark: str | None
    """Why they differ, or what the paper says elsewhere that contradicts."""


class DerivedTable(Result):
    """Figures of one table, equation or section."""

    number: str
    """The paper's number of it, as in `6.1`, or that of sections or equations, as in `section-6.1`."""
    title: str
    """What it is about."""
    note: str
    """Where its parameters come from."""
    rows: tuple[DerivedRow, ...]
    """Its figures."""

    @property
    def label(self) -> str:
        """What the paper calls it."""
        kind, _, number = self.number.partition("-")
        return f"{kind.capitalize()} {number}" if number else f"Table {kind}"


class EngineNeed(Result):
    """So many engines or cores, what they carry and what they take."""

    implementation: str
    """Which kind."""
    clock_mhz: float
    """Their clock, in megahertz."""
    asked: Literal["bandwidth", "lanes"]
    """What was asked for: a bandwidth to carry, or a number of them."""
    bandwidth_gbs: float
    """The bandwidth that was asked for, or what so many carry, in gigabytes (10^9) a second."""
    lanes: int
    """How many."""
    power_w: float
    """What they take together, in watts."""
    area_mm2: float | None
    """Their area in square millimetres; nothing where none is stated."""
    remark: str | None
    """What is assumed beyond the paper, if anything."""


class Dots(Result):
    """Measured or estimated points with lines through them, as a picture has them."""

    title: str
    """What they are of."""
    unit: str
    """The unit of their values."""
    points: tuple[tuple[float, float], ...]
    """Number of engines, and the value."""
    lines: tuple[tuple[str, float, float], ...]
    """Each line's name, slope and intercept."""


class Derivation(Result):
    """A paper's figures, derived from its parameters."""

    paper: str
    """The paper."""
    conditions: tuple[str, ...]
    """What has to be known to read the figures."""
    tables: tuple[DerivedTable, ...]
    """The figures that were asked for."""
    needs: tuple[EngineNeed, ...]
    """What other bandwidths, numbers of engines or clocks take, by the same formulas."""
    dots: tuple[Dots, ...]
    """What is fitted."""
    holds: bool
    """Whether every figure is as printed, or says why it is not."""

    def row(self, table: str, of: str, quantity: str) -> DerivedRow:
        """One figure. Raises `KeyError` if it is not there."""
        for found in self.tables:
            for row in found.rows:
                if (found.number, row.of, row.quantity) == (table, of, quantity):
                    return row
        raise KeyError((table, of, quantity))

    def brief(self) -> str:
        """How many figures are as printed."""
        rows = [row for table in self.tables for row in table.rows if row.printed is not None]
        same = sum(row.agreement == "as-printed" for row in rows)
        rest = len(rows) - same
        reasons = f"; of the other {rest} each says why not" if rest and self.holds else ""
        return f"{same} of {len(rows)} printed figures follow from the paper's parameters{reasons}"
