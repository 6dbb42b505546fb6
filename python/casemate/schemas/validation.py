"""Results of `casemate validate`: our figures next to those of public simulators."""

from casemate.schemas.base import Result


class ValidationRow(Result):
    """One figure of the simulated machine, next to that of a reference simulator."""

    reference: str
    """Simulator of the reference."""
    subject: str
    """Simulated system: a machine and a trace, or a stream of requests."""
    quantity: str
    """Measured quantity, with its unit."""
    ours: float
    """Our figure; the mean, if the figure was measured with several placements of pages."""
    interval: tuple[float, float] | None
    """The 95 % interval of our figure over several placements of pages; null for a single placement."""
    theirs: float
    """Figure of the reference."""
    in_points: bool
    """True if both are percentages. The difference and the tolerance then are percentage points."""
    difference_percent: float
    """Excess of our figure over the reference's, in percent of the reference's; for two percentages, in percentage
    points.
    """
    tolerance_percent: float | None
    """Permitted difference, in percent or percentage points like the difference; null if the figure is only reported.
    """
    placement_percent: float
    """Additional permitted difference, in percent of the reference's figure, because the reference has a single
    placement of pages. In our runs, 95 % of single placements differ from the mean by no more.
    """
    counted: bool
    """True if the row is judged: it has a tolerance, and the one for placement is not larger."""
    ok: bool
    """True if the difference is within the sum of both tolerances, or the row is not judged."""


class Validation(Result):
    """All figures of the validation."""

    rows: tuple[ValidationRow, ...]
    """Figures in the order in which they were measured."""
    ok: bool
    """True if all judged figures are within their tolerances."""

    def brief(self) -> str:
        """Returns the number of figures that are within their tolerances."""
        held = [row for row in self.rows if row.counted]
        left = sum(row.tolerance_percent is not None for row in self.rows) - len(held)
        note = f"; {left} are not counted, since they differ more between placements of pages" if left else ""
        return f"{sum(row.ok for row in held)} of {len(held)} figures are within their tolerances{note}"
