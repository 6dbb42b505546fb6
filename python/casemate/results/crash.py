"""What losses of power did to designs, and whether that is what the designs claim."""

from casemate.results.base import Result
from casemate.results.catalogue import Verdict


class CrashExample(Result):
    """A case, with all that is needed to see it again."""

    workload: str
    """The writes, by line number, and how they were made."""
    point: int
    """How many changes had been asked of memory when power failed."""
    story: str
    """What happened."""
    replay: str
    """The command that shows it again."""


class CrashRow(Result):
    """What losses of one kind came to."""

    loss: str
    """What was done."""
    histogram: dict[Verdict, int]
    """How often each verdict came out."""
    worst: Verdict
    """The worst verdict; not-applicable where nothing survives by design."""
    claim: Verdict | None
    """What the design claims."""
    agrees: bool
    """Whether the worst verdict is exactly what is claimed."""
    example: CrashExample | None
    """The first case of the worst verdict."""


class CrashReport(Result):
    """All losses of one design."""

    design: str
    """The design's name."""
    summary: str
    """What it is, in a sentence."""
    workloads: int
    """Workloads that were carried out."""
    points: int
    """Points at which power failed, over all workloads."""
    states: int
    """Different memories that were left behind, over all points."""
    subsets: int
    """Subsets of what was on its way that were tried to find them."""
    rows: tuple[CrashRow, ...]
    """One for each kind of loss that was tried."""
    agrees: bool
    """Whether all agree with what is claimed."""


class CrashResults(Result):
    """Losses of power under several designs."""

    reports: tuple[CrashReport, ...] = ()
    """A report for each design."""
    agrees: bool
    """Whether everything ended as claimed."""
    interrupted: bool = False
    """Whether Ctrl-C or SIGTERM ended it; the reports are those that were complete."""
