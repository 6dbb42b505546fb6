"""Lines that crossed the pins of memory in a run."""

from typing import Literal

from casemate.schemas.base import Result
from casemate.schemas.run import Configuration


class BusShape(Result):
    """Mapping of slots of data and metadata to lines of memory. A data slot `n` begins at byte `n * (64 + behind)`;
    slots of metadata follow, one on each line.
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
    """All values that decided the run. The limit of instructions is the requested one, even if the run ended earlier.
    """
    bytes: bool
    """True if the file contains the bytes of lines."""
    shape: BusShape
    """Mapping of slots to lines."""


class BusTotals(Result):
    """Total numbers of reads and writes in the file."""

    reads: int
    """Total number of reads at the memory controller."""
    writes: int
    """Total number of writes at the memory controller."""
    forwarded: int
    """Reads, among these, that the memory controller answered from its write queue, so that no line crossed the pins.
    """
    merged: int
    """Writes, among these, that replaced an older write in that queue; the line of the older write did not cross the
    pins.
    """
    last_fs: int
    """Time of the last event, in femtoseconds."""


class BusEvent(Result):
    """One line at the pins."""

    time_fs: int
    """Time in femtoseconds from power-on. The time of a read is that of its last data on the bus, the time of a write
    that of its acceptance by the memory controller.
    """
    line: int
    """Number of the line, as the memory channels count them."""
    address: int
    """Address of the first byte of the line: 64 times its number."""
    kind: Literal["read", "write"]
    """Direction of the line: a read crosses from memory to the chip, a write from the chip to memory."""
    burst: bool
    """True if a line crossed the pins; false if the controller's write queue answered the read, or a later write
    replaced this one in the queue.
    """
    bytes: str | None
    """The 64 bytes of the line and its 8 bytes of spare bits, in hexadecimal; null for a line never written, or if the
    file contains no bytes.
    """


class BusInfo(Result):
    """Content of a bus file."""

    header: BusHeader
    """Header of the file."""
    totals: BusTotals
    """Totals of the file; the reader has read the whole file and compared every checksum."""
    first: tuple[BusEvent, ...]
    """First reads and writes in the file."""
    file_bytes: int
    """Size of the file, in bytes."""

    def brief(self) -> str:
        """Returns the run and its numbers of reads and writes."""
        run = self.header.configuration
        return (
            f"{run.workload.title} on {run.machine.name} under {run.design.name}: "
            f"{self.totals.reads} reads, {self.totals.writes} writes"
        )
