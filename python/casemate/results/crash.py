"""What losses of power did to designs, and whether that is what the designs claim."""

from pydantic import Field

from casemate.results.base import Result
from casemate.results.catalogue import End


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
    histogram: dict[End, int]
    """How often it ended how."""
    worst: End
    """The worst end, both of what came out and of what leaked; not-applicable where nothing survives by design."""
    claim: End | None
    """What the design claims."""
    agrees: bool
    """Whether the worst end is exactly what is claimed."""
    example: CrashExample | None
    """The first case of the worst end."""


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
    memories: int
    """Different memories that were left behind, of each workload by itself."""
    torn: int
    """Those of them that are left only if something on its way arrives torn, out of order or not at all."""
    tampered: int
    """Memories that an attacker made of them, different ones of each."""
    rows: tuple[CrashRow, ...]
    """One for each kind of loss that was tried."""
    agrees: bool
    """Whether all agree with what is claimed."""

    def brief(self) -> str:
        """Which design, at how many points power failed, and whether all ended as claimed."""
        ended = "all as claimed" if self.agrees else "not all as claimed"
        return f"losses of power of {self.design} at {self.points:,} points: {ended}"


class ProgramExample(Result):
    """A life that ended badly, with all that is needed to see it again."""

    end: End
    """How it ended."""
    story: str
    """What happened."""
    replay: str
    """The command that shows it again."""


class ProgramReport(Result):
    """What losses of power did to a program with a recovery of its own."""

    design: str
    """The design's name."""
    summary: str
    """What it is, in a sentence."""
    program: str
    """The program."""
    losses: int
    """How often power failed."""
    crashes: int
    """How often the program crashed besides, and its recovery read memory while the machine went on."""
    lives: int
    """Programs that were begun, each over a memory of its own."""
    operations: int
    """Operations that the programs found again, each counted once."""
    histogram: dict[End, int]
    """How often a loss or a crash ended how."""
    worst: End
    """The worst end."""
    claim: End | None
    """What the design claims of losses of power."""
    agrees: bool
    """Whether the program outlived all if the design claims that it does, and not if it does not."""
    example: ProgramExample | None
    """The first life that ended badly."""

    def brief(self) -> str:
        """Which program under which design, how often power failed, and how the worst loss ended."""
        return f"{self.losses:,} losses of power of {self.program} under {self.design}: {self.worst}"


class CrashResults(Result):
    """Losses of power under several designs."""

    reports: tuple[CrashReport, ...] = ()
    """A report for each design, of short workloads."""
    programs: tuple[ProgramReport, ...] = ()
    """A report for each design, of a program."""
    agrees: bool
    """Whether everything that is complete ended as claimed; false if nothing is complete."""
    interrupted: bool = False
    """Whether Ctrl-C or SIGTERM ended it; the reports are those that were complete."""
    changes: dict[str, str] = Field(default_factory=dict)
    """Keys of designs that had other values than in their files, as they were asked for."""
