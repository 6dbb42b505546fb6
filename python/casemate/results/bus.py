"""Lines that crossed the pins of memory in a run."""

from typing import Literal

from casemate.results.base import Result
from casemate.results.run import Configuration


class BusShape(Result):
    """Mapping of slots of data and metadata to lines of memory. Slot `n` begins at byte `n * (64 + behind)` while it is
    data; metadata follows on whole lines.
    """

    slots: int
    """Total number of slots."""
    data: int
    """Number of slots that hold data, counted from the first."""
    behind: int
    """Bytes behind each data slot: 8 or 16 if tags are stored in them (slots then share lines), else 0."""


class BusHeader(Result):
    """Header of a bus file."""

    configuration: Configuration
    """Everything that decided the run. The budget is the requested one, however the run ended."""
    bytes: bool
    """True if the file contains the bytes of lines."""
    shape: BusShape
    """Mapping of slots to lines."""


class BusTotals(Result):
    """Number of reads and writes at the pins."""

    reads: int
    """Total number of reads."""
    writes: int
    """Total number of writes."""
    forwarded: int
    """Reads, among these, that the memory controller answered from its write queue: no line moved."""
    merged: int
    """Writes, among these, that replaced an older write in that queue: no line moved for the replaced one."""
    last_fs: int
    """Time of the last event, in femtoseconds."""


class BusEvent(Result):
    """One line at the pins."""

    time_fs: int
    """Time in femtoseconds from power-on. The time of a read is that of its last data on the bus, the time of a write
    that of its acceptance by the memory controller.
    """
    line: int
    """Number of the line, as the memory channels count them; its address is 64 times this number."""
    kind: Literal["read", "write"]
    """Direction of the line: a read goes to the chip, a write to the memory."""
    burst: bool
    """True if a line moved for this event; false if the controller's write queue answered or replaced it."""
    bytes: str | None
    """The 64 bytes and 8 bytes of spare bits, in hexadecimal; null for a line never written, or if the file has no
    bytes.
    """


class BusInfo(Result):
    """Content of a bus file."""

    header: BusHeader
    """Header of the file."""
    totals: BusTotals
    """Totals of the file; the reader has read all of it and compared every checksum."""
    first: tuple[BusEvent, ...]
    """First events in the file."""
    file_bytes: int
    """Size of the file, in bytes."""

    def brief(self) -> str:
        """Returns the run and its number of reads and writes."""
        run = self.header.configuration
        return (
            f"{run.workload.title} on {run.machine.name} under {run.design.name}: "
            f"{self.totals.reads} reads, {self.totals.writes} writes"
        )
