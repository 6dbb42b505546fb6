"""Results of losses of power under designs, and their comparison with the claims of these designs."""

from pydantic import Field

from casemate.schemas.base import Result
from casemate.schemas.catalogue import End


class CrashExample(Result):
    """A loss of power with a certain end, and the data that repeats it."""

    workload: str
    """Writes of the workload in order, each by the number of its line."""
    point: int
    """Number of changes of memory that the controller had requested when power failed; in the row
    tampering-over-sessions, the number of steps of the history."""
    story: str
    """Description of the events that led to this end."""
    replay: str
    """Command that repeats the case."""


class CrashRow(Result):
    """Results of all losses of one kind."""

    loss: str
    """Name of the kind of loss."""
    histogram: dict[End, int]
    """Number of losses for each end."""
    worst: End
    """Worst end, both in the returned data and in the leaked information; not-applicable if no data survives by design.
    """
    claim: End | None
    """End that the design claims."""
    agrees: bool
    """True if the worst end is exactly as claimed."""
    example: CrashExample | None
    """First case of the worst end."""

    def brief(self) -> str:
        """Returns the kind of loss, its worst end, and the claim of the design if it differs."""
        ended = "" if self.agrees else f", claimed {self.claim or 'nothing'}"
        return f"{self.loss} ended {self.worst}{ended}"


class CrashReport(Result):
    """Results of all losses of power under one design."""

    design: str
    """Name of the design."""
    summary: str
    """Description of the design in a sentence."""
    workloads: int
    """Number of workloads that were carried out."""
    points: int
    """Number of points at which power failed, over all workloads, or 0 if only the row
    tampering-over-sessions ran.
    """
    memories: int
    """Number of different memory states after losses, counted separately for each workload."""
    torn: int
    """Number of memory states, among these, that occur only if a write on its way arrives torn, out of order or not at
    all.
    """
    tampered: int
    """Number of memory states that an attacker made from these states, without repetitions for each of them, and of
    the attacks in the row tampering-over-sessions."""
    histories: int
    """Number of histories over several sessions, for the row tampering-over-sessions."""
    rows: tuple[CrashRow, ...]
    """One row for each kind of loss that was tried."""
    agrees: bool
    """True if all rows agree with the claims."""

    def brief(self) -> str:
        """Returns the design, the number of points at which power failed, and whether all kinds of losses ended as
        claimed.
        """
        ended = "all as claimed" if self.agrees else "not all as claimed"
        return f"losses of power of {self.design} at {self.points:,} points: {ended}"


class ProgramExample(Result):
    """A run of a program with a bad end, and the data that repeats it."""

    end: End
    """End of the run."""
    story: str
    """Description of the events that led to this end."""
    replay: str
    """Command that repeats the run."""


class ProgramReport(Result):
    """Results of losses of power under a program that contains a recovery routine."""

    design: str
    """Name of the design."""
    summary: str
    """Description of the design in a sentence."""
    program: str
    """Name of the program."""
    losses: int
    """Number of losses of power."""
    crashes: int
    """Number of additional crashes of the program, after which its recovery read memory while the machine kept running.
    """
    lives: int
    """Number of programs that were started, each with a separate memory."""
    operations: int
    """Number of committed operations that the programs found after recovery, each counted once."""
    histogram: dict[End, int]
    """Number of losses or crashes for each end."""
    worst: End
    """Worst end of all losses and crashes."""
    claim: End | None
    """Claim of the design for losses of power."""
    agrees: bool
    """True if the program survived all losses of power and the design claims this, or if neither is the case."""
    example: ProgramExample | None
    """First run that ended badly."""

    def brief(self) -> str:
        """Returns program and design, the number of losses, and the end of the worst loss."""
        return f"{self.losses:,} losses of power of {self.program} under {self.design}: {self.worst}"


class CrashResults(Result):
    """Losses of power under several designs."""

    reports: tuple[CrashReport, ...] = ()
    """A report on short workloads for each design."""
    programs: tuple[ProgramReport, ...] = ()
    """A report on a program for each design."""
    agrees: bool
    """True if all complete reports agree with the claims; false if no report is complete."""
    interrupted: bool = False
    """True if Ctrl-C or SIGTERM ended the campaign; the reports are the complete ones."""
    changes: dict[str, str] = Field(default_factory=dict)
    """Keys of designs with values that the user gave in place of those in the files (`--with`)."""

    def brief(self) -> str:
        """Returns the brief form of each report."""
        return "; ".join(report.brief() for report in (*self.reports, *self.programs))
