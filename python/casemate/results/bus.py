"""What crossed the pins of memory in a run."""

from typing import Literal

from casemate.results.base import Result
from casemate.results.run import Configuration


class BusShape(Result):
    """How slots of data and metadata lie on the lines of memory: the one with number `n` begins at byte
    `n * (64 + behind)` while it is data; metadata follows on whole lines.
    """

    slots: int
    """Slots in all."""
    data: int
    """How many of these, from the first, hold data."""
    behind: int
    """Bytes that lie behind each of these: 8 or 16 where tags do, and slots then share lines, else 0."""


class BusHeader(Result):
    """What a bus file is about."""

    configuration: Configuration
    """All that decided the run; its budget is what was asked for, however the run ended."""
    bytes: bool
    """Whether the bytes are there."""
    shape: BusShape
    """How slots lie on lines."""


class BusTotals(Result):
    """How much crossed."""

    reads: int
    """Reads."""
    writes: int
    """Writes."""
    forwarded: int
    """Reads, of these, that memory's controller answered from its queue of writes: no line moved."""
    merged: int
    """Writes, of these, that replaced one in that queue: no line moved for the one that was replaced."""
    last_fs: int
    """The time of the last one, in femtoseconds."""


class BusEvent(Result):
    """One line at the pins."""

    time_fs: int
    """When, in femtoseconds from power-on: of a read its last data, of a write the moment at which memory's controller
    took it.
    """
    line: int
    """The number of the line, as memory's channels number them; times 64, its address."""
    kind: Literal["read", "write"]
    """Whether it went to the chip or to the memory."""
    burst: bool
    """Whether a line moved for it alone: not for what was answered or replaced in the controller's queue of writes."""
    bytes: str | None
    """The 64 bytes and the 8 of its spare bits, in hexadecimal; nothing of a line never written, or without bytes."""


class BusInfo(Result):
    """What a bus file holds."""

    header: BusHeader
    """What it is about."""
    totals: BusTotals
    """How much crossed; all of it was read, and every checksum compared."""
    first: tuple[BusEvent, ...]
    """What crossed first."""
    file_bytes: int
    """The size of the file, in bytes."""

    def brief(self) -> str:
        """The run, and how much crossed."""
        run = self.header.configuration
        return (
            f"{run.workload.title} on {run.machine.name} under {run.design.name}: "
            f"{self.totals.reads} reads, {self.totals.writes} writes"
        )
