"""What `casemate validate` gives: our figures next to those of public simulators."""

from casemate.results.base import Result


class ValidationRow(Result):
    """One figure."""

    reference: str
    """The simulator of the reference."""
    subject: str
    """What was simulated: a machine and a trace, or a stream of requests."""
    quantity: str
    """What was measured, with its unit."""
    ours: float
    """Our figure; where pages were placed several times, the mean."""
    interval: tuple[float, float] | None
    """Its 95 % interval over the placements of pages, if there were several."""
    theirs: float
    """The reference's."""
    in_points: bool
    """Whether both are percentages, of which the difference and the tolerance are percentage points."""
    difference_percent: float
    """By how much ours is higher, in percent of theirs; of two percentages, in percentage points."""
    tolerance_percent: float | None
    """How far it may be off, in percent or points as the difference; nothing if it is only reported."""
    placement_percent: float
    """How far it may be off beyond that, in percent of theirs, because theirs is of one placement of pages: 95 % of
    single placements are no further from the mean of ours."""
    ok: bool
    """Whether it is within both together."""


class Validation(Result):
    """All figures."""

    rows: tuple[ValidationRow, ...]
    """In the order in which they were measured."""
    ok: bool
    """Whether all are within their tolerances."""

    def brief(self) -> str:
        """How many figures are within their tolerances."""
        held = [row for row in self.rows if row.tolerance_percent is not None]
        return f"{sum(row.ok for row in held)} of {len(held)} figures are within their tolerances"
