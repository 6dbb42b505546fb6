"""What was executed, and what a trace of it holds."""

import signal
from typing import Literal

from casemate import amounts
from casemate.results.base import Result


class Seeded(Result):
    """Values that were made up."""

    seeded: int
    """From this seed."""


class Exited(Result):
    """The program has come to its end."""

    exited: int
    """With this exit status."""


class Killed(Result):
    """The program was ended by a signal."""

    killed: int
    """The signal's number."""

    def __str__(self) -> str:
        """Number and name, as in `signal 11 (SIGSEGV)`."""
        known = {known.value: f" ({known.name})" for known in signal.Signals}
        return f"signal {self.killed}{known.get(self.killed, '')}"

    @property
    def likely_cause(self) -> str:
        """Why a program dies so while it is recorded and not otherwise, in a sentence or two; empty where nothing is
        likely.
        """
        if self.killed != signal.SIGILL:
            return ""
        return (
            "It executed an instruction that QEMU does not have, most likely one of AVX-512: QEMU's processor has AVX2 "
            "at most. Build the program for x86-64-v3, or let it ask the processor what there is."
        )


class Unbacked(Result):
    """The program was ended before a reservation of memory that QEMU could not have kept track of."""

    unbacked: int
    """Its bytes."""

    def __str__(self) -> str:
        """Why it was ended, in a sentence."""
        return (
            f"the program reserves {amounts.size(self.unbacked)} of addresses, for which QEMU would take more memory "
            "than this computer has left: expected a smaller reservation (see docs/concepts/qemu.md)"
        )


SUSPECTS = {
    "masked-vector": "the program loads vectors under a mask, which faults under QEMU at the end of a mapping",
    "code-in-two-places": "the program maps code twice, to write and to execute, and QEMU may execute the old one",
}
"""What QEMU is known to run wrong, and how it ends a program."""


class Origin(Result):
    """What was executed, and under which conditions: all that is needed to do it again."""

    program: tuple[str, ...]
    """The program and its arguments, or the name of a built-in workload."""
    skip: int
    """Instructions that were let pass first."""
    limit: int | None
    """The most instructions to record; nothing for all."""
    values: Literal["exact"] | Seeded
    """Whose bytes the values are: the program's own, or made up."""
    load_values: bool
    """Whether the values of loads are there as well."""
    medium: Literal["live", "stored", "built-in"]
    """How it reached the machine: as it happened, from a file, or made here."""
    conditions: tuple[tuple[str, str], ...]
    """Everything else that decides what the program does, as name and value."""
    persistent: Literal["all", "mapped", "heap"] = "all"
    """The part of its memory that has to outlive a loss of power: all, the files that it maps shared, or its heap."""
    requests: Literal["at-once", "at-clocks", "after-instructions"] | None = None
    """When its requests come, if it is a trace of requests that lie behind the caches: one a clock of memory's, not
    before the clock that the trace states, or after so many instructions. They go to the memory controller with no
    cache before it. Nothing for programs."""
    restarts: int = 0
    """How often it started again at its end, since more was to run than it has."""
    finish: Literal["running", "limit-reached"] | Exited | Killed | Unbacked
    """How it finished; `running` if the simulation had enough before the program had ended."""
    suspects: tuple[Literal["masked-vector", "code-in-two-places"], ...] = ()
    """What QEMU is known to run wrong and the program has done, if a fault ended it."""

    @property
    def unbacked(self) -> "Unbacked | None":
        """The reservation that it was ended for, if it was so now, and not when a trace of it was recorded."""
        return self.finish if isinstance(self.finish, Unbacked) and self.medium == "live" else None

    @property
    def is_marked_region(self) -> bool:
        """Whether only what runs between the program's two markers exists."""
        return ("marked region only", "yes") in self.conditions

    def likely_causes(self) -> list[str]:
        """Why a fault may have ended it here and not elsewhere, a sentence for each cause that is known and fits."""
        own = [self.finish.likely_cause] if isinstance(self.finish, Killed) and self.finish.likely_cause else []
        return own + [
            f"The fault may be QEMU's: {SUSPECTS[suspect]} (docs/concepts/qemu.md)." for suspect in self.suspects
        ]

    @property
    def title(self) -> str:
        """The program on one line."""
        return " ".join(self.program)


class Totals(Result):
    """What a trace holds."""

    chunks: int
    """Pieces that it is stored in."""
    instructions: int
    """Executed instructions."""
    loads: int
    """Loads of at most eight bytes; wider ones count once for each eight bytes."""
    stores: int
    """Stores, counted likewise."""
    lines: int
    """Lines of 64 bytes whose content is known."""
    pages: int
    """Pages of 4 KB touched, by every process for itself."""


class TraceInfo(Result):
    """A trace file, read to its end and found right."""

    path: str
    """The file."""
    file_bytes: int
    """Its size in bytes."""
    format: Literal["casemate", "champsim", "ramulator-memory", "ramulator-load-store", "ramulator-cpu", "dramsim3"]
    """Its format, by its content."""
    origin: Origin
    """What was executed."""
    totals: Totals
    """What it holds."""

    def brief(self) -> str:
        """The file, and what it holds."""
        return f"{self.path}: {self.totals.instructions:,} instructions of {self.origin.title}"


class Recording(Result):
    """A program that was recorded."""

    path: str
    """The trace."""
    totals: Totals
    """What it holds."""
    interrupted: bool
    """Whether the program was ended by Ctrl-C or SIGTERM; the trace holds what it had done so far."""
    unbacked: int | None = None
    """The bytes of a reservation that it was ended for, since this computer has no memory for it."""

    def brief(self) -> str:
        """The file, and what it holds."""
        return f"{self.path}: {self.totals.instructions:,} instructions"
