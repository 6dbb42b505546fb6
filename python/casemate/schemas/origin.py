"""Origin of the executed instructions, and the content of a trace."""

import signal
from typing import Literal

from casemate.schemas.base import Result
from casemate.text import amounts


class Seeded(Result):
    """Memory values that a seed generated, for a trace without values."""

    seeded: int
    """Seed of the generated values."""


class Exited(Result):
    """The program has exited."""

    exited: int
    """Exit status of the program."""


class Killed(Result):
    """A signal ended the program."""

    killed: int
    """Number of the signal."""

    def __str__(self) -> str:
        """Returns number and name, as in `signal 11 (SIGSEGV)`."""
        known = {known.value: f" ({known.name})" for known in signal.Signals}
        return f"signal {self.killed}{known.get(self.killed, '')}"

    @property
    def likely_cause(self) -> str:
        """Returns the likely reason that a program dies only while it is recorded, in a sentence or two; empty if no
        reason is likely.
        """
        if self.killed != signal.SIGILL:
            return ""
        return (
            "It executed an instruction that QEMU does not have, most likely one of AVX-512: QEMU's processor has AVX2 "
            "at most. Build the program for x86-64-v3, or let it use only the features that CPUID reports."
        )


class Unbacked(Result):
    """The program was ended before it reserved memory that QEMU could not have tracked."""

    unbacked: int
    """Size of the reservation in bytes."""

    def __str__(self) -> str:
        """Returns the reason that the program was ended, in a sentence."""
        return (
            f"the program reserves {amounts.size(self.unbacked)} of addresses, for which QEMU would take more memory "
            "than this computer has left: expected a smaller reservation (see docs/concepts/qemu.md)"
        )


SUSPECTS = {
    "masked-vector": "the program loads vectors under a mask, which faults under QEMU at the end of a mapping",
    "code-in-two-places": "the program maps code twice, to write and to execute, and QEMU may execute the old one",
    "handler-stack": "a signal handler was running, which QEMU begins with a misaligned stack",
}
"""Operations that QEMU is known to execute wrongly, each with the fault that may end a program."""

REFUSED = {
    "vforked-child": "a child of vfork ended without executing a program; QEMU copies the memory that vfork shares, so "
    "the parent missed its stores",
    "wiped-on-fork": "memory with MADV_WIPEONFORK is zero in children; QEMU copies it",
    "ignored-advice": "MADV_REMOVE and MADV_DONTNEED_LOCKED free memory; QEMU accepts them and does nothing",
    "many-descriptors": "select waits for a descriptor above 1,023; QEMU ends the program",
}
"""Calls that QEMU is known to execute wrongly, each with what the program noticed."""


class Origin(Result):
    """The executed program and its conditions: everything that is needed to repeat the execution."""

    program: tuple[str, ...]
    """The program and its arguments, or the name of a built-in workload."""
    skip: int
    """Instructions that were skipped at the start."""
    limit: int | None
    """Maximum number of instructions in the recording; null for all."""
    values: Literal["exact"] | Seeded
    """Source of the memory values: the program's data, or a seed."""
    load_values: bool
    """True if the values of loads are recorded as well."""
    medium: Literal["live", "stored", "built-in"]
    """Source of the program's instructions: live execution, a stored file, or a built-in generator."""
    conditions: tuple[tuple[str, str], ...]
    """All other conditions that influence the program, each with its name and value."""
    persistent: Literal["all", "mapped", "heap"] = "all"
    """Part of the program's memory that must survive a loss of power: all, the files that it maps shared, or its heap.
    """
    requests: Literal["at-once", "at-clocks", "after-instructions"] | None = None
    """Timing of the requests, for a trace of requests that were recorded behind the caches: `at-once` (one in each
    memory clock), `at-clocks` (not before the clock that the trace states) or `after-instructions`. The requests reach
    the memory controller without a cache in between. Null for programs.
    """
    restarts: int = 0
    """Number of times that the simulation restarted the trace at its end, because the run was longer than the trace."""
    finish: Literal["running", "limit-reached"] | Exited | Killed | Unbacked
    """End of the program; `running` if the simulation finished before the program did."""
    suspects: tuple[
        Literal[
            "masked-vector", "code-in-two-places", "handler-stack", "vforked-child", "wiped-on-fork", "ignored-advice",
            "many-descriptors",
        ],
        ...,
    ] = ()  # fmt: skip
    """Calls of the program that QEMU is known to execute wrongly and, if a fault ended the program, other operations of
    this kind.
    """

    @property
    def unbacked(self) -> "Unbacked | None":
        """The reservation for which the live program was ended; `None` if that happened earlier, when its trace was
        recorded.
        """
        return self.finish if isinstance(self.finish, Unbacked) and self.medium == "live" else None

    @property
    def abnormal_end(self) -> str:
        """Returns how the program ended, if it failed: its exit status, a signal, or a reservation that was too large.
        Empty if it succeeded, or was stopped at the limit.
        """
        match self.finish:
            case Exited(exited=status):
                return f"exited with status {status}" if status else ""
            case Killed() as ended:
                return f"was ended by {ended}"
            case Unbacked(unbacked=size):
                return f"was ended before it reserved {amounts.size(size)}"
            case _:
                return ""

    @property
    def is_marked_region(self) -> bool:
        """True if only the instructions between the program's two markers were recorded."""
        return ("marked region only", "yes") in self.conditions

    def likely_causes(self) -> list[str]:
        """Returns the known causes of a fault or a result that would not occur outside QEMU, a sentence each."""
        own = [self.finish.likely_cause] if isinstance(self.finish, Killed) and self.finish.likely_cause else []
        return own + [
            f"The fault may be QEMU's: {SUSPECTS[suspect]} (docs/concepts/qemu.md)."
            if suspect in SUSPECTS
            else f"QEMU executed a call wrongly: {REFUSED[suspect]} (docs/concepts/qemu.md)."
            for suspect in self.suspects
        ]

    @property
    def title(self) -> str:
        """The program on one line."""
        return " ".join(self.program)


class Totals(Result):
    """Content of a trace."""

    chunks: int
    """Number of batches of the trace, which its file stores compressed."""
    instructions: int
    """Number of executed instructions."""
    loads: int
    """Number of loads; a load of more than eight bytes counts once for each eight bytes."""
    stores: int
    """Number of stores; a store of more than eight bytes counts once for each eight bytes."""
    lines: int
    """Number of lines of 64 bytes with known content."""
    pages: int
    """Number of pages of 4 KB that the program accesses, counted separately for each process."""


class TraceInfo(Result):
    """A trace file, read to its end and found valid."""

    path: str
    """Path of the file."""
    file_bytes: int
    """Size in bytes of the file."""
    format: Literal["casemate", "champsim", "ramulator-memory", "ramulator-load-store", "ramulator-cpu", "dramsim3"]
    """Format of the file, detected from its content."""
    origin: Origin
    """Program that was executed."""
    totals: Totals
    """Content of the trace."""

    def brief(self) -> str:
        """Returns the file and its number of instructions."""
        return f"{self.path}: {self.totals.instructions:,} instructions of {self.origin.title}"


class Recording(Result):
    """A program that was recorded."""

    path: str
    """Path of the trace."""
    totals: Totals
    """Content of the trace."""
    interrupted: bool
    """True if Ctrl-C or SIGTERM ended the program; the trace contains its execution up to that point."""
    unbacked: int | None = None
    """Size in bytes of the reservation for which the recorder ended the program, since this computer does not have
    enough memory for it.
    """

    def brief(self) -> str:
        """Returns the file and its number of instructions."""
        return f"{self.path}: {self.totals.instructions:,} instructions"
