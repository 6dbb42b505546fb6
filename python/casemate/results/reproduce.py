"""What came of running a paper's evaluation again."""

from typing import Literal

from casemate.results.base import Result


class SeriesFound(Result):
    """One series of a figure: its mean over the cases."""

    name: str
    """What is measured."""
    paper: float | None
    """The paper's mean, where its text says one."""
    ours: float
    """Ours: the mean over the seeds."""
    half_width: float | None
    """Half of its 95 % interval, by Student's distribution over the seeds; nothing with one seed."""


class CaseFigures(Result):
    """The numbers of one workload."""

    case: str
    """The workload."""
    values: tuple[float, ...]
    """One for each series: means over the seeds."""
    half_widths: tuple[float | None, ...]
    """Half of the 95 % interval of each; nothing with one seed."""


class FigureFound(Result):
    """One of the paper's figures."""

    number: str
    """Its number."""
    title: str
    """What it shows."""
    unit: str
    """The unit of its numbers."""
    mean: Literal["arithmetic", "geometric"]
    """Which mean over the cases."""
    series: tuple[SeriesFound, ...]
    """Its series."""
    cases: tuple[CaseFigures, ...]
    """Its cases."""
    seeds: tuple[int, ...]
    """The seeds whose runs are in it: those that have all of its cases."""
    note: str
    """What is other than in the paper."""
    one_unit: bool = True
    """Whether its series have one unit, so that bars of it can be compared."""

    @property
    def label(self) -> str:
        """What the paper calls it: tables have Roman numbers."""
        return f"{'Table' if self.number[0] in 'IVX' else 'Figure'} {self.number}"


class TrendFound(Result):
    """A statement of the paper about its figures."""

    claim: str
    """The statement."""
    holds: bool
    """Whether it holds for our numbers."""
    measured: str
    """The numbers."""
    clear: bool | None
    """Whether its margins, the differences that it stands or falls with, are larger than half of their 95 % intervals;
    nothing with one seed."""


class Reproduction(Result):
    """A paper's evaluation, run again."""

    paper: str
    """The paper."""
    machine: str
    """The machine it ran on."""
    conditions: tuple[str, ...]
    """What is other than in the paper."""
    seeds: int
    """How many seeds every run was to be done with, from one on."""
    figures: tuple[FigureFound, ...]
    """The figures that were asked for, as far as their runs were done."""
    trends: tuple[TrendFound, ...]
    """The statements about these figures."""
    left_out: tuple[str, ...]
    """Workloads whose program is not on this computer, with the package that has it: no figure is of them."""
    failures: tuple[str, ...]
    """Runs that could not be done."""
    interrupted: bool
    """Whether Ctrl-C or SIGTERM ended it; what was done is kept for the next time."""
    holds: bool
    """Whether all statements hold, and all runs were done."""
