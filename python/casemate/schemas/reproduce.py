"""Results of running a paper's evaluation again."""

from typing import Literal

from casemate.schemas.base import Result

SEEDS_MAX = 10_000
"""Largest number of seeds that a result names as sufficient for a narrow interval."""


class SeriesFound(Result):
    """One series of a figure, with its mean over the cases."""

    name: str
    """Name of the measured quantity."""
    paper: float | None
    """Mean in the paper, if its text states one."""
    ours: float
    """Our mean over the seeds."""
    half_width: float | None
    """Half of the 95 % interval of our mean, by Student's distribution over the seeds; null with one seed."""
    seed_half_width: float | None = None
    """Half of the 95 % prediction interval of the mean over the cases with one further seed; null with one seed."""


class CaseFigures(Result):
    """Numbers of one case (workload) in a figure."""

    case: str
    """Name of the workload."""
    proxy_of: str = ""
    """Program of the paper's benchmarks that the workload approximates; empty without one."""
    values: tuple[float, ...]
    """One number for each series: means over the seeds."""
    half_widths: tuple[float | None, ...]
    """Half of the 95 % interval of each number; null with one seed."""
    seed_half_widths: tuple[float | None, ...] = ()
    """Half of the 95 % prediction interval of each number with one further seed; null with one seed."""

    @property
    def label(self) -> str:
        """Name of the workload, with the program that it approximates in brackets."""
        return f"{self.case} ({self.proxy_of})" if self.proxy_of else self.case


class SeedsNeeded(Result):
    """Number of seeds after which the widest interval of a case would be narrow."""

    case: str
    """Name of the workload."""
    points: float
    """Half of the wanted interval, in the unit of the figure."""
    seeds: int | None
    """Number of seeds, from the spread over the present ones; null if it is more than 10,000."""
    seconds: float
    """Time of one seed of this case, on one processor."""


class FigureFound(Result):
    """One of the paper's figures."""

    number: str
    """Number of the figure."""
    title: str
    """Content of the figure."""
    unit: str
    """Unit of its numbers."""
    mean: Literal["arithmetic", "geometric"]
    """Kind of mean over the cases."""
    series: tuple[SeriesFound, ...]
    """Series of the figure."""
    cases: tuple[CaseFigures, ...]
    """Cases of the figure."""
    seeds: tuple[int, ...]
    """Seeds with complete runs of all cases; the figure uses only these seeds."""
    note: str
    """Differences from the paper."""
    wanting: tuple[SeedsNeeded, ...] = ()
    """Cases with a number in percent that more seeds would give a narrower interval."""
    one_unit: bool = True
    """True if all series have the same unit, so that their bars can be compared."""

    @property
    def label(self) -> str:
        """Returns the paper's name of the figure: tables have Roman numbers."""
        return f"{'Table' if self.number[0] in 'IVX' else 'Figure'} {self.number}"


class TrendFound(Result):
    """A statement of the paper about its figures."""

    claim: str
    """Text of the statement."""
    holds: bool
    """True if the statement holds for our numbers."""
    measured: str
    """Text with the numbers that support or refute the statement."""
    verdict: Literal["holds", "fails", "undecided"]
    """Decision: `undecided` if a margin is smaller than half of its 95 % interval, so that other seeds may decide
    otherwise.
    """
    clear: bool | None
    """True if the margins of the statement are larger than half of their 95 % intervals; null with one seed. A margin
    is a difference of figures that decides the statement.
    """


class Reproduction(Result):
    """Results of running a paper's evaluation again."""

    paper: str
    """Name of the paper."""
    machine: str
    """Machine on which the evaluation ran."""
    conditions: tuple[str, ...]
    """Differences from the paper."""
    seeds: int
    """Requested number of seeds for every run, from one on."""
    figures: tuple[FigureFound, ...]
    """Requested figures, as far as their runs are done."""
    trends: tuple[TrendFound, ...]
    """Statements about these figures."""
    left_out: tuple[str, ...]
    """Workloads that no figure contains because their program is not installed, each with the package that contains it.
    """
    failures: tuple[str, ...]
    """Errors of runs that failed."""
    interrupted: bool
    """True if Ctrl-C or SIGTERM ended the study; the folder keeps the finished runs for the next time."""
    holds: bool
    """True if no statement fails, and all runs were done."""
