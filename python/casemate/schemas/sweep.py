"""Results of a study: its points, their failures, and the figures of its report."""

from casemate.schemas.base import Result
from casemate.schemas.reproduce import FigureFound
from casemate.text import amounts


class FailedPoint(Result):
    """A point of a study that failed."""

    point: str
    """Hash of the point."""
    title: str
    """The point in a few words."""
    error: str
    """Reason of the failure."""
    command: str
    """Command that repeats the point without a study."""


class SweepPlan(Result):
    """The work that a study would be."""

    study: str
    """Name of the study."""
    folder: str
    """Path of the results folder."""
    points: int
    """Points of the study, each counted once."""
    kept: int
    """Points that the folder has as done."""
    failed: int
    """Points that the folder has as failed; they are not repeated without `--retry`."""
    not_recorded: tuple[str, ...]
    """Programs that the study has to record first; their points are not counted as done."""
    without_limit: tuple[str, ...] = ()
    """Those of these programs that the study records to their end; `disk_bytes` leaves out these recordings."""
    workers: int
    """Worker processes of this computer that the study would use."""
    seconds: float | None
    """Estimated time of the remaining points, from the mean of points that are done; null before the first is."""
    disk_bytes: int
    """Estimated size of the rows of the remaining points, and of the recordings with a limit."""
    memory_bytes: int
    """Memory that the largest points take on all workers together."""
    equal_programs: tuple[str, ...] = ()
    """Programs that share their points because they have the same content, a sentence for each group."""

    def brief(self) -> str:
        """Returns the number of points, and of those that are done."""
        return f"{self.points:,} points, {self.kept:,} done"


class SweepResult(Result):
    """A study, carried out as far as it was possible."""

    study: str
    """Name of the study."""
    folder: str
    """Results folder, with a row for each point; `casemate.results` reads it."""
    points: int
    """Points of the study, each counted once."""
    kept: int
    """Points that had been done before."""
    done: int
    """Points that this run carried out."""
    failures: tuple[FailedPoint, ...]
    """Points that failed, now or before."""
    doubtful: tuple[str, ...] = ()
    """Hashes of points that are done, with a failed check of the run, or a campaign that contradicts its claims.
    Figures leave them out.
    """
    figures: tuple[FigureFound, ...]
    """Figures of the report, as far as their points are done."""
    interrupted: bool
    """True if a signal ended the study; the points that are done are kept."""
    equal_programs: tuple[str, ...] = ()
    """Programs that share their points because they have the same content, a sentence for each group."""

    @property
    def complete(self) -> bool:
        """True if every point is done."""
        return self.kept + self.done == self.points

    def brief(self) -> str:
        """Returns the number of points that are done, and of failures."""
        failed = f", {amounts.counted(len(self.failures), 'failure')}" if self.failures else ""
        return f"{self.study}: {self.kept + self.done:,} of {self.points:,} points done{failed}"


class Rows(Result):
    """Rows of a results folder."""

    rows: tuple[dict[str, bool | int | float | str | None], ...]
    """Columns of each row: those that the user named, or the usual ones of the kind of points. The last word of a
    column's name is its unit; sizes are in bytes.
    """

    def brief(self) -> str:
        """Returns the number of rows."""
        return amounts.counted(len(self.rows), "row")
